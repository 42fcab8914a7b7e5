"""What a run leaves: a JSON file and a picture a subject, and a page with all of them."""

import io
import json

from rich.table import Table as RichTable

from examples.benchmarks.subject import Table
from keras_attention.storage import written_whole

PAGE_FILE = "results.md"
FIGURE_COLUMNS = ("figure", "median", "from – to", "unit", "bar", "beyond")


def keep(name, content, subject, folder):
    """Write the JSON and the picture of a subject into a folder."""
    from matplotlib.figure import Figure

    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    figure = Figure(layout="constrained", dpi=150)
    subject.draw(content["measured"], figure)
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    with written_whole(folder / f"{name}.png") as path:
        path.write_bytes(picture.getvalue())
    with written_whole(folder / f"{name}.json") as path:
        path.write_text(text, "utf-8")


def found(subjects, folder):
    """Return what there is of earlier runs in a folder, and lines for what cannot be shown.

    Returns:
        Contents by name of the subject; lines, likewise, that name a file and say what is wrong.
    """
    contents, unreadable = {}, {}
    for name, subject in subjects.items():
        path = folder / f"{name}.json"
        if path.is_file():
            try:
                content = json.loads(path.read_text(encoding="utf-8"))
                _section(name, subject, content)
            except Exception as error:  # whatever another version, or another program, has left
                unreadable[name] = (
                    f"{path.name} is left out of the page, since it was written by another version "
                    f"({type(error).__name__}: {error}): measure {name} again"
                )
            else:
                contents[name] = content
    return contents, unreadable


def write_page(subjects, folder):
    """Write `results.md` of all that is in a folder, newly measured or not."""
    with written_whole(folder / PAGE_FILE) as path:
        path.write_text(page(subjects, *found(subjects, folder)), encoding="utf-8")


def page(subjects, contents, unreadable):
    """Return reports as Markdown: all figures with their bars, then a section a subject."""
    lines = [
        "# Benchmarks: every figure as it was measured",
        "",
        "Written by `python -m examples.benchmarks` (`make bench`). The implementations take "
        "turns, each in a process of its own; a figure is the median over the rounds, a ratio the "
        "median of the ratios of each round, and from – to is their whole spread.",
        "",
        *(f"- `{name}` took {minutes(content)}" for name, content in contents.items()),
        *(f"- {line}" for line in unreadable.values()),
        "",
        "## Figures with a bar",
        "",
    ]
    rows = [
        held.cells(content["quick"])
        for name, content in contents.items()
        for held in subjects[name].figures(content["measured"])
        if held.figure.bar
    ]
    lines += _markdown(Table("", FIGURE_COLUMNS, rows))
    for name, content in contents.items():
        lines += ["", *_section(name, subjects[name], content)]
    return "\n".join(lines) + "\n"


def minutes(content):
    """Say how long a subject took."""
    return f"{content['seconds'] / 60:.1f} minutes"


def _section(name, subject, content):
    measured = content["measured"]
    lines = [f"## `{name}`", "", subject.says, "", conditions(content), ""]
    lines += [f"{line}.\n" for line in measured.get("left_out", [])]
    figures = [held.cells(content["quick"]) for held in subject.figures(measured)]
    lines += _markdown(Table("", FIGURE_COLUMNS, figures))
    lines += ["", f"![{subject.says}]({name}.png)"]
    for table in subject.tables(measured):
        lines += ["", f"**{table.title}**", "", *_markdown(table)]
    return lines


def conditions(content):
    """Say in one line what was measured on."""
    machine = content["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    text = (
        f"{content['rounds']} round{'s' * (content['rounds'] > 1)} on {machine['cores']} cores "
        f"of {machine['processor']}, "
        f"{machine['system']}, Python {machine['python']}, Keras on {machine['backend']} "
        f"({machine['device']}); "
        f"{versions}; corpus {content['corpus']}; {minutes(content)}"
    )
    return f"{text}; a quick run, whose figures mean little." if content["quick"] else f"{text}."


def _markdown(table):
    words = _words(table)
    return [
        f"| {' | '.join(table.columns)} |",
        f"|{''.join(' --- |' if is_word else ' ---: |' for is_word in words)}",
        *(f"| {' | '.join(row)} |" for row in table.rows),
    ]


def shown(name, subject, content):
    """Yield the figures and the first table of a subject for the terminal."""
    measured = content["measured"]
    figures = [held.cells(content["quick"]) for held in subject.figures(measured)]
    first, *_ = subject.tables(measured)
    for table in (Table(name, FIGURE_COLUMNS, figures), first):
        result = RichTable(title=table.title, title_justify="left")
        for column, is_word in zip(table.columns, _words(table), strict=True):
            result.add_column(column, justify="left" if is_word else "right", overflow="fold")
        for row in table.rows:
            result.add_row(*row)
        yield result


def _words(table):
    """Return for each column whether it has words, which stand to the left."""
    return [
        not any(row[place][:1].isdigit() for row in table.rows)
        for place in range(len(table.columns))
    ]

"""The course as pages, for `mkdocs`, which reads this as a hook: every notebook with its outputs.

A page has the cells of its notebook in their order: text with its formulas, code, and what it
printed and drew. Answers stay folded. Links to other notebooks and to pages of the repository lead
to pages of the site.
"""

import base64
import html
import json
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).parent.parent
REPOSITORY = "https://github.com/keras-attention/keras_attention"
DIAGRAM = re.compile(r"Diagram\('([\w-]+)'\): (.*)")
INSTALLS = "# Installs this version of the package"
CARDS = """## The course

One idea a chapter, from what a paper says to a picture and exercises with their answers. Each runs
from start to end on a CPU in minutes.

<div class="grid cards" markdown>

{}

</div>
"""


def on_files(files, config):
    """Add the page of every notebook, with its pictures; the last one is on its card as well."""
    for notebook in notebooks():
        page, pictures = chapter(notebook)
        files.append(File.generated(config, f"examples/{notebook.stem}.md", content=page))
        for name, picture in {**pictures, f"{notebook.stem}.png": [*pictures.values()][-1]}.items():
            files.append(File.generated(config, f"examples/{name}", content=picture))
    return files


def on_page_markdown(markdown, page, **_):
    """Put the cards of the notebooks where a page asks for them; link to their pages."""
    if "/" in page.file.src_uri:
        return markdown
    cards = "\n".join(map(card, notebooks()))
    markdown = markdown.replace("<!-- notebooks -->", CARDS.format(cards) if cards else "")
    return re.sub(r"\]\(\.\./(examples/\w+)\.ipynb\)", r"](\1.md)", markdown)


def notebooks():
    """Return the notebooks, in their order."""
    return sorted(ROOT.glob("examples/[0-9][0-9]_*.ipynb"))


def cells(notebook):
    """Return the cells of a notebook, as dictionaries."""
    return json.loads(notebook.read_text(encoding="utf-8"))["cells"]


def chapter(notebook):
    """Return a notebook as Markdown, and its pictures as PNG, by their names in its page."""
    parts, pictures = [], {}
    for cell in cells(notebook):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(prose(source))
            continue
        code = f"```python\n{source}\n```"
        if source.startswith(INSTALLS):
            code = f"<details markdown><summary>Installation</summary>\n\n{code}\n\n</details>"
        parts.append(code)
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "image/png" in data:
                name = f"{notebook.stem}_files/{len(pictures) + 1}.png"
                pictures[name] = base64.b64decode(data["image/png"])
                parts.append(f"![What this cell draws]({name})")
            else:
                parts.append(printed(output))
    return "\n\n".join(parts) + "\n", pictures


def prose(source):
    """Return the Markdown of a cell with the links of the site; what it folds stays Markdown."""
    source = re.sub(r"\[!\[Open in Colab\]\(.*?\)\]", "[Open in Colab]", source)
    source = re.sub(r"\]\((\d\d_\w+)\.ipynb", r"](\1.md", source)
    source = source.replace(f"]({REPOSITORY}/blob/main/docs/", "](../")
    return source.replace("<details>", "<details markdown>")


def printed(output):
    """Return what a cell printed or showed, but a picture, as Markdown."""
    data = output.get("data", {})
    text = "".join(output.get("text", data.get("text/plain", "")))
    diagram = DIAGRAM.match(text)
    if diagram:
        name, caption = diagram.groups()
        return f"![{caption}](../keras_attention/plotting/diagrams/{name}.svg)\n\n*{caption}*"
    shown = "".join(data.get("text/html", ())) or f"<pre><code>{html.escape(text)}</code></pre>"
    return f'<div class="output">\n{shown}\n</div>'


def card(notebook):
    """Return a card of the gallery: title, picture, idea, where to read and run the notebook."""
    source = "".join(cells(notebook)[0]["source"])
    title, address, idea = re.fullmatch(
        r"# (.*?)\n\n\[!.*\]\((.*?)\)\n\n(.*)", source, re.DOTALL
    ).groups()
    parts = [
        f"- **[{title}](examples/{notebook.stem}.md)**",
        f"![A picture of this notebook](examples/{notebook.stem}.png)",
        " ".join(idea.split("*Runs in")[0].split()),
        f"[Open in Colab]({address})",
    ]
    return "\n\n    ".join(parts) + "\n"

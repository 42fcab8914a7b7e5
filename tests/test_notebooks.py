"""The notebooks: built from their scripts, whole, and each runs from start to end."""

import ast
import configparser
import re
import subprocess
import sys
from contextlib import nullcontext
from importlib import metadata
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from examples import notebooks
from keras_attention import __version__
from keras_attention.installing import NAME
from tests.colab.requirements import missing

pytestmark = pytest.mark.extra("notebooks")

ROOT = Path(__file__).parent.parent
SCRIPTS = notebooks.scripts()
every_notebook = pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
# Words of tests, which are none of a student's business
SCAFFOLDING = re.compile(r"QUICK|run_eagerly|run_functions_eagerly|jit_compile=(False|None) if")
MOST_LINES = 20
KERNEL = """\
# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     name: python3
# ---
"""
EXERCISES = 3


def built(script):
    import nbformat

    return nbformat.read(script.with_suffix(".ipynb"), as_version=4)


def address():
    """Return where the repository is, of which the badge and the first cell speak."""
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg", encoding="utf-8")
    return settings["metadata"]["url"]


def badge(script):
    """Return the picture and the link that open a notebook in Colab."""
    repository = address().removeprefix("https://github.com/")
    colab = "https://colab.research.google.com"
    return (
        f"[![Open in Colab]({colab}/assets/colab-badge.svg)]"
        f"({colab}/github/{repository}/blob/main/examples/{script.stem}.ipynb)"
    )


def test_there_are_eleven_and_every_one_has_its_script():
    assert [int(script.name[:2]) for script in SCRIPTS] == list(range(1, 12))
    assert sorted(ROOT.glob("examples/*.ipynb")) == [each.with_suffix(".ipynb") for each in SCRIPTS]


def test_the_readme_has_a_badge_for_each():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for script in SCRIPTS:
        title = built(script).cells[0].source.splitlines()[0].removeprefix("# ")
        row = f"| [{title}](examples/{script.stem}.ipynb) |"
        assert row in readme
        assert badge(script) in readme


@every_notebook
def test_the_notebook_is_that_of_its_script(script):
    told = notebooks.published(notebooks.read(script))
    written = [(cell.cell_type, cell.source) for cell in told.cells]
    assert [(cell.cell_type, cell.source) for cell in built(script).cells] == written, (
        f"build it again: python -m examples.notebooks {script.name[:2]}"
    )


@every_notebook
def test_the_notebook_was_run_and_shows_its_pictures(script):
    notebook = built(script)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell.outputs]
    assert not [each for each in outputs if each.output_type == "error"]
    assert not [each for each in outputs if each.get("name") == "stderr"]
    assert [each for each in outputs if "image/png" in each.get("data", {})]
    assert script.with_suffix(".ipynb").stat().st_size <= notebooks.MOST_BYTES


@every_notebook
def test_it_opens_in_colab_and_installs_there(script):
    cells = built(script).cells
    assert re.match(rf"# {int(script.name[:2])} · ", cells[0].source)
    assert badge(script) in cells[0].source
    code = [cell.source for cell in cells if cell.cell_type == "code"]
    assert cells[1].source == code[0] == notebooks.installation()
    chosen, imported = (
        next(number for number, source in enumerate(code) if re.search(pattern, source, re.M))
        for pattern in (r'os\.environ\["KERAS_BACKEND"\] = "jax"', r"^import keras$")
    )
    assert chosen <= imported, "the backend for a TPU has to be chosen before Keras is imported"


@every_notebook
def test_it_speaks_of_pages_that_are_there(script):
    text = "\n".join(cell.source for cell in built(script).cells if cell.cell_type == "markdown")
    text = text.replace(badge(script), "")
    in_repository = f"{address()}/blob/main/"
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if target.startswith(in_repository):
            assert (ROOT / target.removeprefix(in_repository)).is_file(), target
        else:  # Colab finds other notebooks beside this one, but no pages of the documentation
            assert re.fullmatch(r"\d\d_\w+\.ipynb", target), target
            assert (script.parent / target).is_file(), target


@every_notebook
def test_its_code_is_for_its_readers(script):
    for cell in notebooks.read(script).cells:
        if cell.cell_type == "code" and not notebooks.is_marked(cell, "claims"):
            assert not SCAFFOLDING.search(cell.source), cell.source
            lines = [line for line in cell.source.splitlines() if line]
            assert len(lines) <= MOST_LINES or "import keras" in lines, cell.source


@every_notebook
def test_a_quick_run_changes_only_numbers_of_the_cell(script):
    marked = [cell for cell in notebooks.read(script).cells if "quick" in cell.metadata]
    for cell in marked:
        assert names_set(cell.metadata.quick) <= names_set(cell.source), cell.metadata.quick


def names_set(code):
    """Return the names that Python code assigns."""
    nodes = ast.walk(ast.parse(code))
    return {
        node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


@every_notebook
def test_it_runs_from_start_to_end_in_an_empty_folder_and_knows_its_answers(script, tmp_path):
    notebook = notebooks.shortened(notebooks.solved(notebooks.read(script)))
    notebooks.execute(notebook, tmp_path)  # a cell that fails is an error
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == [*range(1, len(code) + 1)]
    checks = [cell for cell in code if notebooks.is_marked(cell, "check")]
    assert len(checks) >= 2 * EXERCISES
    for cell in checks:
        said = "".join(output.get("text", "") for output in cell.outputs)
        wanted = "Right" if notebooks.is_marked(cell, "solved") else "Not yet"
        assert re.search(rf"^{wanted}", said, re.MULTILINE), (wanted, cell.source, said)


@pytest.fixture
def first_cell(tmp_path, monkeypatch):
    """Return a function that runs the first cell in an empty folder; it returns pip's arguments."""

    def run(installed=(), status=0, where=tmp_path):
        commands = []

        def pip(command, capture_output):
            assert command[:4] == [sys.executable, "-m", "pip", "install"]
            assert capture_output
            commands.append(command[4:])
            return SimpleNamespace(returncode=status)

        def distributions(name):
            assert name == NAME
            return [
                SimpleNamespace(version=version, read_text={"RECORD": record}.get)
                for version, record in installed
            ]

        monkeypatch.setattr(subprocess, "run", pip)
        monkeypatch.setattr(metadata, "distributions", distributions)
        monkeypatch.chdir(where)
        exec(notebooks.installation(), {})
        return commands

    return run


def test_the_package_is_not_installed_where_this_version_is(first_cell):
    web = [f"git+{address()}"]
    assert first_cell(installed=[(__version__, "its files")]) == []
    assert first_cell(installed=[("0.0.1", "its files")]) == [web]
    # A checkout that was built once looks like this.
    assert first_cell(installed=[(__version__, None)]) == [web]


@pytest.mark.parametrize(
    "name", ["keras_attention_tutorial-0.1.0-py3-none-any.whl", "keras_attention-main.zip"]
)
def test_a_file_in_the_folder_comes_before_the_web(first_cell, tmp_path, name):
    (tmp_path / "keras_attention.txt").touch()
    (tmp_path / name).touch()
    assert first_cell() == [[name]]


def test_a_checkout_comes_before_the_web(first_cell):
    assert first_cell(where=ROOT) == [["."]]
    assert first_cell(where=ROOT / "examples") == [[".."]]


def test_where_nothing_can_be_installed_a_sentence_says_what_to_do(first_cell, tmp_path):
    from IPython.core.error import UsageError  # Jupyter prints it in one line.

    with pytest.raises(UsageError) as raised:
        first_cell(status=1)
    assert str(raised.value) == (
        f"Put a wheel or zip of {NAME} {__version__} into {tmp_path} "
        f"and run this again: pip could not install git+{address()}."
    )


def test_on_colab_pip_adds_what_is_missing_and_nothing_else(first_cell, monkeypatch):
    monkeypatch.setitem(sys.modules, "google.colab", ModuleType("google.colab"))
    ((source, alone, *added),) = first_cell()
    assert (source, alone) == (f"git+{address()}", "--no-deps")
    assert set(added) == missing("cpu") | missing("tpu")


def test_a_notebook_that_is_not_there_is_named(monkeypatch):
    with pytest.raises(ValueError, match="no notebook begins with 99; there are 01_"):
        notebooks.main(["99"])


def test_a_notebook_that_fails_is_not_written(tmp_path):
    from nbclient.exceptions import CellExecutionError

    script = tmp_path / "12_wrong.py"
    script.write_text("# %%\nraise ValueError('seven')\n", encoding="utf-8")
    with pytest.raises(CellExecutionError, match="seven"):
        notebooks.build(script)
    assert list(tmp_path.iterdir()) == [script]


def test_new_prose_keeps_what_was_drawn_and_new_code_has_to_be_run(tmp_path):
    script = tmp_path / "12_short.py"

    def write(prose, code):
        cells = f"# %% [markdown]\n# {prose}\n\n# %%\n{code}\n"
        script.write_text(f"{KERNEL}\n{cells}", encoding="utf-8")

    write("A sentence.", "1 + 1")
    notebooks.build(script)
    drawn = built(script).cells[1]
    assert drawn.outputs[0]["data"]["text/plain"] == "2"

    write("Another one.", "1 + 1")
    notebooks.retell(script)
    assert [cell.source for cell in built(script).cells] == ["Another one.", "1 + 1"]
    assert built(script).cells[1] == drawn

    write("Another one.", "1 + 2")
    with pytest.raises(ValueError, match=r"code of 12_short.py has changed .* build it again"):
        notebooks.retell(script)
    assert built(script).cells[1] == drawn

    write("Another one.", "# two\n1 + 1")
    notebooks.retell(script)
    assert built(script).cells[1] == {**drawn, "source": "# two\n1 + 1"}


def test_another_first_cell_needs_no_new_run_where_the_first_one_printed_nothing(tmp_path):
    script = tmp_path / "12_short.py"
    script.write_text(f"{KERNEL}\n# %%\n{{}}\n\n# %%\n1 + 1\n", encoding="utf-8")
    old = script.read_text(encoding="utf-8")
    changed = pytest.raises(ValueError, match="has changed since it was run")
    for first, ending in (("import os", nullcontext()), ("1", changed)):
        script.write_text(old.format(first), encoding="utf-8")
        notebooks.build(script)
        script.write_text(old.replace("%%\n{}", '%% tags=["install"]\n# Comes.'), encoding="utf-8")
        with ending:
            notebooks.retell(script)
            first_cell, second = built(script).cells
            assert first_cell.source == notebooks.installation()
            assert second.outputs[0]["data"]["text/plain"] == "2"


def test_marks_say_what_a_run_and_a_reader_get():
    text = """\
# %% quick="STEPS = 2; UNITS = 3"
STEPS, UNITS = 200, 64

# %% tags=["claims"]
assert STEPS == 200

# %%
answer = None

# %% tags=["check"]
print("Right" if answer else "Not yet")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# answer = STEPS
# ```
#
# Because.
# </details>
"""
    import jupytext

    script = jupytext.reads(text, "py:percent")
    told, quick = notebooks.published(script), notebooks.shortened(notebooks.solved(script))
    assert [cell.source for cell in told.cells][:2] == ["STEPS, UNITS = 200, 64", "answer = None"]
    assert not any(cell.metadata for cell in told.cells)
    prelude, numbers, stub, check, answer, again, _ = (cell.source for cell in quick.cells)
    assert "run_functions_eagerly(True)" in prelude
    assert numbers == "STEPS, UNITS = 200, 64\nSTEPS = 2\nUNITS = 3"
    assert (stub, answer.strip()) == ("answer = None", "answer = STEPS")
    assert check == again

"""The notebooks: built from their scripts, whole, and each runs from start to end."""

import configparser
import re
from pathlib import Path

import pytest

from examples import notebooks

pytestmark = pytest.mark.extra("notebooks")

ROOT = Path(__file__).parent.parent
SCRIPTS = notebooks.scripts()
every_notebook = pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)


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


def test_there_are_ten_and_every_one_has_its_script():
    assert [int(script.name[:2]) for script in SCRIPTS] == list(range(1, 11))
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
    written = [(cell.cell_type, cell.source) for cell in notebooks.read(script).cells]
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
    assert f'"git+{address()}"' in cells[1].source
    assert '"google.colab" in sys.modules' in cells[1].source
    code = [cell.source for cell in cells if cell.cell_type == "code"]
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
def test_it_runs_from_start_to_end_in_an_empty_folder(script, tmp_path):
    notebook = notebooks.read(script)
    notebooks.execute(notebook, tmp_path, quick=True)  # a cell that fails is an error
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert counts == [*range(1, len(counts) + 1)]


def test_a_notebook_that_is_not_there_is_named(monkeypatch):
    with pytest.raises(ValueError, match="no notebook begins with 99; there are 01_"):
        notebooks.main(["99"])


def test_a_notebook_that_fails_is_not_written(tmp_path):
    from nbclient.exceptions import CellExecutionError

    script = tmp_path / "11_wrong.py"
    script.write_text("# %%\nraise ValueError('seven')\n", encoding="utf-8")
    with pytest.raises(CellExecutionError, match="seven"):
        notebooks.build(script)
    assert list(tmp_path.iterdir()) == [script]


def test_new_prose_keeps_what_was_drawn_and_new_code_has_to_be_run(tmp_path):
    script = tmp_path / "11_short.py"
    kernel = (
        "# ---\n# jupyter:\n#   kernelspec:\n#     display_name: Python 3\n#     name: python3\n"
    )

    def write(prose, code):
        cells = f"# %% [markdown]\n# {prose}\n\n# %%\n{code}\n"
        script.write_text(f"{kernel}# ---\n\n{cells}", encoding="utf-8")

    write("A sentence.", "1 + 1")
    notebooks.build(script)
    drawn = built(script).cells[1]
    assert drawn.outputs[0]["data"]["text/plain"] == "2"

    write("Another one.", "1 + 1")
    notebooks.retell(script)
    assert [cell.source for cell in built(script).cells] == ["Another one.", "1 + 1"]
    assert built(script).cells[1] == drawn

    write("Another one.", "1 + 2")
    with pytest.raises(ValueError, match=r"code of 11_short.py has changed .* build it again"):
        notebooks.retell(script)
    assert built(script).cells[1] == drawn

"""The notebooks: built from their scripts, whole, and each runs from start to end."""

import configparser
import re
from pathlib import Path

import pytest

from examples import notebooks

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("jupytext")
pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

ROOT = Path(__file__).parent.parent
SCRIPTS = [script for script in notebooks.scripts() if script.with_suffix(".ipynb").is_file()]
every_notebook = pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)


def built(script):
    return nbformat.read(script.with_suffix(".ipynb"), as_version=4)


def address():
    """Return where the repository is, of which the badge and the first cell speak."""
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg", encoding="utf-8")
    return settings["metadata"]["url"]


def test_every_notebook_has_its_script():
    assert sorted(ROOT.glob("examples/*.ipynb")) == [each.with_suffix(".ipynb") for each in SCRIPTS]


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
    first = cells[0].source
    repository = address().removeprefix("https://github.com/")
    badge = f"https://colab.research.google.com/github/{repository}/blob/main/examples/"
    assert re.match(rf"# {int(script.name[:2])} · ", first)
    assert f"{badge}{script.stem}.ipynb" in first
    assert f'"git+{address()}"' in cells[1].source
    assert '"google.colab" in sys.modules' in cells[1].source


@every_notebook
def test_it_speaks_of_pages_that_are_there(script):
    text = "\n".join(cell.source for cell in built(script).cells if cell.cell_type == "markdown")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
        assert (script.parent / target).exists(), target


@every_notebook
def test_it_runs_from_start_to_end_in_an_empty_folder(script, tmp_path):
    notebooks.execute(notebooks.read(script), tmp_path, quick=True)


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

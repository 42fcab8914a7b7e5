"""Build the notebooks of this folder from their scripts: `python -m examples.notebooks`.

A notebook's source is its script, cells in the percent format of jupytext. Building runs it from
start to end in an empty folder, and keeps what it printed and drew. Marks behind `# %%` say what a
cell is for:

- `tags=["install"]`: its text comes from `install.py`, the same for every notebook. It prints
  nothing where the package is installed.
- `quick="STEPS = 2; UNITS = 16"`: it sets numbers that make a training long. A quick run, which is
  a test, appends these lines to it, and runs functions of TensorFlow eagerly.
- `tags=["claims"]`: it asserts what the chapter claims to have learned. Building runs it, a quick
  run leaves it out, and the reader's notebook does not have it.
- `tags=["check"]`: it prints `Right` or `Not yet` to an exercise. The markdown cell behind it folds
  the answer away, as Python; a test tries the check before and after it.
"""

import ast
import copy
import os
import re
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from examples.command import run
from keras_attention import __version__
from keras_attention.installing import NAME, REPOSITORY
from keras_attention.storage import written_whole

FOLDER = Path(__file__).parent
MOST_BYTES = 1_000_000
_SECONDS_A_CELL = 900
# A few steps are not worth a compiler.
_EAGERLY = """\
import keras
if keras.backend.backend() == "tensorflow":
    import tensorflow
    tensorflow.config.run_functions_eagerly(True)"""
_PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What TensorFlow's C++ writes when it is loaded, whatever its log level
_LOGS = re.compile(r"^([IWE]\d{4} |WARNING: All log messages before absl).*\n?", re.MULTILINE)


def scripts():
    """Return the scripts of all notebooks, in their order."""
    return sorted(FOLDER.glob("[0-9][0-9]_*.py"))


def read(script):
    """Return the notebook of a script, with its marks and without outputs."""
    import jupytext

    notebook = jupytext.read(script)
    notebook.metadata.pop("jupytext", None)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for cell in notebook.cells:
        if is_marked(cell, "install"):
            cell.source = installation()
    return notebook


def installation():
    """Return the text of the first cell: `install.py` without its docstring, for this version."""
    text = (FOLDER / "install.py").read_text(encoding="utf-8").split('"""\n')[1].strip()
    for word, value in {"name": NAME, "version": __version__, "repository": REPOSITORY}.items():
        text = text.replace(f'{{{word}}}"', f'{value}"')
    return text


def is_marked(cell, tag):
    """Return whether a cell has a tag."""
    return tag in cell.metadata.get("tags", ())


def published(notebook):
    """Return a notebook as its readers get it: without claims and marks, its cells numbered."""
    kept = _without_claims(notebook)
    code = [cell for cell in kept.cells if cell.cell_type == "code"]
    for number, cell in enumerate(kept.cells, start=1):
        cell.id, cell.metadata = f"cell-{number}", {}
    for number, cell in enumerate(code, start=1):
        cell.execution_count = number
        for output in cell.outputs:
            if "execution_count" in output:
                output.execution_count = number
    return kept


def shortened(notebook):
    """Return a notebook with the quick numbers and without claims, for a test."""
    from nbformat.v4 import new_code_cell

    kept = _without_claims(notebook)
    for cell in kept.cells:
        if "quick" in cell.metadata:
            cell.source += "\n" + cell.metadata.quick.replace("; ", "\n")
    kept.cells.insert(0, new_code_cell(_EAGERLY))
    return kept


def _without_claims(notebook):
    kept = copy.deepcopy(notebook)
    kept.cells = [cell for cell in kept.cells if not is_marked(cell, "claims")]
    return kept


def solved(notebook):
    """Return a notebook in which each check is followed by the answer and the check again."""
    from nbformat.v4 import new_code_cell

    kept = copy.deepcopy(notebook)
    cells = []
    for cell, after in zip(kept.cells, [*kept.cells[1:], None], strict=True):
        cells.append(cell)
        if is_marked(cell, "check"):
            answer = _PYTHON.search(after.source if after else "")
            if answer is None:
                raise ValueError(f"no answer is folded away behind the check {cell.source!r}")
            again = new_code_cell(cell.source, metadata={"tags": ["check", "solved"]})
            cells += [new_code_cell(answer[1]), again]
    kept.cells = cells
    return kept


def execute(notebook, folder):
    """Run a notebook in a folder, as a Jupyter server would.

    Args:
        notebook: what `read` or `shortened` returns; it is given its outputs in place.
        folder: where its files go.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell failed.
    """
    from nbclient import NotebookClient

    client = NotebookClient(
        notebook,
        timeout=_SECONDS_A_CELL,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
        coalesce_streams=True,
    )
    # Where libtpu is installed JAX would look for a TPU, and complain that there is none.
    environment = {"JAX_PLATFORMS": "cpu", **os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    # A notebook draws below its cells, whatever this process does.
    environment["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    client.execute(env=environment)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [kept for output in cell.outputs if (kept := _without_logs(output))]


def build(script):
    """Run the notebook of a script and write it beside the script, whole or not at all.

    Returns:
        Its path.

    Raises:
        ValueError: with what it drew it is too large for a repository.
    """
    notebook = read(script)
    with tempfile.TemporaryDirectory() as folder:
        execute(notebook, folder)
    return _write(published(notebook), script)


def retell(script):
    """Write the notebook of a script with the text of today and what its code drew before.

    The code has to be the same program, whatever its comments. The first cell may be another: where
    it printed nothing, nothing hangs on it but the package, which is there.

    Returns:
        Its path.

    Raises:
        ValueError: the code is no longer that which was run.
    """
    import nbformat

    notebook = published(read(script))
    built = nbformat.read(script.with_suffix(".ipynb"), as_version=4)
    code, was = (
        [cell for cell in each.cells if cell.cell_type == "code"] for each in (notebook, built)
    )
    if len(code) != len(was) or not all(map(_is_as_run, code, was)):
        raise ValueError(f"the code of {script.name} has changed since it was run: build it again")
    for cell, before in zip(code, was, strict=True):
        cell.outputs, cell.execution_count = before.outputs, before.execution_count
    return _write(notebook, script)


def _is_as_run(cell, before):
    """Return whether a cell would do what the outputs of an earlier one show."""
    if cell.source == installation():
        return not before.outputs
    return ast.dump(ast.parse(cell.source)) == ast.dump(ast.parse(before.source))


def _write(notebook, script):
    """Write a notebook with its outputs beside its script, whole or not at all."""
    import nbformat

    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"]}
    text = nbformat.writes(notebook) + "\n"
    if len(text.encode()) > MOST_BYTES:
        raise ValueError(
            f"{script.stem}.ipynb would have {len(text.encode()):,} bytes, at most "
            f"{MOST_BYTES:,} are wanted: draw less, or coarser"
        )
    path = script.with_suffix(".ipynb")
    with written_whole(path) as part:
        part.write_text(text, encoding="utf-8")
    return path


def _without_logs(output):
    """Return an output without the logs of TensorFlow; None if there is nothing else in it."""
    if output.output_type == "stream" and output.name == "stderr":
        output.text = _LOGS.sub("", output.text)
        return output if output.text.strip() else None
    return output


def main(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Beginnings of names, such as `03`; none: all.", show_default=False),
    ] = None,
    prose: Annotated[
        bool, typer.Option("--prose", help="Run nothing: only the text around the code is new.")
    ] = False,
):
    """Run the scripts as notebooks and write them beside the scripts, with what they drew."""
    chosen = [each for each in scripts() if not names or each.stem.startswith(tuple(names))]
    if not chosen:
        known = ", ".join(each.stem for each in scripts())
        raise ValueError(f"no notebook begins with {' or '.join(names)}; there are {known}")
    with typer.progressbar(chosen, item_show_func=lambda each: each and each.stem) as progress:
        for script in progress:
            (retell if prose else build)(script)


if __name__ == "__main__":
    app = typer.Typer(add_completion=False)
    app.command()(main)
    run(app, "examples.notebooks")

"""Build the notebooks of this folder from their scripts: `python -m examples.notebooks`.

A notebook's source is its script, cells in the percent format of jupytext. Building runs it from
start to end in an empty folder, and keeps what it printed and drew.
"""

import os
import re
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from examples.command import run
from keras_attention.storage import written_whole

FOLDER = Path(__file__).parent
MOST_BYTES = 1_000_000
_SECONDS_A_CELL = 900
# What TensorFlow's C++ writes when it is loaded, whatever its log level
_LOGS = re.compile(r"^([IWE]\d{4} |WARNING: All log messages before absl).*\n?", re.MULTILINE)


def scripts():
    """Return the scripts of all notebooks, in their order."""
    return sorted(FOLDER.glob("[0-9][0-9]_*.py"))


def read(script):
    """Return the notebook of a script, without outputs; its cells are numbered, not random."""
    import jupytext

    notebook = jupytext.read(script)
    notebook.metadata.pop("jupytext", None)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for number, cell in enumerate(notebook.cells, start=1):
        cell.id = f"cell-{number}"
        cell.metadata = {}
    return notebook


def execute(notebook, folder, quick=False):
    """Run a notebook in a folder, as a Jupyter server would.

    Args:
        notebook: what `read` returns; it is given its outputs in place.
        folder: where its files go.
        quick: whether it makes do with few steps, as for a test.

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
    )
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    # A notebook draws below its cells, whatever this process does.
    environment["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    if quick:
        environment["KERAS_ATTENTION_QUICK"] = "1"
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
    return _write(notebook, script)


def retell(script):
    """Write the notebook of a script with the prose of today and what its code drew before.

    Returns:
        Its path.

    Raises:
        ValueError: the code is no longer that which was run.
    """
    import nbformat

    notebook = read(script)
    built = nbformat.read(script.with_suffix(".ipynb"), as_version=4)
    code, was = (
        [cell for cell in each.cells if cell.cell_type == "code"] for each in (notebook, built)
    )
    if [cell.source for cell in code] != [cell.source for cell in was]:
        raise ValueError(f"the code of {script.name} has changed since it was run: build it again")
    for cell, before in zip(code, was, strict=True):
        cell.outputs, cell.execution_count = before.outputs, before.execution_count
    return _write(notebook, script)


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

"""The command line: `keras-attention demo | train | translate | view | serve | evaluate | …`.

The commands read arguments, call the package and print. Wrong input gives one line on stderr and
exit code 2. Keras is imported inside the commands, so that `--help` answers at once.
"""

import os
import sys
from typing import Any

import typer

from keras_attention.cli import (
    attribute,
    compare,
    compile_check,
    demo,
    evaluate,
    export,
    lab,
    serve,
    train,
    translate,
    view,
    write,
)
from keras_attention.cli.console import printable
from keras_attention.cli.signals import ENDS, INTERRUPTED, heeded

app = typer.Typer(
    name="keras-attention",
    help="Train translators with attention, translate, and see what the model attends to.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
for command in (
    demo.demo,
    train.train,
    translate.translate,
    view.view,
    attribute.attribute,
    serve.serve,
    evaluate.evaluate,
    export.export,
    compare.compare,
    write.write,
    compile_check.compile_check,
):
    app.command()(command)
app.add_typer(lab.app)


def _silence_native_logs():
    """Discard the logs of TensorFlow's C++ code, but keep Python's stderr.

    There is no other way to turn them off, and they would bury the one line that explains an error.
    Users who want them set TF_CPP_MIN_LOG_LEVEL.
    """
    if "TF_CPP_MIN_LOG_LEVEL" not in os.environ:
        silent = os.open(os.devnull, os.O_WRONLY)
        ours = silent  # where the user has closed stderr
        if sys.stderr:
            sys.stderr.flush()
            ours = os.dup(2)
        sys.stderr = os.fdopen(ours, "w", buffering=1, encoding="utf-8", errors="replace")
        os.dup2(silent, 2)


def _multiply_with_onednn():
    """Let TensorFlow multiply with oneDNN on every CPU; by itself it asks for AVX-512 VNNI.

    Users who want the products of TensorFlow's own kernels set TF_ENABLE_ONEDNN_OPTS to 0.
    """
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")


def main() -> None:
    """Run the command line."""
    _silence_native_logs()
    _multiply_with_onednn()
    usage_error: Any = typer.BadParameter.__base__  # its name depends on the version of Typer
    try:
        with heeded():
            status = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except usage_error as error:
        _fail(f"{error.format_message().rstrip('.')}; try --help")
    except (ValueError, OSError, ImportError) as error:
        _fail(error)
    except MemoryError as error:
        _fail(f"out of memory: {error}")
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPTED
    except SystemExit as end:
        status = end.code
    if status in ENDS:
        print(f"keras-attention: {ENDS[status]}", file=sys.stderr)
    if status:
        sys.exit(status)


def _fail(error):
    line = " ".join(str(error).split())
    print(printable(f"keras-attention: error: {line}"), file=sys.stderr)
    sys.exit(2)

"""The command line: `keras-attention demo | train | translate | view | serve | evaluate | …`.

Thin: reads arguments, calls the rooms, prints. A wrong input is one line on stderr and exit code 2.
Keras is imported inside the commands, so that `--help` answers at once.
"""

import os
import sys

import typer

from keras_attention.cli import (
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

app = typer.Typer(
    name="keras-attention",
    help="Train translators with attention, translate, and see where the model looked.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
for command in (
    demo.demo,
    train.train,
    translate.translate,
    view.view,
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
    """Send what TensorFlow's C++ code logs to nowhere, and keep Python's stderr.

    It cannot be switched off otherwise, and would bury the one line that says what is wrong. Who
    sets TF_CPP_MIN_LOG_LEVEL wants to see it.
    """
    if "TF_CPP_MIN_LOG_LEVEL" not in os.environ:
        sys.stderr.flush()
        sys.stderr = os.fdopen(os.dup(2), "w", buffering=1, encoding="utf-8", errors="replace")
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def main():
    """Run the command line."""
    _silence_native_logs()
    usage_error = typer.BadParameter.__base__  # Typer has it under another name in every version
    try:
        status = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except usage_error as error:
        _fail(f"{error.format_message().rstrip('.')}; try --help")
    except (ValueError, OSError, ImportError) as error:
        _fail(error)
    except (KeyboardInterrupt, typer.Abort):
        status = 130
    if status == 130:
        print("keras-attention: interrupted", file=sys.stderr)
    if status:
        sys.exit(status)


def _fail(error):
    print(f"keras-attention: error: {' '.join(str(error).split())}", file=sys.stderr)
    sys.exit(2)

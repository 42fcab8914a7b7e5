"""How a command of the examples ends: a wrong option is one line on stderr and exit code 2."""

import sys

import typer


def run(app, name):
    """Run a Typer application as `python -m name`, and exit with its status."""
    usage_error = typer.BadParameter.__base__  # Typer has it under another name in every version
    try:
        status = app(sys.argv[1:], standalone_mode=False, prog_name=f"python -m {name}")
    except usage_error as error:
        status = _complain(name, error.format_message())
    except (ValueError, OSError, ImportError) as error:
        status = _complain(name, error)
    except (KeyboardInterrupt, typer.Abort):
        status = 130
    sys.exit(status)


def _complain(name, error):
    """Say in one line what was wrong; return the status 2."""
    print(f"{name}: error: {' '.join(str(error).split())}", file=sys.stderr)
    return 2

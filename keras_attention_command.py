"""The console script `keras-attention`.

It is outside the package: once it is loaded, the package knows that this is the command line, which
imports Keras only where needed. So `--help` and a mistyped option answer at once.
"""

import sys


def main() -> None:
    """Run the command line."""
    try:
        from keras_attention.cli import main as command_line
    except KeyboardInterrupt:  # the commands themselves heed it once they are there
        print("keras-attention: interrupted", file=sys.stderr)
        sys.exit(130)
    command_line()

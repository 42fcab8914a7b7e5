"""The console script `keras-attention`.

It is outside the package: once it is loaded, the package knows that this is the command line, which
imports Keras only where needed. So `--help` and a mistyped option answer at once.
"""

import gc
import sys

_NEW_OBJECTS = 100_000  # between searches for unreachable ones; 700 or 2,000 by itself


def main() -> None:
    """Run the command line.

    The imports of Keras and TensorFlow leave 300,000 objects, all of which stay: Python searches
    them rarely for unreachable ones, and not once more as it ends.
    """
    gc.set_threshold(_NEW_OBJECTS)
    try:
        from keras_attention.cli import main as command_line
    except KeyboardInterrupt:  # the commands themselves heed it once they are there
        print("keras-attention: interrupted", file=sys.stderr)
        sys.exit(130)
    try:
        command_line()
    finally:
        gc.freeze()

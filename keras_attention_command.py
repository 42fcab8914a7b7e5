"""The console script `keras-attention`.

It is outside the package: once it is loaded, the package knows that this is the command line, which
imports Keras only where needed. So `--help` and a mistyped option answer at once.
"""


def main() -> None:
    """Run the command line."""
    from keras_attention.cli import main as command_line

    command_line()

"""The console script `keras-attention`.

It stands outside the package: by being loaded it says that this is the command line, which imports
Keras only where it needs it, so that `--help` and a mistyped option answer at once.
"""


def main():
    """Run the command line."""
    from keras_attention.cli import main as command_line

    command_line()

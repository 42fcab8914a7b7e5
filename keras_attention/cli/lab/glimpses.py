"""`keras-attention lab glimpses` and `two-digits`: hard attention by glimpses."""

from pathlib import Path

from keras_attention.cli.lab.bench import Out, Quick, Seed, perform


def glimpses(
    out: Out = Path("runs/lab/glimpses"),
    seed: Seed = 0,
    quick: Quick = False,
) -> None:
    """Learn where to take glimpses: one digit in clutter, from a few of them.

    Compares the recurrent attention model, the same model with all glimpses at the centre, and a
    dense network on the whole picture. Takes four minutes on two CPU cores.
    """
    perform("glimpses", out, seed, quick)


def two_digits(
    out: Out = Path("runs/lab/two-digits"),
    seed: Seed = 0,
    quick: Quick = False,
) -> None:
    """Read two digits from left to right, learning where to take glimpses.

    Compares the deep recurrent attention model, the same model with all glimpses at the centre, and
    a dense network on the whole picture. Takes five minutes on two CPU cores.
    """
    perform("two-digits", out, seed, quick)

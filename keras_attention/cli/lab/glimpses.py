"""`keras-attention lab glimpses` and `two-digits`: hard attention that looks."""

from pathlib import Path

from keras_attention.cli.lab.bench import Out, Quick, Seed, perform


def glimpses(
    out: Out = Path("runs/lab/glimpses"),
    seed: Seed = 0,
    quick: Quick = False,
):
    """Learn where to look: one digit in clutter, from a few glimpses.

    The recurrent attention model, beside the same model that stares at the middle, and a dense net
    on the whole picture. It takes two minutes on two CPU cores.
    """
    perform("glimpses", out, seed, quick)


def two_digits(
    out: Out = Path("runs/lab/two-digits"),
    seed: Seed = 0,
    quick: Quick = False,
):
    """Read two digits from left to right, with glimpses that nobody says where to take.

    The deep recurrent attention model, beside the same model that stares at the middle, and a dense
    net on the whole picture. It takes two minutes on two CPU cores.
    """
    perform("two-digits", out, seed, quick)

"""`keras-attention lab copy | repeat-copy | associative-recall`: a Neural Turing Machine."""

from pathlib import Path

from keras_attention.cli.lab.bench import Out, Quick, Seed, perform


def copy(out: Out = Path("runs/lab/copy"), seed: Seed = 0, quick: Quick = False):
    """Copy sequences of bits, and longer ones than any that were trained on.

    A Neural Turing Machine beside an LSTM with as many parameters, on the same 10,000 sequences of
    up to 20 vectors; then sequences of 40 and 60. One minute on two CPU cores.
    """
    perform("copy", out, seed, quick)


def repeat_copy(out: Out = Path("runs/lab/repeat-copy"), seed: Seed = 0, quick: Quick = False):
    """Copy sequences of bits as often as a number says, and then say that it is done.

    A Neural Turing Machine beside an LSTM with as many parameters, on the same sequences of up to
    five vectors and up to five copies. Two minutes on two CPU cores.
    """
    perform("repeat-copy", out, seed, quick)


def associative_recall(
    out: Out = Path("runs/lab/associative-recall"), seed: Seed = 0, quick: Quick = False
):
    """Recall the item that came after the one which is shown again.

    A Neural Turing Machine beside an LSTM with as many parameters, on the same 30,000 lists:
    first of two items, then of up to three, four and six. Three minutes on two CPU cores.
    How far the machine gets depends on the seed.
    """
    perform("associative-recall", out, seed, quick)

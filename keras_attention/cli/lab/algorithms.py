"""`keras-attention lab copy | repeat-copy | associative-recall`: a Neural Turing Machine."""

from pathlib import Path

from keras_attention.cli.lab.bench import Out, Quick, Seed, perform


def copy(out: Out = Path("runs/lab/copy"), seed: Seed = 0, quick: Quick = False) -> None:
    """Copy sequences of bits, including longer ones than in training.

    Compares a Neural Turing Machine with an LSTM of the same number of parameters. Both are trained
    on the same 10,000 sequences of up to 20 vectors, then tested on 40 and 60. Takes one minute on
    two CPU cores.
    """
    perform("copy", out, seed, quick)


def repeat_copy(
    out: Out = Path("runs/lab/repeat-copy"), seed: Seed = 0, quick: Quick = False
) -> None:
    """Copy sequences of bits a given number of times, then write an end marker.

    Compares a Neural Turing Machine with an LSTM of the same number of parameters, on the same
    sequences of up to five vectors and up to five copies. Takes one minute on two CPU cores.
    """
    perform("repeat-copy", out, seed, quick)


def associative_recall(
    out: Out = Path("runs/lab/associative-recall"), seed: Seed = 0, quick: Quick = False
) -> None:
    """Recall the item that followed the queried one in a list.

    Compares a Neural Turing Machine with an LSTM of the same number of parameters, on the same
    30,000 lists: first of two items, then of up to three, four and six. Takes three minutes on two
    CPU cores. The success of the machine depends on the random seed.
    """
    perform("associative-recall", out, seed, quick)

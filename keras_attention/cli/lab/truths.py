"""`keras-attention lab ctc | hopfield | estimators`: three small experiments, seconds each."""

from pathlib import Path

from keras_attention.cli.lab.bench import Out, Quick, Seed, perform


def ctc(out: Out = Path("runs/lab/ctc"), seed: Seed = 0, quick: Quick = False) -> None:
    """CTC: hard attention, summed exactly over all alignments. Takes ten seconds.

    Learns to transcribe sequences of noisy frames without knowing the label of any frame, and draws
    the alignment that it found.
    """
    perform("ctc", out, seed, quick)


def hopfield(out: Out = Path("runs/lab/hopfield"), seed: Seed = 0, quick: Quick = False) -> None:
    """Hopfield: retrieve a pattern from one half. Takes ten seconds.

    Stores growing numbers of random patterns, and ten handwritten digits, erases half of each and
    retrieves the whole. Compares an iterated lookup with the network of 1982.
    """
    perform("hopfield", out, seed, quick)


def estimators(
    out: Out = Path("runs/lab/estimators"), seed: Seed = 0, quick: Quick = False
) -> None:
    """Soft and hard attention: bias and variance of their gradients. Takes seconds.

    Estimates one gradient by REINFORCE with three baselines, by straight-through, by soft
    attention and by the marginal, and compares each with the exact gradient from enumeration.
    """
    perform("estimators", out, seed, quick)

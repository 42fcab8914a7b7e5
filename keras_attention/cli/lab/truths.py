"""`keras-attention lab ctc | hopfield | estimators`: three small truths, seconds each."""

from pathlib import Path

from keras_attention.cli.lab.bench import Out, Quick, Seed, perform


def ctc(out: Out = Path("runs/lab/ctc"), seed: Seed = 0, quick: Quick = False):
    """CTC: hard attention that can be summed over all alignments. Ten seconds.

    Learns to spell what a sequence of noisy frames says, though nothing tells which frame speaks
    which label, and draws the alignment that it found.
    """
    perform("ctc", out, seed, quick)


def hopfield(out: Out = Path("runs/lab/hopfield"), seed: Seed = 0, quick: Quick = False):
    """Hopfield: a pattern comes back from its half. Ten seconds.

    Stores ever more random patterns, and ten handwritten digits, erases half of each and asks for
    the whole: an iterated lookup beside the network of 1982.
    """
    perform("hopfield", out, seed, quick)


def estimators(out: Out = Path("runs/lab/estimators"), seed: Seed = 0, quick: Quick = False):
    """Soft against hard attention: bias and variance of their gradients. Seconds.

    Estimates one gradient by REINFORCE with three baselines, by straight-through, by soft
    attention and by the marginal, and compares each with what enumeration gives.
    """
    perform("estimators", out, seed, quick)

"""`keras-attention lab captions`: frames to words."""

from pathlib import Path

from keras_attention.cli.lab.bench import Out, Quick, Seed, perform


def captions(out: Out = Path("runs/lab/captions"), seed: Seed = 0, quick: Quick = False):
    """Describe clips of moving shapes in words, with attention over the frames and without.

    Leaves the share of right captions by number of events, and where the captioner looked before
    every word, with the frames. It takes two minutes on two CPU cores.
    """
    perform("captions", out, seed, quick)

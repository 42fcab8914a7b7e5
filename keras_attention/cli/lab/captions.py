"""`keras-attention lab captions`: frames to words."""

from pathlib import Path

from keras_attention.cli.lab.bench import Out, Quick, Seed, perform


def captions(out: Out = Path("runs/lab/captions"), seed: Seed = 0, quick: Quick = False) -> None:
    """Describe clips of moving shapes in words, with attention over the frames and without.

    Writes the fraction of correct captions by number of events, and pictures of the attention to
    the frames for every word. Takes up to seven minutes on two CPU cores.
    """
    perform("captions", out, seed, quick)

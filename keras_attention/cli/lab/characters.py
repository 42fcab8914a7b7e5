"""`keras-attention lab characters | key-recall`: models that can look back at what they wrote."""

from pathlib import Path
from typing import Annotated

import typer

from keras_attention.cli.lab.bench import Out, Quick, Seed, perform


def characters(
    text: Annotated[
        str, typer.Option(help="`bundled`, `tinyshakespeare`, or a UTF-8 text file.")
    ] = "bundled",
    model: Annotated[
        str, typer.Option(help="`lstm`, `lstm_attention`, `transformer`, or `all` of them.")
    ] = "all",
    out: Out = Path("runs/lab/characters"),
    seed: Seed = 0,
    quick: Quick = False,
):
    """A CharRNN, the same with a look back, and a Transformer. Six minutes on two CPU cores.

    All have equally many weights and see the same text. Leaves a folder for each, and the best one
    in the folder itself: `keras-attention write runs/lab/characters "A prompt"` lets it go on.
    """
    perform("characters", out, seed, quick, text=text, model=model)


def key_recall(out: Out = Path("runs/lab/key-recall"), seed: Seed = 0, quick: Quick = False):
    """Recall: "k=7 q=2 … k?", what was told long ago, asked for. Three minutes.

    An LSTM, the same with attention over its own past, and a Transformer, of equally many weights:
    share of right answers by how many other pairs were told between a pair and its question.
    """
    perform("key-recall", out, seed, quick)

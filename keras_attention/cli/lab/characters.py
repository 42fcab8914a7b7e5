"""`keras-attention lab characters | key-recall`: models that attend to earlier characters."""

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
) -> None:
    """Train a CharRNN, a CharRNN with attention, and a Transformer.

    All have the same number of weights and read the same text. Takes six minutes on two CPU cores.
    Writes a folder for each, and the best one to the folder itself, where
    `keras-attention write runs/lab/characters "A prompt"` finds it.
    """
    perform("characters", out, seed, quick, text=text, model=model)


def key_recall(
    out: Out = Path("runs/lab/key-recall"), seed: Seed = 0, quick: Quick = False
) -> None:
    """Recall a value by its key, much later: "k=7 q=2 … k?". Takes three minutes.

    Compares an LSTM, an LSTM with attention over its earlier states, and a Transformer, all with
    the same number of weights: the fraction of correct answers by the number of other pairs between
    a pair and its question.
    """
    perform("key-recall", out, seed, quick)

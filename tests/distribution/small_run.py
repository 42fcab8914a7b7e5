"""A run that several processes can train in seconds, and what must be the same at its end."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from keras_attention.text import split_words
from tests.conftest import RUN_FILES, files, made_short_pairs
from tests.distribution.conftest import COMMAND_LINE

# A Transformer, because it has dropout; the vocabulary can be cut into 4 parts; batches have
# several T, over which metrics have to count every token the same
SETTINGS = {
    "model": "transformer",
    "tokens": "word",
    "units": 8,
    "num_layers": 1,
    "num_heads": 2,
    "feed_forward_dim": 11,
    "dropout": 0.3,
    "vocabulary": 92,
    "batch_size": 16,
    "shapes": 2,
    "epochs": 3,
    "steps": 7,
    "warm_up": 5,
    "decay": False,
    "label_smoothing": 0.1,
    "patience": 3,
    "seed": 3,
}


@dataclass
class SmallRun:
    """The files of a run, and its settings as options of the command line.

    Attributes:
        folder: holds `train.tsv`, `validation.tsv` and `settings.json`.
        options: those of `keras-attention train`, to be called in the folder.
    """

    folder: Path
    options: list

    @classmethod
    def prepare(cls, folder: Path) -> "SmallRun":
        """Write the files; the first 73 of the 97 short pairs are for training."""
        pairs = made_short_pairs()
        parts = {"train": pairs[:73], "validation": pairs[73:]}
        for name, part in parts.items():
            lines = "".join(f"{pair.target}\t{pair.context}\n" for pair in part)
            (folder / f"{name}.tsv").write_text(lines, encoding="utf-8")
        tokens = [len(split_words(pair.target)) for pair in parts["validation"]]
        assert len(set(tokens)) >= SETTINGS["shapes"]
        (folder / "settings.json").write_text(json.dumps(SETTINGS))
        options = ["--corpus", "train.tsv", "--validation", "validation.tsv", "--no-decay"]
        for name, value in SETTINGS.items():
            if name != "decay":
                options += [f"--{name.replace('_', '-')}", str(value)]
        return cls(folder, options)

    def start(self, start: Callable, out: str | Path, coordinator: str, number: int) -> list:
        """Let several processes train the run; `start` starts Python."""
        joined = ("--coordinator", coordinator, "--processes", number)
        command = ("-c", COMMAND_LINE, "train", *self.options, *joined, "--out", out)
        return [start(*command, "--process-id", i, cwd=self.folder) for i in range(number)]


def history(folder):
    return json.loads((folder / "history.json").read_text())


def assert_same_curves(folder, other):
    curves, others = history(folder), history(other)
    assert set(curves) == set(others)
    for name, curve in curves.items():
        np.testing.assert_allclose(curve, others[name], rtol=0, atol=1e-4, err_msg=name)
    assert files(folder) == files(other) == RUN_FILES

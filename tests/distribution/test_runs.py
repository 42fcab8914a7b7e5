"""A run is the same on one device and on several, in one process and in several, up to rounding."""

import json
import time
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("tensorflow")

from keras_attention.text import split_words
from tests.conftest import RUN_FILES, files
from tests.distribution.conftest import COMMAND_LINE, ended

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


def history(folder):
    return json.loads((folder / "history.json").read_text())


def assert_same_curves(folder, other):
    curves, others = history(folder), history(other)
    assert set(curves) == set(others)
    for name, curve in curves.items():
        np.testing.assert_allclose(curve, others[name], rtol=0, atol=1e-4, err_msg=name)
    assert files(folder) == files(other) == RUN_FILES


@pytest.fixture(scope="module")
def base(short_pairs, tmp_path_factory):
    """Return files with the pairs, the settings, and the same as options of the command line."""
    folder = tmp_path_factory.mktemp("distribution")
    parts = {"train": short_pairs[:73], "validation": short_pairs[73:]}
    for name, pairs in parts.items():
        lines = "".join(f"{pair.target}\t{pair.context}\n" for pair in pairs)
        (folder / f"{name}.tsv").write_text(lines, encoding="utf-8")
    tokens = [len(split_words(pair.target)) for pair in parts["validation"]]
    assert len(set(tokens)) >= SETTINGS["shapes"]
    (folder / "settings.json").write_text(json.dumps(SETTINGS))
    options = ["--corpus", "train.tsv", "--validation", "validation.tsv", "--no-decay"]
    for name, value in SETTINGS.items():
        if name != "decay":
            options += [f"--{name.replace('_', '-')}", str(value)]
    return SimpleNamespace(folder=folder, options=options)


@pytest.fixture(scope="module")
def with_jax(base, start_for_all):
    """Return the folder with the runs on one and on eight virtual devices."""
    names = ("train.tsv", "validation.tsv", "settings.json")
    script = ("-m", "tests.distribution.trains")
    trains = start_for_all(*script, base.folder, *(base.folder / name for name in names), devices=8)
    status, _, errors = ended(trains)
    assert status == 0, errors
    return base.folder


def start_processes(start, base, out, coordinator, number, *more):
    options = [*base.options, "--coordinator", coordinator, "--processes", number, "--out", out]
    return [
        start("-c", COMMAND_LINE, "train", *options, "--process-id", i, *more, cwd=base.folder)
        for i in range(number)
    ]


# Several devices


def test_eight_devices_give_the_curves_of_one(with_jax):
    assert_same_curves(with_jax / "several", with_jax / "one")


def test_a_vocabulary_over_four_devices_gives_the_curves_of_one(with_jax):
    assert_same_curves(with_jax / "vocabulary", with_jax / "one")


def test_two_replicas_of_tensorflow_give_the_curves_of_one(base, start, tmp_path):
    names = ("train.tsv", "validation.tsv", "settings.json")
    kept = ("vocabulary", "batch_size", "shapes", "steps", "warm_up")
    settings = {name: SETTINGS[name] for name in kept}
    settings |= {"model": "seq2seq", "units": 5, "epochs": 1, "label_smoothing": 0.1}
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    paths = [*(base.folder / name for name in names[:2]), tmp_path / "settings.json"]
    trains = start("-m", "tests.distribution.trains", tmp_path, *paths, backend="tensorflow")
    status, _, errors = ended(trains)
    assert status == 0, errors
    assert_same_curves(tmp_path / "several", tmp_path / "one")


# Several processes


def test_two_processes_give_the_curves_of_one(base, with_jax, start, coordinator):
    both = start_processes(start, base, "two", coordinator, 2)
    (status, out, errors), second = map(ended, both)
    assert (status, errors) == (0, "")
    assert out.startswith("73 training pairs, 24 validation pairs\nEpoch 1/3\n")
    assert second == (0, "", "")  # only the first speaks
    assert_same_curves(base.folder / "two", with_jax / "one")


@pytest.mark.slow
def test_four_processes_give_the_curves_of_one(base, with_jax, start, coordinator):
    for status, _, errors in map(ended, start_processes(start, base, "four", coordinator, 4)):
        assert (status, errors) == (0, "")
    assert_same_curves(base.folder / "four", with_jax / "one")


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 2])
def test_a_run_that_lost_a_process_goes_on_with_another_number(
    base, with_jax, start, coordinator, number, tmp_path
):
    killed = tmp_path / "run"
    first, second = start_processes(start, base, killed, coordinator, 2)
    while first.poll() is None and not list((killed / "checkpoints").glob("epoch-*")):
        time.sleep(0.01)
    second.kill()
    status, _, errors = ended(first)
    assert status == 2
    assert errors.startswith("keras-attention: error: ")
    assert "was lost. The last finished epoch is kept" in errors
    assert errors.count("\n") == 1
    assert (killed / "checkpoints").is_dir()
    assert not (killed / "model.keras").exists()

    resume = ("-c", COMMAND_LINE, "train", "--resume", "--out", killed)
    if number == 1:
        again = [start(*resume, cwd=base.folder)]
    else:  # in processes again, of which one does not see the folder
        joined = ("--coordinator", coordinator, "--processes", number)
        again = [start(*resume, *joined, "--process-id", 0, cwd=base.folder)]
        resume = (*resume[:-1], tmp_path / "nothing", *joined, "--process-id", 1)
        again.append(start(*resume, cwd=base.folder))
    for status, _, errors in map(ended, again):
        assert (status, errors) == (0, "")
    assert_same_curves(killed, with_jax / "one")
    assert not (tmp_path / "nothing").exists()

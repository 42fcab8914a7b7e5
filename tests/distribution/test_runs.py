"""A run is the same on one device and on several, in one process and in several, up to rounding."""

import json
import time

import pytest

pytest.importorskip("tensorflow")

from tests.distribution.conftest import COMMAND_LINE, ended
from tests.distribution.small_run import SETTINGS, SmallRun, assert_same_curves


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return SmallRun.prepare(tmp_path_factory.mktemp("distribution"))


@pytest.fixture(scope="module")
def with_jax(base, start_for_all):
    """Return the folder with the runs on one and on eight virtual devices."""
    names = ("train.tsv", "validation.tsv", "settings.json")
    script = ("-m", "tests.distribution.trains")
    trains = start_for_all(*script, base.folder, *(base.folder / name for name in names), devices=8)
    status, _, errors = ended(trains)
    assert status == 0, errors
    return base.folder


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
    both = base.start(start, "two", coordinator, 2)
    (status, out, errors), second = map(ended, both)
    assert (status, errors) == (0, "")
    assert out.startswith("73 training pairs, 24 validation pairs\nEpoch 1/3\n")
    assert second == (0, "", "")  # only the first speaks
    assert_same_curves(base.folder / "two", with_jax / "one")


OTHER_VERSION = """
from keras_attention.distribution import strategies
strategies.__version__ = "0.0.9"
from keras_attention_command import main; main()
"""


@pytest.mark.parametrize(
    ("program", "options", "message"),
    [
        (COMMAND_LINE, ("--seed", 4), "different settings or sentence pairs: start all of them"),
        (OTHER_VERSION, (), "different versions, process {} has keras_attention 0."),
    ],
)
def test_processes_that_are_not_alike_are_told(
    base, start, coordinator, tmp_path, program, options, message
):
    train = ("train", *base.options, "--out", tmp_path / "run")
    joined = ("--coordinator", coordinator, "--processes", 2, "--process-id")
    first = start("-c", COMMAND_LINE, *train, *joined, 0, cwd=base.folder)
    second = start("-c", program, *train, *options, *joined, 1, cwd=base.folder)
    for number, (status, _, errors) in enumerate(map(ended, (first, second))):
        said = f"keras-attention: error: the processes have {message}".format(number)
        assert (status, errors.splitlines()[-1][: len(said)]) == (2, said)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_four_processes_give_the_curves_of_one(base, with_jax, start, coordinator):
    for status, _, errors in map(ended, base.start(start, "four", coordinator, 4)):
        assert (status, errors) == (0, "")
    assert_same_curves(base.folder / "four", with_jax / "one")


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 2])
def test_a_run_that_lost_a_process_goes_on_with_another_number(
    base, with_jax, start, coordinator, number, tmp_path
):
    killed = tmp_path / "run"
    first, second = base.start(start, killed, coordinator, 2)
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

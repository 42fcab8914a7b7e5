"""Which devices there are, and what does not fit them."""

import json

import keras
import pytest

from keras_attention.distribution import Distribution, Processes, spread
from keras_attention.installing import pip_install
from keras_attention.runs.settings import Settings
from keras_attention.training import MaskedCrossentropy
from tests.distribution.conftest import COMMAND_LINE, ended


def test_one_device_is_as_keras_has_it():
    for distribution in (Distribution(), spread(), spread("1"), spread(1)):
        assert distribution.engine is None
        assert distribution.part == (0, 1)
        assert distribution.is_first
        assert distribution.crossentropy is MaskedCrossentropy
        assert distribution.has_xla
        with distribution.scope():
            assert keras.distribution.distribution() is None


def test_a_batch_and_a_vocabulary_are_cut_evenly_or_not_at_all():
    distribution = Distribution(shards=3, vocabulary_shards=5)
    distribution.check_batch_size(Settings(batch_size=9))
    distribution.check_vocabulary(35)
    with pytest.raises(ValueError, match=r"batch_size must be a multiple of the 3 parts .* got 8"):
        distribution.check_batch_size(Settings(batch_size=8))
    with pytest.raises(ValueError, match=r"batch_tokens .* multiple of 16 .* 3 equal parts"):
        distribution.check_batch_size(Settings(batch_tokens=900))
    Distribution(shards=8).check_batch_size(Settings(batch_tokens=900))
    with pytest.raises(ValueError, match=r"multiple of the 5 devices .* got 37 .* --vocabulary 35"):
        distribution.check_vocabulary(37)


def test_a_number_of_devices_that_there_is_not_lists_those_there_are():
    if keras.backend.backend() == "torch":
        pytest.skip("PyTorch has one device here")
    for devices in (0, -1, "many", 97, "1.5"):
        with pytest.raises(
            ValueError, match=rf"auto or a number .* got {devices!r}; there are .*0"
        ):
            spread(devices)


def test_what_only_jax_can_is_refused_elsewhere():
    if keras.backend.backend() == "jax":
        pytest.skip("JAX can")
    with pytest.raises(ValueError, match="shard_vocabulary needs KERAS_BACKEND=jax, got"):
        spread(vocabulary_shards=2)
    processes = Processes("127.0.0.1:8476", 0, 2)
    with (
        pytest.raises(ValueError, match="several processes need KERAS_BACKEND=jax, got"),
        processes.joined(),
    ):
        pytest.fail("it joined")


def test_pytorch_says_which_backends_have_several_devices(monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "torch")
    with pytest.raises(ValueError, match=r"need KERAS_BACKEND=jax or .*tensorflow, got torch"):
        spread("auto")


def test_a_backend_that_is_not_installed_names_its_extra(start, tmp_path):
    without_jax = f"import sys; sys.modules['jax'] = None; {COMMAND_LINE}"
    for more in ((), ("--coordinator", "a:1", "--process-id", "0", "--processes", "2")):
        command = ("-c", without_jax, "train", "--out", "run", "--devices", "auto", *more)
        status, out, errors = ended(start(*command, cwd=tmp_path))
        assert (status, out) == (2, "")
        assert errors == (
            f"keras-attention: error: KERAS_BACKEND=jax needs a package: {pip_install('jax')}\n"
        )
    assert not (tmp_path / "run").exists()


ON_EIGHT_DEVICES = """
import json
from keras_attention.distribution import spread

said = []
for arguments in [("9",), ("many",), ("8", None, 3), ("8", None, 0), (None, None, 2)]:
    try:
        spread(*arguments)
    except ValueError as error:
        said.append(str(error))
for arguments in [("auto",), (3,), ("8", None, 4)]:
    distribution = spread(*arguments)
    said.append([distribution.shards, distribution.vocabulary_shards])
print(json.dumps(said))
"""


def test_eight_devices_of_jax(start):
    status, out, errors = ended(start("-c", ON_EIGHT_DEVICES, devices=8))
    assert status == 0, errors
    *refused, all_of_them, three, cut = json.loads(out)
    names = ", ".join(f"cpu:{i}" for i in range(8))
    number = "devices must be auto or a number from 1 to 8, got"
    assert refused == [
        f"{number} '9'; there are {names}",
        f"{number} 'many'; there are {names}",
        "shard_vocabulary must divide the number of devices, 8, got 3",
        "shard_vocabulary must be at least 1, got 0",
        "shard_vocabulary must divide the number of devices, 1, got 2",
    ]
    assert (all_of_them, three, cut) == ([8, 1], [3, 1], [2, 4])

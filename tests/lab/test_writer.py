"""A saved character model that writes on from a prompt."""

import json
import time

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention import models
from keras_attention.lab.tasks import Characters
from keras_attention.lab.writer import Writer
from keras_attention.models.character_model import KINDS
from tests.numerics import as_numpy

CHARACTERS = Characters(" abcdefghijklm")
WINDOW = 14


def build(kind, seed=3):
    keras.utils.set_random_seed(seed)
    model = models.build_character_model(
        len(CHARACTERS), kind, 14, embedding=5, num_layers=2, num_heads=3, key_dim=4
    )
    model.get_layer("decoder").get_layer("logits").kernel.assign(
        np.random.default_rng(seed).normal(size=(14, len(CHARACTERS)))
    )
    return model


EVERY_KIND = [  # every day the one with both an LSTM and attention
    kind if kind == "lstm_attention" else pytest.param(kind, marks=pytest.mark.thorough)
    for kind in KINDS
]


@pytest.fixture(scope="module", params=EVERY_KIND)
def writer(request):
    return Writer(build(request.param), CHARACTERS, WINDOW, {"kind": request.param})


def greedy(model, prompt, length):
    """Write as `Writer` says that it does, with a pass over everything for each character."""
    ids, written = CHARACTERS.encode(prompt).tolist(), []
    piece = ids[-(WINDOW // 2) :]
    while len(written) < length:
        if len(piece) > WINDOW:
            piece = piece[-(WINDOW // 2) :]
        logits = as_numpy(model(ops.convert_to_tensor([piece])))[0, -1]
        written.append(int(logits[1:].argmax()) + 1)
        piece.append(written[-1])
    return CHARACTERS.decode(written)


@pytest.mark.parametrize(
    "prompt",
    [
        pytest.param("a", marks=pytest.mark.thorough),
        "cab",
        pytest.param("a bad cab had a bag", marks=pytest.mark.thorough),
    ],
)
def test_writes_what_a_pass_over_the_whole_text_would(writer, prompt):
    written = writer(prompt, 37, temperature=0)
    assert written == greedy(writer.model, prompt, 37)


def test_a_seed_draws_the_same_again(writer):
    first = writer("a bad", 53, seed=5)
    assert len(first) == 53
    assert first == writer("a bad", 53, seed=5) != writer("a bad", 53, seed=6)
    assert set(first) <= set(CHARACTERS.letters)


def test_the_likeliest_alone_is_greedy(writer):
    assert writer("cab", 23, temperature=1, top_k=1) == writer("cab", 23, temperature=0)
    assert writer("cab", 23, temperature=1, top_p=1e-6) == writer("cab", 23, temperature=0)


def test_writes_five_hundred_characters_in_a_few_seconds(writer):
    writer("a", 2)  # compiles
    begun = time.perf_counter()
    assert len(writer("a", 500)) == 500
    assert time.perf_counter() - begun < 10


def test_shows_where_it_looked(writer):
    looks = writer.attend("a bad")
    assert len(looks) == {"lstm": 0, "lstm_attention": 1, "transformer": 2}[writer.config["kind"]]
    assert all(weights.shape == (3, 5, 5) for weights in looks)
    with pytest.raises(ValueError, match=r"text must have 1 to 14 characters.* got 15"):
        writer.attend("a" * 15)


def test_a_folder_gives_the_same_writer(writer, tmp_path):
    writer.save(tmp_path / "run")
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "config.json",
        "model.keras",
    ]
    twin = Writer.load(tmp_path / "run")
    assert twin("a bad", 29) == writer("a bad", 29)
    assert twin.config["kind"] == writer.config["kind"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prompt": ""}, "prompt must have at least one character"),
        ({"prompt": "a bäd dög"}, "the model does not know 'ä', 'ö'; it knows ' abc"),
        ({"length": 0}, "length must be from 1 to 10,000 characters, got 0"),
        ({"length": 10_001}, "got 10,001"),
        ({"temperature": -1}, "temperature must be 0"),
        ({"temperature": 0, "top_k": 3}, "top_k and top_p are for sampling"),
        ({"top_p": 0}, "top_p must be above 0"),
        ({"seed": -1}, "seed must be 0 or above, got -1"),
    ],
)
def test_says_what_is_wrong_with_what_is_asked(writer, options, message):
    with pytest.raises(ValueError, match=message):
        writer(**{"prompt": "a", **options})


def test_refuses_what_does_not_belong_together():
    model = build("lstm")
    with pytest.raises(ValueError, match="same number of ids, got 15 and 3"):
        Writer(model, Characters("ab"), 7)
    with pytest.raises(ValueError, match="window must be at least 2, got 1"):
        Writer(model, CHARACTERS, 1)


def test_says_what_is_wrong_with_a_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no model folder"):
        Writer.load(tmp_path / "none")
    folder = tmp_path / "run"
    Writer(build("lstm"), CHARACTERS, WINDOW).save(folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))

    def load(**changed):
        (folder / "config.json").write_text(json.dumps({**config, **changed}))
        return Writer.load(folder)

    with pytest.raises(ValueError, match="another kind of model"):
        load(model="translator")
    with pytest.raises(ValueError, match="has format 2"):
        load(format=2)
    with pytest.raises(ValueError, match=r"config\.json: characters must be a text, got None"):
        load(characters=None)
    (folder / "config.json").write_text("no JSON")
    with pytest.raises(ValueError, match=r"config\.json is not JSON"):
        Writer.load(folder)
    load()
    (folder / "model.keras").write_bytes(b"damaged")
    with pytest.raises(ValueError, match=r"model\.keras cannot be loaded"):
        Writer.load(folder)
    (folder / "model.keras").unlink()
    with pytest.raises(FileNotFoundError, match=r"incomplete: model\.keras missing"):
        Writer.load(folder)


def test_a_full_disk_leaves_no_half_of_a_writer(tmp_path, full_disk):
    writer = Writer(build("lstm"), CHARACTERS, WINDOW)
    with full_disk(4_000), pytest.raises(OSError, match=r"\S"):
        writer.save(tmp_path / "run")
    assert not list(tmp_path.iterdir())

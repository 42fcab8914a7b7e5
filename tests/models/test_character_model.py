"""Character models: of three kinds, each the same at once and character by character."""

import functools

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention import models
from keras_attention.models.character_model import KINDS
from tests.models.training import check_a_step_changes_every_weight, each_way
from tests.numerics import as_numpy

B, T, V = 2, 11, 23
SIZES = {"embedding": 13, "num_layers": 2, "num_heads": 3, "key_dim": 5}
LOOKING = {"lstm": 0, "lstm_attention": 1, "transformer": 2}


each_kind = pytest.mark.parametrize("kind", KINDS)
each_cut = pytest.mark.parametrize(
    "parts", [[5, 1, 3, 2], pytest.param([1] * T, marks=pytest.mark.thorough)], ids=str
)


def build(kind, **options):
    units = 14 if kind == "transformer" else 17
    return models.build_character_model(V, kind, units, **{**SIZES, **options})


@functools.cache
def model_of(kind):
    """Build a model, which no test changes."""
    keras.utils.set_random_seed(7)
    return build(kind)


def ids(seed=0, length=T):
    drawn = np.random.default_rng(seed).integers(1, V, size=(B, length))
    return ops.convert_to_tensor(drawn.astype("int32"))


def test_has_the_weights_of_its_parts():
    lstm = 4 * (13 + 17 + 1) * 17
    around = V * 13 + (17 + 1) * V
    assert model_of("lstm").count_params() == lstm + around
    attention = 3 * (17 + 1) * 15 + (15 + 1) * 17 + 2 * 17  # Q, K, V, output, norm
    assert model_of("lstm_attention").count_params() == lstm + around + attention + 2 * 17
    block = 3 * (14 + 1) * 15 + (15 + 1) * 14 + 2 * 14
    feed = (14 + 1) * 56 + (56 + 1) * 14 + 2 * 14
    around = V * 14 + (3 * 14 + 1) * 14 + (14 + 1) * V + 2 * 14
    assert model_of("transformer").count_params() == 2 * (block + feed) + around


@pytest.mark.thorough
def test_the_three_kinds_have_equally_many_weights_by_default():
    counts = [models.build_character_model(66, kind).count_params() for kind in KINDS]
    assert max(counts) / min(counts) <= 1.02


@each_cut
@each_kind
def test_a_text_in_parts_is_the_same_as_at_once(kind, parts):
    model, text = model_of(kind), ids()
    decoder = models.continuation(model)
    state, logits, start = models.initial_state(decoder, text, slots=T), [], 0
    for length in parts:
        outputs = decoder({"ids": text[:, start : start + length], "state": state})
        state, start = outputs["state"], start + length
        logits.append(as_numpy(outputs["logits"]))
    np.testing.assert_allclose(np.concatenate(logits, 1), as_numpy(model(text)), atol=1e-5)


@each_kind
def test_the_future_does_not_leak(kind):
    model, text = model_of(kind), as_numpy(ids()).astype("int32")
    changed = text.copy()
    changed[:, 7:] = 1 + text[:, 7:] % (V - 1)
    before, after = (as_numpy(model(ops.convert_to_tensor(x))) for x in (text, changed))
    np.testing.assert_allclose(after[:, :7], before[:, :7], atol=1e-6)
    assert (abs(after - before)[:, 7:].max(-1) > 1e-4).all()


@each_kind
def test_the_view_shows_where_each_character_looked(kind):
    model, text = model_of(kind), ids()
    outputs = models.character_attention(model)(text)
    np.testing.assert_allclose(as_numpy(outputs.pop("logits")), as_numpy(model(text)), atol=1e-6)
    assert set(outputs) == {"decoder_self_attention"}
    assert len(outputs["decoder_self_attention"]) == LOOKING[kind]
    for weights in map(as_numpy, outputs["decoder_self_attention"]):
        assert weights.shape == (B, 3, T, T)
        np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-5)
        np.testing.assert_array_equal(np.triu(weights, 1), 0)


@each_kind
def test_a_file_gives_the_same_model(kind, tmp_path):
    model = model_of(kind)
    model.save(tmp_path / "model.keras")
    twin = keras.saving.load_model(tmp_path / "model.keras", compile=False)
    np.testing.assert_allclose(as_numpy(twin(ids())), as_numpy(model(ids())), atol=1e-6)
    names = [weight.path for weight in twin.get_layer("decoder").weights]
    assert len(names) == len(set(names))
    rebuilt = keras.models.model_from_json(model.to_json())
    rebuilt.set_weights(model.get_weights())
    np.testing.assert_allclose(as_numpy(rebuilt(ids())), as_numpy(model(ids())), atol=1e-6)


@each_kind
@each_way
def test_one_step_of_training_changes_every_weight(how, kind):
    keras.utils.set_random_seed(7)
    model = build(kind, dropout=0.1, num_layers=1)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.01), loss=loss, **how)
    everything = np.arange(B * (V + V % 2)).reshape(B, -1).astype("int32") % V
    # A bias of the keys moves all scores of a softmax alike, and so has no gradient
    still = ("key", "seed_generator")
    check_a_step_changes_every_weight(model, everything, everything[:, ::-1].copy(), still)


def test_bad_arguments_say_what_was_received():
    with pytest.raises(ValueError, match=r"kind must be one of lstm, .* got 'gru'"):
        models.build_character_model(V, "gru")
    with pytest.raises(ValueError, match="num_heads must be positive, got 0"):
        models.build_character_model(V, num_heads=0)
    with pytest.raises(ValueError, match="units must be even for a transformer, got 7"):
        models.build_character_model(V, "transformer", 7)
    with pytest.raises(ValueError, match="dropout must be at least 0 and below 1, got 1"):
        models.build_character_model(V, dropout=1)

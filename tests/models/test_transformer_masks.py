"""Who sees whom in a Transformer: padding, the future, and the mask that a note has wrong."""

import keras
import numpy as np
import pytest
from keras import layers, ops

from keras_attention import models
from keras_attention.layers import (
    CausalSelfAttention,
    CrossAttention,
    FeedForward,
    MultiHeadAttention,
    SinusoidalPositions,
)
from keras_attention.ops import causal_mask, padding_mask
from keras_attention.training import MaskedCrossentropy
from tests.models.transformers import (
    LAYERS,
    TARGET,
    S,
    T,
    called,
    each_order,
    sentences,
    stirred,
)
from tests.models.translators import by_name
from tests.numerics import gradient, gradients_of_weights


@pytest.mark.parametrize(
    "options",
    [{}, pytest.param({"num_layers": 6, "norm_first": True}, marks=pytest.mark.thorough)],
    ids=str,
)
def test_padding_the_context_does_not_change_the_logits(options):
    model, inputs = stirred(**options), sentences()
    padded = {**inputs, "context": np.pad(inputs["context"], ((0, 0), (0, 100)))}
    np.testing.assert_allclose(called(model, padded), called(model, inputs), rtol=0, atol=1e-5)


@pytest.mark.parametrize("training", [False, True], ids=["inference", "training"])
def test_the_future_of_the_target_does_not_change_the_past(training):
    model, inputs = stirred(), sentences()
    changed = {**inputs, "target": np.copy(inputs["target"])}
    changed["target"][:, 3:] = 5
    outputs = []
    seeds = [state for state in model.variables if "seed_generator" in state.path]
    values = [ops.convert_to_numpy(seed) for seed in seeds]
    view = models.attention(model)
    for each in (inputs, changed):
        keras.utils.set_random_seed(3)  # for the same to be dropped; PyTorch has but this seed
        for seed, value in zip(seeds, values, strict=True):
            seed.assign(value)
        outputs.append(called(view, each, training=training))
    one, other = map(by_name, outputs)
    for name in one:
        if "encoder" in name:
            np.testing.assert_array_equal(one[name], other[name])
        else:
            np.testing.assert_array_equal(one[name][..., :3, :], other[name][..., :3, :], name)
            assert (one[name][..., 3:, :] != other[name][..., 3:, :]).any(), name


def test_every_dropout_drops_in_training_and_none_otherwise(dropouts):
    model, inputs = stirred(), sentences()
    # of the embedded tokens of both sides, and in each layer of two blocks there and three here
    for training, rate in ((False, 0.0), (True, 0.1)):  # 0.1 is the default of the builder
        called(model, inputs, training=training)
        assert dropouts == [rate] * (2 + 5 * LAYERS)
        dropouts.clear()


def embeddings_seen(outputs, embedding, ids):
    """Say for each position t of outputs() (1, T, D) which ids it hangs on: (T, number of ids)."""
    sees = []
    length, width = outputs().shape[1:]
    some = ops.convert_to_tensor(np.random.default_rng(2).normal(size=width), "float32")
    for t in range(length):
        (slope,) = gradients_of_weights(
            embedding, lambda t=t: ops.sum(outputs()[0, t] * some)
        ).values()
        sees.append(abs(slope).max(-1)[ids] > 0)
    return np.array(sees)


def ids_for(start, length, padding=0):
    """Return one sentence in which no token occurs twice."""
    return np.array([[*range(start, start + length), *[0] * padding]], "int32")


@each_order
def test_the_encoder_sees_every_token_and_no_padding(norm_first):
    encoder = stirred(norm_first=norm_first).get_layer("encoder")
    context = ops.convert_to_tensor(ids_for(4, 5, padding=2))
    embedding = encoder.get_layer("context_embedding")
    sees = embeddings_seen(
        lambda: encoder(context)["memory"]["values"], embedding, [*range(4, 9), 0]
    )
    assert sees.shape == (7, 6)
    assert sees[:, :5].all()
    assert sees[:, 5].tolist() == 5 * [False] + 2 * [True]  # padding sees itself


@each_order
def test_the_decoder_sees_the_target_up_to_each_position(norm_first):
    model = stirred(norm_first=norm_first)
    embedding = model.get_layer("decoder").get_layer("target_embedding")
    inputs = {
        "context": ops.convert_to_tensor(ids_for(4, S)),
        "target": ops.convert_to_tensor(ids_for(4, T)),
    }
    sees = embeddings_seen(lambda: model(inputs), embedding, list(range(4, 4 + T)))
    np.testing.assert_array_equal(sees, np.tril(np.ones((T, T), dtype=bool)))


@each_order
def test_the_decoder_sees_every_token_of_the_memory_from_every_position(norm_first):
    """That of s > t as well; by the memory itself, since in the encoder every token tells all."""
    model, inputs = stirred(norm_first=norm_first), sentences()
    encoded = model.get_layer("encoder")(ops.convert_to_tensor(inputs["context"]))
    target = ops.convert_to_tensor(inputs["target"])
    some = ops.convert_to_tensor(np.random.default_rng(2).normal(size=TARGET), "float32")

    def logits(values, t):
        memory = {"mask": encoded["memory"]["mask"], "values": values}
        state = encoded["state"]
        decoder = model.get_layer("decoder")
        outputs = decoder({"memory": memory, "state": state, "target": target})
        return ops.sum(outputs["logits"][:, t] * some)

    for t in range(T):
        (slope,) = gradient(lambda values, t=t: logits(values, t), encoded["memory"]["values"])
        np.testing.assert_array_equal(abs(slope).max(-1) > 0, inputs["context"] != 0)


# The cross mask of lecture note 004

WORDS = 12  # ids 1 to 12; 13 starts a sentence
SENTENCE = 10


def mask_of_the_note(context, target):
    """The note's decoder: the padding of the *target*, and nothing from later than t.

    The note has `padding_mask = minimum(target's mask, causal_mask)`, and looks at the encoder with
    it: so position t sees the source up to s = t only, and padding of the source as well.
    """
    del context
    return ops.logical_and(ops.expand_dims(padding_mask(target), 1), causal_mask(SENTENCE))


def mask_of_the_source(context, target):
    del target
    return ops.repeat(ops.expand_dims(padding_mask(context), 1), SENTENCE, axis=1)


def reverser(cross_mask):
    """A Transformer whose encoder has no attention: what it says of a token stays at its place.

    An encoder that attends moves what the mask hides to where it can be seen, and so hides the
    mistake.
    """
    width, words = 32, WORDS + 2
    inputs = {
        name: keras.Input((SENTENCE,), dtype="int32", name=name) for name in ("context", "target")
    }
    context, target = inputs["context"], inputs["target"]

    def embed(name, ids):
        return SinusoidalPositions()(layers.Embedding(words, width, name=name)(ids))

    memory = FeedForward(4 * width)(embed("context_embedding", context))
    x = CausalSelfAttention(MultiHeadAttention(2, width))(embed("target_embedding", target))
    mask = cross_mask(context, target)
    x = CrossAttention(MultiHeadAttention(2, width))(x, memory, attention_mask=mask)
    return keras.Model(inputs, layers.Dense(words)(FeedForward(4 * width)(x)))


@pytest.mark.thorough
@pytest.mark.parametrize("cross_mask", [mask_of_the_note, mask_of_the_source])
def test_the_mask_of_the_note_hides_what_comes_later_in_the_source(cross_mask):
    model = reverser(cross_mask)
    context = ops.convert_to_tensor(ids_for(1, SENTENCE))
    sees = embeddings_seen(
        lambda: model({"context": context, "target": context}),
        model.get_layer("context_embedding"),
        list(range(1, SENTENCE + 1)),
    )
    everything = np.ones((SENTENCE, SENTENCE), dtype=bool)
    expected = np.tril(everything) if cross_mask is mask_of_the_note else everything
    np.testing.assert_array_equal(sees, expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cross_mask", "at_least", "at_most"),
    [(mask_of_the_source, 0.99, 1.0), (mask_of_the_note, 0.5, 0.6)],
)
def test_a_sentence_is_reversed_with_the_right_mask_and_half_of_it_with_that_of_the_note(
    cross_mask, at_least, at_most
):
    """The last 5 of 10 words stand first in the source, and are seen; of the others 1 / 12."""

    def draw(seed, count):
        context = np.random.default_rng(seed).integers(1, WORDS + 1, (count, SENTENCE), "int32")
        answer = context[:, ::-1]
        start = np.full((count, 1), WORDS + 1, "int32")
        target = np.concatenate([start, answer[:, :-1]], axis=1)
        return {"context": context, "target": target}, answer

    keras.utils.set_random_seed(0)
    model = reverser(cross_mask)
    jit = keras.backend.backend() != "torch"
    model.compile(keras.optimizers.Adam(3e-3), loss=MaskedCrossentropy(), jit_compile=jit)
    model.fit(*draw(1, 700 * 64), batch_size=64, shuffle=False, verbose=0)
    inputs, answer = draw(2, 1009)
    right = model.predict(inputs, batch_size=1009, verbose=0).argmax(-1) == answer
    by_position = " ".join(f"{share:.2f}" for share in right.mean(0))
    print(f"\n{cross_mask.__name__}: {right.mean():.3f}; by position {by_position}")
    assert at_least <= right.mean() <= at_most

"""The Transformer against twins of it, and who sees whom in it.

The twins are made of Keras' own layers and of PyTorch's `nn.Transformer`, with the same weights.
"""

import functools
import math

import keras
import numpy as np
import pytest
from keras import layers, ops, tree

from keras_attention import models
from keras_attention.decoding import Generator
from keras_attention.layers import (
    CausalSelfAttention,
    CrossAttention,
    FeedForward,
    MultiHeadAttention,
    SinusoidalPositions,
)
from keras_attention.ops import causal_mask, padding_mask
from keras_attention.training import MaskedCrossentropy
from tests.contract import as_numpy, gradient, gradients_of_weights, watch_dropouts

B, S, T, H, DEPTH, HIDDEN, LAYERS = 3, 7, 5, 2, 11, 13, 2
UNITS, CONTEXT, TARGET = H * DEPTH, 29, 31

each_order = pytest.mark.parametrize("norm_first", [False, True], ids=["post_norm", "pre_norm"])


def build(**options):
    sizes = {
        "context_vocabulary": CONTEXT,
        "target_vocabulary": TARGET,
        "units": UNITS,
        "num_layers": LAYERS,
        "num_heads": H,
        "feed_forward": HIDDEN,
    }
    keras.utils.set_random_seed(1)
    return models.build_transformer(**{**sizes, **options})


@functools.cache
def stirred(**options):
    """Build a model and give it weights of which none is 0 or 1; no test changes them."""
    model, rng = build(**options), np.random.default_rng(0)
    model.set_weights([rng.normal(weight, 0.1) for weight in model.get_weights()])
    return model


def sentences(seed=0):
    rng = np.random.default_rng(seed)
    context, target = rng.integers(4, CONTEXT, (B, S)), rng.integers(4, TARGET, (B, T))
    context[0, 4:] = context[1, 6:] = target[1, 3:] = 0
    return {"context": context.astype("int32"), "target": target.astype("int32")}


def called(model, inputs, **options):
    tensors = {name: ops.convert_to_tensor(ids) for name, ids in inputs.items()}
    return tree.map_structure(as_numpy, model(tensors, **options))


# Who sees whom


@each_order
@pytest.mark.parametrize("num_layers", [1, 2, 4, 6])
def test_padding_the_context_does_not_change_the_logits(num_layers, norm_first):
    model, inputs = stirred(num_layers=num_layers, norm_first=norm_first), sentences()
    logits = called(model, inputs)
    for more in (20, 100):
        padded = {**inputs, "context": np.pad(inputs["context"], ((0, 0), (0, more)))}
        np.testing.assert_allclose(called(model, padded), logits, rtol=0, atol=1e-5)


@pytest.mark.parametrize("training", [False, True], ids=["inference", "training"])
@pytest.mark.parametrize("view", [False, True], ids=["logits", "weights"])
@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_the_future_of_the_target_does_not_change_the_past(dropout, view, training):
    model = stirred(dropout=dropout)
    inputs = sentences()
    changed = {**inputs, "target": np.copy(inputs["target"])}
    changed["target"][:, 3:] = 5
    outputs = []
    seeds = [state for state in model.variables if "seed_generator" in state.path]
    values = [ops.convert_to_numpy(seed) for seed in seeds]
    called_as = models.attention(model) if view else model
    for each in (inputs, changed):
        keras.utils.set_random_seed(3)  # for the same to be dropped; PyTorch has but this seed
        for seed, value in zip(seeds, values, strict=True):
            seed.assign(value)
        found = called(called_as, each, training=training)
        outputs.append(found if view else {"logits": found})
    one, other = outputs
    for name in one:
        if "encoder" in name:
            np.testing.assert_array_equal(one[name], other[name])
        else:
            np.testing.assert_array_equal(one[name][..., :3, :], other[name][..., :3, :], name)
            assert (one[name][..., 3:, :] != other[name][..., 3:, :]).any(), name


def test_every_dropout_drops_in_training_and_none_otherwise(monkeypatch):
    model, inputs = stirred(dropout=0.1), sentences()
    drops = watch_dropouts(monkeypatch)
    # of the embedded tokens of both sides, and in each layer of two blocks there and three here
    for training in (False, True):
        called(model, inputs, training=training)
        assert drops == [training] * (2 + 5 * LAYERS)
        drops.clear()


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


# Twins


def tutorial_s_positions(length, depth):
    """`positional_encoding` of the TensorFlow tutorial, in NumPy as it stands there."""
    depth = depth / 2
    positions = np.arange(length)[:, np.newaxis]
    depths = np.arange(depth)[np.newaxis, :] / depth
    angle_rads = positions * (1 / 10000**depths)
    return np.concatenate([np.sin(angle_rads), np.cos(angle_rads)], axis=-1)


def embedded(part, side, ids):
    table = as_numpy(part.get_layer(f"{side}_embedding").weights[0])
    x = table[ids] * math.sqrt(UNITS) + tutorial_s_positions(ids.shape[1], UNITS)
    return x.astype("float32")


def by_keras(model, inputs, key_dim, norm_first):
    """The logits of the tutorial's Transformer out of Keras' own layers."""
    encoder, decoder = model.get_layer("encoder"), model.get_layer("decoder")
    context, target = inputs["context"], inputs["target"]

    def copy(theirs, ours, *shapes):
        theirs.build(*shapes)
        theirs.set_weights(ours.get_weights())
        return theirs

    def block(ours, x, work):
        norm = copy(layers.LayerNormalization(), ours.norm, x.shape)
        return x + work(norm(x)) if norm_first else norm(x + work(x))

    def attend(ours, x, mask, memory=None):
        def work(query):
            keys = query if memory is None else memory
            attention = layers.MultiHeadAttention(H, key_dim)
            copy(attention, ours.attention, query.shape, keys.shape)
            return attention(query, keys, attention_mask=mask)

        return block(ours, x, work)

    def think(ours, x):
        widen = copy(layers.Dense(HIDDEN, "relu"), ours.widen, x.shape)
        narrow = copy(layers.Dense(UNITS), ours.narrow, (*x.shape[:-1], HIDDEN))
        return block(ours, x, lambda x: narrow(widen(x)))

    def finish(part, side, x):
        name = f"{side}_norm"
        return copy(layers.LayerNormalization(), part.get_layer(name), x.shape)(x)

    is_token = (context != 0)[:, None]
    memory = ops.convert_to_tensor(embedded(encoder, "context", context))
    for n in range(1, LAYERS + 1):
        mask = np.repeat(is_token, S, axis=1)
        memory = attend(encoder.get_layer(f"self_attention_{n}"), memory, mask)
        memory = think(encoder.get_layer(f"feed_forward_{n}"), memory)
    memory = finish(encoder, "context", memory) if norm_first else memory
    x = ops.convert_to_tensor(embedded(decoder, "target", target))
    for n in range(1, LAYERS + 1):
        mask = np.repeat(np.tril(np.ones((1, T, T), dtype=bool)), B, axis=0)
        x = attend(decoder.get_layer(f"self_attention_{n}"), x, mask)
        mask = np.repeat(is_token, T, axis=1)
        x = attend(decoder.get_layer(f"cross_attention_{n}"), x, mask, memory)
        x = think(decoder.get_layer(f"feed_forward_{n}"), x)
    x = finish(decoder, "target", x) if norm_first else x
    return as_numpy(copy(layers.Dense(TARGET), decoder.get_layer("logits"), x.shape)(x))


@each_order
@pytest.mark.parametrize("key_dim", [None, UNITS], ids=["paper", "tutorial"])
def test_equals_a_stack_of_keras_own_layers(key_dim, norm_first):
    model, inputs = stirred(key_dim=key_dim, norm_first=norm_first), sentences()
    expected = by_keras(model, inputs, key_dim or DEPTH, norm_first)
    np.testing.assert_allclose(called(model, inputs), expected, rtol=0, atol=1e-5)


def by_pytorch(torch, model, inputs, norm_first):
    """The logits of `torch.nn.Transformer` between our embeddings and our last layer."""
    nn = torch.nn
    encoder, decoder = model.get_layer("encoder"), model.get_layer("decoder")
    options = {"dropout": 0.0, "layer_norm_eps": 1e-3, "batch_first": True}  # Keras' epsilon
    options["norm_first"] = norm_first

    def copy(theirs, *ours):
        """Copy NumPy arrays; a kernel of PyTorch is the transpose of one of Keras."""
        for parameter, array in zip(theirs, ours, strict=True):
            parameter.copy_(torch.from_numpy(np.array(array.T)))

    def copy_attention(theirs, ours):
        weights = ours.attention.get_weights()
        *projections, out, out_bias = weights
        kernels = [kernel.reshape(UNITS, UNITS) for kernel in projections[::2]]
        copy(
            [theirs.in_proj_weight, theirs.in_proj_bias],
            np.concatenate(kernels, axis=1),
            np.concatenate([bias.ravel() for bias in projections[1::2]]),
        )
        copy([theirs.out_proj.weight, theirs.out_proj.bias], out.reshape(UNITS, UNITS), out_bias)

    def copy_layer(theirs, part, n, names):
        for place, (name, attention) in enumerate(names.items(), start=1):
            ours = part.get_layer(f"{name}_{n}")
            copy(getattr(theirs, f"norm{place}").parameters(), *ours.norm.get_weights())
            if attention:
                copy_attention(getattr(theirs, attention), ours)
            else:
                copy(theirs.linear1.parameters(), *ours.widen.get_weights())
                copy(theirs.linear2.parameters(), *ours.narrow.get_weights())

    stack = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(UNITS, H, HIDDEN, **options),
        LAYERS,
        nn.LayerNorm(UNITS, 1e-3),
        enable_nested_tensor=False,
    )
    twin = nn.Transformer(UNITS, H, LAYERS, LAYERS, HIDDEN, custom_encoder=stack, **options)
    blocks = {"self_attention": "self_attn", "feed_forward": None}
    more_blocks = {
        "self_attention": "self_attn",
        "cross_attention": "multihead_attn",
        "feed_forward": None,
    }
    with torch.no_grad():
        for n in range(1, LAYERS + 1):
            copy_layer(twin.encoder.layers[n - 1], encoder, n, blocks)
            copy_layer(twin.decoder.layers[n - 1], decoder, n, more_blocks)
        for theirs, part, side in (
            (twin.encoder, encoder, "context"),
            (twin.decoder, decoder, "target"),
        ):
            if norm_first:
                copy(theirs.norm.parameters(), *part.get_layer(f"{side}_norm").get_weights())
            else:
                theirs.norm = None  # PyTorch norms once more what each layer has normed already
        padding = torch.from_numpy(inputs["context"] == 0)  # True: may not be looked at
        outputs = twin(
            torch.from_numpy(embedded(encoder, "context", inputs["context"])),
            torch.from_numpy(embedded(decoder, "target", inputs["target"])),
            tgt_mask=torch.triu(torch.ones(T, T, dtype=torch.bool), diagonal=1),
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
        )
    kernel, bias = decoder.get_layer("logits").get_weights()
    return outputs.numpy() @ kernel + bias


@each_order
def test_equals_pytorch_s_transformer(norm_first):
    torch = pytest.importorskip("torch", reason="PyTorch, the twin, is not installed")
    model, inputs = stirred(norm_first=norm_first), sentences()
    expected = by_pytorch(torch, model, inputs, norm_first)
    np.testing.assert_allclose(called(model, inputs), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("positions", ["concatenated", "interleaved", "learned"])
def test_the_order_of_the_context_matters(positions):
    model, inputs = stirred(positions=positions, max_positions=11), sentences()
    assert abs(called(model, turned(inputs)) - called(model, inputs))[0].max() > 1e-3


def test_without_positions_the_order_of_the_context_would_not_matter():
    model, inputs = build(positions="learned", max_positions=11), sentences()
    positions = model.get_layer("encoder").get_layer("context_positions")
    positions.set_weights([np.zeros((11, UNITS))])
    logits = called(model, inputs)
    np.testing.assert_allclose(called(model, turned(inputs)), logits, rtol=0, atol=1e-5)


def turned(inputs):
    """Turn the first context around, which has four tokens."""
    context = inputs["context"].copy()
    context[0, :4] = context[0, 3::-1]
    return {**inputs, "context": context}


def copy_halves(model, twin):
    """Copy the weights of the layers that two models share by name."""
    for half in ("encoder", "decoder"):
        for layer in twin.get_layer(half).layers:
            if layer.weights and layer.name != "logits":
                layer.set_weights(model.get_layer(half).get_layer(layer.name).get_weights())


def test_tied_is_a_last_layer_whose_kernel_is_the_target_embedding():
    model, twin, inputs = stirred(tied=True), build(), sentences()
    copy_halves(model, twin)
    (table,) = model.get_layer("decoder").get_layer("target_embedding").get_weights()
    twin.get_layer("decoder").get_layer("logits").set_weights([table.T, np.zeros(TARGET)])
    np.testing.assert_allclose(called(model, inputs), called(twin, inputs), rtol=0, atol=1e-5)


def test_the_scale_is_as_if_the_embedding_were_so_much_larger():
    model, twin, inputs = stirred(), build(scale_embedding=False), sentences()
    copy_halves(model, twin)
    logits = model.get_layer("decoder").get_layer("logits").get_weights()
    twin.get_layer("decoder").get_layer("logits").set_weights(logits)
    for half, name in (("encoder", "context_embedding"), ("decoder", "target_embedding")):
        layer = twin.get_layer(half).get_layer(name)
        layer.set_weights([math.sqrt(UNITS) * table for table in layer.get_weights()])
    np.testing.assert_allclose(called(model, inputs), called(twin, inputs), rtol=0, atol=1e-5)


# Step by step


@each_order
@pytest.mark.parametrize("positions", ["concatenated", "learned"])
def test_a_cache_with_room_just_enough_equals_teacher_forcing(positions, norm_first):
    model = stirred(positions=positions, max_positions=11, norm_first=norm_first)
    inputs, step = sentences(), models.step(model)
    expected = called(model, inputs)
    encoded = models.encode(model, room=T)(ops.convert_to_tensor(inputs["context"]))
    state = encoded["state"]
    for t in range(T):
        tokens = ops.convert_to_tensor(inputs["target"][:, t])
        logits, _, state = step(tokens, encoded["memory"], state)
        np.testing.assert_allclose(as_numpy(logits), expected[:, t], rtol=0, atol=1e-5)
        assert as_numpy(state["seen"]).tolist() == B * [t + 1]


def test_hypotheses_may_change_places_in_the_middle():
    """As beam search has it: three beginnings of one sentence, of which two go on."""
    model, inputs = stirred(), sentences()
    context = np.repeat(inputs["context"][:1], B, axis=0)
    target, parents, middle = inputs["target"], np.array([2, 0, 0]), 2
    gone_on = np.concatenate([target[parents, :middle], target[:, middle:]], axis=1)
    expected = np.concatenate(
        [
            called(model, {"context": context, "target": target})[:, :middle],
            called(model, {"context": context, "target": gone_on})[:, middle:],
        ],
        axis=1,
    )
    encoded, step = models.encode(model, room=T)(ops.convert_to_tensor(context)), models.step(model)
    state = encoded["state"]
    for t in range(T):
        if t == middle:
            state = tree.map_structure(lambda x: ops.take(x, parents, axis=0), state)
        tokens = ops.convert_to_tensor(target[:, t])
        logits, _, state = step(tokens, encoded["memory"], state)
        np.testing.assert_allclose(as_numpy(logits), expected[:, t], rtol=0, atol=1e-5)


def test_a_state_without_room_is_refused():
    model, inputs = stirred(), sentences()
    encoded = model.get_layer("encoder")(ops.convert_to_tensor(inputs["context"]))
    tokens = ops.convert_to_tensor(inputs["target"][:, 0])
    with pytest.raises(ValueError, match=r"room for no token: take it from encode\(model\)"):
        models.step(model)(tokens, encoded["memory"], encoded["state"])


# Decoding

START, END, LENGTH, BEAM = 2, 3, 5, 4


@functools.cache
def babbler():
    """A model so small that its random sentences come to an end, and of a sure opinion."""
    model = build(num_layers=1, target_vocabulary=7)
    rng = np.random.default_rng(0)
    model.set_weights([rng.normal(weight, 0.5) for weight in model.get_weights()])
    return model


def log_probabilities(model, context, tokens):
    """Return the teacher-forced log softmax (B, L, V) of sentences, in float64."""
    fed = np.concatenate([np.full((len(tokens), 1), START), tokens[:, :-1]], axis=1)
    logits = called(model, {"context": context, "target": fed.astype("int32")}).astype(float)
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def test_greedy_decoding_is_the_argmax_over_the_whole_beginning():
    model, context = babbler(), sentences()["context"]
    tokens, finished = np.zeros((B, LENGTH), "int32"), np.zeros(B, dtype=bool)
    total = np.zeros(B)
    for t in range(LENGTH):
        scores = log_probabilities(model, context, tokens)[:, t]
        allowed = np.where(np.isin(np.arange(7), [0, START]), -np.inf, scores)
        tokens[:, t] = np.where(finished, 0, allowed.argmax(-1))
        total += np.where(finished, 0, allowed.max(-1))
        finished |= tokens[:, t] == END
    generator = Generator(models.encode(model, room=LENGTH), models.step(model), max_length=LENGTH)
    generated = generator.run(context)
    np.testing.assert_array_equal(generated.tokens, tokens)
    np.testing.assert_array_equal(generated.finished, finished)
    np.testing.assert_allclose(generated.log_probabilities, total, rtol=0, atol=1e-4)


def test_the_scores_of_a_beam_are_teacher_forced_log_probabilities():
    model, context = babbler(), sentences()["context"]
    generator = Generator(
        models.encode(model, room=LENGTH),
        models.step(model),
        max_length=LENGTH,
        beam=BEAM,
        n_best=BEAM,
    )
    generated = generator.run(context)
    assert generated.tokens.shape == (B, BEAM, LENGTH)
    assert generated.finished.any()
    lengths = set()
    for b in range(B):
        tokens = generated.tokens[b]
        assert len({tuple(each) for each in tokens}) == BEAM
        gained = log_probabilities(model, np.repeat(context[b : b + 1], BEAM, axis=0), tokens)
        gained = np.take_along_axis(gained, tokens[..., None], axis=-1)[..., 0]
        total = np.where(tokens != 0, gained, 0).sum(-1)
        np.testing.assert_allclose(generated.log_probabilities[b], total, rtol=0, atol=1e-4)
        length = (tokens != 0).sum(-1)
        penalty = ((5 + length) / 6) ** 0.6
        np.testing.assert_allclose(generated.scores[b], total / penalty, rtol=0, atol=1e-4)
        lengths |= set(length.tolist())
    assert len(lengths) > 1


# Sizes


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"key_dim": 17},
        {"tied": True},
        {"norm_first": True},
        {"positions": "learned", "max_positions": 37},
        {"num_layers": 3, "key_dim": 5, "norm_first": True, "tied": True},
    ],
    ids=str,
)
def test_the_number_of_parameters_is_that_of_the_formula(options):
    norm, heads = 2 * UNITS, H * options.get("key_dim", DEPTH)
    attention = 3 * (UNITS * heads + heads) + heads * UNITS + UNITS + norm
    feed_forward = UNITS * HIDDEN + HIDDEN + HIDDEN * UNITS + UNITS + norm
    expected = (CONTEXT + TARGET) * UNITS
    expected += options.get("num_layers", LAYERS) * (3 * attention + 2 * feed_forward)
    expected += 2 * options.get("max_positions", 0) * UNITS
    if not options.get("tied"):
        expected += UNITS * TARGET + TARGET
    if options.get("norm_first"):
        expected += 2 * norm
    assert build(**options).count_params() == expected


def test_has_as_many_parameters_as_the_tutorial_s_model():
    model = models.build_transformer(7765, 7010, key_dim=128)
    assert model.get_layer("encoder").count_params() == 3_632_768
    assert model.count_params() == 10_184_162


@each_order
def test_an_untrained_model_knows_nothing(norm_first):
    # A normed vector, of length √D, and Glorot's kernel give logits of variance 2 D / (D + V).
    loss, words = initial_loss(norm_first=norm_first)
    assert loss == pytest.approx(math.log(words) + UNITS / (UNITS + words), abs=0.05)


def test_an_untrained_model_that_is_tied_starts_higher():
    # Rows of length 1 give logits of variance 1, and the word that was read a larger one still.
    loss, words = initial_loss(tied=True)
    assert loss == pytest.approx(math.log(words) + 1 / 2, abs=0.2)


def initial_loss(**options):
    """Return the loss of an untrained model for labels that are drawn, and the number of words."""
    words, rng = 1009, np.random.default_rng(3)
    context = rng.integers(4, CONTEXT, (101, S), "int32")
    target, labels = rng.integers(1, words, (2, 101, T), "int32")
    logits = called(
        build(target_vocabulary=words, **options), {"context": context, "target": target}
    )
    return float(MaskedCrossentropy()(labels, logits)), words


# Bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_heads": 3}, "multiple of num_heads.*got 22 units for 3 heads"),
        ({"units": 13, "num_heads": 1}, "width must be even and positive.*got 13"),
        ({"num_layers": 0}, "num_layers must be positive, got 0"),
        ({"num_heads": 0}, "num_heads must be positive, got 0"),
        ({"units": 0}, "units must be positive, got 0"),
        ({"feed_forward": -1}, "feed_forward must be positive, got -1"),
        ({"context_vocabulary": 0}, "context_vocabulary must be positive, got 0"),
        ({"target_vocabulary": 0}, "target_vocabulary must be positive, got 0"),
        ({"max_positions": 0}, "max_positions must be positive, got 0"),
        ({"key_dim": 0}, "num_heads and key_dim must be positive integers, got 2 and 0"),
        ({"key_dim": -3}, "num_heads and key_dim must be positive integers, got 2 and -3"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1, got 1.0"),
        ({"dropout": -0.1}, "dropout must be at least 0 and below 1, got -0.1"),
        ({"positions": "sideways"}, "one of concatenated, interleaved, learned, got 'sideways'"),
    ],
    ids=str,
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        build(**options)


@pytest.mark.parametrize("side", ["context", "target"])
def test_more_tokens_than_learned_positions(side):
    model, inputs = stirred(positions="learned", max_positions=11), sentences()
    long = {**inputs, side: np.ones((B, 12), "int32")}
    with pytest.raises(ValueError, match="11 learned positions, got a sentence of 12 tokens"):
        model(long)


def test_more_room_than_learned_positions():
    model = stirred(positions="learned", max_positions=11)
    with pytest.raises(ValueError, match=r"11 positions.* got room for 12"):
        models.encode(model, room=12)
    with pytest.raises(ValueError, match="room must be at least 1, got 0"):
        models.encode(model, room=0)
    models.encode(model, room=11)


# An exhibit: the cross mask of lecture note 004

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

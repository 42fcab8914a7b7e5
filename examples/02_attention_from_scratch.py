# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     name: python3
# ---

# %% [markdown]
# # 2 · Attention from scratch
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/keras-attention/keras_attention/blob/main/examples/02_attention_from_scratch.ipynb)
#
# A bidirectional LSTM reads, and before every symbol that a second LSTM writes, a small network
# decides where to look back. We build it layer by layer, with every shape, and see what it is for.
# *Runs in about three minutes on a CPU; no accelerator needed.*

# %% tags=["install"]
# The text of this cell comes from install.py.

# %%
# On a TPU runtime Keras needs JAX: take the # away from these two lines, before Keras is imported.
# import os
# os.environ["KERAS_BACKEND"] = "jax"

import os
import warnings

import keras
import matplotlib.pyplot as plt
import numpy as np
from keras import layers, ops

from keras_attention import models, training
from keras_attention.layers.scores import TwoLayerScore
from keras_attention.plotting import plot_attention, plot_by_length
from keras_attention.text import END, SPECIAL_WORDS, START

QUICK = bool(os.environ.get("KERAS_ATTENTION_QUICK"))  # set by the tests: fewer steps
keras.utils.set_random_seed(0)
np.set_printoptions(precision=3, suppress=True)

# %% [markdown]
# ## What the papers say
#
# The first neural translators (**Sutskever, Vinyals and Le, 2014**) had one LSTM read a sentence to
# its end, and gave its last state to a second one that wrote the translation. Everything that was
# said has to pass through one vector, however long the sentence is.
#
# **Bahdanau, Cho and Bengio (2015)**, *Neural machine translation by jointly learning to align and
# translate*, keep all states of the reader instead (section 3.2: an RNN in each direction, so that
# each state knows what stands before and after it). The writer looks at them anew before each word:
# a small network scores every state against the writer's own state, the scores become weights, and
# the weighted sum of the states goes into the next step (section 3.1, eq. 4 to 6). Nobody says
# where to look; it is learned with everything else, since all of it has a gradient.
#
# The model of this notebook is the one that lectures and courses build: LSTMs in place of the
# paper's GRUs, and a score with biases.
#
# ## The equations
#
# $$ h_1, \dots, h_S = \mathrm{BiLSTM}(x_1, \dots, x_S) $$
#
# and then for each step $t = 1, \dots, T$
#
# $$ e_{tj} = w_2^\top \tanh\big(W_1 [s_{t-1}; h_j] + b_1\big) + b_2, \qquad
#    \alpha_{tj} = \frac{\exp e_{tj}}{\sum_{i=1}^{S} \exp e_{ti}}, \qquad
#    c_t = \sum_{j=1}^{S} \alpha_{tj} h_j $$
#
# $$ s_t = \mathrm{LSTM}\big([c_t; y_{t-1}],\, s_{t-1}\big), \qquad \mathrm{logits}_t = W s_t + b $$
#
# | letter | name | shape |
# | --- | --- | --- |
# | $x_j$ | the context, embedded | (B, S, E) |
# | $h_j$ | annotations: keys and values at once | (B, S, 2 M₁) |
# | $s_{t-1}$ | state of the writer before step $t$: the query | (B, M₂) |
# | $e_{tj}$ | scores, before the softmax | (B, S, 1) |
# | $\alpha_{tj}$ | weights, after it; they sum to 1 over $j$ | (B, S, 1) |
# | $c_t$ | the read | (B, 2 M₁) |
# | $y_{t-1}$ | the symbol before, embedded | (B, E) |
#
# In the words of the notebook before: the states of the reader are a memory whose keys are its
# values, and the state of the writer is the query.

# %% [markdown]
# ## One step, with all shapes
#
# Every dimension is another prime number, so that no two can be confused. M₁ is the width of the
# reader's LSTM in each direction, M₂ that of the writer's, A that of the hidden layer of the score.

# %%
B, S, E, M1, M2, A, V = 2, 7, 17, 5, 11, 3, 13


def shown(name, letters, x):
    """Print a line of the table, and return the tensor."""
    print(f"{name:38} {letters:18} {tuple(x.shape)}")
    return x


rng = np.random.default_rng(0)
x = shown("context, embedded: x", "(B, S, E)", rng.normal(size=(B, S, E)).astype("float32"))
read_both_ways = layers.Bidirectional(layers.LSTM(M1, return_sequences=True))
h = shown("annotations: h", "(B, S, 2 M₁)", read_both_ways(x))
state = shown("state before: s(t−1)", "(B, M₂)", rng.normal(size=(B, M2)).astype("float32"))
cell_state = np.zeros((B, M2), "float32")
y = shown("symbol before, embedded: y(t−1)", "(B, E)", rng.normal(size=(B, E)).astype("float32"))
print()
repeated = shown("s(t−1), once for each position", "(B, S, M₂)", layers.RepeatVector(S)(state))
z = shown("[s(t−1); h]", "(B, S, M₂ + 2 M₁)", ops.concatenate([repeated, h], axis=-1))
hidden, to_score = layers.Dense(A, activation="tanh"), layers.Dense(1)
z = shown("tanh(W₁ z + b₁)", "(B, S, A)", hidden(z))
scores = shown("scores: w₂ᵀ z + b₂", "(B, S, 1)", to_score(z))
alpha = shown("weights: softmax over axis 1", "(B, S, 1)", ops.softmax(scores, axis=1))
read = shown(
    "read: (S, 1)ᵀ (S, 2 M₁), a batch of them", "(B, 1, 2 M₁)", layers.Dot(axes=1)([alpha, h])
)
print()
joined = shown("[c(t); y(t−1)]", "(B, 2 M₁ + E)", ops.concatenate([read[:, 0], y], axis=-1))
new_state, (_, new_cell_state) = layers.LSTMCell(M2)(joined, [state, cell_state])
shown("state after: s(t)", "(B, M₂)", new_state)
shown("logits", "(B, V)", layers.Dense(V)(new_state))

by_hand = np.einsum("bs,bsd->bd", np.array(alpha)[..., 0], np.array(h))
np.testing.assert_allclose(np.array(read)[:, 0], by_hand, atol=1e-6)
expected = (M2 + 2 * M1) * A + A + A + 1
assert hidden.count_params() + to_score.count_params() == expected
print(f"\nweights of the score: (M₂ + 2 M₁) A + A, and A + 1: {expected}")

# %% [markdown]
# *Why does the score get both, $s_{t-1}$ and $h_j$?* The annotation says what there is, the state
# says what is wanted now. Without the annotation all positions would get the same score; without
# the state, the same positions would be looked at in every step. What is computed from $h$ alone,
# though, need not be computed again: $W_1 [s; h] = W_1^{s} s + W_1^{h} h$, and the second product
# is the same for all steps. The package computes it once.
#
# What cannot be done all at once is the loop over $t$: $s_t$ depends on what was read, and what is
# read depends on $s_{t-1}$.
#
# ## Why the softmax is over axis 1
#
# The weights of *one* step have to sum to 1 over the *source positions*, and those are axis 1 of
# the scores (B, S, 1). A softmax over the last axis, which is what `Dense(1, activation="softmax")`
# does, sees one number at a time, and the share of one number in itself is 1:

# %%
four = np.array([[[2.0], [1.0], [0.0], [-1.0]]], "float32")  # (B, S, 1) = (1, 4, 1)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    over_last, over_time = (np.array(ops.softmax(four, axis=axis))[0, :, 0] for axis in (-1, 1))
print("scores               ", four[0, :, 0])
print("softmax over axis −1:", over_last, " sum", over_last.sum())
print("softmax over axis  1:", over_time, " sum", over_time.sum())
for each in caught:
    print("a warning from Keras:", str(each.message).split(". ")[0])

annotations = np.array([[[1.0, 0.0], [0.0, 1.0], [5.0, 5.0], [9.0, -9.0]]])
print("read with the first: ", over_last @ annotations[0], " the sum of all annotations")
print("read with the second:", over_time @ annotations[0])
np.testing.assert_allclose(over_last, 1.0)

# %% [markdown]
# With ones for weights every step reads the same sum, and no gradient ever reaches the score.
# Nothing crashes: the shapes are right. (Where weights are laid out as (B, T, S), as everywhere in
# the package but for a single query, the source is the last axis, and the softmax runs over that.)

# %% [markdown]
# ## A task that one can check by eye: write a word backwards
#
# The alphabet is the twelve commonest letters of English. The model reads a string of them and
# writes it backwards, then `[END]`. Strings are drawn at random, new ones for every step, so that
# there is little to be learned by heart; real words are for the pictures.
#
# ### Teacher forcing
#
# While it learns, the writer is fed the *right* symbol before, whatever it would have written
# itself: the target shifted right by one, with `[START]` in front. All steps then have their inputs
# from the beginning. When it writes on its own, it is fed what it wrote.

# %%
LETTERS = "etaoinshrdlu"
NAMES = [*SPECIAL_WORDS, *LETTERS]  # id 0 is padding, then [UNK], [START], [END]
VOCABULARY, FIRST = len(NAMES), len(SPECIAL_WORDS)


def reversing(context):
    """Return the inputs and the labels for strings (B, S): what is fed, and what is wanted."""
    count, longest = context.shape
    lengths = (context != 0).sum(axis=1, keepdims=True)
    backwards = np.take_along_axis(context, np.maximum(lengths - 1 - np.arange(longest), 0), axis=1)
    labels = np.zeros((count, longest + 1), "int32")
    labels[:, :-1] = np.where(np.arange(longest) < lengths, backwards, 0)
    np.put_along_axis(labels, lengths, END, axis=1)
    fed = np.pad(labels[:, :-1], [(0, 0), (1, 0)], constant_values=START)  # shifted right
    return {"context": context, "target": np.where(labels != 0, fed, 0)}, labels


def strings(rng, count, shortest, longest, places=None):
    """Draw strings of letters, (count, places), padded with 0."""
    ids = rng.integers(FIRST, VOCABULARY, size=(count, places or longest), dtype="int32")
    lengths = rng.integers(shortest, longest + 1, size=(count, 1))
    return np.where(np.arange(places or longest) < lengths, ids, 0)


def as_ids(words, places):
    """Return words as ids (B, places)."""
    ids = np.zeros((len(words), places), "int32")
    for row, word in enumerate(words):
        ids[row, : len(word)] = [NAMES.index(letter) for letter in word]
    return ids


def as_text(ids):
    """Return ids as text, without padding."""
    return "".join(NAMES[number] for number in ids)


inputs, labels = reversing(as_ids(["hidden"], 6))
print("read:  ", as_text(inputs["context"][0]))
print("fed:   ", " ".join(f"{NAMES[i]:>7}" for i in inputs["target"][0]))
print("wanted:", " ".join(f"{NAMES[i]:>7}" for i in labels[0]))

# %% [markdown]
# ## The whole model from scratch
#
# Layers are made once and used at every step: the weights are shared over time. The loop over $t$
# is a Python loop, which unrolls: the model has $T$ copies of the step, and works for this $T$
# only. Padding is masked *before* the softmax.


# %%
def softmax_over_time(scores, mask):
    """Turn scores (B, S, 1) into weights over the positions that hold a letter."""
    scores = ops.where(mask[..., None], scores, -1e9)
    return ops.softmax(scores, axis=1)


def build_from_scratch(longest, units, encoder_units, score_units):
    """Build the model for strings of up to `longest` letters, and a view of its weights."""
    # Layers, made once
    embed_context = layers.Embedding(VOCABULARY, units, name="context_embedding")
    reader = layers.LSTM(encoder_units, return_sequences=True)
    reader = layers.Bidirectional(reader, name="context_rnn")
    embed_target = layers.Embedding(VOCABULARY, units, name="target_embedding")
    hidden = layers.Dense(score_units, activation="tanh", name="hidden")
    to_score = layers.Dense(1, name="score")
    cell = layers.LSTMCell(units, name="lstm")
    to_logits = layers.Dense(VOCABULARY, name="logits")

    # Model
    context = keras.Input((longest,), dtype="int32", name="context")
    target = keras.Input((longest + 1,), dtype="int32", name="target")
    mask = ops.not_equal(context, 0)
    h = reader(embed_context(context), mask=mask)
    h = ops.where(mask[..., None], h, 0.0)  # padding has no annotation
    y = embed_target(target)
    state = cell_state = ops.zeros_like(y[:, 0])  # embeddings are as wide as the state
    logits, weights = [], []
    for t in range(longest + 1):
        repeated = layers.RepeatVector(longest)(state)
        scores = to_score(hidden(ops.concatenate([repeated, h], axis=-1)))
        alpha = softmax_over_time(scores, mask)
        read = layers.Dot(axes=1)([alpha, h])[:, 0]
        joined = ops.concatenate([read, y[:, t]], axis=-1)
        state, (_, cell_state) = cell(joined, [state, cell_state])
        logits.append(to_logits(state))
        weights.append(alpha[..., 0])
    inputs = {"context": context, "target": target}
    model = keras.Model(inputs, ops.stack(logits, axis=1), name="from_scratch")
    return model, keras.Model(inputs, ops.stack(weights, axis=1), name="weights")


SIZES = {"units": 64, "encoder_units": 32, "score_units": 32}
LONGEST, BATCH = 10, 128
from_scratch, look = build_from_scratch(LONGEST, **SIZES)
print(f"{from_scratch.count_params():,} weights; logits (B, T, V):", from_scratch.output_shape)

# %% [markdown]
# ### Training


# %%
def train(model, inputs, labels, jit_compile=None):
    """Train a model on every example once, with a learning rate that rises and then falls to 0."""
    steps = len(labels) // BATCH
    schedule = {} if QUICK else {"warm_up": steps // 20, "decay_steps": steps}
    training.compile_for_training(
        model, 1e-2, jit_compile=False if QUICK else jit_compile, **schedule
    )
    model.run_eagerly = QUICK
    model.fit(inputs, labels, batch_size=BATCH, verbose=0)


def run(model, inputs):
    """Run a model on a batch, and return its outputs as NumPy."""
    return keras.tree.map_structure(np.array, model(inputs, training=False))


def examples(seed, steps, shortest, longest):
    """Draw the examples of a training."""
    count = BATCH * (1 if QUICK else steps)
    return reversing(strings(np.random.default_rng(seed), count, shortest, longest))


train(from_scratch, *examples(1, 500, 3, LONGEST), jit_compile=False)
COUNT = 20 if QUICK else 500
test_inputs, test_labels = reversing(strings(np.random.default_rng(2), COUNT, 3, LONGEST))
logits = run(from_scratch, test_inputs)
is_token = test_labels != 0
accuracy = np.mean(logits.argmax(axis=-1)[is_token] == test_labels[is_token])
print(
    f"right symbols, each fed the right one before: {accuracy:.3f}; by chance {1 / len(LETTERS):.3f}"
)

# %% [markdown]
# ### Writing on its own
#
# Now it is fed what it wrote itself. With a model for whole sequences that is a loop: ask for all
# logits, keep those of step t, and put the likeliest symbol in as the input of step t + 1. (That
# computes everything again and again; below, the package goes step by step.)


# %%
def write(model, context):
    """Let a model write, fed with its own symbols: ids (B, T), 0 after the end."""
    written = np.zeros((len(context), context.shape[1] + 1), "int32")
    target = np.zeros_like(written)
    target[:, 0] = START
    for t in range(written.shape[1]):
        logits = run(model, {"context": context, "target": target})
        written[:, t] = logits[:, t].argmax(axis=-1)
        target[:, t + 1 : t + 2] = written[:, t : t + 1]
    return cut(written)


def cut(written):
    """Put 0 for all that stands after the end."""
    return np.where(np.cumsum(written == END, axis=1) - (written == END) > 0, 0, written)


def without_mistake(written, context):
    """Say for each string whether all of it was written backwards."""
    return np.all(written == reversing(context)[1], axis=1)


words = ["attention", "listen", "hidden", "translator", "noon"]
for word, ids in zip(words, write(from_scratch, as_ids(words, LONGEST)), strict=True):
    print(f"{word:>12} → {as_text(ids)}")
context = test_inputs["context"]
written = write(from_scratch, context)
scratch_share = without_mistake(written, context).mean()
print(f"random strings without a mistake: {scratch_share:.3f}")
if not QUICK:
    assert scratch_share > 0.9

# %% [markdown]
# ## The same by the package
#
# `models.build_bilstm_attention` is this model. Its writer is one layer, `AttentionRNN`, which
# loops inside: it takes strings of any length, and its program does not grow with them. To see that
# the two are equal, we copy the weights that were learned from the one to the other.

# %%
package_model = models.build_bilstm_attention(
    VOCABULARY,
    VOCABULARY,
    units=SIZES["units"],
    encoder_units=SIZES["encoder_units"],
    score=TwoLayerScore(SIZES["score_units"]),
)


def copy_weights(scratch, model):
    """Give a model of the package the weights of the one from scratch."""
    encoder, decoder = model.get_layer("encoder"), model.get_layer("decoder")
    rnn = decoder.get_layer("target_rnn")  # AttentionRNN, whose cell has an LSTMCell and a score
    places = {
        "context_embedding": encoder.get_layer("context_embedding"),
        "context_rnn": encoder.get_layer("context_rnn"),
        "target_embedding": decoder.get_layer("target_embedding"),
        "lstm": rnn.cell.cell,
        "logits": decoder.get_layer("logits"),
    }
    for name, place in places.items():
        place.set_weights(scratch.get_layer(name).get_weights())
    (w1, b1), (w2, b2) = (scratch.get_layer(name).get_weights() for name in ("hidden", "score"))
    score = rnn.cell.attention.score
    for variable, value in (
        (score.kernel, w1),
        (score.bias, b1),
        (score.v, w2[:, 0]),
        (score.output_bias, b2[0]),
    ):
        variable.assign(value)


copy_weights(from_scratch, package_model)
view = models.attention(package_model)  # the same forward pass, and every weight
seen = run(view, test_inputs)
np.testing.assert_allclose(seen["logits"], logits, rtol=1e-3, atol=1e-3)
np.testing.assert_allclose(seen["cross_attention"][0], run(look, test_inputs), atol=1e-4)
print(f"largest difference of a logit: {np.abs(seen['logits'] - logits).max():.1e}")


# %% [markdown]
# It also goes step by step: `models.encode` reads the string once, and `models.step` writes one
# symbol and hands on its state, so that nothing is computed twice. (`decoding.Generator` makes one
# compiled program of such a loop.)


# %%
def write_step_by_step(model, context):
    """Let a model of the package write, fed with its own symbols: ids (B, T), 0 after the end."""
    encoded, step = models.encode(model)(context), models.step(model)
    tokens, state, written = np.full(len(context), START, "int32"), encoded["state"], []
    for _ in range(context.shape[1] + 1):
        logits, _, state = step(tokens, encoded["memory"], state)
        tokens = np.array(logits).argmax(axis=-1).astype("int32")
        written.append(tokens)
    return cut(np.stack(written, axis=1))


assert np.array_equal(write_step_by_step(package_model, context), written)
print(f"{len(context)} strings, written step by step: the same symbols")

# %% [markdown]
# ## Where it looked
#
# A row is a symbol that is written, a column a letter that is read; the orange frames are where the
# letter comes from. Note that *attention* has three t's, two n's: the content of a letter alone
# would not do. An annotation knows its place, since an LSTM has counted up to it from either side.

# %%
word = "attention"
inputs, _ = reversing(as_ids([word], len(word)))
weights = run(view, inputs)["cross_attention"][0][0]
plot_attention(
    weights,
    list(word),
    [*word[::-1], "[END]"],
    links=[(len(word) - 1 - t, t) for t in range(len(word))],
    axis_names=("written", "read"),
    vmax=1,
    title="Writing backwards: the look goes from right to left",
)
plt.show()

weights = seen["cross_attention"][0]
rows, steps = np.nonzero((test_labels != 0) & (test_labels != END))
lengths = (context != 0).sum(axis=1)
looked_at = weights.argmax(axis=-1)[rows, steps]
distance = np.abs(looked_at - (lengths[rows] - 1 - steps))
print(f"largest weight on the letter that is written: {np.mean(distance == 0):.3f}")
print(f"on that letter or a neighbour:                {np.mean(distance <= 1):.3f}")

# %% [markdown]
# An annotation has read its neighbours too, so a look one place beside may be as good: a heat map
# shows what was *read*, which is not quite the same as an alignment.
#
# Some texts draw the transpose, with a row for each *source* position. Keras gives (B, T, S), a row
# for each *target* position, and each row sums to 1; `orientation="context_rows"` draws it the
# other way round.

# %% [markdown]
# ## With attention, and with the mean in its place
#
# *What is the advantage of attention?* Train the same model twice, on strings of 3 to 17 letters:
# once as above, once with the mean of all annotations in place of what is looked up
# (`attention="mean"`). Everything else is the same: layers, data, number of steps. Then let both
# write, and count strings without a mistake by their length, as in figure 2 of Bahdanau et al.

# %%
LONG, COUNT = (5, 10) if QUICK else (17, 200)
ranges = [(shortest, shortest + 2) for shortest in range(3, LONG, 3)]


def train_on_long_strings(attention):
    """Train the package's model with an attention, or with a summary in its place."""
    keras.utils.set_random_seed(3)
    score = TwoLayerScore(SIZES["score_units"]) if attention == "global" else None
    model = models.build_bilstm_attention(
        VOCABULARY, VOCABULARY, units=SIZES["units"], attention=attention, score=score
    )
    train(model, *examples(3, 800, 3, LONG))
    return model


def shares_by_length(model):
    """Return the share of strings without a mistake for each range of lengths."""
    rng = np.random.default_rng(4)
    drawn = np.concatenate([strings(rng, COUNT, *each, places=LONG) for each in ranges])
    right = without_mistake(write_step_by_step(model, drawn), drawn)
    return right.reshape(len(ranges), COUNT).mean(axis=1)


def table(by_length):
    """Print the shares by length."""
    print(f"{'length':>28}", *(f"{f'{a}–{b}':>6}" for a, b in ranges))
    for name, shares in by_length.items():
        print(f"{name:>28}", *(f"{share:6.2f}" for share in shares))


by_length = {
    "with attention": shares_by_length(train_on_long_strings("global")),
    "the mean in its place": shares_by_length(train_on_long_strings("mean")),
}
table(by_length)
plot_by_length(
    ranges,
    by_length,
    [COUNT] * len(ranges),
    ylabel="strings without a mistake",
    title="One vector is enough for a short word only",
)
plt.show()
if not QUICK:
    long_with, long_without = (shares[-1] for shares in by_length.values())
    assert long_with > 0.8 > 0.2 > long_without

# %% [markdown]
# The mean is a vector of a fixed width, and all that is known of the string has to fit in it, the
# order included. That works for short strings, and then it breaks. With attention nothing has to
# fit anywhere: the reader keeps a state for each letter, and the writer fetches what it needs when
# it needs it. The gradient takes the same short cut, from a symbol to the annotation that it was
# read from, instead of through all the steps in between.
#
# It also says *when such an interface can be used*: whenever one part of a network has left
# something behind for each element of its input, be it a word, a frame or a region of a picture,
# and another part, which goes step by step, wants to choose among them. The two sequences may
# differ in length and in order.
#
# ## What a leak does
#
# If the target is *not* shifted, the writer is fed at each step the very symbol that it is to
# write. Training looks splendid, since nothing has to be read. Then the model is to write by
# itself, and is fed what it wrote before:

# %%
keras.utils.set_random_seed(5)
leaking = models.build_bilstm_attention(VOCABULARY, VOCABULARY, units=32)
inputs, labels = examples(5, 200, 3, LONGEST)
train(leaking, {**inputs, "target": labels}, labels)  # the mistake: fed is what is wanted

fed_the_answer = run(leaking, {**test_inputs, "target": test_labels}).argmax(axis=-1)
leaked = np.mean(fed_the_answer[is_token] == test_labels[is_token])
leaking_share = without_mistake(write_step_by_step(leaking, context), context).mean()
print(f"{'':22}right symbols in training   strings that it writes itself")
print(f"{'shifted, as it should':22}{accuracy:25.3f}{scratch_share:32.3f}")
print(f"{'not shifted':22}{leaked:25.3f}{leaking_share:32.3f}")
print("\nattention →", as_text(write_step_by_step(leaking, as_ids(["attention"], 9))[0]))
if not QUICK:
    assert leaked > 0.95
    assert leaking_share < 0.1

# %% [markdown]
# The sign of a leak is a training accuracy that is too good, beside outputs that are nonsense. (In
# a Transformer the same leak comes from a missing causal mask.)
#
# ## Slips that one meets in lecture notes
#
# - `return_sequence=True`: the argument is `return_sequences`, and Keras says so with an error.
# - *"$z = \mathrm{softmax}(W_2 z + b_2)$"* for each $h_j$: the softmax is over all $j$ together,
#   axis 1, as above.
# - `initial_state=s`: an LSTM has two states, so it is `[s, c]`.
# - A loop that feeds the context alone, `lstm(context)`: the symbol before belongs in as well,
#   $[c_t; y_{t-1}]$.
# - $s_t = f(\hat y_{t-1}, h_{t-1})$ for a decoder: its state comes from its own state before,
#   $s_{t-1}$; $h$ belongs to the reader.
# - "weights $\propto h^\top W s$": they are proportional to its *exponential*. The product itself
#   may be negative.
#
# ## Exercises
#
# 1. Look at the last bias, $b_2$. What does the model do with $b_2 = 5$? What is its gradient?
# 2. "Doing a max-pool over the states of an RNN" and "taking its last state" are two more ways to
#    make one vector of a string. Do they save the model without attention? Train with
#    `attention="last"`, and predict first for which lengths it works.
#
# ## Worked answers
#
# **1.** Nothing changes. $b_2$ is added to all scores of a step alike, and a softmax does not see
# what is added to all: $e^{x + b} / \sum e^{x + b} = e^{x} / \sum e^{x}$. So no output depends on
# it, and its gradient is 0; it is a weight that might be left out.

# %%
before = run(from_scratch, test_inputs)
to_score = from_scratch.get_layer("score")
learned, bias = to_score.get_weights()
to_score.set_weights([learned, bias + 5.0])
after = run(from_scratch, test_inputs)
to_score.set_weights([learned, bias])
print(f"b₂ + 5 moves the logits by at most {np.abs(after - before).max():.1e}: rounding")
np.testing.assert_allclose(after, before, atol=1e-2)

# %% [markdown]
# **2.** Both are one vector, whatever it is made of, so one expects the same breakdown:

# %%
by_length["the last state in its place"] = shares_by_length(train_on_long_strings("last"))
table(by_length)

# %% [markdown]
# *How long can an LSTM remember?* As far as these figures show: for some letters, and each further
# one costs more. The last annotation of an LSTM that reads in both directions has the whole string
# from one side, and its last letter only from the other.
#
# Next: [3 · Spanish to English with an RNN](03_spanish_to_english_rnn.ipynb), where the strings are
# sentences. In the documentation:
# [Why is my heat map wrong?](https://github.com/keras-attention/keras_attention/blob/main/docs/heat-maps.md)
# and
# [Errata of tutorials](https://github.com/keras-attention/keras_attention/blob/main/docs/errata.md).

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
# decides where to look back. You build it layer by layer, with every shape, and measure what each
# part is for. *Runs in about four minutes on a CPU; no accelerator needed.*

# %% tags=["install"]
# The text of this cell comes from install.py.

# %%
import os
import warnings

# On a TPU runtime Keras needs JAX: take the # away from the next line.
# os.environ["KERAS_BACKEND"] = "jax"
# TPUs and GPUs round what they multiply; for the comparisons with NumPy they must not.
os.environ["JAX_DEFAULT_MATMUL_PRECISION"] = "highest"
os.environ["NVIDIA_TF32_OVERRIDE"] = "0"

import keras
import matplotlib.pyplot as plt
import numpy as np
from keras import ops

from keras_attention import layers, models, plotting, training
from keras_attention.layers.scores import TwoLayerScore
from keras_attention.text import END, SPECIAL_WORDS, START

keras.utils.set_random_seed(0)
np.set_printoptions(precision=3, suppress=True)

# %% [markdown]
# ## What the papers say
#
# The first neural translators (**Sutskever, Vinyals and Le, 2014**) had one LSTM read a sentence to
# its end, and gave its last state to a second one that wrote the translation. Everything that was
# said has to pass through one vector, however long the sentence is.

# %%
plotting.diagram("one-vector")

# %% [markdown]
# **Bahdanau, Cho and Bengio (2015)**, *Neural machine translation by jointly learning to align and
# translate*, keep all states of the reader instead (section 3.2: an RNN in each direction, so that
# each state knows what stands before and after it). The writer looks at them anew before each word:
# a small network scores every state against the writer's own state, the scores become weights, and
# the weighted sum of the states goes into the next step (section 3.1, eq. 4 to 6). Nobody says
# where to look; it is learned with everything else, since all of it has a gradient.

# %%
plotting.diagram("a-memory")

# %% [markdown]
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
#
# ## One step, with all shapes
#
# Every dimension is another prime number, so that no two can be confused. M₁ is the width of the
# reader's LSTM in each direction, M₂ that of the writer's, A that of the hidden layer of the score.

# %%
B, S, E, M1, M2, A, V = 2, 7, 17, 5, 11, 3, 13
rng = np.random.default_rng(0)


def shown(name, letters, x):
    """Print a line of the table, and return the tensor."""
    print(f"{name:42} {letters:18} {tuple(x.shape)}")
    return x


def random(*shape):
    """Return random numbers in some shape."""
    return rng.normal(size=shape).astype("float32")


# %% [markdown]
# What is there before step t: annotations from the reader, a state, and the symbol before.

# %%
x = shown("context, embedded: x", "(B, S, E)", random(B, S, E))
read_both_ways = keras.layers.Bidirectional(keras.layers.LSTM(M1, return_sequences=True))
h = shown("annotations: h", "(B, S, 2 M₁)", read_both_ways(x))
state = shown("state before: s(t−1)", "(B, M₂)", random(B, M2))
cell_state = np.zeros((B, M2), "float32")
y = shown("symbol before, embedded: y(t−1)", "(B, E)", random(B, E))

# %% [markdown]
# From there to the read. The state is repeated, so that it stands beside each annotation, and two
# dense layers turn each pair into one number.

# %%
repeated = shown(
    "s(t−1), once for each position", "(B, S, M₂)", keras.layers.RepeatVector(S)(state)
)
z = shown("[s(t−1); h]", "(B, S, M₂ + 2 M₁)", ops.concatenate([repeated, h], axis=-1))
hidden, to_score = keras.layers.Dense(A, activation="tanh"), keras.layers.Dense(1)
scores = to_score(shown("tanh(W₁ z + b₁)", "(B, S, A)", hidden(z)))
shown("scores: w₂ᵀ tanh(W₁ z + b₁) + b₂", "(B, S, 1)", scores)
alpha = shown("weights: softmax over axis 1", "(B, S, 1)", ops.softmax(scores, axis=1))
read = keras.layers.Dot(axes=1)([alpha, h])
shown("read: (S, 1)ᵀ (S, 2 M₁), a batch of them", "(B, 1, 2 M₁)", read)

by_hand = np.einsum("bs,bsd->bd", np.array(alpha)[..., 0], np.array(h))
np.testing.assert_allclose(np.array(read)[:, 0], by_hand, atol=1e-6)

# %% [markdown]
# And from the read to the next state.

# %%
joined = shown("[c(t); y(t−1)]", "(B, 2 M₁ + E)", ops.concatenate([read[:, 0], y], axis=-1))
new_state, (_, new_cell_state) = keras.layers.LSTMCell(M2)(joined, [state, cell_state])
shown("state after: s(t)", "(B, M₂)", new_state)
logits = shown("logits", "(B, V)", keras.layers.Dense(V)(new_state))

# %% [markdown]
# **Exercise 1.** How many weights has the score, the two dense layers together? Write it as a
# formula in `M1`, `M2` and `A`, not as a number.

# %%
weights_of_the_score = None  # your answer

# %% tags=["check"]
if weights_of_the_score == hidden.count_params() + to_score.count_params():
    print(f"Right: {weights_of_the_score} weights.")
else:
    print("Not yet: W₁ has a row for each number of [s(t−1); h]. There are two biases.")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# weights_of_the_score = (M2 + 2 * M1) * A + A + A + 1
# ```
#
# $W_1$ and $b_1$, then $w_2$ and $b_2$. The length S is not in it: the same small network scores
# every position.
# </details>

# %% [markdown]
# ### Why does the score get both?
#
# The lecture asks why the input of the score is $[s_{t-1}; h_j]$. Take a score with random weights,
# and put zeros in place of either half of $W_1$. Then look at the weights of one memory under two
# different states:

# %%
rng = np.random.default_rng(1)
memory, (first, second) = random(S, 2 * M1), random(2, M2)
kernel, to_one = random(M2 + 2 * M1, A) / 2, random(A, 1) * 2


def weights_for(state, kernel):
    """Return the weights (S,) of the memory for one state, with a kernel in place of W₁."""
    pairs = np.concatenate([np.tile(state, (S, 1)), memory], axis=-1)
    return np.array(ops.softmax(np.tanh(pairs @ kernel) @ to_one, axis=0))[:, 0]


of_state = np.arange(M2 + 2 * M1)[:, None] < M2  # the rows that multiply the state
kernels = {"both": kernel, "annotation only": kernel * ~of_state, "state only": kernel * of_state}
for name, each in kernels.items():
    for number, asking in (("1st", first), ("2nd", second)):
        print(f"{name:16}{number} state {weights_for(asking, each)}")

# %% [markdown]
# Without the state, the same positions are looked at in every step. Without the annotation, all
# positions get the same score. The annotation says what there is, the state says what is wanted
# now.
#
# What is computed from $h$ alone, though, need not be computed again in each step:
# $W_1 [s; h] = W_1^{s} s + W_1^{h} h$, and the second product is the same for all steps. The
# package computes it once. The diagram has this score on the right.

# %%
of_s, of_h = np.split(kernel, [M2])
at_once = np.concatenate([np.tile(first, (S, 1)), memory], axis=-1) @ kernel
np.testing.assert_allclose(at_once, first @ of_s + memory @ of_h, atol=1e-5)
plotting.diagram("additive-score")

# %% [markdown]
# What cannot be done all at once is the loop over $t$: $s_t$ depends on what was read, and what is
# read depends on $s_{t-1}$.
#
# ## Why the softmax is over axis 1
#
# The weights of *one* step have to sum to 1 over the *source positions*, and those are axis 1 of
# the scores (B, S, 1). A softmax over the last axis, which is what `Dense(1, activation="softmax")`
# does, sees one number at a time, and the share of one number in itself is 1.

# %%
plotting.diagram("softmax-axis")

# %%
four = np.array([[[2.0], [1.0], [0.0], [-1.0]]], "float32")  # (B, S, 1) = (1, 4, 1)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    over_last, over_time = (np.array(ops.softmax(four, axis=axis))[0, :, 0] for axis in (-1, 1))
print("scores               ", four[0, :, 0])
print("softmax over axis −1:", over_last, " sum", over_last.sum())
print("softmax over axis  1:", over_time, " sum", over_time.sum().round(5))
for each in caught:
    print("a warning from Keras:", str(each.message).split(". ")[0])

# %%
annotations = np.array([[1.0, 0.0], [0.0, 1.0], [5.0, 5.0], [9.0, -9.0]])
print("read with the first: ", over_last @ annotations, " the sum of all annotations")
print("read with the second:", over_time @ annotations)
np.testing.assert_allclose(over_last @ annotations, annotations.sum(axis=0))

# %% [markdown]
# With ones for weights every step reads the same sum, and no gradient ever reaches the score.
# Nothing crashes: the shapes are right.
#
# **Exercise 2.** Everywhere else in the package the weights of all steps are laid out as (B, T, S),
# one row for each step. Compute such weights from the scores below, with no weight on padding. The
# mask is (B, S), True where there is a letter.

# %%
all_scores = random(2, 3, 5)  # (B, T, S)
letters_only = np.array([[True] * 5, [True] * 3 + [False] * 2])  # (B, S)
all_weights = None  # your answer: (B, T, S)

# %% tags=["check"]
given = np.zeros((2, 3, 5)) if all_weights is None else np.array(all_weights)
masked = np.where(letters_only[:, None], np.exp(all_scores), 0.0)
if given.shape == (2, 3, 5) and np.allclose(given, masked / masked.sum(-1, keepdims=True)):
    print("Right: each row sums to 1, and padding has no weight.")
else:
    print("Not yet: which axis is the source now? The mask needs an axis of size 1 for T.")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# all_weights = ops.softmax(ops.where(letters_only[:, None, :], all_scores, -1e9), axis=-1)
# ```
#
# In this layout the source is the last axis. The rule is not "axis 1": it is "the axis of the
# source". Masking comes *before* the softmax, so that the weights that are left sum to 1.
# </details>

# %% [markdown]
# ## A task that one can check by eye: write a word backwards
#
# The alphabet is the twelve commonest letters of English. The model reads a string of them and
# writes it backwards, then `[END]`. Strings are drawn at random, new ones for every step, so that
# there is little to be learned by heart; real words are for the pictures.

# %%
LETTERS = "etaoinshrdlu"
NAMES = [*SPECIAL_WORDS, *LETTERS]  # id 0 is padding, then [UNK], [START], [END]
VOCABULARY, FIRST = len(NAMES), len(SPECIAL_WORDS)


def strings(rng, count, shortest, longest, places=None):
    """Draw strings of letters, (count, places), padded with 0."""
    ids = rng.integers(FIRST, VOCABULARY, size=(count, places or longest), dtype="int32")
    lengths = rng.integers(shortest, longest + 1, size=(count, 1))
    return np.where(np.arange(places or longest) < lengths, ids, 0)


# %%
def as_ids(words, places):
    """Return words as ids (B, places)."""
    ids = np.zeros((len(words), places), "int32")
    for row, word in enumerate(words):
        ids[row, : len(word)] = [NAMES.index(letter) for letter in word]
    return ids


def as_text(ids):
    """Return ids as text, without padding."""
    return "".join(NAMES[number] for number in ids if number)


# %% [markdown]
# ### Teacher forcing
#
# While it learns, the writer is fed the *right* symbol before, whatever it would have written
# itself: the target shifted right by one, with `[START]` in front. All steps then have their inputs
# from the beginning. When it writes on its own, it is fed what it wrote.

# %%
plotting.diagram("teacher-forcing")


# %%
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


inputs, labels = reversing(as_ids(["hidden"], 6))
print("read:  ", as_text(inputs["context"][0]))
print("fed:   ", " ".join(f"{NAMES[i]:>7}" for i in inputs["target"][0]))
print("wanted:", " ".join(f"{NAMES[i]:>7}" for i in labels[0]))

# %% [markdown]
# ## The whole model from scratch
#
# Layers are made once and used at every step: the weights are shared over time.

# %% quick="UNITS, ENCODER_UNITS, SCORE_UNITS, BATCH = 16, 8, 4, 8"
UNITS, ENCODER_UNITS, SCORE_UNITS = 64, 32, 32  # M₂, M₁ and A
BATCH = 128

# %%
LONGEST = 10

embed_context = keras.layers.Embedding(VOCABULARY, UNITS, name="context_embedding")
read_both_ways = keras.layers.Bidirectional(
    keras.layers.LSTM(ENCODER_UNITS, return_sequences=True), name="context_rnn"
)
embed_target = keras.layers.Embedding(VOCABULARY, UNITS, name="target_embedding")
hidden = keras.layers.Dense(SCORE_UNITS, activation="tanh", name="hidden")
to_score = keras.layers.Dense(1, name="score")
cell = keras.layers.LSTMCell(UNITS, name="lstm")
to_logits = keras.layers.Dense(VOCABULARY, name="logits")

# %% [markdown]
# Strings are filled up with 0 to a common length, and nobody may look there. The mask says where
# there is a letter. Scores elsewhere become −10⁹ *before* the softmax, so that their weight is 0
# and the others still sum to 1.


# %%
def softmax_over_time(scores, mask):
    """Turn scores (B, S, 1) into weights over the positions that hold a letter."""
    scores = ops.where(mask[..., None], scores, -1e9)
    return ops.softmax(scores, axis=1)


noon = as_ids(["noon"], LONGEST)
scores = random(1, LONGEST, 1)
print("without a mask:", np.array(ops.softmax(scores, axis=1))[0, :, 0])
print("with a mask:   ", np.array(softmax_over_time(scores, noon != 0))[0, :, 0])

# %%
plotting.diagram("weight-on-padding")

# %% [markdown]
# In the functional API an `Input` is a tensor without numbers. The reader:

# %%
context = keras.Input((LONGEST,), dtype="int32", name="context")
mask = ops.not_equal(context, 0)
h = read_both_ways(embed_context(context), mask=mask)
h = ops.where(mask[..., None], h, 0.0)  # padding has no annotation
print("h", h.shape)

# %% [markdown]
# The writer. The loop over $t$ is a Python loop, which unrolls: the model has $T$ copies of the
# step, and works for this $T$ only.

# %%
target = keras.Input((LONGEST + 1,), dtype="int32", name="target")
y = embed_target(target)
state = cell_state = ops.zeros_like(y[:, 0])  # embeddings are as wide as the state
logits, weights = [], []
for t in range(LONGEST + 1):
    repeated = keras.layers.RepeatVector(LONGEST)(state)
    scores = to_score(hidden(ops.concatenate([repeated, h], axis=-1)))
    alpha = softmax_over_time(scores, mask)
    read = keras.layers.Dot(axes=1)([alpha, h])[:, 0]
    joined = ops.concatenate([read, y[:, t]], axis=-1)
    state, (_, cell_state) = cell(joined, [state, cell_state])
    logits.append(to_logits(state))
    weights.append(alpha[..., 0])

# %% [markdown]
# Two models over the same layers: one for the logits, and a view of the weights.

# %%
inputs = {"context": context, "target": target}
from_scratch = keras.Model(inputs, ops.stack(logits, axis=1), name="from_scratch")
look = keras.Model(inputs, ops.stack(weights, axis=1), name="weights")
print(f"{from_scratch.count_params():,} weights in the model")
print("logits (B, T, V):", from_scratch.output_shape, " weights (B, T, S):", look.output_shape)

# %% [markdown]
# ### Training
#
# Each step has a batch of new strings. `compile_for_training` calls `model.compile` with Adam and the
# crossentropy of the right symbol; `masked_loss` is its mean over all places but padding, and
# `masked_accuracy` the share of right symbols there. The learning rate rises to 0.01 and then falls
# to 0.


# %%
def drawn(seed, shortest, longest):
    """Yield batches of random strings without end."""
    rng = np.random.default_rng(seed)
    while True:
        yield reversing(strings(rng, BATCH, shortest, longest))


def train(model, batches, steps, **options):
    """Train a model, and print a line for each quarter of the steps."""
    schedule = {"warm_up": max(steps // 20, 1), "decay_steps": steps}
    training.compile_for_training(model, 1e-2, **schedule, **options)
    model.fit(batches, steps_per_epoch=steps // 4, epochs=4, shuffle=False, verbose=2)


# %% quick="STEPS, TESTS = 4, 20"
STEPS, TESTS = 300, 500  # steps of each training, and strings to test it with

# %%
# XLA would compile each of the eleven copies of the step, which takes longer than it saves.
train(from_scratch, drawn(1, 3, LONGEST), STEPS, jit_compile=False)

# %%
test_inputs, test_labels = reversing(strings(np.random.default_rng(2), TESTS, 3, LONGEST))


def run(model, inputs):
    """Run a model on a batch, and return its outputs as NumPy."""
    return keras.tree.map_structure(np.array, model(inputs, training=False))


def right_symbols(logits):
    """Return the share of the test symbols that are right, [END] included."""
    is_symbol = test_labels != 0
    return np.mean(logits.argmax(axis=-1)[is_symbol] == test_labels[is_symbol])


logits = run(from_scratch, test_inputs)
accuracy = right_symbols(logits)
print(f"right symbols, each fed the right one before: {accuracy:.3f}")
print(f"by chance: {1 / len(LETTERS):.3f}")

# %% [markdown]
# ### Writing on its own
#
# Now it is fed what it wrote itself. With a model for whole sequences that is a loop: ask for all
# logits, keep those of step t, and put the likeliest symbol in as the input of step t + 1. (That
# computes everything again and again; below, the package goes step by step.)


# %%
def write(model, context, steps=None):
    """Let a model write, fed with its own symbols: ids (B, steps), 0 after the end."""
    steps = steps or context.shape[1] + 1
    written = np.zeros((len(context), steps), "int32")
    target = np.zeros_like(written)
    target[:, 0] = START
    for t in range(steps):
        logits = run(model, {"context": context, "target": target})
        written[:, t] = logits[:, t].argmax(axis=-1)
        target[:, t + 1 : t + 2] = written[:, t : t + 1]
    return cut(written)


def cut(written):
    """Put 0 for all that stands after the end."""
    return np.where(np.cumsum(written == END, axis=1) - (written == END) > 0, 0, written)


# %%
def without_mistake(written, context):
    """Say for each string whether all of it was written backwards."""
    return np.all(written == reversing(context)[1], axis=1)


words = ["attention", "listen", "hidden", "translator", "noon"]
for word, ids in zip(words, write(from_scratch, as_ids(words, LONGEST)), strict=True):
    print(f"{word:>12} → {as_text(ids)}")
test_strings = test_inputs["context"]
written = write(from_scratch, test_strings)
scratch_share = without_mistake(written, test_strings).mean()
print(f"random strings without a mistake: {scratch_share:.3f}")

# %% tags=["claims"]
assert scratch_share > 0.9

# %% [markdown]
# **Exercise 3.** What does the last bias, $b_2$, do? Add 5 to it in the trained model, and measure
# by how much the logits of the test strings move at most. Predict first. (Put the old weights back
# afterwards: `to_score.get_weights()` and `to_score.set_weights(...)`.)

# %%
before = run(from_scratch, test_inputs)
moved = None  # your answer: the largest difference of a logit

# %% tags=["check"]
if moved is not None and moved < 1e-3:
    print(f"Right: {moved:.0e}, which is rounding.")
else:
    print("Not yet: run(from_scratch, test_inputs) again with [kernel, bias + 5].")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# kernel, bias = to_score.get_weights()
# to_score.set_weights([kernel, bias + 5.0])
# moved = np.abs(run(from_scratch, test_inputs) - before).max()
# to_score.set_weights([kernel, bias])
# ```
#
# $b_2$ is added to all scores of a step alike, and a softmax does not see what is added to all:
# $e^{x + b} / \sum e^{x + b} = e^{x} / \sum e^{x}$. No output depends on it, and its gradient is 0.
# It might be left out.
# </details>

# %% [markdown]
# ## The same by the package
#
# `models.build_bilstm_attention` is this model. Its writer is one layer, `AttentionRNN`, which
# loops inside: it takes strings of any length, and its program does not grow with them. To see that
# the two are equal, copy the weights that were learned from the one to the other.

# %%
package_model = models.build_bilstm_attention(
    VOCABULARY, VOCABULARY, UNITS, ENCODER_UNITS, score=TwoLayerScore(SCORE_UNITS)
)
encoder, decoder = package_model.get_layer("encoder"), package_model.get_layer("decoder")
attend_then_recur = decoder.get_layer("target_rnn").cell  # a cell of Keras, and an attention
for mine, its in {
    embed_context: encoder.get_layer("context_embedding"),
    read_both_ways: encoder.get_layer("context_rnn"),
    embed_target: decoder.get_layer("target_embedding"),
    cell: attend_then_recur.cell,
    to_logits: decoder.get_layer("logits"),
}.items():
    its.set_weights(mine.get_weights())

# %%
(w1, b1), (w2, b2) = hidden.get_weights(), to_score.get_weights()
score = attend_then_recur.attention.score
score.kernel.assign(w1)
score.bias.assign(b1)
score.v.assign(w2[:, 0])
score.output_bias.assign(b2[0])

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


same = write_step_by_step(package_model, test_strings) == written
np.testing.assert_array_less(0.999, same.mean())  # two symbols may be equally likely
print(f"{len(test_strings)} strings, written step by step: {same.mean():.2%} the same symbols")

# %% [markdown]
# ## Where it looked
#
# A row is a letter that is written, a column a letter that is read; the outlines say where the
# letter comes from. Note that *attention* has three t's and two n's: the content of a letter alone
# would not do. An annotation knows its place, since an LSTM has counted up to it from either side.

# %%
word = "attention"
weights = run(view, reversing(as_ids([word], len(word)))[0])["cross_attention"][0][0]
plotting.plot_attention(
    weights,
    list(word),
    [*word[::-1], "[END]"],
    links=[(len(word) - 1 - t, t) for t in range(len(word))],
    outlined="the letter that is written",
    axis_names=("symbol written", "letter read"),
    vmax=1,
    title="Writing backwards: the look goes from right to left",
)
plt.show()


# %%
def distances(weights, inputs, labels):
    """Return how far the largest weight is from the letter that is written, for each of these."""
    rows, steps = np.nonzero((labels != 0) & (labels != END))
    lengths = (inputs["context"] != 0).sum(axis=1)
    return np.abs(weights.argmax(axis=-1)[rows, steps] - (lengths[rows] - 1 - steps))


def where_it_looked(weights, inputs, labels):
    """Print how often the largest weight is on the letter that is written, or beside it."""
    distance = distances(weights, inputs, labels)
    print(f"largest weight on the letter that is written: {np.mean(distance == 0):.3f}")
    print(f"on that letter or a neighbour:                {np.mean(distance <= 1):.3f}")


where_it_looked(seen["cross_attention"][0], test_inputs, test_labels)

# %% [markdown]
# An annotation has read its neighbours too, so a look one place beside may be as good: a heat map
# shows what was *read*, which is not quite the same as an alignment.
#
# Some texts draw the transpose, with a row for each *source* position. Keras gives (B, T, S), a row
# for each *target* position, and each row sums to 1; `orientation="context_rows"` draws it the
# other way round.

# %%
plotting.diagram("transposed")

# %% [markdown]
# ## Three questions about a memory
#
# A lecture on attention begins with three questions about what a recurrent network keeps:
#
# 1. *What if we just kept all the states, and avoided overload by a smart lookup?*
# 2. *Why does the memory need to be a sequence*, built like the input?
# 3. *What if the processor were lazy*, and processed only the inputs that seem crucial?
#
# ### 1. Keep all states, or one vector
#
# Train on strings of 3 to 14 letters, with everything the same but the read: once as above, and
# once with the mean or the largest value of all annotations in place of what is looked up
# (*max-pooling*, number by number). The fourth model is the regular encoder-decoder: the last state
# of the reader is the first state of the writer. Then let them write, and count strings without a
# mistake by their length, as in figure 2 of Bahdanau et al.

# %%
plotting.diagram("no-attention-pooling")


# %%
def annotated(reader):
    """Return an input for strings, and their annotations with the mask, by some reader."""
    context = keras.Input((None,), dtype="int32", name="context")
    mask = ops.not_equal(context, 0)
    h = reader(keras.layers.Embedding(VOCABULARY, UNITS)(context), mask=mask)
    return context, ops.where(mask[..., None], h, 0.0), mask


def one_way(units):
    """Return an LSTM that reads from left to right."""
    return keras.layers.RNN(keras.layers.LSTMCell(units), return_sequences=True)


def both_ways():
    """Return the reader from above: two LSTMs, half as wide."""
    return keras.layers.Bidirectional(one_way(ENCODER_UNITS))


# %% [markdown]
# The model again, now with the layers of the package: a cell of Keras and an attention make an
# `AttendThenRecur`, and `AttentionRNN` runs it.


# %%
def build(attend, reader):
    """Build the model of this chapter from an attention and a reader, and the view of weights."""
    context, h, mask = annotated(reader)
    target = keras.Input((None,), dtype="int32", name="target")
    y = keras.layers.Embedding(VOCABULARY, UNITS)(target)
    writer = layers.AttentionRNN(layers.AttendThenRecur(keras.layers.LSTMCell(UNITS), attend))
    s, weights = writer(y, h, attention_mask=mask, return_attention_scores=True)
    inputs = {"context": context, "target": target}
    model = keras.Model(inputs, keras.layers.Dense(VOCABULARY)(s))
    return model, keras.Model(inputs, weights)


def look_up():
    """Return the attention from above: a softmax over the scores of the two-layer network."""
    return layers.ContextSensitiveMemory(TwoLayerScore(SCORE_UNITS))


# %% quick="LONG, COUNT = 5, 4"
LONG, COUNT = 14, 200  # the longest string, and the number of strings for each range of lengths

# %%
ranges = [(shortest, shortest + 2) for shortest in range(3, LONG, 3)]
rng = np.random.default_rng(4)
by_range = np.concatenate([strings(rng, COUNT, *each, places=LONG) for each in ranges])


def shares_by_length(model):
    """Return the share of strings without a mistake for each range of lengths."""
    right = without_mistake(write(model, by_range), by_range)
    return right.reshape(len(ranges), COUNT).mean(axis=1)


def table(shares):
    """Print shares by length, a line for each model."""
    print(f"{'letters':>28}", *(f"{f'{a}–{b}':>6}" for a, b in ranges))
    for name, each in shares.items():
        print(f"{name:>28}", *(f"{share:6.2f}" for share in each))


# %%
keras.utils.set_random_seed(3)
attending, its_weights = build(look_up(), both_ways())
rivals = {
    "with attention": attending,
    "the mean": build(layers.Pooling("mean"), both_ways())[0],
    "the maximum": build(layers.Pooling("max"), both_ways())[0],
    "the last state": models.build_seq2seq(VOCABULARY, VOCABULARY, UNITS),
}
for name, model in rivals.items():
    print(name)
    train(model, drawn(3, 3, LONG), STEPS)

# %%
by_length = {name: shares_by_length(model) for name, model in rivals.items()}
table(by_length)
panel = plotting.plot_by_length(
    ranges,
    by_length,
    [COUNT] * len(ranges),
    ylabel="strings without a mistake",
    title="One vector is enough for a short word only",
)
below = panel.figure.axes[1]
below.set_xlabel("length of the string, in letters")
below.set_ylabel("strings", rotation=0, ha="right", va="center")
plt.show()

# %% tags=["claims"]
assert by_length["with attention"][-1] > 0.8
assert max(by_length[name][-1] for name in by_length if name != "with attention") < 0.2

# %% [markdown]
# A vector has a fixed width, whatever it is made of, and all that is known of the string has to fit
# in it, the order included. That works for short strings, and then it breaks: earliest for the
# maximum, which keeps of each number only the largest in the whole string, latest for the last
# state, which an LSTM has prepared for this purpose. With attention
# nothing has to fit anywhere: the reader keeps a state for each letter, and the writer fetches what
# it needs when it needs it. The gradient takes the same short cut, from a symbol to the annotation
# that it was read from, instead of through all the steps in between.
#
# It also says *when such an interface can be used*: whenever one part of a network has left
# something behind for each element of its input, be it a word, a frame or a region of a picture,
# and another part, which goes step by step, wants to choose among them. The two sequences may
# differ in length and in order.
#
# ### 2. The memory is no sequence
#
# To the reader the string is a sequence. To the attention it is not: neither $j$ nor $t$ stands in
# the score, only what is in $h_j$ and $s_{t-1}$. That is *content-based* attention.
#
# **Exercise 4.** Predict what the writer says if the annotations of a string are shuffled, together
# with their mask. Then compute the logits of its first step with `shuffled` as its memory.

# %%
encoded = models.encode(package_model)(as_ids(["translator"], LONGEST))
step, start = models.step(package_model), np.array([START], "int32")
first_logits, _, _ = step(start, encoded["memory"], encoded["state"])

order = np.random.default_rng(5).permutation(LONGEST)
shuffled = {name: ops.take(each, order, axis=1) for name, each in encoded["memory"].items()}
logits_shuffled = None  # your answer: (1, V)

# %% tags=["check"]
if logits_shuffled is not None and np.allclose(logits_shuffled, first_logits, atol=1e-4):
    print("Right: the same logits, to rounding. The memory is a set of annotations.")
else:
    print("Not yet: call step as above, with the other memory, and take the first of its outputs.")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# logits_shuffled, _, _ = step(start, shuffled, encoded["state"])
# ```
#
# The weights move with their annotations, and a sum does not mind the order of its terms. That the
# model can write backwards at all is the reader's work: the LSTMs have counted, so each annotation
# contains its place.
# </details>

# %% [markdown]
# So a memory need not be built like the input. It may be any set of vectors: facts, regions of a
# picture, or slots that a network writes to itself, only some of them in each step. Notebooks
# [6](06_neural_turing_machine.ipynb) and [7](07_memory_networks.ipynb) build such memories.
# Where the place *should* count, it goes into the score; see local and location-based attention in
# [notebook 5](05_soft_hard_local_location.ipynb).
#
# ### 3. The lazy processor
#
# First, a lazy *writer*. Soft attention sums over all annotations in each step. How many of them
# does it need? `HardAttention` reads the one with the largest weight, and nothing else. It has the
# same weights, so that they can be copied:

# %%
lazy_writer, _ = build(layers.HardAttention(TwoLayerScore(SCORE_UNITS)), both_ways())
lazy_writer.set_weights(attending.get_weights())
table({"all annotations": by_length["with attention"], "one": shares_by_length(lazy_writer)})

# %% [markdown]
# Here laziness does not pay, although the largest weight lies on the right letter nearly always. The
# map of *attention* above shows why: beside the dark cells there are pale ones. A soft read is a
# mixture, and this writer has learned from mixtures; the largest part alone is a read that it has
# never seen. A writer that is to read one annotation has to learn with such reads, as in
# [notebook 5](05_soft_hard_local_location.ipynb). Note also what that says about heat maps: the
# darkest cell of a row is not all that was used.
#
# And each annotation was computed first, needed or not. A lazy *reader* would not do even that. We hide two to
# five letters in a string of 24 places; the other places hold fillers, of three kinds. The task is
# the same: write the letters backwards.

# %%
PLACES, MOST, FILLERS = 24, 5, 3


def scattered(rng, count):
    """Draw letters among fillers, whose ids are above those of the letters."""
    words = strings(rng, count, 2, MOST)
    inputs, labels = reversing(words)
    context = rng.integers(VOCABULARY, VOCABULARY + FILLERS, size=(count, PLACES), dtype="int32")
    places = np.sort(np.argsort(rng.random((count, PLACES)), axis=1)[:, :MOST], axis=1)
    fillers = np.take_along_axis(context, places, axis=1)
    np.put_along_axis(context, places, np.where(words != 0, words, fillers), axis=1)
    return {**inputs, "context": context}, labels


def in_places(ids):
    """Return symbols with spaces between them."""
    return " ".join([*NAMES, *".,;"][number] for number in ids)


print(in_places(scattered(np.random.default_rng(6), 1)[0]["context"][0]))

# %% [markdown]
# The reader gets a gate, as in **Campos et al. (2018)**, *Skip RNN*. A look at the symbol, one
# number from one dense layer, says how much of the step to make: 1 is an ordinary step of the LSTM,
# 0 leaves the state as it was. Each step has a price, which is added to the loss.


# %%
class SkippingCell(keras.layers.LSTMCell):
    """An LSTM cell that makes a share of each step: the last number of its input."""

    def build(self, shape):
        super().build((*shape[:-1], shape[-1] - 1))

    def call(self, inputs, states, training=False):
        share = inputs[:, -1:]
        _, after = super().call(inputs[:, :-1], states, training=training)
        states = [share * new + (1.0 - share) * old for new, old in zip(after, states, strict=True)]
        return states[0], states


class Priced(keras.layers.Layer):
    """Hand on the shares (B, S, 1), and add their price to the loss, in nats a step."""

    def __init__(self, price, **kwargs):
        super().__init__(**kwargs)
        self.price = price

    def call(self, shares):
        self.add_loss(self.price * ops.mean(ops.sum(shares, axis=(1, 2))))
        return shares


# %%
context = keras.Input((PLACES,), dtype="int32", name="context")
x = keras.layers.Embedding(VOCABULARY + FILLERS, UNITS)(context)
share = keras.layers.Dense(1, "sigmoid", bias_initializer="ones", name="share")(x)
share = Priced(1.5e-4, name="price")(share)

reader = keras.layers.RNN(SkippingCell(UNITS), return_state=True)
target = keras.Input((None,), dtype="int32", name="target")
y = keras.layers.Embedding(VOCABULARY, UNITS)(target)
writer = keras.layers.RNN(keras.layers.LSTMCell(UNITS), return_sequences=True)
to_logits = keras.layers.Dense(VOCABULARY)

# %% [markdown]
# Two models over these layers. The first is trained, with shares between 0 and 1. The second rounds
# them: it makes a step or skips it.

# %%
inputs = {"context": context, "target": target}
soft, rounded = (
    keras.Model(
        inputs,
        to_logits(writer(y, initial_state=reader(ops.concatenate([x, each], axis=-1))[1:])),
    )
    for each in (share, ops.round(share))
)
gates = keras.Model(context, share)


def drawn_scattered(seed):
    """Yield batches without end."""
    rng = np.random.default_rng(seed)
    while True:
        yield scattered(rng, BATCH)


# %%
train(soft, drawn_scattered(7), 2 * STEPS)

# %%
hiding, hidden_labels = scattered(np.random.default_rng(8), 200)
opened = run(gates, hiding["context"])[..., 0]
is_letter = hiding["context"] < VOCABULARY
print(f"share of a step: letters {opened[is_letter].mean():.3f}", end=", ")
print(f"fillers {opened[~is_letter].mean():.3f}")
print(f"steps made: {(opened > 0.5).sum(axis=1).mean():.1f} of {PLACES};", end=" ")
print(f"letters: {is_letter.sum(axis=1).mean():.1f}")
print(in_places(hiding["context"][0]))
print(" ".join(" ^"[made] for made in (opened[0] > 0.5).astype(int)), " steps made")

# %%
lazy = {}
for name, model in (("every step, by its share", soft), ("made or skipped", rounded)):
    lazy[name] = np.all(write(model, hiding["context"], MOST + 1) == hidden_labels, axis=1).mean()
    print(f"without a mistake, {name}: {lazy[name]:.3f}")

# %% tags=["claims"]
assert np.mean(by_length["with attention"]) > np.mean(shares_by_length(lazy_writer)) + 0.2
assert (opened > 0.5).sum(axis=1).mean() < is_letter.sum(axis=1).mean() + 0.5
assert lazy["made or skipped"] > 0.8

# %% [markdown]
# The reader makes 3.4 steps out of 24, one for each letter, and none for a filler. Nobody told it
# which symbols are letters: the price closes each gate that the loss does not keep open. The shares
# are so near to 0 and 1 that rounding them changes no string, and a step whose share is 0 need not
# be computed at all.
#
# Two things made that possible. The choice was *soft* while the reader learned, since a rounded one
# has no gradient, just as with hard attention. And a cheap look at each symbol was enough to choose.
# A processor that does not even look everywhere has to guess where to look next from what it has
# seen; [notebook 8](08_captions_and_glimpses.ipynb) trains an eye that does.
#
# ## One direction instead of two
#
# An LSTM that reads from left to right knows at each letter what came before it, and not what
# follows. It gets the width of both directions together, and twice as many steps.

# %%
keras.utils.set_random_seed(3)
forward_only, forward_weights = build(look_up(), one_way(2 * ENCODER_UNITS))
train(forward_only, drawn(3, 3, LONG), 2 * STEPS)
by_length["read from left to right"] = shares_by_length(forward_only)

# %%
long_inputs, long_labels = reversing(strings(np.random.default_rng(9), 200, 3, LONG))
table({name: by_length[name] for name in ("with attention", "read from left to right")})
print("\nread both ways")
where_it_looked(run(its_weights, long_inputs), long_inputs, long_labels)
print("\nread from left to right")
where_it_looked(run(forward_weights, long_inputs), long_inputs, long_labels)

# %% tags=["claims"]
assert by_length["read from left to right"][-1] > 0.9
both, forward = (
    distances(run(model, long_inputs), long_inputs, long_labels)
    for model in (its_weights, forward_weights)
)
assert np.mean(both == 0) > 0.8
assert np.mean(forward == 0) < 0.6
assert np.mean(forward <= 1) > 0.9

# %% [markdown]
# It comes to write as well, but not as soon: after as many steps as the other had, it wrote 0.06 to
# 0.46 of the strings with 12 to 14 letters without a mistake (three random seeds). The writer counts
# from the end, and an LSTM that reads from the left has counted from the beginning.
#
# The map has changed for good. The largest weight is on the letter that is written in fewer than
# half of the steps, where it was in nearly all; yet it is on that letter or a neighbour. Below
# the dark cells stand to the right of the outlines. A state that has read one letter further still
# holds the letter before. An annotation is what the reader knew when it had come to a place, and not
# the letter that stands there.

# %%
panels = {
    name: run(model, reversing(as_ids([word], len(word)))[0])[0]
    for name, model in (("both ways", its_weights), ("left to right", forward_weights))
}
plotting.plot_attention_grid(
    panels,
    list(word),
    [*word[::-1], "[END]"],
    links=[(len(word) - 1 - t, t) for t in range(len(word))],
    outlined="the letter that is written",
    axis_names=("symbol written", "letter read"),
    vmax=1,
)
plt.show()

# %% [markdown]
# ## A writer with no hidden-to-hidden connection
#
# The writer so far has two links to its past: the state of its LSTM, and the symbol before. What if
# there is *no hidden-to-hidden connection*? Then nothing of step t − 1 is needed for step t but its
# symbol, which teacher forcing knows beforehand; so the loop over $t$ is gone, and all steps are
# trained at once. We build two such writers. One knows the symbol before and nothing else. The
# other one looks back at all the symbols that it was fed, by attention: *its only link to the past*.
#
# `CausalSelfAttention` and `CrossAttention` put a frame around an attention,
# $y \leftarrow \mathrm{LayerNorm}(y + \mathrm{attention}(y, \text{memory}))$, so a symbol is also
# handed on as it is. The first reads the symbols up to its own, the second the annotations.
# [Notebook 4](04_transformer.ipynb) builds both.


# %%
def build_without_recurrence(looks_back):
    """Build a model whose writer has no recurrence, with or without attention to its own past."""
    context, h, mask = annotated(both_ways())
    target = keras.Input((None,), dtype="int32", name="target")
    y = keras.layers.Embedding(VOCABULARY, UNITS)(target)
    if looks_back:
        y = layers.CausalSelfAttention(layers.MultiHeadAttention(4, UNITS // 4))(y)
    read = layers.CrossAttention(layers.AdditiveAttention(UNITS))(y, h, attention_mask=mask)
    inputs = {"context": context, "target": target}
    return keras.Model(inputs, keras.layers.Dense(VOCABULARY)(read))


# %%
keras.utils.set_random_seed(3)
for name, looks_back in (("the symbol before only", False), ("attention to its past", True)):
    print(name)
    model = build_without_recurrence(looks_back)
    train(model, drawn(3, 3, LONG), STEPS)
    by_length[name] = shares_by_length(model)

# %%
without = ("the symbol before only", "attention to its past")
table({name: by_length[name] for name in ("with attention", *without)})

# %% tags=["claims"]
assert by_length["attention to its past"][1] > by_length["the symbol before only"][1] + 0.4

# %% [markdown]
# The symbol before is not enough: after a *t*, a writer without a state cannot know which *t* it was.
# Only strings without a repeated letter can go well. Of random strings of 3, 4 and 5 letters out of
# twelve, a share of $\frac{11}{12} \cdot \frac{10}{12}$, times $\frac{9}{12}$, times $\frac{8}{12}$
# is such, on average 0.57: the number in the table. Nearly all long strings repeat a letter.
#
# Attention to its own past makes up for the state. It writes nine of ten of the longest strings without
# a mistake, with no recurrence and without being told any position. The past itself is the clock: the
# causal mask shows one symbol to the first step, two to the second, and the more there are, the
# smaller the share of `[START]` in what is read. The price: the writer has to keep all that it
# wrote, and look through it in each step, where an LSTM carries a state of a fixed width. In return a symbol is one step away from any other, however far back it is, and so is its gradient;
# [notebook 11](11_long_memories.ipynb) measures that. (For a *reader* without hidden-to-hidden
# connections, see [notebook 3](03_spanish_to_english_rnn.ipynb).)
#
# ### The recipe in five steps, "X or R"
#
# The attention to its own past is multi-head attention. Lectures give it as a recipe of five steps,
# and each of them is a line:

# %%
plotting.diagram("heads")

# %%
heads, width = 4, 16
embedding, w_o = random(VOCABULARY, width), random(width, width)
w_q, w_k, w_v = random(3, heads, width, width // heads)


def attend_to_itself(x):
    """Steps 3 to 5: (S, width) → (S, width)."""
    q, k, v = (np.einsum("sd,hdk->hsk", x, w) for w in (w_q, w_k, w_v))  # 3 · by head
    shares = np.array(ops.softmax(q @ k.swapaxes(1, 2) / np.sqrt(width // heads)))
    z = shares @ v  # 4 · attention, which gives a Z for each head
    return np.concatenate(z, axis=-1) @ w_o  # 5 · join the Z, and multiply by W^O


ids = as_ids([word], len(word))[0]  # 1 · the input sentence
x = embedding[ids]  # 2 · embed each of its words: X
r = attend_to_itself(x)  # the output R
print("X", x.shape, "→ R", r.shape, "→ the next layer's R", attend_to_itself(r).shape)

# %% [markdown]
# "We multiply X *or R*" in step 3 means: the first layer gets the embedded words $X$, and every
# layer above it gets the output $R$ of the layer below, which has the same shape. (A second layer
# has matrices of its own; here they are the same ones.) The package's layer agrees:

# %%
attention = layers.MultiHeadAttention(heads, width // heads, use_bias=False)
attention(x[None], x[None])  # makes its weights
per_head = [w.transpose(1, 0, 2) for w in (w_q, w_k, w_v)]  # it keeps them as (width, heads, 4)
attention.set_weights([*per_head, w_o.reshape(heads, width // heads, width)])
np.testing.assert_allclose(attention(x[None], x[None])[0], r, rtol=1e-3, atol=1e-3)
print("weights of the layer:", *(tuple(w.shape) for w in attention.weights))

# %% [markdown]
# [Notebook 4](04_transformer.ipynb) makes a whole network of it.
#
# ## What a leak does
#
# If the target is *not* shifted, the writer is fed at each step the very symbol that it is to
# write. Training looks splendid, since nothing has to be read. Then the model is to write by
# itself, and is fed what it wrote before.

# %% quick="leaking_steps = 4"
leaking_steps = 150

# %%
keras.utils.set_random_seed(5)
leaking = models.build_bilstm_attention(VOCABULARY, VOCABULARY, UNITS // 2)
batches = drawn(5, 3, LONGEST)
wrong = (({**inputs, "target": labels}, labels) for inputs, labels in batches)  # the mistake
train(leaking, wrong, leaking_steps)

# %%
leaked = right_symbols(run(leaking, {**test_inputs, "target": test_labels}))
leaking_share = without_mistake(write_step_by_step(leaking, test_strings), test_strings).mean()
print(f"{'':22}right symbols in training   strings that it writes itself")
print(f"{'shifted, as it should':22}{accuracy:25.3f}{scratch_share:32.3f}")
print(f"{'not shifted':22}{leaked:25.3f}{leaking_share:32.3f}")
print("\nattention →", as_text(write_step_by_step(leaking, as_ids(["attention"], 9))[0]))

# %% tags=["claims"]
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
# - $h^\top W s$ "measures the angle": it grows with the lengths of the vectors as well. Twice as
#   long an $h$ has the same angle and twice the score.
#
# Next: [3 · Spanish to English with an RNN](03_spanish_to_english_rnn.ipynb), where the strings are
# sentences. In the documentation:
# [Why is my heat map wrong?](https://github.com/keras-attention/keras_attention/blob/main/docs/heat-maps.md)
# and
# [Errata of tutorials](https://github.com/keras-attention/keras_attention/blob/main/docs/errata.md).

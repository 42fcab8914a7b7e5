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
# # 1 · A dictionary that answers approximately
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/keras-attention/keras_attention/blob/main/examples/01_context_sensitive_memory.ipynb)
#
# A Python dictionary answers if a key matches exactly, and otherwise not at all. A
# *context-sensitive memory* compares the query with every key, and answers with a weighted mean of
# all values: it always has an answer, and the answer has a gradient. Every attention is such a
# memory. *Runs in about four minutes on a CPU; no accelerator needed.*

# %% tags=["install"]
# The text of this cell comes from install.py.

# %%
import os

# On a TPU runtime Keras needs JAX: take the # away from the next line.
# os.environ["KERAS_BACKEND"] = "jax"
# TPUs and GPUs round what they multiply; for the comparisons with NumPy they must not.
os.environ["JAX_DEFAULT_MATMUL_PRECISION"] = "highest"
os.environ["NVIDIA_TF32_OVERRIDE"] = "0"

import keras
import matplotlib.pyplot as plt
import numpy as np
from keras import ops

from keras_attention import layers, plotting
from keras_attention.ops import (
    additive,
    concat,
    cosine,
    dot,
    general,
    location,
    masked_softmax,
    scaled_dot,
    two_layer,
)

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
np.set_printoptions(precision=3, suppress=True)

# %% [markdown]
# ## What the papers say
#
# - **Graves, Wayne and Danihelka (2014)**, *Neural Turing machines*, section 3.3.1, eq. 5 and 6,
#   find the rows of a memory *by their content*: a key is compared with every row by the cosine of
#   their angle, and a softmax makes weights of the similarities.
# - **Vaswani et al. (2017)**, *Attention is all you need*, section 3.2, put it in the form that is
#   used everywhere today: a query and a set of pairs of key and value go in; the sum of the values
#   comes out, each with a weight that says how well its key goes with the query.
# - How well they go together is a *score*, and there is a menu of those: **Bahdanau, Cho and Bengio
#   (2015)**, appendix A.1.2, **Luong, Pham and Manning (2015)**, section 3.1.
#
# The lecture calls it a *context-sensitive memory*: a dictionary with a softer lookup.

# %%
plotting.diagram("soft-dictionary")

# %% [markdown]
# ## The equation
#
# $$ M = \{(k_j, v_j) \mid 1 \le j \le S\}, \qquad
#    \alpha_{tj} = \frac{\exp\big(\mathrm{score}(q_t, k_j) / \tau\big)}
#                       {\sum_{i=1}^{S} \exp\big(\mathrm{score}(q_t, k_i) / \tau\big)}, \qquad
#    c_t = \sum_{j=1}^{S} \alpha_{tj} \, v_j $$
#
# | letter | name | shape |
# | --- | --- | --- |
# | $q_t$ | query, what is asked | (B, T, K) |
# | $k_j$ | keys, what the query is compared with | (B, S, K) |
# | $v_j$ | values, what is read | (B, S, D) |
# | $\mathrm{score}(q_t, k_j)$ | scores, before the softmax | (B, T, S) |
# | $\alpha_{tj}$ | weights, after it; they sum to 1 over $j$ | (B, T, S) |
# | $c_t$ | the read | (B, T, D) |
# | $\tau$ | temperature: how sharply scores are told apart | a number |
#
# B is the batch, T the number of queries, S the number of pairs in the memory, K the width of
# queries and keys, D that of the values. Every attention in this course takes these steps; the
# second one, the mask, has a section of its own below.

# %%
plotting.diagram("four-steps")

# %% [markdown]
# ### Query, key and value instead of $h$
#
# The lecture writes its scores with the states of two RNNs, $h_{(t)}$ of the decoder and
# $\bar{h}_{(t')}$ of the encoder, and leaves a task: *redefine using generic k, v*. In a translator
# the same vector $\bar{h}_{(t')}$ is used twice. It is compared with the query, and it is added up.
# These are two jobs, so they get two names:
#
# | the lecture | here | its job |
# | --- | --- | --- |
# | $h_{(t)}$ | $q_t$, a query | it asks |
# | $\bar{h}_{(t')}$ inside the score | $k_j$, a key | it is compared with the query |
# | $\bar{h}_{(t')}$ inside the sum | $v_j$, a value | it is read |
# | $h_{(t)}^\top \bar{h}_{(t')}$ | $q_t^\top k_j$ | dot |
# | $h_{(t)}^\top W_\alpha \bar{h}_{(t')}$ | $q_t^\top W k_j$ | general |
# | $v_\alpha^\top \tanh(W_\alpha [h_{(t)}; \bar{h}_{(t')}])$ | $v^\top \tanh(W [q_t; k_j])$ | concat |
#
# (The $v_\alpha$ of the concat score has nothing to do with the values $v_j$. What it is comes
# below.) With names of their own, key and value may differ, and may have different widths: a word
# and the number of its legs, a French word and its English translation.

# %% [markdown]
# ## From a dictionary to a memory
#
# Here is a dictionary. It has no idea what to do with a word that is nearly a key.

# %%
legs = {"spider": 8.0, "beetle": 6.0, "lizard": 4.0, "hen": 2.0}
print("legs['beetle'] =", legs["beetle"])
try:
    legs["bug"]
except KeyError as error:
    print("legs['bug'] raises KeyError:", error)

# %% [markdown]
# And here is the whole memory: a softmax, a lookup, and one score to begin with.


# %%
def softmax(scores, temperature=1.0):
    """Turn scores (…, S) into weights that sum to 1 along the last axis."""
    shares = np.exp((scores - scores.max(axis=-1, keepdims=True)) / temperature)
    return shares / shares.sum(axis=-1, keepdims=True)


def look_up(query, keys, values, score, temperature=1.0):
    """Ask with queries (T, K): return the read (T, D) and the weights (T, S)."""
    weights = softmax(score(query, keys), temperature)
    return weights @ values, weights


def by_dot(query, keys):
    """Score every query (T, K) against every key (S, K): (T, S)."""
    return query @ keys.T


# %% [markdown]
# ### One-hot words as keys: the exact dictionary
#
# Keys have to be vectors. The plainest vector for a word is *one-hot*: as many numbers as there are
# words, a 1 at the word's own place and 0 elsewhere. The dot product of two of them is 1 for equal
# words and 0 for different ones. That is the `==` of the dictionary, and a low temperature makes a
# choice of it.

# %%
words = list(legs)
one_hot = np.eye(len(words))  # (S, K): a row for each word
counts = np.array([[legs[word]] for word in words])  # (S, D): the values, D = 1
print("scores of all words against all words:", *by_dot(one_hot, one_hot), sep="\n")
for temperature in (1.0, 0.2, 0.05):
    read, _ = look_up(one_hot, one_hot, counts, by_dot, temperature)
    print(f"τ = {temperature:4}:", dict(zip(words, read[:, 0].round(3).tolist(), strict=True)))
np.testing.assert_allclose(read[:, 0], list(legs.values()), atol=1e-6)

# %% [markdown]
# A memory of this kind is in nearly every network: `keras.layers.Embedding`. Its keys are the
# one-hot words, its values are the rows of its table. At a low temperature the softmax of such
# scores is one-hot again, so the layer leaves it out, and takes the row.

# %%
embedding = keras.layers.Embedding(len(words), 3)
ids = np.array([1, 3, 3, 0])
vectors = ops.convert_to_numpy(embedding(ids))
table = ops.convert_to_numpy(embedding.get_weights()[0])

read, weights = look_up(one_hot[ids], one_hot, table, by_dot, temperature=0.01)
np.testing.assert_allclose(read, vectors, atol=1e-6)
np.testing.assert_allclose(weights, one_hot[ids], atol=1e-6)
print("read from a memory with one-hot keys, and from keras.layers.Embedding: equal")

# %% [markdown]
# ### Keys that say what is near
#
# All one-hot words are equally far from each other: to them a bug is no nearer to a beetle than to
# a hen. For an approximate answer the keys have to say what the words have in common. Here they do
# so by five traits, chosen by hand; a network learns them.

# %%
#                    crawls flies scales feathers spins
traits = np.array(
    [
        [1.0, 0.0, 0.0, 0.0, 1.0],  # spider
        [1.0, 1.0, 0.0, 0.0, 0.0],  # beetle
        [1.0, 0.0, 1.0, 0.0, 0.0],  # lizard
        [0.0, 1.0, 0.0, 1.0, 0.0],  # hen
    ]
)
traits /= np.linalg.norm(traits, axis=1, keepdims=True)  # all keys equally long
bug = np.array([[1.0, 0.6, 0.0, 0.0, 0.3]])  # it crawls, flies at times, spins a little
bug /= np.linalg.norm(bug)

read, weights = look_up(bug, traits, counts, by_dot, temperature=0.1)
print(
    "weights:", {word: float(share.round(3)) for word, share in zip(words, weights[0], strict=True)}
)
print(f"legs of a bug: {read[0, 0]:.2f}")

# %% [markdown]
# No error, and no nonsense: most of the weight is on the beetle. The keys say *where* the answer
# is, the values say *what* it is. Other values in the same memory change the read and leave the
# weights alone:

# %%
wings = np.array([[0.0], [4.0], [0.0], [2.0]])
read, same_weights = look_up(bug, traits, wings, by_dot, temperature=0.1)
np.testing.assert_array_equal(same_weights, weights)
print(f"wings of a bug, by the same weights: {read[0, 0]:.2f}")

# %% [markdown]
# ## The same by the package, and by layers of Keras
#
# `ContextSensitiveMemory` is a Keras layer. It takes a batch, any score of the menu, a mask, and
# learned projections where one wants them. On random numbers, with a prime for every dimension so
# that no two axes can be confused:

# %%
B, T, S, K, D = 2, 3, 5, 7, 11
query = rng.normal(size=(B, T, K)).astype("float32")
keys = rng.normal(size=(B, S, K)).astype("float32")
values = rng.normal(size=(B, S, D)).astype("float32")

memory = layers.ContextSensitiveMemory(score="dot", temperature=0.5)
read, weights = memory(query, value=values, key=keys, return_attention_scores=True)
print("read", tuple(read.shape), " weights", tuple(weights.shape))
for b in range(B):
    own_read, own_weights = look_up(query[b], keys[b], values[b], by_dot, temperature=0.5)
    np.testing.assert_allclose(weights[b], own_weights, atol=1e-5)
    np.testing.assert_allclose(read[b], own_read, atol=1e-5)
print("the functions above and the layer: equal")

# %% [markdown]
# Nothing in it is new to Keras: a product, a softmax and another product make the same memory as a
# functional model, and without learned projections it has not a single weight.

# %%
asks = keras.Input((None, K), name="query")
places = keras.Input((None, K), name="keys")
contents = keras.Input((None, D), name="values")
scores = keras.layers.Dot(axes=(2, 2), name="scores")([asks, places])  # (B, T, S)
shares = keras.layers.Softmax(name="weights")(scores / 0.5)  # along the last axis, the keys
reads = keras.layers.Dot(axes=(2, 1), name="read")([shares, contents])  # (B, T, D)
from_layers = keras.Model([asks, places, contents], reads)

np.testing.assert_allclose(from_layers([query, keys, values]), read, atol=1e-5)
print("from layers of Keras: equal, with", from_layers.count_params(), "weights")

# %% [markdown]
# If key and value are the same vectors, as in the lecture's translator, the key is left out:
# `memory(query, states)` means `memory(query, value=states, key=states)`.
#
# Three properties follow from the equation, whatever the score. A read lies between the values (it
# is a weighted mean of them). The order of the pairs does not matter: a memory is a bag, and if
# order is to count, it has to be written into the keys. And the softmax moves with every score, so
# that everything before it can be trained.

# %%
order = rng.permutation(S)
shuffled = memory(query, value=values[:, order], key=keys[:, order])
np.testing.assert_allclose(shuffled, read, atol=1e-5)
read = ops.convert_to_numpy(read)
lowest, highest = values.min(axis=1, keepdims=True), values.max(axis=1, keepdims=True)
assert np.all((lowest < read) & (read < highest))
print("shuffled pairs: the same reads; all reads between the smallest and the largest value")

# %% [markdown]
# ## From the flat mean to the exact dictionary
#
# The temperature decides how much it takes to be told apart. When it is high, all weights are equal
# and every question gets the mean of the values; when it is low, the best key takes everything. A
# dictionary is the limit, never reached. For the beetle's one-hot key:

# %%
print("sharpness 1/τ   weight of the beetle      read")
for sharpness in (0.01, 1, 2, 5, 10, 20):
    read, weights = look_up(one_hot[1:2], one_hot, counts, by_dot, 1 / sharpness)
    print(f"{sharpness:13g}   {weights[0, 1]:20.5f}   {read[0, 0]:7.4f}")

twice = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])  # a key that is there two times
read, _ = look_up(twice[:1], twice, np.array([[10.0], [20.0], [700.0]]), by_dot, temperature=0.01)
print(f"\na key that is there with 10 and with 20 gives {read[0, 0]:.4f}; a dict keeps the last")

# %% [markdown]
# So "an exact match of one key makes it a dictionary" holds in the limit of great sharpness only,
# and two equal keys give the mean of their values.
#
# **Exercise 1.** A memory holds `size` one-hot keys, and the score is the dot product. How low must
# the temperature be, so that the right key gets 99 % of the weight? Write the highest such
# temperature as a function of the size.


# %%
def highest_temperature(size):
    """Return the τ at which the right one of `size` one-hot keys has 99 % of the weight."""
    return 1.0  # your answer


# %% tags=["check"]
shares = {}
for size in (3, 30, 3000):
    found = highest_temperature(size)
    _, weights = look_up(np.eye(size)[:1], np.eye(size), np.eye(size), by_dot, found)
    shares[size] = weights[0, 0]
    print(f"{size:4} keys, τ = {found:.4f}: weight of the right key {shares[size]:.4f}")
if np.allclose(list(shares.values()), 0.99, atol=1e-4):
    print("Right. The more keys, the sharper.")
else:
    print("Not yet. One score is 1 and all others 0: solve the softmax for τ.")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# def highest_temperature(size):
#     return 1 / np.log(99 * (size - 1))
# ```
#
# The right key has the score 1 and the others 0, so
#
# $$ \frac{e^{1/\tau}}{e^{1/\tau} + S - 1} \ge 0.99
#    \quad \Longleftrightarrow \quad e^{1/\tau} \ge 99\,(S - 1)
#    \quad \Longleftrightarrow \quad \tau \le \frac{1}{\ln\big(99\,(S - 1)\big)}. $$
#
# Many small weights add up, so a larger memory needs sharper scores. But the sharpness grows only
# with the logarithm of the size.
#
# </details>

# %% [markdown]
# ### Why not simply take the best key?
#
# A hard choice has no gradient. The next two pictures show it for a bug that asks for legs. The
# first has the weights of the four keys, from flat to sharp. The second says how strongly the read
# reacts to a small change of the scores,
# $\lVert \partial c / \partial\,\mathrm{score} \rVert = \lVert \alpha \odot (v - c) \rVert / \tau$.

# %%
sharpness = np.logspace(-2, 2, 200)
found = [look_up(bug, traits, counts, by_dot, 1 / each) for each in sharpness]
weights = np.concatenate([weights for _, weights in found])  # (200, S)
reads = np.concatenate([read for read, _ in found])  # (200, 1)
plotting.plot_curves(
    {word: (sharpness, weights[:, position]) for position, word in enumerate(words)},
    xlabel="sharpness 1/τ",
    ylabel="weight",
    logarithmic="x",
    title="From the mean (left) to the best key (right)",
)
plt.show()

# %%
steepness = np.linalg.norm(weights * (counts.T - reads), axis=1) * sharpness
plotting.plot_curves(
    {"read of the legs": (sharpness, steepness)},
    xlabel="sharpness 1/τ",
    ylabel="length of the gradient",
    logarithmic="xy",
    title="An exact choice has no gradient",
)
plt.show()

# %% [markdown]
# Near the dictionary the gradient falls to nothing: whatever the keys become by a small step, the
# answer stays. Training has nothing to hold on to. Far to the left there is little to learn from
# either, since all keys count alike. The lecture met the same with gates, and the answer is the
# same: the choice is made softly.

# %% [markdown]
# ## The menu of scores

# %%
plotting.diagram("additive-score")

# %% [markdown]
# | score | $\mathrm{score}(q, k)$ | what is learned | query and key equally wide? |
# | --- | --- | --- | --- |
# | dot | $q^\top k$ | nothing | yes |
# | scaled dot | $q^\top k / \sqrt{K}$ | nothing | yes |
# | cosine | $\beta\, q^\top k / (\lVert q \rVert \lVert k \rVert)$ | $\beta$, the strength | yes |
# | general | $q^\top W k$ | $W$ (Q, K) | no |
# | additive | $v^\top \tanh(W q + U k)$ | $W$ (Q, units), $U$ (K, units), $v$ (units) | no |
# | concat | $v^\top \tanh(W [q; k])$ | $W$ (Q + K, units), $v$ (units) | no |
# | two-layer | $w_2^\top \tanh(W_1 [q; k] + b_1) + b_2$ | the same with biases | no |
# | location | $(W q)_j$ | $W$ (Q, longest memory) | the keys do not matter |
#
# The shapes are those of the code, which multiplies from the right: $Wq$ is `q @ W`. In NumPy each
# score is a line or two. The first four multiply query and key:


# %%
def by_scaled_dot(query, keys):
    """Divide the dot product by the root of the width."""
    return by_dot(query, keys) / np.sqrt(keys.shape[-1])


def by_cosine(query, keys, strength):
    """Compare directions, not lengths."""
    unit_query = query / np.linalg.norm(query, axis=-1, keepdims=True)
    unit_keys = keys / np.linalg.norm(keys, axis=-1, keepdims=True)
    return strength * by_dot(unit_query, unit_keys)


def by_general(query, keys, kernel):
    """Compare through a matrix (Q, K)."""
    return by_dot(query @ kernel, keys)


# %% [markdown]
# The next three are networks with one hidden layer, and the last one does not look at the keys:


# %%
def by_additive(query, keys, query_kernel, key_kernel, v):
    """Add projections of query and key, and read the hidden layer out with v."""
    hidden = np.tanh((query @ query_kernel)[:, None] + (keys @ key_kernel)[None])  # (T, S, units)
    return hidden @ v


def pairs(query, keys):
    """Put every query beside every key: (T, S, Q + K)."""
    shape = (len(query), len(keys))
    sides = query[:, None], keys[None]
    return np.concatenate([np.broadcast_to(x, (*shape, x.shape[-1])) for x in sides], axis=-1)


# %%
def by_concat(query, keys, kernel, v):
    """Ask a network with one hidden layer about every pair."""
    return np.tanh(pairs(query, keys) @ kernel) @ v


def by_two_layer(query, keys, kernel, bias, v, output_bias):
    """Do the same with biases."""
    return np.tanh(pairs(query, keys) @ kernel + bias) @ v + output_bias


def by_location(query, kernel, length):
    """Score positions 0 … S − 1 by the query alone."""
    return (query @ kernel)[:, :length]


# %% [markdown]
# Each of them is a function of `keras_attention.ops` as well (and, with its weights, a layer of
# `keras_attention.layers.scores`, which the attention layers take by name). The same numbers come
# out:

# %%
UNITS = 13
q, k = query[0], keys[0]  # (T, K), (S, K)
square = rng.normal(size=(K, K)).astype("float32")
both = rng.normal(size=(2 * K, UNITS)).astype("float32")
w, u = both[:K], both[K:]
v, bias = (rng.normal(size=UNITS).astype("float32") for _ in range(2))

own = {
    "dot": by_dot(q, k),
    "scaled dot": by_scaled_dot(q, k),
    "cosine": by_cosine(q, k, 3.0),
    "general": by_general(q, k, square),
    "additive": by_additive(q, k, w, u, v),
    "concat": by_concat(q, k, both, v),
    "two-layer": by_two_layer(q, k, both, bias, v, 0.5),
    "location": by_location(q, square, S),
}

# %%
packaged = {
    "dot": dot(query, keys),
    "scaled dot": scaled_dot(query, keys),
    "cosine": cosine(query, keys, 3.0),
    "general": general(query, keys, square),
    "additive": additive(query, keys, w, u, v),
    "concat": concat(query, keys, both, v),
    "two-layer": two_layer(query, keys, both, bias, v, 0.5),
    "location": location(query, square, S),
}
for name, scores in own.items():
    np.testing.assert_allclose(packaged[name][0], scores, rtol=1e-4, atol=1e-4)
    print(f"{name:>10}: equal")

# %% [markdown]
# Some scores turn out to be others in disguise:


# %%
def assert_equal(one, other):
    np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


assert_equal(by_general(q, k, np.eye(K)), own["dot"])
assert_equal(by_general(q, k, np.eye(K) / np.sqrt(K)), own["scaled dot"])
assert_equal(own["concat"], own["additive"])
assert_equal(by_two_layer(q, k, both, 0 * bias, v, 0.0), own["concat"])
print("general with W = I is dot, and with W = I / √K scaled dot;")
print("concat is additive: W [q; k] is W₁ q + W₂ k, with the two halves of W;")
print("two-layer without biases is concat")

# %% [markdown]
# ### What is $v$?
#
# The lecture asks this of $v_\alpha$ in the concat score. $\tanh(W [q; k])$ is a vector with as
# many numbers as the hidden layer has units, and a softmax needs *one* number for a pair. $v$ holds
# the weight of each unit in that number: it is the second layer of a small network.

# %%
hidden = np.tanh(pairs(q, k) @ both)
print(f"{len(q)} queries, {len(k)} keys, {UNITS} units:")
print("tanh(W [q; k])    ", hidden.shape, " (T, S, units), a vector for each pair")
print("vᵀ tanh(W [q; k])", (hidden @ v).shape, "    (T, S), a score for each pair")

# %% [markdown]
# What $v$ can do shows best with numbers for keys, here all between −1 and 1, and the query 0.2.
# Each unit is a step along the keys. One step up, minus another step up a little further on, makes
# a hill, and $v = (1, -1)$ says exactly that. (The 1 beside the query is there to be weighed by
# $W$; the next paragraphs say why.)

# %%
asked = np.array([[0.2, 1.0]])  # the query, and a 1 beside it
numbers = np.linspace(-1, 1, 81)[:, None]  # keys
kernel = np.array([[-6.0, -6.0], [2.0, -2.0], [6.0, 6.0]])  # rows for the query, the 1, the key
steps = np.tanh(pairs(asked, numbers) @ kernel)[0]  # (S, units)
plotting.plot_curves(
    {
        "unit 1: tanh(6 (k − q) + 2)": (numbers[:, 0], steps[:, 0]),
        "unit 2: tanh(6 (k − q) − 2)": (numbers[:, 0], steps[:, 1]),
        "score: unit 1 − unit 2": (numbers[:, 0], steps @ [1, -1]),
    },
    xlabel="key",
    ylabel="units, and the score",
    title="v = (1, −1) makes a hill of two steps: it is highest at the query 0.2",
)
plt.show()

# %% [markdown]
# **Exercise 2.** The same two units can serve other wishes. Choose $v$ so that a key gets the more
# score the *larger* it is, whatever the query.

# %%
larger_is_better = None  # your answer: two numbers

# %% tags=["check"]
chosen = np.zeros(2) if larger_is_better is None else np.asarray(larger_is_better, float)
curves = by_concat(np.array([[-0.5, 1], [0.2, 1], [0.8, 1]]), numbers, kernel, chosen)
if np.all(np.diff(curves, axis=1) > 0):
    print("Right. Two steps up, added: the score only grows.")
else:
    print("Not yet. Both units grow with the key; how do they have to be added?")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# larger_is_better = [1, 1]
# ```
#
# Any two positive numbers will do. The units stay, and $v$ alone turns "the nearest" into "the
# largest".
#
# </details>

# %% [markdown]
# ### Why the network needs a bias
#
# $\tanh$ is odd: with both signs turned, of query and key, an additive or concat score turns its
# own sign. A pair that gets the highest score makes its mirror image the pair with the lowest. No
# weights can make a hill at $k = q$ for $q = 0.2$ and for $q = -0.2$. A bias breaks the symmetry,
# as in the two-layer score; a 1 beside the query does the same, since its row of the kernel is
# added whatever is asked.

# %%
mirrored = by_additive(-q, -k, w, u, v)
np.testing.assert_allclose(mirrored, -own["additive"], atol=1e-4)

beside_one = np.concatenate([q, np.ones((T, 1))], axis=1)
with_bias_in_w = np.concatenate([w, bias[None]])  # the row of the 1
with_one = by_additive(beside_one, k, with_bias_in_w, u, v)
np.testing.assert_allclose(with_one, by_two_layer(q, k, both, bias, v, 0.0), rtol=1e-4, atol=1e-4)
print("mirrored query and key: the score is", -1, "times what it was")
print("a 1 beside the query makes the additive score a two-layer score")

# %% [markdown]
# In a translator nobody notices: its queries and keys come out of layers with biases. Where queries
# and keys are plain data, the 1 has to be given. A training below measures how much that matters.
#
# ### The lecture's three scores, with generic query and key
#
# Four keys are the points of the compass, and all eight winds ask. The dot product looks at the
# nearest keys, for north-east at two of them. The matrix of the general score can ask for something
# else, here for the direction to the *right* of the query. The concat score has a hill for each of
# two coordinates, by the units from above.

# %%
compass = {"N": (0, 1), "E": (1, 0), "S": (0, -1), "W": (-1, 0)}
points = np.array(list(compass.values()), float)
names = ["N", "NE", "E", "SE", "S", "SW", "W", "NW"]
angles = np.pi / 4 * np.arange(8)
winds = np.stack([np.sin(angles), np.cos(angles)], axis=1)  # (T, K)
to_the_right = np.array([[0.0, -1.0], [1.0, 0.0]])  # W: the key that gets most is q, turned right
hills = np.array([[-6, -6, 0, 0], [0, 0, -6, -6], [2, -2, 2, -2], [6, 6, 0, 0], [0, 0, 6, 6]])
beside_one = np.concatenate([winds, np.ones((8, 1))], axis=1)

# %%
scores_of_winds = {
    "dot: q·k / 0.3": by_dot(winds, points) / 0.3,
    "general: q·W·k / 0.3": by_general(winds, points, to_the_right) / 0.3,
    "concat: v·tanh(W[q; 1; k])": by_concat(beside_one, points, hills, np.array([2, -2, 2, -2])),
}
plotting.plot_attention_grid(
    {name: softmax(scores) for name, scores in scores_of_winds.items()},
    list(compass),
    names,
    axis_names=("winds that ask", "keys"),
    vmax=1,
    columns=3,
)
plt.show()

# %% [markdown]
# ### What each of them likes
#
# Four keys in the plane, one of them far out, and a query a little south of east. The colour is the
# score that a key *would* get at each place, bright for a high one; the size of a black dot is the
# weight of a key that is there. The two-layer score has a hill around the query; the weights of the
# additive score are random.

# %%
small_keys = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [2.2, 2.2]])
key_names = ["east", "north", "west", "far out"]
small_query = np.array([[1.3, -0.5]])
hill = np.array([[-2, -2, 0, 0], [0, 0, -2, -2], [2, 2, 0, 0], [0, 0, 2, 2]])
bias, v = np.array([1, -1, 1, -1]), np.array([3, -3, 3, -3])
random_weights = np.random.default_rng(5).normal(scale=1.5, size=(3, 2, 8))
fields = {
    "dot": by_dot,
    "scaled dot": by_scaled_dot,
    "cosine, β = 10": lambda q, k: by_cosine(q, k, 10.0),
    "general, W = −I": lambda q, k: by_general(q, k, -np.eye(2)),
    "additive, random": lambda q, k: by_additive(q, k, *random_weights[:2], random_weights[2, 0]),
    "two-layer, a hill": lambda q, k: by_two_layer(q, k, hill, bias, v, 0.0),
}


# %%
def draw_field(panel, name, score):
    """Draw the score of every place, the keys by their weights, and the query."""
    axis = np.linspace(-2.6, 2.6, 80)  # no point is the origin, where no cosine is
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    panel.contourf(axis, axis, score(small_query, grid).reshape(80, 80), levels=20, cmap="viridis")
    _, weights = look_up(small_query, small_keys, small_keys, score)
    panel.scatter(*small_keys.T, s=20 + 180 * weights[0], c="black", edgecolors="white")
    to_query = {"color": "white", "width": 1.5, "headwidth": 8, "shrink": 0}
    panel.annotate("", small_query[0], (0, 0), arrowprops=to_query)
    best = key_names[int(weights.argmax())]
    panel.set_title(f"{name}\nmost weight: {best}, {weights.max():.2f}", fontsize=10)
    panel.set_aspect("equal")


figure, panels = plt.subplots(2, 3, figsize=(9, 6), layout="constrained", sharex=True, sharey=True)
for panel, (name, score) in zip(panels.flat, fields.items(), strict=True):
    draw_field(panel, name, score)
figure.suptitle("One query (white arrow), four keys (black), six scores")
plt.show()

# %% [markdown]
# The dot product likes whatever lies far out in the direction of the query; the cosine cares for
# the direction alone. A matrix in between can ask for anything linear, here for the opposite. A
# network with biases can like a *place*: only there the key nearest to the query wins because it is
# near. Location (not drawn) does not look at the keys at all.
#
# The menu is open. `score=` takes any function of query and keys, so another non-linearity than
# $\tanh$, or no network at all, is a few lines of `keras.ops`.
#
# **Exercise 3.** Write a score for which the *nearest* key always wins, however long the keys are.


# %%
def near(query, keys):
    """Score queries (B, T, K) against keys (B, S, K): (B, T, S)."""
    return ops.matmul(query, ops.swapaxes(keys, 1, 2))  # your answer


# %% tags=["check"]
some = rng.normal(size=(2, 9, 2)).astype("float32") * np.linspace(0.2, 2, 9)[:, None]
memory = layers.ContextSensitiveMemory(score=near)
_, weights = memory(query[..., :2], some, return_attention_scores=True)
gaps = np.linalg.norm(query[..., None, :2] - some[:, None], axis=-1)
if np.array_equal(ops.convert_to_numpy(weights).argmax(axis=-1), gaps.argmin(axis=-1)):
    print("Right. The nearest key has most of the weight, for every query.")
else:
    print("Not yet. A long key still beats a near one; what is small for near vectors?")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# def near(query, keys):
#     gaps = ops.expand_dims(query, 2) - ops.expand_dims(keys, 1)  # (B, T, S, K)
#     return -ops.sum(gaps**2, axis=-1)
# ```
#
# Since $-\lVert q - k \rVert^2 = 2\,q^\top k - \lVert k \rVert^2 - \lVert q \rVert^2$, and the last
# term is the same for all keys, this is the dot product with a fine on long keys.
#
# </details>

# %% [markdown]
# ## What scaled dot's √K is for
#
# Let query and key be K independent numbers of mean 0 and variance 1. Then $q^\top k$ is a sum of K
# products, each of variance 1, and has variance K: the scores of a wide layer are large before it
# has learned anything. A softmax over large numbers is nearly one-hot, and its gradient nearly 0
# (Vaswani et al., section 3.2.1). Dividing by √K takes exactly that growth away. Measured over 400
# random queries and eight keys each:

# %%
widths = (4, 16, 64, 256, 1024)
measured = {"dot": [], "scaled dot": []}  # the mean gradient of the weights, by width
print("   K         score   variance   largest of 8 weights   gradient")
for width in widths:
    random_query = rng.normal(size=(400, 1, width))
    scores = random_query @ rng.normal(size=(400, 8, width)).swapaxes(1, 2)
    for name, divided in (("dot", scores), ("scaled dot", scores / np.sqrt(width))):
        weights = softmax(divided)
        measured[name].append(np.mean(np.sum(weights * (1 - weights), axis=-1)))
        largest = weights.max(axis=-1).mean()
        print(
            f"{width:4}  {name:>12} {divided.var():10.2f} {largest:22.3f} {measured[name][-1]:10.3f}"
        )

# %%
plotting.plot_curves(
    {name: (widths, gradients) for name, gradients in measured.items()},
    xlabel="width K of query and keys",
    ylabel="gradient of the softmax, Σ α (1 − α)",
    logarithmic="x",
    title="Wide layers saturate the softmax, unless scores are divided by √K",
)
plt.show()

# %% [markdown]
# The well-known example with two keys of width 64 says it in two lines. (The number below the root
# is the width of one key, of one head where there are several. It is not the length of the input
# sequence, though one reads that now and then.)

# %%
for name, divisor in (("112 and 96 as they are", 1), ("divided by √64 = 8", 8)):
    weights = softmax(np.array([112.0, 96.0]) / divisor)
    print(f"{name:>22}: weights {weights.round(7)}, gradient α₁ α₂ = {weights.prod():.3g}")

# %% [markdown]
# ## Masks, and a row with nothing to look at
#
# Sentences in a batch have different lengths, so some keys are padding. A mask (True: may be looked
# at) takes them out *before* the softmax. That raises a question that implementations answer
# differently: what if nothing is left? With −∞ the row becomes 0/0; with a very negative number all
# scores are equally bad and the row becomes uniform, so that a sentence with no words reads the
# mean of its padding. The third way multiplies by the mask once more, and reads 0.


# %%
def softmax_where(mask, scores):
    """Turn scores into weights over what may be looked at; 0 where that is nothing."""
    shares = np.where(mask, np.exp(scores - scores.max(axis=-1, keepdims=True)), 0.0)
    total = shares.sum(axis=-1, keepdims=True)
    return shares / np.where(total > 0, total, 1.0)


scores = np.array([[2.0, 1.0, 0.0, 3.0], [2.0, 1.0, 0.0, 3.0]])
mask = np.array([[True, True, True, False], [False] * 4])
with np.errstate(invalid="ignore"):  # 0 / 0 is what is to be seen
    print("−∞:    ", *softmax(np.where(mask, scores, -np.inf)))
print("−1e9:  ", *softmax(np.where(mask, scores, -1e9)))
print("masked:", *softmax_where(mask, scores))
np.testing.assert_allclose(masked_softmax(scores, mask), softmax_where(mask, scores), atol=1e-6)

# %% [markdown]
# In this package masks are explicit arguments, and a row with nothing to look at has the weights 0
# and reads 0, in every layer and on every backend. `keras.layers.Attention` takes the second way.

# %%
asking = np.ones((2, 1, 3), "float32")
four = rng.normal(size=(2, 4, 3)).astype("float32")
by_package, by_keras = layers.ContextSensitiveMemory("dot"), keras.layers.Attention()
_, ours = by_package(asking, four, attention_mask=mask, return_attention_scores=True)
_, theirs = by_keras([asking, four], mask=[None, mask], return_attention_scores=True)
print("this package:          ", *ops.convert_to_numpy(ours)[:, 0])
print("keras.layers.Attention:", *ops.convert_to_numpy(theirs)[:, 0])

# %% [markdown]
# ## Does it learn?
#
# ### A memory, and a mean in its place
#
# Every example brings eight fresh keys and the labels 0 … 7 in random order as their values; asked
# for is the label of one key. Nothing can be learned by heart.

# %% quick="STEPS, EPOCHS, TESTS = 2, 1, 50"
STEPS, EPOCHS, BATCH = 600, 4, 128
TESTS = 1000  # new examples, on which a trained model is measured
SLOTS, WIDTH = 8, 16  # pairs in a memory, numbers in a key


# %%
def asked_for(query_and_keys, rng, count):
    """Draw examples of a lookup: inputs by name, and the labels that are asked for."""
    wanted = rng.integers(SLOTS, size=count)
    query, keys = query_and_keys(rng, wanted)
    values = rng.permuted(np.tile(np.arange(SLOTS, dtype="int32"), (count, 1)), axis=1)
    inputs = {"query": query.astype("float32"), "keys": keys.astype("float32"), "values": values}
    return inputs, values[np.arange(count), wanted]


def the_key_itself(rng, wanted):
    """Ask with the key itself."""
    keys = rng.normal(size=(len(wanted), SLOTS, WIDTH))
    return keys[np.arange(len(wanted)), wanted], keys


# %% [markdown]
# The model *with* a memory reads it and turns what was read into logits. The model *without* gets
# the query and the mean of all (learned) pairs, and a network on top of both.


# %%
def inputs_of_a_lookup(width=WIDTH):
    """Return symbolic inputs: a query, keys, and the labels that are their values."""
    query = keras.Input((width,), name="query")
    keys = keras.Input((SLOTS, width), name="keys")
    return query, keys, keras.Input((SLOTS,), dtype="int32", name="values")


def beside_a_one(vectors):
    """Put a 1 beside the numbers of each vector: (…, K) → (…, K + 1)."""
    return ops.concatenate([vectors, ops.ones_like(vectors[..., :1])], axis=-1)


def with_a_memory(score, width=WIDTH, constant=False):
    """Read the memory; what was read is a label, up to its name."""
    query, keys, values = inputs = inputs_of_a_lookup(width)
    if constant:
        query, keys = beside_a_one(query), beside_a_one(keys)
    memory = layers.ContextSensitiveMemory(score, name="memory")
    read = memory(query, value=ops.one_hot(values, SLOTS), key=keys)
    return keras.Model(inputs, keras.layers.Dense(SLOTS, name="logits")(read))


# %%
def with_a_mean():
    """See the query and the mean of all pairs."""
    query, keys, values = inputs = inputs_of_a_lookup()
    each = ops.concatenate([keys, ops.one_hot(values, SLOTS)], axis=-1)
    each = keras.layers.Dense(64, activation="relu")(each)
    summary = ops.mean(each, axis=1)
    hidden = keras.layers.Dense(64, activation="relu")(ops.concatenate([query, summary], axis=-1))
    return keras.Model(inputs, keras.layers.Dense(SLOTS, name="logits")(hidden))


# %% [markdown]
# Training shows each example once. A cosine lets the learning rate fall to 0.


# %%
def train(model, inputs, labels, learning_rate=2e-2, batch=BATCH, verbose=2):
    """Show each example once."""
    steps = len(labels) // batch
    falling = keras.optimizers.schedules.CosineDecay(learning_rate, steps)
    model.compile(
        keras.optimizers.Adam(falling),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    model.fit(inputs, labels, batch, EPOCHS, steps_per_epoch=steps // EPOCHS, verbose=verbose)


def share_right(model, inputs, labels):
    """Return the share of right answers."""
    logits = ops.convert_to_numpy(model(inputs, training=False))
    return np.mean(logits.argmax(axis=-1) == labels)


# %%
learned = {}
for name, model in (("a memory", with_a_memory("scaled_dot")), ("the mean", with_a_mean())):
    print(name)
    train(model, *asked_for(the_key_itself, np.random.default_rng(1), STEPS * BATCH))
    new_examples = asked_for(the_key_itself, np.random.default_rng(2), TESTS)
    learned[name] = share_right(model, *new_examples)
print("right answers to new examples:", {name: float(each) for name, each in learned.items()})
print("by chance:", 1 / SLOTS)

# %% tags=["claims"]
assert learned["a memory"] > 0.9 > 0.3 > learned["the mean"]

# %% [markdown]
# ### Which score for which question
#
# Now the score is put to the test, by four more questions of the same kind:
#
# - **other lengths**: the keys in the memory are longer or shorter than the query, by up to ten
#   times;
# - **other coordinates**: the query is the key as seen from another frame of reference, always the
#   same one;
# - **nearest number**: keys and query are single numbers between −1 and 1, and the nearest is
#   meant;
# - **place in a list**: the query names a place in a fixed list of places, and the keys are noise.

# %%
frame = np.linalg.qr(np.random.default_rng(3).normal(size=(WIDTH, WIDTH)))[0]
listed = np.random.default_rng(4).permutation(SLOTS)


def other_lengths(rng, wanted):
    """Ask with the key, and store it longer or shorter."""
    query, keys = the_key_itself(rng, wanted)
    return query, keys * 10 ** rng.uniform(-1, 1, size=(*keys.shape[:2], 1))


def other_coordinates(rng, wanted):
    """Ask with the key, turned."""
    query, keys = the_key_itself(rng, wanted)
    return query @ frame, keys


# %%
def nearest_number(rng, wanted):
    """Ask with a number that is almost one of the keys."""
    numbers = np.tile(np.linspace(-1, 1, 2 * SLOTS), (len(wanted), 1))
    keys = rng.permuted(numbers, axis=1)[:, :SLOTS]
    query = keys[np.arange(len(wanted)), wanted] + rng.uniform(-0.02, 0.02, size=len(wanted))
    return query[:, None], keys[..., None]


def place_in_a_list(rng, wanted):
    """Ask with the number of a place, among keys that say nothing."""
    number = np.argsort(listed)[wanted]
    return np.eye(WIDTH)[number], rng.normal(size=(len(wanted), SLOTS, WIDTH))


# %% [markdown]
# **Exercise 4.** Which matrix $W$ makes the general score right for *other coordinates*, without
# any training? The query is $k^\top F$ with `frame` for $F$, and it is compared as
# $q^\top W k$.

# %%
turned_back = None  # your answer: a matrix (WIDTH, WIDTH)

# %% tags=["check"]
wanted = np.arange(200) % SLOTS
query, keys = (x.astype("float32") for x in other_coordinates(rng, wanted))
kernel = np.eye(WIDTH) if turned_back is None else turned_back
scores = ops.convert_to_numpy(general(query[:, None], keys, kernel.astype("float32")))[:, 0]
share = np.mean(scores.argmax(axis=-1) == wanted)
if share > 0.95:
    print(f"Right. {share:.3f} of 200 questions are answered.")
else:
    print(f"Not yet. {share:.3f} of 200 questions are answered; what undoes a rotation?")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# turned_back = frame.T
# ```
#
# A rotation is undone by its transpose: $k^\top F F^\top k' = k^\top k'$, which is the dot product
# in one frame. Training has to find this matrix by itself.
#
# </details>

# %% [markdown]
# All scores get the same steps and the same learning rate for every question. The additive score is
# there twice: as it is, and with a 1 beside each query and each key.

# %% quick="SCORES = dict(list(SCORES.items())[3:5])"
SCORES = {  # a score as wide as it takes, and whether there is a 1 beside query and keys
    "dot": (lambda: "dot", False),
    "cosine": (lambda: "cosine", False),
    "general": (lambda: "general", False),
    "additive": (lambda: layers.scores.AdditiveScore(32), False),
    "additive, a 1": (lambda: layers.scores.AdditiveScore(32), True),
    "two-layer": (lambda: layers.scores.TwoLayerScore(32), False),
    "location": (lambda: layers.scores.LocationScore(longest=SLOTS), False),
}


# %%
def shares_of_scores(question, width=WIDTH):
    """Train a model with each score, print its share of right answers; return all of both."""
    shares, models = [], {}
    examples = asked_for(question, np.random.default_rng(1), STEPS * BATCH)
    new_examples = asked_for(question, np.random.default_rng(2), TESTS)
    for name, (score, constant) in SCORES.items():
        models[name] = with_a_memory(score(), width, constant)
        train(models[name], *examples, verbose=0)  # some seconds
        shares.append(share_right(models[name], *new_examples))
        print(f"{name}: {shares[-1]:.2f} of the answers to {question.__name__} are right")
    return shares, models


# %%
answered = {}
answered["nearest number"], of_numbers = shares_of_scores(nearest_number, width=1)

# %%
answered["the key itself"], _ = shares_of_scores(the_key_itself)
answered["other lengths"], _ = shares_of_scores(other_lengths)

# %%
answered["other coordinates"], _ = shares_of_scores(other_coordinates)
answered["place in a list"], _ = shares_of_scores(place_in_a_list)

# %%
grid = np.array(list(answered.values()))
axes = plotting.plot_attention(
    grid,
    list(SCORES),
    list(answered),
    axis_names=("question", "score"),
    scale="share of right answers",
    vmax=1,
    title=f"Share of right answers; by chance it is {1 / SLOTS}",
)
for (row, column), share in np.ndenumerate(grid):
    colour = "white" if share > 0.5 else "black"
    axes.text(column, row, f"{share:.2f}", ha="center", va="center", color=colour)
plt.show()

# %% tags=["claims"]
found = {name: dict(zip(SCORES, shares, strict=True)) for name, shares in answered.items()}
assert found["the key itself"]["dot"] > 0.9
assert found["other lengths"]["cosine"] > 0.9 > 0.7 > found["other lengths"]["dot"]
assert found["other coordinates"]["general"] > 0.9 > 0.3 > found["other coordinates"]["dot"]
assert found["nearest number"]["two-layer"] > 0.9 > 0.4 > found["nearest number"]["general"]
assert found["nearest number"]["additive, a 1"] > 0.9 > 0.2 > found["nearest number"]["additive"]
assert found["place in a list"]["location"] > 0.9 > 0.3 > found["place in a list"]["general"]

# %% [markdown]
# Why some of them fail can be said in a sentence or two:
#
# - *dot, other lengths*: a long key beats a similar one. Cosine does not see the length. General
#   could become dot, $W = I$, and no more.
# - *dot and cosine, other coordinates*: nothing in them can turn the query back. $W$ can.
# - *general, nearest number*: $q\,w\,k$ only grows or only falls along $k$, so it cannot be largest
#   where $k = q$.
# - *additive, whatever is asked but the place*: the mirror image of every question is asked as
#   often, and of the two at most one can be right. So one half is the most it can reach, and at all
#   of these but one it does not even learn that half.
# - *additive, a 1*: the same score, of the same width, now learns what the two-layer score learns.
#   It is the same function, which starts elsewhere: biases start at 0, and the row of a 1 at random
#   numbers. Keys of other lengths trouble both of them, in the steps they are given.
# - *all but location, place in a list*: the keys do not know their place. (And location fails at
#   all others.)
#
# Here is what the additive score makes of numbers when it has been trained: its weights for a
# memory that holds sixteen numbers. With the 1, the hill of the section on $v$ has become a ridge
# along $k = q$. Without it, the best the network found is to look at all keys alike.

# %%
shown = np.linspace(-1, 1, 16, dtype="float32")[None, :, None]  # as queries and as keys
learned_weights = {}
for name in ("additive", "additive, a 1"):
    numbers = beside_a_one(shown) if SCORES[name][1] else shown
    score = of_numbers[name].get_layer("memory").score
    learned_weights[name] = softmax(ops.convert_to_numpy(score(numbers, numbers))[0])
labels = [f"{number:.1f}" for number in shown[0, :, 0]]
plotting.plot_attention_grid(
    learned_weights, labels, labels, axis_names=("query", "key"), columns=2
)
plt.show()

# %% [markdown]
# ### With √K and without it
#
# Words of two languages are embedded in 2,048 numbers of variance 1, and a query has to find its
# translation among the keys. The only difference is the division by √K:

# %%
DEEP, WORDS = 2048, 64


def two_languages(rng, wanted):
    """Ask with the translation of a key: word w of one language means word w of the other."""
    keys = rng.permuted(np.tile(np.arange(WORDS), (len(wanted), 1)), axis=1)[:, :SLOTS]
    return keys[np.arange(len(wanted)), wanted][:, None], keys[..., None]


def with_deep_embeddings(score):
    """Embed the words of both languages, and compare them."""
    query, keys, values = inputs = inputs_of_a_lookup(width=1)
    one, other = (
        keras.layers.Embedding(WORDS, DEEP, keras.initializers.RandomNormal(stddev=1.0))
        for _ in range(2)
    )
    memory = layers.ContextSensitiveMemory(score)
    read = memory(one(query[:, 0]), value=ops.one_hot(values, SLOTS), key=other(keys[..., 0]))
    return keras.Model(inputs, keras.layers.Dense(SLOTS, name="logits")(read))


# %%
translated = {}
for score in ("scaled_dot", "dot"):
    print(score)
    model = with_deep_embeddings(score)
    train(model, *asked_for(two_languages, np.random.default_rng(1), STEPS // 2 * BATCH))
    new_examples = asked_for(two_languages, np.random.default_rng(2), TESTS)
    translated[score] = share_right(model, *new_examples)
print("right answers to new examples:", {name: float(each) for name, each in translated.items()})

# %% tags=["claims"]
assert translated["scaled_dot"] > 0.9 > 0.75 > translated["dot"]

# %% [markdown]
# ## Without a query: the last state, the mean, the maximum
#
# An RNN that reads a sequence leaves a state at every step, and for one answer there has to be one
# vector. The lecture begins its story of attention with two ways to get it. Of a maximum over the
# states it says that it *picks the most important feature*, as a CNN does; of the last state, that
# *we hope the RNN has both found the relevant feature and remembered it all the way to the end*.

# %%
plotting.diagram("no-attention-pooling")

# %% [markdown]
# $$ \text{last: } c = h_S, \qquad \text{mean: } c = \frac{1}{S} \sum_{s=1}^{S} h_s, \qquad
#    \text{max: } c_d = \max_s h_{sd}, \qquad \text{attention: } c = \sum_{s=1}^{S} \alpha_s h_s $$
#
# | letter | name | shape |
# | --- | --- | --- |
# | $h_s$ | state of the RNN at step $s$; keys and values of the attention | (B, S, M) |
# | $h_{sd}$ | number $d$ of that state | |
# | $c$ | the summary | (B, M) |
# | $\alpha_s$ | weight of step $s$, by the query | (B, S) |
#
# The first three are memories with a fixed rule in place of the query. In the package they are one
# layer, `Pooling`, and it has weights too: of a maximum, the weight of a step is the share of the M
# numbers that come from it.

# %%
states = rng.normal(size=(6, 4)).astype("float32")  # (S, M)
pooled = {"last": states[-1], "mean": states.mean(axis=0), "max": states.max(axis=0)}
shares_of_max = np.bincount(states.argmax(axis=0), minlength=6) / 4
for mode, own_summary in pooled.items():
    pool = layers.Pooling(mode)
    read, weights = pool(np.zeros((1, 1)), states[None], return_attention_scores=True)
    np.testing.assert_allclose(read[0], own_summary, atol=1e-6)
    print(f"{mode:4} weights of the steps:", ops.convert_to_numpy(weights)[0, :, 0])
np.testing.assert_allclose(weights[0, :, 0], shares_of_max, atol=1e-6)

# %% [markdown]
# **Exercise 5.** Sequences in a batch end with padding, and no rule may look at it. Mend `max_pool`:
# all states below are negative, and the two steps of padding are zeros.


# %%
def max_pool(states, mask):
    """Take the largest of each number, states (S, M), where the mask (S,) is True: (M,)."""
    return states.max(axis=0)  # your answer


# %% tags=["check"]
padded = np.concatenate([-np.abs(states), np.zeros((2, 4), "float32")])
seen = np.arange(8) < 6
by_package = layers.Pooling("max")(np.zeros((1, 1)), padded[None], attention_mask=seen[None])
if np.allclose(max_pool(padded, seen), ops.convert_to_numpy(by_package)[0]):
    print("Right. The padding does not count, and the package's layer says the same.")
else:
    print("Not yet. Where the mask is False, which number can never be the largest?")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# def max_pool(states, mask):
#     return np.where(mask[:, None], states, -np.inf).max(axis=0)
# ```
#
# It is the mask before the softmax once more: what must not be chosen gets −∞. With zeros at the
# padding, a maximum over negative numbers would be 0, in short sequences only.
#
# </details>

# %% [markdown]
# ### The same RNN, summed up in four ways
#
# A plain RNN with 32 units reads 24 steps. At each of them stands a letter, every one once and in
# any order, beside a digit from 0 to 7; one step carries a flag. Two questions are asked:
#
# - **the flag**: which digit stands under the flag? The question is always the same, so a summary
#   can be made for it.
# - **a letter**: which digit stands beside this letter? The question is another one each time, and
#   the RNN does not know it while it reads.

# %% quick="READ_STEPS, READ_BATCH = 2, 16"
READ_STEPS, READ_BATCH = 400, 64
LETTERS, DIGITS, READER_UNITS = 24, 8, 32


# %%
def sequences(rng, count, about):
    """Draw sequences and questions: inputs by name, digits asked for, and where they stand."""
    letters = rng.permuted(np.tile(np.arange(LETTERS), (count, 1)), axis=1)
    digits = rng.integers(DIGITS, size=(count, LETTERS))
    places, rows = rng.integers(LETTERS, size=count), np.arange(count)
    flags = np.eye(LETTERS)[places]
    question = np.full(count, LETTERS)  # the last one: what is under the flag?
    if about == "a letter":
        flags, question = 0 * flags, letters[rows, places]
    parts = [np.eye(LETTERS)[letters], np.eye(DIGITS)[digits], flags[..., None]]
    steps = np.concatenate(parts, axis=-1).astype("float32")
    inputs = {"steps": steps, "query": np.eye(LETTERS + 1, dtype="float32")[question]}
    return inputs, digits[rows, places], places


# %% [markdown]
# In all four models a network sees the question beside the summary. Only attention lets the
# question choose what is summed up; its score is the general one, $q^\top W h_s$.


# %%
def reader(pool):
    """Read, sum up the states by `pool`, answer; and a view of the weights of the steps."""
    steps = keras.Input((LETTERS, LETTERS + DIGITS + 1), name="steps")
    query = keras.Input((LETTERS + 1,), name="query")
    rnn = keras.layers.SimpleRNN(READER_UNITS, return_sequences=True, unroll=True, name="rnn")
    read, weights = pool(query, rnn(steps), return_attention_scores=True)
    hidden = keras.layers.Dense(64, activation="relu")(ops.concatenate([query, read], axis=-1))
    logits = keras.layers.Dense(DIGITS, name="logits")(hidden)
    return keras.Model([steps, query], logits), keras.Model([steps, query], weights)


SUMMARIES = {
    "last": lambda: layers.Pooling("last"),
    "mean": lambda: layers.Pooling("mean"),
    "max": lambda: layers.Pooling("max"),
    "attention": lambda: layers.ContextSensitiveMemory("general"),
}


# %%
def trained_readers(about):
    """Train a reader with each summary: shares of right answers, and views, by name."""
    shares, views = {}, {}
    examples = sequences(np.random.default_rng(1), READ_STEPS * READ_BATCH, about)[:2]
    new_examples = sequences(np.random.default_rng(2), TESTS, about)[:2]
    for name, summary in SUMMARIES.items():
        print(f"{name}, asked about {about}")
        keras.utils.set_random_seed(0)
        model, views[name] = reader(summary())
        train(model, *examples, learning_rate=1e-2, batch=READ_BATCH)
        shares[name] = share_right(model, *new_examples)
    return shares, views


# %%
about_flag, views_of_flag = trained_readers("the flag")

# %%
about_letter, views_of_letter = trained_readers("a letter")

# %%
print("right answers to new examples; by chance", 1 / DIGITS)
print(f"{'':>10} {'the flag':>9} {'a letter':>9}")
for name in SUMMARIES:
    print(f"{name:>10} {about_flag[name]:9.2f} {about_letter[name]:9.2f}")

inputs, answers, _ = sequences(np.random.default_rng(2), TESTS, "the flag")
times = inputs["steps"][..., LETTERS:-1].sum(axis=1)  # how often each digit stands there
often = np.mean(times.argmax(axis=-1) == answers)
print(f"{often:.2f} would be right by saying the digit that stands there most often")

# %% tags=["claims"]
assert min(about_flag["max"], about_flag["attention"]) > 0.9
assert about_flag["last"] < 0.4
assert about_flag["mean"] < 0.6
assert about_letter["attention"] > 0.9
assert max(about_letter[name] for name in ("last", "mean", "max")) < 0.4

# %% [markdown]
# - **The last state** stays at chance. The plain RNN may have found the flagged digit, but it has
#   not remembered it all the way to the end; [notebook 11](11_long_memories.ipynb) shows how the
#   gradient that should teach it so gets lost.
# - **The mean** knows which digits stand there often, and is no better than a guess from that: what
#   stands under the flag is one part in 24 of it.
# - **The maximum** finds the flag wherever it stands, as the lecture says. Some units have learned
#   to rise at a flag only, and a maximum keeps what rose once. But it picks what was important
#   *while the RNN was reading*. When any letter may be asked for afterwards, it is at chance.
# - **Attention** answers both. The states need to hold their own step only, and the question
#   decides which of them is read. That is the difference between a summary and a memory.
#
# Where do the four summaries come from? Below are one sequence with a flag, and one with a question
# about a letter.


# %%
def draw_weights(about, views, number):
    """Draw the weights of the steps of one sequence, for each summary."""
    inputs, _, places = sequences(np.random.default_rng(2), TESTS, about)
    one = {name: each[number : number + 1] for name, each in inputs.items()}
    rows = [ops.convert_to_numpy(view(one))[0, :, 0] for view in views.values()]
    letters = one["steps"][0, :, :LETTERS].argmax(axis=-1)
    digits = one["steps"][0, :, LETTERS:-1].argmax(axis=-1)
    place = places[number]
    print("weight of that step:", {n: f"{w[place]:.2f}" for n, w in zip(views, rows, strict=True)})
    plotting.plot_attention(
        rows,
        [f"{chr(97 + letter)}{digit}" for letter, digit in zip(letters, digits, strict=True)],
        list(views),
        links=[(place, row) for row in range(len(rows))],
        outlined="the step that is asked for",
        axis_names=("summary", "letter and digit of each step"),
        vmax=1,
        title=f"A question about {about}",
    )
    plt.show()


# %%
draw_weights("the flag", views_of_flag, number=0)
draw_weights("a letter", views_of_letter, number=0)

# %% [markdown]
# The row of the maximum in the first picture deserves a second look. Only a small part of its 32
# numbers comes from the step with the flag, and still the answer is right: these few speak of the
# flag, and the network has learned to listen to no others. A weight says how much was taken, not
# how much it counts. [Notebook 9](09_reading_attention_honestly.ipynb) is about such readings.

# %% [markdown]
# ## Slips that one meets in lecture notes
#
# - *"Dot product, cosine similarity"* in one line: they are equal only when both vectors have
#   length 1.
# - *"With an exact match it is a dictionary"*: in the limit of great sharpness, and if the key is
#   there once.
# - $M = \{(k_t, v_t \mid 1 \le t \le T\}$ lacks a parenthesis, and is better written with $S$,
#   since the memory and the queries have different lengths.
# - $\mathrm{score}(s_i, h_i)$ with one index: every query is compared with every key, so it is
#   $\mathrm{score}(s_i, h_j)$. For the same reason the location score gives a whole row,
#   $\alpha_{i,:} = \mathrm{softmax}(W s_i)$.
# - $n$ in $1/\sqrt{n}$ is the width of one key, neither the length of the input nor that of all
#   heads together.
#
# Next: [2 · Attention from scratch](02_attention_from_scratch.ipynb), where a decoder asks such a
# memory before every word. In the documentation:
# [Which attention should I use?](https://github.com/keras-attention/keras_attention/blob/main/docs/choosing.md),
# and the page of `layers.ContextSensitiveMemory`.

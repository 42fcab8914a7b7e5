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
# memory. *Runs in about two minutes on a CPU; no accelerator needed.*

# %% tags=["install"]
# The text of this cell comes from install.py.

# %%
# On a TPU runtime Keras needs JAX: take the # away from these two lines, before Keras is imported.
# import os
# os.environ["KERAS_BACKEND"] = "jax"

import os

import keras
import matplotlib.pyplot as plt
import numpy as np
from keras import layers

from keras_attention import ops
from keras_attention.layers import ContextSensitiveMemory, Pooling
from keras_attention.layers.scores import AdditiveScore, LocationScore, TwoLayerScore

QUICK = bool(os.environ.get("KERAS_ATTENTION_QUICK"))  # set by the tests: fewer steps
keras.utils.set_random_seed(0)
np.set_printoptions(precision=3, suppress=True)
plt.rcParams["axes.prop_cycle"] = plt.cycler(color=["#0072b2", "#d55e00", "#009e73", "#cc79a7"])

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
# Lectures call it a *context-sensitive memory*, and write it as a dictionary with a softer lookup.
#
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
# queries and keys, D that of the values.

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
# What is missing is a sense of what is *near*. So let keys be vectors: here four directions of the
# compass, with the values 1, 10, 100 and 1000, so that each read says by its digits where it came
# from. The whole memory is two short functions.


# %%
def softmax(scores, temperature=1.0):
    """Turn scores (…, S) into weights that sum to 1 along the last axis."""
    shares = np.exp((scores - scores.max(axis=-1, keepdims=True)) / temperature)
    return shares / shares.sum(axis=-1, keepdims=True)


def look_up(query, keys, values, score, temperature=1.0):
    """Ask with queries (T, K): return the read (T, D) and the weights (T, S)."""
    weights = softmax(score(query, keys), temperature)
    return weights @ values, weights


def dot(query, keys):
    """Score every query (T, K) against every key (S, K): (T, S)."""
    return query @ keys.T


directions = {"north": (0.0, 1.0), "east": (1.0, 0.0), "south": (0.0, -1.0), "west": (-1.0, 0.0)}
compass_keys = np.array(list(directions.values()))
compass_values = np.array([[1.0], [10.0], [100.0], [1000.0]])

north_east = np.array([[1.0, 1.0]]) / np.sqrt(2)
for name, query in (("east", compass_keys[1:2]), ("north-east", north_east)):
    read, weights = look_up(query, compass_keys, compass_values, dot, temperature=0.05)
    shares = ", ".join(
        f"{key} {share:.3f}" for key, share in zip(directions, weights[0], strict=True)
    )
    print(f"{name:>10}: read {read[0, 0]:8.3f}   weights: {shares}")

# %% [markdown]
# A query that is a key gets the value of that key. One that lies halfway between two keys gets half
# of each value: no error, and no nonsense.
#
# ## The same by the package
#
# `ContextSensitiveMemory` is a Keras layer. It takes a batch, any score of the menu, a mask, and
# learned projections where one wants them. On random numbers, with a prime for every dimension so
# that no two axes can be confused:

# %%
rng = np.random.default_rng(0)
B, T, S, K, D = 2, 3, 5, 7, 11
query = rng.normal(size=(B, T, K)).astype("float32")
keys = rng.normal(size=(B, S, K)).astype("float32")
values = rng.normal(size=(B, S, D)).astype("float32")

memory = ContextSensitiveMemory(score="dot", temperature=0.5)
read, weights = memory(query, value=values, key=keys, return_attention_scores=True)
read, weights = np.array(read), np.array(weights)
print(
    "read", read.shape, " weights", weights.shape, " sums of the weights:", weights.sum(axis=-1)[0]
)

for b in range(B):
    own_read, own_weights = look_up(query[b], keys[b], values[b], dot, temperature=0.5)
    np.testing.assert_allclose(weights[b], own_weights, atol=1e-5)
    np.testing.assert_allclose(read[b], own_read, atol=1e-5)
print("the ten lines and the layer are equal")

# %% [markdown]
# Three properties follow from the equation, whatever the score. A read lies between the values (it
# is a weighted mean of them). The order of the pairs does not matter: a memory is a bag, and if
# order is to count, it has to be written into the keys. And the softmax moves with every score, so
# that everything before it can be trained.

# %%
order = rng.permutation(S)
shuffled = np.array(memory(query, value=values[:, order], key=keys[:, order]))
np.testing.assert_allclose(shuffled, read, atol=1e-5)
lowest, highest = values.min(axis=1, keepdims=True), values.max(axis=1, keepdims=True)
assert np.all(lowest - 1e-5 <= read)
assert np.all(read <= highest + 1e-5)
print("shuffled pairs: the same reads; all reads between the smallest and the largest value")

# %% [markdown]
# ## From the flat mean to the exact dictionary
#
# The temperature decides how much it takes to be told apart. When it is high, all weights are equal
# and every question gets the mean of the values; when it is low, the best key takes everything. A
# dictionary is the limit, never reached: with exact one-hot keys, look how near the answer comes to
# the value 10 of the second key.

# %%
one_hot_keys, one_hot_values = np.eye(3), np.array([[1.0], [10.0], [100.0]])
print("sharpness 1/τ   weight of the right key      read")
for sharpness in (0.01, 1, 2, 5, 10, 20):
    read, weights = look_up(
        one_hot_keys[1:2], one_hot_keys, one_hot_values, dot, temperature=1 / sharpness
    )
    print(f"{sharpness:13g}   {weights[0, 1]:23.5f}   {read[0, 0]:7.4f}")

twice = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])  # a key that is there two times
read, _ = look_up(twice[:1], twice, np.array([[10.0], [20.0], [700.0]]), dot, temperature=0.01)
print(f"\na key that is there with 10 and with 20 gives {read[0, 0]:.4f}; a dict keeps the last")

# %% [markdown]
# So "an exact match of one key makes it a dictionary" holds in the limit of great sharpness only,
# and two equal keys give the mean of their values.
#
# Why not simply take the best key, then? The picture shows it. On the left, the weights of four
# keys as the temperature falls. On the right, how strongly the read reacts to a small change of the
# scores, $\lVert \partial c / \partial\,\mathrm{score} \rVert = \lVert \alpha \odot (v - c) \rVert
# / \tau$: near the dictionary it falls to nothing. A hard choice gives training nothing to hold on
# to, and that is why the choice is made softly.


# %%
def slope(weights, values, temperature):
    """Say how strongly the reads (T, 1) react to the scores: the length of the gradient, (T,)."""
    read = weights @ values
    return np.linalg.norm(weights * (values.T - read), axis=-1) / temperature


temperatures = np.logspace(2, -2.5, 200)
asked = np.array([[np.sin(0.6), np.cos(0.6)]])  # between north and east, nearer to north
quarters = np.array([[1.0], [2.0], [3.0], [4.0]])
curves = [look_up(asked, compass_keys, quarters, dot, tau)[1] for tau in temperatures]
steepness = [slope(w, quarters, tau)[0] for w, tau in zip(curves, temperatures, strict=True)]

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for position, (name, style) in enumerate(zip(directions, ("-", "--", ":", "-."), strict=True)):
    left.semilogx(temperatures, [w[0, position] for w in curves], style, label=name, lw=2)
left.set(
    xlabel="temperature τ", ylabel="weight", title="From the mean (left) to the best key (right)"
)
left.invert_xaxis()
left.legend()
right.loglog(temperatures, steepness, color="#0072b2", lw=2)
right.set(
    xlabel="temperature τ", ylabel="length of the gradient", title="An exact choice has no gradient"
)
right.set_ylim(1e-6, 10)
right.invert_xaxis()
plt.show()

# %% [markdown]
# ## The menu of scores
#
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
# In NumPy each is a line or two:


# %%
def scaled_dot(query, keys):
    """Divide the dot product by the root of the width."""
    return dot(query, keys) / np.sqrt(keys.shape[-1])


def cosine(query, keys, strength):
    """Compare directions, not lengths."""
    unit_query = query / np.linalg.norm(query, axis=-1, keepdims=True)
    unit_keys = keys / np.linalg.norm(keys, axis=-1, keepdims=True)
    return strength * dot(unit_query, unit_keys)


def general(query, keys, kernel):
    """Compare through a matrix (Q, K)."""
    return dot(query @ kernel, keys)


def additive(query, keys, query_kernel, key_kernel, v):
    """Add projections of query and key, and read the hidden layer out with v."""
    hidden = np.tanh((query @ query_kernel)[:, None] + (keys @ key_kernel)[None])  # (T, S, units)
    return hidden @ v


def pairs(query, keys):
    """Put every query beside every key: (T, S, Q + K)."""
    sides = (query[:, None], keys[None])
    return np.concatenate(
        [np.broadcast_to(x, (len(query), len(keys), x.shape[-1])) for x in sides], axis=-1
    )


def concat(query, keys, kernel, v):
    """Ask a network with one hidden layer about every pair."""
    return np.tanh(pairs(query, keys) @ kernel) @ v


def two_layer(query, keys, kernel, bias, v, output_bias):
    """Do the same with biases."""
    return np.tanh(pairs(query, keys) @ kernel + bias) @ v + output_bias


def location(query, kernel, length):
    """Score positions 0 … S − 1 by the query alone."""
    return (query @ kernel)[:, :length]


# %% [markdown]
# Each of them is a function of `keras_attention.ops` as well (and, with its weights, a layer of
# `keras_attention.layers.scores`, which the attention layers take by name). The same numbers come
# out, and some scores turn out to be others in disguise:

# %%
UNITS = 13
q, k = query[0], keys[0]
square = rng.normal(size=(K, K)).astype("float32")
both = rng.normal(size=(2 * K, UNITS)).astype("float32")
v, bias = (rng.normal(size=UNITS).astype("float32") for _ in range(2))

for name, own, by_package in (
    ("dot", dot(q, k), ops.dot(query, keys)),
    ("scaled dot", scaled_dot(q, k), ops.scaled_dot(query, keys)),
    ("cosine", cosine(q, k, 3.0), ops.cosine(query, keys, 3.0)),
    ("general", general(q, k, square), ops.general(query, keys, square)),
    (
        "additive",
        additive(q, k, both[:K], both[K:], v),
        ops.additive(query, keys, both[:K], both[K:], v),
    ),
    ("concat", concat(q, k, both, v), ops.concat(query, keys, both, v)),
    (
        "two-layer",
        two_layer(q, k, both, bias, v, 0.5),
        ops.two_layer(query, keys, both, bias, v, 0.5),
    ),
    ("location", location(q, square, S), ops.location(query, square, S)),
):
    np.testing.assert_allclose(np.array(by_package)[0], own, rtol=1e-4, atol=1e-4)
    print(f"{name:>10}: equal")

np.testing.assert_allclose(general(q, k, np.eye(K)), dot(q, k), atol=1e-5)
np.testing.assert_allclose(general(q, k, np.eye(K) / np.sqrt(K)), scaled_dot(q, k), atol=1e-5)
np.testing.assert_allclose(
    concat(q, k, both, v), additive(q, k, both[:K], both[K:], v), rtol=1e-4, atol=1e-4
)
np.testing.assert_allclose(
    two_layer(q, k, both, 0 * bias, v, 0.0), concat(q, k, both, v), rtol=1e-4, atol=1e-4
)
print("general with W = I is dot, with W = I / √K scaled dot; concat is additive;")
print("two-layer without biases is concat")

# %% [markdown]
# ### What each of them likes
#
# Four keys in the plane, one of them far out, and a query that points almost to the east. The
# colour is the score that a key *would* get at each place; the size of a black dot is the weight of
# a key that is there. For the two-layer score the weights were set by hand, to a bump for each
# coordinate; those of the additive score are random.

# %%
small_keys = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [2.0, 2.0]])
key_names = ["east", "north", "west", "far out"]
small_query = np.array([[1.0, 0.1]])

bump_kernel = 2.0 * np.array([[1, 1, 0, 0], [0, 0, 1, 1], [-1, -1, 0, 0], [0, 0, -1, -1]])
bump = {"bias": np.array([1.0, -1.0, 1.0, -1.0]), "v": np.array([3.0, -3.0, 3.0, -3.0])}
random_weights = np.random.default_rng(5).normal(scale=1.5, size=(3, 2, 8))
fields = {
    "dot": dot,
    "scaled dot": scaled_dot,
    "cosine, β = 10": lambda q, k: cosine(q, k, 10.0),
    "general, W = −I": lambda q, k: general(q, k, -np.eye(2)),
    "additive, random": lambda q, k: additive(q, k, *random_weights[:2], random_weights[2, 0]),
    "two-layer, a bump": lambda q, k: two_layer(q, k, bump_kernel, bump["bias"], bump["v"], 0.0),
}

axis = np.linspace(-2.6, 2.6, 80)  # no point of the grid is the origin, where no cosine is
grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
figure, panels = plt.subplots(2, 3, figsize=(9, 6), layout="constrained", sharex=True, sharey=True)
for panel, (name, score) in zip(panels.flat, fields.items(), strict=True):
    field = score(small_query, grid).reshape(80, 80)
    panel.contourf(axis, axis, field, levels=20, cmap="viridis")
    _, weights = look_up(small_query, small_keys, small_keys, score)
    panel.scatter(*small_keys.T, s=20 + 380 * weights[0], c="black", edgecolors="white", zorder=2)
    panel.annotate(
        "", small_query[0], (0, 0), arrowprops={"color": "white", "width": 1.5, "headwidth": 8}
    )
    best = key_names[int(weights.argmax())]
    panel.set_title(f"{name}\nmost weight: {best}, {weights.max():.2f}", fontsize=10)
    panel.set_aspect("equal")
figure.suptitle("One query (white arrow), four keys (black), six scores (yellow: high)")
plt.show()

# %% [markdown]
# The dot product likes whatever lies far out in the direction of the query; the cosine cares for
# the direction alone. A matrix in between can ask for anything linear, here for the opposite. A
# network with biases can like a *place*: only there the key nearest to the query wins because it is
# near. Location (not drawn) does not look at the keys at all.
#
# ## What scaled dot's √K is for
#
# Let query and key be K independent numbers of mean 0 and variance 1. Then $q^\top k$ is a sum of K
# products, each of variance 1, and has variance K: the scores of a wide layer are large before it
# has learned anything. A softmax over large numbers is nearly one-hot, and its gradient nearly 0
# (Vaswani et al., section 3.2.1). Dividing by √K takes exactly that growth away. Measured over 400
# random queries and eight keys each:

# %%
depths = (4, 16, 64, 256, 1024)
measured = {"dot": [], "scaled dot": []}
print("           dot product                          divided by √K")
print("   K   variance  largest  gradient     variance  largest  gradient")
for depth in depths:
    random_query, random_keys = rng.normal(size=(400, 1, depth)), rng.normal(size=(400, 8, depth))
    scores = np.einsum("btk,bsk->bts", random_query, random_keys)
    line = f"{depth:4d}"
    for name, divided in (("dot", scores), ("scaled dot", scores / np.sqrt(depth))):
        weights = softmax(divided)
        gradient = np.mean(np.sum(weights * (1 - weights), axis=-1))
        measured[name].append((divided.var(), weights.max(axis=-1).mean(), gradient))
        line += "  {:9.2f}  {:7.3f}  {:8.3f}  ".format(*measured[name][-1])
    print(line)

figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
titles = ("variance of the scores", "mean largest of 8 weights", "gradient, Σ α (1 − α)")
for column, (ax, title) in enumerate(zip(axes, titles, strict=True)):
    for (name, rows), style in zip(measured.items(), ("o-", "s--"), strict=True):
        ax.plot(depths, [row[column] for row in rows], style, label=name)
    ax.set_xscale("log", base=2)
    ax.set(xlabel="width K", title=title)
axes[0].set_yscale("log", base=2)
axes[2].set_ylim(bottom=0)
axes[0].legend()
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
scores = np.array([[2.0, 1.0, 0.0, 3.0], [2.0, 1.0, 0.0, 3.0]])
mask = np.array([[True, True, True, False], [False] * 4])


def masked_softmax(scores, mask):
    """Turn scores into weights over what may be looked at; 0 where that is nothing."""
    shares = np.where(mask, np.exp(scores - scores.max(axis=-1, keepdims=True)), 0.0)
    total = shares.sum(axis=-1, keepdims=True)
    return shares / np.where(total > 0, total, 1.0)


with np.errstate(invalid="ignore"):  # 0 / 0 is what is to be seen
    print("−∞:          ", *softmax(np.where(mask, scores, -np.inf)))
print("−1e9:        ", *softmax(np.where(mask, scores, -1e9)))
print("masked:      ", *masked_softmax(scores, mask))

np.testing.assert_allclose(
    np.array(ops.masked_softmax(scores, mask)), masked_softmax(scores, mask), atol=1e-6
)
x = np.ones((2, 1, 3), "float32")
four = rng.normal(size=(2, 4, 3)).astype("float32")
_, by_layer = ContextSensitiveMemory()(x, four, attention_mask=mask, return_attention_scores=True)
_, by_keras = layers.Attention()([x, four], mask=[None, mask], return_attention_scores=True)
print("this package:", *np.array(by_layer)[:, 0])
print("keras.layers.Attention:", *np.array(by_keras)[:, 0])

# %% [markdown]
# In this package masks are explicit arguments, and a row with nothing to look at has the weights 0
# and reads 0, in every layer and on every backend.
#
# ## Does it learn?
#
# ### A memory, and a mean in its place
#
# Every example brings eight fresh keys and the labels 0 … 7 in random order as their values; asked
# for is the label of one key. Nothing can be learned by heart. The model *without* gets the query
# and the mean of all (learned) pairs, and a network on top of both.

# %%
SLOTS, WIDTH, BATCH = 8, 16, 128


def asking(rng, count, query_and_keys):
    """Draw examples of a lookup: inputs by name, and the label that is asked for."""
    wanted = rng.integers(SLOTS, size=count)
    query, keys = query_and_keys(rng, wanted)
    values = rng.permuted(np.tile(np.arange(SLOTS, dtype="int32"), (count, 1)), axis=1)
    inputs = {"query": query.astype("float32"), "keys": keys.astype("float32"), "values": values}
    return inputs, values[np.arange(count), wanted]


def the_key_itself(rng, wanted):
    """Ask with the key itself."""
    keys = rng.normal(size=(len(wanted), SLOTS, WIDTH))
    return keys[np.arange(len(wanted)), wanted], keys


def inputs_of(query_width, key_width):
    """Return symbolic inputs of a lookup, and the values as one-hot vectors."""
    query = keras.Input((query_width,), name="query")
    keys = keras.Input((SLOTS, key_width), name="keys")
    values = keras.Input((SLOTS,), dtype="int32", name="values")
    return query, keys, values, keras.ops.one_hot(values, SLOTS)


def with_a_memory(score, query_width=WIDTH, key_width=WIDTH):
    """Read the memory; what was read is a label, up to its name."""
    query, keys, values, labels = inputs_of(query_width, key_width)
    read = ContextSensitiveMemory(score)(query, value=labels, key=keys)
    return keras.Model([query, keys, values], layers.Dense(SLOTS)(read))


def with_a_mean():
    """See the query and the mean of all pairs."""
    query, keys, values, labels = inputs_of(WIDTH, WIDTH)
    each = layers.Dense(64, activation="relu")(layers.Concatenate()([keys, labels]))
    x = layers.Concatenate()([query, Pooling("mean")(query, each)])
    x = layers.Dense(64, activation="relu")(x)
    return keras.Model([query, keys, values], layers.Dense(SLOTS)(x))


def share_right_after_training(model, query_and_keys, steps, learning_rate):
    """Train on fresh examples, and return the share of 1,000 new ones that are right."""
    steps = 2 if QUICK else steps
    inputs, labels = asking(np.random.default_rng(1), steps * BATCH, query_and_keys)
    model.compile(
        keras.optimizers.Adam(learning_rate),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=not QUICK and keras.backend.backend() != "torch",
        run_eagerly=QUICK,
    )
    model.fit(inputs, labels, batch_size=BATCH, verbose=0)
    inputs, labels = asking(np.random.default_rng(2), 1000, query_and_keys)
    logits = np.array(model(inputs, training=False))
    return float(np.mean(np.argmax(logits, axis=-1) == labels))


with_memory = share_right_after_training(with_a_memory("scaled_dot"), the_key_itself, 400, 3e-2)
without = share_right_after_training(with_a_mean(), the_key_itself, 400, 3e-2)
print(
    f"with a memory {with_memory:.3f}, with the mean in its place {without:.3f}, by chance {1 / SLOTS}"
)
if not QUICK:
    assert with_memory > 0.9 > 0.3 > without

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
#
# All scores, with the same budget for each question:

# %%
frame = np.linalg.qr(np.random.default_rng(3).normal(size=(WIDTH, WIDTH)))[0]
places = np.random.default_rng(4).permutation(SLOTS)


def other_lengths(rng, wanted):
    """Ask with the key, and store it longer or shorter."""
    query, keys = the_key_itself(rng, wanted)
    return query, keys * 10 ** rng.uniform(-1, 1, size=(*keys.shape[:2], 1))


def other_coordinates(rng, wanted):
    """Ask with the key, turned."""
    query, keys = the_key_itself(rng, wanted)
    return query @ frame, keys


def nearest_number(rng, wanted):
    """Ask with a number that is almost one of the keys."""
    numbers = np.tile(np.linspace(-1, 1, 2 * SLOTS), (len(wanted), 1))
    keys = rng.permuted(numbers, axis=1)[:, :SLOTS]
    query = keys[np.arange(len(wanted)), wanted] + rng.uniform(-0.02, 0.02, size=len(wanted))
    return query[:, None], keys[..., None]


def place_in_a_list(rng, wanted):
    """Ask with the number of a place, among keys that say nothing."""
    number = np.argsort(places)[wanted]
    return np.eye(WIDTH)[number], rng.normal(size=(len(wanted), SLOTS, WIDTH))


questions = {  # steps, learning rate, width of query and keys
    the_key_itself: (400, 3e-2, WIDTH),
    other_lengths: (300, 3e-2, WIDTH),
    other_coordinates: (600, 2e-2, WIDTH),
    nearest_number: (800, 1e-2, 1),
    place_in_a_list: (300, 1e-2, WIDTH),
}
menu = {  # as wide as it takes; the others have nothing to choose
    "dot": lambda: "dot",
    "cosine": lambda: "cosine",
    "general": lambda: "general",
    "additive": lambda: AdditiveScore(32),
    "two-layer": lambda: TwoLayerScore(32),
    "location": lambda: LocationScore(longest=SLOTS),
}
tried = list(menu)[:1] if QUICK else list(menu)
shares = np.zeros((len(questions), len(tried)))
for row, (question, (steps, learning_rate, width)) in enumerate(questions.items()):
    for column, name in enumerate(tried):
        model = with_a_memory(menu[name](), width, width)
        shares[row, column] = share_right_after_training(model, question, steps, learning_rate)

question_names = [question.__name__.replace("_", " ") for question in questions]
figure, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
image = ax.imshow(shares, vmin=0, vmax=1, cmap="viridis", aspect="auto")
for (row, column), share in np.ndenumerate(shares):
    ax.text(
        column,
        row,
        f"{share:.2f}",
        ha="center",
        va="center",
        color="black" if share > 0.6 else "white",
    )
ax.set_xticks(range(len(tried)), tried)
ax.set_yticks(range(len(question_names)), question_names)
ax.set(xlabel="score", ylabel="question", title=f"Share of right answers; chance is {1 / SLOTS}")
figure.colorbar(image)
plt.show()

if not QUICK:
    found = {
        (q, s): shares[i, j] for i, q in enumerate(question_names) for j, s in enumerate(tried)
    }
    assert found["other lengths", "cosine"] > 0.9 > 0.7 > found["other lengths", "dot"]
    assert found["other coordinates", "general"] > 0.9 > 0.3 > found["other coordinates", "dot"]
    assert found["nearest number", "two-layer"] > 0.9 > 0.4 > found["nearest number", "general"]
    assert found["place in a list", "location"] > 0.9 > 0.3 > found["place in a list", "general"]

# %% [markdown]
# Why some of them fail can be said in a sentence each:
#
# - *dot, other lengths*: a long key beats a similar one. Cosine does not see the length. General
#   could become dot, $W = I$, and no more; at this learning rate the long keys throw it about.
# - *dot and cosine, other coordinates*: nothing in them can turn the query back. $W$ can.
# - *general, nearest number*: $q\,w\,k$ only grows or only falls along $k$, so it cannot be largest
#   where $k = q$.
# - *additive, whatever is asked*: it has no biases, so that turning the signs of query and key turns
#   that of the score. What makes the right key the best one for a question makes it the worst for
#   the mirror image of that question, and here both are asked. The biases of the two-layer score,
#   or a 1 beside every query, mend that. In a translator nobody notices: its queries and keys come
#   out of layers with biases, and are no mirror images.
# - *all but location, place in a list*: the keys do not know their place. (And location would fail
#   at all others.)
#
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
    query, keys, values, labels = inputs_of(1, 1)
    one, other = (
        layers.Embedding(WORDS, DEEP, keras.initializers.RandomNormal(stddev=1.0)) for _ in range(2)
    )
    read = ContextSensitiveMemory(score)(one(query[:, 0]), value=labels, key=other(keys[..., 0]))
    return keras.Model([query, keys, values], layers.Dense(SLOTS)(read))


scaled, unscaled = (
    share_right_after_training(with_deep_embeddings(score), two_languages, 300, 1e-2)
    for score in ("scaled_dot", "dot")
)
print(f"scaled dot {scaled:.3f}, dot {unscaled:.3f}, by chance {1 / SLOTS}")
if not QUICK:
    assert scaled > 0.9 > 0.75 > unscaled

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
# ## Exercises
#
# 1. In the concat score $v^\top \tanh(W [q; k])$: what is $v$, and what would the score be without
#    it? (Some prints of Luong's paper leave it out.)
# 2. A memory has $S$ one-hot keys, the score is the dot product. How low must the temperature be,
#    so that the right key gets at least 99 % of the weight? What does that say about large
#    memories?
#
# ## Worked answers
#
# **1.** $\tanh(W [q; k])$ is a vector with as many numbers as the hidden layer has units, and a
# softmax needs one number for each pair. $v$ is the weight of each unit in that number: the second
# layer of a small network. Without it, there would be a vector for each pair, and no score.

# %%
hidden = np.tanh(pairs(q, k) @ both)
print(f"{len(q)} queries, {len(k)} keys, {UNITS} units:")
print("tanh(W [q; k])    ", hidden.shape, " (T, S, units), a vector for each pair")
print("vᵀ tanh(W [q; k])", (hidden @ v).shape, "    (T, S), a score for each pair")

# %% [markdown]
# **2.** The right key has the score 1 and all others 0, so
#
# $$ \frac{e^{1/\tau}}{e^{1/\tau} + S - 1} \ge 0.99
#    \quad \Longleftrightarrow \quad e^{1/\tau} \ge 99\,(S - 1)
#    \quad \Longleftrightarrow \quad \tau \le \frac{1}{\ln\big(99\,(S - 1)\big)}. $$
#
# The more keys there are, the sharper the scores have to be: many small weights add up. But it
# takes only the logarithm of their number.

# %%
for size in (3, 30, 3000):
    temperature = 1 / np.log(99 * (size - 1))
    _, weights = look_up(np.eye(size)[:1], np.eye(size), np.eye(size), dot, temperature)
    print(f"S = {size:4d}: τ = {temperature:.4f}, weight of the right key {weights[0, 0]:.4f}")

# %% [markdown]
# Next: [2 · Attention from scratch](02_attention_from_scratch.ipynb), where a decoder asks such a
# memory before every word. In the documentation:
# [Which attention should I use?](https://github.com/keras-attention/keras_attention/blob/main/docs/choosing.md),
# and the page of `layers.ContextSensitiveMemory`.

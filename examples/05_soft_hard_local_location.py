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
# # 5 · Soft, hard, local, location
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/keras-attention/keras_attention/blob/main/examples/05_soft_hard_local_location.ipynb)
#
# One memory can be read in four ways: everywhere a little, at one position, in a window, or at a
# place that the query names. For each there is a small task that it learns, and that others fail
# at. On the way this notebook measures what attention costs, and how a choice can learn although
# it has no gradient. *Runs in about two minutes on a CPU; no accelerator needed.*

# %% tags=["install"]
# The text of this cell comes from install.py.

# %%
import os
import time
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

from keras_attention import layers, models, plotting
from keras_attention.ops import (
    hard_lookup,
    local_lookup,
    location,
    lookup,
    marginal_log_likelihood,
    predicted_centres,
    window,
)

keras.utils.set_random_seed(0)
np.set_printoptions(precision=3, suppress=True)

# %% [markdown]
# ## 1 · What the papers say
#
# *Attention is not a well-defined, clearly demarcated mathematical term. It is a principle*, says
# the lecture. These are four of its variants, in three pairs:
#
# - **Soft or hard.** Xu et al. (2015), *Show, attend and tell*, describe a captioner in both ways.
#   The soft one (section 4.2) reads the weighted mean of all regions of a picture. It is
#   deterministic, and backpropagation does the rest. The hard one (section 4.1) draws one region
#   from the same weights and reads that alone. The draw has no gradient, so training has to
#   estimate one.
# - **Global or local.** Luong, Pham and Manning (2015), section 3.2, look at a window of the source
#   only. Its centre goes in step with the target (local-m), or the state of the decoder predicts it
#   (local-p, eq. 9). Local-p also gives more weight to positions near the centre (eq. 10).
# - **Content or location.** All these compare the query with what is *in* the memory. The location
#   score of the same paper (section 3.1, eq. 8) does not look: the query alone says where to read.

# %%
plotting.diagram("soft-and-hard")

# %%
plotting.diagram("global-and-local")

# %% [markdown]
# ### The equations
#
# All four begin with scores $e_{tj}$, of the query $q_t$ and the keys $k_1, \dots, k_S$. The last
# one needs no keys.
#
# $$ \text{soft:} \quad \alpha_t = \mathrm{softmax}(e_t), \quad c_t = \sum_j \alpha_{tj} v_j $$
#
# $$ \text{hard:} \quad z_t \sim \mathrm{Cat}(\alpha_t) \text{ in training},\ z_t = \arg\max_j \alpha_{tj} \text{ afterwards}, \quad c_t = v_{z_t} $$
#
# $$ \text{local:} \quad \alpha_t = \mathrm{softmax} \text{ over } |j - p_t| \le D; \qquad \text{local-m: } p_t = t, \quad
#    \text{local-p: } p_t = S\, \sigma\big(v_p^\top \tanh(W_p q_t)\big), \ \alpha_{tj} \leftarrow \alpha_{tj}\, e^{-(j - p_t)^2 / 2 (D/2)^2} $$
#
# $$ \text{location:} \quad \alpha_t = \mathrm{softmax}(W q_t) $$
#
# | letter | what it is | shape |
# | --- | --- | --- |
# | $q_t$; $k_j$; $v_j$ | queries; keys; values | (B, T, Q); (B, S, K); (B, S, V) |
# | $e_{tj}$; $\alpha_{tj}$ | scores, before the softmax; weights, after it | (B, T, S) |
# | $c_t$ | the read | (B, T, V) |
# | $z_t$ | the position that was picked | (B, T) |
# | $p_t$ | centre of the window, counted from 0, which reaches from $p_t - D$ to $p_t + D$ | (B, T) |
# | $\sigma(\cdot)$ | the sigmoid, from 0 to 1 | |
# | $W$ of location | a column for each position of the longest memory | (Q, S); $Wq$ is `q @ W` |
#
# ### Four ways in a few lines
#
# Each turns scores, or the query, into weights:


# %%
def soft(scores, seen=True):
    """Scores (T, S) → weights over the positions that are seen."""
    shares = np.where(seen, np.exp(scores - scores.max(axis=-1, keepdims=True)), 0.0)
    return shares / shares.sum(axis=-1, keepdims=True)


def hard(scores, rng=None):
    """Scores (T, S) → one position a row: the likeliest, or one that is drawn."""
    alpha = soft(scores)
    if rng is None:
        picks = alpha.argmax(axis=-1)
    else:
        picks = np.array([rng.choice(len(row), p=row) for row in alpha])
    return np.eye(scores.shape[-1])[picks]


# %%
def local(scores, centres, half_width, gaussian=False):
    """Scores (T, S) → weights in a window around each centre (T,); its middle may count more."""
    distance = np.arange(scores.shape[-1]) - centres[:, None]
    alpha = soft(scores, np.abs(distance) <= half_width)
    return alpha * np.exp(-0.5 * (distance / (half_width / 2)) ** 2) if gaussian else alpha


def by_location(query, kernel):
    """Queries (T, Q) → weights, without a key."""
    return soft(query @ kernel)


# %% [markdown]
# `keras_attention.ops` has the same functions, for batches and with masks.

# %%
rng = np.random.default_rng(1)
T, S, Q, D = 3, 11, 5, 2
shapes = {"scores": (T, S), "values": (S, D), "query": (T, Q), "kernel": (Q, S)}
scores, values, query, kernel = (rng.normal(size=shape) for shape in shapes.values())
centres = np.array([2.0, 5.4, 9.0])
read = scores[None].astype("float32"), values[None].astype("float32")
by_query = location(query[None].astype("float32"), kernel.astype("float32"), S)

packages = {
    "soft": lookup(*read),
    "hard": hard_lookup(*read),
    "local-m": local_lookup(*read, centres[None], 2),
    "local-p": local_lookup(*read, centres[None], 2, favour="weights"),
    "location": lookup(by_query, read[1]),
}

# %%
ours = {
    "soft": soft(scores),
    "hard": hard(scores),
    "local-m": local(scores, centres, 2),
    "local-p": local(scores, centres, 2, gaussian=True),
    "location": by_location(query, kernel),
}
for name, weights in ours.items():
    found = packages[name]
    np.testing.assert_allclose(ops.convert_to_numpy(found.weights)[0], weights, atol=1e-5)
    np.testing.assert_allclose(ops.convert_to_numpy(found.read)[0], weights @ values, atol=1e-5)
    print(f"{name:>8}: equal; the first row of weights sums to {weights[0].sum():.3f}")

# %% [markdown]
# The weights of local-p sum to less than 1: the Gaussian multiplies them after the softmax, as in
# eq. 10. The authors' later code multiplies the scores instead, which is `favour="scores"`.
#
# Now the same twelve scores, read in five ways. A red diamond is the centre of a window, and
# the line is the window: it holds the cells whose middles the line reaches.


# %%
def mark_centres(axes, centres, half_width, rows=None):
    """Draw the centre of a row's window on a heat map, and a line as long as the window."""
    axes.autoscale(False)
    rows = np.arange(len(centres)) if rows is None else rows
    axes.errorbar(
        centres, rows, xerr=half_width, fmt="d", color="#d55e00", markersize=5, linewidth=1.2
    )


row = np.array([[0.4, 1.9, 0.2, 1.2, 0.8, 1.5, 0.1, 0.9, 2.2, 0.3, 1.1, 0.6]])
ways = {
    "soft": soft(row),
    "soft, scores times 6": soft(6 * row),
    "hard": hard(row),
    "local-m, p = 4": local(row, np.array([4.0]), 2),
    "local-p, p = 4.3": local(row, np.array([4.3]), 2, gaussian=True),
}

# %%
axes = plotting.plot_attention(
    np.concatenate(list(ways.values())),
    [str(j) for j in range(row.size)],
    list(ways),
    axis_names=("way to read", "position in the memory"),
    title="Five readings of the same twelve scores",
)
mark_centres(axes, [4.0, 4.3], 2, rows=[3, 4])
plt.show()
for name, weights in ways.items():
    print(f"{name:>20}: largest weight {weights.max():.2f} at {weights.argmax()}")

# %% [markdown]
# Large scores bring soft near to hard: the second row is almost a single choice, and it still has
# a gradient. That is why gates and lookups are soft while they learn, and may end as true choices.
# Both windows miss the largest score, at position 8. A window helps only where it is well placed.
#
# **Exercise 1.** On paper: $S = 8$, $p = 3.6$, $D = 2$, and all scores are equal. Which positions
# does local-p see, and which weights do they get? Set `answer` to the eight weights.

# %%
answer = np.zeros(8)  # your answer

# %% tags=["check"]
zeros = np.zeros((1, 1, 8), "float32")
wanted = local_lookup(zeros, np.zeros((1, 8, 1), "float32"), [[3.6]], 2, favour="weights").weights
if np.allclose(answer, ops.convert_to_numpy(wanted)[0, 0], atol=1e-3):
    print(f"Right. The four weights sum to {np.sum(answer):.3f}.")
else:
    print("Not yet. Seen is what lies at most 2 from 3.6; the standard deviation is D / 2 = 1.")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# answer = np.array([0, 0, *np.exp([-1.28, -0.18, -0.08, -0.98]) / 4, 0, 0])
# ```
#
# Positions 2, 3, 4 and 5 are seen. Equal scores give each of them 1/4, and the Gaussian
# multiplies it by $e^{-(j - 3.6)^2 / 2}$.
#
# </details>

# %% [markdown]
# ## 2 · Quadratic, but fast
#
# *The computational complexity of using soft attention is quadratic. But it's not slow*, says the
# lecture: T queries and S keys make T · S scores, but *just vector-matrix products* compute them.
# Here is the additive score of Bahdanau, Cho and Bengio (2015),
#
# $$ e_{ij} = v_a^\top \tanh(W_a s_i + U_a h_j), $$
#
# in the lecture's two ways, and in one step. The projections $W_a s_i$ and $U_a h_j$ are made
# before, once for each position, so they are not quadratic.


# %%
def pair_by_pair(s, h, v):
    """Projected s (T, units) and h (S, units) → scores: add, tanh, dot product for each pair."""
    return np.array([[np.tanh(s_i + h_j) @ v for h_j in h] for s_i in s])


def query_by_query(s, h, v):
    """The same for all keys at once: a vector plus a matrix, tanh, matrix times vector."""
    return np.array([np.tanh(s_i + h) @ v for s_i in s])


def all_at_once(s, h, v):
    """The same for all queries and keys."""
    return np.tanh(s[:, None] + h) @ v


def dot_products(s, h, v):
    """Another score, the dot product: one matrix product, and nothing else."""
    return s @ h.T


# %% quick="LENGTHS, TRIES = [8, 16], 1"
LENGTHS, TRIES = [16, 32, 64, 128, 256, 512], 5


# %%
def seconds(function, *arrays):
    """Return the shortest time of some calls, in seconds of the processor."""
    times = []
    for _ in range(TRIES):
        start = time.process_time()  # other programs do not count
        function(*arrays)
        times.append(time.process_time() - start)
    return min(times)


# %%
UNITS = 16
v = rng.normal(size=UNITS).astype("float32")
times = {f: [] for f in (pair_by_pair, query_by_query, all_at_once, dot_products)}
for length in LENGTHS:
    s, h = rng.normal(size=(2, length, UNITS)).astype("float32")
    for function in times:
        times[function].append(seconds(function, s, h, v))
np.testing.assert_allclose(pair_by_pair(s, h, v), all_at_once(s, h, v), atol=1e-4)
np.testing.assert_allclose(query_by_query(s, h, v), all_at_once(s, h, v), atol=1e-4)

# %%
names = {function: function.__name__.replace("_", " ") for function in times}
axes = plotting.plot_curves(
    {names[function]: (LENGTHS, each) for function, each in times.items()},
    xlabel="length of both sequences, T = S",
    ylabel="seconds for all scores",
    logarithmic="xy",
    title="Quadratic, all of them; a loop pays for each pair",
)
axes.set_xticks(LENGTHS, LENGTHS)
axes.set_xticks([], minor=True)
plt.show()
print(f"{LENGTHS[-1]} queries and keys     time    last doubling    pair by pair takes")
for function, each in times.items():
    doubled, ahead = each[-1] / each[-2], times[pair_by_pair][-1] / each[-1]
    print(
        f"{names[function]:>22} {1000 * each[-1]:8.1f} ms {doubled:12.1f} × {ahead:18.0f} × as long"
    )

# %% tags=["claims"]
assert times[pair_by_pair][-1] > 4 * times[all_at_once][-1]
assert times[pair_by_pair][-1] > 4 * times[query_by_query][-1]
assert times[pair_by_pair][-1] > 20 * times[dot_products][-1]
assert times[query_by_query][-1] < times[all_at_once][-1]

# %% [markdown]
# A line of slope 2 on these axes is quadratic. The loop over pairs has it from the start, since
# Python spends the same time on every pair. The products begin lower, and their time grows slowly
# until the numbers are worth a call; only long sequences show the square. For these, query by query
# is here even faster than all at once, probably since its smaller matrices stay in the processor's
# cache; on your machine it may be slower. Both leave the loop far behind: the gain lies
# in the *vector-matrix* product, as the lecture says. The dot product is one matrix product
# without a tanh for each pair, and *much faster and more space-efficient in practice, since it can
# be implemented using highly optimized matrix multiplication code* (Vaswani et al., 2017, section
# 3.2.1).
#
# **Exercise 2.** A window compares fewer pairs. How many does local-m see, with
# $T = S = 1000$ and $D = 10$? Global attention compares a million.

# %%
pairs = None  # your answer

# %% tags=["check"]
seen = ops.convert_to_numpy(window(np.arange(1000)[None], 1000, 10))
if pairs == seen.sum():
    print(f"Right. {seen.mean():.1%} of the pairs; and it grows with T alone.")
else:
    print("Not yet. A window has 2 D + 1 positions, but the first and the last are cut off.")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# pairs = 1000 * 21 - 2 * sum(range(1, 11))
# ```
#
# The first window lacks 10 positions, the second 9, and so on, and so at the end. The package's
# layers compute all scores and mask them, since one large product is so fast; what they gain from
# a window is not time but the right answer, as the next section shows.
#
# </details>

# %% [markdown]
# ## 3 · Four tasks
#
# In each task a memory of keys and values is new in every example. A value is one of ten labels,
# and the queries ask for some of them. The functions below return the inputs, the labels, and where
# these stand in the memory.
#
# - **flag**: one of fifty positions has a flag, anywhere. The query says nothing.
# - **unsteady copy**: query t asks for position t, give or take one, by its key; but every key
#   comes four times in the memory.
# - **stretched time**: there is a flag among every eight positions, all alike. The t-th query asks
#   for the t-th flag, and says only what time it is.
# - **places**: the t-th query asks for entry t of a list whose places are always the same, and the
#   keys are noise.

# %%
LABELS, BATCH = 10, 128
PLACES = np.random.default_rng(0).permutation(8)


def as_task(rng, query, keys, where):
    """Draw labels into the memory: return inputs by name, labels (B, T), where they stand."""
    values = rng.integers(LABELS, size=keys.shape[:2], dtype="int32")
    inputs = {"query": query.astype("float32"), "keys": keys.astype("float32"), "values": values}
    return inputs, np.take_along_axis(values, where, axis=1), where


def flag(rng, count, length=50, noise=0.1):
    """Flag one position: a 1 in the first feature; the other features are noise."""
    where = rng.integers(length, size=(count, 1))
    keys = rng.normal(scale=noise, size=(count, length, 8))
    keys[..., 0] = np.arange(length) == where
    return as_task(rng, np.ones((count, 1, 8)), keys, where)


# %%
def unsteady_copy(rng, count, phrase=6, times=4):
    """Ask in order, give or take one position, for keys that come back later."""
    length = phrase * times
    keys = np.tile(rng.normal(size=(count, phrase, 8)), (1, times, 1))
    where = np.arange(length) + rng.integers(-1, 2, size=(count, length))
    where = np.clip(where, 0, length - 1)
    return as_task(rng, np.take_along_axis(keys, where[..., None], axis=1), keys, where)


def stretched_time(rng, count, stretch=8, steps=4):
    """Flag one position of every eight; the query is the time, from −1 to 1, and a 1."""
    where = stretch * np.arange(steps) + rng.integers(2, stretch - 2, size=(count, steps))
    keys = rng.normal(scale=0.1, size=(count, stretch * steps, 4))
    keys[np.arange(count)[:, None], where, 0] += 1
    query = np.stack([np.linspace(-1, 1, steps), np.ones(steps)], axis=-1)
    return as_task(rng, np.tile(query, (count, 1, 1)), keys, where)


# %%
def places(rng, count):
    """Ask for all entries of a list by their numbers; its places are always the same."""
    keys = rng.normal(size=(count, len(PLACES), 8))
    query = np.tile(np.eye(len(PLACES)), (count, 1, 1))
    return as_task(rng, query, keys, np.tile(PLACES, (count, 1)))


# %% [markdown]
# ### One model for all
#
# Every model is the same functional one: an attention layer of the package reads labels, as
# one-hot vectors, and a dense layer names what was read. Beside it stands a second view of the same
# layers, which returns the weights.


# %%
def symbolic(task):
    """Return symbolic inputs of a task by name."""
    example, _, _ = task(np.random.default_rng(0), 1)
    return {
        name: keras.Input(x.shape[1:], dtype=str(x.dtype), name=name) for name, x in example.items()
    }


def build_reader(attention, task):
    """Build a model that answers with an attention layer, and the view of its weights."""
    inputs = symbolic(task)
    labels = ops.one_hot(inputs["values"], LABELS)
    read, weights = attention(inputs["query"], labels, inputs["keys"], return_attention_scores=True)
    logits = keras.layers.Dense(LABELS)(read)
    return keras.Model(inputs, logits), keras.Model(inputs, weights)


build_reader(layers.ContextSensitiveMemory("general"), flag)[0].summary(line_length=96)

# %% quick="STEPS, EPOCHS, TESTS = 2, 1, 50"
STEPS, EPOCHS, TESTS = 300, 2, 1000


# %%
def train(model, task, learning_rate=3e-2):
    """Train a model on fresh examples, each of them seen once."""
    inputs, labels, _ = task(np.random.default_rng(1), BATCH * STEPS)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    if isinstance(model, models.Reinforced):
        loss = None  # it has one of its own
    model.compile(
        keras.optimizers.Adam(learning_rate),
        loss=loss,
        metrics=[keras.metrics.SparseCategoricalAccuracy(name="right")],
    )
    model.fit(
        inputs,
        labels,
        batch_size=BATCH,
        steps_per_epoch=STEPS // EPOCHS,
        epochs=EPOCHS,
        verbose=2,
    )


# %%
def share_right(model, task):
    """Return the share of right labels in examples that are new."""
    inputs, labels, _ = task(np.random.default_rng(2), TESTS)
    outputs = model(inputs, training=False)
    logits = outputs["logits"] if isinstance(outputs, dict) else outputs
    return np.mean(ops.convert_to_numpy(logits).argmax(axis=-1) == labels)


# %% [markdown]
# Each task is given to four attentions. All compare by content with the score `"general"`,
# $q^\top W k$, except for location, which has no keys to compare with.

# %%
ATTENTIONS = {
    "global": lambda width: layers.ContextSensitiveMemory("general"),
    "local-m": lambda width: layers.MonotonicLocalAttention(width, "general"),
    "local-p": lambda width: layers.PredictiveLocalAttention(width, "general", units=16),
    "location": lambda width: layers.ContextSensitiveMemory(layers.scores.LocationScore(64)),
}
learned, shares = {}, {}


def compare(task, half_width):
    """Train each attention on a task; keep its layer, the view of its weights and its share."""
    for name, build in ATTENTIONS.items():
        print(f"{task.__name__}, {name}")
        keras.utils.set_random_seed(0)
        attention = build(half_width)
        model, view = build_reader(attention, task)
        train(model, task)
        learned[task, name] = attention, view
        shares[task, name] = share_right(model, task)


# %%
def looks(task, names, count=1):
    """Return new inputs, the weights (count, T, S) of some attentions, where the labels stood."""
    inputs, _, where = task(np.random.default_rng(3), count)
    views = {name: learned[task, name][1] for name in names}
    weights = {
        f"{name}: {shares[task, name]:.2f} right": ops.convert_to_numpy(view(inputs))
        for name, view in views.items()
    }
    return inputs, weights, where


# %%
def draw(panels, where, title, side="query", step=1, columns=None):
    """Draw weights (T, S) side by side; an outlined cell is what was asked for."""
    rows, length = next(iter(panels.values())).shape
    return plotting.plot_attention_grid(
        panels,
        [str(j) if j % step == 0 else "·" for j in range(length)],
        [str(t) if t % step == 0 else "·" for t in range(rows)],
        links=[(place, t) for t, place in enumerate(where)],
        outlined="what was asked for",
        axis_names=(side, "position in the memory"),
        vmax=1,
        columns=columns,
        title=title,
    )


# %% [markdown]
# ### Global: the flag may be anywhere

# %%
compare(flag, half_width=2)

# %%
_, weights, where = looks(flag, ("global", "location"), 12)
panels = {name: each[:, 0] for name, each in weights.items()}
draw(panels, where[:, 0], "flag: twelve examples", side="example", step=5, columns=1)
plt.show()

# %% [markdown]
# Each row is another example. Only who looks everywhere finds the flag. Attention by location has
# nothing to go by: its query is always the same, so its rows are all alike.
#
# ### Local, in step: the window tells equal keys apart
#
# Every key comes four times. A global look has four equal scores, and reads the mean of four
# labels. A window around t holds only one of the four.

# %%
compare(unsteady_copy, half_width=2)

# %%
_, weights, where = looks(unsteady_copy, ("local-m", "global"))
panels = {name: each[0] for name, each in weights.items()}
maps = draw(panels, where[0], "unsteady copy: ◆ is the centre p = t, its line the window", step=4)
mark_centres(maps[0], np.arange(len(where[0])), 2)
plt.show()

# %% [markdown]
# The diamonds go down the diagonal, one step a query. Within its window local-m chooses by content,
# and finds the position before or after when that is the one.
#
# ### Local, predicted: the query tells the place
#
# All flags look alike, and which one is meant follows from the time. Local-p has to learn
# at which position to expect it; then it finds the exact place by content.

# %%
compare(stretched_time, half_width=8)

# %% [markdown]
# The centres are not in the weights. `predicted_centres` computes them from the queries and the
# layer's own kernels, by the equation of section 1.


# %%
def centres_of(task, inputs):
    """Return the centres (T,) that the trained local-p predicts; print them beside the labels."""
    layer, _ = learned[task, "local-p"]
    lengths = np.full((1, 1), inputs["keys"].shape[1])
    centres = predicted_centres(inputs["query"], layer.position_kernel, layer.position_v, lengths)
    centres = ops.convert_to_numpy(centres)[0]
    _, _, many = task(np.random.default_rng(4), TESTS)
    for t, (centre, mean) in enumerate(zip(centres, many.mean(axis=0), strict=True)):
        print(f"query {t}: predicted centre {centre:4.1f}; asked for is, on average, {mean:4.1f}")
    return centres


# %%
inputs, weights, where = looks(stretched_time, ("local-p", "global"))
panels = {name: each[0] for name, each in weights.items()}
title = "stretched time: ◆ is the predicted centre, its line the window"
maps = draw(panels, where[0], title, columns=1)
mark_centres(maps[0], centres_of(stretched_time, inputs), 8)
plt.show()

# %% [markdown]
# The centres go forward with the time, a stretch a query, and are where the flag is on average.
# They depend on the query alone, so they are the same in every example; the content of the window
# says which position it is. The windows overlap, and may hold two flags: the Gaussian favours the
# one near the centre. The weights of local-p do not sum to 1, so some rows are pale.
#
# ### Location: the query alone knows
#
# The keys are noise, so comparing with them is of no use.

# %%
compare(places, half_width=2)

# %%
inputs, weights, where = looks(places, ("location", "local-p", "global"))
panels = {name: each[0] for name, each in weights.items()}
maps = draw(panels, where[0], "places: ◆ is the centre that local-p predicts, its line the window")
centres = centres_of(places, inputs)
mark_centres(maps[1], centres, 2)
plt.show()

# %% tags=["claims"]
far = np.abs(centres - PLACES)
assert list(np.flatnonzero(far > 2)) == [6]
assert far[[0, 1, 2, 3, 4, 5, 7]].max() < 0.6

# %% [markdown]
# Attention by location has one dark cell a row. Local-p predicts nearly all places as well, since
# the query alone names the centre of its window; but its Gaussian leaves some weight on the
# neighbours, and the keys do not help to choose. One query, number 6, is lost: its centre lies at
# the other end, beyond the last cell. The gradient reaches a centre through the positions of its
# window only. Once the right one is outside, nothing pulls the centre back. Which queries are lost
# is chance: with another seed there were two.
#
# ### Every attention on every task

# %%
tasks = (flag, unsteady_copy, stretched_time, places)
grid = np.array([[shares[task, name] for name in ATTENTIONS] for task in tasks])
axes = plotting.plot_attention(
    grid,
    list(ATTENTIONS),
    [task.__name__.replace("_", " ") for task in tasks],
    links=[(best, row) for row, best in enumerate(grid.argmax(axis=1))],
    outlined="the best of its row",
    axis_names=("task", "attention"),
    vmax=1,
    scale="share of right labels",
    title=f"Right labels; chance is {1 / LABELS}",
)
for (row, column), share in np.ndenumerate(grid):
    color = "white" if share > 0.6 else "black"
    axes.text(column, row, f"{share:.2f}", ha="center", va="center", color=color)
plt.show()

# %% tags=["claims"]
assert shares[flag, "global"] > 0.9 > 0.5 > shares[flag, "location"]
assert shares[unsteady_copy, "local-m"] > 0.9 > 0.5 > shares[unsteady_copy, "global"]
assert shares[stretched_time, "local-p"] > 0.9 > 0.5 > shares[stretched_time, "global"]
assert shares[places, "location"] > 0.9 > 0.5 > shares[places, "global"]
assert list(grid.argmax(axis=1)) == [0, 1, 2, 3]

# %% [markdown]
# Each row has a winner of its own. Most of the other shares are above chance: who reads the mean
# of a few labels and names the commonest is sometimes right.

# %% [markdown]
# ## 4 · Hard attention: how a choice learns
#
# Which position was picked is a number that jumps. Move a score a little, and a soft read moves a
# little; a hard read does not move at all, until it jumps.

# %%
at, memory, step = np.array([[2.0, -1.0, 0.0]]), np.array([1.0, 2.0, 4.0]), 1e-4
for name, weigh in (("soft", soft), ("hard", hard)):
    moves = [weigh(at + step * axis) - weigh(at - step * axis) for axis in np.eye(3)]
    slopes = np.array([(move @ memory).item() for move in moves]) / (2 * step)
    print(f"{name}: the read is {(weigh(at) @ memory).item():.3f}, its slopes by score {slopes}")

# %% [markdown]
# So the loss alone says nothing about how to move the scores. There are three ways out:
#
# - **Straight through** (Bengio, Léonard and Courville, 2013): read hard on the way forward, and on
#   the way back pretend that the read had been soft. It works in any model, and it is quiet. But
#   it follows the gradient of another function than the one that is computed: it is biased.
# - **REINFORCE** (Williams, 1992; Xu et al., section 4.1): draw, see what the loss was, and make
#   the draw likelier if the loss was below what one is used to, the *baseline* $b$. On average
#   $\mathbb{E}[(\ell_z - b)\, \nabla \log \alpha_z]$ is the exact gradient, whatever $b$ is. Each
#   single sample is noisy, and the baseline decides how noisy.
# - **The exact marginal**: where all positions can be tried, sum over them: $-\log \sum_z
#   \alpha_z\, p(y \mid z)$. No sampling at all, at the price of S answers.
#
# Three scores and three losses are enough to see what is unbiased, and what a baseline is for.
# The score function $\nabla \log \alpha_z$ is a one-hot vector of $z$ minus $\alpha$.

# %%
losses = np.array([1.0, 2.0, 4.0])
alpha = soft(at)[0]
exact = alpha * (losses - alpha @ losses)
print(f"{'exact gradient of the expected loss':>38}", exact)

draws = rng.choice(3, size=200_000, p=alpha)
for name, b in (("0", 0.0), ("the expected loss", alpha @ losses), ("100", 100.0)):
    estimates = (losses[draws] - b)[:, None] * (np.eye(3)[draws] - alpha)
    spread = estimates.var(axis=0).sum()
    print(f"{'REINFORCE, mean; baseline ' + name:>38}", estimates.mean(axis=0), end="")
    print(f"  variance of one sample: {spread:9.3f}")

# %% [markdown]
# All three means are near the exact gradient. How near one may expect them to be, the variance says:
# the root of variance / 200,000 is 0.002 for the expected loss, 0.004 for 0, and 0.11 for 100.
#
# **Exercise 3.** The expected loss is a good baseline, but not the best constant one. Find the
# `baseline` with the smallest variance. `variance` computes it without sampling.


# %%
def variance(b):
    """Return the variance of one sample of REINFORCE, summed over the three scores."""
    estimates = (losses - b)[:, None] * (np.eye(3) - alpha)  # a row for each pick z
    return alpha @ (estimates**2).sum(axis=1) - (exact**2).sum()


baseline = None  # your answer

# %% tags=["check"]
least = min(variance(b) for b in np.linspace(losses.min(), losses.max(), 3001))
found = np.inf if baseline is None else variance(baseline)
if found < least + 1e-4:
    print(
        f"Right. Variance {found:.3f}; with the expected loss it is {variance(alpha @ losses):.3f}."
    )
else:
    print("Not yet. The variance is a parabola in b. Weigh each loss by α_z |∇ log α_z|².")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# sizes = ((np.eye(3) - alpha) ** 2).sum(axis=1)  # |∇ log α_z|²
# baseline = (alpha * sizes) @ losses / (alpha @ sizes)
# ```
#
# The mean does not depend on $b$, so only $\sum_z \alpha_z (\ell_z - b)^2 |\nabla \log \alpha_z|^2$
# has to be small, and its derivative is 0 at that weighted mean. A model does not know these sizes;
# `models.Reinforced` keeps a moving mean of the losses, or learns a baseline from the input.
#
# </details>

# %% [markdown]
# ### The same model, three ways to learn
#
# Now with a model: one flag among eight positions, under noise as strong as the flag itself. The
# read is hard in all three. *The loss alone* has no help. `models.Reinforced` adds to the loss $\ell$
# the term $\mathrm{sg}(\ell - b) \ln \alpha_z - \lambda H(\alpha)$, where sg stands for
# `stop_gradient`. The baseline $b$ becomes $0.9\,b + 0.1\,\bar\ell$ after every batch. The entropy
# $H$, with $\lambda = 0.01$, keeps the choice open for a while.


# %%
def flag_of_eight(rng, count):
    """Flag one of eight positions, in strong noise."""
    return flag(rng, count, length=8, noise=1.0)


def build_hard_reader(way):
    """Build a model that reads one position; `way` is what brings a gradient to the choice."""
    inputs = symbolic(flag_of_eight)
    attention = layers.HardAttention("general", way == "straight through", seed=0)
    labels = ops.one_hot(inputs["values"], LABELS)
    read, weights, distribution = attention(
        inputs["query"], labels, inputs["keys"], return_distribution=True
    )
    logits, view = keras.layers.Dense(LABELS)(read), keras.Model(inputs, [weights, distribution])
    if way != "REINFORCE":
        return keras.Model(inputs, logits), view
    outputs = {"logits": logits, "weights": weights, "distribution": distribution}
    return models.Reinforced(inputs, outputs, entropy_weight=0.01), view


# %%
# Keras warns that a weight has no gradient: this is what "the loss alone" is to show.
warnings.filterwarnings("ignore", message="Gradients do not exist")
hard_shares, panels = {}, {}
inputs, _, where = flag_of_eight(np.random.default_rng(3), 12)
for way in ("the loss alone", "straight through", "REINFORCE"):
    print(way)
    keras.utils.set_random_seed(0)
    model, view = build_hard_reader(way)
    train(model, flag_of_eight)
    hard_shares[way] = share_right(model, flag_of_eight)
    weights, distribution = map(ops.convert_to_numpy, view(inputs))
    panels[f"{way}: {hard_shares[way]:.2f} right"] = distribution[:, 0]

# %%
draw(panels, where[:, 0], "From what a position is drawn: twelve examples", side="example")
plt.show()
read = np.count_nonzero(weights, axis=-1).mean()
print(f"positions that are read: {read:.0f} of {weights.shape[-1]}")

# %% tags=["claims"]
assert hard_shares["straight through"] > 0.9
assert hard_shares["REINFORCE"] > 0.9
assert hard_shares["the loss alone"] < 0.5

# %% [markdown]
# With the loss alone the distribution stays as it began, and the model learns at most what to say
# on average. The other two find the flag.
#
# **The lazy processor.** *We've assumed a pretty diligent sequential processor, which knows to check
# every input datapoint as it arrives*, says the lecture. *What if we had a lazy one, which [...]
# tried to process only those inputs that seemed really crucial?* Hard attention is one: it reads a
# single value, and the others need not even be computed. But this one is only half lazy. To choose
# among S keys it scores all S. A processor that is lazy through and through decides from what it has
# read already where to look next, and never sees the rest:
# [notebook 8](08_captions_and_glimpses.ipynb) trains such an eye, by REINFORCE.
#
# ### Where a mixture is no answer
#
# Why read hard at all, when soft is so easy to train? Because a mean of two answers may be a third
# one. Here *two* positions have a flag, and the label of either is right. The values are points on
# a circle, ten labels all the way round; halfway between two of them lies nothing, or another
# label. The marginal asks for the answer of each position, and mixes the *probabilities* of the
# answers; the soft read mixes the points.


# %%
def two_flags(rng, count, length=8):
    """Flag two positions; the label is that of either, and nothing says which."""
    where = rng.permuted(np.tile(np.arange(length), (count, 1)), axis=1)[:, :2]
    keys = rng.normal(scale=0.1, size=(count, length, 8))
    keys[np.arange(count)[:, None], where, 0] += 1
    inputs, labels, where = as_task(rng, np.ones((count, 1, 8)), keys, where)
    return inputs, labels[:, :1], where


def build_circle_reader(marginal):
    """Read points of a circle; sum over the answers of all positions, or over the points."""
    inputs, name_label = symbolic(two_flags), keras.layers.Dense(LABELS)
    angles = ops.cast(inputs["values"], "float32") * (2 * np.pi / LABELS)
    points = ops.stack([ops.cos(angles), ops.sin(angles)], axis=-1)
    read, weights = layers.ContextSensitiveMemory("general")(
        inputs["query"], points, inputs["keys"], return_attention_scores=True
    )
    if not marginal:
        return keras.Model(inputs, name_label(read))
    each = ops.swapaxes(ops.log_softmax(name_label(points), axis=-1), 1, 2)  # log p(label | z)
    return keras.Model(inputs, marginal_log_likelihood(weights, each)[:, None])


# %%
def share_possible(model):
    """Return the share of answers that are the label of one of the two flags."""
    inputs, _, where = two_flags(np.random.default_rng(2), TESTS)
    answers = ops.convert_to_numpy(model(inputs)).argmax(axis=-1)
    return np.any(answers == np.take_along_axis(inputs["values"], where, 1), axis=1).mean()


possible = {}
for name in ("soft read", "exact marginal"):
    print(name)
    keras.utils.set_random_seed(0)
    model = build_circle_reader(marginal=name == "exact marginal")
    train(model, two_flags)
    possible[name] = share_possible(model)
for name, share in possible.items():
    print(f"{name:>14}: {share:.3f} of the answers are one of the two labels")

# %% tags=["claims"]
assert possible["exact marginal"] > 0.9 > 0.6 > possible["soft read"]

# %% [markdown]
# (Right in the lines of the training is one label of the two, which nobody can know: at best about
# half of them.)
#
# ## 5 · Content, location, and the last look
#
# A word of four sounds is spoken three times, each time with other labels, and all twelve labels
# are wanted in order. The query is the sound that comes next. Content finds that sound three times,
# with three equal scores. Location cannot know either: the same query comes three times and means
# three places. What tells them apart is *where one has looked before*. The lecture asks for it
# twice: *explicitly remember past alignments*, and *mix content-based and location-based
# attentions*.

# %%
plotting.diagram("past-alignments")

# %% [markdown]
# The diagram has the sum of all past weights; [notebook 11](11_long_memories.ipynb) trains it. Here
# the last weights are enough. `LocationAwareAttention` (Chorowski et al., 2015, eq. 8 and 9)
# convolves them with a small filter, and adds what comes out to an additive score:
#
# $$ f_t = F * \alpha_{t-1}, \qquad
#    e_{tj} = v^\top \tanh(W q_t + U k_j + V f_{tj} + b) $$
#
# | letter | what it is | shape |
# | --- | --- | --- |
# | $\alpha_{t-1}$ | the weights of the last step | (B, S) |
# | $F$ | filters, convolved along the memory | (taps, channels) |
# | $f_{tj}$ | what position j knows of the last look | (B, S, channels) |
#
# **Exercise 4.** Do it by hand. Write `expected`, which turns the weights of the last step (S,)
# into a feature (S,) that is large where the next look should be. The check adds it to a score by
# content, and looks hard.


# %%
def expected(last):
    return np.zeros_like(last)  # your answer


# %% tags=["check"]
sounds = np.tile(np.eye(4), (3, 1))  # twelve positions
last = np.eye(12)[0]  # begins at the first
looked_at = [0]
for sound in sounds[1:]:
    last = hard((sounds @ sound + expected(last))[None])[0]
    looked_at.append(int(last.argmax()))
verdict = (
    "Right." if looked_at == list(range(12)) else "Not yet. Where is one step after the last look?"
)
print(verdict, "Positions, in order:", looked_at)

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# def expected(last):
#     return np.concatenate([[0.0], last[:-1]])
# ```
#
# It is a convolution with a filter of three taps, of which one is 1: the weights, moved one place
# to the right. Content alone always finds the first word.
#
# </details>


# %%
def repeated_word(rng, count, sounds=4, times=3):
    """Speak a word of four sounds three times, and ask for its labels in order."""
    word = rng.permuted(np.tile(np.arange(sounds), (count, 1)), axis=1)
    keys = np.eye(sounds)[np.tile(word, (1, times))]
    return as_task(rng, keys, keys, np.tile(np.arange(sounds * times), (count, 1)))


LAYERS = {
    "content": layers.AdditiveAttention(32),
    "location": layers.ContextSensitiveMemory(layers.scores.LocationScore(12)),
    "content and last look": layers.LocationAwareAttention(32),
}
for name, attention in LAYERS.items():
    print(name)
    keras.utils.set_random_seed(0)
    model, view = build_reader(attention, repeated_word)
    train(model, repeated_word, learning_rate=1e-2)
    learned[repeated_word, name] = attention, view
    shares[repeated_word, name] = share_right(model, repeated_word)

# %%
_, weights, where = looks(repeated_word, LAYERS)
panels = {name: each[0] for name, each in weights.items()}
draw(
    panels, where[0], "A word of four sounds, three times: where does each step look?", side="step"
)
plt.show()

# %% tags=["claims"]
assert shares[repeated_word, "content and last look"] > 0.9
assert shares[repeated_word, "content"] < 0.6
assert shares[repeated_word, "location"] < 0.6

# %% [markdown]
# Content sees three equal places in each row. Location sees nothing at all, since the word is a new
# one in each example. With the last look each step goes one place on.
#
# ## 6 · Slips that one meets in lecture notes
#
# - In a list of "soft" and "hard", *stochastic, approximate gradient, O(1), harder to train*
#   sometimes ends up below *soft*. It belongs to *hard*; *deterministic, exact gradient, O(input
#   size), easy* belongs to soft. And O(1) counts the values that are read: a hard attention that is
#   to choose among S positions still scores them all.
# - "Deterministic hard attention has no gradient": the argmax has none, as section 4 printed. That
#   is why training draws, or goes straight through. Exact gradients are there where one can sum over
#   all choices: the marginal above, or CTC, which sums over all monotone alignments
#   ([notebook 11](11_long_memories.ipynb)).
# - $\alpha_{i,i} = \mathrm{softmax}(W_a s_i)$ for location: the softmax gives a row,
#   $\alpha_{i,:}$. $W_a$ has as many rows as the longest source has positions; $W$ above has them as
#   columns, since the code multiplies from the right.
#
# Next: [6 · A memory that is written as well](06_neural_turing_machine.ipynb), whose heads use
# content *and* location, and write as well as read. In the documentation:
# [Which attention should I use?](https://github.com/keras-attention/keras_attention/blob/main/docs/choosing.md),
# and the pages of `layers.HardAttention`, `layers.MonotonicLocalAttention` and
# `layers.PredictiveLocalAttention`. `keras-attention lab estimators` measures bias and variance of
# the ways to train a choice.

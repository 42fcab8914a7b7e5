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
# at. *Runs in about three minutes on a CPU; no accelerator needed.*

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
from keras import layers

from keras_attention import ops
from keras_attention.layers import (
    AdditiveAttention,
    ContextSensitiveMemory,
    HardAttention,
    LocationAwareAttention,
    MonotonicLocalAttention,
    PredictiveLocalAttention,
)
from keras_attention.layers.scores import LocationScore
from keras_attention.models import Reinforced

QUICK = bool(os.environ.get("KERAS_ATTENTION_QUICK"))  # set by the tests: fewer steps
keras.utils.set_random_seed(0)
np.set_printoptions(precision=3, suppress=True)

# %% [markdown]
# ## What the papers say
#
# - **Soft or hard.** Xu et al. (2015), *Show, attend and tell*, describe a captioner in both ways.
#   The soft one (section 4.2) reads the weighted mean of all regions of a picture; it is
#   deterministic, and backpropagation does the rest. The hard one (section 4.1) draws one region
#   from the same weights and reads that alone; the draw has no gradient, so that training has to
#   estimate one.
# - **Global or local.** Luong, Pham and Manning (2015), section 3.2, look at a window of the source
#   only. Its centre goes in step with the target (local-m), or is predicted from the state of the
#   decoder (local-p, eq. 9), and then positions near the centre count for more (eq. 10).
# - **Content or location.** The scores of all these compare the query with what is *in* the memory.
#   The location score of the same paper (section 3.1, eq. 8) does not look: the query alone says at
#   which position to read.
#
# ## The equations
#
# All four begin with scores $e_{tj}$ for the query $q_t$ and the keys $k_1, \dots, k_S$, or, the
# last, without the keys.
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
# | letter | name | shape |
# | --- | --- | --- |
# | $q_t$, $k_j$, $v_j$ | query, keys, values | (B, T, Q), (B, S, K), (B, S, D) |
# | $e_{tj}$, $\alpha_{tj}$ | scores, before the softmax, and weights, after it | (B, T, S) |
# | $z_t$ | the position that was picked | (B, T) |
# | $p_t$ | centre of the window, counted from 0; $D$ is half its width | (B, T) |
# | $W$ of location | a column for each position of the longest memory | (Q, S) |

# %% [markdown]
# ## Four ways in a few lines
#
# From one row of scores:


# %%
def soft(scores, seen=True):
    """Turn scores (T, S) into weights over the positions that are seen."""
    shares = np.where(seen, np.exp(scores - scores.max(axis=-1, keepdims=True)), 0.0)
    return shares / shares.sum(axis=-1, keepdims=True)


def hard(scores, rng=None):
    """Pick one position: the likeliest, or one that is drawn."""
    alpha = soft(scores)
    if rng is None:
        picks = alpha.argmax(axis=-1)
    else:
        picks = np.array([rng.choice(len(row), p=row) for row in alpha])
    return np.eye(scores.shape[-1])[picks]


def local(scores, centres, half_width, gaussian=False):
    """Look into a window around each centre (T,), and favour its middle on request."""
    distance = np.arange(scores.shape[-1]) - centres[:, None]
    alpha = soft(scores, np.abs(distance) <= half_width)
    return alpha * np.exp(-0.5 * (distance / (half_width / 2)) ** 2) if gaussian else alpha


def by_location(query, kernel):
    """Let the query (T, Q) name the position: no keys."""
    return soft(query @ kernel)


# %% [markdown]
# The same functions are in `keras_attention.ops`, which has them for batches, with masks and in
# float32 under every dtype policy:

# %%
rng = np.random.default_rng(1)
T, S, Q, D = 3, 11, 5, 2
scores, values = rng.normal(scale=1.5, size=(T, S)), rng.normal(size=(S, D))
query, kernel = rng.normal(size=(T, Q)), rng.normal(size=(Q, S))
centres = np.array([2.0, 5.4, 9.0])
one_batch = scores[None].astype("float32"), values[None].astype("float32")

for name, own, found in (
    ("soft", soft(scores), ops.lookup(*one_batch)),
    ("hard", hard(scores), ops.hard_lookup(*one_batch)),
    ("local-m", local(scores, centres, 2), ops.local_lookup(*one_batch, centres[None], 2)),
    (
        "local-p",
        local(scores, centres, 2, gaussian=True),
        ops.local_lookup(*one_batch, centres[None], 2, favour="weights"),
    ),
    (
        "location",
        by_location(query, kernel),
        ops.lookup(
            ops.location(query[None].astype("float32"), kernel.astype("float32"), S), one_batch[1]
        ),
    ),
):
    np.testing.assert_allclose(np.array(found.weights)[0], own, atol=1e-5)
    np.testing.assert_allclose(np.array(found.read)[0], own @ values, atol=1e-5)
    print(f"{name:>8}: equal; the first row of weights sums to {own[0].sum():.3f}")

# %% [markdown]
# (The weights of local-p sum to less than 1: the Gaussian multiplies them after the softmax, as in
# eq. 10. The authors' later code multiplies the scores instead; that is `favour="scores"`.)

# %%
row = np.array([[0.4, 1.9, 0.2, 1.2, 0.8, 1.5, 0.1, 0.9, 2.2, 0.3, 1.1, 0.6]])
ways = {
    "soft: everywhere a little": soft(row),
    "hard: one position": hard(row),
    "local-m: a window around 4": local(row, np.array([4.0]), 2),
    "local-p: favours its middle, 4.3": local(row, np.array([4.3]), 2, gaussian=True),
}
figure, panels = plt.subplots(1, 4, figsize=(9, 2.6), layout="constrained", sharey=True)
for panel, (name, weights) in zip(panels, ways.items(), strict=True):
    panel.bar(range(row.size), weights[0], color="#0072b2")
    panel.set_title(name, fontsize=9)
    panel.set_xlabel("position j")
panels[0].set_ylabel("weight")
figure.suptitle("Four readings of the same twelve scores")
plt.show()

# %% [markdown]
# ## Four tasks
#
# In each of them a memory of keys and values is new in every example, a value is one of ten labels,
# and asked for are the labels that belong to the queries. The functions below return the inputs,
# the labels, and where those stand in the memory.
#
# - **flag**: one of fifty positions has a flag, anywhere. The query says nothing.
# - **unsteady copy**: query t asks for position t, give or take one, by its key; but every key
#   comes four times in the memory.
# - **stretched time**: there is a flag among every eight positions, all alike; the t-th query asks
#   for the t-th flag, and says only what time it is.
# - **places**: the t-th query asks for entry t of a list whose places are always the same, and the
#   keys are noise.

# %%
LABELS, BATCH = 10, 128
PLACES = np.random.default_rng(0).permutation(8)


def flag(rng, count, length=50, noise=0.1):
    """Flag one position: a 1 in the first feature; the other features are noise."""
    where = rng.integers(length, size=(count, 1))
    keys = rng.normal(scale=noise, size=(count, length, 8))
    keys[..., 0] = np.arange(length) == where
    return as_task(rng, np.ones((count, 1, 8)), keys, where)


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
    time = np.stack([np.linspace(-1, 1, steps), np.ones(steps)], axis=-1)
    return as_task(rng, np.tile(time, (count, 1, 1)), keys, where)


def places(rng, count):
    """Ask for all entries of a list by their numbers; its places are always the same."""
    keys = rng.normal(size=(count, len(PLACES), 8))
    query = np.tile(np.eye(len(PLACES)), (count, 1, 1))
    return as_task(rng, query, keys, np.tile(PLACES, (count, 1)))


def as_task(rng, query, keys, where):
    """Draw the labels in the memory: return inputs by name, labels (B, T), where they stand."""
    values = rng.integers(LABELS, size=keys.shape[:2], dtype="int32")
    inputs = {"query": query.astype("float32"), "keys": keys.astype("float32"), "values": values}
    return inputs, np.take_along_axis(values, where, axis=1), where


# %% [markdown]
# Every model is the same: an attention layer of the package between queries, keys and labels as
# one-hot vectors, and a dense layer that names what was read. Beside it stands a second view of the
# same layers, which returns the weights.


# %%
def symbolic(task):
    """Return symbolic inputs of a task by name."""
    example, _, _ = task(np.random.default_rng(0), 1)
    return {
        name: keras.Input(x.shape[1:], dtype=str(x.dtype), name=name) for name, x in example.items()
    }


def reader(attention, task):
    """Build a model that answers with an attention layer, and the view of its weights."""
    inputs = symbolic(task)
    labels = keras.ops.one_hot(inputs["values"], LABELS)
    read, weights = attention(
        inputs["query"], value=labels, key=inputs["keys"], return_attention_scores=True
    )
    return keras.Model(inputs, layers.Dense(LABELS)(read)), keras.Model(inputs, weights)


def train(model, task, steps=300, learning_rate=3e-2):
    """Train a model on fresh examples."""
    inputs, labels, _ = task(np.random.default_rng(1), BATCH * (2 if QUICK else steps))
    has_own_loss = isinstance(model, Reinforced)
    model.compile(
        keras.optimizers.Adam(learning_rate),
        loss=None if has_own_loss else keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=not QUICK and keras.backend.backend() != "torch",
        run_eagerly=QUICK,
    )
    with warnings.catch_warnings():
        # Weights that no gradient reaches are what some of these models are to show.
        warnings.filterwarnings("ignore", message="Gradients do not exist")
        model.fit(inputs, labels, batch_size=BATCH, verbose=0)


def share_right(model, task):
    """Return the share of right labels in 1,000 examples that are new."""
    inputs, labels, _ = task(np.random.default_rng(2), 1000)
    outputs = model(inputs, training=False)
    logits = outputs["logits"] if isinstance(outputs, dict) else outputs
    return float(np.mean(np.argmax(np.array(logits), axis=-1) == labels))


def show(panels, where, title, rows="query", height=3.2):
    """Draw weights (rows, S) side by side; a frame marks what was asked for."""
    figure, axes = plt.subplots(
        1, len(panels), figsize=(9, height), layout="constrained", sharey=True
    )
    for ax, (name, weights) in zip(axes, panels.items(), strict=True):
        image = ax.imshow(weights, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        ax.scatter(
            where, np.arange(len(where)), marker="s", s=40, facecolors="none", edgecolors="#d55e00"
        )
        ax.set_title(name, fontsize=10)
        ax.set_xlabel("position in the memory")
        ax.xaxis.get_major_locator().set_params(integer=True)
    axes[0].set_ylabel(rows)
    figure.colorbar(image, ax=axes, label="weight", shrink=0.9)
    figure.suptitle(title)
    plt.show()


# %% [markdown]
# ### Every attention on every task
#
# All of them compare by content with the same score, `"general"`, $q^\top W k$, but for location,
# which has none.

# %%
half_widths = {flag: 2, unsteady_copy: 2, stretched_time: 8, places: 2}
attentions = {
    "global": lambda task: ContextSensitiveMemory("general"),
    "local-m": lambda task: MonotonicLocalAttention(half_widths[task], "general"),
    "local-p": lambda task: PredictiveLocalAttention(half_widths[task], "general", units=16),
    "location": lambda task: ContextSensitiveMemory(LocationScore(longest=64)),
}
views, shares = {}, np.zeros((len(half_widths), len(attentions)))
for row, task in enumerate(half_widths):
    for column, (name, attention) in enumerate(attentions.items()):
        keras.utils.set_random_seed(0)
        model, views[task, name] = reader(attention(task), task)
        train(model, task)
        shares[row, column] = share_right(model, task)

task_names = [task.__name__.replace("_", " ") for task in half_widths]
figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
image = ax.imshow(shares, vmin=0, vmax=1, cmap="viridis", aspect="auto")
for (row, column), share in np.ndenumerate(shares):
    color = "black" if share > 0.6 else "white"
    ax.text(column, row, f"{share:.2f}", ha="center", va="center", color=color)
ax.set_xticks(range(len(attentions)), attentions)
ax.set_yticks(range(len(task_names)), task_names)
ax.set(xlabel="attention", ylabel="task")
ax.set_title(f"Share of right labels; chance is {1 / LABELS}")
figure.colorbar(image)
plt.show()

# %% [markdown]
# Each row has a winner of its own. The last task has a second one: local-p comes near to location
# there, since the centre of its window is named by the query alone as well. Its Gaussian leaves
# some weight on the neighbours, though, and the keys, which are noise, are no help in choosing.
# (Who reads the mean of a few labels and names the commonest of them is above chance; that is what
# most of the other figures are.)
#
# ### What they looked at
#
# **Soft, global.** The flag may be anywhere, and only who looks everywhere finds it. Each row is
# another example; a frame is where the flag was. Beside it the attention by location, which has
# nothing to go by.


# %%
def weights_of(view, task, count=1):
    """Return the weights of some new examples, and where the labels stood."""
    inputs, _, where = task(np.random.default_rng(3), count)
    return np.array(view(inputs, training=False)), where


panels = {}
for name in ("global", "location"):
    weights, where = weights_of(views[flag, name], flag, 12)
    panels[name] = weights[:, 0]
show(panels, where[:, 0], "flag: twelve examples, fifty positions", rows="example")

# %% [markdown]
# **Local, in step.** Every key comes four times, so that a global look has four equal scores, and
# reads the mean of four labels. A window around t holds only one of the four.

# %%
panels = {}
for name in ("local-m", "global"):
    weights, where = weights_of(views[unsteady_copy, name], unsteady_copy)
    panels[name] = weights[0]
show(panels, where[0], "unsteady copy: only the window tells four equal keys apart", height=4.2)

# %% [markdown]
# **Local, predicted.** All flags look alike, and which one is meant follows from the time. Local-p
# learns at which position to expect it, and finds the exact place by content.

# %%
panels = {}
for name in ("local-p", "global"):
    weights, where = weights_of(views[stretched_time, name], stretched_time)
    panels[name] = weights[0]
show(panels, where[0], "stretched time: the query predicts where to look", height=2.8)

# %% [markdown]
# **Location.** The keys are noise, so comparing with them is of no use; the query alone knows the
# place.

# %%
panels = {}
for name in ("location", "global"):
    weights, where = weights_of(views[places, name], places)
    panels[name] = weights[0]
show(
    panels, where[0], "places: the query names the position, and the keys do not matter", height=3.4
)

# %%
if not QUICK:
    found = {
        (t, a): shares[i, j] for i, t in enumerate(half_widths) for j, a in enumerate(attentions)
    }
    assert found[flag, "global"] > 0.9 > 0.5 > found[flag, "location"]
    assert found[unsteady_copy, "local-m"] > 0.9 > 0.5 > found[unsteady_copy, "global"]
    assert found[stretched_time, "local-p"] > 0.9 > 0.5 > found[stretched_time, "global"]
    assert found[places, "location"] > 0.9 > 0.5 > found[places, "global"]

# %% [markdown]
# ## Hard attention: how a choice learns
#
# Which position was picked is a number that jumps, so the loss alone says nothing about how to move
# the scores. There are three ways out:
#
# - **Straight through** (Bengio, Léonard and Courville, 2013): read hard on the way forward, and on
#   the way back pretend that the read had been soft. It works in any model, it is quiet, and it
#   follows the gradient of another function than the one that is computed: it is biased.
# - **REINFORCE** (Williams, 1992; Xu et al., section 4.1): draw, see what the loss was, and make
#   the draw likelier if the loss was below what one is used to, the *baseline* $b$:
#   $\mathbb{E}[(\ell_z - b)\, \nabla \log \alpha_z]$ is the exact gradient on average, whatever $b$
#   is. Each single sample is noisy, and the baseline decides how noisy.
# - **The exact marginal**: where all positions can be tried, sum over them: $-\log \sum_z
#   \alpha_z\, p(y \mid z)$. No sampling at all, at the price of S answers.
#
# Three scores and three losses are enough to see what is unbiased, and what a baseline is for:

# %%
logits, losses = np.array([0.5, -0.3, 0.1]), np.array([2.0, 1.0, 4.0])
alpha = soft(logits[None])[0]
exact = alpha * (losses - alpha @ losses)
print(f"{'exact gradient of the expected loss':>38}", exact)

draws = rng.choice(3, size=200_000, p=alpha)
for name, baseline in (("0", 0.0), ("the expected loss", alpha @ losses), ("100", 100.0)):
    estimates = (losses[draws] - baseline)[:, None] * (np.eye(3)[draws] - alpha)
    print(
        f"{'REINFORCE, mean; baseline ' + name:>38}",
        estimates.mean(axis=0),
        f" variance of one sample: {estimates.var(axis=0).sum():9.3f}",
    )

# %% [markdown]
# Now with a model: one flag among eight positions, under noise as strong as the flag itself. The
# read is hard in all three; *the loss alone* has no help.


# %%
def flag_of_eight(rng, count):
    """Flag one of eight positions, in strong noise."""
    return flag(rng, count, length=8, noise=1.0)


def hard_reader(way):
    """Build a model that reads one position; `way` is what brings a gradient to the choice."""
    inputs = symbolic(flag_of_eight)
    attention = HardAttention("general", straight_through=way == "straight through", seed=0)
    labels = keras.ops.one_hot(inputs["values"], LABELS)
    read, weights, distribution = attention(
        inputs["query"], value=labels, key=inputs["keys"], return_distribution=True
    )
    logits = layers.Dense(LABELS)(read)
    view = keras.Model(inputs, distribution)
    if way != "REINFORCE":
        return keras.Model(inputs, logits), view
    outputs = {"logits": logits, "weights": weights, "distribution": distribution}
    return Reinforced(inputs, outputs, entropy_weight=0.01), view


panels, hard_shares = {}, {}
for way in ("the loss alone", "straight through", "REINFORCE"):
    keras.utils.set_random_seed(0)
    model, view = hard_reader(way)
    train(model, flag_of_eight)
    hard_shares[way] = share_right(model, flag_of_eight)
    weights, where = weights_of(view, flag_of_eight, 12)
    panels[f"{way}: {hard_shares[way]:.2f} right"] = weights[:, 0]
    print(f"{way:>17}: {hard_shares[way]:.3f} right, by chance {1 / LABELS}")
if not QUICK:
    assert hard_shares["straight through"] > 0.9
    assert hard_shares["REINFORCE"] > 0.9
    assert hard_shares["the loss alone"] < 0.5
show(panels, where[:, 0], "What a position is drawn from, twelve examples", rows="example")

# %% [markdown]
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


def circle_reader(marginal):
    """Read points of a circle; sum over the answers of all positions, or over the points."""
    inputs = symbolic(two_flags)
    angles = keras.ops.cast(inputs["values"], "float32") * (2 * np.pi / LABELS)
    points = keras.ops.stack([keras.ops.cos(angles), keras.ops.sin(angles)], axis=-1)
    to_logits = layers.Dense(LABELS)
    read, weights = ContextSensitiveMemory("general")(
        inputs["query"], value=points, key=inputs["keys"], return_attention_scores=True
    )
    if not marginal:
        return keras.Model(inputs, to_logits(read))
    each = keras.ops.log_softmax(to_logits(points), axis=-1)  # (B, S, V): log p(label | position)
    each = keras.ops.swapaxes(each, 1, 2)
    return keras.Model(inputs, ops.marginal_log_likelihood(weights, each)[:, None])


def share_possible(model):
    """Return the share of answers that are the label of one of the two flags."""
    inputs, _, where = two_flags(np.random.default_rng(2), 1000)
    answers = np.argmax(np.array(model(inputs, training=False)), axis=-1)
    return float(np.mean(np.any(answers == np.take_along_axis(inputs["values"], where, 1), axis=1)))


possible = {}
for name in ("soft read", "exact marginal"):
    keras.utils.set_random_seed(0)
    model = circle_reader(marginal=name == "exact marginal")
    train(model, two_flags)
    possible[name] = share_possible(model)
    print(f"{name:>14}: {possible[name]:.3f} of the answers are one of the two labels")
if not QUICK:
    assert possible["exact marginal"] > 0.9 > 0.6 > possible["soft read"]

# %% [markdown]
# ## Slips that one meets in lecture notes
#
# - In a list of "soft" and "hard", *stochastic, approximate gradient, O(1), harder to train*
#   sometimes ends up below *soft*. It belongs to *hard*; *deterministic, exact gradient, O(input
#   size), easy* belongs to soft. And O(1) counts the values that are read: a hard attention that is
#   to choose among S positions still scores them all.
# - "Deterministic hard attention has no gradient": the argmax has none, which is why training
#   draws, or goes straight through. Exact gradients are there where one can sum over all choices:
#   the marginal above, or CTC (`ops.ctc_loss`), which sums over all monotone alignments.
# - $\alpha_{i,i} = \mathrm{softmax}(W_a s_i)$ for location: the softmax gives a row,
#   $\alpha_{i,:}$, and $W_a$ has as many rows as the longest source has positions.
#
# ## Exercises
#
# 1. On paper: $S = 8$, $p = 3.6$, $D = 2$. Which positions does local-p see, and by how much does
#    it favour each? All scores are equal; what do the weights sum to?
# 2. A word of four sounds is spoken three times, each time with other labels, and all twelve labels
#    are wanted in order. The query is the sound that comes next. Neither content nor location can
#    do it. Why? What would an attention have to know?
#
# ## Worked answers
#
# **1.** Seen is what lies at most 2 from 3.6: positions 2, 3, 4 and 5. With $\sigma = D / 2 = 1$
# the Gaussian is $e^{-(j - 3.6)^2 / 2}$: $e^{-1.28}$, $e^{-0.18}$, $e^{-0.08}$ and $e^{-0.98}$.
# Equal scores give each position 1/4 before it.

# %%
weights = local(np.zeros((1, 8)), np.array([3.6]), 2, gaussian=True)[0]
print("weights:", weights, " sum:", weights.sum().round(3))
np.testing.assert_allclose(weights[2:6], np.exp([-1.28, -0.18, -0.08, -0.98]) / 4)

# %% [markdown]
# **2.** Content finds the sound three times, with three equal scores. Location cannot know either:
# the same query comes three times, and three places are meant. What tells them apart is *where one
# has looked before*: the next sound stands just after the last one. An attention that sees its own
# last weights, through a small convolution, has content and location at once:
# `LocationAwareAttention` (Chorowski et al., 2015).


# %%
def repeated_word(rng, count, sounds=4, times=3):
    """Speak a word of four sounds three times, and ask for its labels in order."""
    word = rng.permuted(np.tile(np.arange(sounds), (count, 1)), axis=1)
    keys = np.eye(sounds)[np.tile(word, (1, times))]
    return as_task(rng, keys, keys, np.tile(np.arange(sounds * times), (count, 1)))


panels = {}
for name, attention in (
    ("content", AdditiveAttention(32)),
    ("location", ContextSensitiveMemory(LocationScore(longest=12))),
    ("content and last look", LocationAwareAttention(32)),
):
    keras.utils.set_random_seed(0)
    model, view = reader(attention, repeated_word)
    train(model, repeated_word, learning_rate=1e-2)
    share = share_right(model, repeated_word)
    weights, where = weights_of(view, repeated_word)
    panels[f"{name}: {share:.2f} right"] = weights[0]
    print(f"{name:>22}: {share:.3f} right")
if not QUICK:
    assert share > 0.9
show(panels, where[0], "A word spoken three times: what comes after the last look?", height=3.4)

# %% [markdown]
# Next: [6 · A memory that is written as well](06_neural_turing_machine.ipynb), whose heads use
# content *and* location, and write as well as read. In the documentation:
# [Which attention should I use?](https://github.com/keras-attention/keras_attention/blob/main/docs/choosing.md),
# and the pages of `layers.HardAttention`, `layers.MonotonicLocalAttention` and
# `layers.PredictiveLocalAttention`. `keras-attention lab estimators` measures bias and variance of
# the ways to train a choice.

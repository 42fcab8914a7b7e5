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
# # 8 · Captions from frames, and an eye that moves
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/keras-attention/keras_attention/blob/main/examples/08_captions_and_glimpses.ipynb)
#
# What is attended to need not be words. A captioner looks softly at all frames of a clip, before
# each word; an eye looks hard at one place of a picture, and from there at the next. *Runs in
# about five minutes on a CPU; no accelerator needed.*

# %% tags=["install"]
# The text of this cell comes from install.py.

# %%
# On a TPU runtime Keras needs JAX: take the # away from these two lines, before Keras is imported.
# import os
# os.environ["KERAS_BACKEND"] = "jax"

import math
import os
import time

import keras
import matplotlib.pyplot as plt
import numpy as np
from keras import ops

from keras_attention import layers, models, plotting, training
from keras_attention.lab import tasks
from keras_attention.lab.tasks import clips
from keras_attention.ops import glimpse, normal_log_probability, reinforce
from keras_attention.text import START

QUICK = bool(os.environ.get("KERAS_ATTENTION_QUICK"))  # set by the tests: fewer steps
keras.utils.set_random_seed(0)

# %% [markdown]
# ## Captions: what the paper says
#
# Yao et al. (2015), *Describing videos by exploiting temporal structure*, section 3.2. A sentence
# about a video is a translation whose source is a sequence of frames; nothing else changes. Where
# the mean of all frames says that there was a circle, a square, something red and a move to the
# left, the words want to know which belongs to which. So the decoder weights the frames anew
# before every word, as Bahdanau's weights the words of a sentence. There is no correspondence of
# one frame to one word: an event lasts some frames, and takes some words, and the pauses between
# have none.
#
# ## The equation
#
# $v_i$ is the vector of frame $i$ of $S$ (a small convolutional network, and an LSTM over time),
# $s_{t-1}$ the decoder's state, $\varphi_t$ the read that goes into the next state together with
# the last word:
#
# $$e_{ti} = w^\top\tanh(W s_{t-1} + U v_i) \qquad \alpha_t = \mathrm{softmax}(e_t) \qquad
# \varphi_t = \sum_i \alpha_{ti} v_i$$
#
# The paper has a bias $b$ inside the $\tanh$; the package's score has none, and any of its many
# other biases does instead.


# %%
def softmax(scores):
    """Turn scores (S,) into weights that sum to 1."""
    return np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()


def look_over_time(state, frames, to_state, to_frames, w):
    """Return the read (D,) and the weights (S,) of a state (Q,) over frames (S, D)."""
    weights = softmax(np.tanh(state @ to_state + frames @ to_frames) @ w)
    return weights @ frames, weights


rng = np.random.default_rng(0)
state, vectors = rng.normal(size=(7,)).astype("float32"), rng.normal(size=(9, 5)).astype("float32")
attend = layers.AdditiveAttention(units=6)
read, weights = attend(state[None], vectors[None], return_attention_scores=True)
kernels = (attend.score.query_kernel, attend.score.key_kernel, attend.score.v)
our_read, our_weights = look_over_time(state, vectors, *map(ops.convert_to_numpy, kernels))
np.testing.assert_allclose(our_read, ops.convert_to_numpy(read)[0], atol=1e-5)
np.testing.assert_allclose(our_weights, ops.convert_to_numpy(weights)[0, :, 0], atol=1e-5)
print("read and weights, here and in the package: equal")

# %% [markdown]
# ## Clips
#
# Coloured shapes appear, move and vanish, one after the other, and the caption tells what happened
# in this order. Since the clips are made, it is known which frames each word is about. Pairs of
# neighbouring events that the test shows are held out of training, so nothing can be learned by
# heart.

# %%
EVENTS = 2 if QUICK else 3  # most events of a clip
UNITS, ROUNDS, CLIPS, BATCH = (8, 1, 32, 16) if QUICK else (64, 26, 1920, 64)


def draw(seed, count, events, **options):
    """Draw clips, padded to the size of those with the most events."""
    drawn = clips.draw_clips(np.random.default_rng(seed), count, events, **options)

    def padded(array, axis_length):
        missing = (EVENTS - events[1]) * (axis_length // events[1])
        return np.pad(array, [(0, 0), (0, missing)] + [(0, 0)] * (array.ndim - 2))

    frames, places = drawn.frames.shape[1], drawn.spans.shape[1]
    return drawn._replace(
        frames=padded(drawn.frames, frames),
        ids=padded(drawn.ids, places),
        spans=padded(drawn.spans, places),
    )


shown = draw(3, 1, (2, 2))
frames = shown.frames[0][shown.frames[0].any(axis=(1, 2, 3))]
_, axes = plt.subplots(1, len(frames), figsize=(9, 1.5), layout="constrained")
for number, (ax, frame) in enumerate(zip(axes, frames, strict=True), start=1):
    ax.imshow(frame)
    ax.set_title(number, fontsize=8)
    ax.set_axis_off()
plt.suptitle(" ".join(clips.words_of(shown.ids[0])), fontsize=11)
plt.show()

# %% [markdown]
# ## With attention, and with a mean
#
# Two captioners that differ in one thing: what the decoder reads before each word is a weighted
# mean of the frames, or just their mean. Training begins with clips of one event, and has soon
# clips of all lengths.


# %%
def train_captioner(model):
    """Train on fresh clips, with an event more every few rounds; return the seconds it took."""
    steps = ROUNDS * (CLIPS // BATCH)
    training.compile_for_training(
        model,
        5e-3,
        warm_up=max(steps // 20, 1),
        decay_steps=steps,
        jit_compile=False if QUICK else None,
    )
    start = time.perf_counter()
    for number in range(ROUNDS):
        most = min(1 + 2 * EVENTS * number // ROUNDS, EVENTS)
        drawn = draw([0, number], CLIPS, (1, most))
        model.fit(
            {"context": drawn.frames, "target": drawn.ids[:, :-1]},
            drawn.ids[:, 1:],
            batch_size=BATCH,
            verbose=0,
        )
    return time.perf_counter() - start


def describe(model, frames, longest):
    """Write captions, the likeliest word after the other: ids (N, T)."""
    encoded, step = models.encode(model)(frames), models.step(model)
    tokens, state, written = np.full(len(frames), START, "int32"), encoded["state"], []
    for _ in range(longest):
        logits, _, state = step(ops.convert_to_tensor(tokens), encoded["memory"], state)
        tokens = ops.convert_to_numpy(logits)[:, 1:].argmax(axis=-1).astype("int32") + 1
        written.append(tokens)
    return np.stack(written, axis=1)


def without_a_wrong_word(written, drawn):
    """Return the share of captions that are right up to their end."""
    targets = drawn.ids[:, 1:]
    return ((written == targets) | (targets == 0)).all(axis=1).mean()


numbers = range(1, EVENTS + 1)
tests = [
    draw([1, number], 20 if QUICK else 100, (number, number), held_out=True) for number in numbers
]
captioners, captions_right = {}, {}
for name in ("global", "mean"):
    model = models.build_captioner(
        frame_shape=tests[0].frames.shape[2:],
        target_vocabulary_size=len(clips.WORDS),
        units=UNITS,
        encoder_units=UNITS,
        attention=name,
        name=name,
    )
    seconds = train_captioner(model)
    longest = tests[0].ids.shape[1] - 1
    captions_right[name] = [
        without_a_wrong_word(describe(model, drawn.frames, longest), drawn) for drawn in tests
    ]
    captioners[name] = model
    print(f"{name:7} {seconds:5.0f} s; captions without a wrong word, by events:", end=" ")
    print(*(f"{number}: {100 * s:.0f} %" for number, s in enumerate(captions_right[name], 1)))

if not QUICK:
    assert captions_right["global"][-1] > captions_right["mean"][-1] + 0.2

# %%
plotting.plot_curves(
    {
        "with attention": ([*map(str, numbers)], 100 * np.array(captions_right["global"])),
        "the same, a mean in its place": (
            [*map(str, numbers)],
            100 * np.array(captions_right["mean"]),
        ),
    },
    xlabel="events in a clip",
    ylabel="captions without a wrong word, %",
    title="Pairs of events that training never showed",
)
plt.show()

# %% [markdown]
# One event can be told from the mean of its frames. With every further event the mean says less
# about who did what.
#
# ## Which frames a word looks at
#
# A clip with longer pauses than any in training. Every row is the look *before* a word; outlined
# are the frames that the word is about.

# %%
view = models.attention(captioners["global"])


def look(drawn):
    """Return the attention weights (N, T, S) before each word of the right captions."""
    seen = view({"context": drawn.frames, "target": drawn.ids[:, :-1]})
    return ops.convert_to_numpy(seen["cross_attention"][0])


most = min(3, EVENTS)
paused = draw([2, 0], 100, (most, most), held_out=True, gaps=(0, 3))
lengths = paused.frames.any(axis=(2, 3, 4)).sum(axis=1)
row = int(np.flatnonzero(lengths <= 18)[0])
words = clips.words_of(paused.ids[row])
axes = plotting.plot_clip_attention(
    look(paused)[row, : len(words), : lengths[row]],
    words,
    paused.frames[row, : lengths[row]],
    spans=paused.spans[row, : len(words)],
    title="Where a captioner looks before each word",
)
plt.show()

# %% [markdown]
# ## An eye that moves: what the paper says
#
# Soft attention looks at everything, every time; that is what gives it a gradient, and what it
# costs. Mnih et al. (2014), *Recurrent models of visual attention*, do what eyes do: the network
# sees only a small **glimpse**, sharp in the middle and coarse around it, and decides from what it
# has seen so far where to look next. The work does not grow with the picture. The price is that
# "where" is a choice: half a pixel more to the left leaves the same label right or wrong, and so
# there is no gradient to follow. The paper learns it by trial and reward, by REINFORCE (Williams,
# 1992).
#
# ## The equations
#
# A picture $x$, a place $l_t$ in $[-1,1]^2$, $K$ patches of $g\times g$ cells each, the next twice
# as wide as the last:
#
# $$l_t \sim \mathcal N(\tanh(W_l s_{t-1}),\ \sigma^2 I) \qquad h_t = \mathrm{cell}(g_t, h_{t-1})$$
#
# $$g_t = \mathrm{ReLU}(W_3\,\mathrm{ReLU}(W_1\rho(x, l_t)) + W_4\,\mathrm{ReLU}(W_2 l_t))$$
#
# (with biases in each layer). $s$ is the state that chooses: in the paper $h$ itself, in the model
# below that of a second small cell above it, as in Ba et al. (2015), which learns by reward alone.
# The glimpse $\rho$, for a middle between pixels, in NumPy:


# %%
def crop(picture, middle, size, scales):
    """Cut patches (K, g, g) around a middle, in whole pixels, out of a picture (H, W)."""
    patches = []
    for cell in 2 ** np.arange(scales):  # pixels along a side of a cell
        half = size * cell // 2
        row, column = middle
        wide = np.pad(picture, half)[row : row + 2 * half, column : column + 2 * half]
        patches.append(wide.reshape(size, cell, size, cell).mean(axis=(1, 3)))
    return np.stack(patches)


SHAPE, SIZE, SCALES = (20, 20), 8, 2
for_training, for_tests = tasks.load_digits()
scenes = tasks.scatter_digits(for_tests, np.random.default_rng(1), 1000, SHAPE, 1, 3)
picture, middle = scenes.pictures[0, ..., 0], (3, 12)
place = 2 * np.array(middle) / SHAPE - 1
by_package = ops.convert_to_numpy(
    glimpse(scenes.pictures[:1], place[None].astype("float32"), SIZE, SCALES)
)[0, ..., 0]
np.testing.assert_allclose(crop(picture, middle, SIZE, SCALES), by_package, atol=1e-5)

# %% [markdown]
# And $g_t$, what the network makes of it, by the layer `GlimpseNetwork`; around it `GlimpseRNN` is
# the whole eye, which returns what its cell made of each glimpse, the states that chose the
# places, the places, and the log-probabilities of the choices.

# %%
network = layers.GlimpseNetwork(units=16, size=SIZE, scales=SCALES)
seen = ops.convert_to_numpy(network(scenes.pictures[:1], place[None].astype("float32")))[0]


def dense(layer, x):
    """Apply the kernel and the bias of a dense layer."""
    return x @ ops.convert_to_numpy(layer.kernel) + ops.convert_to_numpy(layer.bias)


what = np.maximum(dense(network.see, crop(picture, middle, SIZE, SCALES).ravel()), 0)
where = np.maximum(dense(network.place, place), 0)
ours = np.maximum(dense(network.what, what) + dense(network.where, where), 0)
np.testing.assert_allclose(ours, seen, atol=1e-5)

eye = layers.GlimpseRNN(network, keras.layers.SimpleRNNCell(11), num_glimpses=4)
for name, value in eye(scenes.pictures[:3])._asdict().items():
    print(f"{name:18} {tuple(value.shape)}")
print(f"a glimpse has {SCALES * SIZE**2} cells, a picture {SHAPE[0] * SHAPE[1]} pixels")

# %% [markdown]
# ## A gradient without a gradient
#
# Let an eye look at $l\sim\mathcal N(m,\sigma^2)$ on a line, at cost 0 if it hits $0.1\le
# l\le0.7$, and else 1. The cost is flat wherever it has a slope at all: nothing to follow. Its
# *mean* does depend on $m$, and the slope of that can be estimated from looks alone:
#
# $$\frac{d}{dm}\,\mathbb E[c] = \mathbb E\!\left[(c - b)\,\frac{d}{dm}\log p(l)\right] =
# \mathbb E\!\left[(c - b)\,\frac{l - m}{\sigma^2}\right]$$
#
# for any baseline $b$ that does not depend on the look. The package's `reinforce` is a number
# whose gradient is this estimate; since the logarithm of a normal density is a parabola, a
# difference of two values gives its slope.

# %%
MEAN, DEVIATION = -0.1, 0.3


def density(x):
    """Return the density of a standard normal variable."""
    return math.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)


def share_below(x):
    """Return the probability that a standard normal variable is below x."""
    return (1 + math.erf(x / math.sqrt(2))) / 2


edges = [(edge - MEAN) / DEVIATION for edge in (0.1, 0.7)]
exact = (density(edges[1]) - density(edges[0])) / DEVIATION
mean_cost = 1 - (share_below(edges[1]) - share_below(edges[0]))
looks = rng.normal(MEAN, DEVIATION, size=(20_000, 1)).astype("float32")
costs = 1.0 - ((looks[:, 0] >= 0.1) & (looks[:, 0] <= 0.7))
print(f"exact slope of the mean cost: {exact:.3f}")
for name, baseline in (("no baseline", 0.0), ("the mean cost", mean_cost), ("a bad one", 10.0)):
    estimates = (costs - baseline) * (looks[:, 0] - MEAN) / DEVIATION**2
    print(f"{name:14} {estimates.mean():6.3f}, of one look ± {estimates.std():.2f}")

chances = [
    normal_log_probability(looks, np.full_like(looks, MEAN + move), DEVIATION)
    for move in (0.1, -0.1)
]
surrogates = [
    ops.convert_to_numpy(reinforce(ops.convert_to_tensor(costs, "float32"), each, mean_cost))
    for each in chances
]
slopes = (surrogates[0] - surrogates[1]) / 0.2
np.testing.assert_allclose(
    slopes, (costs - mean_cost) * (looks[:, 0] - MEAN) / DEVIATION**2, rtol=1e-3, atol=1e-3
)

# %% [markdown]
# All three are right on average (each is unbiased), but a good baseline makes a single look far
# more worth, and a bad one drowns the slope in noise. The model below learns its baseline: before
# each look it guesses how probable an error is.
#
# ## A digit in clutter
#
# Pictures of 20 × 20 pixels with a handwritten digit of 8 × 8 somewhere, and pieces of other
# digits around. The model sees four glimpses and says the digit. Beside it the same with an eye
# that stares at the middle.

# %%
LOOKS = 2 if QUICK else 4
PICTURES, PASSES = (128, 1) if QUICK else (51_200, 24)


def train_eye(model, scenes):
    """Train with Adam, whose learning rate falls along a cosine; return the seconds it took."""
    steps = PASSES * (len(scenes.pictures) // 128)
    model.compile(
        keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(2e-3, steps)),
        metrics=["accuracy"],
        jit_compile=not QUICK and keras.backend.backend() != "torch",
    )
    start = time.perf_counter()
    model.fit(scenes.pictures, scenes.labels[:, 0], batch_size=128, epochs=PASSES, verbose=0)
    return time.perf_counter() - start


to_learn = tasks.scatter_digits(for_training, np.random.default_rng(0), PICTURES, SHAPE, 1, 3)
eyes, read_right, looked = {}, {}, {}
for policy in ("learned", "centre"):
    keras.utils.set_random_seed(0)
    model = models.build_recurrent_attention(
        (*SHAPE, 1), num_glimpses=LOOKS, size=SIZE, scales=SCALES, policy=policy
    )
    seconds = train_eye(model, to_learn)
    outputs = {name: ops.convert_to_numpy(x) for name, x in model(scenes.pictures).items()}
    eyes[policy], looked[policy] = model, outputs["locations"]
    read_right[policy] = outputs["logits"].argmax(axis=-1) == scenes.labels[:, 0]
    print(
        f"{policy:8} {seconds:4.0f} s; {100 * read_right[policy].mean():.1f} % of new digits right"
    )

if not QUICK:
    assert read_right["learned"].mean() > read_right["centre"].mean() + 0.15


def distances(locations):
    """Return how far the eye was from the middle of the digit, in pixels, (B, T)."""
    pixels = (locations + 1) / 2 * SHAPE
    return np.linalg.norm(pixels - scenes.places[:, :1], axis=-1)


print("pixels from the digit, look by look:")
for policy, locations in looked.items():
    print(f"  {policy:8}", *(f"{far:5.1f}" for far in distances(locations).mean(axis=0)))

# %% [markdown]
# ## The path of the eye
#
# Left the picture with the path, 1 to 4; right what was seen at each place, the sharp patch and
# the coarse one. The first look is the same for all pictures, for nothing has been seen yet; the
# coarse patch then says where it is worth going.

# %%
picked = np.flatnonzero(read_right["learned"] & ~read_right["centre"])
picked = (picked if len(picked) >= 3 else np.arange(3))[:3]
patches = np.stack(
    [
        ops.convert_to_numpy(
            glimpse(scenes.pictures[picked], looked["learned"][picked, look], SIZE, SCALES)
        )[..., 0]
        for look in range(LOOKS)
    ],
    axis=1,
)
axes = plotting.plot_glimpses(
    scenes.pictures[picked, ..., 0],
    looked["learned"][picked],
    patches,
    [f"a {label}" for label in scenes.labels[picked, 0]],
)
axes[0, 0].figure.set_size_inches(9, 5.8)
plt.show()

# %% [markdown]
# ## Questions
#
# **Hard or soft?** A soft look costs as much as there is to look at, $O(S)$ or $O(HW)$, is
# deterministic, and its gradient is exact: easy to train. A hard look costs the same however large
# the picture is, $O(1)$, and what it returns is something that was really there, never a mixture;
# but its gradient is an estimate, unbiased and noisy, and training takes longer. (In the lecture
# notes both columns have slipped under "soft"; the second one is that of hard attention.) Where
# the sum over all places can be computed, as CTC does it for alignments, hard attention has an
# exact gradient as well.
#
# **When can an attentional interface be used?** Wherever an output needs different parts of an
# input at different times, and the input can be cut into parts that are vectors: words, frames,
# places of a picture, rows of a memory. The parts need not come one by one with the outputs, nor
# be in the same order.
#
# **What is it good for in pictures?** For focus and for size: a glimpse at the digit looks the
# same wherever the digit stands, and in a larger picture too. The network that reads it need not
# learn all places anew.
#
# ## Exercise
#
# 1. Which words of a caption look at the event they are about, and which need not? Measure the
#    share of the attention that lies in the frames of the event, for colours, shapes, directions,
#    and for "a" and "moves".
# 2. Are four looks better than one? Apply the trained last layer to the state after each look.
#
# ## Worked answer

# %%
weights = look(paused)
_, count, size = weights.shape
at = np.arange(size)
inside = (paused.spans[..., :1] <= at) & (at < paused.spans[..., 1:])
shares = (weights * inside).sum(axis=-1)
targets = paused.ids[:, 1:]
kinds = {
    "colours": clips.COLORS,
    "shapes": clips.SHAPES,
    "directions": clips.DIRECTIONS,
    "a": ["a"],
    "moves": ["moves"],
}
for name, members in kinds.items():
    of_kind = np.isin(targets, [clips.WORDS.index(word) for word in members])
    print(f"{name:12} {100 * shares[of_kind].mean():5.1f} % of the look lies in the event's frames")
everywhere = (inside.sum(axis=-1) / lengths[:, None])[inside.any(axis=-1)].mean()
print(f"{'a mean':12} {100 * everywhere:5.1f} %")

# %% [markdown]
# The words that say what is seen look at their event. "a" and "moves" follow from the grammar;
# where they look does not matter for the word, though it may already be on the way to the next
# one.

# %%
model = eyes["learned"]
_, height, width, channels = scenes.pictures.shape
after_each = model.get_layer("glimpses")(scenes.pictures).outputs
logits = ops.convert_to_numpy(model.get_layer("logits")(after_each))
for number, said in enumerate(logits.argmax(axis=-1).T, start=1):
    print(f"after look {number}: {100 * (said == scenes.labels[:, 0]).mean():5.1f} % right")

# %% [markdown]
# The last layer was trained on the last state alone, so the first lines are less than a network
# trained for fewer looks would reach; but they show that each look adds something.
#
# The same on the command line, with figures for each part: `keras-attention lab captions`, `lab
# glimpses`, `lab two-digits` and `lab estimators`.
#
# Next: [9 · Reading attention maps honestly](09_reading_attention_honestly.ipynb). In the
# documentation:
# [Which attention should I use?](https://github.com/keras-attention/keras_attention/blob/main/docs/choosing.md),
# and the pages of `models.build_captioner`, `layers.GlimpseRNN`, `layers.HardAttention` and
# `models.Reinforced`.

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
# each word; an eye looks hard at one place of a picture, and from there at the next. You build both
# models cell by cell with the functional API of Keras, compare them with the package's, train them,
# and see where they look. *Runs in about four minutes on a CPU; no accelerator needed.*

# %% tags=["install"]
# The text of this cell comes from install.py.

# %%
import math
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

from keras_attention import layers, models, plotting, training
from keras_attention.lab import tasks
from keras_attention.lab.tasks import clips
from keras_attention.ops import glimpse, normal_log_probability, reinforce
from keras_attention.text import START

keras.utils.set_random_seed(0)

# %% [markdown]
# ## Captions: what the paper says
#
# Yao et al. (2015), *Describing videos by exploiting temporal structure*, section 3.2. A sentence
# about a video is a translation whose source is a sequence of frames; nothing else changes. The mean
# of all frames says that there was a circle, a square, something red and a move to the left. It does
# not say which belongs to which. So the decoder weights the frames anew before every word, as
# Bahdanau's weights the words of a sentence. There is no correspondence of one frame to one word: an
# event lasts some frames, and takes some words, and the pauses between have none.

# %%
plotting.diagram("captioner")

# %% [markdown]
# ## The equation
#
# $v_i$ is the vector of frame $i$ of $S$ (a small convolutional network, and an LSTM over time),
# $s_{t-1}$ the decoder's state, $\varphi_t$ the read that goes into the next state together with
# the last word:
#
# $$e_{ti} = w^\top\tanh(W s_{t-1} + U v_i) \qquad \alpha_t = \mathrm{softmax}(e_t) \qquad
# \varphi_t = \sum_i \alpha_{ti} v_i$$
#
# The paper has a bias $b$ inside the $\tanh$; the package's score has none, since the biases of the
# layers around it do the same work. In NumPy:


# %%
def softmax(scores):
    """Turn scores (S,) into weights that sum to 1."""
    return np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()


def look_over_time(state, vectors, w_state, w_vectors, w):
    """Return the read (D,) and the weights (S,) of a state (Q,) over frames (S, D)."""
    weights = softmax(np.tanh(state @ w_state + vectors @ w_vectors) @ w)
    return weights @ vectors, weights


# %% [markdown]
# The package's layer has the same three weights, and gives the same numbers:

# %%
rng = np.random.default_rng(0)
state = rng.normal(size=(7,)).astype("float32")
vectors = rng.normal(size=(9, 5)).astype("float32")
attend = layers.AdditiveAttention(units=6)
read, weights = attend(state[None], vectors[None], return_attention_scores=True)

kernels = attend.get_weights()  # W, U and w
our_read, our_weights = look_over_time(state, vectors, *kernels)
np.testing.assert_allclose(our_read, ops.convert_to_numpy(read)[0], atol=1e-5)
np.testing.assert_allclose(our_weights, ops.convert_to_numpy(weights)[0, :, 0], atol=1e-5)
print("weights of the nine frames:", our_weights.round(2))

# %% [markdown]
# **Exercise 1.** The paper compares attention with a plain mean of the frames. The mean is a special
# case. Which six numbers for $w$ make `look_over_time` return the mean of the frames, whatever the
# state, $W$ and $U$ are?

# %%
my_w = None  # your answer: six numbers

# %% tags=["check"]
reads = []
if np.shape(my_w) == (6,):
    for query in (state, -3 * state):
        reads.append(look_over_time(query, vectors, *kernels[:2], np.array(my_w))[0])
if reads and np.allclose(reads, vectors.mean(axis=0), atol=1e-5):
    print("Right. Equal scores give equal weights.")
else:
    print("Not yet. For a mean all frames need the same weight, so the same score.")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# my_w = np.zeros(6)
# ```
#
# All scores are 0 then, and the weights 1/9 each. A captioner with attention can therefore do what
# one with a mean does; training decides whether it does more.
#
# </details>

# %% [markdown]
# ## Clips
#
# Coloured shapes appear, move and vanish, one after the other, and the caption tells what happened
# in this order. Since the clips are made, it is known which frames each word is about. Pairs of
# neighbouring events that the test shows are held out of training, so nothing can be learned by
# heart.

# %% quick="EVENTS = 2; UNITS = 8"
EVENTS = 3  # most events of a clip
UNITS = 64  # width of the LSTMs, the words and the features of a frame


# %%
def draw(seed, count, events, **options):
    """Draw clips of (fewest, most) events, padded to the size of clips with EVENTS events."""
    drawn = clips.draw_clips(np.random.default_rng(seed), count, events, **options)
    missing = EVENTS - events[1]

    def padded(array, an_event):
        return np.pad(array, [(0, 0), (0, missing * an_event)] + [(0, 0)] * (array.ndim - 2))

    frames, words = drawn.frames.shape[1] // events[1], drawn.spans.shape[1] // events[1]
    return drawn._replace(
        frames=padded(drawn.frames, frames),
        ids=padded(drawn.ids, words),
        spans=padded(drawn.spans, words),
    )


# %% [markdown]
# The first clip that is drawn:

# %%
some = draw(0, 4, (2, 2))
frames = some.frames[0][some.frames[0].any(axis=(1, 2, 3))]  # without the padding
_, axes = plt.subplots(1, len(frames), figsize=(9, 1.5), layout="constrained")
for number, (ax, frame) in enumerate(zip(axes, frames, strict=True), start=1):
    ax.imshow(frame)
    ax.set_title(number, fontsize=8)
    ax.set_axis_off()
plt.suptitle(" ".join(clips.words_of(some.ids[0])), fontsize=11)
plt.show()

# %% [markdown]
# ## A captioner, cell by cell
#
# `keras.Input` makes a symbolic tensor, every layer called on one makes another, and `keras.Model`
# joins what lies between inputs and outputs. `None` stands for sizes that are known when clips come:
# the number of clips B, of frames S, of words T.
#
# ### What a frame shows
#
# Two convolutions and a dense layer turn the pixels of one frame into `UNITS` numbers.

# %%
FRAME, WORDS = (12, 12, 3), len(clips.WORDS)


def show(**tensors):
    for name, tensor in tensors.items():
        print(f"{name:18}{tuple(tensor.shape)}")


def convolution(filters, name):
    return keras.layers.Conv2D(filters, 3, 2, "same", activation="relu", name=name)


pixels = keras.Input(FRAME, name="pixels")
half = convolution(16, "convolution_1")(pixels)
quarter = convolution(32, "convolution_2")(half)
flat = keras.layers.LayerNormalization(name="normalization")(keras.layers.Flatten()(quarter))
features = keras.layers.Dense(UNITS, activation="relu", name="features")(flat)
see = keras.Model(pixels, features, name="see")
show(pixels=pixels, half=half, quarter=quarter, flat=flat, features=features)

# %% [markdown]
# `layers.OverFrames` applies this network to every frame of a clip. A frame of zeros is padding; the
# mask says which frames are there.

# %%
context = keras.Input((None, *FRAME), name="context")
mask = ops.any(ops.not_equal(context, 0.0), axis=(2, 3, 4))
seen_alone = layers.OverFrames(see, name="over_frames")(context)
show(context=context, mask=mask, seen_alone=seen_alone)

# %% [markdown]
# ### What happens over time
#
# One frame does not show a movement. An LSTM in each direction follows the changes from frame to
# frame; its outputs side by side are the vectors $v_i$. The encoder returns them with their mask,
# the memory, and zeros for the decoder's first state: all that the decoder will know of the clip has
# to pass through the attention.

# %%
context_rnn = keras.layers.Bidirectional(
    keras.layers.RNN(keras.layers.LSTMCell(UNITS), return_sequences=True), name="context_rnn"
)
followed = context_rnn(seen_alone, mask=mask)
annotations = ops.where(mask[..., None], followed, 0.0)  # nothing stands at padding
nothing = ops.zeros_like(annotations[:, 0, :UNITS])
show(annotations=annotations, nothing=nothing)

memory = {"mask": mask, "values": annotations}
encoder = keras.Model(context, {"memory": memory, "state": [nothing, nothing]}, name="encoder")

# %% [markdown]
# ### One word: attend, then recur
#
# Before word $t$ the decoder has the state of its LSTM, which is two vectors $h$ and $c$ of which
# $h$ is the $s_{t-1}$ of the equation, the memory, and the word before. The attention is the
# equation again, with `Dense` layers for $W$, $U$ and $w$:

# %%
word = keras.Input((), dtype="int32", name="word")
h, c = keras.Input((UNITS,), name="h"), keras.Input((UNITS,), name="c")
values = keras.Input((None, 2 * UNITS), name="values")
seen = keras.Input((None,), dtype="bool", name="mask")
w_state, w_frames = (keras.layers.Dense(UNITS, use_bias=False, name=name) for name in "WU")
w = keras.layers.Dense(1, use_bias=False, name="w")

scores = w(ops.tanh(w_state(h)[:, None] + w_frames(values)))[..., 0]
weights = ops.softmax(ops.where(seen, scores, -1e9), axis=-1)
read = ops.sum(weights[..., None] * values, axis=1)
show(h=h, values=values, scores=scores, weights=weights, read=read)

# %% [markdown]
# The read and the word enter the LSTM together; its new $h$ gives each word of the vocabulary a
# number, its logit.

# %%
embed = keras.layers.Embedding(WORDS, UNITS, name="target_embedding")
cell = keras.layers.LSTMCell(UNITS, name="lstm")
to_logits = keras.layers.Dense(WORDS, name="logits")

both = ops.concatenate([read, embed(word)], axis=-1)
new_h, (_, new_c) = cell(both, [h, c])
logits = to_logits(new_h)
show(both=both, new_h=new_h, new_c=new_c, logits=logits)

inputs = {"word": word, "h": h, "c": c, "mask": seen, "values": values}
step = keras.Model(inputs, {"logits": logits, "h": new_h, "c": new_c}, name="step")

# %% [markdown]
# ### A caption: the loop
#
# The state of one word is needed for the next, so a caption is a loop. `layers.AttendThenRecur` is
# the step above, and `layers.AttentionRNN` runs it over all T words in one layer. The embedding, the
# LSTM's cell and the logits are those of the step; only the attention is a layer of its own, and
# gets the weights of ours.

# %%
attention = layers.AdditiveAttention(UNITS, name="attention")
rnn = layers.AttentionRNN(layers.AttendThenRecur(cell, attention), name="target_rnn")
target = keras.Input((None,), dtype="int32", name="target")
said, looks, last = rnn(
    embed(target),
    values,
    attention_mask=seen,
    initial_states=[h, c],
    return_attention_scores=True,
    return_state=True,
)
copied = [layer.get_weights()[0] for layer in (w_state, w_frames, w)]
attention.set_weights([*copied[:2], copied[2][:, 0]])
show(target=target, said=said, looks=looks)

# %% [markdown]
# `keras.Model` closes the decoder. The next state and the weights are among its outputs, so that
# writing a caption and drawing the attention need no second copy of the network.

# %%
decoder = keras.Model(
    {"memory": {"mask": seen, "values": values}, "state": [h, c], "target": target},
    {"logits": to_logits(said), "state": last, "weights": {"cross_attention": [looks]}},
    name="decoder",
)

# %% [markdown]
# The same caption twice: all words at once, and one word after the other.

# %%
ids = ops.convert_to_tensor(some.ids)
encoded = encoder(some.frames)
at_once = decoder({**encoded, "target": ids[:, :-1]})["logits"]
(now_h, now_c), one_by_one = encoded["state"], []
for t in range(ids.shape[1] - 1):
    now = step({"word": ids[:, t], "h": now_h, "c": now_c, **encoded["memory"]})
    now_h, now_c = now["h"], now["c"]
    one_by_one.append(now["logits"])

at_once, one_by_one = ops.convert_to_numpy(at_once), ops.convert_to_numpy(ops.stack(one_by_one, 1))
np.testing.assert_allclose(at_once, one_by_one, atol=1e-5)
print(f"{ids.shape[1] - 1} words: the largest difference is", np.abs(at_once - one_by_one).max())

# %% [markdown]
# ### The model
#
# In training the decoder is fed the right words, whatever it would have said itself (*teacher
# forcing*).

# %%
clip = keras.Input((None, *FRAME), name="context")
target = keras.Input((None,), dtype="int32", name="target")
outputs = decoder({**encoder(clip), "target": target})
captioner = keras.Model({"context": clip, "target": target}, outputs["logits"], name="captioner")
captioner.summary(line_length=90, expand_nested=True)

# %% [markdown]
# `models.build_captioner` builds this network in one call. With copied weights its logits are the
# same to five decimals.

# %%
built = models.build_captioner(FRAME, WORDS, UNITS, encoder_units=UNITS)
built.set_weights(captioner.get_weights())
inputs = {"context": some.frames, "target": some.ids[:, :-1]}
ours, theirs = (ops.convert_to_numpy(model(inputs)) for model in (captioner, built))
np.testing.assert_allclose(ours, theirs, atol=1e-5)
print(f"{captioner.count_params():,} weights; largest difference {np.abs(ours - theirs).max():.1e}")

# %% [markdown]
# ## With attention, and with a mean
#
# Two captioners that differ in one thing: what the decoder reads before each word is a weighted
# mean of the annotations, or just their mean. (An LSTM has written them, so even their mean may know
# something of the order.) Training begins with clips of one event, and soon has
# clips of all lengths. Every round draws new clips.

# %% quick="ROUNDS = 1; CLIPS = 32; BATCH = 16"
ROUNDS, CLIPS, BATCH = 26, 1920, 64


# %%
def train_captioner(model):
    """Train on fresh clips, with one event at first and one more every three rounds."""
    steps = ROUNDS * (CLIPS // BATCH)
    training.compile_for_training(model, 4e-3, warm_up=max(steps // 20, 1), decay_steps=steps)
    for number in range(ROUNDS):
        most = min(1 + number // 3, EVENTS)
        drawn = draw([0, number], CLIPS, (1, most))
        inputs = {"context": drawn.frames, "target": drawn.ids[:, :-1]}
        fit = model.fit(inputs, drawn.ids[:, 1:], batch_size=BATCH, verbose=0).history
        print(f"round {number + 1:2}, events up to {most}: loss {fit['loss'][0]:.3f}, ", end="")
        print(f"{100 * fit['masked_accuracy'][0]:.1f} % of the words right")


# %%
train_captioner(captioner)

# %%
averaging = models.build_captioner(FRAME, WORDS, UNITS, encoder_units=UNITS, attention="mean")
train_captioner(averaging)

# %% [markdown]
# Now both write captions, word after word, each time the likeliest. `models.encode` and
# `models.step` are views of the model: its encoder, and its decoder for one word.


# %%
def describe(model, frames, longest):
    """Write captions, the likeliest word after the other: ids (N, T)."""
    encoded, step = models.encode(model)(frames), models.step(model)
    tokens, state, written = np.full(len(frames), START, "int32"), encoded["state"], []
    for _ in range(longest):
        logits, _, state = step(ops.convert_to_tensor(tokens), encoded["memory"], state)
        tokens = ops.convert_to_numpy(logits)[:, 1:].argmax(axis=-1).astype("int32") + 1
        written.append(tokens)
    return np.stack(written, axis=1)


def without_a_wrong_word(model, drawn):
    """Return the percentage of captions that are right up to their end."""
    targets = drawn.ids[:, 1:]
    same = describe(model, drawn.frames, targets.shape[1]) == targets
    return 100 * (same | (targets == 0)).all(axis=1).mean()


# %% quick="TESTED = 10"
TESTED = 100  # clips for each number of events

# %%
counts = range(1, EVENTS + 1)
tests = [draw([1, count], TESTED, (count, count), held_out=True) for count in counts]
with_attention, with_mean = (
    [without_a_wrong_word(model, drawn) for drawn in tests] for model in (captioner, averaging)
)
for count, one, other in zip(counts, with_attention, with_mean, strict=True):
    print(f"events {count}, captions without a wrong word: ", end="")
    print(f"attention {one:.0f} %, mean {other:.0f} %")

# %% tags=["claims"]
assert with_attention[-1] > with_mean[-1] + 20

# %%
names = [str(count) for count in counts]
plotting.plot_curves(
    {"with attention": (names, with_attention), "a mean in its place": (names, with_mean)},
    xlabel="events in a clip",
    ylabel="captions without a wrong word, %",
    title="Clips with pairs of events that training never showed",
)
plt.show()

# %% [markdown]
# With attention every caption of the test is right. One event can mostly be told from the mean of its
# annotations (89 %); with every further event the mean says less about who did what, and of three events
# 4 % are told without a wrong word. Each is one training; from other first weights the numbers
# differ.
#
# ## Which frames a word looks at
#
# The first test clip of those with longer pauses than any in training. Every row is the look
# *before* a word; outlined are the frames that the word is about.

# %%
view = models.attention(captioner)
paused = draw([2, 0], TESTED, (EVENTS, EVENTS), held_out=True, gaps=(0, 3))
seen = view({"context": paused.frames, "target": paused.ids[:, :-1]})
looks = ops.convert_to_numpy(seen["cross_attention"][0])  # (N, T, S)

words = clips.words_of(paused.ids[0])
lengths = paused.frames.any(axis=(2, 3, 4)).sum(axis=1)
plotting.plot_clip_attention(
    looks[0, : len(words), : lengths[0]],
    words,
    paused.frames[0, : lengths[0]],
    spans=paused.spans[0, : len(words)],
    title="Where a captioner looks before each word",
)
plt.show()

# %% [markdown]
# **Exercise 2.** Which words look at the event that they are about, and which need not? Write a
# function that takes the weights of one word (S,) and the first frame of its event and the one after
# the last, and returns the share of the look that lies in the event. The check measures it for the
# kinds of words.


# %%
def share_of_the_event(weights, first, after):
    return None  # your answer: a number from 0 to 1


# %% tags=["check"]
kinds = {"colours": clips.COLORS, "shapes": clips.SHAPES, "directions": clips.DIRECTIONS}
kinds |= {"a": ["a"], "moves": ["moves"]}
if share_of_the_event(np.array([0.1, 0.25, 0.5, 0.15]), 1, 3) == 0.75:
    print("Right. Percent of the look in the frames of the event:")
    for kind, members in kinds.items():
        of_kind = np.isin(paused.ids[:, 1:], [clips.WORDS.index(each) for each in members])
        places = np.argwhere(of_kind)
        shares = [share_of_the_event(looks[n, t], *paused.spans[n, t]) for n, t in places]
        print(f"  {kind:12}{100 * np.mean(shares):5.1f}")
    even = [np.diff(paused.spans[n, t])[0] / lengths[n] for n, t in places]
    print(f"  {'a mean':12}{100 * np.mean(even):5.1f}")
else:
    print("Not yet. Add the weights from the first frame on, up to the one before `after`.")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# def share_of_the_event(weights, first, after):
#     return weights[first:after].sum()
# ```
#
# The words that say what is seen look at their event, although the pauses are longer than in
# training. "a" and "moves" follow from the grammar, so where they look does not matter for the word.
# The look of "a" is often elsewhere; "moves" stands between two words that need the event, and its
# look stays there.
#
# </details>

# %% [markdown]
# ## An eye that moves: what the paper says
#
# Soft attention looks at everything, every time; that is what gives it a gradient, and what it
# costs. Mnih et al. (2014), *Recurrent models of visual attention*, do what eyes do: the network is
# a lazy processor that reads only what is crucial. It sees a small **glimpse**, sharp in the middle
# and coarse around it, and decides from what it has seen so far where to look next. With a fixed
# number of patches, the work does not grow with the picture. The price is that "where" is a choice: half a pixel more to the left
# leaves the same label right or wrong, and so there is no gradient to follow. The paper learns it by
# trial and reward, by REINFORCE (Williams, 1992).

# %%
plotting.diagram("recurrent-glimpses")

# %% [markdown]
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
# $\rho(x, l_t)$ is the glimpse:

# %%
plotting.diagram("glimpse")


# %% [markdown]
# (The eye below has two patches, the diagram three.) In NumPy, for a middle between pixels:


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


# %% [markdown]
# The pictures are 24 × 24 pixels with a handwritten digit of 8 × 8 somewhere, and a piece of another
# one. A glimpse has two patches of 8 × 8 cells. `ops.glimpse` of the package cuts the same patches
# out of a batch of pictures.

# %%
SHAPE, CLUTTER = (24, 24), 1  # of a picture
SIZE, SCALES = 8, 2  # of a glimpse
for_training, for_tests = tasks.load_digits()


def scatter(digits, seed, count):
    """Draw pictures with one digit each and CLUTTER pieces of others."""
    return tasks.scatter_digits(digits, np.random.default_rng(seed), count, SHAPE, 1, CLUTTER)


scenes = scatter(for_tests, 1, 1000)

picture, middle = scenes.pictures[0, ..., 0], (3, 12)
place = (2 * np.array(middle) / SHAPE - 1).astype("float32")  # from −1 to 1
patches = ops.convert_to_numpy(glimpse(scenes.pictures[:1], place[None], SIZE, SCALES))
np.testing.assert_allclose(crop(picture, middle, SIZE, SCALES), patches[0, ..., 0], atol=1e-5)
print(f"a glimpse has {patches[0].size} cells, a picture {picture.size} pixels")

# %% [markdown]
# **Exercise 3.** If the widest patch is to cover the whole picture, a larger picture needs more
# patches, but only a few more. For a picture of 512 × 512
# pixels, how many patches of 8 × 8 cells does a glimpse need, so that the widest one is as wide as
# the picture? How many numbers are all these patches together, and how many has the picture?

# %%
patches_needed, of_the_glimpse, of_the_picture = None, None, None  # your answer

# %% tags=["check"]
needed = next(k for k in range(1, 20) if 8 * 2 ** (k - 1) >= 512)
if (patches_needed, of_the_glimpse, of_the_picture) == (needed, needed * 8 * 8, 512 * 512):
    print(f"Right. The picture is {of_the_picture / of_the_glimpse:.0f} times as large.")
else:
    print("Not yet. The first patch is 8 pixels wide, and each further one twice as wide.")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# patches_needed = 7  # 8, 16, 32, 64, 128, 256 and 512 pixels wide
# of_the_glimpse = 7 * 8 * 8
# of_the_picture = 512 * 512
# ```
#
# A picture twice as wide has four times as many pixels, and its glimpse one more patch.
#
# </details>

# %% [markdown]
# ## The eye, cell by cell
#
# ### What a glimpse tells
#
# The network $g_t$: what is there, and where it is.

# %% quick="EYE = 8"
EYE = 128  # width of the glimpse network and of its states


# %%
def dense(width, name, activation=None):
    return keras.layers.Dense(width, activation, name=name)


x = keras.Input((*SHAPE, 1), name="picture")
location = keras.Input((2,), name="location")
cells = keras.layers.Flatten(name="cells")(glimpse(x, location, SIZE, SCALES))
what = dense(EYE // 2, "see", "relu")(cells)
where = dense(EYE // 2, "place", "relu")(location)
g = ops.relu(dense(EYE, "what")(what) + dense(EYE, "where")(where))
glimpse_network = keras.Model({"picture": x, "location": location}, g, name="glimpse")
show(picture=x, location=location, cells=cells, what=what, where=where, g=g)

# %% [markdown]
# The package's `layers.GlimpseNetwork` is the same. With copied weights:

# %%
network = layers.GlimpseNetwork(EYE, SIZE, SCALES)
network.build(scenes.pictures.shape)
for name in ("see", "place", "what", "where"):
    getattr(network, name).set_weights(glimpse_network.get_layer(name).get_weights())

looked_at = {"picture": scenes.pictures[:1], "location": place[None]}
ours = ops.convert_to_numpy(glimpse_network(looked_at))
theirs = ops.convert_to_numpy(network(*looked_at.values()))
np.testing.assert_allclose(ours, theirs, atol=1e-5)
print("largest difference:", np.abs(ours - theirs).max())

# %% [markdown]
# ### One look
#
# The state $s$ chooses the mean of the place. In training the place is drawn around it, which is
# what `keras.layers.GaussianNoise` does; otherwise the mean is taken. `ops.stop_gradient` says that
# the drawn place is a fact from here on, and not something to follow back. The logarithm of its
# probability will teach the choice.

# %%
DEVIATION = 0.2  # of the places; a picture is 2 wide
h, s = keras.Input((EYE,), name="h"), keras.Input((EYE // 2,), name="s")
mean = dense(2, "choose", "tanh")(s)
drawn = ops.stop_gradient(keras.layers.GaussianNoise(DEVIATION, name="draw")(mean))
log_probability = normal_log_probability(drawn, mean, DEVIATION)
location = ops.clip(drawn, -1.0, 1.0)  # in the picture
show(s=s, mean=mean, location=location, log_probability=log_probability)

# %% [markdown]
# There the eye looks. A recurrent cell, the core, takes in what it sees; a second one, the locator,
# prepares the next choice. A dense layer guesses beforehand how probable an error is; this guess is
# the baseline, of which the next section tells.

# %%
x = keras.Input((*SHAPE, 1), name="picture")
g = glimpse_network({"picture": x, "location": location})
core = keras.layers.SimpleRNNCell(EYE, activation="relu", name="core")
locator = keras.layers.SimpleRNNCell(EYE // 2, activation="relu", name="locator")
new_h, _ = core(g, [h])
new_s, _ = locator(ops.stop_gradient(new_h), [s])
baseline = dense(1, "baseline")(ops.stop_gradient(s))[:, 0]

results = {"h": new_h, "s": new_s, "location": location}
results |= {"log_probability": log_probability, "baseline": baseline}
look = keras.Model({"picture": x, "h": h, "s": s}, results, name="look")
show(**results)

# %% [markdown]
# ### Three looks
#
# The same look, with the same weights, three times: each takes the states of the one before. The
# first states are zeros. The last $h$ says which digit it was.

# %%
LOOKS = 3
pictures = keras.Input((*SHAPE, 1), name="pictures")
zero = ops.zeros_like(pictures[:, 0, 0])  # (B, 1)
states = {"h": ops.repeat(zero, EYE, axis=-1), "s": ops.repeat(zero, EYE // 2, axis=-1)}
steps = []
for _ in range(LOOKS):
    steps.append(look({"picture": pictures, **states}))
    states = {name: steps[-1][name] for name in states}
together = {name: ops.stack([each[name] for each in steps], axis=1) for name in steps[0]}
to_digit = dense(10, "logits")
digit_logits = to_digit(together["h"][:, -1])
show(**together, digit_logits=digit_logits)

# %% [markdown]
# `models.Reinforced` is a `keras.Model` whose loss adds what REINFORCE needs; it finds it among the
# outputs by name. For each picture the gradient is that of
#
# $$-\ln p(y) + \sum_t \big[\mathrm{sg}(c - b_t) \ln p(l_t) + (b_t - c)^2\big]$$
#
# where $c$ is 1 for a wrong digit and 0 for a right one, $b_t$ is the baseline, and sg stands for
# `stop_gradient`. The first term trains what reads, the second what chooses, the third the baseline.
# `fit` prints the first alone.

# %%
outputs = {
    "logits": digit_logits,
    "locations": together["location"],
    "log_probabilities": together["log_probability"],
    "baseline": together["baseline"],
}
eye = models.Reinforced(pictures, outputs, baseline="learned", cost="errors", name="eye")
eye.summary(line_length=90)

# %% [markdown]
# `models.build_recurrent_attention` builds the same in one call. All the looks are one layer there,
# `layers.GlimpseRNN`, which returns `Glimpses`: what the core made of each, the states that chose,
# the places and their log-probabilities. With copied weights everything agrees:


# %%
def copy_eye(rnn):
    """Give a GlimpseRNN the weights of our look."""
    parts = {"choose": rnn.choose, "core": rnn.cell, "locator": rnn.locator}
    parts |= {"glimpse": rnn.network}
    for name, part in parts.items():
        part.set_weights(look.get_layer(name).get_weights())


built = models.build_recurrent_attention(
    (*SHAPE, 1), num_glimpses=LOOKS, size=SIZE, scales=SCALES, units=EYE, deviation=DEVIATION
)
copy_eye(built.get_layer("glimpses"))
built.get_layer("baseline").set_weights(look.get_layer("baseline").get_weights())
built.get_layer("logits").set_weights(to_digit.get_weights())
ours, theirs = eye(scenes.pictures[:5]), built(scenes.pictures[:5])
for name in outputs:
    np.testing.assert_allclose(
        *(ops.convert_to_numpy(each[name]) for each in (ours, theirs)), atol=1e-5
    )
print("equal:", *outputs)

# %% [markdown]
# ## A gradient without a gradient
#
# Let an eye look at $l\sim\mathcal N(m,\sigma^2)$ on a line, at cost 0 if it hits $0.1\le
# l\le0.7$, and else 1. The cost is flat wherever it has a slope at all: nothing to follow. Its
# *mean* does depend on $m$:

# %%
MEAN, SIGMA = -0.1, 0.3


def density(x):
    """Return the density of a standard normal variable."""
    return math.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)


def share_below(x):
    """Return the probability that a standard normal variable is below x."""
    return (1 + math.erf(x / math.sqrt(2))) / 2


first, last = ((edge - MEAN) / SIGMA for edge in (0.1, 0.7))
mean_cost = 1 - (share_below(last) - share_below(first))
exact = (density(last) - density(first)) / SIGMA
print(f"mean cost {mean_cost:.3f}, its slope {exact:.3f}")

# %% [markdown]
# The slope can be estimated from looks alone, without knowing what lies where:
#
# $$\frac{d}{dm}\,\mathbb E[c] = \mathbb E\!\left[(c - b)\,\frac{d}{dm}\log p(l)\right] =
# \mathbb E\!\left[(c - b)\,\frac{l - m}{\sigma^2}\right]$$
#
# for any baseline $b$ that does not depend on the look.

# %%
looks_at = rng.normal(MEAN, SIGMA, size=(20_000, 1)).astype("float32")
costs = 1.0 - ((looks_at[:, 0] >= 0.1) & (looks_at[:, 0] <= 0.7))
slopes_of_log = (looks_at[:, 0] - MEAN) / SIGMA**2

for name, b in (("no baseline", 0.0), ("the mean cost", mean_cost), ("a bad one", 10.0)):
    estimates = (costs - b) * slopes_of_log
    print(f"{name:14} {estimates.mean():6.3f}, of one look ± {estimates.std():.2f}")

# %% [markdown]
# All three are right on average (each is unbiased), but a good baseline makes a single look far
# more worth, and a bad one drowns the slope in noise. The eye learns its baseline: before each look
# it guesses how probable an error is.
#
# The package's `reinforce` is a number whose gradient is this estimate. Since the logarithm of a
# normal density is a parabola, a difference of two values gives its slope:


# %%
def surrogate(m):
    """Return a number for each look, whose slope in m is the estimate."""
    chances = normal_log_probability(looks_at, np.full_like(looks_at, m), SIGMA)
    return ops.convert_to_numpy(reinforce(costs.astype("float32"), chances, mean_cost))


slopes = (surrogate(MEAN + 0.1) - surrogate(MEAN - 0.1)) / 0.2
np.testing.assert_allclose(slopes, (costs - mean_cost) * slopes_of_log, rtol=1e-3, atol=1e-3)
print(f"mean of the slopes: {slopes.mean():.3f}")

# %% [markdown]
# **Exercise 4.** Which constant baseline makes the estimates of single looks vary least? Derive it,
# or search for it, and compute it from `costs` and `slopes_of_log`. (The mean of $d = \frac{d}{dm}
# \log p(l)$ is 0, so only $\mathbb E[(c - b)^2 d^2]$ depends on $b$.)

# %%
best_baseline = None  # your answer: a number

# %% tags=["check"]
spread = {b: ((costs - b) * slopes_of_log).std() for b in np.arange(0, 2, 0.001)}
least = min(spread, key=spread.get)
if best_baseline is not None and abs(best_baseline - least) < 0.01:
    print(f"Right. With {best_baseline:.3f} one look varies by ± {spread[least]:.3f}, ", end="")
    print(f"with the mean cost by ± {((costs - mean_cost) * slopes_of_log).std():.3f}.")
else:
    print("Not yet. Where is the derivative of E[(c − b)² d²] with respect to b equal to 0?")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# squares = slopes_of_log**2
# best_baseline = (costs * squares).mean() / squares.mean()
# ```
#
# It is a mean of the costs in which far looks count more. The mean cost is nearly as good, and it
# can be learned by plain regression.
#
# </details>

# %% [markdown]
# ## A digit in clutter
#
# Now the eye learns to read the digits; every round draws new pictures. Beside it the same network
# with an eye that stares at the middle.

# %% quick="EYE_ROUNDS = 1; PICTURES = 256"
EYE_ROUNDS, PICTURES = 12, 51_200


# %%
def train_eye(model):
    """Train on fresh pictures with Adam, whose learning rate falls along a cosine."""
    rate = keras.optimizers.schedules.CosineDecay(2e-3, EYE_ROUNDS * PICTURES // 128)
    compiled = keras.backend.backend() != "torch"
    model.compile(keras.optimizers.Adam(rate), metrics=["accuracy"], jit_compile=compiled)
    for number in range(EYE_ROUNDS):
        drawn = scatter(for_training, [0, number], PICTURES)
        fit = model.fit(drawn.pictures, drawn.labels[:, 0], batch_size=128, verbose=0).history
        print(f"round {number + 1:2}: loss {fit['loss'][0]:.3f}, ", end="")
        print(f"{100 * fit['accuracy'][0]:.1f} % of the digits right")


train_eye(eye)

# %%
staring = models.build_recurrent_attention(
    (*SHAPE, 1), num_glimpses=LOOKS, size=SIZE, scales=SCALES, units=EYE, policy="centre"
)
train_eye(staring)

# %% [markdown]
# Pictures with digits that neither has seen. One training each, so take the numbers as an example:

# %%
read_right, locations = {}, {}
for name, model in (("learned", eye), ("centre", staring)):
    told = {key: ops.convert_to_numpy(each) for key, each in model(scenes.pictures).items()}
    digits, locations[name] = told["logits"].argmax(axis=-1), told["locations"]
    read_right[name] = digits == scenes.labels[:, 0]
    pixels = (locations[name] + 1) / 2 * SHAPE
    far = np.linalg.norm(pixels - scenes.places[:, :1], axis=-1).mean(axis=0)
    print(f"{name:8} {100 * read_right[name].mean():.1f} % of the digits right;", end=" ")
    print("pixels from the digit, look by look:", *far.round(1))

# %% tags=["claims"]
assert read_right["learned"].mean() > read_right["centre"].mean() + 0.1

# %% [markdown]
# ## The path of the eye
#
# The first three pictures of the test, whether read rightly or not. On the left the picture with the
# frames of the three sharp patches, numbered in their order (the number of the first is at the upper
# left, the others follow clockwise). Beside it what each look saw: the sharp patch above, and below
# the coarse one, which covers twice the width.

# %%
first, ways = scenes.pictures[:3], locations["learned"][:3]
patches = [
    glimpse(first, ways[:, number], SIZE, SCALES)[..., 0]  # (B, K, g, g)
    for number in range(LOOKS)
]
patches = ops.convert_to_numpy(ops.stack(patches, axis=1))  # (B, T, K, g, g)
titles = [
    f"a {digit}, read {'right' if right else 'wrong'}"
    for digit, right in zip(scenes.labels[:3, 0], read_right["learned"], strict=False)
]
axes = plotting.plot_glimpses(first[..., 0], ways, patches, titles)
axes[0, 0].figure.set_size_inches(9, 11.5)
plt.show()

# %% [markdown]
# The first look is the same for all pictures, for nothing has been seen yet. What it saw, above all in
# the coarse patch, decides where the next one goes. On average the looks come nearer to the digit,
# from 7.7 to 5.2 pixels, but not each of them finds it: a label alone says nothing of places, and an
# eye with a coarse patch can read a digit from beside it.
#
# **Exercise 5.** How well does the last layer read each state? Apply `to_digit` to the state $h$ after each look
# at `scenes.pictures`, and give the share of right digits after each. `look` takes one look, from
# states (B, `EYE`) and (B, `EYE // 2`) that are zeros at first.

# %%
after_each = None  # your answer: three shares, after one, two and three looks

# %% tags=["check"]
every_look = ops.convert_to_numpy(keras.Model(pictures, to_digit(together["h"]))(scenes.pictures))
shares = (every_look.argmax(axis=-1) == scenes.labels).mean(axis=0)
if after_each is not None and np.allclose(after_each, shares, atol=0.002):
    print("Right.", *(f"After look {n}: {s:.1%}." for n, s in enumerate(after_each, start=1)))
else:
    print("Not yet. The last of them is the share of digits read right, as printed above.")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# every = ops.convert_to_tensor(scenes.pictures)
# h, s = ops.zeros((len(every), EYE)), ops.zeros((len(every), EYE // 2))
# after_each = []
# for _ in range(LOOKS):
#     seen = look({"picture": every, "h": h, "s": s})
#     h, s = seen["h"], seen["s"]
#     digits = ops.convert_to_numpy(to_digit(h)).argmax(axis=-1)
#     after_each.append((digits == scenes.labels[:, 0]).mean())
# ```
#
# The last layer was trained on the last state alone, so the first shares may be low only because it
# cannot read those states: they do not say what a look adds. For that, set `LOOKS = 1` and
# `LOOKS = 2`, train anew, and compare.
#
# </details>

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
# The same on the command line, with figures for each part: `keras-attention lab captions`, `lab
# glimpses`, `lab two-digits` and `lab estimators`.
#
# Next: [9 · Reading attention maps honestly](09_reading_attention_honestly.ipynb). In the
# documentation:
# [Which attention should I use?](https://github.com/keras-attention/keras_attention/blob/main/docs/choosing.md),
# and the pages of `models.build_captioner`, `layers.GlimpseRNN`, `layers.HardAttention` and
# `models.Reinforced`.

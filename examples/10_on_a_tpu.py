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
# # 10 · On a TPU: `model.fit`, what compiles and what does not
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/keras-attention/keras_attention/blob/main/examples/10_on_a_tpu.ipynb)
#
# A TPU runs nothing but programs that the compiler XLA made, and XLA makes a program for each
# *shape* of its inputs. Sentences have many lengths. So what decides whether training is fast is
# how many shapes the batches have. *Runs in about three minutes on a CPU, where XLA behaves the
# same way; for a TPU choose Runtime → Change runtime type, set `TPU = True` below, and run all.*

# %% tags=["install"]
# The text of this cell comes from install.py.

# %% [markdown]
# Keras 3 reaches a TPU through JAX. The backend is chosen once, before Keras is imported; in a
# notebook of your own these are the two lines:
#
# ```python
# import os
# os.environ["KERAS_BACKEND"] = "jax"
# ```

# %%
import os

TPU = False  # True on a TPU runtime
if TPU:
    os.environ["KERAS_BACKEND"] = "jax"

import importlib.util
import re
import time

import keras
import matplotlib.pyplot as plt
import numpy as np

from keras_attention import Grammar, Translator, Vocabulary, corpora, models, training

QUICK = bool(os.environ.get("KERAS_ATTENTION_QUICK"))  # set by the tests: fewer steps
keras.utils.set_random_seed(0)
print("backend:", keras.backend.backend())
print("devices:", keras.distribution.list_devices())

# %% [markdown]
# ## What the compiler needs to know
#
# XLA turns a whole training step, forward pass, gradients and optimizer, into one program: it fuses
# operations, and decides for every intermediate result where in memory it lies. For that it has to
# know every shape beforehand (XLA's documentation calls this *static shapes*). A step on context
# ids $(B, S)$ and target ids $(B, T)$ is therefore another program for every triple $(B, S, T)$,
# and what training costs is
#
# $$\text{time} = \text{programs} \cdot \text{time to compile one} \; + \; \sum_{\text{batches}} \text{time of } B \cdot (S + T) \text{ places, padding included.}$$
#
# One shape for all sentences has one program, and much padding. A shape for each batch has little
# padding, and a program for nearly every batch. The truth lies in between, and can be computed.
# Here are sentence pairs from the bundled corpus:

# %%
everything = Grammar.load().generate(1000) if QUICK else corpora.load("bundled")
pairs = list(corpora.split(everything).train)
spanish = Vocabulary.learn(pair.context for pair in pairs)
english = Vocabulary.learn(pair.target for pair in pairs)
context_ids = spanish.ids(pair.context for pair in pairs)
target_ids = english.ids(pair.target for pair in pairs)
context_lengths = (context_ids != 0).sum(axis=1)
target_lengths = (target_ids != 0).sum(axis=1) - 1  # the target loses a token to the shift
tokens = int((context_lengths + target_lengths).sum())
print(
    f"{len(pairs):,} pairs, {tokens:,} tokens, the longest {context_lengths.max()} and "
    f"{target_lengths.max()} tokens long"
)

# %% [markdown]
# ## Three ways to make batches, in ten lines
#
# Each returns the shape $(S, T)$ of every batch of 32 pairs.

# %%
BATCH_SIZE = 32


def shapes_of_batches(order, pad):
    """Pad each batch of some order of the pairs, as `pad(S's, T's)` says: its shape (S, T)."""
    batches = [order[start : start + BATCH_SIZE] for start in range(0, len(order), BATCH_SIZE)]
    return [pad(context_lengths[rows], target_lengths[rows]) for rows in batches]


def share_of_padding(shapes):
    return 1 - tokens / sum(BATCH_SIZE * (s + t) for s, t in shapes)


any_order = np.random.default_rng(0).permutation(len(pairs))
longest = int(context_lengths.max()), int(target_lengths.max())
one_shape = shapes_of_batches(any_order, lambda s, t: longest)
own_shape = shapes_of_batches(any_order, lambda s, t: (int(s.max()), int(t.max())))
for name, shapes in (("one shape for all", one_shape), ("each batch its own", own_shape)):
    print(f"{name:20} {len(set(shapes)):3} programs, {share_of_padding(shapes):.0%} padding")

# %% [markdown]
# The third way sorts: a pair goes to the first of a few shapes that holds both its sentences, and a
# batch is filled with pairs of one shape. Which few shapes waste least is found exactly, by dynamic
# programming; the package's `corpora.Batches` does that, and `fit` takes what it makes. The only
# thing to choose is how many shapes there are.

# %%
points = {}
for count in (1, 2, 3, 4, 6, 8):
    batches = corpora.Batches(context_ids, target_ids, BATCH_SIZE, shapes=count)
    places, to_place = 0, np.ones(len(pairs), dtype=bool)
    for s, t in batches.shapes:
        held = to_place & (context_lengths <= s) & (target_lengths <= t)
        places += -(-held.sum() // BATCH_SIZE) * BATCH_SIZE * (s + t)
        to_place &= ~held
    points[len(batches.shapes)] = 1 - tokens / places
    print(f"{len(batches.shapes)} shapes: {1 - tokens / places:.0%} padding", batches.shapes)

# %%
figure, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
ax.plot(
    list(points),
    [100 * share for share in points.values()],
    "o-",
    color="#0072b2",
    label="sorted into few shapes",
)
ax.plot(
    len(set(own_shape)),
    100 * share_of_padding(own_shape),
    "s",
    color="#d55e00",
    markersize=9,
    label="each batch its own shape",
)
ax.plot(
    1,
    100 * share_of_padding(one_shape),
    "^",
    color="#009e73",
    markersize=9,
    label="one shape for all",
)
ax.set(
    xscale="log",
    xlabel="programs to compile",
    ylabel="padding, % of all places",
    ylim=(0, None),
    title="Few shapes, little padding: sorting has both",
)
ax.set_xticks([1, 2, 4, 8, 16, 32], [1, 2, 4, 8, 16, 32])
ax.legend(frameon=False)
ax.grid(color="0.9")
plt.show()

# %% [markdown]
# ## See it happen
#
# Two copies of a small translator take the same number of steps, one on batches with shapes of
# their own, one on batches of four shapes. `train_on_batch` waits for its result, so the time of
# each step can be taken.

# %%
STEPS = 3 if QUICK else 40


def new_model():
    keras.utils.set_random_seed(0)
    model = models.build_rnn_attention(len(spanish), len(english), units=32)
    training.compile_for_training(model, jit_compile=True)
    return model


def own_batches():
    """Yield batches as they come, each as long as its longest sentence."""
    for start in range(0, len(pairs), BATCH_SIZE):
        rows = any_order[start : start + BATCH_SIZE]
        s, t = context_lengths[rows].max(), target_lengths[rows].max()
        labels = target_ids[rows, 1 : t + 1]
        target = target_ids[rows, :t] * (labels != 0)
        yield {"context": context_ids[rows, :s], "target": target}, labels


def times_of(batches):
    """Train on batches, one step each; the seconds of every step, and how many shapes came."""
    model, seconds, shapes = new_model(), [], set()
    for _, (inputs, labels) in zip(range(STEPS), batches, strict=False):
        start = time.perf_counter()
        model.train_on_batch(inputs, labels)
        seconds.append(time.perf_counter() - start)
        shapes.add((inputs["context"].shape[1], inputs["target"].shape[1]))
    return seconds, len(shapes)


few = corpora.Batches(context_ids, target_ids, BATCH_SIZE, shapes=2 if QUICK else 4)
runs = {
    "each batch its own shape": times_of(own_batches()),
    f"{len(few.shapes)} shapes": times_of(few.shuffled(seed=0)),
}
for name, (seconds, shapes) in runs.items():
    print(
        f"{name:25} {shapes:2} shapes in {STEPS} steps: {sum(seconds):5.1f} s in all, "
        f"{1000 * np.median(seconds):.0f} ms the median step"
    )

# %%
figure, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
for (name, (seconds, _)), style in zip(runs.items(), ("s", "o"), strict=True):
    color = "#d55e00" if style == "s" else "#0072b2"
    ax.plot(range(1, STEPS + 1), seconds, style, color=color, label=name)
ax.set(
    yscale="log",
    xlabel="step",
    ylabel="seconds (logarithmic)",
    title="A step whose shape is new is compiled; the others only run",
)
ax.legend(frameon=False)
ax.grid(axis="y", color="0.9")
plt.show()

# %% [markdown]
# The steps at the top are those in which a shape came for the first time. `fit` is no different: it
# shows one bar, and the time that went into compiling looks like a slow epoch. With batches of few
# shapes it is paid once.

# %%
model = new_model()
history = model.fit(
    few.shuffled(seed=0),
    steps_per_epoch=2 if QUICK else 100,
    epochs=1 if QUICK else 6,
    shuffle=False,
    verbose=0,
)
print("loss by epoch:", [round(loss, 2) for loss in history.history["masked_loss"]])

# %% [markdown]
# ## What does not compile
#
# Whatever is no number, whatever calls the host, and whatever has a shape that depends on *values*:
#
# | in a model | instead |
# | --- | --- |
# | strings, vocabularies, ragged tensors | ids before the model: text is split on the host |
# | `print`, files, `tf.py_function`: the host is called back | outputs of the model, a callback of `fit` |
# | `x[x > 0]`, `nonzero`, `unique`: as many results as there happen to be | a mask, and `where`: the same shape, zeros in it |
# | a Python loop until `[END]` | `keras.ops.while_loop` with a limit: all sentences go on until the last is done |
#
# The compiler says so, in its way. (The third row is JAX's, through which Keras reaches a TPU.
# TensorFlow takes some of these, as long as it knows how many results there can be at most.)

# %%
weights = np.array([[0.7, 0.0, 0.3], [0.0, 1.0, 0.0]], "float32")
if importlib.util.find_spec("tensorflow"):  # Colab's machines with a TPU have none
    import tensorflow as tf

    as_text = tf.function(tf.strings.as_string, jit_compile=True)
    try:
        as_text(weights)
    except tf.errors.InvalidArgumentError as error:
        print(re.search(r"on XLA_\w+: (.*?\))", error.message)[1], end="\n\n")

if importlib.util.find_spec("jax"):
    import jax

    try:
        jax.jit(lambda x: x[x > 0])(weights)
    except IndexError as error:
        print(str(error).splitlines()[0], end="\n\n")

    looked_at = jax.jit(lambda x: jax.numpy.where(x > 0, x, 0.0))
    print(looked_at(weights))

# %% [markdown]
# ## Translating compiles, too
#
# A translator decodes in one program: the loop over tokens is inside it. Sentences are padded to a
# few lengths, so a new sentence needs no new program; `programs` counts them, and `warm_up`
# compiles beforehand what will be needed.

# %%
translator = Translator(model, spanish, english)
for sentence in ("El niño come.", "La niña lee.", "Los perros grandes no comieron el pan."):
    start = time.perf_counter()
    translation = translator(sentence, attention=False)
    print(
        f"{1000 * (time.perf_counter() - start):7.0f} ms, {translator.programs} programs: "
        f"{sentence} → {translation.text}"
    )

# %% [markdown]
# The model has seen a few hundred batches, so the translations are what they are; the point is the
# clock: the first sentence of a length waits for the compiler, the next one of that length does
# not.
#
# ## Several chips
#
# With JAX a batch is divided among all chips by two lines before the model is made, and nothing
# else changes:
#
# ```python
# devices = keras.distribution.list_devices()
# keras.distribution.set_distribution(keras.distribution.DataParallel(devices=devices))
# ```
#
# `keras-attention train --devices auto` does that, and `keras-attention compile-check --topology
# v5e:2x2` asks Google's compiler, on any Linux machine, whether each model of the package compiles
# for four chips, how much memory it takes and what the chips must say to one another.
#
# ## Exercise
#
# A common habit is to pad each batch to the next multiple of 8. How many programs does that give
# here, and how much padding? Is it nearer to one shape for all, or to sorting?

# %% [markdown]
# ## Worked answer

# %%
multiples = shapes_of_batches(
    any_order, lambda s, t: (8 * -(-int(s.max()) // 8), 8 * -(-int(t.max()) // 8))
)
print(f"multiples of 8: {len(set(multiples))} programs, {share_of_padding(multiples):.0%} padding")
print(f"sorted into 4 shapes: {points[4]:.0%} padding")

# %% [markdown]
# It is near to one shape for all: in a batch of pairs in any order there is nearly always a long
# one, and multiples of 8 round its length up even further. Rounding lowers the number of programs,
# only sorting lowers the padding, and one needs both.
#
# In the documentation: [Which attention should I
# use?](https://github.com/keras-attention/keras_attention/blob/main/docs/choosing.md), [from one
# laptop to a slice of a TPU
# pod](https://github.com/keras-attention/keras_attention/blob/main/docs/scaling.md) and [TPUs, on a
# machine without one](https://github.com/keras-attention/keras_attention/blob/main/docs/tpu.md).

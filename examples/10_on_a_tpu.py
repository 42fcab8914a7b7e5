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
# how many shapes the batches have. You count programs, measure what they cost, and keep them few.
# *Runs in about three minutes on a CPU, where XLA behaves the same way; no accelerator needed. For
# a TPU choose Runtime → Change runtime type, and see the second cell.*

# %% tags=["install"]
# The text of this cell comes from install.py.

# %%
import importlib.util
import os
import time

# On a TPU runtime Keras needs JAX: take the # away from the next line.
# os.environ["KERAS_BACKEND"] = "jax"
# TPUs and GPUs round what they multiply; for the comparisons with NumPy they must not.
os.environ["JAX_DEFAULT_MATMUL_PRECISION"] = "highest"
os.environ["NVIDIA_TF32_OVERRIDE"] = "0"

import keras
import matplotlib.pyplot as plt
import numpy as np
from keras import ops

from keras_attention import Grammar, Translator, Vocabulary, corpora, layers, plotting, training
from keras_attention.ops import padding_mask

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
print(f"backend {keras.backend.backend()}, devices {keras.distribution.list_devices()}")

# %% [markdown]
# ## A program for each shape
#
# XLA turns a whole function into one program. It fuses operations, and decides for every
# intermediate result where in memory it lies. For that it has to know every shape beforehand; its
# documentation calls this *static shapes*. Each backend has a way to ask for such a program:


# %%
def compiled(function):
    """Return a function that runs as a program of XLA, one for each shape of its inputs."""
    if keras.backend.backend() == "jax":
        import jax

        return jax.jit(function)
    import tensorflow as tf

    return tf.function(function, jit_compile=True)


# %% [markdown]
# The backend calls the Python function once for each new shape, with *symbols* in place of numbers,
# and writes down which operations it applies to them. This is called **tracing**. XLA compiles what
# was written down. From then on the program runs, and the Python code does not. So a list that the
# Python code appends to counts the programs:

# %%
traced = []


def self_attention(x):
    """Vectors (B, T, D) → what each reads of all, (B, T, D)."""
    traced.append(x.shape)  # Python: happens only while the function is traced
    scores = ops.matmul(x, ops.transpose(x, (0, 2, 1))) / x.shape[-1] ** 0.5  # (B, T, T)
    return ops.matmul(ops.softmax(scores), x)


fast = compiled(self_attention)
for length in (5, 5, 7, 5, 7, 9):
    x, before = rng.normal(size=(32, length, 64)).astype("float32"), len(traced)
    start = time.perf_counter()
    ops.convert_to_numpy(fast(x))
    took, what = 1000 * (time.perf_counter() - start), "traced, compiled, run"
    print(f"{length} words: {took:7.1f} ms   {what if len(traced) > before else 'run'}")

# %% tags=["claims"]
assert [shape[1] for shape in traced] == [5, 7, 9]

# %% [markdown]
# The first call of each length waits for the compiler. Even this function of four operations takes
# much longer to compile than to run.
#
# The scores have shape (B, T, T): twice the length, four times the scores. That is no loop but one
# product of matrices, which such devices are made for; [chapter
# 5](05_soft_hard_local_location.ipynb) measures it.
#
# **Exercise 1.** Besides the shapes, a program is made for the types of its inputs. How many
# programs do these calls of `fast` need, if it is new? A call is described by the shape and the
# type of `x`.

# %%
calls = [
    ((32, 7, 64), "float32"),
    ((32, 9, 64), "float32"),
    ((32, 7, 64), "float32"),
    ((20, 7, 64), "float32"),  # the last batch of an epoch is smaller
    ((32, 7, 64), "bfloat16"),
    ((32, 9, 64), "float32"),
]
answer = None  # your answer

# %% tags=["check"]
if answer == len(set(calls)):
    print("Right. The smaller last batch and the other type each need a program of their own.")
else:
    print("Not yet. Which calls have the same shape and the same type as an earlier one?")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# answer = len(set(calls))  # 4
# ```
#
# The numbers in `x` do not matter, only its shape and type. The size of the batch is a part of the
# shape: a last batch that is smaller than the others costs a program.
#
# </details>

# %% [markdown]
# ## Sentences have many lengths
#
# A training step, with forward pass, gradients and optimizer, is one function, and so one program.
# Its inputs are context ids (B, S) and target ids (B, T). All words of a translation are trained at
# once: the decoder is fed the right words, and shall say the next ones.

# %%
plotting.diagram("teacher-forcing")

# %% [markdown]
# There is a program for every triple $(B, S, T)$. With $n$ programs, training takes
#
# $$\text{seconds} = n \cdot \text{seconds to compile one} \; + \;
# \text{seconds for a place} \cdot \sum_{\text{batches}} B \cdot (S + T),$$
#
# where places are counted with padding. One shape for all sentences has one program, and much
# padding. A shape for each batch has little padding, and a program for nearly every batch. The
# truth lies in between, and can be computed. Here are sentence pairs of the small grammar that comes
# with the package:

# %% quick="PAIRS = 1000"
PAIRS = 20_000

# %%
pairs = list(corpora.split(Grammar.load().generate(PAIRS)).train)
spanish = Vocabulary.learn(pair.context for pair in pairs)
english = Vocabulary.learn(pair.target for pair in pairs)
context_ids = spanish.ids(pair.context for pair in pairs)
target_ids = english.ids(pair.target for pair in pairs)

context_lengths = (context_ids != 0).sum(axis=1)
target_lengths = (target_ids != 0).sum(axis=1) - 1  # the target loses a token to the shift
longest = int(context_lengths.max()), int(target_lengths.max())
tokens = int((context_lengths + target_lengths).sum())
print(
    f"{len(pairs):,} pairs, {tokens:,} tokens, at most {longest[0]} and {longest[1]} in a sentence"
)

# %% [markdown]
# ## Three ways to make batches
#
# The first two take the pairs as they come, and pad each batch of 32: to the longest sentences of
# the corpus, or to those of the batch.

# %%
BATCH_SIZE = 32
order = rng.permutation(len(pairs))
starts = range(0, len(pairs) - BATCH_SIZE + 1, BATCH_SIZE)
batches_of_rows = [order[start : start + BATCH_SIZE] for start in starts]


def shapes_of_batches(pad):
    """Return the shape (S, T) of each batch, which `pad` makes of the lengths in it."""
    return [pad(context_lengths[rows], target_lengths[rows]) for rows in batches_of_rows]


def share_of_padding(shapes):
    """Return which part of all places is padding."""
    rows = np.concatenate(batches_of_rows)
    real = (context_lengths[rows] + target_lengths[rows]).sum()
    return 1 - real / sum(BATCH_SIZE * (s + t) for s, t in shapes)


# %%
ways = {
    "one shape for all": shapes_of_batches(lambda s, t: longest),
    "each batch its own": shapes_of_batches(lambda s, t: (int(s.max()), int(t.max()))),
}
for name, shapes in ways.items():
    print(f"{name:20}{len(set(shapes)):3} programs, {share_of_padding(shapes):.0%} padding")

# %% [markdown]
# The third way sorts: a pair goes to the first of a few shapes that holds both its sentences, and a
# batch is filled with pairs of one shape. Such a shape is also called a **bucket**. Which few shapes
# waste least is found exactly, by dynamic programming; the package's `corpora.Batches` does that,
# and `fit` takes what it makes. The only thing to choose is how many shapes there are. (Beyond 16
# tokens it tries only even lengths, so its one shape is a little larger than the longest pair.)


# %%
def places_of(batches):
    """Return the number of places, padding included, in one pass over all batches."""
    places, to_place = 0, np.ones(len(pairs), dtype=bool)
    for s, t in batches.shapes:
        held = to_place & (context_lengths <= s) & (target_lengths <= t)
        places += -(-held.sum() // BATCH_SIZE) * BATCH_SIZE * (s + t)  # the last one is filled up
        to_place &= ~held
    return int(places)


places = {}
for count in (1, 2, 3, 4, 6, 8):
    batches = corpora.Batches(context_ids, target_ids, BATCH_SIZE, shapes=count)
    places[count] = places_of(batches)
    print(f"{count} shapes, {1 - tokens / places[count]:4.0%} padding:", *batches.shapes)

# %%
curves = {
    "sorted into few shapes": (list(places), [100 - 100 * tokens / n for n in places.values()])
}
for name, shapes in ways.items():
    curves[name] = ([len(set(shapes))], [100 * share_of_padding(shapes)])
ax = plotting.plot_curves(
    curves,
    xlabel="programs to compile (logarithmic)",
    ylabel="padding, % of all places",
    logarithmic="x",
    title="Sorting has both: few programs, and little padding",
)
ax.set_xticks([1, 2, 4, 8, 16, 32], [1, 2, 4, 8, 16, 32])
plt.show()

# %% tags=["claims"]
own, one = ways["each batch its own"], ways["one shape for all"]
assert share_of_padding(own) < share_of_padding(one)
assert len(set(own)) > 8
assert 1 - tokens / places[4] < share_of_padding(own) / 2

# %% [markdown]
# **Exercise 2.** A common habit is to pad each batch of pairs in any order to the next multiple of
# 8. Write `pad` for it: it gets the lengths of the Spanish and of the English sentences of a batch,
# two arrays, and returns (S, T). Guess before you run the check: is it nearer to one shape for all,
# or to sorting?


# %%
def pad_to_eights(s, t):
    return None  # your answer: two whole numbers


# %% tags=["check"]
tries = [([3, 9], [8, 1]), ([16], [17, 2]), ([1, 24], [7, 7])]
found = [pad_to_eights(np.array(s), np.array(t)) for s, t in tries]
if found == [(16, 8), (16, 24), (24, 8)]:
    shapes = shapes_of_batches(pad_to_eights)
    print(f"Right: {len(set(shapes))} programs, {share_of_padding(shapes):.0%} padding; ", end="")
    print(f"sorted into 4 shapes, {1 - tokens / places[4]:.0%}.")
else:
    print("Not yet. The lengths 3 and 9 become 16, and 8 stays 8.")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# def pad_to_eights(s, t):
#     return tuple(8 * -(-int(side.max()) // 8) for side in (s, t))
# ```
#
# It is near to one shape for all: in a batch of pairs in any order there is nearly always a long
# one, and multiples of 8 round its length up even further. Rounding lowers the number of programs,
# only sorting lowers the padding.
#
# </details>

# %% [markdown]
# ## Padding must not be read
#
# Padding makes shapes static. A mask keeps it from meaning anything: the score of a place that holds
# no word becomes $-\infty$, and its weight 0. The mask has a static shape, too; which places it hides
# is a matter of its values.

# %%
plotting.diagram("masks")

# %% [markdown]
# Here is a small translator, the least that has attention: each English place reads the Spanish
# sentence, and says the next word from what it is and what it read. Its mask comes from the ids.


# %%
def build_model(units=64):
    """Context ids (B, S) and target ids (B, T) → logits (B, T, V)."""
    context = keras.Input((None,), dtype="int32", name="context")
    target = keras.Input((None,), dtype="int32", name="target")
    place = layers.SinusoidalPositions()
    memory = place(keras.layers.Embedding(len(spanish), units)(context) * units**0.5)
    words = place(keras.layers.Embedding(len(english), units)(target) * units**0.5)
    attend = layers.MultiHeadAttention(4, units // 4)
    read = attend(words, memory, attention_mask=padding_mask(context))
    joined = keras.layers.Concatenate()([words, read])
    hidden = keras.layers.Dense(2 * units, activation="relu")(joined)
    inputs = {"context": context, "target": target}
    return keras.Model(inputs, keras.layers.Dense(len(english))(hidden))


# %% [markdown]
# Four more places of padding change no logit of a word:

# %%
keras.utils.set_random_seed(0)
model = build_model()
some = {"context": context_ids[:32, : longest[0]], "target": target_ids[:32, : longest[1]]}
longer = {name: np.pad(ids, ((0, 0), (0, 4))) for name, ids in some.items()}
logits, of_longer = (ops.convert_to_numpy(model(each)) for each in (some, longer))
np.testing.assert_allclose(logits, of_longer[:, : longest[1]], atol=1e-5)
print("logits", logits.shape, "and", of_longer.shape)

# %% [markdown]
# ## See it happen
#
# Two copies of the model take the same number of steps, one on batches with shapes of their own, one
# on batches of four shapes. `jit_compile=True` says that XLA shall compile the step; it is also what
# Keras chooses by itself. `train_on_batch` waits for its result, so the time of each step can be
# taken.

# %% quick="STEPS, SHAPES = 3, 2"
STEPS, SHAPES = 20, 4


# %%
def new_model(units=64, **options):
    keras.utils.set_random_seed(0)
    model = build_model(units)
    loss = training.MaskedCrossentropy()  # padding, label 0, has none
    model.compile(keras.optimizers.Adam(3e-3), loss, jit_compile=True, **options)
    return model


def own_batches():
    """Yield batches as they come, each as long as its longest sentences."""
    for rows, (s, t) in zip(batches_of_rows, ways["each batch its own"], strict=True):
        labels = target_ids[rows, 1 : t + 1]
        target = target_ids[rows, :t] * (labels != 0)
        yield {"context": context_ids[rows, :s], "target": target}, labels


# %%
def times_of(batches):
    """Train on batches, one step each; return the seconds and the shape of every step."""
    model, seconds, shapes = new_model(), [], []
    for _, (inputs, labels) in zip(range(STEPS), batches, strict=False):
        start = time.perf_counter()
        model.train_on_batch(inputs, labels)
        seconds.append(time.perf_counter() - start)
        shapes.append((inputs["context"].shape[1], inputs["target"].shape[1]))
    return np.array(seconds), shapes


# %%
runs = {"each batch its own shape": times_of(own_batches())}

# %%
few = corpora.Batches(context_ids, target_ids, BATCH_SIZE, shapes=SHAPES)
runs[f"{SHAPES} shapes"] = times_of(few.shuffled(seed=0))

# %%
ax = plotting.plot_curves(
    {name: (range(STEPS + 1), np.cumsum([0, *seconds])) for name, (seconds, _) in runs.items()},
    xlabel="steps done",
    ylabel="seconds, added up",
    title="A step whose shape is new is compiled; the others only run",
)
ax.set_xticks(range(0, STEPS + 1, max(STEPS // 10, 1)))
plt.show()

# %%
is_new = {
    name: np.array([shape not in shapes[:n] for n, shape in enumerate(shapes)])
    for name, (_, shapes) in runs.items()
}
for name, (seconds, _) in runs.items():
    first, later = seconds[is_new[name]], seconds[~is_new[name]]
    print(f"{name}: {STEPS} steps took {seconds.sum():.1f} s")
    print(f"  {len(first):2} with a new shape, median {np.median(first):.2f} s")
    if len(later):
        print(f"  {len(later):2} with a known one, median {1000 * np.median(later):.0f} ms")

# %% tags=["claims"]
totals = [seconds.sum() for seconds, _ in runs.values()]
assert totals[0] > 1.5 * totals[1]
for name, (seconds, _) in runs.items():
    assert seconds[is_new[name]].min() > 10 * np.median(seconds[~is_new[name]])

# %% [markdown]
# The time jumps where a shape comes for the first time. How many shapes are best depends on how long
# you train: a program is paid once, padding in every batch. The prices:

# %%
seconds, shapes = runs[f"{SHAPES} shapes"]
new = is_new[f"{SHAPES} shapes"]
placed = sum(BATCH_SIZE * sum(shapes[n]) for n in np.flatnonzero(~new))
compiling, for_a_place = np.median(seconds[new]), seconds[~new].sum() / max(placed, 1)
print(f"a program {compiling:.2f} s, a thousand places {1e6 * for_a_place:.1f} ms")

# %% [markdown]
# **Exercise 3.** Write the formula above as a function. `places` has the places of one pass over the
# corpus, by the number of shapes; a training makes some passes.


# %%
def training_seconds(count, passes, compiling, for_a_place):
    return None  # your answer: seconds, with `count` shapes


# %% tags=["check"]
wanted = [2 * 5.0 + 3 * places[2] * 1e-5, 4 * 5.0 + 9 * places[4] * 1e-5]
found = [training_seconds(2, 3, 5.0, 1e-5), training_seconds(4, 9, 5.0, 1e-5)]
if None not in found and np.allclose(found, wanted):
    print("Right. With the times measured above,")
    for passes in (1, 10, 100):
        totals = [training_seconds(n, passes, compiling, for_a_place) for n in places]
        best = list(places)[np.argmin(totals)]
        print(f"{passes:4} passes: best of {', '.join(map(str, places))} shapes is {best}")
else:
    print("Not yet. A program for each shape, once; every place, in every pass.")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# def training_seconds(count, passes, compiling, for_a_place):
#     return count * compiling + passes * places[count] * for_a_place
# ```
#
# Short trainings want few shapes, long ones more. `corpora.Batches` chooses by itself if you do not
# say how many: one, and one more for every 16 batches, up to 8. It cannot know how often the batches
# come again.
#
# </details>

# %% [markdown]
# ## `fit`
#
# `fit` is no different: the time that goes into compiling looks like a slow epoch. With few shapes
# it is paid once. A batch that is short of pairs is filled up with empty ones, so that B stays the
# same.

# %% quick="EPOCHS, STEPS = 2, 2"
EPOCHS, STEPS = 5, 100

# %%
model = new_model()
fitted = model.fit(
    few.shuffled(seed=0), epochs=EPOCHS, steps_per_epoch=STEPS, shuffle=False, verbose=2
)
losses = fitted.history["loss"]

# %% tags=["claims"]
assert losses[-1] < 0.5

# %% [markdown]
# ### Several steps at a time
#
# Between two steps `fit` goes back to Python: callbacks, the next batch. For a model as small as
# this one on a fast device that takes longer than the step. `steps_per_execution=8` goes back after
# every eighth step; callbacks and the progress bar then see only these. (On JAX, Keras starts each of
# the eight steps from Python nonetheless, and saves only what stands between them.) Here is a tiny
# model on batches of four pairs:

# %% quick="EPOCHS, STEPS = 1, 8"
EPOCHS, STEPS = 4, 200


# %%
def milliseconds_a_step(steps_per_execution):
    """Train a tiny model; return the milliseconds of a step in the fastest epoch."""
    model, clock = new_model(8, steps_per_execution=steps_per_execution), []
    now = keras.callbacks.LambdaCallback(
        on_epoch_begin=lambda epoch, logs: clock.append(time.perf_counter()),
        on_epoch_end=lambda epoch, logs: clock.append(time.perf_counter()),
    )
    batches = corpora.Batches(context_ids, target_ids, 4, shapes=1).shuffled()
    sizes = {"epochs": EPOCHS, "steps_per_epoch": STEPS}
    model.fit(batches, **sizes, shuffle=False, verbose=2, callbacks=[now])
    return 1000 * min(np.diff(clock)[::2]) / STEPS


measured = {n: milliseconds_a_step(n) for n in (1, 8)}
for n, each in measured.items():
    print(f"steps_per_execution={n}: {each:.2f} ms a step")

# %% [markdown]
# **Exercise 4.** A step takes $a$ on the device. Going back to Python takes $b$, and is needed once
# in $n$ steps. So a step takes $t_n = a + b / n$. What are $a$ and $b$, if you have measured $t_1$
# and $t_n$?


# %%
def parts(t_1, t_n, n):
    return None  # your answer: a, b


# %% tags=["check"]
found = parts(3.0, 1.25, 8)
if found is not None and np.allclose(found, (1.0, 2.0)):
    a, b = parts(measured[1], measured[8], 8)
    print(f"Right. Above, the device took {a:.2f} ms a step, and going back {b:.2f} ms.")
else:
    print("Not yet. For t_1 = 3 ms and t_8 = 1.25 ms they are 1 ms and 2 ms.")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# def parts(t_1, t_n, n):
#     b = (t_1 - t_n) / (1 - 1 / n)
#     return t_1 - b, b
# ```
#
# Subtract the equations for 1 and for $n$. Other work on the machine disturbs such small times; a
# negative $b$ means that there was nothing to gain.
#
# </details>

# %% [markdown]
# ## What does not compile
#
# Whatever is no number, whatever calls the host, and whatever has a shape that depends on *values*:
#
# | in a model | instead |
# | --- | --- |
# | strings, vocabularies, ragged tensors | ids before the model: text is split on the host |
# | `print`, files, `tf.py_function`: the host is called back | outputs of the model, a callback of `fit` |
# | `np.random`, `time.time`: happen once, while the function is traced | `keras.random` with a `SeedGenerator` |
# | `if` and `while` over the value of a tensor | `ops.where`, `ops.cond`, `ops.while_loop` |
# | `x[x > 0]`, `nonzero`, `unique`: as many results as there happen to be | a mask, and `where`: the same shape, zeros in it |
# | a Python loop until `[END]` | `ops.while_loop` with a limit: all sentences go on until the last is done |
#
# The compiler says so, in its way. TensorFlow on text, if it is there (Colab's machines with a TPU
# have none):

# %%
numbers = np.array([[0.7, 0.0, 0.3], [0.0, 1.0, 0.0]], "float32")

if importlib.util.find_spec("tensorflow"):
    import tensorflow as tf

    as_text = tf.function(tf.strings.as_string, jit_compile=True)
    try:
        as_text(numbers)
    except tf.errors.InvalidArgumentError as error:
        print(error.message.split("JIT: ")[-1].split(" compatible")[0] + ")")

# %% [markdown]
# JAX, through which Keras reaches a TPU, on a shape that depends on values, and on `where` in its
# place. (TensorFlow takes some such shapes, as long as it knows how many results there can be at
# most.)

# %%
if importlib.util.find_spec("jax"):
    import jax

    try:
        jax.jit(lambda x: x[x > 0])(numbers)
    except IndexError as error:
        print(str(error).splitlines()[0], end="\n\n")
    print(jax.jit(lambda x: jax.numpy.where(x > 0, x, 0.0))(numbers))

# %% [markdown]
# **Exercise 5.** This function takes the mean of the numbers of each sentence, say the losses of its
# words. It picks the words out of the padding, sentence by sentence, and so cannot be compiled. Write
# it with `keras.ops` for static shapes: `numbers` (B, T) has a number for each place, `ids` (B, T) are
# 0 at padding. A sentence without words gets 0.


# %%
def means_by_picking(numbers, ids):
    """Return the mean of the numbers of each sentence, (B,)."""
    rows = [row[words != 0] for row, words in zip(numbers, ids, strict=True)]
    return np.array([row.mean() if len(row) else 0.0 for row in rows], "float32")


def means(numbers, ids):
    return None  # your answer


# %% tags=["check"]
ids = target_ids[:6].astype("int32")
ids[5] = 0  # a sentence without words
word_losses = rng.uniform(1, 3, size=ids.shape).astype("float32")
wanted = means_by_picking(word_losses, ids)
if means(word_losses, ids) is None:
    print("Not yet. Put 0 at padding, add up, and divide by the number of words.")
elif np.allclose(ops.convert_to_numpy(compiled(means)(word_losses, ids)), wanted, atol=1e-5):
    print("Right. It is one program for any six sentences of this length.")
else:
    print("Not yet. The last sentence has no words: 0 / 0 is no number.")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# def means(numbers, ids):
#     is_word = ops.cast(ops.not_equal(ids, 0), "float32")
#     count = ops.sum(is_word, axis=-1)
#     return ops.sum(numbers * is_word, axis=-1) / ops.maximum(count, 1.0)
# ```
#
# The same mask, with the same care for a row that is empty, is in the package's attention, loss and
# metrics.
#
# </details>

# %% [markdown]
# ## Translating compiles, too
#
# Training knows all words of a translation. Translating does not: it writes word by word, and the
# sentence grows. If every step had a shape of its own, each would be another program. So the whole
# loop is one program, and what it has written goes into a **cache** with a fixed number of slots,
# of which more and more are filled. A mask hides the others.

# %%
plotting.diagram("cache")

# %% [markdown]
# A `Translator` works like this. Sentences are padded to one of a few lengths, so a new sentence
# needs no new program; `programs` counts them. This is the trained Transformer that comes with the
# package:

# %%
translator = Translator.load("spa-eng")
sentences = ("El niño come.", "La niña lee un libro.", "¿Dónde vive tu hermana mayor ahora?")
print("the lengths to which it pads:", *corpora.BUCKETS)


def translate_all():
    for sentence in sentences:
        start = time.perf_counter()
        text = translator(sentence, attention=False, max_length=20).text
        took = 1000 * (time.perf_counter() - start)
        print(f"{took:8.0f} ms, {translator.programs} programs: {sentence} → {text}")


translate_all()

# %% [markdown]
# A sentence whose length is the first in its bucket waits for the compiler. The same sentences
# again:

# %%
translate_all()

# %% [markdown]
# `translator.warm_up(batch_size=1, attention=False, max_length=20)` would have compiled the programs
# of all buckets beforehand, so that no sentence waits.
#
# ## What runs where, and how long
#
# The cells of this chapter are the same on a CPU, a GPU and a TPU. How much an accelerator gains
# depends on how much it is given to do at once. This cell measures training steps of our model on
# the device that you have, with batches of several sizes:

# %% quick="SIZES, STEPS = (2, 4), 1"
SIZES, STEPS = (16, 64, 256), 5

# %%
for size in SIZES:
    batches = corpora.Batches(context_ids, target_ids, size, shapes=1)
    inputs, labels = next(iter(batches.shuffled()))
    clock = [time.perf_counter()]
    for _ in range(1 + STEPS):
        model.train_on_batch(inputs, labels)
        clock.append(time.perf_counter())
    first, *others = np.diff(clock)
    step = np.median(others)
    print(
        f"{size:4} pairs of {batches.shapes[0]} tokens: first step {first:6.2f} s, "
        f"then {1000 * step:6.1f} ms, {size / step:,.0f} pairs a second"
    )

# %% [markdown]
# These times were recorded with a larger model, the Transformer of the TensorFlow tutorial: 4 + 4
# layers of width 128, 8,000 pieces of words in each language.

# %%
recorded = [  # where, pairs in a batch, tokens in a sentence, milliseconds of a training step
    ("2 cores of an Intel Xeon, TensorFlow, float32", 64, 16, 253),
    ("NVIDIA H200, JAX, float32", 128, 16, 11),
    ("NVIDIA H200, JAX, float32", 1024, 32, 21),
    ("NVIDIA H200, JAX, bfloat16", 1024, 32, 17),
]
print(f"{'training step':49}{'pairs':>6} × tokens       time   tokens a second")
for where, size, length, milliseconds in recorded:
    rate = size * length / milliseconds * 1000
    print(f"{where:49}{size:6} × {length:<6}{milliseconds:8} ms{rate:18,.0f}")

# %% [markdown]
# | where | what else is known |
# | --- | --- |
# | CPU | without instructions for bfloat16, it is slower: the Transformer trains 0.90 times as fast. With them it trains 1.08 to 1.15 times as fast |
# | GPU | one NVIDIA H200 decoded 256 sentences of 50 tokens in 25 ms, with a beam of 4 in 52 ms, with an earlier version of the package. The step of 17 ms uses 4.4 % of what such a chip reaches in large products of matrices: a width of 128 does not fill it |
# | TPU | no run. Google's compiler for TPUs, on two busy CPU cores, compiled this Transformer for four chips of a v5e: the training step in 44 s, decoding in 10 s. A calculation for one such chip gives 67 ms for 1,024 pairs of 32 tokens in bfloat16, if it is filled no better than the H200 |
#
# The sources: [README](https://github.com/keras-attention/keras_attention/blob/main/README.md),
# [Speed](https://github.com/keras-attention/keras_attention/blob/main/docs/speed.md), [TPUs, on a
# machine without one](https://github.com/keras-attention/keras_attention/blob/main/docs/tpu.md) and
# [scaling](https://github.com/keras-attention/keras_attention/blob/main/docs/scaling.md), which
# has the calculation.
#
# A small batch takes an accelerator nearly as long as a large one, since starting the operations
# takes longer than computing them. So use batches as large as learning allows, bfloat16 on a GPU or
# a TPU (`keras.config.set_dtype_policy("mixed_bfloat16")` before the model is made), few shapes, and
# `steps_per_execution`.
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
# **Exercise 6.** Eight chips get equal parts of a batch. The last batch of a pass has 20 pairs, and
# 20 is no multiple of 8; a new B would also be a new program. Fill a batch up to `rows` rows, without
# changing its loss.


# %%
def filled(inputs, labels, rows):
    """Return the batch with `rows` rows."""
    return inputs, labels  # your answer


# %% tags=["check"]
inputs, labels = few.batch(few.shapes[-1], np.arange(32), (0, 1))
inputs, labels = {name: ids[:20] for name, ids in inputs.items()}, labels[:20]
full, full_labels = filled(inputs, labels, 24)
loss, full_loss = (
    float(training.MaskedCrossentropy()(y, model(x)))
    for x, y in ((inputs, labels), (full, full_labels))
)
if len(full_labels) != 24 or {len(ids) for ids in full.values()} != {24}:
    print("Not yet. Context, target and labels must all have 24 rows.")
elif np.isclose(loss, full_loss, rtol=1e-4):
    print(f"Right. The loss of 20 pairs is {loss:.5f}, that of 24 rows {full_loss:.5f}.")
else:
    print(f"Not yet. The loss was {loss:.5f}, and became {full_loss:.5f}.")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# def filled(inputs, labels, rows):
#     more = ((0, rows - len(labels)), (0, 0))
#     return {name: np.pad(ids, more) for name, ids in inputs.items()}, np.pad(labels, more)
# ```
#
# A label 0 has no loss, and the loss is a mean over the labels that count. Filling up with copies of
# other pairs would count these twice. A row of padding has nothing to attend to: the package gives
# it weights of 0, where a softmax alone would divide 0 by 0.
#
# </details>

# %% [markdown]
# Next: [11 · Long memories](11_long_memories.ipynb). In the documentation: [Which attention should I
# use?](https://github.com/keras-attention/keras_attention/blob/main/docs/choosing.md) and [from one
# laptop to a slice of a TPU
# pod](https://github.com/keras-attention/keras_attention/blob/main/docs/scaling.md).

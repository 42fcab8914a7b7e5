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
# # 6 · A memory that is written as well
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/keras-attention/keras_attention/blob/main/examples/06_neural_turing_machine.ipynb)
#
# Until here attention read a memory that somebody else had filled. A Neural Turing Machine fills
# it itself: the same soft weights say where to read and where to write. *Runs in about two minutes
# on a CPU; no accelerator needed.*

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

from keras_attention import layers, models, plotting
from keras_attention.lab import tasks
from keras_attention.lab.algorithms import build_lstm
from keras_attention.ops import addressing

QUICK = bool(os.environ.get("KERAS_ATTENTION_QUICK"))  # set by the tests: fewer steps
keras.utils.set_random_seed(0)

# %% [markdown]
# ## What the paper says
#
# Graves, Wayne and Danihelka (2014), *Neural Turing Machines*, give a network a sheet of scratch
# paper. A **controller** (any network, here one dense layer) sees the input of a time step and
# what was read in the step before. It does not touch the **memory** itself, a matrix with $N$ rows
# of width $M$; it only turns the dials of its **heads**. A read head returns a mixture of rows, a
# write head erases and adds. No head ever picks *one* row: it has a weight for each of them, so
# that everything has a gradient.
#
# What is an explicit memory good for? Three answers, all of which come back below:
#
# - what was written stays as it is until it is overwritten, so content and gradients survive many
#   steps, where the state of an LSTM is changed by every one of them;
# - its size is no matter of the weights: the layer that turns the dials is the same for any number
#   of rows;
# - facts lie apart from each other, so a network can fetch one, and with it look for the next.

# %% [markdown]
# ## One address, in four stages
#
# Section 3.3 of the paper. The controller gives a head a key $k$ ($M$ numbers), a strength
# $\beta>0$, a gate $0\le g\le1$, shares $s$ of the moves back, stay and on (they sum to 1) and an
# exponent $\gamma\ge1$. $M(i)$ is row $i$ of the memory, $w_{t-1}$ are the weights of the step
# before; all $w$ have $N$ numbers that sum to 1.
#
# $$w^c(i) = \frac{\exp(\beta\cos(k, M(i)))}{\sum_j \exp(\beta\cos(k, M(j)))}
# \qquad\text{content (5, 6)}$$
#
# $$w^g = g\,w^c + (1-g)\,w_{t-1} \qquad\text{interpolation (7)}$$
#
# $$\tilde w(i) = \sum_j w^g(j)\,s(i-j \bmod N) \qquad\text{shift (8)}$$
#
# $$w(i) = \frac{\tilde w(i)^\gamma}{\sum_j \tilde w(j)^\gamma} \qquad\text{sharpening (9)}$$
#
# (The lecture notes write $w^q$ for $w^g$, leave the last stage out, and call the shift a
# convolution: it is a circular one, what leaves at the end comes in at the beginning.)
#
# Each stage is a line of NumPy:


# %%
def softmax(scores):
    """Turn scores (N,) into weights that sum to 1."""
    return np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()


def content(key, memory, strength):
    """Return w^c of a key (M,) in a memory (N, M): eq. 5 and 6."""
    lengths = np.maximum(np.linalg.norm(memory, axis=1), 1e-3) * np.linalg.norm(key)
    return softmax(strength * (memory @ key) / lengths)


def interpolate(weights, before, gate):
    """Return w^g: eq. 7."""
    return gate * weights + (1 - gate) * before


def shift(weights, shares):
    """Return w̃, for the shares of the moves −1, 0 and +1: eq. 8."""
    return sum(shares[move + 1] * np.roll(weights, move) for move in (-1, 0, 1))


def sharpen(weights, exponent):
    """Return w: eq. 9."""
    return weights**exponent / (weights**exponent).sum()


# %% [markdown]
# A memory of eight rows. The key is row 2 with two of its twelve numbers wrong; the head stood on
# row 6 before; the gate lets most of the new place through; the shift goes one row on, though not
# quite surely.

# %%
rng = np.random.default_rng(1)
memory = rng.choice([-1.0, 1.0], size=(8, 12)).astype("float32")
key = memory[2].copy()
key[:2] *= -1
before = np.eye(8, dtype="float32")[6]
strength, gate, shares, exponent = 6.0, 0.8, (0.0, 0.2, 0.8), 3.0

by_content = content(key, memory, strength)
gated = interpolate(by_content, before, gate)
moved = shift(gated, shares)
weights = sharpen(moved, exponent)

# %% [markdown]
# The same by the package. Its functions take batches and several heads: memories $(B, N, M)$,
# weights $(B, H, N)$; `address` is all four stages in one.


# %%
def batched(array):
    """Make an example of one head a batch of one."""
    return np.asarray(array, "float32")[None, None]


def unbatched(tensor):
    """Take the one head of the one example out again."""
    return ops.convert_to_numpy(tensor)[0, 0]


wanted = addressing.Address(*map(batched, (key, strength, gate, shares, exponent)))
stages = [addressing.content_weights(wanted.keys, memory[None], wanted.strengths)]
stages.append(addressing.interpolate(stages[-1], batched(before), wanted.gates))
stages.append(addressing.shift(stages[-1], wanted.shifts))
stages.append(addressing.sharpen(stages[-1], wanted.exponents))
for ours, theirs in zip((by_content, gated, moved, weights), stages, strict=True):
    np.testing.assert_allclose(ours, unbatched(theirs), atol=1e-5)
at_once = addressing.address(wanted, memory[None], batched(before))
np.testing.assert_allclose(weights, unbatched(at_once), atol=1e-5)
print("weights by row:", weights.round(3))


# %%
def plot_stages(panels):
    """Draw what each stage makes (blue) of what it was given (grey)."""
    size = {"figsize": (9, 3), "layout": "constrained"}
    figure, axes = plt.subplots(1, len(panels), sharey=True, **size)
    for ax, (name, (given, made)) in zip(axes, panels.items(), strict=True):
        rows = np.arange(len(made))
        if given is not None:
            ax.bar(rows, given, width=0.9, color="0.8", label="before the stage")
        ax.bar(rows, made, width=0.5, color="#0072b2", label="after it")
        ax.set_title(name, fontsize=10)
        ax.set_xticks(rows)
        ax.set_xlabel("row of the memory")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("weight")
    figure.legend(*axes[-1].get_legend_handles_labels(), loc="outside lower center", ncols=2)


plot_stages(
    {
        "content:\nwhich row is like the key?": (None, by_content),
        "interpolation:\nthe new place or the old?": (by_content, gated),
        "shift:\none row on": (gated, moved),
        "sharpening:\nundo the blur": (moved, weights),
    }
)
plt.show()

# %% [markdown]
# From left to right: the wrong numbers in the key do no harm; a fifth of the weight stays where
# the head was; everything moves on by one, and smears, since the head was only 80 % sure of the
# move; sharpening puts most of the weight on one row again. The head now stands on the row *after*
# the one that looks like the key.
#
# ## Why a machine needs the shift
#
# Content is no way to walk through a memory. Two small cases:
#
# 1. **Where is a free row?** At the start all rows are alike, so every key is like every row.
# 2. **Which of two equal rows?** Variables change their values, and two may have the same one.
#    What a row holds does not tell them apart; where it is does.

# %%
empty = np.full((8, 12), 1e-6)
print("an empty memory, by content:", content(key, empty, 50.0).round(3))

twins = memory.copy()
twins[5] = twins[2]  # the same value is stored twice
print("rows 2 and 5 are equal:     ", content(twins[2], twins, 50.0).round(3))

step_on = (0.0, 0.0, 1.0)
standing = np.eye(8)[4]
print("one row on from row 4:      ", shift(standing, step_on).round(3))

# %% [markdown]
# The shift moves a head without a look at what is stored: "the next row" works for any content,
# and so an algorithm can go through a list it has never seen. Content and shift together make
# jumps: find the row that looks like the key, then go to the one after it.
#
# ## Why it needs sharpening
#
# A controller gives shares of moves that are never quite 0 and 1. Each move then blurs the weights
# a bit more, for each is a convolution. Below a head walks 28 rows with 90 % of the share on "on",
# once with $\gamma=1$ and once with $\gamma=3$.


# %%
def walk(steps, shares, exponent, rows=32):
    """Move a head on from row 0: its weights after each step, (steps + 1, rows)."""
    path = [np.eye(rows)[0]]
    for _ in range(steps):
        path.append(sharpen(shift(path[-1], shares), exponent))
    return np.stack(path)


walks = {f"γ = {exponent}": walk(28, (0.02, 0.08, 0.9), exponent) for exponent in (1, 3)}
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
for ax, (name, path) in zip(axes, walks.items(), strict=True):
    image = ax.imshow(path.T, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    ax.set_title(f"28 moves, {name}: largest weight at the end {path[-1].max():.2f}", fontsize=10)
    ax.set_xlabel("time step")
axes[0].set_ylabel("row of the memory")
figure.colorbar(image, ax=axes, label="weight", shrink=0.8)
plt.show()

# %% [markdown]
# ## Read, erase, add
#
# Sections 3.1 and 3.2 of the paper. With weights $w$ of a read head, and of a write head together
# with what to erase, $e$, between 0 and 1, and what to add, $a$, both of width $M$:
#
# $$r = \sum_i w(i)\,M(i) \qquad \tilde M(i) = M_{t-1}(i)\odot(1 - w(i)\,e) \qquad
# M_t(i) = \tilde M(i) + w(i)\,a$$


# %%
def read(memory, weights):
    """Return r, (M,): eq. 2."""
    return weights @ memory


def erase(memory, weights, erased):
    """Return M̃, (N, M): eq. 3."""
    return memory * (1 - np.outer(weights, erased))


def add(memory, weights, added):
    """Return M_t, (N, M): eq. 4."""
    return memory + np.outer(weights, added)


erased = np.ones(12, "float32")
added = np.tile([1.0, -1.0], 6).astype("float32")  # a pattern that one can see
wiped = erase(memory, weights, erased)
written = add(wiped, weights, added)

np.testing.assert_allclose(
    read(memory, weights), unbatched(addressing.read(memory[None], batched(weights))), atol=1e-5
)
by_package = addressing.erase(memory[None], batched(weights), batched(erased))
np.testing.assert_allclose(wiped, ops.convert_to_numpy(by_package)[0], atol=1e-5)
by_package = addressing.add(by_package, batched(weights), batched(added))
np.testing.assert_allclose(written, ops.convert_to_numpy(by_package)[0], atol=1e-5)

sure = np.eye(8)[3]  # a head that is quite sure, and erases all: the row is replaced
np.testing.assert_array_equal(add(erase(memory, sure, erased), sure, added)[3], added)

# %%
figure, axes = plt.subplots(1, 3, figsize=(9, 2.6), sharey=True, layout="constrained")
panels = {
    "the memory before": memory,
    "row 3 is erased": wiped,
    "and has a new pattern": written,
}
for ax, (name, rows) in zip(axes, panels.items(), strict=True):
    image = ax.imshow(rows, cmap="PuOr", vmin=-1.5, vmax=1.5, aspect="auto")
    ax.set_title(name, fontsize=10)
    ax.set_xlabel("number in the row")
    ax.set_xticks(range(0, 12, 2))
    ax.set_yticks(range(8))
axes[0].set_ylabel("row of the memory")
figure.colorbar(image, ax=axes, label="content", shrink=0.9)
plt.show()

# %% [markdown]
# Row 3, where nearly all of the weight lies, loses its old content and gets the new one. Erase
# before add is what makes it a replacement; with $e=0$ the new would lie on top of the old.
#
# ## The whole machine
#
# What is still missing is the controller, which makes the dials of plain numbers: $\tanh$ for keys
# and for what is added, $\mathrm{softplus}$ for $\beta$, $1+\mathrm{softplus}$ for $\gamma$, a
# sigmoid for gates and for what is erased, a softmax for the shares of the moves. One step: the
# controller sees $[x_t; r_{t-1}]$, the write head finds its rows and changes them, the read head
# finds its own in the memory as it is now. In the package this is the cell `NTMCell`, which goes
# into `keras.layers.RNN`.


# %%
def softplus(x):
    """Return ln(1 + e^x), above 0."""
    return np.log1p(np.exp(x))


def sigmoid(x):
    """Return a number between 0 and 1."""
    return 1 / (1 + np.exp(-x))


def find(numbers, memory, before):
    """Turn M + 6 numbers of the controller into dials, and these into weights."""
    key, (strength, gate, exponent), moves = np.split(numbers, [memory.shape[1], -3])
    by_content = content(np.tanh(key), memory, softplus(strength))
    gated = interpolate(by_content, before, sigmoid(gate))
    return sharpen(shift(gated, softmax(moves)), 1 + softplus(exponent))


def machine_step(cell, x, memory, reads, reading, writing):
    """Go one step with a read head and a write head; return the next state."""
    width = memory.shape[1]
    kernel, bias, heads_kernel, heads_bias = map(
        ops.convert_to_numpy,
        (cell.core.kernel, cell.core.bias, cell.to_heads.kernel, cell.to_heads.bias),
    )
    hidden = np.tanh(np.concatenate([x, reads]) @ kernel + bias)
    sizes = np.cumsum([width + 6, width + 6, width])
    to_read, to_write, erased, added = np.split(hidden @ heads_kernel + heads_bias, sizes)
    writing = find(to_write, memory, writing)
    memory = add(erase(memory, writing, sigmoid(erased)), writing, np.tanh(added))
    reading = find(to_read, memory, reading)
    return memory, read(memory, reading), reading, writing


cell = layers.NTMCell(units=16, rows=7, width=5, return_attention_scores=True)
inputs = rng.normal(size=(4, 3)).astype("float32")
outputs = cell.split(keras.layers.RNN(cell, return_sequences=True)(inputs[None]))

first = [ops.convert_to_numpy(state)[0] for state in cell.get_initial_state(batch_size=1)]
state = (first[0].reshape(7, 5), first[1], *first[2].reshape(2, 7))
for t, x in enumerate(inputs):
    state = machine_step(cell, x, *state)
    _, r, reading, writing = state
    np.testing.assert_allclose(r, ops.convert_to_numpy(outputs["output"])[0, t, 16:], atol=1e-5)
    for mine, name in ((reading, "read_weights"), (writing, "write_weights")):
        np.testing.assert_allclose(mine, ops.convert_to_numpy(outputs[name])[0, t, 0], atol=1e-5)
print("four steps of the cell, and the same in NumPy: equal")

# %% [markdown]
# ## To copy
#
# The paper's first task (section 4.1): random vectors of 8 bits come in, then a delimiter, and
# then, without any further input, they are to be given back in order. It is a test of memory
# alone. Beside the machine stands an LSTM with at least as many weights. Both see the same
# sequences, once each, and both are trained with the optimiser of the paper; the cost is counted
# in bits a sequence, where who guesses pays 8 for each vector.
#
# How the heads begin matters. Where all rows are alike and a head stands evenly on all of them, no
# gradient tells one row from another, and nothing is learned. Here both heads begin on the first
# row, rather sure of it, and rather stay than jump; where to go they have to learn.

# %%
LONGEST, BITS = (3, 8) if QUICK else (10, 8)
SEQUENCES = 40 if QUICK else 8000
ROWS = 12 if QUICK else 40


def bits_of_steps(targets, logits):
    """Return the cost of each step, (B, T): −log₂ of the probability of its bits."""
    targets, logits = ops.expand_dims(targets, -1), ops.expand_dims(logits, -1)
    nats = keras.losses.binary_crossentropy(targets, logits, from_logits=True)
    return ops.sum(nats, axis=-1) / math.log(2)


def train(model, examples, longer, epochs=20, steady=16):
    """See each sequence once, and keep what was best at longer ones.

    Returns how many sequences were seen, and what the last ones cost.
    """
    each, steps = len(examples.inputs) // epochs, examples.asked.shape[1]
    model.compile(
        keras.optimizers.RMSprop(
            3e-4, rho=0.95, momentum=0.9, epsilon=1e-4, centered=True, global_clipnorm=10.0
        ),
        loss=bits_of_steps,
        jit_compile=not QUICK and keras.backend.backend() != "torch",
        steps_per_execution=1 if QUICK else 50,
    )
    falling = keras.callbacks.LearningRateScheduler(
        lambda epoch: 3e-4 * 0.1 ** (max(0, epoch - steady) / (epochs - steady))
    )
    best = keras.callbacks.EarlyStopping("val_loss", patience=epochs, restore_best_weights=True)
    history = model.fit(
        examples.inputs,
        examples.targets,
        sample_weight=examples.asked,
        batch_size=1,
        steps_per_epoch=each,
        epochs=epochs,
        shuffle=False,
        verbose=0,
        validation_data=(longer.inputs, longer.targets, longer.asked),
        validation_batch_size=len(longer.inputs),
        callbacks=[falling, best],
    ).history
    return each * np.arange(1, epochs + 1), steps * np.array(history["loss"])


examples = tasks.copy(np.random.default_rng(0), SEQUENCES, longest=LONGEST, bits=BITS)
longer = tasks.copy(np.random.default_rng(9), 100, LONGEST + 1, 3 * LONGEST // 2, BITS)
machine = models.build_neural_turing_machine(
    channels=BITS + 1,
    bits=BITS,
    units=64,
    rows=ROWS,
    width=12,
    start="first_row",
    focus=6.0,
    gate_bias=-2.0,
    stay_bias=2.0,
    sharp_bias=1.0,
)
contenders = {
    "Neural Turing Machine": machine,
    "LSTM": build_lstm(BITS + 1, BITS, machine.count_params()),
}
curves = {}
for name, model in contenders.items():
    start = time.perf_counter()
    curves[name] = train(model, examples, longer)
    seconds = time.perf_counter() - start
    print(f"{name}: {model.count_params():,} weights, trained in {seconds:.0f} seconds")

# %%
plotting.plot_curves(
    curves,
    xlabel="sequences seen",
    ylabel="cost of a new sequence, in bits",
    logarithmic="y",
    title=f"Learning to copy up to {LONGEST} vectors",
)
plt.show()

# %% [markdown]
# ## Longer than all it has seen
#
# The same weights, longer sequences. What the LSTM has learnt does not even do for the lengths it
# saw. The machine has learnt a small program, and goes on where training ended, though lists as
# short as these leave it unsure of its steps in the long run: the curve below says how far it
# gets. The longer the lists of the training, the farther: `keras-attention lab copy` trains with
# up to 20 vectors, and copies 60.


# %%
def share_wrong(model, examples):
    """Return the share of the bits asked for that are wrong."""
    logits = ops.convert_to_numpy(model(examples.inputs))
    wrong = (logits > 0) != (examples.targets > 0.5)
    return wrong[examples.asked > 0].mean()


lengths = (1, 2, 4) if QUICK else (2, 5, 10, 15, 20, 25, 30)
errors = {name: [] for name in contenders}
for length in lengths:
    longer = tasks.copy(np.random.default_rng([1, length]), 50, length, length, BITS)
    for name, model in contenders.items():
        errors[name].append(100 * share_wrong(model, longer))
print("wrong bits, %     length", "".join(f"{length:8}" for length in lengths))
for name, shares_wrong in errors.items():
    print(f"{name:24}", "".join(f"{share:8.2f}" for share in shares_wrong))

axes = plotting.plot_curves(
    {name: (lengths, shares_wrong) for name, shares_wrong in errors.items()},
    xlabel="vectors to copy",
    ylabel="wrong bits, %",
    title="Copying more than training ever showed",
)
axes.axvline(LONGEST, color="0.5", linestyle=":")
axes.text(LONGEST + 0.3, 25, "longest in training", color="0.4", fontsize=9)
plt.show()
if not QUICK:
    machine_wrong, lstm_wrong = (dict(zip(lengths, e, strict=True)) for e in errors.values())
    assert machine_wrong[LONGEST] < 1 < 20 < lstm_wrong[LONGEST]
    assert machine_wrong[2 * LONGEST] < 10 < 30 < lstm_wrong[2 * LONGEST]

# %% [markdown]
# ## The tape
#
# What the heads did, step by step: time goes to the right, rows downwards; the paper's figure 6.

# %%
length = 2 * LONGEST
shown = tasks.copy(np.random.default_rng(2), 1, length, length, BITS)
seen = {
    name: ops.convert_to_numpy(value)[0]
    for name, value in models.tapes(machine)(shown.inputs).items()
}
axes = plotting.plot_tapes(
    shown.inputs[0],
    shown.asked[0, :, None] * sigmoid(seen["logits"]),
    seen["write_weights"],
    seen["read_weights"],
    title=f"Copying {length} vectors, trained on at most {LONGEST}",
)
axes[0, 0].figure.set_size_inches(9, 5.8)
plt.show()

# %% [markdown]
# The write head goes down one row a step while the vectors come in. The read head waits until the
# delimiter comes, and then follows the same way, one row a step: `while input: write, go on; at
# the delimiter: go back to the first row; while asked: read, go on`. Nobody wrote this program; it
# was found by gradients, through every stage of the address.
#
# ## Questions
#
# **Which ways of addressing a memory could be implemented?** By *content*: the row that is like a
# key. By *place*: a row by its number (`score="location"` in this package), or one relative to
# where the head is, as the shift does. By *time*: what was written last, or longest ago (memory
# networks, in the next notebook, give each entry its age). And mixtures of them, which is what the
# gate is for: $g=1$ jumps by content, $g=0$ goes on from where it was.
#
# **Is it a Turing machine?** Its memory is finite, and a head reads everywhere at once. A random
# access memory beside a processor that learns is the closer picture. Copying more vectors than
# there are rows cannot work, as the exercise shows.
#
# **What is trained?** The controller and the layer that makes the dials, what was read before the
# start, and where the heads begin. The memory's content is no parameter: it is written anew for
# every sequence.
#
# ## Exercise
#
# 1. Write the program that training found by hand: set the dials yourself so that a sequence is
#    copied, with nothing but `read`, `erase`, `add` and `shift` from above. What happens to a
#    sequence that is longer than the memory?
# 2. *Associative recall*: a list of items is in the memory, one a row; one of them is shown, and
#    the item that came after it is wanted. Which stages do you need?
#
# ## Worked answer


# %%
def copy_by_hand(vectors, rows):
    """Write each vector into a row of its own, go back, and read them."""
    memory = np.full((rows, vectors.shape[1]), 1e-6)
    writing = reading = np.eye(rows)[0]
    for vector in vectors:
        memory = add(erase(memory, writing, np.ones(len(vector))), writing, vector)
        writing = shift(writing, step_on)
    answer = []
    for _ in vectors:
        answer.append(read(memory, reading))
        reading = shift(reading, step_on)
    return np.stack(answer)


for length in (30, 32, 40):
    vectors = rng.integers(0, 2, size=(length, BITS)).astype(float)
    right = np.isclose(copy_by_hand(vectors, rows=32), vectors, atol=1e-5).all(axis=1)
    print(f"{length} vectors, 32 rows: {right.sum()} right; wrong: {np.flatnonzero(~right)}")

# %% [markdown]
# The shift goes around the end, so what does not fit overwrites what came first: the first eight
# of forty vectors are lost, and only these.
#
# For the recall, content finds the row of the item that is shown, and the shift goes on to the one
# after it. Neither is enough alone: content gives back the item itself, a shift knows no item.

# %%
items = rng.choice([-1.0, 1.0], size=(6, 12))
number = 3
here = content(items[number], items, strength=20.0)
after = shift(here, step_on)
print("content alone reads item", np.abs(items - read(items, here)).sum(axis=1).argmin())
print("content and shift read item", np.abs(items - read(items, after)).sum(axis=1).argmin())
np.testing.assert_allclose(read(items, after), items[number + 1], atol=1e-2)

# %% [markdown]
# A machine that learns this from examples alone is `keras-attention lab associative-recall`;
# longer copies, and copies of copies, are `lab copy` and `lab repeat-copy`.
#
# Next: [7 · Questions about stories](07_memory_networks.ipynb), where the memory is only read, but
# several times, with the question changed by what was found. In the documentation:
# [Which attention should I use?](https://github.com/keras-attention/keras_attention/blob/main/docs/choosing.md),
# and the pages of `layers.NTMCell` and `models.build_neural_turing_machine`.

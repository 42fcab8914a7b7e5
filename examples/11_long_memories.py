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
# # 11 · Long memories
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/keras-attention/keras_attention/blob/main/examples/11_long_memories.ipynb)
#
# How far back can a network look, and what tells it where? This notebook measures how far a
# gradient reaches, trains networks on what happened fifty steps ago, and then takes the memories
# of the lecture one by one: a text that reads itself, positions, past alignments, CTC, Hopfield
# networks and glimpses. *Runs in about three minutes on a CPU; no accelerator needed.*

# %% tags=["install"]
# The text of this cell comes from install.py.

# %%
import itertools
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
from keras_attention.lab.tasks import Characters, load_digits, scatter_digits, speak
from keras_attention.lab.writer import Writer
from keras_attention.ops import (
    causal_mask,
    coverage_loss,
    ctc_alignment,
    ctc_loss,
    glimpse,
    retrieve,
)

keras.utils.set_random_seed(0)

# %% [markdown]
# ## 1 · How far does a gradient reach?
#
# The lecture names the trouble of a translator without attention: *gradients have to flow for 50
# steps back without vanishing*. Hochreiter (1991) and Bengio, Simard and Frasconi (1994) showed
# why they vanish: every step multiplies the gradient by the same matrix and by a slope below 1.
# Hochreiter and Schmidhuber (1997) answered with the LSTM, whose cell is added to; Bahdanau, Cho
# and Bengio (2015) with attention, which skips the steps.

# %%
plotting.diagram("gradient-reach")

# %% [markdown]
# ### The equations
#
# A plain RNN computes $h_s = \tanh(W x_s + U h_{s-1} + b)$. A loss $\mathcal{L}$ that depends on
# the last state alone reaches step $s$ through all steps in between,
#
# $$\frac{\partial \mathcal{L}}{\partial h_s} =
#    \Big(\prod_{k=s+1}^{S} U^\top \mathrm{diag}(1 - h_k^2)\Big)
#    \frac{\partial \mathcal{L}}{\partial h_S}$$
#
# while one that depends on the read $c = \sum_s \alpha_s h_s$ of an attention also reaches it in
# one step, by $\alpha_s\, \partial \mathcal{L} / \partial c$, wherever $s$ is.
#
# | letter | what it is | shape |
# | --- | --- | --- |
# | $x_s$ | input of step $s$ | (D,); all of them (B, S, D) |
# | $h_s$, and $h_k^2$ by element | state | (M,); all of them (B, S, M) |
# | $W$, $U$ | kernel and recurrent kernel | (D, M), (M, M); Keras multiplies from the right |
# | $\alpha_s$ | weight of state $s$ | all of them (B, 1, S) |
# | $\partial \mathcal{L} / \partial x_s$ | what is measured below: its length | (D,) |
#
# ### Ten lines that implement it
#
# The loss is the product of the last state with a fixed random vector $v$. One loop goes forward,
# one goes back.


# %%
def gradients_of_rnn(x, v, kernel, recurrent, bias):
    """Return the gradient of v · h_S for each input: x (S, D), v (M,) → (S, D)."""
    states = [np.zeros(len(v))]
    for x_s in x:
        states.append(np.tanh(x_s @ kernel + states[-1] @ recurrent + bias))
    back, gradients = v, []
    for h in states[:0:-1]:  # from the last state to the first
        back = back * (1 - h**2)  # through the tanh of this step
        gradients.append(kernel @ back)  # to its input
        back = recurrent @ back  # and to the state before
    return np.array(gradients[::-1])


# %% [markdown]
# ### The same by Keras
#
# Keras has no function for a gradient, but each of its backends has one.


# %%
def gradient(function, at):
    """Return the gradient of a function from an array to a number, on any backend of Keras."""
    at = ops.convert_to_tensor(at)
    if keras.backend.backend() == "jax":
        import jax

        return np.array(jax.grad(function)(at))
    if keras.backend.backend() == "torch":
        import torch

        at.requires_grad_(True)
        return torch.autograd.grad(function(at), at)[0].numpy(force=True)
    import tensorflow as tf

    with tf.GradientTape() as tape:
        tape.watch(at)
        result = function(at)
    return tape.gradient(result, at).numpy()


# %%
B, S, D, M = 16, 50, 8, 32
rng = np.random.default_rng(0)
x = rng.normal(size=(B, S, D)).astype("float32")
v = rng.normal(size=(B, M)).astype("float32")
rnn = keras.layers.SimpleRNN(M, return_sequences=True)
states = rnn(x)  # (B, S, M); the first call makes the weights
found = gradient(lambda x: ops.sum(ops.multiply(rnn(x)[:, -1], v)), x)  # (B, S, D)

ours = gradients_of_rnn(x[0], v[0], *rnn.get_weights())
np.testing.assert_allclose(ours, found[0], rtol=1e-2, atol=1e-5)
print(f"largest difference of a component: {np.abs(ours - found[0]).max():.1e}")

# %% [markdown]
# ### Fifty steps of three networks
#
# All three are untrained, with the initial weights that Keras gives them: this is the gradient
# with which learning begins. The third is the plain RNN again, but its last state is used as a
# query, and what counts is the read of an `AdditiveAttention` over all its states.

# %%
lstm = keras.layers.LSTM(M, return_sequences=True)
attend = layers.AdditiveAttention(M)
for layer, shapes in ((lstm, [x.shape]), (attend, [(B, M), (B, S, M)])):
    layer.build(*shapes)
networks = {
    "plain RNN": lambda x: rnn(x)[:, -1],
    "LSTM": lambda x: lstm(x)[:, -1],
    "plain RNN, read by attention": lambda x: attend(rnn(x)[:, -1], rnn(x)),
}


def reach(network):
    """Return the mean length of the gradient at each input, the last one first: (S,)."""
    found = gradient(lambda x: ops.sum(ops.multiply(network(x), v)), x)
    return np.linalg.norm(found, axis=-1).mean(axis=0)[::-1]


reaches = {name: reach(network) for name, network in networks.items()}

# %%
steps = np.arange(S)
print(f"{'steps back':30}" + "".join(f"{step:>10}" for step in (0, 10, 25, 49)))
for name, lengths in reaches.items():
    print(f"{name:30}" + "".join(f"{lengths[step]:10.1e}" for step in (0, 10, 25, 49)))
plotting.plot_curves(
    {name: (steps, lengths) for name, lengths in reaches.items()},
    xlabel="steps between an input and the end",
    ylabel="length of the gradient",
    logarithmic="y",
    title="A gradient through 50 steps: multiplied, added, or directly there",
)
plt.show()

# %% tags=["claims"]
left = {name: lengths[49] / lengths[0] for name, lengths in reaches.items()}
assert left["plain RNN"] < 1e-5
assert 1e-6 < left["LSTM"] < 1e-2
assert left["plain RNN, read by attention"] > 0.3

# %% [markdown]
# A straight line on a logarithmic axis is a constant factor a step: the plain RNN loses about as
# much in each of its fifty steps, although Keras begins with a recurrent matrix that keeps lengths.
# The LSTM's line falls as well, only less steeply. Attention's is flat: no input is far away. For the
# last inputs, at the left, it lies below the other two lines, since each state has about a fiftieth
# of the weight before anything is learned.
#
# *"We know that LSTM and GRU can learn long-term dependencies, but how long?"* asks the lecture. At
# the beginning of training the answer stands in one number, the bias of the forget gate. The cell
# of an LSTM is $c_s = f_s \odot c_{s-1} + i_s \odot \tilde c_s$, and a gate $f$ that is open to
# $\sigma(b)$ leaves $\sigma(b)^{49}$ of what it held 49 steps ago. Keras begins with $b = 1$.


# %%
def lstm_with(forget_bias):
    """Return an LSTM whose forget gates have a bias: gates are in the order i, f, c, o."""
    layer = keras.layers.LSTM(M, return_sequences=True)
    layer.build((B, S, D))
    kernel, recurrent, bias = layer.get_weights()
    bias[M : 2 * M] = forget_bias
    layer.set_weights([kernel, recurrent, bias])
    return lambda x: layer(x)[:, -1]


for forget_bias in (0.0, 1.0, 2.0):
    lengths = reach(lstm_with(forget_bias))
    print(f"bias {forget_bias}: after 49 steps {lengths[49] / lengths[0]:.1e} of the gradient")

# %% [markdown]
# **Exercise 1.** Which bias keeps at least half of a cell's content over 49 steps, if nothing but
# the gate acts on it? Set `forget_bias` to such a number; the check also measures the gradient.

# %%
forget_bias = None  # your answer

# %% tags=["check"]
kept = 0.0 if forget_bias is None else (1 / (1 + np.exp(-forget_bias))) ** 49
lengths = reach(lstm_with(forget_bias or 0.0))
if kept >= 0.5:
    print(f"Right. {kept:.2f} of the content is left; the gradient at the first input is")
    print(f"{lengths[49] / lengths[0]:.1f} times that at the last one.")
else:
    print(f"Not yet. {kept:.2f} of the content is left; solve σ(b)⁴⁹ ≥ 0.5 for b.")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# share = 0.5 ** (1 / 49)
# forget_bias = float(np.log(share / (1 - share))) + 0.1
# ```
#
# The gate has to be open to $0.5^{1/49} = 0.986$, so $b$ is about 4.2; the 0.1 is for rounding.
# The measured gradient is larger than the content that is left, since the state also acts through
# the other gates. Gers, Schmidhuber and Cummins (2000) introduced the forget gate, and Jozefowicz,
# Zaremba and Sutskever (2015) found that a large bias makes an LSTM far better at long tasks.
#
# </details>

# %% [markdown]
# ## 2 · A task that needs a long memory
#
# Fifty letters are shown, and one of them, anywhere, carries a flag; at the end the network has to
# name it. A recurrent network has to carry that letter past all that follow, attention has to find
# it in the end.
#
# $$e_s = v^\top \tanh(W_q h_S + W_k h_s), \qquad \alpha = \mathrm{softmax}(e), \qquad
#    c = \sum_s \alpha_s h_s, \qquad \mathrm{logits} = W_o c + b_o$$
#
# | letter | what it is | shape |
# | --- | --- | --- |
# | $x_s$ | a letter, one-hot, and its flag | (B, S, 9) |
# | $h_s$; $h_S$ | states, which are keys and values; the last one is the query | (B, S, M); (B, 1, M) |
# | $\alpha$ | weights | (B, 1, S) |
# | $c$ | the read; without attention $h_S$ stands in its place | (B, 1, M) |
#
# In NumPy, and the package's layer beside it:


# %%
def softmax(scores):
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return shares / shares.sum(axis=-1, keepdims=True)


def read_states(states, w_q, w_k, v):
    """States (S, M) → the read (M,) of the last one, and its weights (S,)."""
    scores = np.tanh(states[-1] @ w_q + states @ w_k) @ v
    weights = softmax(scores)
    return weights @ states, weights


states = ops.convert_to_numpy(states)
kernels = attend.score.query_kernel, attend.score.key_kernel, attend.score.v
read, weights = read_states(states[0], *map(ops.convert_to_numpy, kernels))
by_package = ops.convert_to_numpy(attend(states[:, -1:], states))[0, 0]
np.testing.assert_allclose(read, by_package, atol=1e-5)
print("the read, here and in the package: equal")

# %% [markdown]
# ### Three networks, the same steps

# %% quick="STEPS, EPOCHS, TESTS = 2, 1, 80"
STEPS, EPOCHS, TESTS = 600, 6, 1000
BATCH, LETTERS = 64, 8
# On a CPU, TensorFlow runs loops of so small products faster without its compiler XLA.
XLA = keras.backend.backend() == "jax"


# %%
def train(model, inputs, targets, learning_rate):
    """Show each example once, with a learning rate that rises and falls; return the history."""
    steps = len(targets) // BATCH
    training.compile_for_training(
        model, learning_rate, warm_up=max(steps // 10, 1), decay_steps=steps, jit_compile=XLA
    )
    return model.fit(
        inputs,
        targets,
        batch_size=BATCH,
        steps_per_epoch=steps // EPOCHS,
        epochs=EPOCHS,
        verbose=2,
    )


def run(model, inputs):
    """Run a model on a batch, and return its output as NumPy."""
    return ops.convert_to_numpy(model(inputs, training=False))


# %%
def flagged(rng, count):
    """Draw letters with one flag: inputs (B, S, 9), answers (B, 1) from 1, places (B,)."""
    letters = rng.integers(LETTERS, size=(count, S))
    places = rng.integers(S, size=count)
    inputs = np.zeros((count, S, LETTERS + 1), "float32")
    inputs[..., :LETTERS] = np.eye(LETTERS)[letters]
    inputs[np.arange(count), places, LETTERS] = 1
    return inputs, 1 + letters[np.arange(count), places, None], places


# %%
def build_recaller(recurrent, with_attention):
    """Build a network that names the flagged letter, and a view of its weights, if any."""
    inputs = keras.Input((S, LETTERS + 1))
    states = recurrent(M, return_sequences=True)(inputs)
    summary, view = states[:, -1:], None
    if with_attention:
        attend = layers.AdditiveAttention(M)
        summary, weights = attend(summary, states, return_attention_scores=True)
        view = keras.Model(inputs, weights)
    return keras.Model(inputs, keras.layers.Dense(LETTERS + 1)(summary)), view


RECALLERS = {
    "plain RNN": (keras.layers.SimpleRNN, False),
    "LSTM": (keras.layers.LSTM, False),
    "plain RNN with attention": (keras.layers.SimpleRNN, True),
}

# %%
inputs, answers, _ = flagged(np.random.default_rng(1), STEPS * BATCH)
test_inputs, test_answers, test_places = flagged(np.random.default_rng(2), TESTS)
recalled, curves = {}, {}
for name, kind in RECALLERS.items():
    print(name)
    keras.utils.set_random_seed(0)
    model, view = build_recaller(*kind)
    history = train(model, inputs, answers, learning_rate=1e-2).history
    curves[name] = history["masked_accuracy"]
    named = run(model, test_inputs).argmax(axis=-1)
    recalled[name] = np.mean(named == test_answers)

# %%
for name, share in recalled.items():
    print(f"{name:26}right answers after all steps {share:.3f}")
steps = np.arange(1, EPOCHS + 1) * (STEPS // EPOCHS)
plotting.plot_curves(
    {name: (steps, shares) for name, shares in curves.items()},
    xlabel="steps of training",
    ylabel="right answers (chance: 0.125)",
    title="One flagged letter among fifty",
)
plt.show()

# %% tags=["claims"]
assert recalled["plain RNN"] < 0.2
assert recalled["plain RNN with attention"] > 0.95
assert curves["plain RNN with attention"][1] > 0.8 > 0.4 > curves["LSTM"][1]

# %% [markdown]
# The plain RNN stays at chance to the end. With attention the same plain RNN names the letter,
# wherever it was, after a hundred steps or two: what its states have to hold became easy, since each
# needs to know its own letter only. The LSTM *can* carry a letter through fifty steps, but it has to
# find that out against a gradient that begins as small as in section 1, and stays at chance for
# hundreds of steps before. That is what the lecture says of such networks: *training can be slow and
# require lots of data*. (The curves are means over the hundred steps before.)
#
# Where does attention look?

# %%
few = run(view, test_inputs[:8])[:, 0]
plotting.plot_attention(
    few,
    [str(step) if step % 10 == 0 else "·" for step in range(1, S + 1)],
    [f"sequence {number}" for number in range(1, 9)],
    links=[(place, row) for row, place in enumerate(test_places[:8])],
    outlined="the flag",
    axis_names=("eight sequences", "steps"),
    vmax=1,
    title="The last state looks for the flag",
)
plt.show()
on_flag = run(view, test_inputs)[np.arange(TESTS), 0, test_places]
looked_up = [np.mean(on_flag[test_answers[:, 0] == letter] > 0.5) for letter in range(1, 9)]
print("sequences with most of the weight on the flag, by the letter that is flagged:")
print("  ".join(f"{letter}: {share:.2f}" for letter, share in enumerate(looked_up, start=1)))

# %% tags=["claims"]
behind = [np.minimum(test_places + count, S - 1) for count in range(4)]
on_step = [run(view, test_inputs)[np.arange(TESTS), 0, each] for each in behind]
# At the flag, or a little behind it, where a state still holds the letter
assert max(np.mean(each > 0.5) for each in on_step) > 0.8

# %% [markdown]
# Seven of the eight letters are looked up, and one is not: the network learned to say that letter
# when it finds nothing, so for this one it need not look. Which letter it is, is chance. With another
# seed, the model looked two steps behind the flag in 96 % of the sequences: the state there still
# holds the letter. A map shows which state is read, not where its content comes from. A map without a
# look does not mean a wrong answer; [notebook 9](09_reading_attention_honestly.ipynb) has more of
# such surprises.

# %% [markdown]
# ## 3 · A text that reads itself
#
# A character RNN (Karpathy, 2015) writes a text letter by letter from one state. Exercise 3 of the
# lecture asks: *how could including an attention mechanism into the CharRNN improve the generated
# text?* A student wrote two words beside it: *bear, beat*. After "bea" both are English, and only
# what was said before tells which it is. So here is a text of such words; nothing near the end of
# either word decides between the five that are possible.

# %%
FIRST, SECOND = ["bear", "beat", "bead", "beak", "bean"], ["car", "cat", "cap", "can", "cab"]
ASIDES = ["It rains.", "The night is long.", "Nobody is at home.", "A train goes by."]


def lines_of_text(rng, count):
    """Draw lines as pairs: what is told first, and what has to be in keeping with it."""
    for _ in range(count):
        first, second = rng.choice(FIRST), rng.choice(SECOND)
        aside = " ".join(rng.choice(ASIDES, size=rng.integers(1, 3), replace=False))
        told = f"I see a {first} and a {second}. "
        yield told, f"{aside} The {first} is mine and the {second} is yours.\n"


# %% quick="tested = tested[:8]"
tested = list(lines_of_text(np.random.default_rng(2), 200))
print("".join(told + rest for told, rest in tested[:4]))

# %% [markdown]
# ### The equation
#
# Cheng, Dong and Lapata (2016) let an LSTM look at its own earlier states. The package's
# `"lstm_attention"` does so with the causal self-attention of a Transformer: $h_t$ asks, all
# $h_j$ with $j \le t$ answer, and the read is added to the state from which the next letter comes:
#
# $$\alpha_t = \mathrm{softmax}_{j \le t}\!\left(\frac{(W_Q h_t) \cdot (W_K h_j)}{\sqrt K}\right),
#   \qquad \mathrm{logits}_t = f\Big(h_t + W_O \sum_{j \le t} \alpha_{tj} W_V h_j\Big)$$
#
# | letter | what it is | shape |
# | --- | --- | --- |
# | $h_t$ | states of the LSTM, layer-normalised before they ask and answer | (B, T, D) |
# | $W_Q$, $W_K$, $W_V$; $W_O$ | projections of one head | (D, K); (K, D) |
# | $\alpha$ | weights of H heads | (B, H, T, T), 0 above the diagonal |


# %%
def look_back(h, w_q, b_q, w_k, b_k):
    """States (T, D) → weights (H, T, T): each state looks at itself and at those before it."""
    queries = np.einsum("td,dhk->htk", h, w_q) + b_q[:, None]
    keys = np.einsum("td,dhk->htk", h, w_k) + b_k[:, None]
    scores = queries @ keys.swapaxes(1, 2) / np.sqrt(queries.shape[-1])
    return softmax(np.where(np.tri(len(h), dtype=bool), scores, -np.inf))


attend = layers.MultiHeadAttention(num_heads=2, key_dim=16)
_, weights = attend(states, states, attention_mask=causal_mask(S), return_attention_scores=True)
ours = look_back(states[0], *attend.get_weights()[:4])
np.testing.assert_allclose(ours, ops.convert_to_numpy(weights)[0], atol=1e-5)
print("weights (H, T, T), here and in the package: equal", ours.shape)

# %% [markdown]
# ### Two writers, the same text

# %% quick="STEPS, EPOCHS, UNITS, WRITTEN = 2, 1, 16, 1"
STEPS, EPOCHS, UNITS, WRITTEN = 480, 6, 64, 40
BATCH = 32

# %%
lines = [told + rest for told, rest in lines_of_text(np.random.default_rng(1), STEPS * BATCH)]
characters = Characters.learn("".join(lines))
longest = max(map(len, lines))


def rows(lines):
    """Return lines as ids, (B, T), padded with 0."""
    ids = np.zeros((len(lines), longest), "int32")
    for row, line in zip(ids, lines, strict=True):
        row[: len(line)] = characters.encode(line)
    return ids


ids = rows(lines)
print(f"{len(characters) - 1} characters; a line has {np.mean([*map(len, lines)]):.0f} on average")

# %%
writers = {}
widths = {"lstm": round(1.64 * UNITS), "lstm_attention": UNITS}  # about as many weights
for kind, width in widths.items():
    keras.utils.set_random_seed(0)
    model = models.build_character_model(
        len(characters), kind, units=width, embedding=32, num_heads=4, key_dim=32
    )
    print(f"{kind}: {model.count_params():,} weights")
    train(model, ids[:, :-1], ids[:, 1:], learning_rate=5e-3)
    writers[kind] = Writer(model, characters, window=longest)

# %% [markdown]
# Both losses are small, and their difference is, too. It hides what matters, because nearly all
# letters of these lines are known from their neighbours. So ask for the two that are not: the last
# letters of the two words, when they come again. And let both write: each is given the beginning of
# a line, and continues.

# %%
padded = rows([told + rest for told, rest in tested])
ends = [
    [len(told) + rest.index(" is mine") - 1 for told, rest in tested],  # the last letter of "bear"
    [len(told) + rest.index(" is yours") - 1 for told, rest in tested],  # and of "cat"
]
for kind, writer in writers.items():
    likeliest = run(writer.model, padded).argmax(axis=-1)
    every = np.arange(len(tested))
    shares = [(likeliest[every, np.array(at) - 1] == padded[every, at]).mean() for at in ends]
    print(f"{kind:16}last letter, first word {shares[0]:.2f}, second word {shares[1]:.2f}")
print("by chance       0.20")

# %%
kept = {}
for kind, writer in writers.items():
    written = [
        writer(told, longest - len(told), temperature=0.5, seed=seed)
        for seed, (told, _) in enumerate(tested[:WRITTEN])
    ]
    texts = [text.split("\n")[0] for text in written]
    kept[kind] = [
        f"The {told.split()[3]} " in text and f"the {told.split()[6][:-1]} " in text
        for (told, _), text in zip(tested, texts, strict=False)
    ]
    print(f"{kind}: {np.mean(kept[kind]):.2f} of the lines keep both words")
    for (told, _), text, keeps in list(zip(tested, texts, kept[kind], strict=False))[:3]:
        print(f"  {'kept' if keeps else 'lost'}  {told}{text}")

# %% tags=["claims"]
assert np.mean(kept["lstm_attention"]) > 0.9
assert np.mean(kept["lstm"]) < 0.3

# %% [markdown]
# Where does the writer look, just before it has to know? A row is a letter that it has read, a column
# an earlier one. The row that matters is that of the "a" of the second "bea", before the letter that
# it cannot guess. The place that it finds need not be that letter itself: the state one step later
# has read it, too.

# %%
told, rest = tested[0]
line = told + rest.rstrip("\n")
heads = writers["lstm_attention"].attend(line)[0]  # (H, T, T)
begins = ends[0][0] - len("The bea")
asks = ends[0][0] - 1
last = told.index(" and") - 1  # the last letter of the first word
head = heads[heads[:, asks, last : last + 3].sum(axis=-1).argmax()]
plotting.plot_attention(
    head[begins : begins + 12, : len(told)],
    list(told),
    list(line[begins : begins + 12]),
    axis_names=("read", "looks back at"),
    title="A character RNN looks back (one head)",
)
plt.show()
looked_at = head[asks].argmax()
print(f"after {line[begins : asks + 1]!r} it looks most at {line[: looked_at + 1]!r}")

# %% [markdown]
# ### Exercise 3 of the lecture, answered
#
# *How could including an attention mechanism into the CharRNN improve the generated text?*
#
# 1. **It keeps to what was said.** The LSTM spells well, puts its full stops well, and forgets
#    which word it was about; with attention both words come back. In a real text these are names,
#    rhymes, brackets that want to be closed, the number of a verb.
# 2. **It learns it sooner.** The gradient of the second "r" of "bear" has a direct way to the
#    first one, as in section 1. The LSTM had as many steps and about as many weights, and is still at
#    chance.
# 3. **Its memory grows with the text.** The LSTM knows all of it by 2 D numbers, however long it
#    is; attention keeps T states. That is also its price: every letter looks at all before it.
#
# What it does not improve is what neighbours decide. The mean loss a letter falls by little, so do
# not judge a memory by it.
#
# **Exercise 2.** By how much *can* the mean loss of a letter fall, in nats, if both words are known
# instead of guessed among five? A line has `letters` letters to be predicted on average.

# %%
letters = np.mean([len(line) - 1 for line in lines])
gain = None  # your answer

# %% tags=["check"]
wanted = sum(np.log(len(words)) for words in (FIRST, SECOND)) / letters
if gain is not None and abs(gain - wanted) < 0.02 * wanted:
    print(f"Right. At most {gain:.3f} nats a letter; compare the last losses of the two above.")
else:
    print("Not yet. A guess among five costs ln 5 nats, and there are two in a line.")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# gain = 2 * np.log(5) / letters
# ```
#
# All the rest of a line can be predicted by both alike, except for what nobody can know: the words
# when they are told first, and which asides follow.
#
# </details>

# %% [markdown]
# ## 4 · Positions, learned or fixed
#
# Attention finds things by content; to look *three letters back* it needs positions, added to the
# content. Vaswani et al. (2017, section 3.5) tried fixed sinusoids and a learned table, found them
# about equal, and chose sinusoids because they *may allow the model to extrapolate to sequence
# lengths longer than the ones encountered during training*. Is that so?
#
# $$PE_{p, 2i} = \sin(p / 10000^{2i/D}), \quad PE_{p, 2i+1} = \cos(p / 10000^{2i/D}),
#   \qquad x_p = E[\mathrm{id}_p] + PE_p \;\text{ or }\; x_p = E[\mathrm{id}_p] + P[p]$$
#
# | letter | what it is | shape |
# | --- | --- | --- |
# | $E[\mathrm{id}_p]$ | letters, embedded | (B, T, D) |
# | $PE$ | sinusoids, for any $p$ | (T, D), computed |
# | $P$ | the table, for $p < P_{\max}$ | (P_max, D), learned |


# %%
def sinusoids(positions, width):
    """Positions (T,) → (T, D): pairs of sine and cosine, each pair slower than the one before."""
    encoded = np.zeros((len(positions), width))
    for i in range(width // 2):
        angles = positions / 10000 ** (2 * i / width)
        encoded[:, 2 * i], encoded[:, 2 * i + 1] = np.sin(angles), np.cos(angles)
    return encoded


D, LONGEST = 64, 60
fixed = sinusoids(np.arange(LONGEST), D)
by_package = layers.SinusoidalPositions()(np.zeros((1, LONGEST, D), "float32"))
np.testing.assert_allclose(fixed, ops.convert_to_numpy(by_package)[0], atol=1e-4)
print("sinusoids, here and in the package: equal", fixed.shape)

# %% [markdown]
# Why should a model be able to use them farther out? Because a step of $k$ is the same linear map
# everywhere: each pair of sine and cosine is turned by an angle that depends on $k$ alone.
#
# **Exercise 3.** Write the matrix `turn` (D, D) for which $PE_p$ `@ turn` is $PE_{p+3}$ at every
# position $p$.

# %%
turn = np.eye(D)  # your answer

# %% tags=["check"]
far = sinusoids(np.arange(1000), D)
if np.allclose(far[:-3] @ turn, far[3:], atol=1e-6):
    print("Right. One matrix goes three positions on, at position 0 as at position 996.")
else:
    print(
        "Not yet. sin(a + b) = sin a cos b + cos a sin b, and cos(a + b) = cos a cos b − sin a sin b."
    )

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# turn = np.zeros((D, D))
# for i in range(D // 2):
#     angle = 3 / 10000 ** (2 * i / D)
#     sine, cosine = np.sin(angle), np.cos(angle)
#     turn[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[cosine, -sine], [sine, cosine]]
# ```
#
# A projection of queries or keys can be such a matrix, so a head *can* look three places back
# anywhere. Whether it learns just this is another question.
#
# </details>

# %% [markdown]
# ### Trained on 24 letters, tested on 60
#
# The task is to say the letter that stood three places before. One attention with one head is
# enough. All strings of the training have 24 letters, those of the test have 60. Two more models
# get the same strings at a *random start*: the first letter is not always at position 0, but
# anywhere from 0 to 36 (Kiyono et al., 2021). So all 60 positions occur, in strings that are short.

# %% quick="STEPS, EPOCHS, TESTS = 2, 1, 10"
STEPS, EPOCHS, TESTS = 400, 2, 500
BATCH, LETTERS, BACK, SHORT = 64, 12, 3, 24


# %%
def strings(rng, count, length):
    """Draw strings and the letters three places before: two times (B, T); 0 for there is none."""
    ids = rng.integers(1, LETTERS + 1, size=(count, length)).astype("int32")
    return ids, np.pad(ids[:, :-BACK], [(0, 0), (BACK, 0)])


def build_looker(positions):
    """Build a model that adds positions to letters and lets each letter look at all others."""
    ids = keras.Input((None,), dtype="int32", name="ids")
    start = keras.Input((), dtype="int32", name="start")
    embed = layers.PositionalEmbedding(
        LETTERS + 1, D, positions, max_positions=LONGEST, scale=False, name="embed"
    )
    x = embed(ids, start=start)
    read = layers.MultiHeadAttention(num_heads=1, key_dim=D)(x, x)
    logits = keras.layers.Dense(LETTERS + 1)(read)
    return keras.Model({"ids": ids, "start": start}, logits)


# %%
ids, wanted = strings(np.random.default_rng(1), STEPS * BATCH, SHORT)
test_ids, test_wanted = strings(np.random.default_rng(2), TESTS, LONGEST)
zeros = np.zeros(len(ids), "int32")
anywhere = np.random.default_rng(3).integers(LONGEST - SHORT + 1, size=len(ids)).astype("int32")
lookers, by_position = {}, {}
for name, positions, starts in (
    ("learned", "learned", zeros),
    ("sinusoids", "interleaved", zeros),
    ("learned, random starts", "learned", anywhere),
    ("sinusoids, random starts", "interleaved", anywhere),
):
    print(name)
    keras.utils.set_random_seed(0)
    lookers[name] = build_looker(positions)
    train(lookers[name], {"ids": ids, "start": starts}, wanted, learning_rate=1e-2)
    tests = {"ids": test_ids, "start": zeros[:TESTS]}
    named = run(lookers[name], tests).argmax(axis=-1)
    by_position[name] = (named == test_wanted).mean(axis=0)

# %%
print(f"{'right letters':26}positions 3–23   positions 24–59")
for name, right in by_position.items():
    print(f"{name:26}{right[BACK:SHORT].mean():14.2f}{right[SHORT:].mean():18.2f}")
places = np.arange(BACK, LONGEST).reshape(-1, 3).mean(axis=1)  # three positions together
axes = plotting.plot_curves(
    {
        name: (places, right[BACK:].reshape(-1, 3).mean(axis=1))
        for name, right in by_position.items()
    },
    xlabel="position in a string of 60 letters; strings of the training had 24",
    ylabel="right letters",
    title="Beyond the trained length: what was seen counts, not what is added",
)
axes.legend(frameon=False, fontsize=9, loc="lower left")
plt.show()

# %% tags=["claims"]
for name in ("learned", "sinusoids"):
    assert by_position[name][BACK:SHORT].mean() > 0.95
    assert by_position[name][SHORT:].mean() < 0.5
assert by_position["sinusoids, random starts"][BACK:].mean() > 0.9

# %% [markdown]
# Within the trained length the two are equal, as the paper says. Beyond it *both* fail. The table's
# rows from 24 on were never trained, which the picture below shows; the sinusoids are there, but
# what the attention learned fits the positions that it saw. That a head could use one rotation
# for all positions does not mean that training finds it.
#
# With random starts, and not one longer string, the sinusoids are right at every position. The table
# is right wherever a string of 24 begins (see its last loss above), yet not everywhere in one of 60:
# two rows more than 23 apart never met in training, so nothing kept the one from answering for the
# other. Neighbouring rows of the table have nothing in common, either. The band along the diagonal
# of the sinusoids, neighbours alike, is what one does not have to learn.

# %%
table = run(lookers["learned"].get_layer("embed").add_positions, np.zeros((1, LONGEST, D)))[0]
plotting.plot_positions(table, title="A learned table: rows from 24 on are untrained")
plotting.plot_positions(fixed, title="Sinusoids")
plt.show()

# %% [markdown]
# And a table has an end:

# %%
longer = {"ids": np.ones((1, LONGEST + 1), "int32"), "start": zeros[:1]}
for name in ("sinusoids", "learned"):
    try:
        run(lookers[name], longer)
        print(f"{name}: a string of {LONGEST + 1} letters is accepted")
    except ValueError:
        print(f"{name}: a ValueError says that there are {LONGEST} positions")

# %% [markdown]
# ## 5 · Past alignments
#
# Ordinary attention has no memory of its own: the same query looks at the same place again. *"Explicitly
# remember past alignments with an RNN"*, says the lecture. The simplest such memory is the
# *coverage* of See, Liu and Manning (2017, eq. 10 and 11): the sum of all earlier weights of a
# place enters its score.

# %%
plotting.diagram("past-alignments")

# %% [markdown]
# $$g_{tj} = \sum_{t' < t} \alpha_{t'j}, \qquad
#   e_{tj} = v^\top \tanh(W q_t + U k_j + g_{tj}\, w + b), \qquad
#   \alpha_t = \mathrm{softmax}(e_t), \qquad c_t = \sum_j \alpha_{tj} v_j$$
#
# | letter | what it is | shape |
# | --- | --- | --- |
# | $q_t$; $k_j$, $v_j$ | queries; keys and values | (B, T, Q); (B, S, K), (B, S, D) |
# | $g_t$ | coverage before step $t$ (the paper writes $c^t$) | (B, S), 0 at first |
# | $w$ | what coverage does to the score, learned | (units,) |
# | $\alpha_t$ | weights of step $t$; they depend on all steps before | (B, S) |


# %%
def attend_with_coverage(queries, keys, values, w_q, w_k, bias, v, w):
    """(T, Q), (S, K), (S, D) → reads (T, D) and weights (T, S)."""
    coverage, reads, rows = np.zeros(len(keys)), [], []
    for query in queries:
        hidden = np.tanh(query @ w_q + keys @ w_k + bias + np.outer(coverage, w))
        weights = softmax(hidden @ v)
        reads.append(weights @ values)
        rows.append(weights)
        coverage = coverage + weights
    return np.array(reads), np.array(rows)


# %%
queries, keys, values = (rng.normal(size=(1, *shape)) for shape in ((4, 3), (7, 5), (7, 2)))
attend = layers.CoverageAttention(units=11)
read, weights = attend(queries, values, keys, return_attention_scores=True)
names = ("query_kernel", "key_kernel", "bias", "v", "coverage_kernel")
parameters = [np.squeeze(ops.convert_to_numpy(getattr(attend, name))) for name in names]
ours = attend_with_coverage(queries[0], keys[0], values[0], *parameters)
np.testing.assert_allclose(ours[0], ops.convert_to_numpy(read)[0], atol=1e-5)
np.testing.assert_allclose(ours[1], ops.convert_to_numpy(weights)[0], atol=1e-5)
print("reads and weights, here and in the package: equal")

# %% [markdown]
# ### All items, each once
#
# Six cards lie in random order; each has a number from 1 to 6 and a letter. The model has to read
# the letters in the order of the numbers. Its query says nothing, it is 0 at every step: only what
# it has looked at already can tell which card is next.
#
# Beside coverage stand two recurrent memories: `NeuralCoverageAttention` (Tu et al., 2016) has a
# small GRU at each place, and `RecurrentLocationAttention` one LSTM that reads the last weights.

# %% quick="STEPS, EPOCHS, TESTS = 2, 1, 10"
STEPS, EPOCHS, TESTS = 1200, 2, 1000
CARDS, LETTERS = 6, 10


# %%
def cards(rng, count):
    """Draw cards: numbers and letters, one-hot, and the letters (B, T) by rising number."""
    numbers = rng.permuted(np.tile(np.arange(CARDS), (count, 1)), axis=1)
    letters = rng.integers(1, LETTERS + 1, size=(count, CARDS))
    inputs = {
        "keys": np.eye(CARDS, dtype="float32")[numbers],
        "values": np.eye(LETTERS + 1, dtype="float32")[letters],
    }
    return inputs, np.take_along_axis(letters, np.argsort(numbers, axis=1), axis=1), numbers


def build_reader(attend):
    """Build a model that reads all cards with queries of 0, and a view of its weights."""
    keys = keras.Input((CARDS, CARDS), name="keys")
    values = keras.Input((CARDS, LETTERS + 1), name="values")
    queries = ops.zeros_like(keys[..., :1])
    read, weights = attend(queries, values, keys, return_attention_scores=True)
    inputs = {"keys": keys, "values": values}
    return keras.Model(inputs, keras.layers.Dense(LETTERS + 1)(read)), keras.Model(inputs, weights)


# %%
inputs, wanted, _ = cards(np.random.default_rng(1), STEPS * BATCH)
test_inputs, test_wanted, test_numbers = cards(np.random.default_rng(2), TESTS)
looks, right = {}, {}
for attention in (
    layers.AdditiveAttention,
    layers.CoverageAttention,
    layers.NeuralCoverageAttention,
    layers.RecurrentLocationAttention,
):
    name = attention.__name__
    print(name)
    keras.utils.set_random_seed(0)
    model, view = build_reader(attention(M))
    train(model, inputs, wanted, learning_rate=2e-2)
    right[name] = (run(model, test_inputs).argmax(axis=-1) == test_wanted).mean()
    looks[name] = run(view, test_inputs)

# %%
figure, panels = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
for panel, name in zip(panels, ("AdditiveAttention", "CoverageAttention"), strict=True):
    plotting.plot_attention(
        looks[name][0],
        [f"card {number + 1}" for number in test_numbers[0]],
        [f"step {step}" for step in range(1, CARDS + 1)],
        links=[(place, number) for place, number in enumerate(test_numbers[0])],
        outlined="the card of this step",
        axis_names=("six equal queries", "cards as they lie"),
        vmax=1,
        title=name,
        ax=panel,
    )
plt.show()
for name, share in right.items():
    print(f"{name:28}right letters {share:.2f}")

# %% tags=["claims"]
assert right["AdditiveAttention"] < 0.5
assert all(share > 0.8 for name, share in right.items() if name != "AdditiveAttention")

# %% [markdown]
# Equal queries have equal rows in the left map: without a past, the best answer is the same mixture
# of all cards at each step. With coverage the look moves from card to card, and each is read once.
# Nobody told the model an order of looking; that cards with smaller numbers come first, and that a
# covered card is done with, is in its learned scores.
#
# **Exercise 4.** To look at a card twice is a waste, and See et al. punish it: step $t$ costs
# $\sum_j \min(\alpha_{tj}, g_{tj})$ (eq. 12). Write this penalty for weights (T, S), one number for
# each step.


# %%
def penalty(weights):
    return np.zeros(len(weights))  # your answer


# %% tags=["check"]
theirs = {name: ops.convert_to_numpy(coverage_loss(each[:5])) for name, each in looks.items()}
mine = {name: np.array([penalty(each) for each in looks[name][:5]]) for name in looks}
if all(np.allclose(mine[name], theirs[name], atol=1e-5) for name in looks):
    print("Right. Mean penalty of a step:")
    for name in looks:
        print(f"  {name:28}{mine[name].mean():.2f}")
else:
    print("Not yet. Coverage before step t is the sum of the rows before t, and 0 at the first.")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# def penalty(weights):
#     coverage = np.cumsum(weights, axis=0) - weights
#     return np.minimum(weights, coverage).sum(axis=-1)
# ```
#
# It is 0 at a step whose weight is all on new cards, and 1 where nothing is new. A trained
# summariser adds it to its loss, times a factor; here it was not needed.
#
# </details>

# %% [markdown]
# ## 6 · CTC: hard attention that can be summed
#
# Speech is a sequence of frames, its transcript a shorter sequence of labels, and nobody says which
# frame speaks which label. Connectionist temporal classification (Graves et al., 2006) lets every
# frame choose one label or the blank "–", hard, and only in the order of the labels; since the order
# is fixed, the probabilities of *all* choices can be summed, and the sum has an exact gradient.

# %%
plotting.diagram("ctc-paths")

# %% [markdown]
# $$p(y \mid x) = \sum_{\pi \in \mathcal{B}^{-1}(y)} \prod_{s=1}^{S} p(\pi_s \mid x), \qquad
#   \alpha_{us} = p(\text{frame } s \text{ speaks label } u \mid x, y)$$
#
# | letter | what it is | shape |
# | --- | --- | --- |
# | $x$ | frames | (B, S, V) |
# | $p(\cdot \mid x)$ | softmax of the logits of each frame, over labels and blank | (B, S, V) |
# | $y$ | labels, in order | (B, U), with U ≤ S |
# | $\pi$ | a path: a label or a blank for each frame | (S,) |
# | $\mathcal{B}$ | collapses a path: repeats become one, then blanks vanish | (S,) → (U,) |
# | $\alpha$ | the alignment: attention of the labels over the frames | (B, U, S) |
#
# For six frames and three labels all $4^6$ paths can be tried:


# %%
def collapse(path):
    """Return the labels of a path: repeats become one, then blanks (0) vanish."""
    return [now for before, now in itertools.pairwise([0, *path]) if now not in (0, before)]


def try_all_paths(logits, labels):
    """Logits (S, V) → −log p(labels) and the alignment (U, S), for labels that all differ."""
    shares, frames = softmax(logits), np.arange(len(logits))
    total, alignment = 0.0, np.zeros((len(labels), len(logits)))
    for path in itertools.product(range(logits.shape[1]), repeat=len(logits)):
        if collapse(path) == labels:
            probability = shares[frames, path].prod()
            total += probability
            alignment += probability * (np.array(labels)[:, None] == path)
    return -np.log(total), alignment / total


# %%
logits, labels = rng.normal(size=(1, 6, 4)).astype("float32"), np.array([[2, 1, 3]], "int32")
mask = np.ones((1, 6), bool)
loss, alignment = try_all_paths(logits[0], labels[0].tolist())
package_loss = ops.convert_to_numpy(ctc_loss(logits, labels, mask))[0]
package_alignment = ops.convert_to_numpy(ctc_alignment(logits, labels, mask))[0]
np.testing.assert_allclose(loss, package_loss, rtol=1e-4)
np.testing.assert_allclose(alignment, package_alignment, atol=1e-4)
print(f"−log p of {4**6:,} paths: {loss:.5f}; by the recursion of the package: {package_loss:.5f}")

# %% [markdown]
# ### Learning an alignment that nobody gave
#
# A label is spoken for one to four frames, between silences, in noise. A small convolutional network
# names each frame, and is trained twice: with the CTC loss, and with the guess that every label has
# its even share of the frames.

# %% quick="STEPS, TESTS = 2, 10"
STEPS, TESTS = 300, 1000
FRAMES, LABELS, VOCABULARY = 24, 4, 8


# %%
def of_all_paths(labels, logits):
    return ctc_loss(logits, labels, ops.ones_like(logits[..., 0], dtype="bool"))


def of_even_shares(labels, logits):
    spread = ops.repeat(labels, FRAMES // LABELS, axis=1)
    return ops.sparse_categorical_crossentropy(spread, logits, from_logits=True)


def build_speller(loss):
    frames = keras.Input((FRAMES, VOCABULARY))
    x = keras.layers.Conv1D(32, 3, padding="same", activation="relu")(frames)
    model = keras.Model(frames, keras.layers.Dense(VOCABULARY)(x))
    model.compile(keras.optimizers.Adam(1e-2), loss, jit_compile=XLA)
    return model


# %%
sizes = {"labels": LABELS, "frames": FRAMES, "vocabulary": VOCABULARY}
speech = speak(np.random.default_rng(1), STEPS * BATCH, **sizes)
test = speak(np.random.default_rng(2), TESTS, **sizes)
spelled, alignments = {}, {}
for name, loss in (("CTC", of_all_paths), ("even shares", of_even_shares)):
    print(name)
    keras.utils.set_random_seed(0)
    speller = build_speller(loss)
    speller.fit(speech.frames, speech.labels, batch_size=BATCH, verbose=2)
    logits = run(speller, test.frames)
    pairs = zip(logits.argmax(axis=-1).tolist(), test.labels.tolist(), strict=True)
    spelled[name] = np.mean([collapse(path) == labels for path, labels in pairs])
    alignments[name] = ops.convert_to_numpy(
        ctc_alignment(logits, test.labels, np.ones((TESTS, FRAMES), bool))
    )

# %%
for name, alignment in alignments.items():
    on_gold = (alignment * test.spoken).sum() / alignment.sum()
    print(f"{name:14}spelled right {spelled[name]:.3f}, weight on the right frames {on_gold:.3f}")
plotting.plot_attention(
    alignments["CTC"][0],
    [str(frame) for frame in range(1, FRAMES + 1)],
    [f"label {label}" for label in test.labels[0]],
    links=[(frame, label) for label, frame in np.argwhere(test.spoken[0])],
    outlined="it is spoken here",
    axis_names=("labels, in order", "frames"),
    vmax=1,
    title="CTC finds who speaks when",
)
plt.show()

# %% tags=["claims"]
assert spelled["CTC"] > 0.95
assert spelled["even shares"] < 0.2

# %% [markdown]
# The rows of this map are like the weights of an attention, and mean the same: where a label looks.
# They differ from soft attention in two ways. Each path is *monotone*: in it, a later label never comes
# before an earlier one. (A row is a sum over many paths, so rows may overlap.) And they are *hard* with a tractable sum: the model does not mix frames, it mixes
# whole paths, each of which chooses, so that it needs neither samples nor a baseline
# ([notebook 5](05_soft_hard_local_location.ipynb) has the hard attention that does).
#
# **Exercise 5.** How many frames does a word need at least? Two equal letters in a row are only told
# apart by a blank between them. Write a function of the word.


# %%
def fewest_frames(word):
    return None  # your answer


# %% tags=["check"]
def can_be_spoken(word, frames):
    ids = np.array([[ord(letter) - ord("a") + 1 for letter in word]], "int32")
    uniform = np.zeros((1, frames, 27), "float32")
    return float(ctc_loss(uniform, ids, np.ones((1, frames), bool))[0]) < 500


counts = {word: fewest_frames(word) for word in ("cat", "hello", "committee", "aaa")}
if all(
    count and can_be_spoken(word, count) and not can_be_spoken(word, count - 1)
    for word, count in counts.items()
):
    print("Right.", ", ".join(f"{word}: {count}" for word, count in counts.items()))
else:
    print("Not yet. Count the letters, and the pairs of equal neighbours.")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# def fewest_frames(word):
#     return len(word) + sum(a == b for a, b in itertools.pairwise(word))
# ```
#
# With fewer frames there is no path, its probability is 0, and the loss is infinite: a usual reason
# for a loss that is not a number in speech recognition.
#
# </details>

# %% [markdown]
# ## 7 · Hopfield networks: retrieve a whole from a part
#
# The lecture says of the Neural Turing Machine's addressing by content: *similar to Hopfield nets,
# retrieve by query with (approximated) part*. A Hopfield network (1982) stores patterns in one
# matrix and lets a broken pattern fall into the nearest one. Ramsauer et al. (2020) showed that its
# modern form is an attention whose keys are its values and whose read is the next query.

# %%
plotting.diagram("hopfield")

# %% [markdown]
# $$\xi \leftarrow X^\top \mathrm{softmax}(\beta X \xi) \qquad\text{instead of}\qquad
#   \xi \leftarrow \mathrm{sign}(X^\top X \xi)$$
#
# | letter | what it is | shape |
# | --- | --- | --- |
# | $\xi$ | the broken pattern, which is completed: the query | (B, T, K) |
# | $X$ | stored patterns: keys and values at once | (B, S, K) |
# | $\beta$ | sharpness, the inverse temperature of the softmax | a number |


# %%
def complete(query, patterns, beta, steps):
    """Queries (T, K), patterns (S, K) → completed queries (T, K)."""
    for _ in range(steps):
        query = softmax(beta * query @ patterns.T) @ patterns
    return query


def complete_1982(query, patterns, steps):
    """The same by one matrix of all patterns, without its diagonal."""
    connections = patterns.T @ patterns
    np.fill_diagonal(connections, 0)
    for _ in range(steps):
        query = np.where(query @ connections >= 0, 1.0, -1.0)
    return query


# %%
(pictures, kinds), _ = load_digits()
chosen = [np.flatnonzero(kinds == digit)[3] for digit in range(10)]
patterns = np.where(pictures[chosen].reshape(10, 64) > 0.5, 1.0, -1.0)
halves = np.where(np.arange(64) < 32, patterns, 0.0)  # the lower half is not known
completed = complete(halves, patterns, beta=1.0, steps=5)
layer = layers.Hopfield(strength=1.0, steps=5)
by_layer = ops.convert_to_numpy(layer(halves[None], patterns[None]))[0]
by_function = ops.convert_to_numpy(retrieve(halves[None], patterns[None], steps=5).read)[0]
np.testing.assert_allclose(completed, by_layer, atol=1e-5)
np.testing.assert_allclose(completed, by_function, atol=1e-5)
print("completed here, by the layer and by the function: equal")

# %%
plotting.plot_patterns(
    {
        "stored": patterns,
        "asked": halves,
        "attention, five times": completed,
        "Hopfield 1982": complete_1982(halves, patterns, steps=5),
    },
    shape=(8, 8),
    title="Ten digits, from their upper halves",
)
plt.show()

# %% [markdown]
# ### How much fits?
#
# Random patterns of 64 signs are stored, more and more of them, and each is asked for by its first
# half. A pattern counts if all its 64 signs come back.

# %% quick="NUMBERS = (2, 4)"
NUMBERS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)

# %%
capacity = {"attention, five times": [], "Hopfield 1982": []}
for number in NUMBERS:
    stored = np.sign(rng.normal(size=(number, 64)))
    asked = np.where(np.arange(64) < 32, stored, 0.0)[:200]
    for name, back in (
        ("attention, five times", complete(asked, stored, beta=1.0, steps=5)),
        ("Hopfield 1982", complete_1982(asked, stored, steps=5)),
    ):
        capacity[name].append(np.all(np.sign(back) == stored[:200], axis=1).mean())
    shares = [f"{name} {shares[-1]:.2f}" for name, shares in capacity.items()]
    print(f"{number:5} patterns: " + ", ".join(shares))
plotting.plot_curves(
    {name: (NUMBERS, shares) for name, shares in capacity.items()},
    xlabel="stored patterns of 64 signs",
    ylabel="completed from their half",
    logarithmic="x",
    title="A sum of patterns is soon full, a list of them is not",
)
plt.show()

# %% tags=["claims"]
assert min(capacity["attention, five times"][:8]) > 0.95
assert max(capacity["Hopfield 1982"][4:]) < 0.1

# %% [markdown]
# The network of 1982 adds all patterns into one matrix of 64 × 64 numbers, as an RNN puts all it has
# read into one state; beyond some ten they disturb each other. Attention keeps the list, and its
# softmax picks. That is the whole chapter in one figure: a memory of fixed size forgets, and one
# that grows has to be searched.
#
# ## 8 · Glimpses: a memory of where one has looked
#
# A picture is a memory, too, if one can look only at a small part of it at a time. The recurrent
# attention model (Mnih et al., 2014) and DRAM (Ba, Mnih and Kavukcuoglu, 2015) take a few *glimpses*;
# an RNN adds up what was seen, and its state says where to look next. DRAM has two recurrent layers,
# one that classifies and one that looks, so that it can read several digits one after the other.

# %%
plotting.diagram("recurrent-glimpses")

# %% [markdown]
# $$g_t = G(\rho(x, l_t), l_t), \qquad h_t = \mathrm{RNN}(h_{t-1}, g_t), \qquad
#   l_{t+1} \sim \mathcal{N}(W_l h_t, \sigma^2)$$
#
# $\rho(x, l)$ is (K, g, g): K patches around the place $l$ of a picture (H, W), each twice as wide
# as the last, all brought to g × g numbers. In NumPy, where the edges fall between pixels:


# %%
def look_at(picture, row, column, size, scales):
    """Picture (H, W), centre in pixels → patches (K, g, g)."""
    patches = []
    for scale in range(scales):
        half = size * 2**scale // 2
        patch = picture[row - half : row + half, column - half : column + half]
        patches.append(patch.reshape(size, 2**scale, size, 2**scale).mean(axis=(1, 3)))
    return np.array(patches)


scene = scatter_digits(load_digits()[0], np.random.default_rng(4), 1)
picture = scene.pictures[0, ..., 0]  # (32, 32)
centres = np.array([[16, 16], scene.places[0, 0]])  # the middle, and the digit
patches = ops.convert_to_numpy(
    glimpse(np.repeat(scene.pictures, 2, axis=0), centres / 16 - 1, size=8, scales=2)
)[..., 0]
np.testing.assert_allclose(look_at(picture, 16, 16, 8, 2), patches[0], atol=1e-6)
plotting.plot_glimpses([picture], [centres / 16 - 1], [patches], ["two glimpses"])
plt.show()
print(f"numbers of a glimpse: {patches[0].size}, of the picture: {picture.size}")

# %% [markdown]
# The choice of a place is hard and has no gradient; it is learned from reward. And the way from the
# answer to the first glimpse goes through the RNN, as in section 1: a few steps are no trouble, fifty
# would be. [Notebook 8](08_captions_and_glimpses.ipynb) trains such an eye, with
# `models.build_recurrent_attention`; `models.build_deep_recurrent_attention` is DRAM.
#
# ## What to remember
#
# | memory | what it keeps | how a place is found | from the answer to step $s$ |
# | --- | --- | --- | --- |
# | RNN, LSTM | one state of fixed size | not at all: all is in one place | S − s steps |
# | attention over states | all S states | by content | one step |
# | with positions | the same | also by place, where places were seen in training | one step |
# | coverage, location | also where it has looked | by content and by the past | one step, and the past |
# | CTC | all frames | in order, one label after the other | the sum over all paths |
# | Hopfield | all patterns | by a part, again and again | a few lookups |
# | glimpses | one state; the picture stays outside | by choice, which needs reward | T − t glimpses |
#
# [Notebook 6](06_neural_turing_machine.ipynb) and [notebook 7](07_memory_networks.ipynb) go on from
# here: memories that are written, and memories that are asked several times. In the documentation:
# [Which attention should I use?](https://github.com/keras-attention/keras_attention/blob/main/docs/choosing.md)
# and, for every idea of the lecture notes, where it is to be found:
# [Concepts](https://github.com/keras-attention/keras_attention/blob/main/docs/concepts.md).

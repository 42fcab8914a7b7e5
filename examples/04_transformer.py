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
# # 4 · The Transformer: three kinds of attention, every head
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/keras-attention/keras_attention/blob/main/examples/04_transformer.ipynb)
#
# Leave the recurrence out, and let attention alone carry what one word needs to know of another:
# within the Spanish sentence, within the English one, and between the two. *Runs in about
# three minutes on a CPU; no accelerator needed.*

# %%
import importlib.util
import subprocess
import sys

if "google.colab" in sys.modules and importlib.util.find_spec("keras_attention") is None:
    source = "git+https://github.com/keras-attention/keras_attention"
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", source], check=True)

# On a TPU runtime Keras needs JAX: take the # away from these two lines, before Keras is imported.
# import os
# os.environ["KERAS_BACKEND"] = "jax"

# %%
import os
import time

import keras
import matplotlib.pyplot as plt
import numpy as np
from keras import ops

from keras_attention import (
    Grammar,
    Translator,
    Vocabulary,
    corpora,
    layers,
    models,
    plotting,
    training,
)
from keras_attention.ops import causal_mask, sinusoids
from keras_attention.translation import evaluation

QUICK = bool(os.environ.get("KERAS_ATTENTION_QUICK"))  # set by the tests: fewer steps
COMPILED = False if QUICK else None  # few steps are not worth a compiler
keras.utils.set_random_seed(0)

# %% [markdown]
# ## What the paper says
#
# A recurrent network reads word after word, so a sentence of a hundred words is a hundred steps,
# none of which can begin before the last one ended, and what the first word has to say to the last
# one passes through all of them. Vaswani et al. (2017), *Attention is all you need*, connect any two
# positions directly: each position asks a question, all positions answer at once, and the
# whole sentence is a few products of matrices. What is lost, the order of the words, is put back
# as numbers that are added to each word. Several **heads** ask different questions side by side.
#
# ## The equations
#
# Scaled dot-product attention (section 3.2.1, equation 1), and several heads (section 3.2.2):
#
# $$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d}}\right) V$$
#
# $$\mathrm{head}_h = \mathrm{Attention}(x W_h^Q,\; y W_h^K,\; y W_h^V), \qquad
# \mathrm{read} = \mathrm{Concat}(\mathrm{head}_1, \ldots, \mathrm{head}_H)\, W^O$$
#
# | letter | what it is | shape in a batch |
# | --- | --- | --- |
# | $x$ | what asks: T positions | (B, T, D) |
# | $y$ | what is asked, the memory: S positions; in self-attention $y = x$ | (B, S, D) |
# | $Q$; $K$, $V$ | queries; keys and values, of one head | (B, T, d); (B, S, d) |
# | $W_h^Q$, $W_h^K$, $W_h^V$ | projections of head $h$, with $d = D / H$ | (D, d) each |
# | $Q K^\top / \sqrt d$ | scores, before the softmax | (B, H, T, S) |
# | softmax of them | weights: each row sums to 1 | (B, H, T, S) |
# | $W^O$ | mixes the heads | (H·d, D) |
#
# Why divide by $\sqrt d$? The lecture's example: a query scores two keys with 112 and 96, and $d$
# is 64.


# %%
def softmax(scores):
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return shares / shares.sum(axis=-1, keepdims=True)


scores = np.array([112.0, 96.0])
for name, each in (("as they are", scores), ("divided by 8", scores / np.sqrt(64))):
    first, second = softmax(each)
    print(f"{name:14}weights {first:.7f} {second:.7f}   gradient {first * second:.1e}")

# %% [markdown]
# The product of two vectors of $d$ random numbers grows like $\sqrt d$. Undivided, the softmax
# has made up its mind before anything is learned, and its derivative
# ($\alpha_1 \alpha_2$ for two keys) is nearly 0: nothing would learn.
#
# ## Ten lines that implement it


# %%
def multi_head_attention(x, y, parameters, mask=None):
    """(B, T, D), (B, S, D) → the read (B, T, D) and the weights (B, H, T, S)."""
    w_q, b_q, w_k, b_k, w_v, b_v, w_o, b_o = parameters  # (D, H, d), (H, d), …, (H, d, D), (D,)
    queries = np.einsum("btD,Dhd->bhtd", x, w_q) + b_q[:, None]
    keys = np.einsum("bsD,Dhd->bhsd", y, w_k) + b_k[:, None]
    values = np.einsum("bsD,Dhd->bhsd", y, w_v) + b_v[:, None]
    scores = queries @ keys.swapaxes(2, 3) / np.sqrt(queries.shape[-1])  # (B, H, T, S)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    weights = softmax(scores)
    heads = weights @ values  # (B, H, T, d)
    return np.einsum("bhtd,hdD->btD", heads, w_o) + b_o, weights


# %% [markdown]
# ## The same by the package
#
# We give the layer random weights, take them out again, and hand them to the ten lines.
# `MultiHeadAttention` wraps Keras' own layer and its weights; `DenseMultiHeadAttention` is the
# construction of the lecture: one dense layer for the queries of all heads, then a reshape to
# (B, T, H, d) and a transpose to (B, H, T, d). (A reshape straight to (B, H, T, d) has the right
# shape and mixes times with heads.) All three agree.

# %%
rng = np.random.default_rng(0)
x = rng.normal(size=(2, 3, 16)).astype("float32")
y = rng.normal(size=(2, 5, 16)).astype("float32")
mask = np.array([[True] * 5, [True] * 3 + [False] * 2])  # the second memory has three positions

attend = layers.MultiHeadAttention(num_heads=4, key_dim=4)
attend(x, y)  # makes its weights
attend.set_weights([rng.normal(size=w.shape) / 2 for w in attend.weights])
read, weights = attend(x, y, attention_mask=mask, return_attention_scores=True)

by_hand = multi_head_attention(x, y, attend.get_weights(), mask[:, None, None])
np.testing.assert_allclose(by_hand[0], ops.convert_to_numpy(read), atol=1e-4)
np.testing.assert_allclose(by_hand[1], ops.convert_to_numpy(weights), atol=1e-5)

dense = layers.DenseMultiHeadAttention(num_heads=4, width=16)
dense(x, y)
dense.set_weights(
    [w.reshape(own.shape) for w, own in zip(attend.get_weights(), dense.weights, strict=True)]
)
np.testing.assert_allclose(
    ops.convert_to_numpy(dense(x, y, attention_mask=mask)), by_hand[0], atol=1e-4
)
print("read", tuple(read.shape), "weights", tuple(weights.shape))
print("sums of the rows:", by_hand[1].sum(axis=-1).min(), "to", by_hand[1].sum(axis=-1).max())

# %% [markdown]
# ## "Complete the sketch! Highlight any trainable components!"
#
# The two sketches of the paper's figure 2, from bottom to top, completed; what is trained is
# shaded.


# %%
def draw_sketch(panel, boxes, arrows, title):
    """Draw boxes, by name (x, y, text, whether it is trained), and arrows between them."""
    for x, y, text, trained in boxes.values():
        style = {"boxstyle": "round,pad=0.35", "ec": "0.3", "fc": "#ffd28a" if trained else "white"}
        panel.text(x, y, text, ha="center", va="center", size=9, bbox=style)
    for start, end in arrows:
        arrow = {"arrowstyle": "->", "color": "0.3", "shrinkA": 13, "shrinkB": 13}
        panel.annotate("", boxes[end][:2], boxes[start][:2], arrowprops=arrow)
    panel.set(xlim=(-0.7, 2.7), ylim=(-0.5, 5.5), title=title)
    panel.axis("off")


figure, panels = plt.subplots(1, 2, figsize=(9, 5.2), layout="constrained")
draw_sketch(
    panels[0],
    {
        "Q": (0, 0, "Q  (B, T, d)", False),
        "K": (1, 0, "K  (B, S, d)", False),
        "V": (2, 0, "V  (B, S, d)", False),
        "scores": (0.5, 1, "MatMul  Q Kᵀ:  (B, T, S)", False),
        "scale": (0.5, 2, "scale  1 / √d", False),
        "mask": (0.5, 3, "mask (optional):  −∞", False),
        "softmax": (0.5, 4, "softmax over S", False),
        "read": (1.25, 5, "MatMul  weights · V:  (B, T, d)", False),
    },
    [
        ("Q", "scores"),
        ("K", "scores"),
        ("scores", "scale"),
        ("scale", "mask"),
        ("mask", "softmax"),
        ("softmax", "read"),
        ("V", "read"),
    ],
    "Scaled dot-product attention: nothing to train",
)
draw_sketch(
    panels[1],
    {
        "q": (0, 0, "queries from x", False),
        "k": (1, 0, "keys from y", False),
        "v": (2, 0, "values from y", False),
        "wq": (0, 1.3, "linear  $W_h^Q$  (× H)", True),
        "wk": (1, 1.3, "linear  $W_h^K$  (× H)", True),
        "wv": (2, 1.3, "linear  $W_h^V$  (× H)", True),
        "attention": (1, 2.6, "scaled dot-product attention  (× H)", False),
        "concat": (1, 3.8, "concatenate heads:  (B, T, H·d)", False),
        "wo": (1, 5, "linear  $W^O$:  (B, T, D)", True),
    },
    [
        ("q", "wq"),
        ("k", "wk"),
        ("v", "wv"),
        ("wq", "attention"),
        ("wk", "attention"),
        ("wv", "attention"),
        ("attention", "concat"),
        ("concat", "wo"),
    ],
    "Multi-head attention: the shaded boxes are trained",
)
plt.show()

# %% [markdown]
# All that attention learns are the four linear maps; how it compares, normalises and reads is
# fixed. The number of heads does not change the number of weights, since each head is as many
# times narrower:

# %%
for heads in (1, 2, 4, 8):
    layer = layers.MultiHeadAttention(heads, key_dim=64 // heads)
    layer.build((None, None, 64), (None, None, 64))
    print(f"{heads} heads of depth {layer.key_dim:2}: {layer.count_params():,} weights")

# %% [markdown]
# ## Where a word stands
#
# Attention by itself sees a bag of words: shuffle them, and what comes out is shuffled alike.
# Section 3.5 adds a vector to each word that says where it stands, sines and cosines of the
# position at D/2 speeds, from a full turn every six words to one in many thousands:
#
# $$p_{t,2i} = \sin\left(t / 10000^{2i/D}\right), \qquad
# p_{t,2i+1} = \cos\left(t / 10000^{2i/D}\right)$$


# %%
def positions_by_hand(length, width):
    angles = np.arange(length)[:, None] / 10000 ** (np.arange(0, width, 2) / width)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(length, width)


encodings = ops.convert_to_numpy(sinusoids(np.arange(60), 64))
np.testing.assert_allclose(positions_by_hand(60, 64), encodings, atol=1e-5)

plotting.plot_positions(encodings, title="On the right only the distance of two positions counts")
plt.show()

# %%
block = layers.GlobalSelfAttention(layers.MultiHeadAttention(num_heads=2, key_dim=8))
order = rng.permutation(5)
plain, placed = (lambda x: block(x)), (lambda x: block(layers.SinusoidalPositions()(x)))
for name, look in (("without positions", plain), ("with positions", placed)):
    difference = ops.convert_to_numpy(look(y[:, order])) - ops.convert_to_numpy(look(y))[:, order]
    print(f"{name:18}f(shuffled x) differs from shuffled f(x) by {np.abs(difference).max():.6f}")

# %% [markdown]
# *Why do we need the positional encoding?* Without it, "the dog bites the man" and "the man bites
# the dog" are the same. A small model shows it: given twelve digits, say them in reverse. One block
# of self-attention, with positions and without.

# %%
DIGITS, LENGTH, WIDTH = 10, 12, 32
STEPS = 5 if QUICK else 300


def fit(model, inputs, labels):
    """Train a model of digits for `STEPS` batches; return its last loss."""
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(1e-2), loss, jit_compile=not QUICK)
    model.run_eagerly = QUICK
    history = model.fit(inputs, labels, batch_size=128, epochs=2, verbose=0)
    return history.history["loss"][-1]


def build_rearranger(with_positions):
    """Digits (B, LENGTH) → logits for each place, through one block of self-attention."""
    digits = keras.Input((LENGTH,), dtype="int32")
    x = keras.layers.Embedding(DIGITS, WIDTH)(digits)
    x = layers.SinusoidalPositions()(x) if with_positions else x
    x = layers.GlobalSelfAttention(layers.MultiHeadAttention(1, WIDTH))(x)
    return keras.Model(digits, keras.layers.Dense(DIGITS)(x))


digits = rng.integers(DIGITS, size=(64 * STEPS + 1000, LENGTH), dtype="int32")
right = {}
for with_positions in (True, False):
    keras.utils.set_random_seed(0)
    model = build_rearranger(with_positions)
    fit(model, digits[:-1000], digits[:-1000, ::-1])
    said = ops.convert_to_numpy(model(digits[-1000:])).argmax(-1)
    right[with_positions] = np.mean(said == digits[-1000:, ::-1])
print(f"digits right: with positions {right[True]:.3f}, without {right[False]:.3f}, chance 0.1")
if not QUICK:
    assert right[True] > 0.9
    assert right[False] < 0.5

# %% [markdown]
# ## Nobody sees the future
#
# The decoder is trained on whole translations at once: at every position it says the next word. A
# position that could see the words after it would find its answer there. So position $t$ may look
# at positions 0 to $t$ only, and the scores of all others become $-\infty$.

# %%
words = ["[START]", "did", "the", "boys", "eat", "?"]
allowed = ops.convert_to_numpy(causal_mask(len(words)))[0]
figure, panel = plt.subplots(figsize=(4.6, 3.8), layout="constrained")
panel.imshow(allowed, cmap="viridis", vmin=0, vmax=1)
for (t, s), each in np.ndenumerate(allowed):
    text, color = ("look", "black") if each else ("−∞", "white")
    panel.text(s, t, text, ha="center", va="center", size=8, color=color)
panel.set(title="Causal mask: yellow may be looked at", ylabel="query", xlabel="key")
panel.set_xticks(range(len(words)), words, rotation=45, ha="right")
panel.set_yticks(range(len(words)), words)
plt.show()

# %% [markdown]
# *Why do we need masked self-attention in the decoder?* Again a small model: a phrase of six random
# notes, then the phrase once more, in which half the notes went wrong. At every note the next one is
# asked for. Nobody can foresee the wrong ones, except by looking.

# %%
NOTES, PHRASE = 10, 6
UNWRITTEN = NOTES  # stands where nothing has been written yet


def refrains(count):
    phrase, noise = rng.integers(NOTES, size=(2, count, PHRASE), dtype="int32")
    again = np.where(rng.random(phrase.shape) < 0.5, noise, phrase)
    return np.concatenate([phrase, again], axis=1)


def build_singer(block):
    """Notes (B, 2 PHRASE − 1) → logits for the note after each, through one block."""
    notes = keras.Input((2 * PHRASE - 1,), dtype="int32")
    x = keras.layers.Embedding(NOTES + 1, WIDTH)(notes)
    x = layers.LearnedPositions(2 * PHRASE - 1)(x)
    x = block(layers.MultiHeadAttention(1, WIDTH))(x)
    return keras.Model(notes, keras.layers.Dense(NOTES)(x))


def sing(model, songs):
    """Let the model write the second phrase; return how many of its notes are the first one's."""
    written = np.where(np.arange(2 * PHRASE) < PHRASE, songs, UNWRITTEN).astype("int32")
    for t in range(PHRASE, 2 * PHRASE):
        written[:, t] = ops.convert_to_numpy(model(written[:, :-1]))[:, t - 1].argmax(-1)
    return np.mean(written[:, PHRASE:] == written[:, :PHRASE])


songs, concert = refrains(64 * STEPS), refrains(1000)
sung = {}
print(f"{'':22}{'loss in training':>18}{'right when it writes':>22}")
for name, block in (
    ("causal mask", layers.CausalSelfAttention),
    ("no mask", layers.GlobalSelfAttention),
):
    keras.utils.set_random_seed(0)
    model = build_singer(block)
    loss = fit(model, songs[:, :-1], songs[:, 1:])
    sung[name] = sing(model, concert)
    print(f"{name:22}{loss:18.3f}{sung[name]:22.3f}")
if not QUICK:
    assert sung["causal mask"] > 0.9
    assert sung["no mask"] < 0.5

# %% [markdown]
# Without a mask the loss is lower, and worthless: the model copies the next note from the input,
# and when it writes there is none.
#
# ## The learning rate: warm up, then fall
#
# With post-norm blocks the first steps are fragile. The learning rate rises evenly for some
# steps and then falls with the root of their number (section 5.3, equation 3). Where the length of a
# training is known, a cosine to 0 does better; that is what we use below.

# %%
UPDATES = {"epochs": 1, "steps_per_epoch": 2} if QUICK else {"epochs": 5, "steps_per_epoch": 250}
TOTAL = UPDATES["epochs"] * UPDATES["steps_per_epoch"]
WARM_UP = max(TOTAL // 10, 1)


def rates(schedule, steps):
    return np.arange(steps), ops.convert_to_numpy(schedule(np.arange(steps)))


papers = {
    f"D = {width}": rates(training.WarmUp(training.vaswani_peak(width), warm_up=4000), 20_000)
    for width in (512, 128)
}
axes = {"xlabel": "step", "ylabel": "learning rate"}
plotting.plot_curves(papers, **axes, title="The paper's: 4,000 steps of warm-up, then the root")
plt.show()

# %%
ours = rates(training.WarmUp(3e-3, warm_up=WARM_UP, decay_steps=TOTAL), TOTAL)
plotting.plot_curves({"D = 64": ours}, **axes, title="Ours: warm-up, then a cosine")
plt.show()

# %% [markdown]
# ## A Transformer that translates
#
# The bundled corpus, as in the notebook before: sentences of a small grammar, with words for
# tokens (they learn faster here than pieces of words). Two layers of four heads each, width 64;
# no dropout, since the training is short.

# %%
pairs = Grammar.load().generate(1000) if QUICK else corpora.load("bundled")
train, _, test = corpora.split(pairs)
held_out = test[: 10 if QUICK else 600]
spanish = Vocabulary.learn((pair.context for pair in train), 1000)
english = Vocabulary.learn((pair.target for pair in train), 1000)
batches = corpora.Batches.of_pairs(train, spanish, english, shapes=1 if QUICK else 3)

keras.utils.set_random_seed(0)
model = models.build_transformer(
    len(spanish),
    len(english),
    units=16 if QUICK else 64,
    num_layers=2,
    num_heads=4,
    feed_forward_dim=32 if QUICK else 256,
    dropout=0.0,
    tied=True,
)
training.compile_for_training(model, 3e-3, warm_up=WARM_UP, decay_steps=TOTAL, jit_compile=COMPILED)
model.run_eagerly = QUICK
began = time.perf_counter()
history = model.fit(batches.shuffled(), **UPDATES, shuffle=False, verbose=0)
print(f"{model.count_params():,} weights, {TOTAL:,} steps in {time.perf_counter() - began:.0f} s")
print("masked loss by epoch:", np.round(history.history["masked_loss"], 3))

translator = Translator(model, spanish, english)
score = evaluation.bleu(translator, held_out).words
print(f"BLEU on {len(held_out)} held-out sentences, normalised words: {score:.1f}")
if not QUICK:
    assert score.value > 80

# %%
sentence = "¿Comieron los niños la manzana roja?"

translation = translator(sentence)
print(sentence, "→", translation.text)

# %% [markdown]
# The mask holds in the trained model too: change the last English word that is fed, and no logit
# before it moves.

# %%
context = spanish.ids([sentence])
fed = english.ids([translation.text])[:, :-1]
changed = fed.copy()
changed[0, -1] = 4 if fed[0, -1] != 4 else 5
before, after = (
    ops.convert_to_numpy(model({"context": context, "target": each})) for each in (fed, changed)
)
moved = np.abs(before - after)[0].max(axis=-1)
print("largest change of a logit, by position:", moved.round(4))
assert moved[:-1].max() < 1e-4

# %% [markdown]
# ## Every head of the three kinds of attention
#
# **Encoder self-attention.** Queries, keys and values all come from the Spanish sentence: each word
# reads the others to find out what it means *here*. That is self-attention: one part of a
# sample is understood by the others of the same sample.

# %%
translation.plot_grid(of="encoder", by="heads", title="The Spanish sentence looks at itself")
plt.show()

# %% [markdown]
# **Decoder self-attention**, masked: each position reads the English words up to itself. Columns are
# the words that were fed, rows those that were said, so the white triangle is the causal mask.

# %%
translation.plot_grid(of="decoder", by="heads", title="The translation looks at what it has said")
plt.show()

# %% [markdown]
# **Cross-attention**, "encoder-decoder attention": queries from the English side, keys and values
# from the encoder's output. This is the attention of the RNN in the notebook before.

# %%
translation.plot_grid(of="cross", by="heads", title="The translation looks at the Spanish sentence")
plt.show()

# %% [markdown]
# Heads differ, and nobody told them to: some are nearly one-hot, some spread. Be careful with what
# they "mean": after one layer, what stands at a place is no longer that word alone. A heat map of
# the mean over heads (`translation.plot()`) is less of an alignment here than in an RNN; notebook 9
# measures such things.
#
# ## "Annotate the Transformer!"
#
# For each numbered part of the lecture's figure: which tensor is what, with S Spanish and T English
# positions.

# %%
FROM = {
    "encoder": ("Spanish", "Spanish"),
    "decoder": ("English so far", "English so far"),
    "cross": ("English so far", "encoder's output"),
}
print(f"S = {len(translation.context_tokens)}, T = {len(translation.target_tokens)}\n")
print(f"{'attention':33}{'queries':18}{'keys and values':20}weights (H, …)")
for kind, weights in translation.weights.items():
    asks, asked = FROM[kind.split("_")[0]]
    for n, each in enumerate(weights, start=1):
        print(f"{kind + f', layer {n}':33}{asks:18}{asked:20}{each.shape}")

# %% [markdown]
# | part | what it does | queries | keys, values | output |
# | --- | --- | --- | --- | --- |
# | 1. encoder-decoder attention | finds in the source what the next word needs | decoder, (B, T, D) | encoder's output, (B, S, D) | (B, T, D) |
# | 2. encoder self-attention | lets source words inform each other | encoder layer below, (B, S, D) | the same | (B, S, D) |
# | 3. decoder self-attention, masked | tells a position what has been said | decoder layer below, (B, T, D) | the same, up to $t$ | (B, T, D) |
# | 4. position-wise feed-forward network | works on what was gathered: two dense layers, D → 4 D → D, ReLU between, at each position apart | – | – | as its input |
# | 5. shared weight matrices | $W^Q, W^K, W^V, W^O$ and both dense layers are the same at all positions; each layer has its own | – | – | – |
# | around each of 1–4 | residual connection and layer norm: LayerNorm(x + f(x)) | – | – | as its input |
# | embeddings, bottom | a vector for each token, plus its position | – | – | (B, S, D), (B, T, D) |
# | linear and softmax, top | logits over V words; here the transposed target embedding (`tied`) | – | – | (B, T, V) |
#
# *Discuss the rationale behind this structure.* Attention moves information between positions and
# does no more than averaging; the feed-forward network computes, and moves nothing. They alternate.
# The residual connection keeps a straight path from top to bottom for the gradient, and
# lets a block add to what is there instead of replacing it. Sharing weights over positions makes a
# model for any length, and lets what was learned at one place hold at all others. The encoder
# needs no mask but that of padding, since the whole source is known; the decoder needs the causal
# one, since its input is the answer, shifted by one.
#
# ## Exercise: $\partial \mathrm{Loss} / \partial W_Q$
#
# $W_Q$ is used at every position. *What is the gradient of the loss with respect to it?*

# %% [markdown]
# **Answer.** A weight that is used T times collects T contributions: their **sum**, each of them a
# product along its path,
#
# $$\frac{\partial L}{\partial W_Q} = \sum_t \frac{\partial L}{\partial q_t}
# \frac{\partial q_t}{\partial W_Q} = \sum_t x_t \left(\frac{\partial L}{\partial q_t}\right)^\top
# = X^\top \frac{\partial L}{\partial Q}.$$
#
# With $A$ the weights and $G = \partial L / \partial \mathrm{read}$, the chain is
# $\partial L / \partial A = G V^\top$; through the softmax of each row,
# $\partial L / \partial S = A \odot (\partial L/\partial A - r)$ with $r$ the row sums of
# $A \odot \partial L / \partial A$; and $\partial L / \partial Q = (\partial L / \partial S) K /
# \sqrt d$. Finite differences agree.

# %%
T, D = 5, 4
x, w_q, w_k, w_v, g = (rng.normal(size=shape) for shape in ((T, D), *[(D, D)] * 3, (T, D)))


def loss_of(w_q):
    """A loss whose gradient with respect to the read is `g`."""
    weights = softmax((x @ w_q) @ (x @ w_k).T / np.sqrt(D))
    return np.sum(g * (weights @ (x @ w_v)))


a = softmax((x @ w_q) @ (x @ w_k).T / np.sqrt(D))
d_a = g @ (x @ w_v).T
d_s = a * (d_a - np.sum(a * d_a, axis=-1, keepdims=True))
d_q = d_s @ (x @ w_k) / np.sqrt(D)
contributions = np.einsum("ti,tj->tij", x, d_q)  # one for each position

numeric = np.zeros((D, D))
for place in np.ndindex(D, D):
    step = np.zeros((D, D))
    step[place] = 1e-6
    numeric[place] = (loss_of(w_q + step) - loss_of(w_q - step)) / 2e-6
np.testing.assert_allclose(contributions.sum(axis=0), numeric, atol=1e-7)
sizes = np.linalg.norm(contributions, axis=(1, 2))
print("sizes of the contributions of the positions:", sizes.round(2))
print("largest difference from finite differences:", np.abs(contributions.sum(0) - numeric).max())

# %% [markdown]
# Next: [5 · Soft, hard, local, location](05_soft_hard_local_location.ipynb). In the documentation:
# [Which attention should I use?](https://github.com/keras-attention/keras_attention/blob/main/docs/choosing.md),
# [Why is my heat map wrong?](https://github.com/keras-attention/keras_attention/blob/main/docs/heat-maps.md),
# and
# [Errata of tutorials](https://github.com/keras-attention/keras_attention/blob/main/docs/errata.md)
# for the masks that get lost.

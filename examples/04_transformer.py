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
# within the Spanish sentence, within the English one, and between the two. You build the model cell
# by cell with the functional API of Keras, compare it with the package's, train it, and look at
# every head. *Runs in about four minutes on a CPU; no accelerator needed.*

# %% tags=["install"]
# The text of this cell comes from install.py.

# %%
import importlib.util
import os
import shutil
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
from keras_attention.ops import causal_mask, padding_mask, sinusoids
from keras_attention.text import END, START
from keras_attention.translation import evaluation

keras.utils.set_random_seed(0)

# %% [markdown]
# ## What the paper says
#
# A recurrent network reads word after word. A sentence of a hundred words is a hundred steps, none
# of which can begin before the last one ended, and what the first word has to say to the last one
# passes through all of them. Vaswani et al. (2017), *Attention is all you need*, connect any two
# positions directly: each position asks a question, all positions answer at once, and the whole
# sentence is a few products of matrices. What is lost, the order of the words, is put back as
# numbers that are added to each word. Several **heads** ask different questions side by side.
#
# The same operation is used in three places:

# %%
plotting.diagram("three-attentions")

# %% [markdown]
# ## One attention
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
# ($\alpha_1 \alpha_2$ for two keys) is nearly 0, so learning is slow. In [notebook
# 1](01_context_sensitive_memory.ipynb) the undivided score found less than two thirds of the answers
# in the steps in which the divided one found 99 %.
#
# The lecture gives the recipe of multi-head attention in five steps: (1) take the sentence;
# (2) embed its words, which gives $X$; (3) multiply $X$, or in every layer but the first the output
# $R$ of the layer below, by the matrices of each head; (4) compute attention with the resulting
# $Q$, $K$, $V$; (5) concatenate the results $Z$ of the heads and multiply by $W^O$. Steps 3 to 5 in
# ten lines:


# %%
def multi_head_attention(x, y, parameters, mask=None):
    """(B, T, D), (B, S, D) → the read (B, T, D) and the weights (B, H, T, S)."""
    w_q, b_q, w_k, b_k, w_v, b_v, w_o, b_o = parameters  # (D, H, d), (H, d), …, (H, d, D), (D,)
    queries = np.einsum("btD,Dhd->bhtd", x, w_q) + b_q[:, None]  # step 3
    keys = np.einsum("bsD,Dhd->bhsd", y, w_k) + b_k[:, None]
    values = np.einsum("bsD,Dhd->bhsd", y, w_v) + b_v[:, None]
    scores = queries @ keys.swapaxes(2, 3) / np.sqrt(queries.shape[-1])  # step 4, (B, H, T, S)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    weights = softmax(scores)
    heads = weights @ values  # (B, H, T, d)
    return np.einsum("bhtd,hdD->btD", heads, w_o) + b_o, weights  # step 5


# %% [markdown]
# ### The same by the package, and by Keras
#
# Give the layer random weights, take them out again, and hand them to the ten lines. `True` in an
# `attention_mask` means "may be read".

# %%
rng = np.random.default_rng(0)
asking = rng.normal(size=(2, 3, 16)).astype("float32")
asked = rng.normal(size=(2, 5, 16)).astype("float32")
mask = np.array([[True] * 5, [True] * 3 + [False] * 2])  # the second memory has three positions

attend = layers.MultiHeadAttention(num_heads=4, key_dim=4)
attend(asking, asked)  # makes its weights
attend.set_weights([rng.normal(size=w.shape) / 2 for w in attend.weights])
read, weights = attend(asking, asked, attention_mask=mask, return_attention_scores=True)

by_numpy = multi_head_attention(asking, asked, attend.get_weights(), mask[:, None, None])
np.testing.assert_allclose(by_numpy[0], ops.convert_to_numpy(read), atol=1e-4)
np.testing.assert_allclose(by_numpy[1], ops.convert_to_numpy(weights), atol=1e-5)
print("read", tuple(read.shape), "weights", tuple(weights.shape))
print("sums of the rows:", by_numpy[1].sum(axis=-1).min(), "to", by_numpy[1].sum(axis=-1).max())

# %% [markdown]
# Two other layers take the same weights. `keras.layers.MultiHeadAttention` is Keras' own.
# `layers.DenseMultiHeadAttention` is the construction of the lecture: one dense layer for the
# queries of all heads, then a reshape to (B, T, H, d) and a transpose to (B, H, T, d). (A reshape
# straight to (B, H, T, d) has the right shape and mixes times with heads.)

# %%
of_keras = keras.layers.MultiHeadAttention(num_heads=4, key_dim=4)
of_keras(asking, asked)
of_keras.set_weights(attend.get_weights())
read = of_keras(asking, asked, attention_mask=mask[:, None])  # Keras wants (B, T, S)
np.testing.assert_allclose(ops.convert_to_numpy(read), by_numpy[0], atol=1e-4)

dense = layers.DenseMultiHeadAttention(num_heads=4, width=16)
dense(asking, asked)
pairs = zip(attend.get_weights(), dense.weights, strict=True)
dense.set_weights([numbers.reshape(own.shape) for numbers, own in pairs])
read = dense(asking, asked, attention_mask=mask)
np.testing.assert_allclose(ops.convert_to_numpy(read), by_numpy[0], atol=1e-4)

# %% [markdown]
# ### "Complete the sketch! Highlight any trainable components!"

# %%
plotting.diagram("heads")

# %% [markdown]
# The steps between the shapes complete the lecture's sketch. What is trained are the four
# projections: three at the bottom, into queries, keys and values, and the one at the top,
# $W^O$. How attention compares, normalises and reads is fixed. The layer says the same:

# %%
for weight in attend.trainable_weights:
    print(f"{weight.path.split('/', 1)[1]:26}{tuple(weight.shape)}")

# %% [markdown]
# With one head of depth $D$, a projection that is of no use can become the identity. With several
# heads it cannot: each sees the words through $D / H$ numbers only, which is the price of several
# heads. Their number does not change the number of weights, since each head is as many times
# narrower:


# %%
def weights_of(width, heads, depth):
    """Return how many weights an attention of this size has."""
    layer = layers.MultiHeadAttention(heads, key_dim=depth)
    layer.build((None, None, width), (None, None, width))
    return layer.count_params()


for count in (1, 2, 4, 8):
    print(f"{count} heads of depth {64 // count:2}: {weights_of(64, count, 64 // count):,} weights")

# %% [markdown]
# **Exercise 1.** The TensorFlow tutorial sets `key_dim` to the width of the model: 8 heads of depth
# 128 for width 128. How many weights does such an attention have? Write the number for any width
# $D$, number of heads $H$ and depth $d$; do not forget the biases.


# %%
def my_count(width, heads, depth):
    return None  # your answer


# %% tags=["check"]
sizes = [(64, 4, 16), (128, 8, 128), (30, 3, 7)]
if [my_count(*each) for each in sizes] == [weights_of(*each) for each in sizes]:
    print(f"Right. The tutorial's attention has {my_count(128, 8, 128):,} weights.")
else:
    print("Not yet. Three projections go from D to H · d, and one goes back; each has a bias.")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# def my_count(width, heads, depth):
#     into = width * heads * depth + heads * depth  # queries; keys and values have as many
#     back = heads * depth * width + width
#     return 3 * into + back
# ```
#
# The tutorial's attention is eight times as wide as the paper's, in which $H \cdot d = D$.
# `models.build_transformer` follows the paper; its argument `key_dim` sets another depth.
#
# </details>

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
plotting.diagram("positions")

# %% [markdown]
# The paper **interleaves** sines and cosines, as in the formula. The TensorFlow tutorial, this
# package's `build_transformer` and the diagram **concatenate** them: first all sines, then all
# cosines. The numbers are the same; only their places differ. The weights that read them are
# learned, so either layout serves as well; but weights trained with one do not fit the other.
# Positions can also be learned, as the model of the next section does (`layers.LearnedPositions`);
# then there are none beyond the longest sentence of the training.


# %%
def positions_by_hand(length, width, layout):
    angles = np.arange(length)[:, None] / 10000 ** (np.arange(0, width, 2) / width)
    if layout == "concatenated":
        return np.concatenate([np.sin(angles), np.cos(angles)], axis=-1)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(length, width)


encodings = {}
for layout in ("interleaved", "concatenated"):
    encodings[layout] = ops.convert_to_numpy(sinusoids(np.arange(60), 64, layout))
    np.testing.assert_allclose(positions_by_hand(60, 64, layout), encodings[layout], atol=1e-5)
    print(f"{layout:13}position 1 begins", encodings[layout][1, :4].round(2))

# %% [markdown]
# The same products of any two positions come out of both:

# %%
products = [each @ each.T for each in encodings.values()]
np.testing.assert_allclose(*products, atol=1e-4)

title = "Concatenated. On the right only the distance of two positions counts"
plotting.plot_positions(encodings["concatenated"], title=title)
plt.show()

# %% [markdown]
# **Exercise 2.** One layout is the other with its components in another order. Find the `order` of
# the 64 components so that `interleaved[:, order]` is `concatenated`.

# %%
order = None  # your answer: a list of 64 whole numbers

# %% tags=["check"]
interleaved, concatenated = encodings["interleaved"], encodings["concatenated"]
if order is not None and np.array_equal(interleaved[:, list(order)], concatenated):
    print("Right. One layout is a reordering of the other.")
else:
    print("Not yet. Sines stand at 0, 2, 4, … in one layout, and at 0, 1, 2, … in the other.")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# order = [*range(0, 64, 2), *range(1, 64, 2)]
# ```
#
# The components at even places are the sines, those at odd places the cosines.
#
# </details>

# %% [markdown]
# ### Why do we need the positional encoding?
#
# Without it, "the dog bites the man" and "the man bites the dog" are the same.

# %%
block = layers.GlobalSelfAttention(layers.MultiHeadAttention(num_heads=2, key_dim=8))
shuffle = rng.permutation(5)
plain, placed = (lambda x: block(x)), (lambda x: block(layers.SinusoidalPositions()(x)))
for name, look in (("without positions", plain), ("with positions", placed)):
    difference = look(asked[:, shuffle]) - ops.take(look(asked), shuffle, axis=1)
    most = np.abs(ops.convert_to_numpy(difference)).max()
    print(f"{name:18}f(shuffled x) differs from shuffled f(x) by {most:.6f}")

# %% [markdown]
# A small model shows it: given twelve digits, say them in reverse. One block of self-attention,
# with positions and without.

# %% quick="EXAMPLES = 256"
EXAMPLES = 19_200  # to learn from, in batches of 128, seen twice

# %%
DIGITS, LENGTH, WIDTH = 10, 12, 32


def learn(model, inputs, labels):
    """Train a model of digits; return its last loss."""
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(1e-2), loss)
    history = model.fit(inputs, labels, batch_size=128, epochs=2, verbose=2)
    return history.history["loss"][-1]


def build_rearranger(with_positions):
    """Digits (B, LENGTH) → logits for each place, through one block of self-attention."""
    digits = keras.Input((LENGTH,), dtype="int32")
    x = keras.layers.Embedding(DIGITS, WIDTH)(digits)
    x = layers.SinusoidalPositions()(x) if with_positions else x
    x = layers.GlobalSelfAttention(layers.MultiHeadAttention(1, WIDTH))(x)
    return keras.Model(digits, keras.layers.Dense(DIGITS)(x))


# %%
digits = rng.integers(DIGITS, size=(EXAMPLES + 1000, LENGTH), dtype="int32")
right = {}
for with_positions in (True, False):
    keras.utils.set_random_seed(0)
    model = build_rearranger(with_positions)
    learn(model, digits[:-1000], digits[:-1000, ::-1])
    said = ops.convert_to_numpy(model(digits[-1000:])).argmax(-1)
    right[with_positions] = np.mean(said == digits[-1000:, ::-1])
print(f"digits right: with positions {right[True]:.3f}, without {right[False]:.3f}, chance 0.1")

# %% tags=["claims"]
assert right[True] > 0.9
assert right[False] < 0.5

# %% [markdown]
# ## Nobody sees the future
#
# The decoder is trained on whole translations at once: at every position it says the next word. A
# position that could see the words after it would find its answer there. So position $t$ may read
# positions 0 to $t$ only, and the scores of all others become $-\infty$. The other mask is that of
# padding, which fills short sentences up to the length of a batch.

# %%
plotting.diagram("masks")

# %% [markdown]
# ### Why do we need masked self-attention in the decoder?
#
# Again a small model: a phrase of six random notes, then the phrase once more, in which half the
# notes went wrong. At every note the next one is asked for. Nobody can foresee the wrong ones,
# except by looking.

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


# %%
def sing(model, songs):
    """Let the model write the second phrase; return how many of its notes are the first one's."""
    written = np.where(np.arange(2 * PHRASE) < PHRASE, songs, UNWRITTEN).astype("int32")
    for t in range(PHRASE, 2 * PHRASE):
        written[:, t] = ops.convert_to_numpy(model(written[:, :-1]))[:, t - 1].argmax(-1)
    return np.mean(written[:, PHRASE:] == written[:, :PHRASE])


songs, concert, losses, sung = refrains(EXAMPLES), refrains(1000), {}, {}
blocks = {"causal mask": layers.CausalSelfAttention, "no mask": layers.GlobalSelfAttention}
for name, block in blocks.items():
    keras.utils.set_random_seed(0)
    model = build_singer(block)
    losses[name] = learn(model, songs[:, :-1], songs[:, 1:])
    sung[name] = sing(model, concert)
for name in blocks:
    print(f"{name:12} loss {losses[name]:.3f}, right when it writes {sung[name]:.3f}")

# %% tags=["claims"]
assert losses["no mask"] < losses["causal mask"]
assert sung["causal mask"] > 0.9
assert sung["no mask"] < 0.5

# %% [markdown]
# Without a mask the loss is lower, and worthless: the model copies the next note from the input,
# and when it writes there is none.
#
# ## The Transformer, cell by cell
#
# Now the whole model, with the functional API: `keras.Input` makes a symbolic tensor, every layer
# called on one makes another, and `keras.Model` joins what lies between inputs and outputs.

# %%
plotting.diagram("transformer")

# %% [markdown]
# ### The words
#
# The corpus is that of the chapter before: sentences of a small grammar that comes with the package,
# with words for tokens.

# %% quick="PAIRS = 1000; HELD_OUT = 10"
PAIRS, HELD_OUT = 30_000, 600

# %%
train, _, test = corpora.split(Grammar.load().generate(PAIRS))
held_out = test[:HELD_OUT]
spanish = Vocabulary.learn((pair.context for pair in train), 1000)
english = Vocabulary.learn((pair.target for pair in train), 1000)
print(f"{len(train):,} pairs to learn from, {len(held_out)} held out")
print(f"{len(spanish)} Spanish and {len(english)} English words")
print(train[0].context, "→", train[0].target)

# %% quick="D = 16; HIDDEN = 32; N = 1"
D, H, HIDDEN, N = 64, 4, 256, 2  # width, heads, feed-forward, layers; the paper: 512, 8, 2048, 6

# %% [markdown]
# ### Embedding and positions
#
# A table has a vector for each word. The paper multiplies it by $\sqrt D$ (section 3.4) and adds the
# position. `ReversibleEmbedding` is an embedding that also runs backwards: the table of the English
# words will give the logits at the end, as in the paper.


# %%
def table_of(vocabulary, name):
    """Return an embedding whose vectors have a length near 1."""
    start = keras.initializers.RandomNormal(stddev=D**-0.5)
    options = {"tie_weights": True, "embeddings_initializer": start, "name": name}
    return keras.layers.ReversibleEmbedding(len(vocabulary), D, **options)


embed_spanish, embed_english = table_of(spanish, "Spanish"), table_of(english, "English")
add_positions = layers.SinusoidalPositions("concatenated", name="positions")

context = keras.Input((None,), dtype="int32", name="context")  # ids (B, S)
vectors = embed_spanish(context)  # (B, S, D)
placed = add_positions(vectors * D**0.5)  # (B, S, D)
for name, each in (("context", context), ("vectors", vectors), ("placed", placed)):
    print(f"{name:9}{each.shape!s:18}{each.dtype}")

# %% [markdown]
# `None` stands for sizes that are known when sentences come: the batch B and the length S. Why the
# factor? The waves are long vectors. Without it the position would be several times as loud as the
# word:

# %%
rows = ops.convert_to_numpy(embed_spanish.embeddings)
waves = ops.convert_to_numpy(sinusoids(np.arange(20), D, "concatenated"))
for name, each in (("word", rows), ("word · √D", rows * D**0.5), ("position", waves)):
    print(f"{name:10}length {np.linalg.norm(each, axis=-1).mean():.2f}")

# %% [markdown]
# ### One encoder layer, written out
#
# Self-attention, added to what is there (the **residual** connection), and a layer norm; then two
# dense layers at each position apart, added and normed again. The paper's order is "post-norm", on
# the left.

# %%
plotting.diagram("encoder-layer")


# %%
def heads(name):
    return layers.MultiHeadAttention(H, D // H, name=name)


def norm(name):
    return keras.layers.LayerNormalization(name=name)


def feed_forward(x):
    """Two dense layers at each position: (B, S, D) → (B, S, HIDDEN) → (B, S, D)."""
    hidden = keras.layers.Dense(HIDDEN, activation="relu", name="widen")(x)
    return keras.layers.Dense(D, name="narrow")(hidden)


# %%
def build_encoder_layer(name):
    x = keras.Input((None, D), name="x")  # (B, S, D)
    words = keras.Input((None,), dtype="bool", name="words")  # (B, S): False at padding
    read = heads("self_attention")(x, x, attention_mask=words)
    y = norm("self_norm")(x + read)
    z = norm("feed_norm")(y + feed_forward(y))
    return keras.Model({"x": x, "words": words}, z, name=name)


# %%
def table(model):
    """Print the parts of a model, the shapes that come out of them, and their weights."""
    for part in model.layers:
        shapes = " and ".join(str(each.shape) for each in keras.tree.flatten(part.output))
        print(f"{part.name:17}{shapes:44}{part.count_params():8,} weights")


encoder_layer = build_encoder_layer("encoder_layer")
table(encoder_layer)

# %% [markdown]
# In goes (B, S, D), out comes (B, S, D): any number of such layers can be stacked. The package's
# `layers.TransformerEncoderLayer` is the same in one line. With copied weights both must say the
# same.


# %%
def parts_of(layer):
    """Return the parts of a layer of the package, by the names that ours have."""
    parts = {
        "self_attention": layer.self_attention.attention,
        "self_norm": layer.self_attention.norm,
        "widen": layer.feed_forward.widen,
        "narrow": layer.feed_forward.narrow,
        "feed_norm": layer.feed_forward.norm,
    }
    if layer.cross_attention is not None:
        parts["cross_attention"] = layer.cross_attention.attention
        parts["cross_norm"] = layer.cross_attention.norm
    return parts


# %%
package_layer = layers.TransformerEncoderLayer(H, D // H, HIDDEN)
package_layer.build((None, None, D))
for name, part in parts_of(package_layer).items():
    part.set_weights(encoder_layer.get_layer(name).get_weights())

x = rng.normal(size=(2, 7, D)).astype("float32")
words = np.array([[True] * 7, [True] * 4 + [False] * 3])
ours = ops.convert_to_numpy(encoder_layer({"x": x, "words": words}))
theirs = ops.convert_to_numpy(package_layer(x, attention_mask=words))
np.testing.assert_allclose(ours, theirs, atol=1e-5)
print("largest difference:", np.abs(ours - theirs).max())

# %% [markdown]
# **Exercise 3.** On the right of the diagram stands "pre-norm": the norm is on the branch, before
# the attention and before the feed-forward network, and the residual path is free of it. Write this
# layer, with the same names for its parts, and without a norm at the end.


# %%
def build_pre_norm_layer(name):
    x = keras.Input((None, D), name="x")
    words = keras.Input((None,), dtype="bool", name="words")
    z = heads("self_attention")(x, x, attention_mask=words)  # your answer goes on from here
    return keras.Model({"x": x, "words": words}, z, name=name)


# %% tags=["check"]
package_layer = layers.TransformerEncoderLayer(H, D // H, HIDDEN, norm_first=True)
package_layer.build((None, None, D))
mine = build_pre_norm_layer("pre_norm")
mine_by_name = {part.name: part for part in mine.layers}
for name, part in parts_of(package_layer).items():
    if name in mine_by_name:
        part.set_weights(mine_by_name[name].get_weights())
theirs = ops.convert_to_numpy(package_layer(x, attention_mask=words))
if np.allclose(ops.convert_to_numpy(mine({"x": x, "words": words})), theirs, atol=1e-5):
    print("Right. It is the package's layer with norm_first=True.")
else:
    print("Not yet. It is x + f(norm(x)), once for the attention, once for the feed-forward.")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# def build_pre_norm_layer(name):
#     x = keras.Input((None, D), name="x")
#     words = keras.Input((None,), dtype="bool", name="words")
#     normed = norm("self_norm")(x)
#     y = x + heads("self_attention")(normed, normed, attention_mask=words)
#     z = y + feed_forward(norm("feed_norm")(y))
#     return keras.Model({"x": x, "words": words}, z, name=name)
# ```
#
# The straight path lets the gradient reach the first layer unchanged, so deep stacks train without
# a warm-up; a last norm follows the whole stack.
#
# </details>

# %% [markdown]
# ### One decoder layer
#
# A decoder layer has two of the three attentions: its own words, under the causal mask, and the
# encoder's output. The third is in the encoder layers.

# %%
plotting.diagram("decoder-layer")

# %% [markdown]
# Both masks come in from outside, and each belongs to what is *read*: `earlier` to the English
# words, `words` to the Spanish ones. The layer also returns the weights of its cross-attention.


# %%
def build_decoder_layer(name):
    y = keras.Input((None, D), name="y")  # (B, T, D)
    memory = keras.Input((None, D), name="memory")  # (B, S, D)
    earlier = keras.Input((None, None), dtype="bool", name="earlier")  # (B, T, T)
    words = keras.Input((None, None), dtype="bool", name="words")  # (B, 1, S)
    read = heads("self_attention")(y, y, attention_mask=earlier)
    z = norm("self_norm")(y + read)
    options = {"attention_mask": words, "return_attention_scores": True}
    read, weights = heads("cross_attention")(z, memory, **options)
    z = norm("cross_norm")(z + read)
    z = norm("feed_norm")(z + feed_forward(z))
    inputs = {"y": y, "memory": memory, "earlier": earlier, "words": words}
    return keras.Model(inputs, [z, weights], name=name)


decoder_layer = build_decoder_layer("decoder_layer")
table(decoder_layer)

# %%
package_layer = layers.TransformerDecoderLayer(H, D // H, HIDDEN)
package_layer.build((None, None, D), (None, None, D))
for name, part in parts_of(package_layer).items():
    part.set_weights(decoder_layer.get_layer(name).get_weights())

y = rng.normal(size=(2, 5, D)).astype("float32")
masks = {"earlier": np.tril(np.ones((2, 5, 5), bool)), "words": words[:, None]}
ours, cross = decoder_layer({"y": y, "memory": x, **masks})
theirs = package_layer(y, x, attention_mask=words)
difference = np.abs(ops.convert_to_numpy(ours) - ops.convert_to_numpy(theirs)).max()
np.testing.assert_allclose(difference, 0, atol=1e-5)
print("largest difference:", difference)

# %% [markdown]
# ### Encoder, decoder, model
#
# The encoder is the embedding and N layers. Its mask is computed once, from the ids: 0 is padding.

# %%
encoder_layers = [build_encoder_layer(f"encoder_layer_{n + 1}") for n in range(N)]
x = placed
for layer in encoder_layers:
    x = layer({"x": x, "words": padding_mask(context)})
encoder = keras.Model(context, x, name="encoder")
table(encoder)

# %% [markdown]
# The decoder counts its positions; position $s$ may be read from position $t$ if $s \le t$. The
# logits are the products of its output with every row of the English table.

# %%
target = keras.Input((None,), dtype="int32", name="target")  # ids (B, T)
memory = keras.Input((None, D), name="memory")  # (B, S, D)
words = keras.Input((None, None), dtype="bool", name="words")  # (B, 1, S)
place = ops.cumsum(ops.ones_like(target), axis=1)  # 1, 2, 3, …
earlier = ops.less_equal(place[:, None, :], place[:, :, None])  # (B, T, T)

decoder_layers = [build_decoder_layer(f"decoder_layer_{n + 1}") for n in range(N)]
y = add_positions(embed_english(target) * D**0.5)
for layer in decoder_layers:
    y, weights = layer({"y": y, "memory": memory, "earlier": earlier, "words": words})
outputs = {"logits": embed_english(y, reverse=True), "weights": weights}
decoder = keras.Model({"target": target, "memory": memory, "words": words}, outputs, name="decoder")
for name, each in (("earlier", earlier), ("y", y), ("logits", outputs["logits"])):
    print(f"{name:9}{each.shape}")

# %% [markdown]
# The model joins them. The mask of the Spanish words goes to the decoder, too: in the summary,
# `not_equal` compares the ids with 0, and `get_item` gives the mask its axis for the English words.

# %%
inputs = {
    "context": keras.Input((None,), dtype="int32", name="context"),
    "target": keras.Input((None,), dtype="int32", name="target"),
}
words = padding_mask(inputs["context"])[:, None]
outputs = decoder(
    {"target": inputs["target"], "memory": encoder(inputs["context"]), "words": words}
)
by_hand = keras.Model(inputs, outputs["logits"], name="transformer")
by_hand.summary(line_length=90)

# %% [markdown]
# `keras.utils.plot_model` draws the same as a picture. It needs the program Graphviz and the package
# pydot, which Colab has and many computers have not; the diagram at the head of this section and
# `summary()` work everywhere.

# %%
from IPython.display import display

if importlib.util.find_spec("pydot") and shutil.which("dot"):
    shown = {"show_shapes": True, "show_layer_names": True, "dpi": 70}
    display(keras.utils.plot_model(by_hand, "model.png", **shown))
else:
    print("Graphviz or pydot is missing here: nothing is drawn.")

# %% [markdown]
# ### Equal to `models.build_transformer`
#
# The package builds the same model in one line. Copy every weight from ours to its counterpart, and
# compare the logits of eight sentence pairs.


# %%
def counterparts(model):
    """Yield each part that we made with weights, and its counterpart in the package's model."""
    halves = [model.get_layer(half).layers for half in ("encoder", "decoder")]
    theirs = {layer.name: layer for half in halves for layer in half}
    yield embed_spanish, theirs["context_embedding"]
    yield embed_english, theirs["target_embedding"]
    for ours in (*encoder_layers, *decoder_layers):
        for name, part in parts_of(theirs[ours.name]).items():
            yield ours.get_layer(name), part


sizes = {"units": D, "num_layers": N, "num_heads": H, "feed_forward_dim": HIDDEN}
keras.utils.set_random_seed(0)
model = models.build_transformer(len(spanish), len(english), **sizes, dropout=0.0, tied=True)

# %%
for ours, theirs in counterparts(model):
    theirs.set_weights(ours.get_weights())
batch = {
    "context": spanish.ids([pair.context for pair in train[:8]]),
    "target": english.ids([pair.target for pair in train[:8]])[:, :-1],
}
ours, theirs = (ops.convert_to_numpy(each(batch)) for each in (by_hand, model))
np.testing.assert_allclose(ours, theirs, atol=1e-5)
print("logits", ours.shape, "largest difference", np.abs(ours - theirs).max())
print(f"{by_hand.count_params():,} and {model.count_params():,} weights")

# %% [markdown]
# ## The mask of the wrong sentence
#
# The lecture quotes the decoder of a well-known Keras tutorial, in an older version:
#
# ```python
# causal_mask = self.get_causal_attention_mask(inputs)
# padding_mask = tf.cast(mask[:, tf.newaxis, :], dtype="int32")
# padding_mask = tf.minimum(padding_mask, causal_mask)
# …
# attention_output_2 = self.attention_2(
#     query=out_1, value=encoder_outputs, key=encoder_outputs, attention_mask=padding_mask
# )
# ```
#
# `mask` is that of the decoder's input. So the attention to the *Spanish* sentence gets the mask of
# the *English* one, cut by the causal mask. Our decoder takes its mask from outside: give it that
# mask, and then the right one. Both sentences are padded to seven places, since the wrong mask needs
# S = T.

# %%
context = spanish.ids(["No comimos."])
fed = english.ids(["we did not eat."])[:, :-1]
context, fed = (np.pad(each, ((0, 0), (0, 7 - each.shape[1]))) for each in (context, fed))
masks = {
    "as quoted": np.tril(np.ones((1, 7, 7), bool)) & (fed != 0)[:, None],  # (B, T, T)
    "mended": (context != 0)[:, None],  # (B, 1, S)
}
memory = ops.convert_to_numpy(encoder(context))


def decode(memory, mask):
    """Return the logits (T, V), and the weights of the last layer, (T, S)."""
    outputs = decoder({"target": fed, "memory": memory, "words": mask})
    return [ops.convert_to_numpy(outputs[name])[0] for name in ("logits", "weights")]


# %% [markdown]
# In the picture, a crossed cell is one that the mask forbids.


# %%
def cross_out(panel, allowed):
    """Mark the cells that a mask (T, S) forbids."""
    rows, columns = np.nonzero(~allowed)
    panel.scatter(columns, rows, marker="x", s=14, color="0.6", linewidths=0.8)


spanish_words = ["[START]", "no", "comimos", ".", "[END]", "padding", "padding"]
english_words = ["[START]", "we", "did", "not", "eat", ".", "padding"]
panels = plotting.plot_attention_grid(
    {name: decode(memory, mask)[1] for name, mask in masks.items()},
    spanish_words,
    english_words,
    axis_names=("English, fed", "Spanish"),
    title="Cross-attention before training, mean over heads",
)
for panel, mask in zip(panels, masks.values(), strict=True):
    cross_out(panel, np.broadcast_to(mask[0], (7, 7)))
plt.show()

# %% [markdown]
# With the quoted mask the first row sees one Spanish word, the second two, and the full stop sees
# padding. Now change what stands at the padding, and watch the logits; then change what stands at
# "comimos".

# %%
comimos = spanish.id_of("comimos")
print(f"{'':26}", *(f"{word:>8}" for word in english_words[:6]))
moved = {}
for name, mask in masks.items():
    for what, identity in (("padding", 0), ("comimos", comimos)):
        changed = np.where((context == identity)[..., None], memory + 1, memory)
        difference = np.abs(decode(changed, mask)[0] - decode(memory, mask)[0]).max(axis=-1)
        moved[name, what] = difference[:6]
        print(f"{name + ', changed ' + what:26}", *(f"{each:8.3f}" for each in difference[:6]))
np.testing.assert_allclose(moved["mended", "padding"], 0, atol=1e-6)

# %% [markdown]
# Row 1: the logits behind the full stop depend on what stands at the padding, which should mean
# nothing. Row 2: what follows "[START]" and "we" is said without the verb. In the mended decoder
# padding changes nothing, and every word may ask every Spanish word. The mask belongs to the keys:
# whoever is read brings the padding mask, and only the decoder's reading of itself is causal.
#
# Why did nobody notice? The model trains nonetheless, because the encoder moves what is needed to
# the front of the sentence. Other versions of this mistake lose the mask on the way. In Keras 3,
# `x + read` loses the *implicit* mask, and `keras.layers.MultiHeadAttention` deletes it from the
# tensors that it reads (its output has the mask of the query). So the second decoder layer finds
# none on the output of the encoder, and silently reads padding. [Errata of
# tutorials](https://github.com/keras-attention/keras_attention/blob/main/docs/errata.md) has the
# list. Here masks are explicit.
#
# **Exercise 4.** Write the test that finds such mistakes, whatever their cause: does the model say
# the same if the Spanish sentences get four more places of padding?


# %%
def ignores_padding(model, context, target):
    return None  # your answer: True or False


# %% tags=["check"]
def careless(inputs):
    """Decode without a mask."""
    memory = ops.convert_to_numpy(encoder(inputs["context"]))
    everything = np.ones((len(memory), 1, memory.shape[1]), bool)
    return decoder({"target": inputs["target"], "memory": memory, "words": everything})["logits"]


found = [ignores_padding(each, batch["context"], batch["target"]) for each in (by_hand, careless)]
if found == [True, False]:
    print("Right. It passes the model above, and catches a decoder without a mask.")
else:
    print("Not yet. Compare the logits for the context with those for a context with more zeros.")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# def ignores_padding(model, context, target):
#     longer = np.pad(context, ((0, 0), (0, 4)))
#     before, after = (
#         ops.convert_to_numpy(model({"context": each, "target": target}))
#         for each in (context, longer)
#     )
#     return bool(np.abs(before - after).max() < 1e-4)
# ```
#
# A model whose masks are right computes the same, whatever the length of the batch.
#
# </details>

# %% [markdown]
# ## Training
#
# All words of a translation are trained at once: the decoder is fed the right words, shifted by one.

# %%
plotting.diagram("teacher-forcing")

# %% [markdown]
# ### The learning rate: warm up, then fall
#
# With post-norm blocks the first steps are fragile. The learning rate rises evenly for some
# steps and then falls with the root of their number (section 5.3, equation 3). Where the length of a
# training is known, a cosine to 0 does better; that is what we use below.

# %% quick="EPOCHS = 1; STEPS = 2"
EPOCHS, STEPS = 4, 250  # batches of 64 pairs

# %%
total = EPOCHS * STEPS
warm_up = max(total // 10, 1)


def rates(schedule, steps):
    return np.arange(steps), ops.convert_to_numpy(schedule(np.arange(steps)))


papers = training.WarmUp(training.vaswani_peak(512), warm_up=4000)
ours = training.WarmUp(3e-3, warm_up=warm_up, decay_steps=total)
axes = {"xlabel": "step", "ylabel": "learning rate"}
curves = {"D = 512": rates(papers, 20_000)}
plotting.plot_curves(curves, **axes, title="The paper's: 4,000 steps of warm-up, then the root")
curves = {f"D = {D}": rates(ours, total)}
plotting.plot_curves(curves, **axes, title="Ours: warm-up, then a cosine")
plt.show()

# %% [markdown]
# ### A Transformer that translates
#
# We train the package's model, which has the views that a translator needs. No dropout, since the
# training is short.

# %%
clock = [time.perf_counter()]
watch = keras.callbacks.LambdaCallback(
    on_epoch_end=lambda epoch, logs: clock.append(time.perf_counter())
)
training.compile_for_training(model, 3e-3, warm_up=warm_up, decay_steps=total)
batches = corpora.Batches.of_pairs(train, spanish, english, shapes=2)
model.fit(
    batches.shuffled(),
    epochs=EPOCHS,
    steps_per_epoch=STEPS,
    shuffle=False,
    callbacks=[watch],
    verbose=2,
)
epoch_seconds = np.diff(clock)

# %%
languages = {"languages": ["Spanish", "English"]}
translator = Translator(model, spanish, english, languages)
score = evaluation.bleu(translator, held_out).words
print(f"BLEU on {len(held_out)} held-out sentences, normalised words: {score:.1f}")

# %% tags=["claims"]
assert score.value > 80

# %%
sentence = "¿Comieron los niños la manzana roja?"
translation = translator(sentence, max_length=20)
print(sentence, "→", translation.text)

# %% [markdown]
# The causal mask holds in the trained model: change the last English word that is fed, and no logit
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
np.testing.assert_allclose(moved[:-1], 0, atol=1e-4)

# %% [markdown]
# ### Word by word, with the model made by hand
#
# The trained weights fit the model that you built. Here is the simplest loop that translates with
# it: run the whole sentence, take the likeliest word behind the last one, write it down. What is not
# yet written is padding, which the causal mask hides.

# %%
for ours, theirs in counterparts(model):
    ours.set_weights(theirs.get_weights())

said = np.zeros((1, 20), "int32")
said[0, 0] = START
for t in range(19):
    logits = by_hand({"context": spanish.ids([sentence]), "target": said})
    said[0, t + 1] = ops.convert_to_numpy(logits)[0, t].argmax()
    if said[0, t + 1] == END:
        break
text = english.join(english.words_of(said[0]))
print(text)

# %% tags=["claims"]
assert text == translation.text

# %% [markdown]
# The loop computes every word again at each step. The translator keeps the keys and values of
# earlier words instead:

# %%
plotting.diagram("cache")

# %% [markdown]
# ## Every head of the three kinds of attention
#
# **Encoder self-attention.** Queries, keys and values all come from the Spanish sentence: each word
# reads the others to find out what it means *here*. That is self-attention: one part of a
# sample is understood by the others of the same sample. Rows ask, columns are read.

# %%
translation.plot_grid(of="encoder", by="heads", title="The Spanish sentence looks at itself")
plt.show()

# %% [markdown]
# **Decoder self-attention**, masked: each position reads the English words up to itself. Rows are
# the words that were said, columns those that were fed. A crossed cell is forbidden by the causal
# mask. A white cell without a cross was allowed, and got no weight.

# %%
panels = translation.plot_grid(
    of="decoder", by="heads", title="The translation looks at what it has said"
)
allowed = ops.convert_to_numpy(causal_mask(len(translation.target_tokens)))[0]
for panel in panels:
    cross_out(panel, allowed)
    if panel.get_xlabel():
        panel.set_xlabel("English, fed", fontsize=9)
    if panel.get_ylabel():
        panel.set_ylabel("English, said", fontsize=9)
plt.show()

# %% [markdown]
# **Cross-attention**, "encoder-decoder attention": queries from the English side, keys and values
# from the encoder's output. This is the attention of the RNN in the chapter before.

# %%
translation.plot_grid(of="cross", by="heads", title="The translation looks at the Spanish sentence")
plt.show()

# %% [markdown]
# Heads differ, and nobody told them to: some are nearly one-hot, some spread. Be careful with what
# they "mean": after one layer, what stands at a place is no longer that word alone. A heat map of
# the mean over heads (`translation.plot()`) is less of an alignment here than in an RNN; chapter 9
# measures such things.
#
# ## "Annotate the Transformer!"
#
# For each numbered part of the lecture's figure: which tensor is what, with S Spanish and T English
# positions.

# %%
came_from = {
    "encoder": ("Spanish", "Spanish"),
    "decoder": ("English so far", "English so far"),
    "cross": ("English so far", "encoder's output"),
}
print(f"S = {len(translation.context_tokens)}, T = {len(translation.target_tokens)}\n")
print(f"{'attention':33}{'queries':18}{'keys and values':20}weights (H, …)")
for kind, weights in translation.weights.items():
    asks, is_asked = came_from[kind.split("_")[0]]
    for n, each in enumerate(weights, start=1):
        print(f"{kind + f', layer {n}':33}{asks:18}{is_asked:20}{each.shape}")

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
# ## A real sentence
#
# The package comes with a Transformer that was trained on real sentences, the corpus of the
# TensorFlow tutorials. It is deeper and wider than ours, has its norms before the sublayers, and
# reads and writes pieces of words. Put a sentence of your own in the place of this one.

# %%
shipped = Translator.load("spa-eng")
sentence = "Mi hermana mayor compró una casa blanca cerca del mar."

real_seconds = []
for _ in range(2):  # the first call compiles
    start = time.perf_counter()
    real = shipped(sentence)
    real_seconds.append(time.perf_counter() - start)
print(f"{shipped.model.count_params():,} weights")
print(sentence, "→", real.text)

# %%
real.plot(title="Cross-attention, mean over heads and layers")
plt.show()

# %% [markdown]
# The map mixes heads that align with heads that do other work. `plot_alignment` asks the model
# itself where each word comes from: which English words does it no longer expect when a Spanish
# word is left out, and which Spanish words carry the logit of the English one? Both maps side by
# side, each with the number of words over which its rows are spread. The row of `[END]` has no
# colour on the right: it comes from no word. Chapter 9 says how this is found, and how often it
# errs.

# %%
real.plot_alignment(title="Where it looks, and where the words come from")
plt.show()

# %% [markdown]
# The lecture draws this matrix the other way round, with a column for each English word:
# `orientation="context_rows"` does that. `real.view()` shows every head of every layer on an
# interactive page.
#
# ## What runs where
#
# The cells of this chapter are the same on a CPU, a GPU and a TPU. The backend takes an accelerator
# if it finds one; a TPU needs JAX, as the second cell says. XLA compiles a whole translation, and on
# a GPU, a TPU or JAX also a training step, into one program for each shape of batch; compiling is
# paid once.

# %%
print(f"backend {keras.backend.backend()}, devices {keras.distribution.list_devices()}")
print(
    f"training, batches of 64: first epoch {epoch_seconds[0]:.0f} s with compiling, "
    f"last {epoch_seconds[-1]:.0f} s, {1000 * epoch_seconds[-1] / STEPS:.0f} ms a step"
)
print(
    f"translating with spa-eng: {real_seconds[0]:.1f} s with compiling, "
    f"then {1000 * real_seconds[1]:.0f} ms a sentence, attention included"
)

# %% [markdown]
# | where | what was measured |
# | --- | --- |
# | CPU, two busy cores | the times above and at the head of the chapter |
# | GPU | one NVIDIA H200 with JAX trains the package's Transformer of 4 + 4 layers of width 128 in 11 ms a step of 128 pairs of 16 tokens, and in 21 ms a step of 1,024 pairs of 32 tokens; an earlier version decoded 256 sentences of 50 tokens in 25 ms. This chapter itself was never run on one |
# | TPU | no run. Google's compiler for TPUs, on two busy CPU cores, compiled the same Transformer for four chips of a v5e: the training step in 44 s, decoding in 10 s. Neither program calls the host or has a shape that depends on values |
#
# The figures of the GPU are those of chapter 10, those of the TPU of [TPUs, on a machine without
# one](https://github.com/keras-attention/keras_attention/blob/main/docs/tpu.md). A model as small as
# this one gains little from an accelerator. What to expect of larger ones stands in
# [Speed](https://github.com/keras-attention/keras_attention/blob/main/docs/speed.md), and
# [chapter 10](10_on_a_tpu.ipynb) shows what compiles and what does not.
#
# ## The gradient of a shared matrix
#
# **Exercise 5.** $W_Q$ is used at every position. *What is the gradient of the loss with respect to
# it?* Here are five positions of width 4, one head, and a loss whose gradient with respect to the
# read is $G$. Compute $\partial L / \partial W_Q$ from `x`, `w_q`, `w_k`, `w_v` and `g`.

# %%
places, d = 5, 4
x, g = rng.normal(size=(2, places, d))
w_q, w_k, w_v = rng.normal(size=(3, d, d))


def loss_of(w_q):
    weights = softmax((x @ w_q) @ (x @ w_k).T / np.sqrt(d))
    return np.sum(g * (weights @ (x @ w_v)))


# %%
gradient = None  # your answer, of shape (d, d)

# %% tags=["check"]
numeric = np.zeros((d, d))
for entry in np.ndindex(d, d):
    step = np.zeros((d, d))
    step[entry] = 1e-6
    numeric[entry] = (loss_of(w_q + step) - loss_of(w_q - step)) / 2e-6
if np.shape(gradient) == (d, d) and np.allclose(gradient, numeric, atol=1e-6):
    print("Right. Finite differences agree to", f"{np.abs(gradient - numeric).max():.0e}.")
else:
    print("Not yet. Go back step by step: the read, the weights, the softmax, the scores, Q.")

# %% [markdown]
# <details><summary>Answer</summary>
#
# A weight that is used T times collects T contributions, their **sum**:
#
# $$\frac{\partial L}{\partial W_Q} = \sum_t \frac{\partial L}{\partial q_t}
# \frac{\partial q_t}{\partial W_Q} = \sum_t x_t \left(\frac{\partial L}{\partial q_t}\right)^\top
# = X^\top \frac{\partial L}{\partial Q}.$$
#
# With $A$ the weights and $G = \partial L / \partial \mathrm{read}$, the chain is
# $\partial L / \partial A = G V^\top$; through the softmax of each row,
# $\partial L / \partial S = A \odot (\partial L/\partial A - r)$ with $r$ the row sums of
# $A \odot \partial L / \partial A$; and $\partial L / \partial Q = (\partial L / \partial S) K /
# \sqrt d$.
#
# ```python
# a = softmax((x @ w_q) @ (x @ w_k).T / np.sqrt(d))
# d_a = g @ (x @ w_v).T
# d_s = a * (d_a - np.sum(a * d_a, axis=-1, keepdims=True))
# d_q = d_s @ (x @ w_k) / np.sqrt(d)
# contributions = np.einsum("ti,tj->tij", x, d_q)  # one for each position
# gradient = contributions.sum(axis=0)
# print("sizes of the contributions:", np.linalg.norm(contributions, axis=(1, 2)).round(2))
# ```
#
# No position's contribution is the whole gradient, and some are far larger than others.
#
# </details>

# %% [markdown]
# Next: [5 · Soft, hard, local, location](05_soft_hard_local_location.ipynb). In the documentation:
# [Which attention should I use?](https://github.com/keras-attention/keras_attention/blob/main/docs/choosing.md)
# and
# [Why is my heat map wrong?](https://github.com/keras-attention/keras_attention/blob/main/docs/heat-maps.md)

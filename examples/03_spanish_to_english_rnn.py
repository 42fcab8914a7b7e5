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
# # 3 · Spanish to English with an RNN
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/keras-attention/keras_attention/blob/main/examples/03_spanish_to_english_rnn.ipynb)
#
# A recurrent translator that looks back at the Spanish sentence before every English word: from
# one equation to a picture of where it looked, for a sentence of your own. *Runs in about three
# minutes on a CPU; no accelerator needed.*

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
    metrics,
    models,
    plotting,
    training,
)
from keras_attention.text import START, UNKNOWN, normalize
from keras_attention.translation import evaluation

QUICK = bool(os.environ.get("KERAS_ATTENTION_QUICK"))  # set by the tests: fewer steps
keras.utils.set_random_seed(0)

# %% [markdown]
# ## What the paper says
#
# A translator without attention squeezes the source sentence into one vector and writes the
# translation from that. Bahdanau, Cho and Bengio (2015), *Neural machine translation by jointly
# learning to align and translate*, suspect that this vector is the bottleneck: it has to hold
# fifty words as well as five. They keep a vector for **every** source word, its *annotation*, from
# an RNN that reads the sentence in both directions, and let the decoder look at them again before
# each word (section 3.1). Where to look is not given by anybody. A small network scores each
# annotation for the word that is about to be written, and it is trained along with everything
# else, by the gradient of the translation's loss.
#
# ## The equation
#
# The score is a network with one hidden layer (appendix A.1.2), the weights are its softmax over
# the source, and what is read is the weighted sum of the annotations (equations 5 and 6):
#
# $$s_{tj} = v^\top \tanh(W q_t + U h_j), \qquad
# \alpha_{tj} = \frac{\exp s_{tj}}{\sum_i \exp s_{ti}}, \qquad
# c_t = \sum_j \alpha_{tj} h_j$$
#
# | letter | what it is | shape in a batch |
# | --- | --- | --- |
# | $q_t$ | query: the decoder's state at target word $t$; the paper's $s_{i-1}$ | (B, T, D) |
# | $h_j$ | annotation of source word $j$: key *and* value | (B, S, D) |
# | $W$, $U$, $v$ | the network, learned | (D, units), (D, units), (units,) |
# | $s_{tj}$ | scores, before the softmax | (B, T, S) |
# | $\alpha_{tj}$ | weights, after it: each row sums to 1 | (B, T, S) |
# | $c_t$ | the read | (B, T, D) |
#
# $U h_j$ does not depend on $t$, so it is computed once for a sentence.
#
# ## Ten lines that implement it


# %%
def additive_attention(query, annotations, w, u, v, mask):
    """(B, T, D), (B, S, D), a mask (B, S) → the read (B, T, D) and the weights (B, T, S)."""
    asked = (query @ w)[:, :, None]  # (B, T, 1, units)
    offered = (annotations @ u)[:, None]  # (B, 1, S, units)
    scores = np.tanh(asked + offered) @ v  # (B, T, S)
    scores = np.where(mask[:, None], scores, -np.inf)  # nobody looks at padding
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights @ annotations, weights


# %% [markdown]
# ## The same by the package
#
# `layers.AdditiveAttention` has the same three weights. (`keras.layers.AdditiveAttention` is
# another thing: it adds query and key as they are, without $W$ and $U$.)


# %%
def kernels(attention):
    """Return W, U and v of a layer that scores additively, as NumPy."""
    score = attention.score
    return [ops.convert_to_numpy(x) for x in (score.query_kernel, score.key_kernel, score.v)]


rng = np.random.default_rng(0)
query = rng.normal(size=(2, 3, 8)).astype("float32")
annotations = rng.normal(size=(2, 5, 8)).astype("float32")
mask = np.array([[True] * 5, [True] * 3 + [False] * 2])  # the second sentence has three words

attention = layers.AdditiveAttention(units=8)
read, weights = attention(query, annotations, attention_mask=mask, return_attention_scores=True)

by_hand = additive_attention(query, annotations, *kernels(attention), mask)
np.testing.assert_allclose(by_hand[0], ops.convert_to_numpy(read), atol=1e-5)
np.testing.assert_allclose(by_hand[1], ops.convert_to_numpy(weights), atol=1e-5)
print("weights of the second sentence, its padding last:")
print(by_hand[1][1].round(3))

# %% [markdown]
# ## The corpus
#
# `"bundled"` is a small grammar that writes Spanish and English sentences side by side: people,
# animals, food and things, in the present and the past. It needs no download, and a small model
# learns it in a minute. `"spa-eng"` is the corpus of the TensorFlow tutorial, 118,964 real sentence
# pairs, downloaded once. Change the line and everything below runs with it; the model is then
# as wide as the tutorial's, 256 units and 5,000 words a language, and trains for 4,000 batches
# instead of 1,200: each of the two models takes ten minutes and more on a CPU, so a GPU is welcome.
# BLEU will be far lower there, and the pictures less tidy: real sentences have more than one
# translation.
#
# Words are normalised as in the tutorial: lower case, no accents, punctuation apart. The split puts
# pairs that share a sentence on the same side, so that no held-out sentence was seen in training.

# %%
CORPUS = "bundled"  # or "spa-eng"

SIZES = {
    "bundled": {"units": 64, "vocabulary": 1000, "steps": 200, "epochs": 6, "rate": 3e-3},
    "spa-eng": {"units": 256, "vocabulary": 5000, "steps": 100, "epochs": 40, "rate": 1e-3},
}[CORPUS]
if QUICK:
    SIZES |= {"units": 16, "steps": 2, "epochs": 1}

pairs = Grammar.load().generate(1000) if QUICK else corpora.load(CORPUS)
train, _, test = corpora.split(pairs)
held_out = test[: 10 if QUICK else 600]
spanish = Vocabulary.learn((pair.context for pair in train), SIZES["vocabulary"])
english = Vocabulary.learn((pair.target for pair in train), SIZES["vocabulary"])
batches = corpora.Batches.of_pairs(train, spanish, english, shapes=1 if QUICK else 3)

print(f"{len(train):,} pairs to learn from, {len(held_out):,} held out for the scores")
print(f"{len(spanish):,} Spanish and {len(english):,} English words")
print(train[0].context, "→", train[0].target)

# %% [markdown]
# ## The model, with and without attention
#
# `models.build_rnn_attention` is the network of the TensorFlow tutorial *Neural machine translation
# with attention*:
#
# | part | shape |
# | --- | --- |
# | Spanish ids → embedding → GRU in both directions, added: the annotations $h$ | (B, S, D) |
# | English ids so far → embedding → GRU: the queries $q$ | (B, T, D) |
# | attention of $q$ over $h$: the read $c$ | (B, T, D) |
# | LayerNorm($q + c$) → dense: logits for the next word | (B, T, V) |
#
# Two things differ from the paper. The query is the state *after* the decoder has read the word
# before (as in Luong, Pham and Manning, 2015), and what was read goes to the logits, not back into
# the GRU; so all T queries can be computed before anything is looked up. (The paper's order, with
# the attention inside the decoder's loop, is `models.build_bilstm_attention`.) And the tutorial
# scores with one head of scaled dot products, which is this function's default; we ask for the
# additive score.
#
# Beside it we train the same network with `attention="last"`: whatever is asked, it reads the last
# annotation, one vector for the whole sentence. That is the bottleneck.


# %%
def trained(attention, **options):
    """Build and train a translator; return it, and the history of its training."""
    keras.utils.set_random_seed(0)
    model = models.build_rnn_attention(
        len(spanish), len(english), SIZES["units"], attention, **options
    )
    training.compile_for_training(model, SIZES["rate"], jit_compile=False if QUICK else None)
    model.run_eagerly = QUICK
    began = time.perf_counter()
    history = model.fit(
        batches.shuffled(),
        steps_per_epoch=SIZES["steps"],
        epochs=SIZES["epochs"],
        shuffle=False,
        verbose=0,
    )
    print(f"{attention}: {model.count_params():,} weights, {time.perf_counter() - began:.0f} s")
    return Translator(model, spanish, english), history


translator, history = trained("global", score="additive")
bottleneck, bottleneck_history = trained("last")

# %%
curves = {}
for name, each in (("attention", history), ("one vector", bottleneck_history)):
    loss = each.history["masked_loss"]
    curves[name] = (np.arange(1, len(loss) + 1), loss)
plotting.plot_curves(
    curves,
    xlabel="epoch",
    ylabel="nats a word",
    title="Loss in training: with attention it falls further",
)
plt.show()

# %% [markdown]
# ## BLEU on held-out sentences
#
# BLEU counts which sequences of one to four words a translation shares with the reference, from 0
# to 100. It is taken on normalised words, since the model writes no capitals.

# %%
sources, references = ([pair[side] for pair in held_out] for side in (0, 1))


def translated(translator, sources, **options):
    """Translate sentences, and do not ask where the model looked."""
    return translator(sources, attention=False, **options)


def bleu(translations, references):
    """BLEU of translations on normalised words."""
    texts = [normalize(each.text) for each in translations]
    return metrics.bleu(texts, [normalize(each) for each in references], normalized=True).value


greedy, squeezed = translated(translator, sources), translated(bottleneck, sources)
scores = {"with attention": bleu(greedy, references), "one vector": bleu(squeezed, references)}
for name, score in scores.items():
    print(f"{name:16}BLEU {score:5.1f}")
if CORPUS == "bundled" and not QUICK:
    assert scores["with attention"] > scores["one vector"] + 5

# %%
curves = {}
for name, found in (("with attention", greedy), ("one vector", squeezed)):
    texts = [each.text for each in found]
    ranges, counts, curves[name] = evaluation.bleu_by_length(texts, held_out)
plotting.plot_by_length(
    ranges,
    curves,
    counts,
    title="BLEU by the length of the sentence: one vector is not enough for long ones",
)
plt.show()

# %% [markdown]
# That is figure 2 of the paper in miniature, and the answer to a question of every course: *what is
# the advantage of attention in an encoder-decoder?* Not that short sentences get better; that
# the quality does not fall as the sentence grows, since nothing has to fit into one vector, and
# the gradient reaches each source word in one step instead of through the whole sentence.
#
# ## Your own sentence
#
# Edit the sentence and run the cells down to the interactive view again.

# %%
sentence = "¿Comieron los niños la manzana roja?"

translation = translator(sentence)
print(sentence, "→", translation.text)

# %%
translation.plot(title="Where the model looked")
plt.show()

# %% [markdown]
# A row is an English word, as it was written; a column is a Spanish one, as you wrote it. Each row
# sums to 1. Spanish puts the adjective after the noun, and the dark cells change their order there
# as well: that is what no rule about positions would give. A word with no counterpart, such as
# *did*, has to look somewhere, and finds what it needs at the verb or at the question marks.
#
# ## Our ten lines, in the trained model
#
# Take the model apart: its encoder makes the annotations, the decoder's GRU makes the queries, and
# the ten lines from above, with the kernels that were learned, must give the same picture.


# %%
def queries_and_annotations(translation):
    """Run encoder and decoder up to the attention: (1, T, D) and (1, S, D)."""
    encoder, decoder = (translator.model.get_layer(name) for name in ("encoder", "decoder"))
    encoded = encoder(spanish.ids([translation.source]))
    written = [english.id_of(word) for word in translation.target_tokens]
    fed = np.array([[START, *written[:-1]]])  # the word before each word
    embedded = decoder.get_layer("target_embedding")(fed)
    queries, _ = decoder.get_layer("target_rnn")(embedded, initial_state=encoded["state"])
    return ops.convert_to_numpy(queries), ops.convert_to_numpy(encoded["memory"]["values"])


trained_kernels = kernels(
    translator.model.get_layer("decoder").get_layer("cross_attention").attention
)
queries, annotations = queries_and_annotations(translation)
everything = np.ones((1, annotations.shape[1]), "bool")
_, weights = additive_attention(queries, annotations, *trained_kernels, everything)
np.testing.assert_allclose(weights[0], translation.attention, atol=1e-4)
print("queries", queries.shape, "annotations", annotations.shape, "weights", weights.shape)
print("largest difference from the model:", np.abs(weights[0] - translation.attention).max())

# %% [markdown]
# ## The interactive view
#
# Point at a word to see its weights. The page loads nothing from elsewhere;
# `translation.view("view.html")` writes it to a file.

# %%
translation.view()

# %% [markdown]
# ## A word that the model does not know
#
# *Paella* is not in the vocabulary, so it reaches the model as `[UNK]`. The picture marks the word.

# %%
unknown = translator("¿Comieron los niños la paella roja?")
print(unknown.source, "→", unknown.text)
print("not known:", [unknown.context_tokens[place] for place in unknown.unknown])
seen = int(np.sum(batches.context_ids == UNKNOWN))
print(f"[UNK] stood {seen:,} times in the training sentences")
unknown.plot(title="One word is not in the vocabulary")
plt.show()

# %% [markdown]
# The model still has to write *something*: an attention always reads, and a decoder always
# names a word. On the bundled corpus the vocabulary holds every word of the grammar, so `[UNK]`
# never occurred in training, and its embedding is what chance made of it; whatever noun comes out
# is a guess from the words around. With a corpus whose vocabulary is cut off, `[UNK]` does occur,
# and a model learns to answer `[UNK]` with `[UNK]`; the weights then say which source word one
# would have to look up. Pieces of words (`WordPieces` in place of `Vocabulary`) avoid the matter:
# every word is made of known pieces.
#
# ## Greedy or beam?
#
# Greedy decoding takes the likeliest word at each step and never looks back. Beam search follows
# the W likeliest beginnings at once, and so finds sentences whose first word was not the
# likeliest one. The score of a candidate is its log-probability over a penalty for its length.

# %%
for candidate in translator(sentence, beam=4, n_best=4).candidates:
    print(f"{candidate.log_probability:8.3f}  {candidate.text}")

# %%
some = slice(200)
beam = translated(bottleneck, sources[some], beam=4, length_penalty=0.0)
likely = [[each.candidates[0].log_probability for each in t] for t in (squeezed[some], beam)]
gains = np.subtract(likely[1], likely[0])
print(f"of {len(gains)} sentences: beam search found a likelier one for {np.sum(gains > 1e-3)}")
best = int(gains.argmax())
for name, each in (("greedy", squeezed[some]), ("beam", beam)):
    print(f"{name:8}BLEU {bleu(each, references[some]):5.1f}   {each[best].text}")
print(f"{'':21}from: {sources[best]}")

# %% [markdown]
# The first list is the translator with attention, the second cell the one with a single vector, and
# its last lines are the sentence for which the search gained most. How much a beam matters depends
# on how sure a model is: where each step has one clear winner, as in the first list, greedy finds
# the same sentence at a fraction of the cost. On real sentences a beam is worth more: the README's
# Transformer gains 1.7 points of BLEU on spa-eng by a beam of 4.
#
# ## Exercise 1: why does the scorer get both?
#
# In the lecture the input of the scorer is $[s_{t-1}; h_{t'}]$, the decoder's state beside the
# annotation. *Why both?* Predict what the picture looks like if the query is left out,
# and then look.

# %% [markdown]
# **Answer.** The annotation says what there is, the query says what is wanted *now*. Without the
# query the scores depend on $j$ alone: all rows of the matrix are the same, vertical stripes, and
# each English word reads the same mixture. In our ten lines that is $W = 0$.

# %%
w, u, v = trained_kernels
_, unasked = additive_attention(queries, annotations, np.zeros_like(w), u, v, everything)
assert np.ptp(unasked[0], axis=0).max() < 1e-6

figure, panels = plt.subplots(1, 2, figsize=(9, 5), layout="constrained")
for panel, each, title in zip(
    panels, (weights[0], unasked[0]), ("with the query", "without the query"), strict=True
):
    plotting.plot_attention(
        each,
        translation.context_tokens,
        translation.target_tokens,
        title=title,
        vmax=1,
        ax=panel,
    )
plt.show()

# %% [markdown]
# ## Exercise 2: the softmax over time
#
# The lecture computes the scores with a layer `Dense(1)`, of shape (B, S, 1) for one query, and
# warns of a "special" softmax. *What does `Dense(1, activation="softmax")` return?*

# %% [markdown]
# **Answer.** Ones. A softmax runs over the last axis, and that has a single number. The sum must run
# over the source words, axis 1. The bias of that layer adds the same number to all scores of a
# query, so it changes no weight, and its gradient is 0.

# %%


def softmax(scores, axis):
    shares = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return shares / shares.sum(axis=axis, keepdims=True)


scores = rng.normal(size=(1, 4, 1))  # (B, S, 1)
print("last axis:", softmax(scores, axis=-1)[0, :, 0])
print("axis 1:   ", softmax(scores, axis=1)[0, :, 0].round(3))
np.testing.assert_allclose(softmax(scores, axis=1), softmax(scores + 7.0, axis=1))

# %% [markdown]
# Next: [4 · The Transformer: three kinds of attention, every head](04_transformer.ipynb), which
# leaves the recurrence out. In the documentation:
# [Which attention should I use?](https://github.com/keras-attention/keras_attention/blob/main/docs/choosing.md)
# and
# [Why is my heat map wrong?](https://github.com/keras-attention/keras_attention/blob/main/docs/heat-maps.md)

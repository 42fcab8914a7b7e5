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
# A recurrent translator that looks back at the Spanish sentence before every English word. You
# build it part by part with the functional API of Keras, train it, see where it looks while it
# learns, and then translate sentences of your own with one that was trained on real sentences.
# *Runs in about four minutes on a CPU; no accelerator needed.*

# %% tags=["install"]
# The text of this cell comes from install.py.

# %%
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

from keras_attention import Translator, corpora, layers, metrics, models, plotting, runs, training
from keras_attention.text import START, Vocabulary, WordPieces, normalize
from keras_attention.translation import evaluation

keras.utils.set_random_seed(0)

# %% [markdown]
# ## What the paper says
#
# An encoder-decoder without attention reads the source sentence, keeps its last state and writes
# the translation from that one vector.

# %%
plotting.diagram("one-vector")

# %% [markdown]
# Bahdanau, Cho and Bengio (2015), *Neural machine translation by jointly learning to align and
# translate*, suspect that this vector is the bottleneck: it has to hold fifty words as well as
# five. They keep a vector for **every** source word, its *annotation*, from an RNN that reads the
# sentence in both directions. The decoder looks at all of them again before each word
# (section 3.1). Nobody tells it where to look. A small network scores each annotation for the
# word that comes next, and the gradient of the translation's loss trains this network with the
# rest.

# %%
plotting.diagram("a-memory")

# %% [markdown]
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
# | $W$, $U$, $v$ | the network, learned | (D, units), (D, units), (units,); $Wq$ is `q @ W` |
# | $s_{tj}$ | scores, before the softmax | (B, T, S) |
# | $\alpha_{tj}$ | weights, after it: each row sums to 1 | (B, T, S) |
# | $c_t$ | the read | (B, T, D) |
#
# $U h_j$ does not depend on $t$, so it is computed once for a sentence.

# %%
plotting.diagram("additive-score")

# %% [markdown]
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
# ## The sentences
#
# This cell holds the settings of the training, and one of them decides which sentences the model
# learns from:
#
# - `"bundled"`: a small grammar that writes Spanish and English side by side: people, animals, food
#   and things, in the present and the past. It needs no network, a small model learns it in a
#   minute, and the grammar *knows* which word comes from which.
# - `"spa-eng"`: the 118,964 real pairs of the TensorFlow tutorial, downloaded once. Everything
#   below runs with them, in pieces of words and with the tutorial's 256 units. Each of the four
#   models then takes ten minutes and more on a CPU, so choose a GPU.
#
# Real sentences come in any case: the second half of the chapter loads a translator of the same
# build that was trained on them.

# %% quick="PAIRS, UNITS, STEPS, EPOCHS = 600, 16, 1, 2"
CORPUS = "bundled"  # or "spa-eng", where there is a network

PAIRS, KIND, SHAPES = 30_000, Vocabulary, 1  # words; all sentences padded to one shape
UNITS, STEPS, EPOCHS, RATE = 64, 100, 8, 3e-3
if CORPUS == "spa-eng":
    KIND, SHAPES = WordPieces, 4  # pieces of words spell every word
    UNITS, STEPS, EPOCHS, RATE = 256, 200, 20, 1e-3

# %% [markdown]
# The split puts pairs that share a sentence on the same side, so that no held-out sentence was seen
# in training. `Vocabulary` normalises words as the tutorial does: lower case, no accents,
# punctuation apart.

# %%
is_real = CORPUS == "spa-eng"
pairs = corpora.load(CORPUS) if is_real else corpora.Grammar.load().generate(PAIRS)
train, validation, test = corpora.split(pairs)
held_out = test[:300]
gold = corpora.aligned([*validation, *test]) if is_real else held_out[:100]  # with gold links

spanish = KIND.learn((pair.context for pair in train), 5000)
english = KIND.learn((pair.target for pair in train), 5000)
print(f"{len(train):,} pairs to learn from, {len(held_out):,} held out for the scores")
print(f"{len(spanish):,} Spanish and {len(english):,} English words")
for pair in train[:3]:
    print(pair.context, "→", pair.target)

# %% [markdown]
# ## Part by part
#
# From here to `keras.Model` the network of the TensorFlow tutorial *Neural machine translation with
# attention* is put together in Keras' functional API: an `Input` is a tensor without numbers, each
# layer turns tensors into tensors, and `keras.Model` is what lies between two of them.
#
# ### Words to ids, ids to vectors
#
# A sentence becomes ids, framed by `[START]` (2) and `[END]` (3); shorter sentences are filled up
# with 0, the padding.

# %%
ids = spanish.ids(["Los niños comen pan.", "¿Comieron los niños la manzana roja?"])
print(ids)


# %% [markdown]
# An embedding is a table with a row for each word. In the lecture a word is a *one-hot* vector, 1
# at its own place and 0 elsewhere; the embedding is that vector times a matrix, without the
# multiplication:

# %%
embedding = keras.layers.Embedding(len(spanish), UNITS)
vectors = embedding(ids)
one_hot = ops.one_hot(ids, len(spanish))
by_product = one_hot @ embedding.get_weights()[0]
np.testing.assert_allclose(vectors, by_product, atol=1e-6)
print("one-hot words", one_hot.shape, "→ vectors", vectors.shape)

# %% [markdown]
# ### Padding: implicit and explicit masks
#
# Padding is no word, and no layer may read it. Keras offers two ways. With `mask_zero=True` an
# embedding attaches a mask to the tensor that it returns, and layers hand it on: an *implicit*
# mask. Or you compute the mask from the ids and pass it to each layer that needs it: an *explicit*
# mask. Both are the same booleans. Below, an RNN reads the short sentence with its padding and
# without it; its last state must not differ.

# %%
masking = keras.layers.Embedding(len(spanish), UNITS, mask_zero=True)
reader = keras.layers.RNN(keras.layers.GRUCell(UNITS))
mask = ops.not_equal(ids, 0)
np.testing.assert_array_equal(mask, masking.compute_mask(ids))

unpadded = reader(masking(ids[:1, ids[0] != 0]))
read = {
    "implicit": reader(masking(ids)),
    "implicit, after a sum": reader(masking(ids) + 0.0),
    "explicit, after a sum": reader(masking(ids) + 0.0, mask=mask),
}
for name, states in read.items():
    print(f"{name:24}changed by padding: {ops.max(ops.abs(states[0] - unpadded[0])):.6f}")
np.testing.assert_allclose(read["explicit, after a sum"][0], unpadded[0], atol=1e-6)

# %% [markdown]
# A plain `+` loses the implicit mask, without a word of warning. (`keras.layers.Add` keeps it;
# `keras.layers.MultiHeadAttention` keeps the mask of its query only.) So this model, like the whole
# package, computes the mask once, from the ids, and passes it on by hand.
#
# ### The encoder: a GRU in both directions


# %%
def show(**tensors):
    """Print the shapes of tensors; None is a size that is not fixed."""
    for name, tensor in tensors.items():
        print(f"{name:14}{tuple(tensor.shape)}")


context = keras.Input((None,), dtype="int32", name="context")
mask = ops.not_equal(context, 0)
embedded = keras.layers.Embedding(len(spanish), UNITS, name="context_embedding")(context)
show(context=context, mask=mask, embedded=embedded)

# %% [markdown]
# An RNN that reads from left to right knows, at each word, only what came before. The paper adds a
# second one that reads from right to left, so that an annotation describes a word *with both its
# sides*. The paper concatenates the two states of a word; the tutorial adds them.
#
# (`keras.layers.RNN` over a `GRUCell` computes what `keras.layers.GRU` does, and XLA can compile it
# on every device.)

# %%
context_rnn = keras.layers.Bidirectional(
    keras.layers.RNN(keras.layers.GRUCell(UNITS), return_sequences=True),
    merge_mode="sum",
    name="context_rnn",
)
read_both_ways = context_rnn(embedded, mask=mask)
annotations = ops.where(mask[..., None], read_both_ways, 0.0)  # nothing stands at padding
show(annotations=annotations)

# %% [markdown]
# The same from its two halves: one GRU forwards, one backwards, whose outputs are turned around
# before the sum.

# %%
words = ids != 0
forward = context_rnn.forward_layer(vectors, mask=words)
backward = ops.flip(context_rnn.backward_layer(vectors, mask=words), axis=1)
together = context_rnn(vectors, mask=words)
np.testing.assert_allclose((forward + backward)[words], together[words], atol=1e-5)
show(forward=forward, backward=backward, together=together)

# %% [markdown]
# The encoder is a model of its own. It returns the memory, which is the annotations with their
# mask, and the decoder's first state. That state is zero: all that the decoder will know of the
# Spanish sentence has to pass through the attention.

# %%
memory = {"mask": mask, "values": annotations}
nothing = ops.zeros_like(annotations[:, 0])
encoder = keras.Model(context, {"memory": memory, "state": nothing}, name="encoder")

# %% [markdown]
# ### The decoder: what it is fed, and what it says
#
# In training the decoder is fed the words of the reference, whatever it would have said itself
# (*teacher forcing*); when it translates, it is fed its own words.

# %%
plotting.diagram("teacher-forcing")

# %%
batches = corpora.Batches.of_pairs(train, spanish, english, shapes=SHAPES, leave_out_long=True)
inputs, answers = next(iter(batches.shuffled()))
inputs = {name: ops.convert_to_tensor(each) for name, each in inputs.items()}
show(**inputs, answers=answers)
fed, said = (ops.convert_to_numpy(each)[0] for each in (inputs["target"], answers))
print("fed: ", [english.words[number] for number in fed if number])
print("said:", [english.words[number] for number in said if number])

# %% [markdown]
# The decoder's GRU turns the words so far into queries. Its inputs are ids and a state, so that the
# same layers serve training, with T words at once, and translation, word by word.

# %%
target = keras.Input((None,), dtype="int32", name="target")
state = keras.Input((UNITS,), name="state")
target_rnn = keras.layers.RNN(
    keras.layers.GRUCell(UNITS), return_sequences=True, return_state=True, name="target_rnn"
)
target_vectors = keras.layers.Embedding(len(english), UNITS, name="target_embedding")(target)
queries, next_state = target_rnn(target_vectors, initial_state=state)
show(target=target, queries=queries, next_state=next_state)

# %% [markdown]
# ### The attention, written out
#
# The ten lines from above, now with Keras' layers: $W$, $U$ and $v$ are `Dense` layers without
# bias. Two new axes of size 1 let every query meet every annotation in one sum. The softmax runs
# over the last axis, the source words.

# %%
asks = keras.Input((None, UNITS), name="asks")
values = keras.Input((None, UNITS), name="values")
seen = keras.Input((None,), dtype="bool", name="mask")
w, u = (keras.layers.Dense(UNITS, use_bias=False, name=name) for name in ("W", "U"))
v = keras.layers.Dense(1, use_bias=False, name="v")

asked, offered = w(asks)[:, :, None], u(values)[:, None]
scores = v(ops.tanh(asked + offered))[..., 0]
weights = ops.softmax(ops.where(seen[:, None], scores, -1e9), axis=-1)
read = ops.matmul(weights, values)
written_out = keras.Model([asks, values, seen], [read, weights], name="attention_written_out")
show(asked=asked, offered=offered, scores=scores, weights=weights, read=read)

# %% [markdown]
# The package's layer has the same three weights. (`keras.layers.AdditiveAttention` is another
# thing: it adds query and key as they are, without $W$ and $U$.) With copied weights all three
# versions give the same numbers.

# %%
rng = np.random.default_rng(0)
query = rng.normal(size=(2, 3, UNITS)).astype("float32")
offers = rng.normal(size=(2, 5, UNITS)).astype("float32")
mask = np.array([[True] * 5, [True] * 3 + [False] * 2])  # the second sentence has three words

attention = layers.AdditiveAttention(UNITS, name="attention")
attention.build(query.shape, offers.shape)
kernels = [w.get_weights()[0], u.get_weights()[0], v.get_weights()[0][:, 0]]
attention.set_weights(kernels)

by_layer = attention(query, offers, attention_mask=mask, return_attention_scores=True)
by_layers_of_keras = written_out([query, offers, mask])
by_numpy = additive_attention(query, offers, *kernels, mask)
for one, two, three in zip(by_layer, by_layers_of_keras, by_numpy, strict=True):
    np.testing.assert_allclose(one, two, atol=1e-5)
    np.testing.assert_allclose(one, three, atol=1e-5)
print("weights of the second sentence, its padding last:")
print(by_numpy[1][1].round(3))

# %% [markdown]
# ### The logits
#
# What was read is added to the query, the sum is normalised, and a dense layer gives each English
# word a number, its *logit*. `keras.Model` closes the decoder. Its outputs include the next state
# and the weights, so that translating and drawing need no second copy of the network.

# %%
read, weights = attention(queries, values, attention_mask=seen, return_attention_scores=True)
norm = keras.layers.LayerNormalization(name="norm")
logits = keras.layers.Dense(len(english), name="logits")(norm(queries + read))
show(read=read, weights=weights, logits=logits)

memory = {"mask": seen, "values": values}
decoder = keras.Model(
    {"memory": memory, "state": state, "target": target},
    {"logits": logits, "state": next_state, "weights": {"cross_attention": [weights]}},
    name="decoder",
)

# %% [markdown]
# Two things differ from the paper. The query is the state *after* the decoder has read the word
# before (as in Luong, Pham and Manning, 2015), and what was read goes to the logits, not back into
# the GRU; so all T queries can be computed before anything is looked up. (The paper's order, with
# the attention inside the decoder's loop, is `models.build_bilstm_attention`.) And the tutorial
# scores with one head of scaled dot products, where this model has the paper's network.
#
# ### The model


# %%
def joined(encoder, decoder):
    """{"context": (B, S), "target": (B, T)} → logits (B, T, V)."""
    inputs = {
        "context": keras.Input((None,), dtype="int32", name="context"),
        "target": keras.Input((None,), dtype="int32", name="target"),
    }
    encoded = encoder(inputs["context"])
    outputs = decoder({**encoded, "target": inputs["target"]})
    return keras.Model(inputs, outputs["logits"], name="translator")


model = joined(encoder, decoder)
model.summary(expand_nested=True)

# %% [markdown]
# The shapes of each part for the batch from above:

# %%
encoded = encoder(inputs["context"])
decoded = decoder({**encoded, "target": inputs["target"]})
show(
    context=inputs["context"],
    values=encoded["memory"]["values"],
    target=inputs["target"],
    weights=decoded["weights"]["cross_attention"][0],
    logits=decoded["logits"],
)

# %% [markdown]
# `models.build_rnn_attention` of the package builds this network in one call. With the weights
# copied layer by layer, its logits are the same to five decimals.

# %%
built = models.build_rnn_attention(len(spanish), len(english), UNITS, "global", "additive")
names = {"encoder": ["context_embedding", "context_rnn"]}
names["decoder"] = ["target_embedding", "target_rnn", "logits"]
for half, of_half in names.items():
    for name in of_half:
        copied = model.get_layer(half).get_layer(name).get_weights()
        built.get_layer(half).get_layer(name).set_weights(copied)
block = built.get_layer("decoder").get_layer("cross_attention")
block.attention.set_weights(attention.get_weights())
block.norm.set_weights(norm.get_weights())

difference = ops.max(ops.abs(model(inputs) - built(inputs)))
print(f"largest difference of the logits: {difference:.1e}")
np.testing.assert_allclose(model(inputs), built(inputs), atol=1e-5)

# %% [markdown]
# **Exercise 1.** How many weights does the model have? Write it as a sum, one term for each part,
# from `len(spanish)`, `len(english)` and `UNITS`. A GRU cell has three parts, two gates and the
# candidate for the new state; each has a matrix for the input, one for the state, and two biases.

# %%
D = UNITS
gru = 3 * (D * D + D * D + 2 * D)
parameters = None  # your answer

# %% tags=["check"]
if parameters == model.count_params():
    print(f"Right: {parameters:,} weights.")
else:
    print(
        "Not yet: two embeddings, three GRU cells, W, U and v, the norm's scale and shift, logits."
    )

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# embeddings = (len(spanish) + len(english)) * D
# attends = D * D + D * D + D  # W, U and v
# logits_and_norm = D * len(english) + len(english) + 2 * D
# parameters = embeddings + 3 * gru + attends + logits_and_norm
# ```
#
# The attention is the smallest part: twice D² and a vector. The vocabularies cost most as soon as
# they are large.
# </details>

# %% [markdown]
# ## Training, and what learning looks like
#
# The loss is the crossentropy of the right next word. `compile_for_training` takes Adam with the
# masked loss, so that padding counts for nothing. XLA compiles the steps where that pays, which it
# does not on a CPU under TensorFlow.
#
# The paper's title says *jointly learning to align and translate*. To see the first half, a
# callback notes after every epoch where the model looks when it is fed the gold translations. The
# grammar made both sentences together and links each English word with the Spanish word that it
# comes from. The share of the words that look elsewhere is the *alignment error rate*, 0 at best
# (notebook 9 has more on it).

# %%
translator = Translator(model, spanish, english, {"languages": corpora.LANGUAGES})


def between_words(found):
    """The weights (T, S) of a translation by words, without [START] and [END]."""
    merged = plotting.merge_tokens(found.attention, found.context_groups, found.target_groups)
    return merged[:-1, 1:-1]


# %%
sides = [pair.context for pair in gold], [pair.target for pair in gold]


class Watch(keras.callbacks.Callback):
    """Keep, after every epoch, where the model looks in the gold pairs."""

    maps = ()

    def on_epoch_end(self, epoch, logs=None):
        found = translator.forced(*sides, batch_size=len(gold))
        self.maps = [*self.maps, [between_words(each) for each in found]]


# %%
training.compile_for_training(model, RATE)
watch = Watch()
history = model.fit(
    batches.shuffled(),
    steps_per_epoch=STEPS,
    epochs=EPOCHS,
    shuffle=False,
    callbacks=[watch],
    verbose=2,
)

# %%
links = [set(pair.links) for pair in gold]
rates = []
for maps in watch.maps:
    looks = [metrics.alignment_from_weights(each) for each in maps]
    rates.append(metrics.alignment_error_rate(looks, links))
seen_batches = STEPS * np.arange(1, EPOCHS + 1)
curves = {
    "translate: loss, nats a word": (seen_batches, history.history["masked_loss"]),
    "align: error rate": (seen_batches, rates),
}
plotting.plot_curves(
    curves,
    xlabel="batches",
    ylabel="nats a word; share of the words",
    title="It learns to translate and to align together",
)
plt.show()

# %% [markdown]
# One sentence, after the first epoch and later. The gold links are outlined.

# %%
fitting = [n for n, pair in enumerate(gold) if 6 <= len(pair.context.split()) <= 8]
shown = max(fitting, key=lambda n: len({s - t for s, t in gold[n].links}))  # words change places
forced = translator.forced(gold[shown].context, gold[shown].target)
picture = {
    "context_tokens": plotting.merge_words(forced.context_tokens, forced.context_groups)[1:-1],
    "target_tokens": plotting.merge_words(forced.target_tokens, forced.target_groups)[:-1],
    "links": gold[shown].links,
    "axis_names": corpora.LANGUAGES[::-1],
}
panels = {
    f"after {STEPS * n} batches": watch.maps[n - 1][shown] for n in (1, 2, 4, 8) if n <= EPOCHS
}
plotting.plot_attention_grid(panels, **picture, columns=len(panels))
plt.show()

# %% [markdown]
# At first every row is spread over the sentence: the decoder learns English, word after word, and
# the reads are of little use. Then the weights settle on single words, and the loss falls with
# them. No label said where to look; the links serve only to judge.
#
# ### How to read a map

# %%
plotting.diagram("alignment-matrix")

# %%
sentence = "¿Comieron los niños la manzana roja?"
translation = translator(sentence)
print(sentence, "→", translation.text)
translation.plot(title="Where the model looked")
plt.show()

# %% [markdown]
# A row is an English word, as it was written; a column is a Spanish one, as you wrote it. Each row
# sums to 1. Spanish puts the adjective after the noun, and the dark cells change their order there
# as well: no rule about positions would give that. *Did* has no Spanish word of its own. It looks at
# the verb, which tells by its ending that this is the past.
#
# **Exercise 2.** Which word belongs to which row? For a sentence the decoder was fed these words,
# and the weights have one row for each. Write down the labels of the rows.

# %%
fed = ["[START]", "did", "the", "boys", "eat", "bread", "?"]
labels = None  # your answer: a list of seven strings

# %% tags=["check"]
if labels is not None and list(labels) == [*fed[1:], "[END]"]:
    print("Right: a row belongs to the word that is said, one place after the word that is fed.")
else:
    print("Not yet: which word does the decoder say when it is fed [START]?")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# labels = [*fed[1:], "[END]"]
# ```
#
# The weights of step t belong to the word that this step predicts. A map with the words that were
# fed as labels looks right and is off by one row.
# </details>

# %%
plotting.diagram("shifted-by-one")

# %% [markdown]
# ### The ten lines, in the trained model
#
# The functional model can be taken apart at any tensor: `keras.Model([target, state], queries)` is
# the decoder up to its queries, with the weights that were learned. The ten lines from above, with
# the learned kernels, must draw the same map.

# %%
to_queries = keras.Model([target, state], queries)
encoded = encoder(spanish.ids([sentence]))
fed = ops.convert_to_tensor([[START, *translation.target_ids[:-1]]])  # the word before each
asking = ops.convert_to_numpy(to_queries([fed, encoded["state"]]))
annotated = ops.convert_to_numpy(encoded["memory"]["values"])
everything = np.ones(annotated.shape[:2], "bool")  # one sentence has no padding

kernels = attention.get_weights()
_, weights = additive_attention(asking, annotated, *kernels, everything)
np.testing.assert_allclose(weights[0], translation.attention, atol=1e-4)
print("queries", asking.shape, "annotations", annotated.shape, "weights", weights.shape)

# %% [markdown]
# **Exercise 3.** In the lecture the scorer sees $[s_{t-1}; h_{t'}]$, the decoder's state beside the
# annotation. *Why both?* Predict how the map changes if the query is left out of the score. Then
# compute it: `additive_attention` as above, with another $W$.

# %%
w, u, v = kernels
without_query = None  # your answer: weights (1, T, S)

# %% tags=["check"]
is_map = without_query is not None and np.shape(without_query) == weights.shape
if is_map and np.ptp(np.asarray(without_query)[0], axis=0).max() < 1e-6:
    print("Right: all rows are the same, whatever is asked.")
else:
    print("Not yet: with which W does the query no longer matter? Take the weights, not the read.")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# _, without_query = additive_attention(asking, annotated, np.zeros_like(w), u, v, everything)
# ```
#
# The annotation says what there is, the query says what is wanted *now*. Without the query the
# scores depend on j alone: the map has vertical stripes, and each English word reads the same
# mixture.
# </details>

# %%
plotting.diagram("rows-alike")

# %% [markdown]
# ## Three encoders with less
#
# What does each part buy? We train the network three more times, each time with one part less, for
# as many batches:
#
# - **one vector**: whatever is asked, the decoder reads the last annotation (the package's
#   `attention="last"`). That is the bottleneck.
# - **forward only**: one GRU from left to right instead of two; in the lecture's list of soft
#   attentions, "use unidirectional RNN instead of bidirectional".
# - **no recurrence**: no hidden-to-hidden connection at all; the annotation of a word is its own
#   embedding and knows nothing of its neighbours.


# %%
def encoder_with(read):
    """Build an encoder that reads with a layer, or not at all."""
    context = keras.Input((None,), dtype="int32", name="context")
    mask = ops.not_equal(context, 0)
    values = keras.layers.Embedding(len(spanish), UNITS, name="context_embedding")(context)
    values = values if read is None else read(values, mask=mask)
    values = ops.where(mask[..., None], values, 0.0)
    outputs = {"memory": {"mask": mask, "values": values}, "state": ops.zeros_like(values[:, 0])}
    return keras.Model(context, outputs, name="encoder")


forward_only = keras.layers.RNN(keras.layers.GRUCell(UNITS), return_sequences=True)
others = {
    "one vector": models.build_rnn_attention(len(spanish), len(english), UNITS, "last"),
    "forward only": joined(encoder_with(forward_only), keras.models.clone_model(decoder)),
    "no recurrence": joined(encoder_with(None), keras.models.clone_model(decoder)),
}

# %%
translators = {"both ways": translator}
for name, each in others.items():
    training.compile_for_training(each, RATE)
    print(name)
    each.fit(batches.shuffled(), steps_per_epoch=STEPS * EPOCHS, epochs=1, shuffle=False, verbose=2)
    translators[name] = Translator(each, spanish, english)

# %% [markdown]
# BLEU counts which sequences of one to four words a translation shares with the reference, from 0
# to 100. The table has it for held-out sentences, and two error rates for the gold pairs. *Looks*
# is that of the attention weights. *Comes from* asks the model itself: it takes away one Spanish
# word at a time, and an English word comes from the one without which the model no longer expects
# it. With $m_{ts}$, what the English word $t$ loses in log-probability without the Spanish word $s$,
# or 0 if it loses nothing, the evidence is
#
# $$e_{ts} \propto m_{ts} \cdot \frac{m_{ts}}{\sum_{t'} m_{t's}}:$$
#
# a Spanish word has to matter for this English word, and for this one more than for others. The
# attention, read in the same way, is 15 % of the evidence. Words come from words, and punctuation
# from punctuation. Last, the sentence is read as a whole, since neighbours mostly come from
# neighbours: two hidden Markov models, one from English to Spanish and one from Spanish to English,
# and what they agree on (Vogel et al., 1996; Liang et al., 2006). That is `translation.alignment`.


# %%
def bleu(found):
    """BLEU of translations of the held-out sentences, on normalised words."""
    texts = [normalize(each.text) for each in found]
    expected = [normalize(pair.target) for pair in held_out]
    return metrics.bleu(texts, expected, normalized=True).value


contexts = [pair.context for pair in held_out]
found, scores, errors = {}, {}, {}
print(f"{'':16}{'BLEU':>6}{'looks':>8}{'comes from':>12}")
for name, each in translators.items():
    found[name] = each(contexts, attention=False, batch_size=len(contexts))
    scores[name] = bleu(found[name])
    errors[name] = evaluation.alignment_error_rates(each, gold, batch_size=len(gold))
    looks = "" if name == "one vector" else f"{errors[name].attention:.2f}"
    print(f"{name:16}{scores[name]:6.1f}{looks:>8}{errors[name].alignment:12.2f}")
print(f"{'a plain diagonal':16}{'':6}{errors[name].diagonal:8.2f}")

# %% tags=["claims"]
assert scores["both ways"] > scores["one vector"] + 3
assert scores["both ways"] > scores["no recurrence"] + 3
assert scores["forward only"] > scores["both ways"] - 3
assert errors["both ways"].attention < errors["forward only"].attention - 0.1

# %% [markdown]
# One mistake of each:

# %%
for name in others:
    for each, pair in zip(found[name], held_out, strict=True):
        if normalize(each.text) != normalize(pair.target):
            print(f"{name:16}{pair.context}\n{'':16}{each.text}\n{'':16}({pair.target})")
            break

# %% [markdown]
# - **Both ways** translates nearly all sentences as the reference has them.
# - **One vector** has to remember too much. Its mistake loses a clause, *and read them*, and gives
#   each number to the noun of the other.
# - **No recurrence** knows which words there are, and not in which order. In its mistake two words
#   have changed their nouns. Its memory is a bag of words; the Transformer of notebook 4, which
#   has no recurrence either, therefore adds positions.
# - **Forward only** is the surprise. Its translations are almost as good as those of both
#   directions, yet its map is wrong for more than a third of the words, where the other is wrong
#   for a seventh. The words still *come from* the right place.
#
# The picture shows how that goes together.

# %%
panels = {}
for name in ("both ways", "forward only", "no recurrence"):
    panels[name] = between_words(translators[name].forced(*sides, batch_size=len(gold))[shown])
plotting.plot_attention_grid(panels, **picture, columns=3)
plt.show()

# %% [markdown]
# In the middle panel *not* and *the* look one word to the right of their links. When the GRU has
# read on from *la* to *leche*, its state holds *la* as well, so *the* can be read there. For the
# same reason *milk* has a third of its weight on *caliente*. The full stop looks at the word before
# it. The translation does not suffer, only the map does. An annotation is not a word: it is what
# the encoder knows when it has come to that word. Where a model looks and where a word comes from
# are two questions.
#
# ### Long sentences

# %%
texts = {name: [each.text for each in found[name]] for name in ("both ways", "one vector")}
curves = {}
for name in texts:
    ranges, counts, curves[name] = evaluation.bleu_by_length(texts[name], held_out)
plotting.plot_by_length(
    ranges,
    curves,
    counts,
    title="BLEU by the length of the sentence: with attention, with one vector",
)
plt.show()

# %% [markdown]
# With one vector the quality falls from sentences of seven tokens on; with attention it does not.
# That is figure 2 of the paper in miniature, and the answer to a question of every course: *what is
# the advantage of attention in an encoder-decoder?* Not that short sentences get better; that the
# quality does not fall as the sentence grows, since nothing has to fit into one vector, and the
# gradient reaches each source word in one step instead of through the whole sentence.

# %%
plotting.diagram("gradient-reach")

# %% [markdown]
# ## Real sentences
#
# `Translator.load("spa-eng-rnn")` is the same network, trained on real sentences of daily life,
# which people wrote for Tatoeba. It has the tutorial's 256 units and its
# score, one head of scaled dot products, and it reads and writes pieces of words.

# %%
real = Translator.load("spa-eng-rnn")
print(f"{real.config['corpus']['train_pairs']:,} pairs, {real.model.count_params():,} weights")
for search, of_search in real.config["scores"].items():
    print(f"{search:8}BLEU {of_search['bleu']:.1f} on held-out sentences")

daily = [
    "¿Dónde está la estación de tren?",
    "Me duele la cabeza.",
    "Mi hermana mayor compró una casa blanca cerca del mar.",
    "Se me olvidó cerrar la puerta con llave.",
    "Llegué tarde porque perdí el autobús.",
    "Ayer perdí las llaves de mi coche.",
    "Hace tres años que vivo en Madrid.",
]

# %%
for each in real(daily, attention=False):
    print(f"{each.source:56}{each.text}")

# %% [markdown]
# Most of these are good, and two are not. The keys (*las llaves*) are missing: *I lost my car*
# is fluent, and false. And *hace tres años que vivo* (“I have lived for three years”) is translated
# word by word, with a city whose name the model has to spell from pieces. Read what a small
# translator writes with the source beside it.
#
# ### Where it looks, and where a word comes from

# %%
translation = real("Se me olvidó cerrar la puerta con llave.")
translation.plot_alignment()
plt.show()

# %% [markdown]
# *Lock* is *cerrar con llave*, to close with a key. On the left, the weights of *lock* lie on
# *cerrar*. On the right, the alignment gives a tenth of *lock* to *llave*, and most of the
# rest to *cerrar*. The name of a panel says over how many words a row is
# spread.
#
# ### A sentence of your own
#
# Write any sentence and run the cells down to the interactive page again. Whatever its words are,
# the model reads them in pieces. It says which words were not in its training sentences.

# %%
sentence = "Ayer comí una paella deliciosa."

own = real(sentence)
print(own.source, "→", own.text)
print(own.remark_on_unknown or "the model knows every word")
print("as the model reads it:", *own.context_tokens)

# %%
own.plot_alignment()
plt.show()

# %% [markdown]
# The outline marks the word that was not in the training sentences. Its pieces are the encoder's to
# read, and they say little. The weights of *delicious* and of *bar* both lie on *paella*; the
# alignment tells them apart: *delicious* comes from *deliciosa*, and *bar* is the guess for
# *paella*. It errs, too: *yesterday* comes from *Ayer*, and the map names *deliciosa* first. An
# attention always reads something, and a decoder always names a word.
#
# The model that you built has whole words instead of pieces. There the same word becomes `[UNK]`,
# an id that never occurred in training, and the guess has nothing to go by:

# %%
by_words = translator("¿Comieron los niños la paella roja?")
print(by_words.text, "|", by_words.remark_on_unknown)

# %% [markdown]
# Pictures of pieces merge them: over the columns of a word the weights are added, over its rows
# they are averaged. `own.plot_alignment(pieces=True)` shows the pieces.

# %%
plotting.diagram("split-words")

# %% [markdown]
# The interactive page has every map of a translation. Point at a word to see its weights, and
# choose the attention or the alignment. The page loads nothing from elsewhere;
# `own.view("view.html")` writes it to a file.

# %%
own.view()

# %% [markdown]
# **Exercise 4.** Write a Spanish sentence in which the translator does not know exactly one word.
# Names of dishes and plants are a good place to look.

# %%
mine = None  # your answer: a string

# %% tags=["check"]
is_sentence = isinstance(mine, str) and bool(mine.strip())
unknown = real(mine, attention=False).unknown_words if is_sentence else []
if len(unknown) == 1:
    print(f"Right: it does not know “{unknown[0]}”, and writes {real(mine).text!r}")
else:
    print(f"Not yet: it does not know {len(unknown)} words: {', '.join(unknown) or 'none'}")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# mine = "Compré un kilo de boquerones."
# ```
#
# Dishes, plants and names are rare in the sentences of learners. *Boquerones* are anchovies; the
# model spells a word that does not exist.
# </details>

# %% [markdown]
# ### Greedy or beam?
#
# Greedy decoding takes the likeliest word at each step and never looks back. Beam search follows
# the W likeliest beginnings at once, and so finds sentences whose first word was not the likeliest
# one. The score of a candidate is its log-probability over a penalty for its length.

# %%
sentence = "Mañana vamos a la playa si hace buen tiempo."
beach = real(sentence)
print("greedy")
print(f"{beach.candidates[0].log_probability:8.2f}  {beach.text}")
print("beam of 4")
for candidate in real(sentence, attention=False, beam=4, n_best=4).candidates:
    print(f"{candidate.log_probability:8.2f}  {candidate.text}")

# %% [markdown]
# *Si hace buen tiempo* means “if the weather is good”. The beam found three sentences that the
# model finds likelier than the greedy one, and all three leave the condition out. The only whole
# translation has the lowest probability of the four. So a beam finds likelier sentences, and a
# likelier one need not be a better one: each word that is left unsaid is a factor below 1 less.
# Over all held-out sentences the search pays nevertheless: a beam of 4 gave 51.6 BLEU, greedy
# decoding 50.0 (printed above, where the translator was loaded).
#
# **Exercise 5.** Which Spanish words got lost on the way to the greedy translation? A column of the
# alignment sums to the number of English words that come from a Spanish word. List the words, not
# `[START]` and `[END]`, from which less than half an English word comes. (Pieces are merged below.)

# %%
by_word = plotting.merge_tokens(beach.alignment, beach.context_groups, beach.target_groups)
spanish_words = plotting.merge_words(beach.context_tokens, beach.context_groups)
print(f"{len(spanish_words)} columns, map {by_word.shape}:", *spanish_words)
lost = None  # your answer: a list of words

# %% tags=["check"]
if lost is not None and set(lost) == {"si", "hace", "buen", "tiempo"}:
    print("Right: the whole condition, si hace buen tiempo, is lost.")
else:
    print("Not yet: sum over the rows, axis 0, and leave out the first and the last column.")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# columns = zip(spanish_words[1:-1], by_word.sum(axis=0)[1:-1])
# lost = [word for word, total in columns if total < 1 / 2]
# ```
#
# The attention weights do not tell: in `beach.attention` the columns of *si* and *hace* have as
# much as that of *vamos*. The model looked there, and wrote nothing of it.
# </details>

# %% [markdown]
# ## The whole thing by the package
#
# A run: settings, training, the best epoch, vocabularies and curves in a folder. `runs.ensure`
# trains it, goes on with it if it was interrupted, or loads it if it has finished.

# %% quick="steps, epochs = 1, 1"
steps, epochs = 100, 4  # for "spa-eng" the tutorial takes 100 steps and up to 100 epochs

# %%
settings = runs.Settings(
    model="rnn", attention="global", units=UNITS, steps=steps, epochs=epochs, learning_rate=3e-3
)
sources = {"corpus": CORPUS}  # names the languages in pictures
translator = runs.ensure(train, validation[:200], "runs/rnn", settings, sources=sources, verbose=2)
translation = Translator.load("runs/rnn")("Los niños comen el pan.")
print(translation.text)
translation.plot()
plt.show()

# %% [markdown]
# On the command line that is `keras-attention train --corpus spa-eng --model rnn --out runs/rnn`.
#
# **On a GPU or a TPU** nothing in this chapter changes. On a TPU take the # away from the line at the
# top, since Keras needs JAX there. `model.fit` compiles the step once for each shape of a
# batch, which is why the sentences are padded to few shapes:

# %%
print("shapes (S, T) of the batches:", batches.shapes)

# %% [markdown]
# [Notebook 10](10_on_a_tpu.ipynb) tells what compiles on a TPU and what does not.
#
# Next: [4 · The Transformer: three kinds of attention, every head](04_transformer.ipynb), which
# leaves the recurrence out. In the documentation: [Which attention should I
# use?](https://github.com/keras-attention/keras_attention/blob/main/docs/choosing.md) and [Why is
# my heat map
# wrong?](https://github.com/keras-attention/keras_attention/blob/main/docs/heat-maps.md)

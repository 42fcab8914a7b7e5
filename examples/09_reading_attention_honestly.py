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
# # 9 · Reading attention maps honestly
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/keras-attention/keras_attention/blob/main/examples/09_reading_attention_honestly.ipynb)
#
# A heat map always looks like an explanation. This notebook measures what one says: against gold
# links, against maps that know nothing, and by taking away what was looked at. *Runs in about
# four minutes on a CPU; no accelerator needed.*

# %% tags=["install"]
# The text of this cell comes from install.py.

# %%
# On a TPU runtime Keras needs JAX: take the # away from these two lines, before Keras is imported.
# import os
# os.environ["KERAS_BACKEND"] = "jax"

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
    WordPieces,
    attributions,
    corpora,
    metrics,
    models,
    plotting,
    training,
)
from keras_attention.ops import entropy
from keras_attention.text import END, SPECIAL_WORDS, UNKNOWN, normalize, split_words
from keras_attention.translation import evaluation

QUICK = bool(os.environ.get("KERAS_ATTENTION_QUICK"))  # set by the tests: fewer steps
keras.utils.set_random_seed(0)

# %% [markdown]
# ## What the papers say
#
# Bahdanau, Cho and Bengio (2015, section 5.2.1) print the weights of a translator and read them as a
# soft *alignment*: which source words a target word was made from. That can be checked where
# somebody knows the alignment. Och and Ney (2003) gave the measure, the *alignment error rate*.
#
# Whether weights *explain* an output is another question. Jain and Wallace (2019), *Attention is not
# explanation*, found for many text classifiers that weights agree only weakly with what happens
# when a word is left out, and that quite other weights, shuffled or searched for on purpose, often
# give the same answer. Wiegreffe and Pinter (2019), *Attention is not not explanation*, reply
# that weights found for one sentence after the fact are not those of a model that could have been
# trained; that one should first ask whether the task needs attention at all, by training the same
# model with uniform weights; and that the answer depends on what one calls an explanation. Both
# kinds of test are below.
#
# ## The equation
#
# $$\mathrm{AER} = 1 - \frac{|A \cap G| + |A \cap P|}{|A| + |G|}$$
#
# | letter | what it is |
# | --- | --- |
# | $A$ | predicted links, pairs (source position, target position), of all sentences |
# | $G$ | gold links that must be there (Och and Ney write $S$ for *sure*) |
# | $P \supseteq G$ | gold links that may be there; here $P = G$, and AER is $1 - F_1$ |
#
# A row $t$ of the weights (T, S) becomes the link $(\arg\max_j \alpha_{tj},\, t)$. 0 is perfect.
#
# ## Ten lines that implement it


# %%
def links_of(weights):
    """Weights (T, S) → a link from each target word to the source word it looks at most."""
    return {(int(row.argmax()), t) for t, row in enumerate(weights)}


def alignment_error_rate(predicted, gold):
    """Links of every sentence, and those that are right → the rate over all sentences."""
    hits = sum(len(a & g) for a, g in zip(predicted, gold, strict=True))
    total = sum(len(a) + len(g) for a, g in zip(predicted, gold, strict=True))
    return 1 - 2 * hits / total


# %% [markdown]
# ## The same by the package
#
# `evaluation.alignment_from_weights` and `evaluation.alignment_error_rate`. Two target words; the
# first looks at the right word, the second does not.

# %%
weights = np.array([[0.7, 0.2, 0.1], [0.6, 0.3, 0.1]])
gold = {(0, 0), (2, 1)}
assert links_of(weights) == metrics.alignment_from_weights(weights)
ours = alignment_error_rate([links_of(weights)], [gold])
np.testing.assert_allclose(ours, metrics.alignment_error_rate([links_of(weights)], [gold]))
print("links", sorted(links_of(weights)), "gold", sorted(gold), "rate", ours)

# %% [markdown]
# ## Three models
#
# The bundled corpus is written by a grammar that makes both sentences at once, so it *knows* which
# word comes from which: each pair has its gold `links`. We train three small translators:
#
# - **recur, then attend**: the RNN of notebook 3; the decoder reads the word before and then looks
#   (the order of Luong et al., 2015);
# - **attend, then recur**: the decoder looks with its old state, and what it read goes into the
#   recurrence (the order of Bahdanau et al., 2015);
# - **mean**: the first one with uniform weights, in training as well.

# %%
pairs = Grammar.load().generate(600) if QUICK else corpora.load("bundled")
train, _, test = corpora.split(pairs)
held_out = test[: 10 if QUICK else 300]
spanish = Vocabulary.learn((pair.context for pair in train), 1000)
english = Vocabulary.learn((pair.target for pair in train), 1000)
batches = corpora.Batches.of_pairs(train, spanish, english, shapes=1 if QUICK else 2)
UNITS, STEPS = (16, 2) if QUICK else (64, 1000)

BUILD = {
    "recur, then attend": lambda: models.build_rnn_attention(
        len(spanish), len(english), UNITS, attention="global", score="additive"
    ),
    "attend, then recur": lambda: models.build_bilstm_attention(
        len(spanish), len(english), UNITS, attention="global"
    ),
    "mean": lambda: models.build_rnn_attention(len(spanish), len(english), UNITS, attention="mean"),
}


def trained(name):
    """Build and train one of the three."""
    keras.utils.set_random_seed(0)
    model = BUILD[name]()
    training.compile_for_training(model, 3e-3, jit_compile=False if QUICK else None)
    model.run_eagerly = QUICK
    began = time.perf_counter()
    model.fit(batches.shuffled(), steps_per_epoch=STEPS, epochs=1, shuffle=False, verbose=0)
    print(f"{name}: {STEPS:,} steps in {time.perf_counter() - began:.0f} s")
    return Translator(model, spanish, english)


translators = {name: trained(name) for name in BUILD}
translator = translators["recur, then attend"]

# %% [markdown]
# ## Does it look at the right word?
#
# We feed the *right* translation word by word (teacher forcing) and look at the weights of
# each step, so that every model is asked about the same words. `[START]` and `[END]` are no words.

# %%
source_ids = spanish.ids(pair.context for pair in held_out)
target_ids = english.ids(pair.target for pair in held_out)
gold = [set(pair.links) for pair in held_out]
words = [[spelling for _, spelling in split_words(pair.target)] for pair in held_out]
source_words = [[spelling for _, spelling in split_words(pair.context)] for pair in held_out]


def looks(translator):
    """Where a translator looks in every held-out pair: (T + 1, S), the last row for [END]."""
    found = translator.attend(source_ids, target_ids[:, 1:])
    return [each["cross_attention"][0][:, 1:-1] for each in found]


every_look = {name: looks(each) for name, each in translators.items()}
untrained = Translator(BUILD["recur, then attend"](), spanish, english)
every_look["untrained"] = looks(untrained)

rates = {
    name: alignment_error_rate([links_of(each[:-1]) for each in found], gold)
    for name, found in every_look.items()
}
diagonal = [
    metrics.diagonal_alignment(len(s), len(t)) for s, t in zip(source_words, words, strict=True)
]
rates["a diagonal"] = alignment_error_rate(diagonal, gold)
best = [
    {min(link for link in links if link[1] == t) for t in {t for _, t in links}} for links in gold
]
rates["one right link a word"] = alignment_error_rate(best, gold)
for name, rate in rates.items():
    print(f"{name:24}AER {rate:.3f}")

by_package = evaluation.alignment_error_rates(translator, held_out)
np.testing.assert_allclose(rates["recur, then attend"], by_package.attention)
np.testing.assert_allclose(rates["a diagonal"], by_package.diagonal)
if not QUICK:
    assert rates["recur, then attend"] < rates["a diagonal"] < rates["mean"]

# %% [markdown]
# Read the table from its ends. The last line is what one right link a word would reach. It is 0,
# since in this grammar every English word has one gold link; so here the rate is simply the share
# of the words that look elsewhere. The **diagonal** knows nothing but the two lengths, and it
# is what an alignment has to beat: both languages begin with the subject more often than not,
# and end with the full stop. A map that is not better than a diagonal has said nothing about words.
# The mean has no preference (of equal weights the first word gets the link), and what an
# untrained network prefers is chance.
#
# A picture with the gold links outlined shows what is right and what is not:

# %%
lengths = np.array([len(each) for each in source_words])
crossing = np.array([len({s - t for s, t in links}) for links in gold])
shown = int(np.argmax(np.where(lengths <= 9, crossing, 0)))  # a short one with its words reordered
figure, panels = plt.subplots(1, 2, figsize=(9, 4.8), layout="constrained")
for panel, name in zip(panels, ("recur, then attend", "mean"), strict=True):
    plotting.plot_attention(
        every_look[name][shown][:-1],
        source_words[shown],
        words[shown],
        links=gold[shown],
        title=name,
        vmax=1,
        ax=panel,
    )
plt.show()

# %% [markdown]
# ## Are good translations proof of good maps?

# %%
references = [normalize(pair.target) for pair in held_out]
print(f"{'':24}{'AER':>8}{'BLEU':>8}")
for name, each in translators.items():
    found = each([pair.context for pair in held_out], attention=False)
    bleu = metrics.bleu([normalize(t.text) for t in found], references, normalized=True)
    print(f"{name:24}{rates[name]:8.3f}{bleu:8.1f}")

# %% [markdown]
# The mean has a map that says nothing, and still translates many words rightly: on short sentences
# one does not need to look. This is the first test of Wiegreffe and Pinter. The difference in
# BLEU between the first line and the last is what attention is worth for this task, and only
# where there is such a difference is it worth asking what the weights mean.
#
# The second line is the reverse: it looks at the right word four times out of five, and translates
# worst, since a thousand steps are few for its decoder. A good map does not prove a good
# translation, either.
#
# ## How sure is it?
#
# The entropy of a row, $H_t = -\sum_j \alpha_{tj} \ln \alpha_{tj}$, is 0 for a look at one word and
# $\ln S$ for a uniform one. A sharp look is not yet a right one:


# %%
def entropy_of(weights):
    return -np.sum(weights * np.log(np.maximum(weights, 1e-12)), axis=-1)


entropies, is_right = [], []
for found, links in zip(every_look["recur, then attend"], gold, strict=True):
    among_words = found[:-1] / found[:-1].sum(axis=-1, keepdims=True)
    entropies += list(entropy_of(among_words))
    is_right += [(int(row.argmax()), t) in links for t, row in enumerate(among_words)]
entropies, is_right = np.array(entropies), np.array(is_right)
by_package = ops.convert_to_numpy(entropy(among_words[None]))[0]
np.testing.assert_allclose(entropy_of(among_words), by_package, atol=1e-4)

groups = {"looks at a gold word": is_right, "looks elsewhere": ~is_right}
figure, panel = plt.subplots(figsize=(7, 3), layout="constrained")
panel.hist(
    [entropies[which] for which in groups.values()],
    np.linspace(0, np.log(lengths.max()), 25),
    stacked=True,
    label=list(groups),
    color=["#0072b2", "#d55e00"],
)
panel.set(xlabel="entropy of a row, nats", ylabel="target words", title="Sharp is not always right")
panel.legend()
plt.show()
for name, which in groups.items():
    print(f"{name:22}{which.sum():6,} words, mean entropy {entropies[which].mean():.2f}")

# %% [markdown]
# ## Off by one, and transposed
#
# Which word does a row belong to? With teacher forcing the decoder is *fed* `[START] I eat` and
# *says* `I eat [END]`. The weights of step $t$ belong beside the word that is said at $t$, in both
# orders: *recur, then attend* looks with a state that has read the word before, *attend, then
# recur* with the state of the step before, and what either reads goes into the word that comes
# next. Label the rows with the words that were fed, or with the state that asked, and all links are
# shifted by one. The rate finds out:


# %%
def shifted_links(found, by):
    """Link word t as if the weights of row t + `by` were its own."""
    steps = range(len(found) - 1)
    return {(int(found[t + by].argmax()), t) for t in steps if 0 <= t + by < len(found)}


print(f"{'AER, rows moved by':24}{-1:>8}{0:>8}{1:>8}")
for name in ("recur, then attend", "attend, then recur"):
    moved = [
        alignment_error_rate([shifted_links(each, by) for each in every_look[name]], gold)
        for by in (-1, 0, 1)
    ]
    print(f"{name:24}" + "".join(f"{rate:8.3f}" for rate in moved))
    if name == "recur, then attend" and not QUICK:
        assert np.argmin(moved) == 1

# %% [markdown]
# Transposed is the other way to be wrong: Keras returns a row for each query, some papers draw a
# column for each. The sums tell: those over the source are 1, with `[START]` and `[END]`.

# %%
translation = translator(held_out[0].context)
print("sums over the source:", translation.attention.sum(axis=1).round(3))
print("sums over the target:", translation.attention.sum(axis=0).round(3))

# %% [markdown]
# ## Pieces of words
#
# A tokenizer for pieces makes several columns of a source word and several rows of a target word.
# A link is between words, so merge first and take the largest weight then: **add** the columns of a
# word (how much is looked at it?), take the **mean** of its rows (so that a row still sums to 1).
# The weights below are made up, to show what goes wrong in the other order.

# %%
pieces = WordPieces([*SPECIAL_WORDS, "la", "man", "##zan", "##a", "the", "app", "##le"])
context, target = (
    [piece for piece, _ in each] for each in pieces.tokenize(["la manzana", "the apple"])
)
context_groups, target_groups = pieces.word_groups(context), pieces.word_groups(target)
weights = np.array([[0.70, 0.10, 0.10, 0.10], [0.34, 0.22, 0.22, 0.22], [0.28, 0.24, 0.24, 0.24]])

columns = np.stack([weights[:, group].sum(axis=1) for group in context_groups], axis=1)
merged = np.stack([columns[group].mean(axis=0) for group in target_groups])
np.testing.assert_allclose(merged, plotting.merge_tokens(weights, context_groups, target_groups))
print("pieces of 'apple' look most at:", [context[row.argmax()] for row in weights[1:]])
merged_words = plotting.merge_words([piece.removeprefix("##") for piece in context], context_groups)
print("the word 'apple' looks most at:", merged_words[merged[1].argmax()])

figure, panels = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
plotting.plot_attention(weights, context, target, title="pieces", vmax=1, ax=panels[0])
plotting.plot_attention(
    merged, merged_words, ["the", "apple"], title="merged to words", vmax=1, ax=panels[1]
)
plt.show()

# %% [markdown]
# ## What weights do not say
#
# An alignment error rate says whether the model looks where a human would link. Whether the output
# *hangs* on what was looked at is a question about the model, and it is answered by an
# intervention. The attention of this model is one step: queries and annotations are there before
# it, and what is read is added to the query and goes to the logits. So we can read with other
# weights and see what the model says then.

# %%
model = translator.model
encoder, decoder = model.get_layer("encoder"), model.get_layer("decoder")
block, to_logits = decoder.get_layer("cross_attention"), decoder.get_layer("logits")
fed, said = target_ids[:, :-1], target_ids[:, 1:]

encoded = encoder(source_ids)
annotations, mask = encoded["memory"]["values"], encoded["memory"]["mask"]
embedded = decoder.get_layer("target_embedding")(fed)
queries, _ = decoder.get_layer("target_rnn")(embedded, initial_state=encoded["state"])


def look(queries, annotations, mask):
    _, weights = block.attention(
        queries, annotations, attention_mask=mask, return_attention_scores=True
    )
    return ops.convert_to_numpy(weights)


def say(queries, annotations, weights):
    """The probabilities (N, T, V) of the next words, if the annotations are read with weights."""
    read = ops.matmul(ops.convert_to_tensor(weights, "float32"), annotations)
    return ops.convert_to_numpy(ops.softmax(to_logits(block.after(queries, read))))


weights = look(queries, annotations, mask)  # (N, T, S)
probabilities = say(queries, annotations, weights)
logits = model({"context": source_ids, "target": fed})
np.testing.assert_allclose(
    probabilities, ops.convert_to_numpy(ops.softmax(logits)), atol=1e-4
)  # taken apart, it is the same model

# %% [markdown]
# For each word of the right translations we hide one source word from the attention, its weight
# set to 0 and the others made to sum to 1 again: the one that was looked at most, the one that
# was looked at least, or any. We also shuffle the weights of a row (Jain and Wallace's first
# test), and make them uniform. How far does the output move? Measured as they do, by the *total
# variation distance* $\frac12 \sum_w |p_w - p'_w|$: 0 is the same, 1 as different as can be.

# %%
rng = np.random.default_rng(0)
is_word = said > END  # (N, T): the words, without [END] and padding
real = ops.convert_to_numpy(mask)[:, None] * np.ones(weights.shape)  # 1 where there is no padding
is_source_word = np.broadcast_to((source_ids > END)[:, None], weights.shape)


def hidden(place):
    """The weights with one place of each row set to 0, and the rest made to sum to 1."""
    kept = weights.copy()
    np.put_along_axis(kept, place[..., None], 0.0, axis=-1)
    total = kept.sum(axis=-1, keepdims=True)
    return kept / np.where(total > 0, total, 1.0)


def shuffled():
    """The weights of each row in another order, padding apart."""
    order = np.argsort(rng.random(weights.shape) - 2.0 * real, axis=-1)
    return np.take_along_axis(weights, order, axis=-1)


most = np.where(is_source_word, weights, -1.0).argmax(axis=-1)
least = np.where(is_source_word, weights, 2.0).argmin(axis=-1)
anyone = (is_source_word * rng.random(weights.shape)).argmax(axis=-1)
interventions = {
    "nothing": weights,
    "least-looked-at word hidden": hidden(least),
    "any word hidden": hidden(anyone),
    "most-looked-at word hidden": hidden(most),
    "weights shuffled": shuffled(),
    "weights uniform": real / real.sum(axis=-1, keepdims=True),
}


def distances(changed):
    """The total variation distance of each output (N, T) from that of the trained weights."""
    return np.abs(changed - probabilities).sum(axis=-1) / 2


moved, flipped = {}, {}
print(f"{'':30}{'distance':>10}{'other word':>12}{'p(right word)':>15}")
for name, each in interventions.items():
    changed = say(queries, annotations, each)
    moved[name] = distances(changed)[is_word]
    flipped[name] = (changed.argmax(-1) != probabilities.argmax(-1))[is_word]
    right = np.take_along_axis(changed, said[..., None], axis=-1)[..., 0][is_word]
    print(f"{name:30}{moved[name].mean():10.3f}{flipped[name].mean():12.3f}{right.mean():15.3f}")
if not QUICK:
    least_moved, most_moved = (
        moved[f"{which}-looked-at word hidden"] for which in ("least", "most")
    )
    assert most_moved.mean() > least_moved.mean()

# %%
figure, panel = plt.subplots(figsize=(7, 3.4), layout="constrained")
names = [name for name in interventions if name != "nothing"]
for name, line in zip(names, ("-", "--", ":", "-.", (0, (1, 3))), strict=True):
    panel.plot(
        np.linspace(0, 1, len(moved[name])), np.sort(moved[name]), linestyle=line, label=name
    )
panel.set(
    xlabel="share of the target words",
    ylabel="distance of the output",
    title="How far the output moves, words sorted by it",
)
panel.legend(fontsize=8)
plt.show()

# %% [markdown]
# The least-looked-at word is the control: only if hiding *it* does little does the line for the
# most-looked-at word mean something. Compare the two: what the weights point to is what the output
# hangs on, **on average**. The average hides two kinds of words. At the left of the figure stand
# those whose output moves least: words that the decoder knows from what has been said, like *for*
# after *look*. It looks all the same, since weights sum to 1 whether there is anything to
# find or not. At the right stand those that come from the source and nowhere else.
#
# Then the line for shuffled weights. In many of Jain and Wallace's classifiers that did little. A
# translator is another matter: to say which class a review belongs to, any of many words will do;
# to say *apple*, one has to look at *manzana*. What holds for one task does not hold for all, so it
# has to be measured for the model at hand.
#
# ## Leave-one-out, word by word
#
# The same for every source word instead of one: hide word $j$, and note how far the output for
# target word $t$ moves. That is a map as well, of what the output hangs on. How much is it like
# the map of the weights? Jain and Wallace compare the two orders by Kendall's $\tau$: 1 if both
# sort the source words alike, 0 if they have nothing to do with each other.


# %%
def kendall(a, b):
    i, j = np.triu_indices(len(a), 1)
    return np.mean(np.sign(a[i] - a[j]) * np.sign(b[i] - b[j]))


effects = np.zeros(weights.shape)
for place in range(weights.shape[-1]):
    changed = say(queries, annotations, hidden(np.full(weights.shape[:2], place)))
    effects[..., place] = distances(changed)

taus, same_top = [], []
for n, t in zip(*np.nonzero(is_word), strict=True):
    places = np.flatnonzero(is_source_word[n, t])
    taus.append(kendall(weights[n, t, places], effects[n, t, places]))
    same_top.append(weights[n, t, places].argmax() == effects[n, t, places].argmax())
print(
    f"Kendall's tau: median {np.median(taus):.2f}, middle half of the words from "
    f"{np.quantile(taus, 0.25):.2f} to {np.quantile(taus, 0.75):.2f}"
)
print(f"the most-looked-at word is the one that matters most: {np.mean(same_top):.3f} of the words")

figure, panels = plt.subplots(1, 2, figsize=(9, 4.8), layout="constrained")
T, S = len(words[shown]), len(source_words[shown])
for panel, each, title, label in (
    (panels[0], weights, "What it looks at", "attention weight"),
    (panels[1], effects, "What it hangs on", "distance when the word is hidden"),
):
    plotting.plot_attention(
        each[shown, :T, 1 : S + 1], source_words[shown], words[shown], title=title, vmax=1, ax=panel
    )
    panel.child_axes[0].set_ylabel(label)
plt.show()

# %% [markdown]
# Dark on the left and pale on the right: looked at, and not needed. Pale on the left and darker on
# the right: a small weight on something that nothing else says. The order of the words that hardly
# matter is noise on both sides. Read $\tau$ and the agreement on the first place together, and only
# for this task: Jain and Wallace found weaker agreement in their classifiers.
#
# ## An annotation is not a word
#
# Place $j$ of the memory was written by an RNN that read the whole sentence in both directions. To
# hide annotation $j$ is not to hide word $j$: its neighbours may know of it. So take the word out
# of the *input* instead (`[UNK]` in its place, which the model never saw in training) and let the
# model read and look anew.

# %%
rows, steps = np.nonzero(is_word)
blanked = source_ids[rows]
blanked[np.arange(len(rows)), most[rows, steps]] = UNKNOWN
encoded_anew = encoder(blanked)["memory"]
one_query = ops.convert_to_tensor(ops.convert_to_numpy(queries)[rows, steps][:, None])
weights_anew = look(one_query, encoded_anew["values"], encoded_anew["mask"])
said_anew = say(one_query, encoded_anew["values"], weights_anew)[:, 0]
other_word = said_anew.argmax(-1) != probabilities[rows, steps].argmax(-1)
still_there = weights_anew[np.arange(len(rows)), 0, most[rows, steps]]
print(f"annotation hidden: another word in {flipped['most-looked-at word hidden'].mean():.3f}")
print(f"word blanked:      another word in {other_word.mean():.3f}")
print(
    f"weight on the blanked word's place: {still_there.mean():.3f}, "
    f"before: {weights[rows, steps, most[rows, steps]].mean():.3f}"
)

# %% [markdown]
# The two interventions are different questions, and may get different answers. With the annotation
# hidden, the neighbours' annotations may still tell what stood there; with the word blanked, nothing
# does, but the model is also shown a sentence of a kind that it has never seen, and other
# words than the blanked one may suffer. Leaving out a word is not a neutral act. A paper that says
# "we removed the word" has to say which of the two was done.
#
# ## On real sentences: does the model need what a map names?
#
# The package comes with a translator of real sentences, and with other maps than the weights: the
# weights times the length of what they weigh (Kobayashi et al. 2020), how far the output of the
# block turns without a value (Mohebbi et al. 2023), the weights times the gradient of the word's
# probability, and the loss of probability without a source word. One question serves for all:
# delete the source word that a map names, and see how much of its log-probability the English word
# loses. A map that names at random is the floor, and the word whose loss is largest is the ceiling.
# Leave-one-out *is* that ceiling, so this table cannot praise it: it is there to compare the others.

# %%
shipped = Translator.load("spa-eng-rnn")
sentences = [
    "Mi hermana mayor trabaja en un hospital.",
    "¿A qué hora sale el último tren?",
    "Ella perdió el paraguas en la estación.",
    "No quiero hablar con nadie hoy.",
    "Compramos una casa cerca del mar.",
]
translations = shipped(sentences, beam=4)
lost = [attributions.leave_one_out(shipped, each) for each in translations]

print(f"{'the source word named by':24}{'loss without it, nats':>24}")
for method in ("attention", "value-norms", "value-zeroing", "gradient-attention", "alignment"):
    maps = [attributions.attribute(shipped, each, method).attention for each in translations]
    scores = list(map(attributions.deletion, translations, maps, lost))
    print(f"{method:24}{np.mean([score.named for score in scores]):24.2f}")
for name in ("at_random", "largest"):
    print(f"{name:24}{np.mean([getattr(score, name) for score in scores]):24.2f}")

# %% [markdown]
# `alignment` asks leave-one-out both ways: a source word should matter for this English word, and
# for it more than for others. It is what `Translation.alignment` holds, beside the weights:

# %%
translations[2].plot_alignment()
plt.show()

# %% [markdown]
# Below each map stands over how many words its rows are spread. Where a row is pale, the evidence
# is thin, and so is what can be said of it.
#
# ## What to write under a heat map
#
# - *The model looks at …*: what a map shows, if the mask, the rows and the orientation are right.
# - *The model aligns … with …*: after an alignment error rate, beside that of a diagonal.
# - *The output hangs on …*: after an intervention, such as the table above.
# - *The model says … because …*: no map says that.
#
# ## Exercise 1: other weights, the same word
#
# Jain and Wallace's second test: *can you find weights that are far from the trained ones and
# say the same?* Draw many at random for each word of a sentence, and keep those whose output is
# within 0.05 of the original.

# %% [markdown]
# **Answer.** Of 4,000 distributions a word, the one farthest from the trained weights, again by the
# total variation distance:

# %%
for t, word in enumerate(words[shown]):
    length = S + 2  # with [START] and [END]
    drawn = np.zeros((1, 4000, weights.shape[-1]))
    drawn[..., :length] = rng.dirichlet(np.full(length, 0.2), size=4000)
    same_query = ops.repeat(queries[shown : shown + 1, t : t + 1], 4000, axis=1)
    outputs = say(same_query, annotations[shown : shown + 1], drawn)[0]
    is_same = np.abs(outputs - probabilities[shown, t]).sum(axis=-1) / 2 < 0.05
    far = np.abs(drawn[0] - weights[shown, t]).sum(axis=-1) / 2
    farthest = far[is_same].max() if is_same.any() else 0.0
    print(
        f"{word:12}{is_same.mean():6.1%} of them say the same; the farthest is {farthest:.2f} away"
    )

# %% [markdown]
# Where most random weights say the same, the decoder knew the word anyway; where few do, the word
# comes from the source. Even then some that are far away may be among the few, since an annotation
# knows of its neighbours. So "other weights give the same output" can be true of some words
# and false of others in one sentence. And Wiegreffe and Pinter's objection stands: each of these was
# picked for one word of one sentence; that says little about weights that one trained model
# could have for all of them.
#
# ## Exercise 2: which words are linked wrongly?
#
# *Sort the English words by how often the attention misses their gold links. What do they have in
# common?*

# %% [markdown]
# **Answer.** Small words and marks lead the list. They are either certain from what has been said, so
# that no look is needed, or they are known to more than one annotation: the encoder has read the
# sentence in both directions, and a verb's annotation can say that *no* stands before it. Nothing
# in training asks for the gold place, as long as the word comes out right. An alignment is not what
# the model was trained for.

# %%
misses = {}
for found, links, each in zip(every_look["recur, then attend"], gold, words, strict=True):
    for t, word in enumerate(each):
        misses.setdefault(word.lower(), []).append((int(found[t].argmax()), t) not in links)
frequent = {word: each for word, each in misses.items() if len(each) >= (1 if QUICK else 15)}
worst = sorted(frequent, key=lambda word: -np.mean(frequent[word]))
for name, some in (("most", worst[:8]), ("least", worst[-8:])):
    shares = ", ".join(f"{word} {np.mean(frequent[word]):.2f}" for word in some)
    print(f"{name} often wrong: {shares}")

# %% [markdown]
# Next: [10 · On a TPU: `model.fit`, what compiles and what does not](10_on_a_tpu.ipynb). In the
# documentation:
# [Why is my heat map wrong?](https://github.com/keras-attention/keras_attention/blob/main/docs/heat-maps.md)

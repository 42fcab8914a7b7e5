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
# links, against maps that know nothing, and by taking away what was looked at. First with small
# models whose data you know completely, then on real sentences, yours among them. *Runs in about
# five minutes on a CPU; no accelerator needed.*

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

from keras_attention import Translator, attributions, corpora, metrics, models, plotting, training
from keras_attention.ops import entropy
from keras_attention.text import (
    END,
    SPECIAL_WORDS,
    UNKNOWN,
    Vocabulary,
    WordPieces,
    normalize,
    split_words,
)
from keras_attention.translation import evaluation

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

# %%
plotting.diagram("alignment-matrix")

# %% [markdown]
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
# The package has the same as `metrics.alignment_from_weights` and `metrics.alignment_error_rate`.
# Two target words; the first looks at the right word, the second does not:

# %%
weights = np.array([[0.7, 0.2, 0.1], [0.6, 0.3, 0.1]])
gold = {(0, 0), (2, 1)}
assert links_of(weights) == metrics.alignment_from_weights(weights)
rate = alignment_error_rate([links_of(weights)], [gold])
np.testing.assert_allclose(rate, metrics.alignment_error_rate([links_of(weights)], [gold]))
print("links", sorted(links_of(weights)), "gold", sorted(gold), "rate", rate)

# %% [markdown]
# **Exercise 1.** Two people align a sentence. Where both agree, a link is *sure* ($G$); where only
# one has it, it is *possible* ($P$ has both kinds). Write the rate of one sentence after the
# equation, with $P \neq G$.

# %%
predicted = {(0, 0), (1, 2), (2, 1), (3, 3)}
sure = {(0, 0), (2, 1), (4, 3)}
possible = {*sure, (1, 2), (3, 4)}
rate = None  # your answer: a number, computed from the three sets

# %% tags=["check"]
right = metrics.alignment_error_rate([predicted], [sure], [possible])
if rate is not None and np.isclose(rate, right):
    print(f"Right: {rate:.3f}. A possible link costs nothing, whether it is predicted or not.")
else:
    print("Not yet: count the predicted links in G, then those in P; divide by |A| + |G|.")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# hits = len(predicted & sure) + len(predicted & possible)
# rate = 1 - hits / (len(predicted) + len(sure))
# ```
#
# Two predicted links are sure, three are possible: 1 − 5/7. Missing (3, 4) costs nothing; missing
# (4, 3) does, and so does predicting (3, 3), which nobody has.
# </details>

# %% [markdown]
# ## Three models
#
# The bundled corpus is written by a grammar that makes both sentences at once, so it *knows* which
# word comes from which: each pair has its gold `links`.

# %% quick="PAIRS, HELD_OUT = 600, 20; UNITS, STEPS, EPOCHS = 16, 1, 2"
PAIRS, HELD_OUT = 30_000, 300  # sentence pairs; those of the held-out part that are looked at
UNITS, STEPS, EPOCHS = 64, 250, 4  # width of the models, batches an epoch, epochs

# %%
pairs = corpora.Grammar.load().generate(PAIRS)
train, _, test = corpora.split(pairs)
held_out = test[:HELD_OUT]
spanish = Vocabulary.learn((pair.context for pair in train), 1000)
english = Vocabulary.learn((pair.target for pair in train), 1000)
batches = corpora.Batches.of_pairs(train, spanish, english, shapes=2)
print(f"{len(train):,} pairs to learn from, {len(held_out)} to look at, for example:")
print(held_out[0].context, "→", held_out[0].target, held_out[0].links)

# %% [markdown]
# We train three small translators:
#
# - **recur, then attend**: the RNN of notebook 3; the decoder reads the word before and then looks
#   (the order of Luong et al., 2015);
# - **attend, then recur**: the decoder looks with its old state, and what it read goes into the
#   recurrence (the order of Bahdanau et al., 2015);
# - **mean**: the first one with uniform weights, in training as well.
#
# The second learns more slowly, so its learning rate is higher; and it is stopped early, before it
# translates well.

# %%
SIZES = len(spanish), len(english), UNITS
BUILD = {
    "recur, then attend": lambda: models.build_rnn_attention(*SIZES, attention="global"),
    "attend, then recur": lambda: models.build_bilstm_attention(*SIZES, attention="global"),
    "mean": lambda: models.build_rnn_attention(*SIZES, attention="mean"),
}


# %%
def trained(name, learning_rate=3e-3, epochs=EPOCHS):
    """Build and train one of the three."""
    keras.utils.set_random_seed(0)
    model = BUILD[name]()
    training.compile_for_training(model, learning_rate)
    model.fit(batches.shuffled(), steps_per_epoch=STEPS, epochs=epochs, shuffle=False, verbose=2)
    return Translator(model, spanish, english, {"languages": corpora.LANGUAGES})


translator = trained("recur, then attend")

# %%
looks_first = trained("attend, then recur", learning_rate=1e-2, epochs=EPOCHS - 1)

# %%
mean = trained("mean")
translators = dict(zip(BUILD, (translator, looks_first, mean), strict=True))

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


# %% [markdown]
# Beside the three stand two that know nothing of the sentences. An **untrained** network has random
# weights. A **diagonal** knows nothing but the two lengths.

# %%
every_look = {name: looks(each) for name, each in translators.items()}
untrained = Translator(BUILD["recur, then attend"](), spanish, english)
every_look["untrained"] = looks(untrained)

rates = {
    name: alignment_error_rate([links_of(each[:-1]) for each in found], gold)
    for name, found in every_look.items()
}
lengths = [(len(s), len(t)) for s, t in zip(source_words, words, strict=True)]
diagonal = [metrics.diagonal_alignment(*each) for each in lengths]
rates["a diagonal"] = alignment_error_rate(diagonal, gold)

# %% [markdown]
# The last line is what a model with one right link for each word would reach.

# %%
best = [
    {min(link for link in links if link[1] == t) for t in {t for _, t in links}} for links in gold
]
rates["one right link a word"] = alignment_error_rate(best, gold)
for name, rate in rates.items():
    print(f"{name:24}AER {rate:.3f}")

by_package = evaluation.alignment_error_rates(translator, held_out)
np.testing.assert_allclose(rates["recur, then attend"], by_package.attention)
np.testing.assert_allclose(rates["a diagonal"], by_package.diagonal)

# %% tags=["claims"]
assert max(rates["recur, then attend"], rates["attend, then recur"]) < rates["a diagonal"] - 0.05
assert rates["a diagonal"] < min(rates["mean"], rates["untrained"])

# %% [markdown]
# Read the table from its ends. The last line is 0, since in this grammar every English word has one
# gold link; so here the rate is simply the share of the words that look elsewhere. The diagonal
# is what an alignment has to beat: both languages begin with the subject more often than not,
# and end with the full stop. A map that is not better than a diagonal has said nothing about words.
# The mean has no preference (of equal weights the first word gets the link), and what an
# untrained network prefers is chance.
#
# A picture with the gold links outlined shows what is right and what is not. It is of a short
# sentence in which words change places:

# %%
crossing = [
    len({s - t for s, t in links}) * (len(gold_words) <= 9)
    for links, gold_words in zip(gold, source_words, strict=True)
]
shown = int(np.argmax(crossing))
sides = {
    "context_tokens": source_words[shown],
    "target_tokens": words[shown],
    "axis_names": corpora.LANGUAGES[::-1],
}
panels = {name: every_look[name][shown][:-1] for name in translators}
plotting.plot_attention_grid(panels, **sides, links=gold[shown], vmax=1, columns=3)
plt.show()

# %% [markdown]
# ## Are good translations proof of good maps?

# %%
references = [normalize(pair.target) for pair in held_out]
scores = {}
print(f"{'':24}{'AER':>8}{'BLEU':>8}")
for name, each in translators.items():
    found = each([pair.context for pair in held_out], attention=False, max_length=20)
    texts = [normalize(translation.text) for translation in found]
    scores[name] = metrics.bleu(texts, references, normalized=True).value
    print(f"{name:24}{rates[name]:8.3f}{scores[name]:8.1f}")

# %% tags=["claims"]
assert scores["recur, then attend"] > scores["attend, then recur"] + 3
assert scores["mean"] > scores["attend, then recur"] + 3

# %% [markdown]
# The mean has a map that says nothing, and still translates nearly all sentences rightly: on short
# ones a decoder does not need to look. This is the first test of Wiegreffe and Pinter. The
# difference in BLEU between the first line and the last is what attention is worth for this task,
# and it is small. Whether a task *needs* attention is one question; whether a model that has it
# *uses* it is another, and the interventions below answer that one.
#
# The second line is the reverse: its map beats the diagonal by far, and it translates worst, since
# its training was stopped early. A good map does not prove a good translation, either.
#
# ## How sure is it?
#
# The entropy of a row, $H_t = -\sum_j \alpha_{tj} \ln \alpha_{tj}$, is 0 for a look at one word and
# $\ln S$ for a uniform one.


# %%
def sureness(name):
    """The entropy of a model's rows among the words, and whether each looks at a gold word."""
    entropies, is_right = [], []
    for found, links in zip(every_look[name], gold, strict=True):
        among_words = found[:-1] / np.maximum(found[:-1].sum(axis=-1, keepdims=True), 1e-9)
        entropies.append(ops.convert_to_numpy(entropy(among_words[None]))[0])
        is_right += [(int(row.argmax()), t) in links for t, row in enumerate(among_words)]
    by_hand = -np.sum(among_words * np.log(np.maximum(among_words, 1e-12)), axis=-1)
    np.testing.assert_allclose(by_hand, entropies[-1], atol=1e-4)
    return np.concatenate(entropies), np.array(is_right)


# %%
figure, panels = plt.subplots(1, 2, figsize=(9, 3), sharey=True, layout="constrained")
for panel, name in zip(panels, ("recur, then attend", "attend, then recur"), strict=True):
    entropies, is_right = sureness(name)
    panel.hist(
        [entropies[is_right], entropies[~is_right]],
        np.linspace(0, 2.2, 23),
        stacked=True,
        label=["looks at a gold word", "looks elsewhere"],
        color=["#0072b2", "#d55e00"],
    )
    panel.set(xlabel="entropy of a row, nats", title=name)
    sharp = entropies < 0.5
    print(
        f"{name}: {sharp.sum()} rows below 0.5 nats, {np.mean(~is_right[sharp]):.3f} of them wrong"
    )
panels[0].set_ylabel("target words")
panels[0].legend()
plt.show()

# %% [markdown]
# A sharp look is not yet a right one. The first model looks sharply at few words, and then it is
# nearly always right: of its 121 rows below 0.5 nats a single one is wrong. The second has 1,579
# such rows, and one in five of them is wrong; in the picture above its *for* looks at *te* with nearly
# all its weight. How far a sharp row can be trusted differs from model to model, so measure it.
#
# ### Which words are linked wrongly?

# %%
misses = {}
for found, links, each in zip(every_look["recur, then attend"], gold, words, strict=True):
    for t, word in enumerate(each):
        misses.setdefault(word.lower(), []).append((int(found[t].argmax()), t) not in links)
often = {word: np.mean(each) for word, each in misses.items() if len(each) >= len(held_out) / 20}
worst = sorted(often, key=often.get, reverse=True)
for name, some in (("most", worst[:8]), ("least", worst[-8:])):
    print(f"{name} often wrong:", ", ".join(f"{word} {often[word]:.2f}" for word in some))

# %% [markdown]
# Small words and marks lead the list. Some are certain from what has been said, so that no look is
# needed: *ago* after *days*. Others may be known to more than one annotation: the encoder has read
# the sentence in both directions, and a verb's annotation can say that *no* stands before it.
# Nothing in training asks for the gold place, as long as the word comes out right. An alignment is
# not what the model was trained for.
#
# ## Is the map right at all?
#
# Before you ask what a map means, rule out that the program that drew it has a mistake. Each of
# the usual ones has a typical appearance, and a test.
#
# ### Off by one

# %%
plotting.diagram("shifted-by-one")

# %% [markdown]
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


moved_rates = {}
print(f"{'AER, rows moved by':24}{-1:>8}{0:>8}{1:>8}")
for name in ("recur, then attend", "attend, then recur"):
    moved_rates[name] = [
        alignment_error_rate([shifted_links(each, by) for each in every_look[name]], gold)
        for by in (-1, 0, 1)
    ]
    print(f"{name:24}" + "".join(f"{rate:8.3f}" for rate in moved_rates[name]))

# %% tags=["claims"]
assert all(np.argmin(each) == 1 for each in moved_rates.values())

# %% [markdown]
# ### Transposed

# %%
plotting.diagram("transposed")

# %% [markdown]
# Keras returns a row for each query, some papers draw a column for each. The sums tell: those over
# the source are 1, with `[START]` and `[END]`.

# %%
translation = translator.forced(held_out[0].context, held_out[0].target)
print("sums over the source:", translation.attention.sum(axis=1).round(3))
print("sums over the target:", translation.attention.sum(axis=0).round(3))

# %% [markdown]
# ### Every row alike

# %%
plotting.diagram("rows-alike")

# %% [markdown]
# How far is a row from the mean of the rows? In a map with stripes: not at all. The number is the
# *total variation distance*, $\frac12 \sum_j |\alpha_{tj} - \bar\alpha_j|$: 0 is the same, 1 as
# different as can be.

# %%
unlike = {}
for name, found in every_look.items():
    from_mean = [np.abs(each - each.mean(axis=0)).sum(axis=-1).mean() / 2 for each in found]
    unlike[name] = np.mean(from_mean)
    print(f"{name:24}{unlike[name]:.3f}")
np.testing.assert_allclose(unlike["mean"], 0, atol=1e-6)

# %% [markdown]
# The untrained network has stripes as well: with random weights its scores hardly differ. Nor need
# stripes in a trained model be a mistake of the program. While the package's translators were made, one
# Transformer ended like this: each row of its cross-attention attended to the same token, in every
# head, with an alignment error rate of 0.94 on news and encyclopaedia, where a diagonal has 0.63.
# Its loss fell all the same, from 2.65 to 1.74 nats a piece
# ([Quality](https://github.com/keras-attention/keras_attention/blob/main/docs/quality.md)). The
# loss alone does not show it; one map does.
#
# ### Weight on padding

# %%
plotting.diagram("weight-on-padding")

# %% [markdown]
# For this test, and for those below, we take the model apart: the encoder writes an annotation for
# each source word, the decoder's GRU turns the words fed into queries, and the attention looks.

# %%
model = translator.model
encoder, decoder = model.get_layer("encoder"), model.get_layer("decoder")
block, to_logits = decoder.get_layer("cross_attention"), decoder.get_layer("logits")
fed, said = target_ids[:, :-1], target_ids[:, 1:]

encoded = encoder(source_ids)
annotations, mask = encoded["memory"]["values"], encoded["memory"]["mask"]
embedded = decoder.get_layer("target_embedding")(fed)
queries, _ = decoder.get_layer("target_rnn")(embedded, initial_state=encoded["state"])


def look(queries, annotations, mask=None):
    """The weights (N, T, S) with which queries look at annotations."""
    _, weights = block.attention(
        queries, annotations, attention_mask=mask, return_attention_scores=True
    )
    return ops.convert_to_numpy(weights)


# %% [markdown]
# Now leave out the mask, and compare. Then pad the sentences with ten more zeros: with the mask, no
# weight may change.

# %%
weights = look(queries, annotations, mask)  # (N, T, S)
is_padding = source_ids == 0
for name, each in (("with", weights), ("without", look(queries, annotations))):
    share = (each * is_padding[:, None]).sum(axis=-1)[is_padding.any(axis=1)].mean()
    print(f"{name:8} the mask: {share:.3f} of a row's weight is on padding")

longer = encoder(np.pad(source_ids, ((0, 0), (0, 10))))["memory"]
np.testing.assert_allclose(
    look(queries, longer["values"], longer["mask"])[..., :-10], weights, atol=1e-5
)

# %% [markdown]
# ### Pieces of words

# %%
plotting.diagram("split-words")

# %% [markdown]
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
made_up = np.array([[0.70, 0.10, 0.10, 0.10], [0.34, 0.22, 0.22, 0.22], [0.28, 0.24, 0.24, 0.24]])

columns = np.stack([made_up[:, group].sum(axis=1) for group in context_groups], axis=1)
merged = np.stack([columns[group].mean(axis=0) for group in target_groups])
np.testing.assert_allclose(merged, plotting.merge_tokens(made_up, context_groups, target_groups))
print("pieces of 'apple' look most at:", [context[row.argmax()] for row in made_up[1:]])
print("the word 'apple' looks most at:", ["la", "manzana"][merged[1].argmax()])
print(merged.round(2))

# %% [markdown]
# **Exercise 2.** Four maps of one sentence by the trained model, in an order that you do not know.
# One is `"right"`, one is `"shifted"`, one is `"transposed"`, and in one all rows are `"alike"`.
# Which is which? Look at the picture, or compute with `maps["A"]`, (T, S) as drawn.

# %%
square = max(
    range(len(held_out)), key=lambda n: (len(words[n]) == len(source_words[n]), crossing[n])
)
right = every_look["recur, then attend"][square][:-1]
right = right / right.sum(axis=1, keepdims=True)
alike = np.repeat(right.mean(axis=0, keepdims=True), len(right), axis=0)
kinds = ["right", "shifted", "transposed", "alike"]
drawn = [right, np.roll(right, 1, axis=0), right.T, alike]
order = np.random.default_rng(9).permutation(4)
maps = {letter: drawn[n] for letter, n in zip("ABCD", order, strict=True)}
labels = {"context_tokens": source_words[square], "target_tokens": words[square]}
plotting.plot_attention_grid(maps, **labels, axis_names=corpora.LANGUAGES[::-1], columns=4)
plt.show()

# %%
diagnosis = {"A": None, "B": None, "C": None, "D": None}  # your answer: one kind for each letter

# %% tags=["check"]
truth = {letter: kinds[n] for letter, n in zip("ABCD", order, strict=True)}
correct = sum(diagnosis[letter] == kind for letter, kind in truth.items())
if correct == len(truth):
    print("Right: rows that sum to 1, rows that differ, and each link beside its own word.")
else:
    print(f"Not yet: {correct} of 4. Which sums are 1? Does the row of the full stop look at it?")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# diagnosis = {"A": "alike", "B": "right", "C": "transposed", "D": "shifted"}
# ```
#
# The rows of a transposed map do not sum to 1. Rows that are alike do not differ in any column. Of
# the two that are left, the right one has more weight on the gold links.
# </details>

# %% [markdown]
# ## What weights do not say
#
# An alignment error rate says whether the model looks where a human would link. Whether the output
# *hangs* on what was looked at is a question about the model, and it is answered by an
# intervention. The attention of this model is one step: queries and annotations are there before
# it, and what is read is added to the query and goes to the logits. So we can read with other
# weights and see what the model says then.


# %%
def say(queries, annotations, weights):
    """The probabilities (N, T, V) of the next words, if the annotations are read with weights."""
    read = ops.matmul(ops.convert_to_tensor(weights, "float32"), annotations)
    return ops.convert_to_numpy(ops.softmax(to_logits(block.after(queries, read))))


probabilities = say(queries, annotations, weights)
whole = ops.convert_to_numpy(ops.softmax(model({"context": source_ids, "target": fed})))
np.testing.assert_allclose(probabilities, whole, atol=1e-4)  # taken apart, it is the same model

# %% [markdown]
# For each word of the right translations we hide one source word from the attention, its weight
# set to 0 and the others made to sum to 1 again: the one that was looked at most, the one that
# was looked at least, or any. We also shuffle the weights of a row (Jain and Wallace's first
# test), and make them uniform.

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


# %%
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

# %% [markdown]
# How far does the output move? Measured as they do, by the total variation distance, this time of
# two distributions of words: $\frac12 \sum_w |p_w - p'_w|$.


# %%
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

# %% tags=["claims"]
assert moved["least-looked-at word hidden"].mean() < 0.01
assert moved["most-looked-at word hidden"].mean() > 3 * moved["any word hidden"].mean()
assert moved["weights shuffled"].mean() > 0.3

# %%
figure, panel = plt.subplots(figsize=(7, 3.4), layout="constrained")
names = [name for name in interventions if name != "nothing"]
for name, line in zip(names, ("-", "--", ":", "-.", (0, (1, 3))), strict=True):
    share = np.linspace(0, 1, len(moved[name]))
    panel.plot(share, np.sort(moved[name]), linestyle=line, label=name)
panel.set(
    xlabel="share of the target words",
    ylabel="distance of the output",
    title="How far the output moves, words sorted by it",
)
panel.legend(fontsize=8)
plt.show()

# %% [markdown]
# Which words are those at the left of the figure, and which at the right?

# %%
by_word = {}
for number, change in zip(said[is_word], moved["most-looked-at word hidden"], strict=True):
    by_word.setdefault(english.words[number], []).append(change)
means = {word: np.mean(each) for word, each in by_word.items() if len(each) >= len(held_out) / 20}
ordered = sorted(means, key=means.get)
for name, some in (("least", ordered[:8]), ("most", ordered[-8:])):
    print(f"moves {name}:", ", ".join(f"{word} {means[word]:.2f}" for word in some))

# %% tags=["claims"]
assert len(set(ordered[:8]) & set(worst[:8])) >= 4

# %% [markdown]
# The least-looked-at word is the control: only if hiding *it* does little does the line for the
# most-looked-at word mean something. Compare the two: what the weights point to is what the output
# hangs on, **on average**. The average hides two kinds of words. At the left of the figure stand
# those whose output does not move: words that the decoder knows from what has been said, like *ago*
# after *days*. It looks all the same, since weights sum to 1 whether there is anything to find or
# not. At the right stand those that come from the source and nowhere else, such as *today* and
# *yesterday*.
#
# Five of the eight words in the first list were also among the eight that are most often linked
# wrongly. So much of what the error rate counts are looks that do not matter.
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
    """Agreement of two orders, from -1 to 1."""
    i, j = np.triu_indices(len(a), 1)
    return np.mean(np.sign(a[i] - a[j]) * np.sign(b[i] - b[j]))


effects = np.zeros(weights.shape)
for place in range(weights.shape[-1]):
    changed = say(queries, annotations, hidden(np.full(weights.shape[:2], place)))
    effects[..., place] = distances(changed)

# %%
taus, same_top = [], []
for n, t in zip(*np.nonzero(is_word), strict=True):
    places = np.flatnonzero(is_source_word[n, t])
    taus.append(kendall(weights[n, t, places], effects[n, t, places]))
    same_top.append(weights[n, t, places].argmax() == effects[n, t, places].argmax())
low, middle, high = np.quantile(taus, (0.25, 0.5, 0.75))
print(f"Kendall's tau: median {middle:.2f}, middle half of the words from {low:.2f} to {high:.2f}")
print(f"the most-looked-at word is the one that matters most: {np.mean(same_top):.3f} of the words")

T, S = len(words[shown]), len(source_words[shown])
panels = {"what it looks at": weights, "what it hangs on": effects}
panels = {name: each[shown, :T, 1 : S + 1] for name, each in panels.items()}
plotting.plot_attention_grid(
    panels, **sides, vmax=1, columns=2, scale="weight; distance when hidden"
)
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
anew = encoder(blanked)["memory"]
one_query = ops.convert_to_tensor(ops.convert_to_numpy(queries)[rows, steps][:, None])
weights_anew = look(one_query, anew["values"], anew["mask"])
said_anew = say(one_query, anew["values"], weights_anew)[:, 0]

# %%
other_word = said_anew.argmax(-1) != probabilities[rows, steps].argmax(-1)
still_there = weights_anew[np.arange(len(rows)), 0, most[rows, steps]]
before = weights[rows, steps, most[rows, steps]]
print(f"annotation hidden: another word in {flipped['most-looked-at word hidden'].mean():.3f}")
print(f"word blanked:      another word in {other_word.mean():.3f}")
print(f"weight on its place: {before.mean():.3f} before, {still_there.mean():.3f} when blanked")

# %% tags=["claims"]
assert other_word.mean() > flipped["most-looked-at word hidden"].mean() + 0.1

# %% [markdown]
# The two interventions are different questions, and get different answers. With the annotation
# hidden, the neighbours' annotations may still tell what stood there; with the word blanked, nothing
# does, but the model is also shown a sentence of a kind that it has never seen, and other
# words than the blanked one may suffer. Leaving out a word is not a neutral act. A paper that says
# "we removed the word" has to say which of the two was done.
#
# ## Other weights, the same word
#
# **Exercise 3.** Jain and Wallace's second test: can you find weights that are far from the trained
# ones and say the same? Choose a word `t` of the sentence from the picture above, and give it other
# weights over the S + 2 places of the source, `[START]` and `[END]` included. Their distance from
# the trained weights should be at least 0.3, and that of the two outputs at most 0.05. The function
# tells you both; it takes one row of weights, or many at once.


# %%
def try_out(t, other):
    """Other weights (K, S + 2) for word t → their distance, and that of what is said, (K,)."""
    other = np.atleast_2d(other)
    drawn = np.zeros((1, len(other), weights.shape[-1]))
    drawn[0, :, : S + 2] = other
    same_query = ops.repeat(queries[shown : shown + 1, t : t + 1], len(other), axis=1)
    outputs = say(same_query, annotations[shown : shown + 1], drawn)[0]
    far = np.abs(drawn[0] - weights[shown, t]).sum(axis=-1) / 2
    return far, np.abs(outputs - probabilities[shown, t]).sum(axis=-1) / 2


print(*(f"{t}: {word}" for t, word in enumerate(words[shown])), sep="  ")

# %%
t, other = 0, None  # your answer: the number of a word, and S + 2 weights

# %% tags=["check"]
is_row = other is not None and np.shape(other) == (S + 2,)
if is_row and np.min(other) >= 0 and np.isclose(np.sum(other), 1, atol=1e-4):
    far, change = (float(each[0]) for each in try_out(t, other))
    found = far >= 0.3 and change <= 0.05
    print("Right:" if found else "Not yet:", f"weights {far:.2f} away, output {change:.3f} away")
else:
    print(f"Not yet: {S + 2} weights, none below 0, that sum to 1. Draw many at random.")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# drawn = np.random.default_rng(0).dirichlet(np.full(S + 2, 0.2), size=4000)
# t = min(range(T), key=lambda t: np.median(try_out(t, drawn)[1]))
# far, change = try_out(t, drawn)
# other = drawn[np.where(change <= 0.05, far, 0).argmax()]
# ```
#
# The word whose output moves least under random weights is one that the decoder knows without
# looking. Next, the same for every word of the sentence.
# </details>

# %%
draws = rng.dirichlet(np.full(S + 2, 0.2), size=4000)
for number, word in enumerate(words[shown]):
    far, change = try_out(number, draws)
    is_same = change <= 0.05
    farthest = far[is_same].max() if is_same.any() else 0.0
    print(f"{word:12}{is_same.mean():6.1%} say the same; the farthest is {farthest:.2f} away")

# %% [markdown]
# Where most random weights say the same, the decoder knew the word anyway; where few do, the word
# comes from the source. Even then some that are far away may be among the few, since an annotation
# knows of its neighbours. So "other weights give the same output" can be true of some words
# and false of others in one sentence. And Wiegreffe and Pinter's objection stands: each of these was
# picked for one word of one sentence; that says little about weights that one trained model
# could have for all of them.
#
# ## On real sentences
#
# The package comes with two translators that were trained on real sentences of daily life:
# `"spa-eng"`, a Transformer with three layers of four heads, and `"spa-eng-rnn"`. No grammar knows
# the links of real sentences, so people have to write them. These are eight sentences with their
# translations, linked by hand for this chapter after the rules of [the package's fifty
# pairs](https://github.com/keras-attention/keras_attention/blob/main/data/alignments/README.md):
# *to lock* is linked to all of *cerrar con llave*, *does* to the verb.

# %% quick="SPANISH = SPANISH[:2]"
SPANISH = [
    "El perro de mi vecino ladra toda la noche.",
    "Mi hermana mayor trabaja en un hospital.",
    "¿A qué hora sale el último tren?",
    "Ella perdió el paraguas en la estación.",
    "Todavía te espero.",
    "Me duele la cabeza.",
    "Se me olvidó cerrar la puerta con llave.",
    "¿Por qué no me llamaste ayer?",
]

# %% quick="ENGLISH = ENGLISH[:2]"
ENGLISH = [
    "My neighbor's dog barks all night.",
    "My older sister works in a hospital.",
    "What time does the last train leave?",
    "She lost her umbrella at the station.",
    "I'm still waiting for you.",
    "My head hurts.",
    "I forgot to lock the door.",
    "Why didn't you call me yesterday?",
]

# %% quick="LINKS = LINKS[:2]"
LINKS = [  # Spanish word-English word, counted from 0; a mark counts as a word
    "3-0 2-1 4-1 1-2 5-3 6-4 8-5 9-6",
    "0-0 1-2 2-1 3-3 4-4 5-5 6-6 7-7",
    "2-0 3-1 4-2 5-3 6-4 7-5 4-6 8-7",
    "0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-7",
    "2-0 0-1 2-2 2-3 1-4 3-5",
    "0-0 2-0 3-1 1-2 4-3",
    "1-0 0-1 2-1 3-2 3-3 6-3 7-3 4-4 5-5 8-6",
    "1-0 2-0 3-1 5-1 5-2 5-3 4-4 6-5 7-6",
]

# %%
real_gold = [{tuple(map(int, link.split("-"))) for link in each.split()} for each in LINKS]

shipped = Translator.load("spa-eng")
forced = shipped.forced(SPANISH, ENGLISH)  # the maps of these translations
for each in shipped(SPANISH, attention=False):
    print(f"{each.source:44}{each.text}")

# %% [markdown]
# Its own translations are mostly the same, but not all. The maps below are of the translations
# above, as before.
#
# `Translation.alignment` stands beside the weights, and is another kind of evidence. It leaves out
# one Spanish word at a time and asks which English words the model no longer expects:
# *leave-one-out*, this time of the input. The word is hidden as padding is, so that the other words
# keep their positions. It also shares out the logit of each English word among the Spanish words:
# *relevance*. Of both it asks both ways: a Spanish word should matter for this English word, and for
# it more than for others. Words come from words, and punctuation from punctuation. Then it reads the
# sentence as a whole. Neighbours mostly come from neighbours, say two hidden Markov models, one in
# each direction; what they agree on is kept.

# %%
dog = forced[0]
outlined = [(source + 1, target) for source, target in real_gold[0]]  # [START] is a column as well
dog.plot_alignment(links=outlined, outlined="words linked by hand")
plt.show()

# %% [markdown]
# The name of a panel says over how many words its rows are spread. Where a row is pale, the
# evidence is thin, and so is what can be said of it. *My* looks at *mi*, and half as much at *El*:
# the mean over twelve heads mixes what they look at. On the right *My* has nearly its whole row at
# *mi*: without it the model no longer expects *My*. Two kinds of evidence and the neighbours agree
# there, so the alignment is surer than any one of them.
#
# ### Which evidence is which
#
# | map | what it asks | models |
# | --- | --- | --- |
# | `attention` | Where does it look? The mean of all heads and layers. | all |
# | `rollout` | Where, if one follows the weights down through all layers? (Abnar and Zuidema, 2020) | Transformer |
# | `value-norms` | How long is what is read there? (Kobayashi et al., 2020) | multi-head |
# | `value-zeroing` | How far does the block's output turn without this value? (Mohebbi et al., 2023) | multi-head |
# | `gradient-attention` | Would a little more weight raise the word's probability? (Barkan et al., 2021) | multi-head |
# | `relevance` | How much of the word's logit does this input carry? (Achtibat et al., 2024) | Transformer |
# | `leave-one-out` | What does the word's log-probability lose without this source word? (Li et al., 2019) | all |
# | `alignment` | Both together, both ways, and the sentence as a whole. | all; of an RNN, attention in place of relevance |
#
# The first six look inside the model, leave-one-out asks it, and the alignment does both.
# `attributions.attribute` returns a translation with such a map in place of its weights, and
# `by_words` merges the pieces.

# %%
panels = {}
for method in attributions.METHODS:
    found = attributions.attribute(shipped, dog, method)
    panels[method] = attributions.by_words(found, found.attention)
english_words, spanish_words = attributions.written_words(dog)
plotting.plot_attention_grid(
    panels,
    spanish_words,
    english_words,
    links=real_gold[0],
    outlined="words linked by hand",
    axis_names=corpora.LANGUAGES[::-1],
    scale="part of the row",
    columns=4,
)
plt.show()

# %% [markdown]
# Eight maps of one sentence by one model, and they do not agree. All of them look like an
# explanation.
#
# ### Does the model need what a map names?
#
# Two measures serve for all of them. The alignment error rate asks whether a map names the words
# that a person would. The other asks the model: leave out the source word that a map names, and see
# how much of its log-probability the English word loses. A map that names at random is the floor, and
# the word whose loss is largest is the ceiling. Leave-one-out *is* that ceiling (but for words of
# several pieces, whose rows are scaled before they are merged), so this measure cannot praise it: it
# is there to compare the others.

# %%
lost = [attributions.leave_one_out(shipped, each) for each in forced]
table = {}
print(f"{'map':20}{'AER':>8}{'loss without the word it names, nats':>40}")
for method in attributions.METHODS:
    found = [attributions.attribute(shipped, each, method).attention for each in forced]
    by_words = [attributions.by_words(*each) for each in zip(forced, found, strict=True)]
    rate = alignment_error_rate([links_of(each) for each in by_words], real_gold)
    deleted = list(map(attributions.deletion, forced, found, lost))
    table[method] = rate, np.mean([each.named for each in deleted])
    print(f"{method:20}{rate:8.3f}{table[method][1]:40.2f}")

# %%
lengths = [each.shape[::-1] for each in by_words]
diagonal = [metrics.diagonal_alignment(*each) for each in lengths]
at_random = np.mean([each.at_random for each in deleted])
largest = np.mean([each.largest for each in deleted])
print(f"{'a diagonal':20}{alignment_error_rate(diagonal, real_gold):8.3f}")
print(f"{'any word':20}{'':8}{at_random:40.2f}")
print(f"{'the costliest word':20}{'':8}{largest:40.2f}")

# %% tags=["claims"]
assert table["alignment"][0] < table["rollout"][0] < table["gradient-attention"][0]
assert all(table[method][0] < 0.25 for method in ("attention", "relevance", "alignment"))
assert table["gradient-attention"][1] < table["rollout"][1] < table["attention"][1] <= largest

# %% [markdown]
# Eight sentences are an example, not a measurement. The package's documentation has the same two
# measures for [fifty pairs that nobody
# chose](https://github.com/keras-attention/keras_attention/blob/main/docs/quality.md#where-a-word-comes-from),
# held out from training and linked by hand:
#
# | map | Transformer: AER | loss, nats | RNN: AER | loss, nats |
# | --- | ---: | ---: | ---: | ---: |
# | a diagonal; any word | 0.351 | 0.68 | 0.351 | 0.62 |
# | attention | 0.167 | 3.94 | 0.215 | 3.36 |
# | rollout | 0.610 | 2.24 | | |
# | value norms | 0.169 | 3.92 | 0.210 | 3.42 |
# | value zeroing | 0.197 | 3.94 | 0.213 | 3.41 |
# | gradient × attention | 0.687 | 1.74 | 0.364 | 3.04 |
# | relevance | 0.092 | 4.33 | | |
# | leave-one-out; the costliest word | 0.177 | 4.43 | 0.115 | 3.91 |
# | alignment | 0.075 | 4.29 | 0.097 | 3.81 |
#
# Both measures sort the maps in much the same way. Rollout, made to follow information through
# layers, is less true than a diagonal, and so is gradient × attention, in both models: a good
# reason is not a measurement. In these sentences of daily life the plain weights are a fair
# alignment. On the longer sentences of news they are not: 0.581 for the Transformer, where a
# diagonal has 0.62 and the alignment 0.206 (same page).
#
# The Transformer and the RNN on our eight sentences:

# %%
rnn = Translator.load("spa-eng-rnn")
aligned = list(map(corpora.AlignedPair, SPANISH, ENGLISH, map(tuple, real_gold)))
for name, each in (("spa-eng", shipped), ("spa-eng-rnn", rnn)):
    measured = evaluation.alignment_error_rates(each, aligned)
    print(f"{name:12}attention {measured.attention:.3f}, alignment {measured.alignment:.3f}")

# %% [markdown]
# ### A link and a cause
#
# Where a map and the link by hand disagree, the map need not be wrong. Here are all words that
# leave-one-out links differently in the Transformer:

# %%
for translation, links in zip(forced, real_gold, strict=True):
    _, sources = attributions.written_words(translation)
    evidence = attributions.attribute(shipped, translation, "leave-one-out")
    for t, (word, named, part) in enumerate(attributions.named_words(evidence)):
        linked = [sources[s] for s, target in sorted(links) if target == t]
        if named not in linked:
            print(f"{word:10} from {named} ({part:.2f} of the row); by hand: {', '.join(linked)}")

# %% [markdown]
# By the rules *for* is linked to the verb *espero*, I am waiting for. Leave out *te*, and *for* loses
# most: without somebody to wait for, *still waiting* is all there is to say. And a full stop can
# hang on a word: with the word gone, the model expects another in the place of the full stop. The
# person was asked for the counterpart, the model for what its output hangs on. The alignment error
# rate counts this as an error, and each of the two answers is right for its question.
#
# ### Twelve heads
#
# The map of a Transformer is a mean over heads. Here are the four of the second layer, which in the
# documentation's table aligns best:

# %%
dog.plot_grid(by="heads", layer=2, columns=4)
plt.show()

# %% [markdown]
# Before *My* is said, head 1 looks at *mi*, head 4 at *El*, and heads 2 and 3 spread their weight over
# the beginning; the mean over all heads has some of each. And before `[END]`, for which there is nothing to find, all four look
# at `[START]`. That can be right:

# %%
plotting.diagram("weight-on-the-end")

# %% [markdown]
# Weight that has nothing to find goes to a place where it does no harm. How much of it lies on
# `[START]` and `[END]`? And what does the translation lose if a head reads nothing at all
# (Michel et al., 2019)?

# %%
at_ends = np.zeros((3, 4))
for each in forced:
    heads = np.stack(each.weights["cross_attention"])  # (layers, heads, T, S)
    at_ends += heads[..., [0, -1]].sum(axis=-1).mean(axis=-1) / len(forced)
losses = np.mean([attributions.head_ablation(shipped, each) for each in forced], axis=0)
for name, numbers in (("on [START] and [END]", at_ends), ("loss without it, nats", losses)):
    print(f"{name}; a row is a layer, a column a head")
    print(numbers.round(2))

# %% [markdown]
# About a fifth of all weight rests at the ends, in every layer. And no single head is needed:
# whichever one reads nothing, the translation loses at most 0.02 nats a token. So a picture of one
# head, however clear, does not show what the translation hangs on. The others can do its work.
#
# ### With uniform weights
#
# At last Jain and Wallace's test on the real model: every head of every layer reads with uniform
# weights, or with shuffled ones. How far does each word move?

# %%
uniform = attributions.uniform_attention(shipped, dog)
shuffled_weights = attributions.permuted_attention(shipped, dog)
print(f"{'':12}{'uniform':>8}{'shuffled':>10}")
for token, *numbers in zip(dog.target_tokens, uniform, shuffled_weights, strict=True):
    print(f"{token:12}{numbers[0]:8.2f}{numbers[1]:10.2f}")

# %% [markdown]
# The words that carry the meaning come from the source and move far. The full stop hardly moves:
# the decoder knows it from what has been said. That is the finding from the small model once more,
# on real sentences.
#
# ### A sentence of your own
#
# Write any Spanish sentence and run the cells down to the interactive page again.

# %%
sentence = "Hace mucho frío en invierno."

own = shipped(sentence)
print(own.source, "→", own.text)
print(own.remark_on_unknown or "the model knows every word")
own.plot_alignment()
plt.show()

# %% [markdown]
# What each map names, how much of its row that is, and what your translation loses without it:

# %%
evidence = {name: attributions.attribute(shipped, own, name) for name in ("attention", "alignment")}
looked, traced = (attributions.named_words(each) for each in evidence.values())
for (word, *look_at), (_, *come_from) in zip(looked, traced, strict=True):
    print(f"{word:12} looks at {look_at[0]:12}{look_at[1]:.2f}", end="   ")
    print(f"comes from {come_from[0]:12}{come_from[1]:.2f}")

own_losses = attributions.leave_one_out(shipped, own)
for name, each in evidence.items():
    score = attributions.deletion(own, each.attention, own_losses)
    print(f"without the word that the {name} names: {score.named:.2f} nats", end=", ")
    print(f"any word {score.at_random:.2f}, costliest {score.largest:.2f}")

# %% [markdown]
# The interactive page has every layer and head, and any other evidence that you hand it. Point at a
# word to see its row.

# %%
methods = ("alignment", "relevance", "value-norms")
others = {name: attributions.attribute(shipped, own, name) for name in methods}
own.view(evidence={name: each.weights["cross_attention"] for name, each in others.items()})

# %% [markdown]
# **Exercise 4.** Find another Spanish sentence in whose translation a word *looks* at one word and
# *comes from* another: the two maps name different words, and the alignment has at least 0.8 of its
# row there. Idioms are a good place to look, and words that move far.

# %%
mine = None  # your answer: a string

# %% tags=["check"]
differing = []
if isinstance(mine, str) and mine.strip():
    found = shipped(mine)
    maps = [attributions.attribute(shipped, found, name) for name in ("attention", "alignment")]
    both = zip(*map(attributions.named_words, maps), strict=True)
    differing = [(*a, b[1]) for a, b in both if a[1] != b[1] and b[2] >= 0.8]
for word, seen, _, source in differing:
    print(f"Right: in {found.text!r} “{word}” looks at “{seen}” and comes from “{source}”.")
if not differing:
    print("Not yet: the two maps name the same words, or the evidence is thin. Try another.")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# mine = "Se me olvidó cerrar la puerta con llave."
# ```
#
# *I* looks at *olvidó* more than at any other word, which has the person of the verb. Yet it is
# without *me* that *I* loses its probability.
# </details>

# %% [markdown]
# ## What to write under a heat map
#
# - *The model looks at …*: what a map shows, if the mask, the rows and the orientation are right.
# - *The model aligns … with …*: after an alignment error rate, beside that of a diagonal.
# - *The output hangs on …*: after an intervention, such as those above. Say which one.
# - *The model says … because …*: no map says that.
#
# **Exercise 5.** Five captions. What does each need before it may be printed: `"a map"` that is
# drawn rightly, a `"rate"` against gold links, an `"intervention"`, or is it a sentence that
# `"nothing"` in this chapter supports?

# %%
captions = {
    "A": "At 'barks' the largest weight lies on 'ladra'.",
    "B": "The attention finds the counterpart of most words.",
    "C": "Without 'mi' the model gives 'My' a far smaller probability.",
    "D": "The model says 'dog' because it understands that the neighbour owns one.",
    "E": "The translation can do without head 2 of layer 3.",
}
needs = {"A": None, "B": None, "C": None, "D": None, "E": None}  # your answer

# %% tags=["check"]
wanted = ["a map", "rate", "intervention", "nothing", "intervention"]
open_captions = [
    letter for letter, need in zip("ABCDE", wanted, strict=True) if needs[letter] != need
]
if open_captions:
    print("Not yet: look again at", ", ".join(open_captions))
else:
    print("Right: say what was measured, and no more.")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# needs = {"A": "a map", "B": "rate", "C": "intervention", "D": "nothing", "E": "intervention"}
# ```
#
# A is what a map is. B speaks of counterparts, which only gold links know, and of most words, which
# is a rate. C and E say what happens if something is taken away, so it has to be taken away. D
# speaks of a reason and of understanding; no weight and no loss of probability shows either.
# </details>

# %% [markdown]
# Next: [10 · On a TPU: `model.fit`, what compiles and what does not](10_on_a_tpu.ipynb). In the
# documentation:
# [Why is my heat map wrong?](https://github.com/keras-attention/keras_attention/blob/main/docs/heat-maps.md)

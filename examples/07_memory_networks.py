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
# # 7 · Questions about stories
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/keras-attention/keras_attention/blob/main/examples/07_memory_networks.ipynb)
#
# One look into a memory finds what is like the question. A second look, with what the first one
# found added to the question, finds what follows from it. *Runs in about three minutes on a CPU; no
# accelerator needed.*

# %% tags=["install"]
# The text of this cell comes from install.py.

# %%
# On a TPU runtime Keras needs JAX: take the # away from these two lines, before Keras is imported.
# import os
# os.environ["KERAS_BACKEND"] = "jax"

import math
import os
from itertools import pairwise

import keras
import matplotlib.pyplot as plt
import numpy as np
from keras import ops

from keras_attention import layers, models, plotting
from keras_attention.lab import tasks
from keras_attention.lab.tasks.stories import longest, split_words

QUICK = bool(os.environ.get("KERAS_ATTENTION_QUICK"))  # set by the tests: fewer steps
keras.utils.set_random_seed(0)

# %% [markdown]
# ## A story and a question
#
# The stories are like those of the second task of bAbI (Weston et al., 2015): people walk about,
# and carry things along. The package makes as many as one wants. If you have bAbI's own files, put
# the path of their folder here.

# %%
BABI = None  # or a folder, such as "tasks_1-20_v1-2/en-10k"
TASK = 2
QUESTIONS, TESTED = (512, 128) if QUICK else (10_000, 1_000)

if BABI:
    questions, tested = tasks.load_babi(BABI, TASK)
else:
    questions = tasks.generate_stories(QUESTIONS, TASK, np.random.default_rng(0))
    tested = tasks.generate_stories(TESTED, TASK, np.random.default_rng(1))


def tell(question):
    """Print a story, the question, and the facts that the answer follows from."""
    for number, sentence in enumerate(question.story):
        print("  *" if number in question.facts else "   ", number + 1, " ".join(sentence))
    print(f"{' '.join(question.words)}?  {question.answer}   (* the facts)")


tell(next(question for question in tested if len(question.story) >= 8))

# %% [markdown]
# The answer takes two facts: who has the thing, or left it somewhere, and where that person was
# then. And the second of them, which holds the answer, says nothing of the thing that is asked
# for:

# %%


def answering_fact(question):
    """Return the position of the fact that holds the answer, and that of the other one."""
    holds = [question.answer in question.story[fact] for fact in question.facts]
    return question.facts[holds.index(True)], question.facts[holds.index(False)]


facts = [answering_fact(question) for question in tested]
for name, column in (("the fact that holds the answer", 0), ("the other fact", 1)):
    named = [q.words[-1] in q.story[fact[column]] for q, fact in zip(tested, facts, strict=True)]
    print(f"{name} names the thing asked for in {100 * np.mean(named):.0f} % of the questions")

# %% [markdown]
# So a single look that compares sentences with the question cannot tell the right one from the
# others. What it can find is the other fact, and there stands the name to look for next.
#
# ## What the paper says
#
# Sukhbaatar, Szlam, Weston and Fergus (2015), *End-to-end memory networks*. The sentences of a
# story are the memory. Each is a bag of embedded words, once as a key $m_i$ and once as a value
# $c_i$; the question is embedded in the same way, as $u$. A **hop** is attention by the dot
# product, whose read is *added to the query*; after some hops the last query says the answer.
# Nobody tells the network which sentences matter: question, story and answer are all it gets.
#
# The earlier memory networks had to be told the facts in training, for they chose one sentence in
# each hop, and a choice has no gradient. The softmax is what makes it end-to-end.
#
# ## The equations
#
# Sections 2 and 4.1 of the paper. Sentence $i$ of $S$ has the words $x_{i1}\dots x_{iJ}$; $A$ and
# $C$ are embeddings, $V\times D$ tables here; $T_A$ and $T_C$ are embeddings of *when* a sentence
# was told, $S\times D$ tables whose row 0 is for the latest sentence:
#
# $$m_i = \sum_j l_j\odot A_{x_{ij}} + T_A(i) \qquad
# c_i = \sum_j l_j\odot C_{x_{ij}} + T_C(i) \qquad
# u = \sum_j l_j\odot B_{q_j}$$
#
# $$p = \mathrm{softmax}(M u) \qquad u \leftarrow u + \sum_i p_i\,c_i \qquad \text{logits} = W u$$
#
# $l_{kj} = (1 - j/J) - (k/D)(1 - 2j/J)$ weights number $k$ of word $j$, so that the order of the
# words is not lost in the sum. The tables are shared between neighbouring hops: what are values in
# one are keys in the next, $A^{k+1}=C^k$, with $B=A^1$ and $W=C^K$ for $K$ hops.
#
# The whole network in NumPy:


# %%
def softmax(scores):
    """Turn scores (S,) into weights that sum to 1."""
    return np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()


def bag(ids, table):
    """Make one vector (D,) of a sentence, ids (J,): the sum of its words, weighted by l."""
    words = table[ids[ids > 0]]
    j, k = (np.arange(1, size + 1) / size for size in words.shape)
    return (((1 - j)[:, None] - k * (1 - 2 * j)[:, None]) * words).sum(axis=0)


def answer(question, story, tables, times):
    """Return logits (V,) and weights (hops, S); `tables` are A¹, C¹, …, C^K, the latest first."""
    memory = [
        np.stack([bag(sentence, table) for sentence in story]) + time[: len(story)]
        for table, time in zip(tables, times, strict=True)
    ]
    u, looked = bag(question, tables[0]), []
    for keys, values in pairwise(memory):
        looked.append(softmax(keys @ u))
        u = u + looked[-1] @ values
    return tables[-1] @ u, np.stack(looked)


# %% [markdown]
# The same by the package. `story_arrays` turns words into ids, `build_memory_network` has the
# layers `BagOfWords`, `MemoryTimes` and `MemoryHop`, and the view `memory_hops` shows the weights
# of every hop.

# %%
UNITS, BATCH = 20, 128
SENTENCES = min(50, max(len(question.story) for question in questions + tested))
words = tasks.learn_words(questions)
length = max(longest(questions), longest(tested))
arrays = tasks.story_arrays(tested, words, SENTENCES, length)


def look(model, arrays):
    """Return logits (N, V), and where each hop looked, (N, hops, S)."""
    seen = models.memory_hops(model)({"question": arrays.words, "story": arrays.story})
    return ops.convert_to_numpy(seen["logits"]), ops.convert_to_numpy(seen["weights"])


untrained = models.build_memory_network(len(words), UNITS, hops=3, memory_size=SENTENCES)
few = arrays._replace(story=arrays.story[:5], words=arrays.words[:5])
logits, weights = look(untrained, few)
tables = [ops.convert_to_numpy(untrained.get_layer(f"sentences_{k}").table) for k in range(4)]
times = [ops.convert_to_numpy(untrained.get_layer(f"times_{k}").embeddings) for k in range(4)]
for row in range(5):
    told = few.story[row][few.story[row].any(axis=1)]
    our_logits, our_weights = answer(few.words[row], told, tables, times)
    np.testing.assert_allclose(our_logits, logits[row], atol=1e-5)
    np.testing.assert_allclose(our_weights, weights[row, :, : len(told)], atol=1e-5)
print(f"logits of {len(words)} words, weights of {weights.shape[1]} hops: equal")

# %% [markdown]
# One hop by itself is the layer `MemoryHop`, with vectors of your own for the sentences:

# %%
rng = np.random.default_rng(0)
u, m, c = (rng.normal(size=shape).astype("float32") for shape in ((4,), (6, 4), (6, 4)))
after, p = layers.MemoryHop()(u[None], value=c[None], key=m[None], return_attention_scores=True)
np.testing.assert_allclose(softmax(m @ u), ops.convert_to_numpy(p)[0, :, 0], atol=1e-5)
np.testing.assert_allclose(u + softmax(m @ u) @ c, ops.convert_to_numpy(after)[0], atol=1e-5)

# %% [markdown]
# ## Learning, with three hops and with one
#
# Three networks with the same training: three hops; one hop; and three hops without the embeddings
# of the times. As in the paper (section 4.2) training begins without the softmax, which is easier
# to get going, and puts it in when that gets no better; and times are skipped at random, as if
# empty sentences stood between.

# %%
EPOCHS = (1, 1) if QUICK else (15, 20)  # at most, without the softmax; with it
RATE = 0.01


def split(questions):
    """Return arrays to train with, whole batches, and a tenth to validate with."""
    held = max(len(questions) // 10, 1)
    kept = (len(questions) - held) // BATCH * BATCH
    parts = questions[held : held + kept], questions[:held]
    return [tasks.story_arrays(part, words, SENTENCES, length) for part in parts]


def train(model, training, validation):
    """Train in two parts; return the accuracy in validation after each epoch."""
    model.compile(
        keras.optimizers.Adam(RATE, global_clipnorm=40.0),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
        jit_compile=not QUICK and keras.backend.backend() != "torch",
    )
    stop = keras.callbacks.EarlyStopping("val_loss", patience=3)
    fall = keras.callbacks.LearningRateScheduler(
        lambda epoch: RATE * (1 + math.cos(math.pi * epoch / EPOCHS[1])) / 2
    )
    accuracies = []
    for linear, epochs, callback in ((True, EPOCHS[0], stop), (False, EPOCHS[1], fall)):
        models.set_linear(model, linear)
        history = model.fit(
            {"question": training.words, "story": training.story},
            training.answer,
            batch_size=BATCH,
            epochs=epochs,
            validation_data=(
                {"question": validation.words, "story": validation.story},
                validation.answer,
            ),
            validation_batch_size=len(validation.answer),
            verbose=0,
            callbacks=[callback],
        )
        accuracies += history.history["val_accuracy"]
    return accuracies


contenders = {
    "three hops": {"hops": 3},
    "one hop": {"hops": 1},
    "three hops, no times": {"hops": 3, "times": False},
}
training, validation = split(questions)
trained, curves, right, looked = {}, {}, {}, {}
for name, options in contenders.items():
    keras.utils.set_random_seed(0)
    model = models.build_memory_network(len(words), UNITS, memory_size=SENTENCES, **options)
    accuracies = train(model, training, validation)
    curves[name] = range(1, len(accuracies) + 1), accuracies
    logits, looked[name] = look(model, arrays)
    trained[name], right[name] = model, logits.argmax(axis=-1) == arrays.answer
    print(f"{name:22} {100 * right[name].mean():5.1f} % of {len(tested):,} new questions right")

if not QUICK:
    assert right["three hops"].mean() > 0.85
    assert right["one hop"].mean() < 0.6
    assert right["three hops, no times"].mean() < 0.8

# %%
plotting.plot_curves(
    curves,
    xlabel="epoch; the first ones without the softmax",
    ylabel="accuracy in validation",
    title="Questions that take two facts",
)
plt.show()

# %% [markdown]
# ## Hop by hop
#
# A story in which the person of the answer has been in several places, with the facts outlined.
# First the network with three hops, then the one with a single hop.


# %%
def moves(row):
    """Count how many sentences are about the person of the answer; -1 for stories too long."""
    question, (answering, _) = tested[row], facts[row]
    who = question.story[answering][0]
    return sum(s[0] == who for s in question.story) if len(question.story) <= 10 else -1


def draw(question, weights, said, expected=None, outlined=()):
    """Draw where each hop looked, the story told from its beginning."""
    count = min(len(question.story), SENTENCES)
    plotting.plot_hops(
        [" ".join(sentence) for sentence in question.story[-count:]],
        weights[:, :count][:, ::-1],
        question=" ".join(question.words) + "?",
        answer=said,
        expected=expected,
        facts=outlined,
    )
    plt.show()


rows = np.flatnonzero(right["three hops"] & ~right["one hop"])
row = max(rows if len(rows) else range(len(tested)), key=moves)
for name in ("three hops", "one hop"):
    one = arrays._replace(story=arrays.story[[row]], words=arrays.words[[row]])
    said = words[look(trained[name], one)[0][0].argmax()]
    draw(tested[row], looked[name][row], said, tested[row].answer, tested[row].facts)

# %% [markdown]
# The three hops find the facts that the answer follows from, though no example ever said which
# sentences these are. The single hop has no use for the fact that names the thing, since the
# answer does not stand there: it spreads over the sentences that name a place, any of which might
# hold the answer, and guesses.
#
# ## What the times are for
#
# Attention knows no order: a sum over sentences is the same however they are shuffled. Without
# $T_A$ and $T_C$ the network sees a heap of sentences, and cannot know that the second move of a
# person cancels the first. That is no matter of training, it is exact:

# %%
reversed_story = arrays.story.copy()
for sentences in reversed_story:
    count = sentences.any(axis=1).sum()
    sentences[:count] = sentences[:count][::-1].copy()
backwards = arrays._replace(story=reversed_story)
for name in ("three hops", "three hops, no times"):
    forth, back = (look(trained[name], told)[0] for told in (arrays, backwards))
    same = (forth.argmax(axis=-1) == back.argmax(axis=-1)).mean()
    print(f"{name:22} {100 * same:5.1f} % of the answers are the same if a story is told backwards")
    if name == "three hops, no times":
        np.testing.assert_allclose(forth, back, atol=1e-3)

# %% [markdown]
# This is what the lecture notes mean by a separate embedding for each position of the input.
# Sinusoids, which the Transformer adds to its words, are the same remedy for the same ailment.
#
# ## Your own story
#
# People, places, things and verbs as above; any story from them will do.

# %%
STORY = """
John went to the kitchen.
John picked up the milk.
Mary moved to the garden.
John travelled to the office.
John dropped the milk.
John went back to the garden.
"""
QUESTION = "Where is the milk?"


def ask(model, story, question):
    """Print the answer, and draw where the model looked."""
    story = tuple(split_words(line) for line in story.strip().splitlines())
    asked = tasks.Question(story, split_words(question), answer="", facts=())
    logits, weights = look(model, tasks.story_arrays([asked], words, SENTENCES, length))
    said = words[logits[0].argmax()]
    print(question, said)
    draw(asked, weights[0], said)


ask(trained["three hops"], STORY, QUESTION)

# %% [markdown]
# ## Questions
#
# **Why several hops?** A hop compares all sentences with *one* query. Where the answer stands in a
# sentence that shares nothing with the question, no such comparison can find it; the chain
# question → first fact → second fact has to be gone link by link, and each link needs the query
# that the one before has made. It is a small piece of reasoning, and an explicit memory is what
# makes it possible: the facts lie apart, so one can be fetched to look for the next.
#
# **Why more hops than facts?** Two hops can be enough for two facts. A third one makes it easier
# to learn: the network need not use it, and can look twice where it is unsure.
#
# **Why is the question added, and not replaced?** As with every residual: what was asked stays
# known while something is added to it, and a gradient reaches the first hop without going through
# all the others.
#
# **Which parts are trained?** The tables of the words and of the times, nothing else: a hop itself
# has no weights.
#
# ## Exercise
#
# 1. Which hop finds which fact? Count, for each hop, how often its largest weight lies on the fact
#    that holds the answer, and how often on the other one.
# 2. "John follows Mary" and "Mary follows John" have the same words. Show with `BagOfWords` that
#    the sum of their words is the same, and that it is not once words are weighted by where they
#    stand.
#
# ## Worked answer

# %%
ages = np.array(
    [[len(q.story) - 1 - fact for fact in pair] for q, pair in zip(tested, facts, strict=True)]
)  # the memory has the latest sentence first
print("largest weight on     the other fact   the fact that holds the answer")
for hop, places in enumerate(looked["three hops"].argmax(axis=-1).T, start=1):
    on_answer, on_other = (100 * (places[:, None] == ages).mean(axis=0)).round(1)
    print(f"hop {hop:<21} {on_other:10.1f} % {on_answer:23.1f} %")

# %% [markdown]
# The order in which the facts are found is the order in which they follow from each other: the
# fact about the thing comes no later than the one about the place.

# %%
sentences = np.array([[1, 2, 3], [3, 2, 1]])  # 1: John, 2: follows, 3: Mary
for encode in (False, True):
    bags = layers.BagOfWords(vocabulary_size=4, units=5, encode_positions=encode)
    john, mary = ops.convert_to_numpy(bags(sentences))
    apart = np.abs(john - mary).max()
    print(f"encode_positions={encode!s:5}: the two sentences differ by {apart:.3f}")
    assert (apart > 1e-3) == encode

# %% [markdown]
# `keras-attention lab babi --task 2` is this experiment on the command line, with `--data` for
# bAbI's own files.
#
# Next: [8 · Captions from frames, and an eye that moves](08_captions_and_glimpses.ipynb). In the
# documentation:
# [Which attention should I use?](https://github.com/keras-attention/keras_attention/blob/main/docs/choosing.md),
# and the pages of `layers.MemoryHop`, `layers.BagOfWords`, `layers.MemoryTimes` and
# `models.build_memory_network`.

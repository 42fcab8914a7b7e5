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
# found added to the question, finds what follows from it. You build the end-to-end memory network
# cell by cell with the functional API of Keras, set its weights by hand, train it, and see what each
# hop looks at. *Runs in about two minutes on a CPU; no accelerator needed.*

# %% tags=["install"]
# The text of this cell comes from install.py.

# %%
import os
from itertools import pairwise

# On a TPU runtime Keras needs JAX: take the # away from the next line.
# os.environ["KERAS_BACKEND"] = "jax"
# TPUs and GPUs round what they multiply; for the comparisons with NumPy they must not.
os.environ["JAX_DEFAULT_MATMUL_PRECISION"] = "highest"
os.environ["NVIDIA_TF32_OVERRIDE"] = "0"

import keras
import matplotlib.pyplot as plt
import numpy as np
from keras import ops

from keras_attention import layers, models, plotting
from keras_attention.lab import tasks

keras.utils.set_random_seed(0)

# %% [markdown]
# ## A story and a question
#
# The stories are like those of the second task of bAbI (Weston et al., 2015): people walk about and
# carry things along. The package makes as many as you want; long ones are left out here, so that
# training is quick.

# %% quick="QUESTIONS, TESTED = 700, 200"
QUESTIONS, TESTED = 35_000, 1_700  # to learn from, and to test with, before long ones are left out
SENTENCES = 16  # of the longest story


# %%
def tell_stories(number, seed):
    """Return questions about stories that are not too long."""
    drawn = tasks.generate_stories(number, 2, np.random.default_rng(seed))
    return [question for question in drawn if len(question.story) <= SENTENCES]


questions = tell_stories(QUESTIONS, seed=0)
validated, tested = (tell_stories(TESTED, seed) for seed in (1, 2))
# With bAbI's own files: questions, tested = tasks.load_babi("tasks_1-20_v1-2/en-10k", 2)
print(f"{len(questions):,} questions to learn from, {len(tested):,} to test with")


# %%
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
# **Exercise 1.** Answer by two looks in plain Python. A `question` has `question.story`, a tuple of
# sentences, the oldest first, each a tuple of words; and `question.words`, whose last word is the
# thing. Mind what it means that somebody dropped it.

# %%
PLACES = {question.answer for question in questions}
LEAVE = {"dropped", "left", "put", "discarded"}  # second words of sentences that leave a thing


def by_two_looks(question):
    return None  # your answer: a place


# %% tags=["check"]
share = np.mean([by_two_looks(question) == question.answer for question in tested])
if share == 1:
    print(f"Right. All {len(tested):,} questions are answered.")
else:
    print(
        f"Not yet. {100 * share:.1f} % are answered. First look for the latest sentence that names"
    )
    print("the thing; a thing that was left is where the person was before that sentence.")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# def by_two_looks(question):
#     thing, story = question.words[-1], list(enumerate(question.story))
#     number, (who, did, *_) = [each for each in story if thing in each[1]][-1]
#     told = question.story[:number] if did in LEAVE else question.story
#     return [s[-1] for s in told if s[0] == who and s[-1] in PLACES][-1]
# ```
#
# Two looks, and the order counts in both: the *latest* sentence about the thing, and the person's
# latest move, or the latest before the thing was left. A network has to learn all of this from
# questions and answers.
#
# </details>

# %% [markdown]
# ## What the paper says
#
# Sukhbaatar, Szlam, Weston and Fergus (2015), *End-to-end memory networks*. The sentences of a
# story are the memory. Each is a bag of embedded words, once as a key $m_i$ and once as a value
# $c_i$; the question is embedded in the same way, as $u$. A **hop** is attention by the dot
# product, whose read is *added to the query*; after some hops the last query says the answer.
# Nobody tells the network which sentences matter: question, story and answer are all it gets.
#
# The earlier memory networks had to be told the facts in training, for they chose one sentence in
# each hop, and a choice has no gradient. The softmax is what makes it end-to-end: each hop looks
# into a soft dictionary.

# %%
plotting.diagram("soft-dictionary")

# %% [markdown]
# **Exercise 2.** How soft? Six keys are one-hot, and the query is one of them times a `strength`.
# Find the smallest strength, rounded up to a tenth, that gives the equal key at least 0.99 of the
# weight.

# %%
strength = None  # your answer


# %% tags=["check"]
def weight_of_the_equal_key(strength):
    return np.exp(strength) / (np.exp(strength) + 5)


if strength is None:
    print("Not yet. The scores are the strength at one key, and 0 at the five others.")
elif weight_of_the_equal_key(strength - 0.11) < 0.99 <= weight_of_the_equal_key(strength):
    print(f"Right. The equal key has {weight_of_the_equal_key(strength):.4f} of the weight.")
else:
    print(f"Not yet. The equal key has {weight_of_the_equal_key(strength):.4f} of the weight.")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# strength = float(np.ceil(10 * np.log(0.99 * 5 / 0.01)) / 10)
# ```
#
# $e^\beta / (e^\beta + 5) \ge 0.99$ for $\beta \ge \ln 495 = 6.2$. The network below has no such
# number: it makes its vectors as long as it wants them.
#
# </details>

# %% [markdown]
# ## The equations
#
# Sections 2 and 4.1 of the paper:
#
# $$m_i = \sum_j l_j\odot A_{x_{ij}} + T_A(i) \qquad
# c_i = \sum_j l_j\odot C_{x_{ij}} + T_C(i) \qquad
# u = \sum_j l_j\odot B_{q_j}$$
#
# $$p = \mathrm{softmax}(M u) \qquad u \leftarrow u + \sum_i p_i\,c_i \qquad \text{logits} = W u$$
#
# | letter | what it is | shape in a batch |
# | --- | --- | --- |
# | $x_{ij}$ | word $j$ of sentence $i$; sentence 0 is the latest | (B, S, J) |
# | $q_j$ | word $j$ of the question | (B, J) |
# | $A$, $B$, $C$, $W$ | embeddings, a row for each of V words | (V, D) |
# | $T_A(i)$, $T_C(i)$ | embeddings of *when* a sentence was told | (N, D), N times |
# | $l_j$ | weights of word $j$: $l_{kj} = (1 - j/J) - (k/D)(1 - 2j/J)$ for number $k$ | (J, D) |
# | $m_i$, $c_i$; $M$ has the rows $m_i$ | keys and values | (B, S, D) |
# | $u$ | the question, then what follows from it | (B, D) |
# | $p$ | weights of one hop | (B, S) |
#
# The embeddings are shared between neighbouring hops ("adjacent" tying): what are values in one hop
# are keys in the next, $A^{k+1}=C^k$, with $B=A^1$ and $W=C^K$ for $K$ hops. The whole network in
# NumPy:


# %%
def softmax(scores):
    """Turn scores (S,) into weights that sum to 1."""
    return np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()


def bag(ids, table):
    """Make one vector (D,) of a sentence, ids (J,): the sum of its words, weighted by l."""
    words = table[ids[ids > 0]]
    j, k = (np.arange(1, size + 1) / size for size in words.shape)
    return (((1 - j)[:, None] - k * (1 - 2 * j)[:, None]) * words).sum(axis=0)


# %%
def answer(question, story, tables, times):
    """Return logits (V,) and weights (K, S); `tables` are A¹, C¹, …, C^K, the latest first."""
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
# ### The same by the package
#
# The layer `BagOfWords` is an embedding and the sum over the words. Without the weights $l$ it is a
# bag indeed: "John follows Mary" and "Mary follows John" are the same.

# %%
sentences = np.array([[1, 2, 3, 0], [3, 2, 1, 0]])  # 1: John, 2: follows, 3: Mary, 0: padding
for encode in (False, True):
    bags = layers.BagOfWords(vocabulary_size=4, units=5, encode_positions=encode)
    john, mary = ops.convert_to_numpy(bags(sentences))
    apart = np.abs(john - mary).max()
    print(f"encode_positions={encode!s:5}: the two sentences differ by {apart:.3f}")
np.testing.assert_allclose(john, bag(sentences[0], ops.convert_to_numpy(bags.table)), atol=1e-5)

# %% [markdown]
# The layer `MemoryHop` is one hop, with vectors of your own for the sentences. It has no weights.

# %%
rng = np.random.default_rng(0)
u, m, c = (rng.normal(size=shape).astype("float32") for shape in ((4,), (6, 4), (6, 4)))
after, p = layers.MemoryHop()(u[None], value=c[None], key=m[None], return_attention_scores=True)
np.testing.assert_allclose(softmax(m @ u), ops.convert_to_numpy(p)[0, :, 0], atol=1e-5)
np.testing.assert_allclose(u + softmax(m @ u) @ c, ops.convert_to_numpy(after)[0], atol=1e-5)
print("query", after.shape, "weights", p.shape)

# %% [markdown]
# ## The memory network, cell by cell
#
# Now the whole model, with the functional API: `keras.Input` makes a symbolic tensor, every layer
# called on one makes another, and `keras.Model` joins what lies between inputs and outputs.

# %%
plotting.diagram("hops")

# %% [markdown]
# ### The words
#
# `story_arrays` turns words into ids, the latest sentence first; 0 is padding.

# %%
words = tasks.learn_words(questions)
ids = {word: number for number, word in enumerate(words)}
LENGTH = max(len(sentence) for q in questions for sentence in (q.words, *q.story))


def as_arrays(questions):
    return tasks.story_arrays(questions, words, SENTENCES, LENGTH)


def as_inputs(arrays):
    return {"question": arrays.words, "story": arrays.story}


test = as_arrays(tested)
print("question", test.words.shape, "story", test.story.shape, "answer", test.answer.shape)

# %% [markdown]
# ### The inputs, and what was told
#
# Stories have different lengths. `told` marks the sentences that are there; it is computed once,
# from the ids.

# %%
V, D, K, N = len(words), 20, 3, SENTENCES  # words, width, hops, times

question = keras.Input((None,), dtype="int32", name="question")  # (B, J)
story = keras.Input((None, None), dtype="int32", name="story")  # (B, S, J)
told = ops.any(ops.not_equal(story, 0), axis=-1)  # (B, S)
for name, each in (("question", question), ("story", story), ("told", told)):
    print(f"{name:10}{each.shape!s:20}{each.dtype}")

# %% [markdown]
# `None` stands for sizes that are known when stories come.
#
# ### Sentences as vectors
#
# K hops with adjacent tying have K + 1 tables: $A^1$, and $C^1$ to $C^K$. Each turns the whole story
# into one vector a sentence.

# %%
names = ["A1", *(f"C{k}" for k in range(1, K + 1))]
tables = [layers.BagOfWords(V, D, name=name) for name in names]
bags = [table(story) for table in tables]  # K + 1 times (B, S, D)
for name, each in zip(names, bags, strict=True):
    print(f"story by {name}  {each.shape}")

# %% [markdown]
# ### When it was told
#
# `MemoryTimes` numbers the sentences by age, 0 for the latest. In training it skips numbers at
# random, one in ten, as if empty sentences stood between (the paper's section 4.1), so that late
# times are learned, too. An ordinary embedding makes a vector of each age.

# %%
ages = layers.MemoryTimes(N, noise=0.1, name="when")(story)  # (B, S)
times = [keras.layers.Embedding(N, D, name=f"T_{name}") for name in names]
memory = [
    keras.layers.Add(name=f"memory_{name}")([bag, time(ages)])
    for name, bag, time in zip(names, bags, times, strict=True)
]
print("ages     ", ages.shape, ages.dtype)
print("memory   ", len(memory), "times", memory[0].shape)

# %% [markdown]
# ### The question
#
# $B = A^1$: the question is embedded by the table that makes the keys of the first hop. One layer
# called twice is one set of weights.

# %%
u = tables[0](question)  # (B, D)
print("u", u.shape)


# %% [markdown]
# ### One hop, written out
#
# Scores, mask, softmax, read, sum. A sentence that was not told gets a score so low that nothing is
# left of it.


# %%
def build_hop(name):
    u = keras.Input((D,), name="u")  # (B, D)
    keys = keras.Input((None, D), name="keys")  # (B, S, D)
    values = keras.Input((None, D), name="values")  # (B, S, D)
    told = keras.Input((None,), dtype="bool", name="told")  # (B, S)
    scores = ops.einsum("bd,bsd->bs", u, keys)
    p = ops.softmax(ops.where(told, scores, -1e9))
    read = ops.einsum("bs,bsd->bd", p, values)
    inputs = {"u": u, "keys": keys, "values": values, "told": told}
    return keras.Model(inputs, [u + read, p], name=name)


for name, each in zip(("next u", "p"), build_hop("hop").outputs, strict=True):
    print(f"{name:8}{each.shape}")

# %%
shapes = {"u": (2, D), "keys": (2, 7, D), "values": (2, 7, D)}
batch = {name: rng.normal(size=shape).astype("float32") for name, shape in shapes.items()}
batch["told"] = np.array([[True] * 7, [True] * 4 + [False] * 3])

ours, p = map(ops.convert_to_numpy, build_hop("hop")(batch))
theirs = layers.MemoryHop()(
    batch["u"], batch["values"], batch["keys"], attention_mask=batch["told"]
)
np.testing.assert_allclose(ours, ops.convert_to_numpy(theirs), atol=1e-5)
print("largest difference:", np.abs(ours - ops.convert_to_numpy(theirs)).max())
print("weights of the second story:", p[1].round(2))

# %% [markdown]
# ### K hops, the answer, the model
#
# Each hop has keys of one table and values of the next. The logits are the products of the last
# query with every row of the last table, $W = C^K$.

# %%
looked = []
for k in range(K):
    hop = build_hop(f"hop_{k + 1}")
    u, p = hop({"u": u, "keys": memory[k], "values": memory[k + 1], "told": told})
    looked.append(p)
    print(hop.name, "u", u.shape, "p", p.shape)
logits = tables[-1](u, reverse=True)
print("logits", logits.shape)

# %%
inputs = {"question": question, "story": story}
by_hand = keras.Model(inputs, logits, name="memory_network")
by_hand.summary(line_length=90)

# %% [markdown]
# All weights are in the tables; a hop has none. A layer that is called twice is one row, with the
# shape of its last call: `A1` is connected to the story and to the question, `C3` to the story and
# to the last query, from which it makes the logits. `not_equal` and `any` are the mask.
#
# A model is a view of its layers. A second one over the same layers also returns where each hop
# looked:

# %%
outputs = {"logits": logits, "weights": ops.stack(looked, axis=1)}
view = keras.Model(inputs, outputs, name="view")
few = test._replace(story=test.story[:5], words=test.words[:5])
seen = {name: ops.convert_to_numpy(each) for name, each in view(as_inputs(few)).items()}

arrays = [ops.convert_to_numpy(table.table) for table in tables]
rows = [ops.convert_to_numpy(time.embeddings) for time in times]
for row in range(5):
    told_here = few.story[row][few.story[row].any(axis=1)]
    our_logits, our_weights = answer(few.words[row], told_here, arrays, rows)
    np.testing.assert_allclose(our_logits, seen["logits"][row], atol=1e-5)
    np.testing.assert_allclose(our_weights, seen["weights"][row, :, : len(told_here)], atol=1e-5)
print("NumPy and Keras: logits and weights of", seen["weights"].shape[1], "hops are equal")

# %% [markdown]
# ### Equal to `models.build_memory_network`
#
# The package builds the same model in one line. Copy every weight from ours to its counterpart, and
# compare.

# %%
package_model = models.build_memory_network(V, D, hops=K, memory_size=N, linear_start=False)
for k in range(K + 1):
    package_model.get_layer(f"sentences_{k}").set_weights(tables[k].get_weights())
    package_model.get_layer(f"times_{k}").set_weights(times[k].get_weights())
theirs = models.memory_hops(package_model)(as_inputs(few))
for name in ("logits", "weights"):
    difference = np.abs(ops.convert_to_numpy(theirs[name]) - seen[name]).max()
    np.testing.assert_allclose(difference, 0, atol=1e-5)
    print(f"{name:8}{seen[name].shape!s:12}largest difference {difference}")
print(f"{by_hand.count_params():,} and {package_model.count_params():,} weights")

# %% [markdown]
# **Exercise 3.** How many weights has such a network, for V words, width D, K hops and N times?


# %%
def my_count(vocabulary, width, hops, times):
    return None  # your answer


# %% tags=["check"]
def count(*sizes):
    return models.build_memory_network(*sizes, linear_start=False).count_params()


cases = [(V, D, K, N), (11, 5, 1, 7), (23, 3, 2, 4)]
if [my_count(*sizes) for sizes in cases] == [count(*sizes) for sizes in cases]:
    print(f"Right. Ours has {my_count(V, D, K, N):,}.")
else:
    print("Not yet. Count the tables of the words and of the times; B and W are not new ones.")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# def my_count(vocabulary, width, hops, times):
#     return (hops + 1) * (vocabulary + times) * width
# ```
#
# K + 1 tables of words and as many of times. The length of a story does not count, except that each
# age needs its row.
#
# </details>

# %% [markdown]
# ## Weights by hand
#
# What *could* the tables hold? Two hops answer a question without any training, if vectors have one
# number for each word, and
#
# - $A^1$ knows things: a key says which thing a sentence names;
# - $C^1 = A^2$ knows people: the value of the first hop is a name, and so is the key of the second;
# - $C^2$ knows places: the value of the second hop is the answer.
#
# Every word that a table knows is one-hot, times 5; all others are 0. ("Where" is known to $A^1$ as
# well, for later.)

# %%
KNOWN = (
    {"where"} | {question.words[-1] for question in questions},  # things
    {sentence[0] for question in questions for sentence in question.story},  # people
    PLACES,
)


def set_by_hand(times_of_people):
    """Return a network of two hops; `times_of_people` (N, V) goes with the table of people."""
    options = {"encode_positions": False, "linear_start": False}
    model = models.build_memory_network(V, V, hops=2, memory_size=N, **options)
    for k, known in enumerate(KNOWN):
        rows = [ids[word] for word in known]
        table = np.zeros((V, V))
        table[rows, rows] = 5
        model.get_layer(f"sentences_{k}").set_weights([table])
        model.get_layer(f"times_{k}").set_weights([times_of_people if k == 1 else np.zeros((N, V))])
    return model


# %%
def look(model, arrays):
    """Return logits (B, V), and where each hop looked, (B, K, S)."""
    seen = models.memory_hops(model)(as_inputs(arrays))
    return ops.convert_to_numpy(seen["logits"]), ops.convert_to_numpy(seen["weights"])


def ask(model, story, question):
    """Answer a question of your own; return the answer, the question and the weights (K, S)."""
    sentences = [tuple(line.lower().strip(" .").split()) for line in story.strip().splitlines()]
    asked = tuple(question.lower().strip(" ?").split())
    asked = tasks.Question(tuple(sentences), asked, answer="", facts=())
    logits, weights = look(model, as_arrays([asked]))
    return words[logits[0].argmax()], asked, weights[0]


# %%
def draw(question, weights, said, outlined=(), columns=None):
    """Draw where each hop looked, the story told from its beginning."""
    count = len(question.story)
    axes = plotting.plot_hops(
        [" ".join(sentence) for sentence in question.story],
        weights[:, :count][:, ::-1],  # the latest is the last now
        question=" ".join(question.words) + "?",
        answer=said,
        facts=outlined,
    )
    axes.set_ylabel("sentences of the story")
    axes.set_xlabel("hops")
    axes.xaxis.set_label_position("top")
    if columns is not None:
        axes.set_xticklabels(columns)
    plt.show()


# %%
STORY = """
John went to the office.
Mary got the football.
Mary went to the garden.
Sandra went to the kitchen.
"""
set_once = set_by_hand(np.zeros((N, V)))
said, asked, weights = ask(set_once, STORY, "Where is the football?")
draw(asked, weights, said)

# %% [markdown]
# The first hop finds the football, and adds Mary to the question. The second hop looks at all that
# Mary did, and one of these sentences has a place. But what if Mary goes on?

# %%
AND_THEN = STORY + "Mary went to the hallway."
for name, story in (("garden, then hallway", AND_THEN), ("garden", STORY)):
    said, asked, weights = ask(set_once, story, "Where is the football?")
    on_moves = [f"{weight:.2f}" for weight in weights[1, : len(asked.story)][::-1]]
    print(f"Mary: {name:22}answer {said:10}weights of hop 2: {' '.join(on_moves)}")

# %% [markdown]
# Garden and hallway have the same weight, and the answer is whichever comes first in the list of
# words. The second look needs to know when a sentence was told.
#
# **Exercise 4.** Give the keys of the second hop a time, so that the latest of Mary's moves gets the
# most weight. Each question has 5 in the place of "where", which is `ids["where"]`: this is what the
# scores can use. Row $i$ of `recency` is for age $i$.

# %%
recency = np.zeros((N, V))  # your answer goes on from here

# %% tags=["check"]
taught = set_by_hand(recency)
GO_BACK = AND_THEN + "\nMary went to the garden."
answers = {}
for place, story in (("garden", STORY), ("hallway", AND_THEN), ("garden again", GO_BACK)):
    answers[place], asked, weights = ask(taught, story, "Where is the football?")
    on_latest = weights[1, 0]
if all(place.startswith(said) for place, said in answers.items()) and on_latest > 0.5:
    print("Right. The answers are", ", ".join(answers.values()))
    draw(asked, weights, answers["garden again"])
else:
    print("Not yet. The answers are", ", ".join(answers.values()))
    print("In the place of 'where', older sentences need smaller numbers than later ones.")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# recency = np.zeros((N, V))
# recency[:, ids["where"]] = -0.3 * np.arange(N)
# ```
#
# Each step back lowers the score by 0.3 times the number in the query, so a later move wins, while
# other people's sentences are 25 below. The numbers may not be much larger: with adjacent tying
# these keys are the values of the first hop, whose read changes the query in the same place.
#
# </details>

# %% [markdown]
# A thing that was left stays where it was while its finder moves on. Then the second look has to
# know when the first fact was told, and the value that the first hop reads has to say so: that is
# what $T_C$ is for. Training finds such tables, with 20 numbers a word instead of one for each
# word.
#
# ## Learning, with three hops and with one
#
# Three networks with the same training: three hops; one hop; and three hops without the embeddings
# of the times. As in the paper (section 4.2) training begins without the softmax, where the
# weights are the scores themselves: `models.set_linear` takes it out and puts it back. Some random
# beginnings take much longer than others; the paper trains every network ten times, and keeps the
# one with the lowest training error. Here all three begin with the same seed.

# %% quick="LINEAR, SOFT = 1, 1"
LINEAR, SOFT = 4, 7  # epochs without the softmax, and with it
BATCH, RATE = 128, 0.01

# %%
training = as_arrays(questions[: len(questions) // BATCH * BATCH])  # whole batches
validation = as_arrays(validated)
STEPS = len(training.answer) // BATCH


def compile_network(model):
    """Choose the loss, and a learning rate that falls once the softmax is there."""
    rate = keras.optimizers.schedules.CosineDecay(
        RATE, SOFT * STEPS, warmup_target=RATE, warmup_steps=LINEAR * STEPS
    )
    model.compile(
        keras.optimizers.Adam(rate, global_clipnorm=40.0),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )


# %%
def train(**options):
    """Build a network and train it in two parts; return it and its accuracies in validation."""
    keras.utils.set_random_seed(1)
    model = models.build_memory_network(V, D, memory_size=N, **options)
    compile_network(model)
    accuracies = []
    for linear, epochs in ((True, LINEAR), (False, SOFT)):
        print("without the softmax" if linear else "with the softmax")
        models.set_linear(model, linear)
        history = model.fit(
            as_inputs(training),
            training.answer,
            batch_size=BATCH,
            epochs=epochs,
            validation_data=(as_inputs(validation), validation.answer),
            verbose=2,
        )
        accuracies += history.history["val_accuracy"]
    return model, accuracies


# %%
trained, curves = {}, {}
trained["three hops"], curves["three hops"] = train(hops=3)

# %%
trained["one hop"], curves["one hop"] = train(hops=1)

# %%
name = "three hops, no times"
trained[name], curves[name] = train(hops=3, times=False)

# %%
right, looked = {}, {}
for name, model in trained.items():
    logits, looked[name] = look(model, test)
    right[name] = logits.argmax(axis=-1) == test.answer
    print(f"{name:22} {100 * right[name].mean():5.1f} % of {len(tested):,} new questions right")

epochs = np.arange(1, LINEAR + SOFT + 1)
axes = plotting.plot_curves(
    {name: (epochs, shares) for name, shares in curves.items()},
    xlabel="epoch",
    ylabel="right answers, in validation",
    title="Questions that take two facts",
)
axes.axvline(LINEAR + 0.5, color="0.5", linewidth=1)
axes.text(LINEAR + 0.6, 0.02, "from here on with the softmax", color="0.4")
plt.show()

# %% tags=["claims"]
assert right["three hops"].mean() > 0.85
assert right["one hop"].mean() < 0.6
assert right["three hops, no times"].mean() < 0.8

# %% [markdown]
# One hop has no way to the answer, whatever it learns, and three hops without times stop early; why
# they do is the subject of a later section. In the epoch in which the softmax comes in, the training
# accuracy of all three networks falls: tables that were learned for raw scores meet weights that
# sum to 1.
#
# ## Hop by hop
#
# A test story in which the person of the answer has been in several places, with the facts
# outlined. It is chosen among those of at most ten sentences that three hops answer right and one
# hop answers wrong. The three columns at the left are one network, the last column is the other.


# %%
def moves(row):
    """Count how many sentences are about the person of the answer; -1 for stories too long."""
    question, (answering, _) = tested[row], facts[row]
    who = question.story[answering][0]
    return sum(s[0] == who for s in question.story) if len(question.story) <= 10 else -1


rows = np.flatnonzero(right["three hops"] & ~right["one hop"])
row = max(rows if len(rows) else range(len(tested)), key=moves)
both = np.concatenate([looked[name][row] for name in ("three hops", "one hop")])
one = test._replace(story=test.story[[row]], words=test.words[[row]])
said = [words[look(trained[name], one)[0][0].argmax()] for name in ("three hops", "one hop")]
columns = ["hop 1", "hop 2", "hop 3", "one hop"]
draw(tested[row], both, f"{said[0]}; one hop: {said[1]}", tested[row].facts, columns)

# %% [markdown]
# What follows tells of the picture printed here; your run may choose another story. The first of
# three hops looks at what happened to the thing: here at three sentences, least at the outlined one. Each of them names the person, and the later hops find the place where she was
# then, though no example ever said which sentences matter. The single hop has
# no use for a fact that names the thing, since the answer does not stand there: it spreads over the
# sentences that name a place, any of which might hold the answer, and guesses.
#
# **Exercise 5.** One story is an example. Which hop finds which fact, over all test questions? Count
# for each of the three hops how often its largest weight lies on the fact that holds the answer, and
# how often on the other one. `looked["three hops"]` is (B, K, S), the latest sentence first;
# `facts[b]` has the two positions in the story, counted from its beginning, and
# `tested[b].story` the sentences.

# %%
shares = None  # your answer: an array (K, 2), shares between 0 and 1

# %% tags=["check"]
found = np.zeros((K, 2))
for question, pair, weights in zip(tested, facts, looked["three hops"], strict=True):
    for hop, age in enumerate(weights.argmax(axis=-1)):
        found[hop] += np.array(pair) == len(question.story) - 1 - age
if shares is not None and np.allclose(shares, found / len(tested), atol=1e-6):
    print("Right. Largest weight on   the other fact   the fact that holds the answer")
    for hop, (on_answer, on_other) in enumerate(np.asarray(shares), start=1):
        print(f"hop {hop:<22}{on_other:15.3f}{on_answer:31.3f}")
else:
    print("Not yet. A position p of S sentences has the age S − 1 − p.")

# %% [markdown]
# <details><summary>Answer</summary>
#
# ```python
# ages = np.array(
#     [[len(q.story) - 1 - fact for fact in pair] for q, pair in zip(tested, facts, strict=True)]
# )  # (B, 2)
# places = looked["three hops"].argmax(axis=-1)  # (B, K)
# shares = (places[:, :, None] == ages[:, None]).mean(axis=0)
# ```
#
# The order in which the facts are found is the order in which they follow from each other: the
# fact about the thing comes first, the one about the place after it.
#
# </details>

# %% tags=["claims"]
assert found.max(axis=0).min() > 0.5 * len(tested)
assert found[:, 1].argmax() < found[:, 0].argmax()

# %% [markdown]
# ## What the times are for
#
# Attention knows no order: a sum over sentences is the same however they are shuffled. Without
# $T_A$ and $T_C$ the network sees a heap of sentences, and cannot know that the second move of a
# person cancels the first. That is no matter of training, it is exact:

# %%
reversed_story = test.story.copy()
for sentences in reversed_story:
    count = sentences.any(axis=1).sum()
    sentences[:count] = sentences[:count][::-1].copy()
backwards = test._replace(story=reversed_story)
for name in ("three hops", "three hops, no times"):
    forth, back = (look(trained[name], told)[0] for told in (test, backwards))
    same = (forth.argmax(axis=-1) == back.argmax(axis=-1)).mean()
    print(f"{name:22} {100 * same:5.1f} % of the answers are the same if a story is told backwards")
np.testing.assert_allclose(forth, back, atol=1e-3)  # without times

# %% [markdown]
# This is what the lecture notes mean by *a separate embedding for each of the positions of the
# input*. Sinusoids, which the Transformer adds to its words, are the same remedy for the same
# ailment.
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
said, asked, weights = ask(trained["three hops"], STORY, "Where is the milk?")
draw(asked, weights, said)

# %% [markdown]
# ## Questions
#
# **Why several hops?** A hop compares all sentences with *one* query. Where the answer stands in a
# sentence that shares nothing with the question, no such comparison can find it; the chain
# question → first fact → second fact has to be gone link by link, and each link needs the query
# that the one before has made. It is a small piece of reasoning, and an explicit memory is what
# makes it possible: the facts lie apart, so one can be fetched to look for the next.
#
# **Why more hops than facts?** Two hops can be enough for two facts, as the network set by hand
# shows. A network need not use a third one, and can look twice where it is unsure, as the last two
# hops do in the maps above.
#
# **Why is the question added, and not replaced?** As with every residual: what was asked stays
# known while something is added to it, and a gradient reaches the first hop without going through
# all the others.
#
# **Which parts are trained?** The tables of the words and of the times, nothing else: a hop itself
# has no weights.
#
# `keras-attention lab babi --task 2` is this experiment on the command line, with `--data` for
# bAbI's own files.
#
# Next: [8 · Captions from frames, and an eye that moves](08_captions_and_glimpses.ipynb). In the
# documentation:
# [Which attention should I use?](https://github.com/keras-attention/keras_attention/blob/main/docs/choosing.md),
# and the pages of `layers.MemoryHop`, `layers.BagOfWords`, `layers.MemoryTimes` and
# `models.build_memory_network`.

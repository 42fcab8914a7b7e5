"""Memories that are read and written: tapes, stories, stored patterns, and how far they reach."""

import itertools
import math

import numpy as np

from docs.diagrams.canvas import SMALL, Canvas, softmax


def turing_machine() -> Canvas:
    """A Neural Turing Machine: a controller whose heads write to a memory and read from it."""
    canvas = Canvas(254)
    for row in range(8):
        canvas.vector(356, 40 + 20 * row, 5, tone="value", cell=20, upright=False)
    canvas.text(406, 22, "memory")
    canvas.note(406, 218, "*N* rows, *M* wide")
    canvas.box(24, 53, 112, 34, "dense")
    canvas.box(24, 153, 112, 34, "controller")
    canvas.box(196, 53, 96, 34, "read head", tone="weight")
    canvas.box(196, 153, 96, 34, "write head", tone="weight")
    # What the heads are told, and the rows that they attend to
    canvas.arrow((136, 162), (166, 162), (166, 120), (244, 120), (244, 88))
    canvas.note(254, 106, "where", anchor="start")
    canvas.arrow((136, 178), (195, 178))
    canvas.note(166, 206, "where,\nwhat")
    for shift, weight in ((-20, 0.1), (0, 0.8), (20, 0.1)):
        style = {"tone": "weight", "width": 1 + 3 * weight, "opacity": 0.4 + 0.6 * weight}
        canvas.arrow((356, 70 + shift), (293, 70), **style)
        canvas.arrow((292, 170), (355, 170 + shift), **style)
    canvas.note(244, 206, "first: erase\nand add")
    canvas.note(244, 36, "then: read")
    # In and out
    canvas.arrow((195, 70), (137, 70), tone="value")
    canvas.text(168, 56, "*r*_{t}", tone="value")
    canvas.arrow((80, 153), (80, 88))
    canvas.text(66, 120, "*h*_{t}")
    canvas.arrow((80, 53), (80, 28))
    canvas.text(80, 16, "output *y*_{t}")
    canvas.arrow((52, 222), (52, 188))
    canvas.text(52, 236, "input *x*_{t}")
    canvas.arrow((112, 222), (112, 188), tone="value")
    canvas.text(118, 236, "*r*_{t−1}", tone="value")
    return canvas


def addressing() -> Canvas:
    """A head finds its rows by content or stays where it was, then shifts and sharpens."""
    memory = np.array([[1, 0, 0, 0, 1, 1, 1], [0, 1, 1, 0, 1, 0, 0], [0, 0, 1, 1, 0, 1, 1]])
    key, before = np.array([0, 1, 1]), np.array([0, 0, 0, 0, 0.1, 0.8, 0.1])
    cosines = key @ memory / np.linalg.norm(memory, axis=0) / np.linalg.norm(key)
    content = softmax(6 * cosines)
    gated = 0.8 * content + 0.2 * before
    shifted = 0.2 * gated + 0.8 * np.roll(gated, 1)
    sharp = shifted**3 / np.sum(shifted**3)

    canvas = Canvas(476)
    canvas.note(348, 18, "the rows of the memory")
    canvas.matrix(236, 32, 0.6 * memory, cell=32, tone="value")
    canvas.note(204, 18, "key *k*")
    canvas.matrix(188, 32, 0.6 * key[:, None], cell=32, tone="target")
    for top, stage, how, weights in (
        (168, "1. by content", "*β* = 6: softmax(*β* cos)", content),
        (288, "2. interpolate", "gate *g* = .8: find or stay", gated),
        (360, "3. shift", "*s*: .8 go on by 1, .2 stay", shifted),
        (432, "4. sharpen", "*γ* = 3: *w*^{γ}, scaled to sum 1", sharp),
    ):
        canvas.text(16, top + 6, stage, anchor="start", bold=True)
        canvas.note(16, top + 26, how, anchor="start")
        _numbers(canvas, 236, top, weights[None], cell=32)
    canvas.note(16, 76, "the controller gives\n*k*, *β*, *g*, *s* and *γ*", anchor="start")
    canvas.text(230, 184, ".8 ×", anchor="end")
    canvas.note(16, 230, "weights one step ago", anchor="start")
    _numbers(canvas, 236, 214, before[None], cell=32)
    canvas.text(230, 230, "+ .2 ×", anchor="end")
    for start, stop, row, shift, weight in (
        (128, 166, 2, 0, 1),
        (246, 286, 2, 0, 0.6),
        (246, 286, 5, 0, 0.3),
        (320, 358, 2, 1, 0.6),
        (320, 358, 5, 1, 0.3),
        (392, 430, 3, 0, 1),
    ):
        x = 252 + 32 * row
        canvas.arrow((x, start), (x + 32 * shift, stop), tone="weight", width=1 + 2 * weight)
    return canvas


def writing() -> Canvas:
    """A write head erases from the rows that it attends to, then adds to them."""
    before = np.array([[0.2, 0.8, 0.4, 0.6], [0.9, 0.7, 0.3, 0.5], [0.6, 0.1, 0.9, 0.3]])
    weights, erase, add = (
        np.array([0, 0.9, 0.1]),
        np.array([1, 1, 0, 0]),
        np.array([0, 0.8, 0.6, 0]),
    )
    erased = before * (1 - weights[:, None] * erase)
    after = erased + weights[:, None] * add

    canvas = Canvas(214)
    canvas.note(16, 30, "each row changes as far\nas its weight *w* says", anchor="start")
    _numbers(canvas, 16, 92, weights[:, None])
    canvas.note(30, 78, "*w*")
    for x, memory in ((58, before), (204, erased), (350, after)):
        _numbers(canvas, x, 92, memory, "value")
    for x, vector, name, tone in (
        (204, erase, "erase *e*", "warning"),
        (350, add, "add *a*", "target"),
    ):
        canvas.text(x + 56, 16, name, tone=tone)
        _numbers(canvas, x, 30, vector[None], tone)
        canvas.arrow((x + 56, 60), (x + 56, 88), tone=tone)
        canvas.arrow((x - 32, 134), (x - 3, 134))
    for x, name in (
        (114, "*M*_{t−1}"),
        (260, "*M* ∘ (1 − *w* *e*)"),
        (406, "+ *w* *a*  = *M*_{t}"),
    ):
        canvas.text(x, 196, name)
    return canvas


def hops() -> Canvas:
    """A memory network reads the story several times; each read changes the question."""
    story = ("John went to the office.", "Mary got the football.", "Mary went to the garden.")
    people = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]])
    things = np.array([0, 1, 0, 0])
    places = np.array([[1, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 1]])
    times = np.array([0, 0.25, 0.5, 0.75])
    # The keys of the hops are things, people with times, and places; the values are the next keys.
    first = softmax(4.5 * things)
    second = softmax(4.5 * (people @ (first @ people) + times))
    third = softmax(4.5 * (places @ (second @ places)))

    canvas = Canvas(326)
    for row, sentence in enumerate((*story, "Sandra went to the kitchen.")):
        canvas.text(16, 51 + 34 * row, sentence, anchor="start", size=SMALL, tone="context")
    canvas.box(16, 238, 172, 34, "Where is the football?", tone="target", size=SMALL)
    for hop, weights in enumerate((first, second, third), start=1):
        x = 150 + 84 * hop
        canvas.note(x + 17, 18, f"hop {hop}")
        _numbers(canvas, x, 34, weights[:, None], cell=34)
        left = x - 42 if hop > 1 else 188
        canvas.arrow((left, 255), (x + 16, 255), tone="target")
        canvas.arrow((x + 4, 255), (x + 4, 172), tone="target", dashed=True)
        canvas.arrow((x + 29, 171), (x + 29, 242), tone="value")
        canvas.circle(x + 29, 255, 13, "+")
        canvas.text(x + 46, 205, f"*o*_{{{hop}}}", tone="value")
        canvas.text((left + x + 16) / 2 - 5, 274, f"*u*_{{{hop}}}", tone="target")
    canvas.arrow((431, 268), (431, 294), tone="target")
    canvas.text(431, 308, "garden", tone="target")
    canvas.text(16, 308, "*o* = Σ *p*_{i} *c*_{i}", anchor="start")
    canvas.text(116, 308, "*u* ← *u* + *o*", anchor="start")
    return canvas


def hopfield() -> Canvas:
    """Part of a stored pattern is enough: softmax finds the pattern, the read completes it."""
    letters = (
        ".###. #...# ##### #...# #...#",
        "##### ..#.. ..#.. ..#.. ..#..",
        "#...# .#.#. ..#.. .#.#. #...#",
    )
    rows = [letter.split() for letter in letters]
    patterns = np.array([[[1 if c == "#" else -1 for c in row] for row in each] for each in rows])
    query = np.where(np.arange(5)[:, None] < 2, patterns[0], 0)
    weights = softmax(0.25 * np.sum(patterns * query, axis=(1, 2)))
    read = np.tensordot(weights, patterns, 1)

    canvas = Canvas(302)
    canvas.matrix(16, 96, (query + 1) / 2, cell=20, tone="target")
    canvas.box(16, 136, 100, 60, "covered", round_=0)
    canvas.text(66, 78, "query *ξ*")
    canvas.matrix(364, 96, (read + 1) / 2, cell=20, tone="value")
    canvas.text(414, 78, "read")
    canvas.note(202, 16, "keys and values")
    canvas.note(298, 16, "softmax")
    for number, (pattern, weight) in enumerate(zip(patterns, weights, strict=True)):
        y = 34 + 80 * number
        canvas.matrix(170, y, (pattern + 1) / 2, cell=13, tone="value")
        canvas.arrow((118, 146), (167, y + 32), tone="target")
        canvas.line((235, y + 32), (281, y + 32))
        _numbers(canvas, 281, y + 15, np.array([[weight]]), cell=34)
        style = {"tone": "value", "width": 1 + 3 * weight, "opacity": 0.4 + 0.6 * weight}
        canvas.arrow((315, y + 32), (362, 146), **style)
    canvas.text(240, 286, "*ξ* ← *X*^{T} softmax(*β* *X* *ξ*)")
    return canvas


def ctc_paths() -> Canvas:
    """CTC is monotone hard attention: a frame stays or goes on, and all paths are summed."""
    states, path = "–c–a–t–", (0, 1, 1, 2, 3, 5, 5)
    frames, last = len(path), len(states) - 1

    def place(frame, state):
        return 108 + 54 * frame, 46 + 30 * state

    nodes = [
        (frame, state)
        for frame in range(frames)
        for state in range(len(states))
        if state <= 2 * frame + 1 and last - state <= 2 * (frames - 1 - frame) + 1
    ]
    canvas = Canvas(364)
    for frame, state in nodes:
        for step in (0, 1, 2) if states[state] != "–" else (0, 1):
            if (frame + 1, state + step) in nodes:
                ends = place(frame, state), place(frame + 1, state + step)
                canvas.arrow(*ends, head=False, width=1, opacity=0.4)
    for frame, (state, following) in enumerate(itertools.pairwise(path)):
        ends = place(frame, state), place(frame + 1, following)
        canvas.arrow(*ends, head=False, width=4, tone="weight")
    for frame, state in nodes:
        used = path[frame] == state
        canvas.circle(*place(frame, state), 7 if used else 4, tone="weight" if used else "plain")
    canvas.note(56, 18, "frame")
    canvas.text(56, 262, "path", tone="weight")
    for number, name in enumerate(states):
        canvas.text(56, place(0, number)[1], name, tone="context" if name != "–" else None)
        canvas.note(place(number, 0)[0], 18, str(number + 1))
        canvas.text(place(number, 0)[0], 262, states[path[number]], tone="weight")
    for x, rise, name in ((58, 0, "stay"), (164, 8, "next"), (268, 16, "skip the blank –")):
        canvas.arrow((x, 304 - rise), (x + 36, 304 + rise))
        canvas.text(x + 46, 304, name, anchor="start", size=SMALL)
    canvas.text(240, 344, f"*p*(cat) = sum of *p*(path) over all {math.comb(10, 6)} paths")
    return canvas


def gradient_reach() -> Canvas:
    """An RNN's gradient passes through every step; attention's reaches every place in one."""
    canvas = Canvas(322)
    factor = 0.6
    for place in range(7):
        x, steps = 24 + 65 * place, 6 - place
        left = factor**steps
        canvas.box(x, 64, 42, 34, f"*h*_{{{place + 1}}}", tone="context")
        canvas.box(x, 272, 42, 34, f"*h*_{{{place + 1}}}", tone="context")
        canvas.text(x + 21, 114, f"{left:.2f}".lstrip("0"), size=SMALL, tone="warning")
        if steps:
            style = {"tone": "warning", "width": 1 + 4 * left, "opacity": 0.25 + left}
            canvas.arrow((x + 65, 81), (x + 43, 81), **style)
        canvas.arrow((240, 200), (x + 21, 271), tone="weight", width=2.4)
    canvas.text(24, 26, "RNN: one step after the other", anchor="start", bold=True)
    canvas.text(435, 16, "loss")
    canvas.arrow((435, 28), (435, 63), tone="warning", width=4)
    canvas.note(24, 138, "what is left of the gradient, × .6 in each step", anchor="start")
    canvas.text(24, 190, "attention: one step", anchor="start", bold=True)
    canvas.text(240, 164, "loss")
    canvas.arrow((240, 176), (240, 195), tone="weight", width=4)
    canvas.circle(240, 210, 14, "Σ", tone="value")
    return canvas


def _numbers(canvas, x, y, values, tone="weight", cell=28):
    """Draw numbers from 0 to 1 in cells that are pale enough to read them."""
    canvas.matrix(x, y, 0.55 * values, cell=cell, tone=tone)
    for (row, column), value in np.ndenumerate(values.round(2)):
        label = f"{value:.2f}".rstrip("0").rstrip(".").lstrip("0") or "0"
        canvas.text(x + (column + 0.5) * cell, y + (row + 0.5) * cell, label, size=SMALL)


DIAGRAMS = (turing_machine, addressing, writing, hops, hopfield, ctc_paths, gradient_reach)

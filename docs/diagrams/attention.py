"""Attention step by step: lookup, scores, softmax, and what else can decide where to read."""

import numpy as np

from docs.diagrams.canvas import SMALL, Canvas, softmax


def soft_dictionary() -> Canvas:
    """A dictionary returns the value of the equal key; attention, a weighted mix of all values."""
    canvas = Canvas(408)
    canvas.text(24, 20, "Dictionary: one key equals the query", anchor="start", bold=True)
    names = ("query", "keys", "weights", "values", "read")
    for x, name in zip((48, 154, 228, 302, 432), names, strict=True):
        canvas.note(x, 52, name)
    _memory(canvas, 70, np.array([0, 1, 0, 0]), "q = k_{2}")
    canvas.arrow((326, 115), (407, 131), tone="value", width=3)
    canvas.box(408, 114, 48, 34, "v_{2}", tone="value")

    canvas.text(24, 228, "Attention: every key fits, more or less", anchor="start", bold=True)
    weights = softmax([1, 3, 2, 0])
    _memory(canvas, 252, weights, "q ≈ k_{2}")
    for number, weight in enumerate(weights):
        _weighted(canvas, (326, 267 + 31 * number), (372, 313), weight, "value")
    canvas.circle(372, 313, 14, "Σ", tone="value")
    canvas.arrow((386, 313), (407, 313), tone="value")
    canvas.box(408, 296, 48, 34, "c", tone="value")
    terms = (f"{_short(weight)} v_{{{number + 1}}}" for number, weight in enumerate(weights))
    canvas.text(240, 393, f"c = {' + '.join(terms)}")
    return canvas


def _memory(canvas, top, weights, fit):
    """Draw a query, four keys, their weights and values; the values end at x = 326."""
    middle = top + 61
    for number, weight in enumerate(weights):
        y = top + number * 31 + 14
        if weight:
            canvas.arrow((72, middle), (129, y), tone="target", width=1.2)
            canvas.arrow((178, y), (203, y))
            canvas.arrow((252, y), (277, y))
        canvas.box(130, y - 13, 48, 26, f"k_{{{number + 1}}}", tone="context")
        canvas.box(204, y - 13, 48, 26, _short(weight), tone="weight" if weight else "plain")
        canvas.box(278, y - 13, 48, 26, f"v_{{{number + 1}}}", tone="value")
    canvas.box(24, middle - 17, 48, 34, "q", tone="target")
    canvas.note(48, middle + 32, fit)


def four_steps() -> Canvas:
    """Attention has four steps: score, mask, softmax and read."""
    canvas = Canvas(416)
    scores = [1, 3, 2, 0, 4]
    values = [10, 40, 20, 30, 50]
    weights = [*softmax(scores[:-1]), 0]
    rows = (
        (34, "", "", [f"k_{{{number}}}" for number in range(1, 6)], "context"),
        (100, "1 score", "q · k_{j}", scores, "plain"),
        (166, "2 mask", "no padding", [*scores[:-1], "−∞"], "plain"),
        (232, "3 softmax", "sum = 1", [_short(weight) for weight in weights], "weight"),
        (298, "4 read", "Σ α_{j} v_{j}", values, "value"),
    )
    for top, name, note, labels, tone in rows:
        canvas.text(24, top + 7, name, anchor="start", bold=True)
        canvas.note(24, top + 27, note, anchor="start")
        for number, label in enumerate(labels):
            x = 134 + number * 66
            if name == "3 softmax":
                canvas.text(x + 28, top + 50, "×")
            elif name != "4 read":
                canvas.arrow((x + 28, top + 34), (x + 28, top + 65))
            elif weights[number]:
                _weighted(canvas, (x + 28, top + 34), (294, 382), weights[number], tone)
            padding = number == 4
            kind = "warning" if label == "−∞" else "plain" if padding else tone
            canvas.box(x, top, 56, 34, str(label), tone=kind, dashed=padding)
    canvas.note(52, 16, "query")
    canvas.note(261, 16, "keys")
    canvas.note(426, 16, "padding")
    canvas.box(24, 34, 56, 34, "q", tone="target")
    canvas.circle(294, 382, 15, "Σ", tone="value")
    canvas.arrow((309, 382), (339, 382), tone="value")
    canvas.box(340, 365, 56, 34, f"{np.dot(weights, values):.0f}", tone="value")
    canvas.note(404, 382, "read", anchor="start")
    return canvas


def softmax_axis() -> Canvas:
    """Scores (B, S, 1) need a softmax along axis 1; along the last axis all weights would be 1."""
    canvas = Canvas(276)
    scores = np.array([[1, 0], [3, 2], [2, 1], [0, 3]])
    for x, name, note in (
        (90, "scores", "(B, S, 1)"),
        (230, "softmax(axis=1)", "a column sums to 1"),
        (394, "softmax(axis=−1)", "a cell sums to 1"),
    ):
        canvas.text(x, 18, name, bold=True)
        canvas.note(x, 40, note)
    for column, weights in enumerate(np.apply_along_axis(softmax, 0, scores).T):
        x = 44 + 52 * column
        canvas.box(x + 140, 60, 40, 136, tone="weight")
        for row, weight in enumerate(weights):
            y = 60 + 34 * row
            canvas.box(x, y, 40, 34, str(scores[row, column]), round_=0)
            canvas.text(x + 160, y + 17, _short(weight))
            canvas.box(x + 304, y + 3, 40, 28, "1", tone="warning")
    canvas.arrow((28, 60), (28, 196))
    canvas.note(14, 128, "S")
    canvas.note(90, 210, "B = 2 sentences")
    canvas.arrow((142, 128), (183, 128), tone="weight")
    canvas.arrow((90, 222), (90, 238), (394, 238), (394, 194), tone="warning")
    canvas.text(242, 256, "each score alone: nothing is compared", tone="warning", size=SMALL)
    return canvas


def additive_score() -> Canvas:
    """A query and a key are scored by a dot product, by a matrix between them, or by a network."""
    canvas = Canvas(366)
    for top, name, formula in (
        (20, "Dot product", "e = q^{T} k"),
        (144, "General", "e = q^{T} W k"),
        (268, "Additive", "e = v^{T} tanh(W q + U k)"),
    ):
        canvas.text(24, top, name, anchor="start", bold=True)
        canvas.text(456, top, formula, anchor="end")
        additive = name == "Additive"
        for y, letter, tone in ((top + 35, "q", "target"), (top + 71, "k", "context")):
            canvas.arrow((72, y), (192, y), (212, top + 53 + (y - top - 53) / 2))
            canvas.box(24, y - 14, 48, 28, letter, tone=tone)
            if additive or (name == "General" and letter == "q"):
                canvas.box(108, y - 14, 48, 28, "W" if letter == "q" else "U")
        canvas.arrow((238, top + 53), (419, top + 53))
        canvas.circle(224, top + 53, 14, "+" if additive else "•")
        canvas.circle(436, top + 53, 16, "e")
        if additive:
            canvas.box(268, top + 39, 56, 28, "tanh")
            canvas.box(350, top + 39, 40, 28, "v^{T}")
            canvas.note(332, top + 84, "one hidden layer")
        else:
            note = "no weights to learn" if name == "Dot product" else "one learned matrix"
            canvas.note(328, top + 39, note)
    return canvas


def soft_and_hard() -> Canvas:
    """Soft attention reads a weighted mean of all values; hard attention draws one value."""
    canvas = Canvas(376)
    weights, drawn = softmax([1, 3, 2, 0]), 2
    for left, name in ((24, "Soft"), (260, "Hard")):
        canvas.text(left + 98, 18, name, bold=True)
        for number, weight in enumerate(weights):
            x = left + 23 + 50 * number
            canvas.box(x - 22, 40, 44, 28, _short(weight), tone="weight")
            if name == "Soft":
                _weighted(canvas, (x, 68), (x, 155), weight, head=True)
                _weighted(canvas, (x, 184), (left + 98, 244), weight, "value")
            else:
                canvas.arrow((x, 68), (x, 93), tone="weight", width=1.2)
            unread = name == "Hard" and number != drawn
            tone = "plain" if unread else "value"
            canvas.box(x - 22, 156, 44, 28, f"v_{{{number + 1}}}", tone=tone, dashed=unread)
    canvas.circle(122, 244, 15, "Σ", tone="value")
    canvas.arrow((122, 259), (122, 283), tone="value")
    canvas.box(66, 284, 112, 32, "Σ α_{j} v_{j}", tone="value")
    canvas.box(260, 94, 196, 28, "draw one place", tone="weight", dashed=True)
    x = 283 + 50 * drawn
    canvas.arrow((x, 122), (x, 155), tone="weight", width=4)
    canvas.arrow((x, 184), (x, 283), tone="value", width=4)
    canvas.box(302, 284, 112, 32, f"v_{{{drawn + 1}}}", tone="value")
    canvas.note(122, 346, "deterministic\nexact gradient")
    canvas.note(358, 337, "stochastic")
    canvas.text(358, 354, "no gradient through the draw", tone="warning", size=SMALL)
    return canvas


def global_and_local() -> Canvas:
    """Global attention reads all positions; local attention, a window around a predicted place."""
    canvas = Canvas(372)
    scores = np.array([0.2, 2.6, 0.8, 0.4, 2.0, 2.3, 1.0, 0.4, 2.2, 0.6])
    centre, half_width = 4.5, 2
    away = np.arange(10) - centre
    seen = np.abs(away) <= half_width
    weights = np.zeros(10)
    weights[seen] = softmax(scores[seen]) * _gaussian(away[seen], half_width)
    canvas.text(24, 18, "Global: a weight for every position", anchor="start", bold=True)
    _source(canvas, 104, softmax(scores), np.ones(10, bool))

    canvas.text(24, 172, "Local: a window around a predicted place", anchor="start", bold=True)
    x, left, right = (42 + 44 * (centre + step * half_width) for step in (0, -1, 1))
    curve = np.linspace(-half_width, half_width, 41)
    bell = zip(x + 44 * curve, 306 - 86 * _gaussian(curve, half_width), strict=True)
    canvas.line((left, 338), *bell, (right, 338), tone="plain", dashed=True)
    canvas.box(24, 196, 40, 30, "q", tone="target")
    canvas.arrow((64, 211), (x, 211), (x, 307), tone="target")
    canvas.note(150, 199, "predicts p_{t}")
    canvas.note(x + 40, 232, "Gaussian window", anchor="start")
    _source(canvas, 310, weights, seen)
    canvas.arrow((x, 354), (left, 354))
    canvas.arrow((x, 354), (right, 354))
    canvas.note(left - 8, 354, "p_{t} − D", anchor="end")
    canvas.note(right + 8, 354, "p_{t} + D", anchor="start")
    return canvas


def _gaussian(away, half_width):
    return np.exp(-0.5 * (away / (half_width / 2)) ** 2)


def _source(canvas, top, weights, seen):
    """Draw ten positions, the read ones in colour, and a bar over each that shows its weight."""
    for number, weight in enumerate(weights):
        x = 25 + 44 * number
        if weight:
            canvas.box(x + 5, top - 3 - 130 * weight, 24, 130 * weight, tone="weight", round_=1)
        tone = "context" if seen[number] else "plain"
        canvas.box(x, top, 34, 28, f"h_{{{number + 1}}}", tone=tone, dashed=not seen[number])


def past_alignments() -> Canvas:
    """Weights of earlier steps add up to a coverage, which enters the scores of the next step."""
    canvas = Canvas(376)
    fit, covered, steps = np.array([9, 6, 3, 0]), np.zeros(4), []
    for _ in range(3):  # the query stays the same; covered keys score lower
        steps.append(softmax(fit - 11 * covered))
        covered += steps[-1]
    rows = (
        (34, "step 1:  α_{1}", steps[0], "weight"),
        (72, "step 2:  α_{2}", steps[1], "weight"),
        (144, "coverage:\nc = α_{1} + α_{2}", steps[0] + steps[1], "value"),
        (290, "step 3:  α_{3}", steps[2], "weight"),
    )
    for number in range(4):
        x = 164 + 62 * number
        canvas.note(x, 18, f"k_{{{number + 1}}}")
        canvas.arrow((x, 104), (x, 143))
        canvas.arrow((x, 176), (x, 215), tone="value")
        canvas.arrow((x, 250), (x, 289))
    for top, name, weights, tone in rows:
        canvas.text(24, top + 16, name, anchor="start")
        for number, weight in enumerate(weights):
            canvas.box(138 + 62 * number, top, 52, 32, _short(weight), tone=tone)
    canvas.box(24, 217, 48, 32, "q_{3}", tone="target")
    canvas.arrow((72, 233), (137, 233), tone="target")
    canvas.box(138, 216, 238, 34, "score(q_{3}, k_{j}, c_{j})")
    canvas.arrow((376, 306), (424, 306), (424, 160), (377, 160), tone="value", dashed=True)
    canvas.text(442, 233, "added for step 4", turned=90, size=SMALL, faint=True)
    canvas.note(240, 354, "the query stays the same, the focus moves on")
    return canvas


def no_attention_pooling() -> Canvas:
    """Without a query a sequence is summed up in one fixed way; attention lets the query decide."""
    canvas = Canvas(350)
    states = np.array([[0.1, 0.9, 0.3, 0.2], [0.8, 0.2, 0.5, 0.1], [0.2, 0.4, 0.1, 0.7]])
    largest = states == states.max(axis=1, keepdims=True)
    weights = softmax([1, 3, 2, 0])
    columns = (
        ("last", np.eye(4)[3], states[:, 3]),
        ("mean", np.full(4, 0.25), states.mean(axis=1)),
        ("max", largest.mean(axis=0), states.max(axis=1)),
        ("attention", weights, states @ weights),
    )
    for number, (name, shares, read) in enumerate(columns):
        x = 24 + 112 * number
        canvas.text(x + 48, 18, name, bold=True)
        canvas.matrix(x, 62, states, cell=24, tone="context")
        for state, share in enumerate(shares):
            canvas.note(x + 12 + 24 * state, 48, f"h_{{{state + 1}}}")
            if share:
                _weighted(canvas, (x + 12 + 24 * state, 136), (x + 48, 208), share)
        canvas.arrow((x + 48, 205), (x + 48, 219), tone="weight")
        canvas.matrix(x + 36, 220, read[:, None], cell=24, tone="value")
    for row, column in np.argwhere(largest):
        x, y = 248 + 24 * column, 62 + 24 * row
        canvas.line((x, y), (x + 24, y), (x + 24, y + 24), (x, y + 24), (x, y), tone="weight")
    canvas.box(338, 160, 30, 28, "q", tone="target")
    canvas.arrow((368, 174), (390, 174), tone="target")
    canvas.line((24, 308), (24, 314), (344, 314), (344, 308), tone="plain")
    canvas.note(184, 330, "a fixed rule: the same for every query")
    canvas.text(408, 330, "q decides", tone="target", size=SMALL)
    return canvas


def _short(weight):
    """Write .64 for 0.64, but 0 and 1 without digits."""
    return f"{weight:.2f}".lstrip("0") if 0.005 <= weight < 0.995 else f"{weight:.0f}"


def _weighted(canvas, start, end, weight, tone="weight", head=False):
    """Draw a line that shows its weight by its width."""
    canvas.arrow(start, end, tone=tone, width=1 + 4 * weight, opacity=0.4 + 0.6 * weight, head=head)


DIAGRAMS = (
    soft_dictionary,
    four_steps,
    softmax_axis,
    additive_score,
    soft_and_hard,
    global_and_local,
    past_alignments,
    no_attention_pooling,
)

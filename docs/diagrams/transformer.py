"""The Transformer: its layers, attentions, masks, heads and positions, and how it is used."""

import drawsvg
import numpy as np

from docs.diagrams.canvas import SMALL, Canvas, width_of

SOURCE = ("¿Todavía", "están", "en", "casa?")
FED = ("[START]", "Are", "they", "still", "home?")
SAID = ("Are", "they", "still", "home?", "[END]")
LINKS = (1, 1, 0, 3, 3)  # for each word said, the source word that it comes from


def transformer() -> Canvas:
    """Encoder layers make a memory of the source; every decoder layer reads it."""
    canvas = Canvas(508)
    stacks = (
        (112, "encoder", "context", SOURCE, "(B, S)"),
        (368, "decoder", "target", FED, "(B, T)"),
    )
    for x, kind, tone, words, shape in stacks:
        for top, number in ((128, "N"), (208, "2"), (268, "1")):
            canvas.box(x - 78, top, 156, 36, f"{kind} layer {number}", tone=tone)
        canvas.arrow((x, 268), (x, 245))
        canvas.line((x, 208), (x, 197))
        canvas.text(x, 186, "⋮", bold=True)
        canvas.arrow((x, 176), (x, 165))
        canvas.circle(x, 349, 13, "+")
        canvas.arrow((x, 336), (x, 305))
        canvas.arrow((240 + (40 if x > 240 else -40), 349), (x + (-14 if x > 240 else 14), 349))
        canvas.box(x - 78, 392, 156, 36, "embedding · √D", tone=tone)
        canvas.arrow((x, 392), (x, 363))
        canvas.arrow((x, 456), (x, 429))
        canvas.text(x, 468, " ".join(words), size=SMALL)
        canvas.note(x, 490, f"ids {shape}")
    canvas.box(200, 332, 80, 34, "positions", size=SMALL)

    # The memory, and the logits
    canvas.arrow((112, 128), (112, 98), (240, 98), (240, 286), (289, 286), tone="value")
    for y in (146, 226):
        canvas.arrow((240, y), (289, y), tone="value")
    canvas.text(176, 82, "memory (B, S, D)", tone="value")
    canvas.arrow((368, 128), (368, 99))
    canvas.box(290, 62, 156, 36, "dense, D → V")
    canvas.arrow((368, 62), (368, 36))
    canvas.text(368, 22, "logits (B, T, V)")
    return canvas


def encoder_layer() -> Canvas:
    """Attention and a feed-forward network add to a residual path, with the norm on or off it."""
    canvas = Canvas(514)
    columns = (
        (52, "post-norm", "norm(*x* + *f*(*x*))", True),
        (296, "pre-norm", "*x* + *f*(norm(*x*))", False),
    )
    for x, name, formula, post in columns:
        canvas.text(x + 58, 20, name, bold=True)
        canvas.text(x + 58, 43, formula)
        canvas.arrow((x, 480), (x, 66), tone="context", width=3)
        canvas.text(x, 496, "*x*")
        canvas.text(x - 20, 407, "residual path", tone="context", size=SMALL, turned=-90)
        for bottom, part in ((454, "self-attention"), (264, "feed-forward")):
            middle, top = bottom - 61, bottom - 122
            above, entry = (middle - 20, middle + 21) if post else (middle - 42, middle + 45)
            canvas.arrow((x, bottom), (x + 100, bottom), (x + 100, entry))
            canvas.arrow((x + 100, above), (x + 100, top), (x + 14, top))
            tone = "weight" if part == "self-attention" else "plain"
            canvas.box(x + 36, above, 128, 40, part, tone=tone)
            canvas.circle(x, top, 13, "+")
            if post:
                canvas.box(x - 32, top - 52, 64, 28, "norm")
            else:
                canvas.box(x + 68, middle + 16, 64, 28, "norm")
                canvas.arrow((x + 100, middle + 16), (x + 100, middle - 1))
    canvas.box(264, 90, 64, 28, "norm", dashed=True)
    canvas.note(340, 104, "after the last\nlayer only", anchor="start")
    return canvas


def decoder_layer() -> Canvas:
    """A decoder layer reads the words so far, then the encoder's memory, then transforms."""
    canvas = Canvas(540)
    x = 308
    places = key, value, query = x - 62, x, x + 62

    def part(top, height, name, tone="plain"):
        split = top + height + 26
        canvas.arrow((x, split), (440, split), (440, top - 38), (x + 101, top - 38))
        canvas.box(x - 100, top, 200, height, tone=tone)
        canvas.text(x, top + 18, name)
        canvas.arrow((x, top), (x, top - 22))
        canvas.box(x - 100, top - 53, 200, 30, "add and norm")

    def inputs(top, tones):
        for place, word, tone in zip(places, ("key", "value", "query"), tones, strict=True):
            canvas.text(place, top + 40, word, tone=tone, size=SMALL)

    part(400, 56, "causal self-attention", "weight")
    canvas.line((x, 508), (x, 482), tone="target")
    canvas.line((key, 482), (query, 482), tone="target")
    for place in places:
        canvas.arrow((place, 482), (place, 457), tone="target")
    inputs(400, ("target", "target", "target"))
    canvas.text(x, 522, "target (B, T, D)")
    canvas.note(84, 428, "each word reads\nitself and\nearlier words")

    part(222, 56, "cross-attention", "weight")
    canvas.line((x, 347), (x, 304), tone="target")
    canvas.arrow((x, 304), (query, 304), (query, 279), tone="target")
    canvas.arrow((154, 291), (key, 291), (key, 279), tone="value")
    canvas.arrow((key, 291), (value, 291), (value, 279), tone="value")
    inputs(222, ("value", "value", "target"))
    canvas.box(14, 266, 140, 50, "memory\n(B, S, D)", tone="value")
    canvas.note(84, 331, "from the encoder")
    canvas.note(84, 233, "each word reads\nthe source")

    part(88, 36, "feed-forward")
    canvas.arrow((x, 169), (x, 125))
    canvas.note(84, 106, "each word\nby itself")
    canvas.arrow((x, 35), (x, 10))
    return canvas


def three_attentions() -> Canvas:
    """Source words ask each other; target words ask earlier ones and the source."""
    canvas = Canvas(476)
    cell, left, across, top, down = 30, 108, 282, 14, 210
    everyone, earlier = np.ones((5, 4), bool), np.tril(np.ones((5, 5), bool))
    for x, y, mask, links in (
        (left, top, everyone[:4], ()),
        (left, down, everyone, LINKS),
        (across, down, earlier, ()),
    ):
        canvas.matrix(x, y, _crossed(_weights(mask, links), mask), cell=cell)
    _rows(canvas, left - 8, top, SOURCE, cell, tone="context")
    _rows(canvas, left - 8, down, FED, cell, tone="target")
    _columns(canvas, left, down - 7, SOURCE, cell, tone="context")
    _columns(canvas, across, down - 7, FED, cell, tone="target")
    for x, y, name, note in (
        (361, 50, "encoder self-attention", "S × S: each source word\nasks all of them"),
        (left + 60, 384, "cross-attention", "T × S: each asks\nthe source"),
        (across + 75, 384, "causal self-attention", "T × T: each asks itself\nand earlier words"),
    ):
        canvas.text(x, y, name, bold=True)
        canvas.note(x, y + 29, note)
    canvas.note(240, 458, "row: who asks · column: who is read")
    return canvas


def masks() -> Canvas:
    """A padding mask, a causal mask, and both: what either crosses out is not read."""
    canvas = Canvas(262)
    words, cell, top = ("Are", "they", "home?", "pad", "pad"), 21, 92
    padding = np.tile([True, True, True, False, False], (5, 1))
    causal = np.tril(np.ones((5, 5), bool))
    for x, name, mask in (
        (64, "padding mask", padding),
        (212, "causal mask", causal),
        (360, "both", padding & causal),
    ):
        canvas.text(x + 2.5 * cell, 18, name, bold=True)
        canvas.matrix(x, top, _crossed(0.5 * mask, mask), cell=cell, tone="context")
        _columns(canvas, x, top - 7, words, cell)
    canvas.text(190.5, top + 2.5 * cell, "and")
    canvas.text(338.5, top + 2.5 * cell, "=")
    _rows(canvas, 57, top, words, cell)
    canvas.note(240, 224, "row: who asks · column: who is read")
    canvas.note(240, 245, "padding comes last: for words the causal mask is enough")
    return canvas


def heads() -> Canvas:
    """Every head projects to its own slice and attends there; the slices are joined again."""
    canvas = Canvas(548)
    cell, centre = 14, 162

    def grid(x, top, columns, tone="plain"):
        for row in range(4):
            canvas.vector(x, top + row * cell, columns, tone=tone, cell=cell, upright=False)

    random = np.random.default_rng(4)
    for number, tone in enumerate(("context", "target", "value")):
        x, slice_ = centre + (number - 1) * 112, centre + (number - 1) * 28
        canvas.arrow((centre, 472), (x, 415))
        for shift in (8, 4, 0):  # values, keys, queries
            grid(x - 18 + shift, 358 - shift, 2, tone)
        canvas.arrow((x, 350), (x, 303))
        canvas.note(x + 9, 328, f"head {number + 1}", anchor="start")
        scores = np.exp(1.6 * random.normal(size=(4, 4)))
        canvas.matrix(x - 28, 246, scores / scores.sum(axis=1, keepdims=True), cell=cell)
        canvas.arrow((x, 246), (slice_, 187))
        grid(slice_ - 14, 130, 2, tone)
    canvas.arrow((centre, 130), (centre, 71))
    for top in (14, 472):
        grid(centre - 42, top, 6)
    canvas.note(centre - 54, 500, "T")
    canvas.note(centre, 538, "D")
    steps = ("project", "read V,\nside by side", "compare Q, K", "project\nto Q, K, V")
    for y, step in zip((100, 216, 328, 441), steps, strict=True):
        canvas.note(366, y, step, anchor="start")
    shapes = ("(B, T, D)", "(B, T, H·K)", "(B, H, T, T)", "(B, T, H, K)", "(B, T, D)")
    for y, shape in zip((42, 158, 274, 382, 500), shapes, strict=True):
        canvas.text(366, y, shape, anchor="start")
    return canvas


def positions() -> Canvas:
    """Each position adds waves of its own to the word, so that attention can tell the order."""
    canvas = Canvas(440)
    width, count, words = 24, 96, FED[1:4]
    left, top, across, down = 48, 30, 4.25, 6.5
    angles = np.arange(count) / 10000 ** (np.arange(0, width, 2) / width)[:, None]
    waves = np.concatenate([np.sin(angles), np.cos(angles)])
    embedded = np.random.default_rng(1).normal(scale=0.6, size=(width, len(words)))

    # The waves, and the first of them enlarged
    canvas.note(left + 204, 14, f"positions 0 to {count - 1}; strong colour: large")
    _heat(canvas, left, top, waves, across, down)
    for number, name in enumerate(("sin", "cos")):
        canvas.text(left - 6, top + (0.25 + 0.5 * number) * width * down, name, anchor="end")
    bottom, start, end = top + width * down, left + across, left + 4 * across
    _frame(canvas, start, top, 3 * across, width * down)
    canvas.line((start, bottom), (20, 262), dashed=True)
    canvas.line((end, bottom), (146, 262), dashed=True)

    own, numbers = waves[:, 1:4], (1, 2, 3)
    for x, name, values, below in (
        (20, "positions", own, numbers),
        (177, "√D · embedding", embedded, words),
        (334, "input of layer 1", own + embedded, words),
    ):
        canvas.text(x + 63, 246, name)
        _heat(canvas, x, 262, values, 42, 5.5)
        for number, each in enumerate(below):
            canvas.text(x + 21 + 42 * number, 412, f"{each}", size=SMALL)
    canvas.text(161.5, 328, "+")
    canvas.text(318.5, 328, "=")
    return canvas


def cache() -> Canvas:
    """Each step computes one word; keys and values of earlier words come from the cache."""
    canvas = Canvas(462)
    canvas.text(18, 18, "step 4", bold=True, anchor="start")
    canvas.note(18, 40, "one query asks all keys so far", anchor="start")
    canvas.text(18, 82, "from the cache", tone="value", anchor="start")
    canvas.text(402, 14, "computed now", tone="target")
    canvas.box(18, 100, 308, 96, dashed=True)
    canvas.box(362, 30, 80, 166, dashed=True)
    weights = _weights(np.ones((1, 4), bool))[0]
    for number, (word, weight) in enumerate(zip(FED[:4], weights, strict=True)):
        x = (66, 172, 278, 402)[number]
        canvas.arrow((402, 68), (x, 111), tone="weight", width=1 + 5 * weight)
        canvas.box(x - 32, 112, 64, 32, f"k_{{{number + 1}}}", tone="context")
        canvas.box(x - 32, 154, 64, 32, f"v_{{{number + 1}}}", tone="value")
        canvas.text(x, 218, word, bold=number == 3)
    canvas.box(370, 38, 64, 32, "q_{4}", tone="target")

    # What four steps compute
    for x, name, cached in ((90, "with a cache", True), (314, "without", False)):
        canvas.text(x + 58, 268, name, bold=True)
        computed = 0
        for step in range(4):
            if cached:
                canvas.note(x - 10, 305 + 32 * step, f"step {step + 1}", anchor="end")
            for word in range(step + 1):
                now = word == step or not cached
                computed += now
                place = x + 30 * word, 292 + 32 * step
                canvas.box(*place, 26, 26, tone="target" if now else "value", round_=4)
        canvas.text(x + 58, 441, f"{computed} words computed", tone="target")
    return canvas


def teacher_forcing() -> Canvas:
    """Training feeds the words of the reference; decoding feeds each word that was just said."""
    canvas = Canvas(556)
    pitch, first = 84, 86
    for top, title in (
        (14, "training: all words at once, shifted right"),
        (174, "decoding: word by word"),
    ):
        canvas.text(240, top, title, bold=True)
        canvas.note(10, top + 28, "labels" if top == 14 else "said", anchor="start")
        canvas.note(10, top + 126, "fed", anchor="start")
        if top == 14:
            canvas.box(first - 28, top + 62, 4 * pitch + 56, 30, "decoder", tone="target")
        for number, (fed, said) in enumerate(zip(FED, SAID, strict=True)):
            x = first + pitch * number
            canvas.text(x, top + 28, said, size=SMALL)
            canvas.text(x, top + 126, fed, size=SMALL)
            canvas.arrow((x, top + 114), (x, top + 93))
            canvas.arrow((x, top + 62), (x, top + 41))
            if top == 14:
                continue
            canvas.box(x - 28, top + 62, 56, 30, f"step {number + 1}", tone="target", size=SMALL)
            if number < 4:
                half, turn = width_of(said, SMALL) / 2 + 5, x + pitch / 2
                points = (x + half, 28), (turn, 28), (turn, 126), (x + pitch - half, 126)
                canvas.arrow(*((at, top + y) for at, y in points), tone="target")

    # The two rows of one word
    cell, left, top = 24, 192, 424
    canvas.text(240, 334, "two rows of “they” in the cross-attention", bold=True)
    canvas.matrix(left, top, _weights(np.ones((5, 4), bool), LINKS), cell=cell)
    _columns(canvas, left, top - 7, SOURCE, cell, tone="context")
    for x, anchor, words, header, row in (
        (left - 8, "end", FED, "fed", 2),
        (left + 4 * cell + 8, "start", SAID, "said", 1),
    ):
        canvas.note(x, top - 14, header, anchor=anchor)
        for number, word in enumerate(words):
            y = top + (number + 0.5) * cell
            chosen = {"tone": "target", "bold": True} if number == row else {}
            canvas.text(x, y, word, anchor=anchor, size=SMALL, **chosen)
        _frame(canvas, left, top + row * cell, 4 * cell, cell, tone="target")
    canvas.note(left - 60, top + 2.5 * cell, "the row of\nthe word fed", anchor="end")
    canvas.note(left + 4 * cell + 60, top + 1.5 * cell, "the row of\nthe word said", anchor="start")
    return canvas


def _frame(canvas, left, top, width, height, tone=None):
    corners = ((0, 0), (1, 0), (1, 1), (0, 1), (0, 0))
    canvas.line(
        *((left + across * width, top + down * height) for across, down in corners), tone=tone
    )


def _heat(canvas, left, top, values, across, down):
    """Draw numbers from -1.5 to 1.5 as cells, the larger the darker."""
    levels = np.clip(np.rint((values + 1.5) * 5), 1, 14).astype(int)
    paths = {
        level: drawsvg.Path(
            class_="context-line",
            stroke_width=down,
            stroke_opacity=round(level / 15, 2),
            shape_rendering="crispEdges",
        )
        for level in range(1, 15)
    }
    for row, line in enumerate(levels):  # cells alike side by side are drawn as one
        starts = np.flatnonzero(np.diff(line, prepend=0))
        for start, end in zip(starts, [*starts[1:], len(line)], strict=True):
            path = paths[line[start]].M(left + start * across, top + (row + 0.5) * down)
            path.h((end - start) * across)
    canvas.drawing.extend(paths.values())


def _weights(mask, links=()):
    """Softmax of random scores; a linked cell scores 3 more."""
    scores = np.random.default_rng(0).normal(size=mask.shape)
    for row, column in enumerate(links):
        scores[row, column] += 3
    shares = np.where(mask, np.exp(scores), 0)
    return shares / shares.sum(axis=1, keepdims=True)


def _crossed(values, mask):
    """Replace what the mask forbids by None."""
    return [
        [float(value) if may else None for value, may in zip(row, allowed, strict=True)]
        for row, allowed in zip(values, mask, strict=True)
    ]


def _rows(canvas, x, top, words, cell, **options):
    for number, word in enumerate(words):
        place = x, top + (number + 0.5) * cell
        canvas.text(*place, word, anchor="end", size=SMALL, **options)


def _columns(canvas, left, bottom, words, cell, **options):
    for number, word in enumerate(words):
        place = left + (number + 0.5) * cell, bottom
        canvas.text(*place, word, anchor="start", size=SMALL, turned=-90, **options)


DIAGRAMS = (
    transformer,
    encoder_layer,
    decoder_layer,
    three_attentions,
    masks,
    heads,
    positions,
    cache,
    teacher_forcing,
)

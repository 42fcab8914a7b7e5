"""Attention to pictures: glimpses, where the next one goes, and captions of clips."""

import itertools

import drawsvg
import numpy as np

from docs.diagrams.canvas import SMALL, Canvas, softmax

SIDE = 40  # of the picture, in pixels
DIGIT = [(26, 15), (20, 15), (19.5, 19), (23, 18.5), (25.5, 21), (24, 24.5), (19, 25)]
SCRIBBLES = [[(3, 9), (9, 6)], [(6, 30), (8, 36), (13, 35)], [(31, 28), (34, 34)]]


def glimpse() -> Canvas:
    """A glimpse is fine in the middle and coarse around: larger patches, equally many numbers."""
    picture, row, column = _scene(), 20, 22
    canvas = Canvas(338)
    canvas.text(136, 42, "patches around a place *l*")
    canvas.text(373, 16, "8 × 8 numbers each")
    _pixels(canvas, 16, 61, picture, 6)
    for scale in range(3):
        side, y = 8 * 2**scale, 36 + 101 * scale
        top, left = row - side // 2, column - side // 2
        patch = picture[top : top + side, left : left + side]
        cells = patch.reshape(8, 2**scale, 8, 2**scale).mean((1, 3))
        _pixels(canvas, 304, y, cells, 11, tone="weight")
        canvas.note(404, y + 44, f"{side} × {side}\npixels", anchor="start")
        _frame(canvas, 16 + 6 * left, 61 + 6 * top, 6 * side)
        corner = 16 + 6 * (left + side), 61 + 6 * (top + side * scale // 2)
        canvas.arrow(corner, (302, y + 44), tone="weight")
    canvas.drawing.append(drawsvg.Circle(148, 181, 4, class_="target-fill"))
    canvas.text(136, 188, "*l*", tone="target", bold=True)
    return canvas


def recurrent_glimpses() -> Canvas:
    """A recurrent network looks at a few places; what it saw decides where it looks next."""
    canvas = Canvas(296)
    canvas.text(32, 266, "*s*_{0}", tone="target")
    for step, (row, column) in enumerate(((20, 20), (15, 25), (12, 29)), start=1):
        x = 110 + 145 * (step - 1)
        for line in (np.add(DIGIT, (7, -8)), *SCRIBBLES):
            points = (np.array(line) * 1.8 + (x - 36, 124)).ravel().tolist()
            canvas.drawing.append(
                drawsvg.Lines(*points, fill="none", class_="plain-line", stroke_width=3)
            )
        _frame(canvas, x - 36, 124, 72, "plain")
        _frame(canvas, x - 36 + 1.8 * (column - 8), 124 + 1.8 * (row - 8), 28.8)
        canvas.box(x - 48, 42, 96, 34, f"core *h*_{{{step}}}")
        canvas.arrow((x, 124), (x, 77), tone="weight")
        canvas.text(x + 17, 101, f"*g*_{{{step}}}", tone="weight")
        # Where to look, from the locator's state before
        start = [(x - 97, 257)] if step > 1 else []
        path = *start, (x - 73, 257), (x - 73, 160), (x - 38, 160)
        canvas.arrow(*path, tone="target", dashed=True)
        canvas.text(x - 56, 144, f"*l*_{{{step}}}", tone="target")
        if step < 3:
            canvas.box(x - 48, 248, 96, 34, f"locator *s*_{{{step}}}", tone="target")
            canvas.arrow((x - 97 if step > 1 else 44, 273), (x - 49, 273), tone="target")
            canvas.arrow((x + 48, 59), (x + 96, 59))
            canvas.arrow((x + 43, 76), (x + 43, 247), tone="warning", dashed=True)
    canvas.arrow((400, 42), (400, 26))
    canvas.text(400, 14, "class")
    canvas.note(346, 222, "dashed:\nno gradient", anchor="start")
    drawn = "*l* is drawn:\nREINFORCE"
    canvas.text(346, 265, drawn, anchor="start", size=SMALL, tone="target")
    return canvas


def captioner() -> Canvas:
    """A captioner writes each word after a look at the frames that the word is about."""
    canvas = Canvas(318)
    words = ("red", "circle", "moves", "…", "blue", "square", "moves")
    scores = {1: (2, 3, 3, 2, 0, 0, 0), 5: (0, 0, 0, 0, 2, 3, 3)}
    for word, numbers in scores.items():
        x = 20 + 64 * word + 28
        canvas.arrow((x, 84), (x, 51), tone="value")
        canvas.arrow((x - 64, 50), (x - 64, 98), (x - 15, 98), tone="target", dashed=True)
        for frame, weight in enumerate(softmax(numbers)):
            style = {"tone": "weight", "width": 1 + 6 * weight, "opacity": 0.2 + 2 * weight}
            canvas.arrow((48 + 64 * frame, 184), (x, 113), head=False, **style)
        canvas.circle(x, 98, 14, "Σ", tone="value")
    for place, word in enumerate(words):
        x = 20 + 64 * place
        canvas.box(x, 16, 56, 34, word, tone="target")
        canvas.box(x, 184, 56, 32, f"*v*_{{{place + 1}}}", tone="context")
        canvas.arrow((x + 28, 240), (x + 28, 217))
        _frame_of_clip(canvas, x + 3, 240, place)
    canvas.note(132, 98, "read: a weighted\nsum of the frames", anchor="start")
    canvas.note(240, 304, "a CNN for each frame, a bidirectional LSTM over all")
    return canvas


def _frame_of_clip(canvas, x, y, number):
    """Draw a frame of a clip: a red circle moves left, then a blue square moves up."""
    canvas.drawing.append(drawsvg.Rectangle(x, y, 50, 50, rx=3, fill="#15171b"))
    if number < 4:
        look = {"fill": "none", "stroke": "#e63333", "stroke_width": 4}
        canvas.drawing.append(drawsvg.Circle(x + 38 - 8 * number, y + 30, 8, **look))
    else:
        top = y + 26 - 8 * (number - 4)
        canvas.drawing.append(drawsvg.Rectangle(x + 14, top, 20, 20, fill="#4d66ff"))


def _scene():
    """Return a picture of pixels from 0 to 1: a 5, drawn with a pen, and scribbles around it."""
    rows, columns = np.indices((SIDE, SIDE)) + 0.5
    picture = np.zeros((SIDE, SIDE))
    for line in (DIGIT, *SCRIBBLES):
        for (x0, y0), (x1, y1) in itertools.pairwise(line):
            along = (columns - x0) * (x1 - x0) + (rows - y0) * (y1 - y0)
            along = np.clip(along / ((x1 - x0) ** 2 + (y1 - y0) ** 2), 0, 1)
            far = np.hypot(columns - x0 - along * (x1 - x0), rows - y0 - along * (y1 - y0))
            picture = np.maximum(picture, np.clip(1.5 - far, 0, 1))
    return picture


def _pixels(canvas, x, y, picture, cell, tone="plain"):
    """Draw a picture of numbers from 0 to 1 in a frame; what is 0 is empty."""
    for (row, column), value in np.ndenumerate(picture.round(2)):
        if value:
            place = round(x + column * cell, 1), round(y + row * cell, 1)
            canvas.drawing.append(
                drawsvg.Rectangle(*place, cell, cell, class_=f"{tone}-fill", fill_opacity=value)
            )
    _frame(canvas, x, y, cell * len(picture), tone)


def _frame(canvas, x, y, side, tone="weight"):
    """Draw an empty square."""
    canvas.drawing.append(
        drawsvg.Rectangle(x, y, side, side, fill="none", class_=f"{tone}-line", stroke_width=1.6)
    )


DIAGRAMS = (glimpse, recurrent_glimpses, captioner)

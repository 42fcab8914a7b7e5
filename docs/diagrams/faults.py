"""Six ways in which a heat map goes wrong, each beside the right one."""

import numpy as np

from docs.diagrams.canvas import SMALL, Canvas, softmax

ROWS = ("Are", "they", "still", "home", "?")
COLUMNS = ("¿", "Todavía", "están", "casa", "?")
LINKS = (2, 2, 1, 3, 4)  # the column of each row
CELL = 23
LEFT, RIGHT, TOP = 66, 306, 96


def weight_on_padding() -> Canvas:
    """Weight on padding is a band at one side, the same in all rows; a mask removes it."""
    columns = (*COLUMNS, "pad", "pad")
    scores = np.pad(_scores(), ((0, 0), (0, 2)), constant_values=2.5)
    masked = np.where([True] * 5 + [False] * 2, scores, -np.inf)
    return _beside("no mask", softmax(scores), "masked", softmax(masked), columns=columns)


def rows_alike() -> Canvas:
    """Rows that are all alike make stripes: the scores do not depend on the query."""
    alike = softmax(np.tile([[0.5, 1.5, 2.5, 2.0, 1.0]], (5, 1)))
    return _beside("the query ignored", alike, "right", softmax(_scores()))


def shifted_by_one() -> Canvas:
    """A map shifted by one row has the labels of what was fed, not of what was said."""
    right = softmax(_scores())
    return _beside("labels fed", right, "labels said", right, rows=("[START]", *ROWS[:-1]))


def transposed() -> Canvas:
    """In a transposed map the columns sum to 1, not the rows."""
    right = softmax(_scores())
    return _beside("columns sum to 1", right.T, "rows sum to 1", right)


def split_words() -> Canvas:
    """A word in pieces has a row for each; merged, its rows become their mean."""
    rows = ("the", "app", "##le", "is", "red")
    columns = ("la", "manzana", "es", "roja")
    scores = np.zeros((5, 4))
    scores[range(5), [0, 1, 1, 2, 3]] = (4, 4, 1.5, 4, 4)
    pieces = softmax(scores)
    words = np.stack([pieces[0], pieces[1:3].mean(axis=0), *pieces[3:]])
    canvas = Canvas(TOP + 5 * CELL + 12)
    _map(canvas, LEFT, "pieces", rows, columns, pieces)
    _map(canvas, RIGHT, "words", ("the", "apple", "is", "red"), columns, words)
    return canvas


def weight_on_the_end() -> Canvas:
    """Much weight on [END] can be right: a head with nothing to do rests there."""
    columns = (*COLUMNS, "[END]")
    scores = np.pad(_scores(), ((0, 0), (0, 1)))
    resting = np.pad(0.3 * _scores(), ((0, 0), (0, 1)), constant_values=4)
    maps = softmax(resting), softmax(scores)
    return _beside("a head that rests", maps[0], "a head that aligns", maps[1], columns=columns)


def _scores():
    scores = np.zeros((5, 5))
    scores[range(5), LINKS] = 4
    return scores


def _beside(wrong_title, wrong, right_title, right, *, rows=ROWS, columns=COLUMNS):
    """Draw two maps with the same columns."""
    canvas = Canvas(TOP + 5 * CELL + 12)
    _map(canvas, LEFT, wrong_title, rows, columns, wrong)
    _map(canvas, RIGHT, right_title, ROWS, columns, right)
    return canvas


def _map(canvas, x, title, rows, columns, weights):
    """Draw a map below its title and the words of its columns."""
    canvas.text(x + CELL * len(columns) / 2, 16, title, bold=True)
    for column, word in enumerate(columns):
        place = x + (column + 0.5) * CELL
        canvas.text(place, TOP - 6, word, anchor="start", size=SMALL, turned=-60)
    for row, word in enumerate(rows):
        canvas.text(x - 6, TOP + (row + 0.5) * CELL, word, anchor="end", size=SMALL)
    canvas.matrix(x, TOP, weights, cell=CELL)


DIAGRAMS = (
    weight_on_padding,
    rows_alike,
    shifted_by_one,
    transposed,
    split_words,
    weight_on_the_end,
)

"""Maps of attention, and how to read them."""

import numpy as np

from docs.diagrams.canvas import SMALL, Canvas

SOURCE, TARGET = ("la", "casa", "blanca"), ("the", "white", "house")


def alignment_matrix() -> Canvas:
    """A row of the map shows where the model looked before it wrote one word."""
    weights = np.array([[0.9, 0.07, 0.03], [0.02, 0.08, 0.9], [0.03, 0.89, 0.08]])
    marked = 1
    canvas = Canvas(268)
    canvas.text(191, 22, "words read", tone="context", bold=True)
    canvas.text(20, 163, "words written", tone="target", bold=True, turned=-90)
    canvas.matrix(104, 76, 0.55 * weights, cell=58)
    for row, (read, written) in enumerate(zip(SOURCE, TARGET, strict=True)):
        canvas.text(133 + 58 * row, 56, read, tone="context")
        canvas.text(92, 105 + 58 * row, written, anchor="end", tone="target")
        for column, weight in enumerate(weights[row]):
            label = f"{weight:.2f}".lstrip("0")
            canvas.text(133 + 58 * column, 105 + 58 * row, label, size=SMALL)
    # A frame around one row, from the middle of its top so that no corner is open
    left, top, right, bottom = 103, 75 + 58 * marked, 279, 135 + 58 * marked
    corners = (right, top), (right, bottom), (left, bottom), (left, top)
    canvas.arrow((191, top), *corners, (191, top), head=False, tone="weight", width=3)
    canvas.note(300, 105, "on the diagonal:\nthe same order", anchor="start")
    total = " + ".join(f"{weight:.2f}".lstrip("0") for weight in weights[marked])
    canvas.text(300, 163, f"{total} = {weights[marked].sum():g}", anchor="start", tone="weight")
    canvas.note(300, 221, "off the diagonal:\nthe order changes", anchor="start")
    return canvas


DIAGRAMS = (alignment_matrix,)

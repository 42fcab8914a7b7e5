"""From one vector to a memory: the encoder–decoder without and with attention."""

from docs.diagrams.canvas import SMALL, Canvas

SOURCE = ("¿Todavía", "están", "en", "casa?")
TARGET = ("Are", "they", "home?")


def one_vector() -> Canvas:
    """Without attention the decoder knows one vector, the encoder's last state."""
    canvas = Canvas(236)
    _encoder(canvas, 138)
    canvas.arrow((404, 138), (404, 108), (68, 108), (68, 88), tone="warning")
    canvas.text(236, 122, "one vector for the whole sentence", tone="warning")
    _decoder(canvas, 52)
    return canvas


def a_memory() -> Canvas:
    """With attention the decoder looks at all states of the encoder before each word."""
    canvas = Canvas(330)
    _encoder(canvas, 232)
    weights = (0.08, 0.8, 0.07, 0.05)
    places = (84, 158, 268, 416)
    for number, (weight, place) in enumerate(zip(weights, places, strict=True)):
        x = 68 + number * 112
        thick, opacity = 1 + 4 * weight, 0.4 + 0.6 * weight
        canvas.arrow((x, 232), (228, 174), tone="weight", width=thick, opacity=opacity)
        canvas.text(place, 209, f".{100 * weight:02.0f}", tone="weight", size=SMALL)
    canvas.circle(228, 157, 16, "Σ", tone="value")
    canvas.note(254, 150, "read: the weighted sum\nof all states", anchor="start")
    canvas.arrow((228, 141), (228, 88), tone="value")
    canvas.arrow((68, 88), (68, 157), (211, 157), tone="target", dashed=True)
    canvas.note(76, 118, "query: the state\nbefore the word", anchor="start")
    _decoder(canvas, 52)
    return canvas


def _encoder(canvas, top):
    for number, word in enumerate(SOURCE):
        x = 24 + number * 112
        canvas.box(x, top, 88, 34, f"h_{{{number + 1}}}", tone="context")
        canvas.arrow((x + 44, top + 66), (x + 44, top + 35))
        canvas.text(x + 44, top + 78, word)
        if number:
            canvas.arrow((x - 24, top + 17), (x - 1, top + 17))


def _decoder(canvas, top):
    for number, word in enumerate(TARGET):
        x = 24 + number * 160
        canvas.box(x, top, 88, 34, f"s_{{{number + 1}}}", tone="target")
        canvas.arrow((x + 44, top), (x + 44, top - 26))
        canvas.text(x + 44, top - 38, word)
        if number:
            canvas.arrow((x - 72, top + 17), (x - 1, top + 17))


DIAGRAMS = (one_vector, a_memory)

"""The pen of all diagrams: boxes, arrows, vectors, matrices and formulas in a few tones.

A diagram is 480 units wide, so that its smallest letters are readable on a phone. Tones have
meanings that hold in all diagrams, see `TONES`; each is drawn for light and for dark pages.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

import drawsvg
import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

WIDTH = 480
SIZE = 15  # of letters; 11 pixels on a phone that is 360 wide
SMALL = 13.5
# name: (meaning, fill and line on light pages, fill and line on dark pages)
TONES = {
    "context": ("what is read: source words, keys", "#dbe9fb", "#2f6fbd", "#1d3a5c", "#7db4f0"),
    "target": (
        "what is written: target words, queries",
        "#fde6cf",
        "#c4691c",
        "#5a3717",
        "#f0a866",
    ),
    "value": ("what is looked up: values, memories", "#d9f0de", "#2f8a4c", "#1d4a2c", "#7fce97"),
    "weight": ("attention weights", "#ebe0fa", "#7a4cc2", "#3f2b63", "#bd9cf0"),
    "plain": ("any other operation", "#eef0f3", "#66707c", "#333a43", "#a3adb9"),
    "warning": ("what is forbidden, lost or wrong", "#fadcdc", "#bd3636", "#5c2424", "#f08c8c"),
}
PAGE = ("#ffffff", "#1e2129")
INK = ("#1f2630", "#e6e9ee")
FAINT = ("#5d6772", "#a9b2bd")
NAME = "keras-attention-diagram"


class Canvas:
    """A diagram in the making; places are in units from the upper left corner.

    Args:
        height: of the diagram; its width is `WIDTH`.
    """

    def __init__(self, height: float):
        self.height = height
        self.drawing = drawsvg.Drawing(WIDTH, height, class_=NAME, role="img")
        # A page of its own, since not every reader's page has the colour that the system says.
        self.drawing.append(drawsvg.Rectangle(0, 0, WIDTH, height, rx=8, class_="page"))

    def svg(self, title: str) -> str:
        """Return the diagram as an SVG file whose title says what it shows."""
        body = self.drawing.as_svg(header="")
        used = {name for names in re.findall(r'class="([^"]*)"', body) for name in names.split()}
        head, elements = body.split(">", 1)
        # Rounded, since processors differ in the last digits
        long = re.compile(r"\d+\.\d{5,}(e-\d+)?")
        elements = long.sub(lambda number: str(round(float(number[0]), 4)), elements)
        head = re.sub(r' (width|height)="[^"]*"', "", head).replace(
            "<svg", f'<svg width="{WIDTH}" height="{self.height:g}"'
        )
        return f"{head}>\n<title>{title}</title>\n<style>\n{style(used)}\n</style>{elements}\n"

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        label: str = "",
        *,
        tone: str = "plain",
        size: float = SIZE,
        dashed: bool = False,
        round_: float = 6,
    ) -> None:
        """Draw a box around its label, which may have several lines."""
        dash = {"stroke_dasharray": "5 4"} if dashed else {}
        widest = max((width_of(line, size) for line in label.split("\n")), default=0)
        if widest > width - 4:
            raise ValueError(f"{label!r} is {widest:.0f} wide, too much for a box of {width:.0f}")
        self.drawing.append(
            drawsvg.Rectangle(x, y, width, height, rx=round_, stroke_width=1.4, class_=tone, **dash)
        )
        self.text(x + width / 2, y + height / 2, label, size=size)

    def text(
        self,
        x: float,
        y: float,
        label: str,
        *,
        anchor: str = "middle",
        size: float = SIZE,
        faint: bool = False,
        tone: str | None = None,
        bold: bool = False,
        turned: float = 0,
    ) -> None:
        """Write text whose middle is at a place; it may have several lines.

        `_{…}` is below the line, `^{…}` above it, `*…*` in italics. The place is the middle of the
        text, or where it starts or ends, by `anchor`.
        """
        names = [*(["faint"] if faint else []), *([f"{tone}-ink"] if tone else [])]
        lines = label.split("\n") if label else []
        if not turned:
            width = max((width_of(line, size) for line in lines), default=0)
            left = x - {"start": 0, "middle": width / 2, "end": width}[anchor]
            if left < 0 or left + width > WIDTH:
                raise ValueError(
                    f"{label!r} leaves the diagram: from {left:.0f} to {left + width:.0f}"
                )
        for number, line in enumerate(lines):
            middle = y + (number - (len(lines) - 1) / 2) * size * 1.25 + size * 0.35
            turn = {"transform": f"rotate({turned} {x} {y})"} if turned else {}
            written = drawsvg.Text(
                [],
                size,
                x,
                middle,
                text_anchor=anchor,
                font_family="system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif",
                font_weight="600" if bold else "400",
                class_=" ".join(names) or None,
                **turn,
            )
            shift = 0.0
            for part, kind in parts(line):
                wanted = {"sub": 0.3, "sup": -0.42}.get(kind, 0.0) * size
                small = kind in ("sub", "sup")
                written.append(
                    drawsvg.TSpan(
                        part,
                        dy=round(wanted - shift, 2),
                        font_size=round(size * 0.72, 2) if small else size,
                        font_style="italic" if kind == "italic" else "normal",
                    )
                )
                shift = wanted
            self.drawing.append(written)

    def arrow(
        self,
        *points: tuple[float, float],
        tone: str | None = None,
        width: float = 1.6,
        dashed: bool = False,
        head: bool = True,
        opacity: float = 1.0,
    ) -> None:
        """Draw a line through points that ends in an arrow's head.

        Args:
            points: at least two (x, y).
            tone: colour; None: ink.
            width: of the line.
            dashed: whether it is dashed.
            head: whether it ends in a head.
            opacity: for lines that show a weight.
        """
        (x0, y0), (x1, y1) = points[-2], points[-1]
        path = drawsvg.Path(
            class_=f"{tone}-line" if tone else "stroke",
            fill="none",
            stroke_width=width,
            stroke_opacity=opacity,
            stroke_linejoin="round",
            **({"stroke_dasharray": "5 4"} if dashed else {}),
        )
        # The direction at the end, of length 1
        length = max(((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5, 1e-9)
        ux, uy = (x1 - x0) / length, (y1 - y0) / length
        size = 4 + 2 * width
        stop = (x1 - ux * size * 0.8, y1 - uy * size * 0.8) if head else (x1, y1)
        path.M(*points[0])
        for point in (*points[1:-1], stop):
            path.L(*point)
        self.drawing.append(path)
        if head:
            self.drawing.append(
                drawsvg.Lines(
                    x1,
                    y1,
                    x1 - ux * size - uy * size * 0.45,
                    y1 - uy * size + ux * size * 0.45,
                    x1 - ux * size + uy * size * 0.45,
                    y1 - uy * size - ux * size * 0.45,
                    close=True,
                    class_=f"{tone}-fill" if tone else "fill-ink",
                    fill_opacity=opacity,
                )
            )

    def circle(
        self,
        x: float,
        y: float,
        radius: float,
        label: str = "",
        *,
        tone: str = "plain",
        size: float = SIZE,
    ) -> None:
        """Draw a circle around its label."""
        self.drawing.append(drawsvg.Circle(x, y, radius, stroke_width=1.4, class_=tone))
        self.text(x, y, label, size=size)

    def vector(
        self, x: float, y: float, cells: int, *, tone: str, cell: float = 12, upright: bool = True
    ) -> None:
        """Draw a vector as a column (or a row) of cells; (x, y) is its upper left corner."""
        for number in range(cells):
            place = (x, y + number * cell) if upright else (x + number * cell, y)
            self.drawing.append(drawsvg.Rectangle(*place, cell, cell, stroke_width=1, class_=tone))

    def matrix(
        self,
        x: float,
        y: float,
        values: Sequence[Sequence[float | None]],
        *,
        cell: float = 26,
        tone: str = "weight",
    ) -> None:
        """Draw numbers from 0 to 1 as cells, the larger the darker; None is crossed out."""
        for row, line in enumerate(values):
            for column, value in enumerate(line):
                left, top = x + column * cell, y + row * cell
                self.drawing.append(
                    drawsvg.Rectangle(
                        left, top, cell, cell, stroke_width=0.8, fill="none", class_="stroke-faint"
                    )
                )
                if value is None:
                    for ends in (
                        (left, top, left + cell, top + cell),
                        (left, top + cell, left + cell, top),
                    ):
                        self.drawing.append(
                            drawsvg.Line(*ends, stroke_width=0.8, class_="stroke-faint")
                        )
                    continue
                self.drawing.append(
                    drawsvg.Rectangle(
                        left, top, cell, cell, fill_opacity=value, class_=f"{tone}-fill"
                    )
                )

    def line(
        self, *points: tuple[float, float], dashed: bool = False, tone: str | None = None
    ) -> None:
        """Draw a line without a head."""
        self.arrow(*points, head=False, dashed=dashed, tone=tone)

    def note(self, x: float, y: float, label: str, *, anchor: str = "middle") -> None:
        """Write a remark in small faint letters."""
        self.text(x, y, label, anchor=anchor, size=SMALL, faint=True)


def softmax(scores: Sequence | np.ndarray) -> np.ndarray:
    """Return weights that sum to 1 over the last axis, of the shape of the scores."""
    powers = np.exp(np.asarray(scores, "float64"))
    return powers / powers.sum(axis=-1, keepdims=True)


def parts(line: str) -> list[tuple[str, str]]:
    """Part a line into (text, kind): plain, italic, sub or sup.

    Example:
    >>> parts("*α*_{ts} = 1")
    [('α', 'italic'), ('ts', 'sub'), (' = 1', 'plain')]
    """
    kinds = {"_{": "sub", "^{": "sup"}
    found = []
    for part in re.split(r"([_^]\{[^}]*\}|\*[^*]+\*)", line):
        if part[:2] in kinds:
            found.append((part[2:-1], kinds[part[:2]]))
        elif part.startswith("*") and len(part) > 1:
            found.append((part[1:-1], "italic"))
        elif part:
            found.append((part, "plain"))
    return found


@lru_cache(maxsize=4096)
def width_of(line: str, size: float) -> float:
    """Return the width of a line in a wide font, so that it fits in every other."""
    font = FontProperties(family="DejaVu Sans")
    width = 0.0
    for part, kind in parts(line):
        small = kind in ("sub", "sup")
        # A blank at the end has no outline
        outline = TextPath((0, 0), f"{part}.", size * (0.72 if small else 1), prop=font)
        width += outline.get_extents().x1 - size * 0.2
    return width


def style(used: set[str]) -> str:
    """Return the style sheet of a diagram: the classes that it uses, for light and dark pages.

    A picture follows the reader's system. Where it is part of a page that can be switched, it
    follows the page.
    """

    def rules(scope, column):
        lines = [f"{scope} text{{fill:{INK[column]}}}"]
        colours = {
            "page": f"fill:{PAGE[column]}",
            "faint": f"fill:{FAINT[column]}",
            "stroke": f"stroke:{INK[column]}",
            "stroke-faint": f"stroke:{FAINT[column]}",
            "fill-ink": f"fill:{INK[column]}",
        }
        for name, (_, *pairs) in TONES.items():
            fill, line = pairs[2 * column : 2 * column + 2]
            colours |= {
                name: f"fill:{fill};stroke:{line}",
                f"{name}-line": f"stroke:{line}",
                f"{name}-fill": f"fill:{line}",
                f"{name}-ink": f"fill:{line}",
            }
        lines += [f"{scope} .{name}{{{rule}}}" for name, rule in colours.items() if name in used]
        return "\n".join(lines)

    light, dark = rules(f".{NAME}", 0), rules(f".{NAME}", 1)
    switched = [
        rules(f"[data-md-color-scheme={scheme}] .{NAME}", column)
        for column, scheme in enumerate(("default", "slate"))
    ]
    fits = f".{NAME}{{max-width:100%;height:auto}}"
    return "\n".join([fits, light, f"@media (prefers-color-scheme:dark){{\n{dark}\n}}", *switched])

"""Diagrams of how attention, its layers and its models work: SVG, for light and dark pages.

`diagram("heads")` shows one in a notebook; `NAMES` lists them all. The files lie beside this one;
`python -m docs.diagrams` draws them.
"""

import re
from pathlib import Path

from keras_attention.storage import written_whole

FOLDER = Path(__file__).parent
NAMES: tuple[str, ...] = tuple(sorted(path.stem for path in FOLDER.glob("*.svg")))


class Diagram:
    """A diagram, which a notebook shows below the cell.

    Attributes:
        name: its name in `NAMES`.
        caption: what it shows, one sentence.
        svg: the file, as text.
    """

    def __init__(self, name: str, svg: str):
        self.name, self.svg = name, svg
        found = re.search(r"<title>(.*?)</title>", svg, re.DOTALL)
        self.caption = found.group(1) if found else ""

    def __repr__(self) -> str:
        return f"Diagram({self.name!r}): {self.caption}"

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: Path | str) -> None:
        """Write the SVG file, whole or not at all."""
        with written_whole(path) as part:
            part.write_text(self.svg, encoding="utf-8")


def diagram(name: str) -> Diagram:
    """Return a diagram by its name.

    Args:
        name: one of `keras_attention.plotting.diagrams.NAMES`, such as `"heads"`.

    Returns:
        `Diagram`.

    Raises:
        ValueError: there is no such diagram; the message lists those that there are.

    Example:
    >>> diagram("one-vector")
    Diagram('one-vector'): Without attention the decoder knows one vector, the encoder's last state.
    """
    if name not in NAMES:
        raise ValueError(f"name must be one of {', '.join(NAMES)}, got {name!r}")
    return Diagram(name, (FOLDER / f"{name}.svg").read_text(encoding="utf-8"))

"""Draw every diagram into the package: `python -m docs.diagrams`."""

import sys

from docs.diagrams import drawn
from keras_attention.plotting import diagrams
from keras_attention.storage import remove, written_whole


def main():
    """Write the SVG files, and remove those that nothing draws any more."""
    pictures = drawn()
    folder = diagrams.FOLDER
    for path in folder.glob("*.svg"):
        if path.stem not in pictures:
            remove(path)
    for name, svg in pictures.items():
        with written_whole(folder / f"{name}.svg") as path:
            path.write_text(svg, encoding="utf-8")
    print(f"{len(pictures)} diagrams in {folder}")


if __name__ == "__main__":
    sys.exit(main())

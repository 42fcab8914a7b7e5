"""Write the README's table of scores from the menu: `make docs` does so first."""

from pathlib import Path

import keras_attention_command  # noqa: F401  with it, Keras is imported only where it is needed
from keras_attention import menu

README = Path(__file__).parents[1] / "README.md"
FIRST, LAST = "| --- | --- |\n", "| a function or a layer of your own |"


def rows() -> str:
    """Return a row for each score."""
    return "".join(f'| {each.equation} | `"{name}"` |\n' for name, each in menu.SCORES.items())


def written(page: str) -> str:
    """Return the page with these rows in its table of scores."""
    end = page.index(LAST)
    begin = page.rindex(FIRST, 0, end) + len(FIRST)
    return page[:begin] + rows() + page[end:]


if __name__ == "__main__":
    page = README.read_text(encoding="utf-8")
    if written(page) != page:
        README.write_text(written(page), encoding="utf-8")

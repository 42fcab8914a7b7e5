"""Where the files are that come with the package."""

from pathlib import Path

_PACKAGE = Path(__file__).parents[1]


def bundled(*parts: str) -> Path:
    """Return the path of a file or folder of `data/`: inside an installed package, or beside it.

    Args:
        parts: its place there, such as `"digits", "digits.npz"`; nothing for the folder itself.
    """
    inside = _PACKAGE / "data"
    return (inside if inside.is_dir() else _PACKAGE.parent / "data").joinpath(*parts)

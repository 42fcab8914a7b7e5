"""How to install this package and the extras that parts of it need.

On the public package index the name keras-attention belongs to another project with the same
import name. This package is therefore called `keras-attention-tutorial` and is installed from its
repository or from a checkout.
"""

import warnings
from collections.abc import Iterable
from importlib import metadata
from importlib.util import find_spec

NAME = "keras-attention-tutorial"
REPOSITORY = "https://github.com/keras-attention/keras_attention"
NAMESAKE = "keras-attention"


def missing(packages: Iterable[str]) -> list[str]:
    """Return those of some packages that are not installed, by the names that imports have.

    Example:
    >>> missing(["keras", "no_such_package"])
    ['no_such_package']
    """
    return [name for name in packages if find_spec(name) is None]


def pip_install(extra: str) -> str:
    """Return the command that installs the package with one of its extras.

    Example:
    >>> pip_install("demo").split(" @ ")[0]
    "pip install 'keras-attention-tutorial[demo]"
    """
    return f"pip install '{NAME}[{extra}] @ git+{REPOSITORY}'"


def warn_of_namesake() -> None:
    """Warn if the other project with the same import name is also installed."""
    try:
        found = metadata.metadata(NAMESAKE)
    except metadata.PackageNotFoundError:
        return
    # An older checkout of this package also has that name.
    if "Home-page" not in found or found["Home-page"] != REPOSITORY:
        warnings.warn(
            f"another package with the import name keras_attention is installed, {NAMESAKE} "
            f"{found['Version']}; each may hide the other: pip uninstall {NAMESAKE}",
            stacklevel=2,
        )

"""Types that signatures name."""

from collections.abc import Sequence
from typing import Any, TypeAlias

Array: TypeAlias = Any
"""A tensor of the backend, a symbolic `KerasTensor`, or a NumPy array: they have no common type."""

Shape: TypeAlias = Sequence[int | None]
"""The sizes of an array's axes; None where an axis is unknown."""

"""Check what was read from JSON against types, each declared once: hints, or a dataclass."""

import json
import reprlib
import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

MOST_BYTES = 2**24
MOST_NESTED = 16
_CONTENTS = "the contents"
_NAMES = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "an object",
    type(None): "null",
}


def read_json(path: Path | str) -> Any:
    """Read a file of JSON.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not JSON in UTF-8, has more than 16 MiB, or values inside each other more
            than 16 times.
    """
    path = Path(path)
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise ValueError(f"{path} has at most {MOST_BYTES:,} bytes, got {size:,}")
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        deep = _nesting(value) > MOST_NESTED
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    except RecursionError:
        deep = True
    if deep:
        raise ValueError(f"{path} has values inside each other more than {MOST_NESTED} times")
    return value


@contextmanager
def naming(path: Path | str) -> Iterator[None]:
    """Begin the message of a ValueError in the block with the path of the file it is about."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def check_type(value: Any, kind: Any, name: str = "") -> None:
    """Check that a value has a type.

    Args:
        value: the value; from JSON, or a setting.
        kind: a type hint: `int`, `float`, `str`, `bool`, `None`, `Any`, another class, a union,
            `list[…]`, `tuple[…]` for a list of this length, `dict[str, …]`, or a dataclass for an
            object with its fields.
        name: the name of the value in the message; "" for the contents of a file.

    Raises:
        ValueError: it has another type; the message says what was expected and what was received.

    Example:
    >>> check_type([1, 2.5], list[float], "curve")
    >>> check_type({"curve": [True]}, dict[str, list[float]], "history")
    Traceback (most recent call last):
    ValueError: history.curve[0] must be a number, got True
    """
    if kind is Any:
        return
    origin, inner = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        check_fields(value, kind, name)
    elif origin in (Union, types.UnionType):
        _check_union(value, inner, name)
    elif origin is dict:
        _check_class(value, dict, name)
        for key, each in value.items():
            _check_class(key, str, f"a key of {name or _CONTENTS}")
            check_type(each, inner[1], _join(name, key))
    elif origin in (list, tuple):
        _check_class(value, list, name)
        if origin is tuple and len(value) != len(inner):
            raise ValueError(f"{name} must be a list of {len(inner)}, got {reprlib.repr(value)}")
        for number, each in enumerate(value):
            check_type(each, inner[number if origin is tuple else 0], f"{name}[{number}]")
    else:
        _check_class(value, kind, name)


def check_fields(value: Any, kind: Any, name: str = "", *, others: bool = False) -> None:
    """Check that an object of JSON has the fields of a dataclass.

    Args:
        value: the object.
        kind: the dataclass. A field without a default is required.
        name: the name of the object in the message; "" for the contents of a file.
        others: whether it may have other fields as well.

    Raises:
        ValueError: a field is missing, has another type, or is unknown.
    """
    check_hints(
        value,
        get_type_hints(kind),
        name,
        required=[
            each.name for each in fields(kind) if each.default is each.default_factory is MISSING
        ],
        others=others,
    )


def check_hints(
    value: Any,
    hints: Mapping[str, Any],
    name: str = "",
    *,
    required: Sequence[str] = (),
    others: bool = False,
) -> None:
    """Check that an object of JSON has fields of some types.

    Args:
        value: the object.
        hints: the type of each field by its name.
        name: the name of the object in the message; "" for the contents of a file.
        required: the fields that may not be missing.
        others: whether it may have other fields as well.

    Raises:
        ValueError: a field is missing, has another type, or is unknown.
    """
    _check_class(value, dict, name)
    whole = name or _CONTENTS
    missing = [each for each in required if each not in value]
    unknown = [each for each in value if each not in hints]
    if missing:
        raise ValueError(f"{whole} must have {', '.join(missing)}, got {reprlib.repr(list(value))}")
    if unknown and not others:
        raise ValueError(f"{whole} has no {unknown[0]}; it has {', '.join(hints)}")
    for each, kind in hints.items():
        if each in value:
            check_type(value[each], kind, _join(name, each))


def _check_union(value, kinds, name):
    others = [kind for kind in kinds if kind is not type(None)]
    if value is None and len(others) < len(kinds):
        return
    if len(others) == 1:
        check_type(value, others[0], name)
    elif not any(_fits(value, kind) for kind in others):
        names = " or ".join(_NAMES.get(kind, str(kind)) for kind in others)
        raise ValueError(f"{name} must be {names}, got {reprlib.repr(value)}")


def _fits(value, kind):
    try:
        check_type(value, kind, "value")
    except ValueError:
        return False
    return True


def _check_class(value, kind, name):
    """Check for a plain class; True is no number, and a whole number is a number."""
    classes = (int, float) if kind is float else kind
    if not isinstance(value, classes) or (isinstance(value, bool) and kind in (int, float)):
        raise ValueError(
            f"{name or _CONTENTS} must be {_NAMES.get(kind, kind)}, got {reprlib.repr(value)}"
        )


def _join(name, field):
    return f"{name}.{field}" if name else field


def _nesting(value):
    """Return how many lists and objects are inside each other at most."""
    depth, level = 0, [value]
    while level := [each for each in level if isinstance(each, (dict, list))]:
        insides = [each.values() if isinstance(each, dict) else each for each in level]
        level = [each for inside in insides for each in inside]
        depth += 1
    return depth

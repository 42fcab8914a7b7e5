"""The rule of the house: a module imports only modules that stand above it in the reading order.

The order is read from the docstring of the package, so that it cannot go stale. The side rooms,
`files` to `plotting`, import nothing of the trunk.
"""

import ast
import re
from pathlib import Path

import pytest

import keras_attention

PACKAGE = Path(keras_attention.__file__).parent
ORDER = re.findall(r"^- `(\w+)`", keras_attention.__doc__, re.MULTILINE)
TRUNK = ("ops", "layers", "models")
SIDE_ROOMS = ORDER[ORDER.index("files") : ORDER.index("translator")]
FORBIDDEN_IN_THE_TRUNK = {"tensorflow", "tensorflow_text", "jax", "torch", "matplotlib"}
FILES = sorted(PACKAGE.rglob("*.py"))


def room_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports_of(path):
    """Yield (top module, room of this package or None) of every import in a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module]
            if node.module == "keras_attention":
                names = [f"keras_attention.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            top, *rest = name.split(".")
            inside = top == "keras_attention" and rest and not rest[0].startswith("__")
            yield top, rest[0] if inside else None


def name_of(path):
    return str(path.relative_to(PACKAGE))


def test_every_room_is_in_the_reading_order():
    assert {room_of(path) for path in FILES} - {"__init__"} == set(ORDER)


@pytest.mark.parametrize("path", [p for p in FILES if room_of(p) != "__init__"], ids=name_of)
def test_a_module_imports_only_what_stands_above_it(path):
    room = room_of(path)
    above = ORDER[: ORDER.index(room) + 1]
    rooms = {imported for _, imported in imports_of(path) if imported}
    assert rooms <= set(above), f"{path.name} imports {sorted(rooms - set(above))} from below"


@pytest.mark.parametrize("path", [p for p in FILES if room_of(p) in SIDE_ROOMS], ids=name_of)
def test_a_side_room_imports_nothing_of_the_trunk(path):
    assert not {imported for _, imported in imports_of(path)} & set(TRUNK)


@pytest.mark.parametrize(
    "path", [p for p in FILES if room_of(p) in (*TRUNK, "training", "decoding")], ids=name_of
)
def test_the_trunk_training_and_decoding_know_no_backend(path):
    assert not {top for top, _ in imports_of(path)} & FORBIDDEN_IN_THE_TRUNK


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_the_library_has_no_assert_pickle_or_lambda_layer(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert not any(isinstance(node, ast.Assert) for node in ast.walk(tree))
    names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert "Lambda" not in names
    assert "pickle" not in {top for top, _ in imports_of(path)}

"""The rule of the house: a module imports only modules that stand above it in the reading order.

The order is read from the docstring of the package, so that it cannot go stale. The side rooms,
`storage` to `plotting`, import nothing of the trunk.
"""

import ast
import re
from inspect import ismodule
from pathlib import Path

import keras_attention

PACKAGE = Path(keras_attention.__file__).parent
ORDER = re.findall(r"^- `(\w+)`", keras_attention.__doc__, re.MULTILINE)
TRUNK = ("ops", "layers", "models")
SIDE_ROOMS = ORDER[ORDER.index("storage") : ORDER.index("plotting") + 1]
FORBIDDEN_IN_THE_TRUNK = {"tensorflow", "tensorflow_text", "jax", "torch", "matplotlib"}
FILES = sorted(PACKAGE.rglob("*.py"))


def room_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports_of(path):
    """Return what a file imports: "tensorflow" for a module, ".text" for a room of this package."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            inside = node.module == "keras_attention"
            names = (
                [f"{node.module}.{each.name}" for each in node.names] if inside else [node.module]
            )
        else:
            continue
        for name in names:
            top, *rest = name.split(".")
            found.add(f".{rest[0]}" if top == "keras_attention" and rest else top)
    return found


def imported_by(rooms, names):
    """Return which of these names the modules of some rooms import, by module."""
    modules = (path for path in FILES if room_of(path) in rooms)
    found = {str(path.relative_to(PACKAGE)): imports_of(path) & set(names) for path in modules}
    return {module: imported for module, imported in found.items() if imported}


def test_every_room_is_in_the_reading_order():
    assert {room_of(path) for path in FILES} - {"__init__"} == set(ORDER)


def test_every_room_can_be_loaded():
    names = dir(keras_attention)
    assert {name for name in names if ismodule(getattr(keras_attention, name))} == set(ORDER)


def test_a_module_imports_only_what_stands_above_it():
    below = {room: [f".{other}" for other in ORDER[n + 1 :]] for n, room in enumerate(ORDER)}
    assert {room: found for room in ORDER if (found := imported_by([room], below[room]))} == {}


def test_a_side_room_imports_nothing_of_the_trunk():
    assert imported_by(SIDE_ROOMS, [f".{room}" for room in TRUNK]) == {}


def test_the_trunk_training_and_decoding_know_no_backend():
    assert imported_by((*TRUNK, "training", "decoding"), FORBIDDEN_IN_THE_TRUNK) == {}


def test_the_library_has_no_assert_pickle_or_lambda_layer():
    assert imported_by((*ORDER, "__init__"), ["pickle"]) == {}
    for path in FILES:
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        assert not any(isinstance(node, ast.Assert) for node in nodes), path
        assert "Lambda" not in {node.attr for node in nodes if isinstance(node, ast.Attribute)}, (
            path
        )

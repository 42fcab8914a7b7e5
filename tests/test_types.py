"""Every public signature has types, which `make lint` checks."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "keras_attention"
FILES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
SPECIAL = ("__init__", "__call__")


def public_functions(body, owner=""):
    """Yield the names and definitions of public functions and of public classes' methods."""
    for node in body:
        name = getattr(node, "name", "_")
        if name.startswith("_") and name not in SPECIAL:
            continue
        if isinstance(node, ast.ClassDef):
            yield from public_functions(node.body, f"{name}.")
        elif isinstance(node, ast.FunctionDef):
            yield f"{owner}{name}", node


def untyped(function):
    """Return the names of the arguments without a type, and "return"."""
    given = function.args
    arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    arguments += [each for each in (given.vararg, given.kwarg) if each]
    names = [each.arg for each in arguments if each.annotation is None]
    missing = [name for name in names if name not in ("self", "cls")]
    return missing + ["return"] * (function.returns is None and function.name != "__init__")


@pytest.mark.parametrize("file", FILES)
def test_every_public_signature_has_types(file):
    tree = ast.parse((PACKAGE / file).read_text(encoding="utf-8"))
    found = {name: untyped(function) for name, function in public_functions(tree.body)}
    assert {name: missing for name, missing in found.items() if missing} == {}


def test_an_argument_without_a_type_is_found():
    source = "class Layer:\n    def call(self, x: int, *, mask, **options) -> int: ...\n"
    ((name, function),) = public_functions(ast.parse(source).body)
    assert (name, untyped(function)) == ("Layer.call", ["mask", "options"])
    assert untyped(ast.parse("def f(x: int): ...").body[0]) == ["return"]

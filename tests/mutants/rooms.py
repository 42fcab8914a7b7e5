"""What is mutated, and which tests belong to it: both follow from the name of a room."""

import hashlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("ops", "layers", "decoding", "training", "corpora", "text", "metrics")


def modules(room, root=ROOT):
    """Return the modules of a room, as paths below the package: "ops/masks.py"."""
    package = root / "keras_attention"
    files = sorted((package / room).rglob("*.py")) or [package / f"{room}.py"]
    return [file.relative_to(package).as_posix() for file in files]


def room_of(module):
    """Return the room of a module: "ops" for "ops/masks.py", "metrics" for "metrics.py"."""
    return module.split("/")[0].removesuffix(".py")


def room_tests(room, root=ROOT):
    """Return the test files of a room: those of its folder, or the one that has its name."""
    folder = root / "tests" / room
    return sorted(folder.rglob("test_*.py")) or [folder.with_name(f"test_{room}.py")]


def in_turn(module, root=ROOT):
    """Return the tests for a module: those which have its name, then the rest, contracts first.

    What finds most comes first, since a run ends where a test fails.
    """
    every = room_tests(room_of(module), root)
    own = [file for file in every if file.stem == f"test_{Path(module).stem}"]
    rest = [file for file in every if file not in own]
    return own, sorted(rest, key=lambda file: file.stem != "test_contract")


def fingerprint(room, root=ROOT):
    """Return a hash of all that decides whether a room passes: the package, and its tests."""
    files = [*(root / "keras_attention").rglob("*.py"), *(root / "tests").glob("*.py")]
    files += [root / "setup.cfg", *(root / "tests" / room).rglob("*.py")]
    hashed = hashlib.sha256()
    for file in sorted(files):
        hashed.update(str(file.relative_to(root)).encode() + file.read_bytes())
    return hashed.hexdigest()

"""Let a process import a mutant, while no file of the checkout changes.

So several mutants live side by side on one checkout. The standard library alone is imported here,
since every Python that a test starts runs this file too, by way of `startup/sitecustomize.py`: a
model which is loaded in a fresh process must meet the same mutant there, or all are killed by that.
A process sees the mutant that the file named by the environment variable `SERVED_MUTANT` holds.
"""

import json
import linecache
import os
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path

VARIABLE = "SERVED_MUTANT"
STARTUP = Path(__file__).parent / "startup"


class MutantLoader(SourceFileLoader):
    """Load a module from `source` instead of from its file, and with no bytecode on disk."""

    def __init__(self, name, path, source):
        super().__init__(name, path)
        self.mutant = source.encode()

    def get_data(self, path):
        return self.mutant if path == self.path else super().get_data(path)

    def get_code(self, fullname):
        return self.source_to_code(self.mutant, self.path)


class MutantFinder(MetaPathFinder):
    """Find one module, and leave all others to whoever comes after."""

    def __init__(self, name, path, source):
        self.name, self.path, self.source = name, path, source

    def find_spec(self, fullname, path=None, target=None):
        if fullname != self.name:
            return None
        loader = MutantLoader(fullname, self.path, self.source)
        return spec_from_file_location(fullname, self.path, loader=loader)


def describe(module, source, root):
    """Return what `serve` needs: the name of a module such as "ops/masks.py", path and source."""
    path = Path("keras_attention", module)
    parts = path.parent.parts if path.name == "__init__.py" else path.with_suffix("").parts
    return {"name": ".".join(parts), "path": str(root / path), "source": source}


def serve(mutant):
    """Import this mutant from now on."""
    sys.meta_path.insert(0, MutantFinder(**mutant))
    # TensorFlow's AutoGraph compiles what `inspect` shows; a time of None: never look at the file
    lines = mutant["source"].splitlines(keepends=True)
    linecache.cache[mutant["path"]] = (len(mutant["source"]), None, lines, mutant["path"])


def serve_everywhere(mutant, folder):
    """Import this mutant from now on, here and in every Python that is started from here."""
    file = folder / "mutant.json"
    file.write_text(json.dumps(mutant), encoding="utf-8")
    os.environ[VARIABLE] = str(file)
    others = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(STARTUP), *filter(None, [others])])
    serve(mutant)


def serve_what_the_environment_says():
    """Import the mutant of the process that started this one, if it has any."""
    if VARIABLE in os.environ:
        serve(json.loads(Path(os.environ[VARIABLE]).read_text(encoding="utf-8")))

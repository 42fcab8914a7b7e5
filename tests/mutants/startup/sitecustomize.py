"""Python imports a module of this name at its start; PYTHONPATH has this folder in a test's child.

By path and not by name: nothing of `tests` shall be imported in that process.
"""

import runpy
from pathlib import Path

_loader = runpy.run_path(str(Path(__file__).parents[1] / "loader.py"))
_loader["serve_what_the_environment_says"]()

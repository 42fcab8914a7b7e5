"""The environments of Google Colab: `python -m tests.colab`. Needs no package but pip.

Makes .venv-colab/cpu and .venv-colab/tpu (JAX on the CPU, no TensorFlow) with the versions of
cpu.txt and tpu.txt, lets the first cell of a notebook install the package there, and runs tests.
The exit code is 1 if a version of Colab's has moved, or a test failed.

  python -m tests.colab                              both images: notebooks, quickly, and tests
  python -m tests.colab tpu                          one of them
  python -m tests.colab cpu -- tests/layers -n 2     other tests, with options of pytest
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".venv-colab"
NOTEBOOK = ROOT / "examples" / "01_context_sensitive_memory.ipynb"
RUN = "runs_from_start_to_end"
NOTEBOOKS = ("tests/test_notebooks.py", "-m", "not slow", "-k")
AT_ONCE = ("-n", os.environ.get("JOBS", "2"), "--dist", "loadfile", "--no-loadscope-reorder")
SUITES = {
    "cpu": {
        "notebooks, quickly": (*NOTEBOOKS, RUN),
        "the everyday suite": AT_ONCE,
    },
    "tpu": {
        "chapters 3, 4 and 10, quickly": (*NOTEBOOKS, f"{RUN} and (03_ or 04_ or 10_)"),
        "training, decoding, translation": (
            *("tests/training", "tests/decoding", "tests/translation"),
            *AT_ONCE,
        ),
    },
}
# As in a kernel of Colab. JAX, imported later, would ask this module for more.
PRETEND = "import sys, types; sys.modules['google.colab'] = types.ModuleType('google.colab')\n"


def main(images, tests):
    """Build and try environments; return the exit code."""
    unknown = sorted({*images} - {*SUITES})
    if unknown:
        sys.exit(f"tests.colab: error: no image {unknown[0]!r}; there are {', '.join(SUITES)}")
    passed = {}
    for image in images or SUITES:
        python = build(image)
        install(python)
        passed[image, "no version of Colab's has moved"] = not moved(python, image)
        suites = {" ".join(tests): tests} if tests else SUITES[image]
        for name, arguments in suites.items():
            start = time.monotonic()
            ok = is_passed(python, image, arguments)
            passed[image, f"{name}, {(time.monotonic() - start) / 60:.1f} minutes"] = ok
    print()
    for (image, name), ok in passed.items():
        print("passed" if ok else "FAILED", f"{image}: {name}", sep="  ")
    return int(not all(passed.values()))


def build(image):
    """Return the Python of an environment with the versions of an image, and no package of ours."""
    folder = FOLDER / image
    subprocess.run([newest(), "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    pip(python, "uninstall", "--yes", "keras-attention-tutorial")
    # They are as Colab has them, complete, whatever they ask for.
    pip(python, "install", "--no-deps", "--requirement", Path(__file__).with_name(f"{image}.txt"))
    wrong = moved(python, image)
    if wrong:
        sys.exit(f"tests.colab: error: {folder} is not as the image {image}: remove it")
    return python


def newest():
    """Return a Python 3.13, which Colab has, or 3.11 where there is none."""
    for version in ("3.13", "3.11"):
        found = Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}")
        for path in (shutil.which(f"python{version}"), *found):
            if path and not subprocess.run([path, "-c", ""], capture_output=True).returncode:
                return path
    return sys.executable


def pip(python, *arguments):
    """Run pip in an environment; return what it prints."""
    command = [python, "-m", "pip", "--quiet", "--quiet", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def install(python):
    """Install the package by the first cell of a notebook, and what the tests need."""
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    cell = next("".join(each["source"]) for each in cells if each["cell_type"] == "code")
    subprocess.run([python, "-c", PRETEND + cell], check=True, cwd=NOTEBOOK.parent)
    pip(python, "install", "pytest-xdist")


def moved(python, image):
    """Return the packages of an image's list that an environment has in another version."""
    wanted, frozen = listed(image), versions(pip(python, "freeze", "--all"))
    wrong = {name: frozen.get(name) for name in wanted if frozen.get(name) != wanted[name]}
    for name, version in wrong.items():
        print(f"{name} is {wanted[name]} on Colab, and {version} here")
    return wrong


def listed(image):
    """Return the versions of an image."""
    return versions(Path(__file__).with_name(f"{image}.txt").read_text(encoding="utf-8"))


def versions(text):
    """Return the versions in a list of requirements, but those with a condition."""
    return dict(re.findall(r"^([\w.-]+)==(\S+)$", text, re.MULTILINE))


def is_passed(python, image, arguments):
    """Run tests in an environment; return whether they pass."""
    backend = {"KERAS_BACKEND": "jax"} if image == "tpu" else {}
    command = [python, "-m", "pytest", *arguments]
    return not subprocess.run(command, cwd=ROOT, env={**os.environ, **backend}).returncode


if __name__ == "__main__":
    given = sys.argv[1:]
    end = given.index("--") if "--" in given else len(given)
    sys.exit(main(given[:end], given[end + 1 :]))

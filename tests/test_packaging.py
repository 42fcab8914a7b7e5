"""What `pip install` takes along: every package, and every file of data/."""

import subprocess
import sys
from configparser import ConfigParser
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONFIG = ConfigParser()
CONFIG.read(ROOT / "setup.cfg", encoding="utf-8")


def test_every_package_is_installed():
    listed = set(CONFIG["options"]["packages"].split())
    found = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for path in (ROOT / "keras_attention").rglob("__init__.py")
    }
    assert listed == {*found, "keras_attention.data"}


def test_every_file_of_the_data_is_installed():
    patterns = CONFIG["options.package_data"]["keras_attention.data"].split(", ")
    paths = [path.relative_to(ROOT / "data") for path in (ROOT / "data").rglob("*.*")]
    names = [str(path) for path in paths if not path.suffix.startswith(".py")]
    assert {"grammar.txt", "alignments/spa-eng.tsv"} <= set(names)
    # As setuptools reads them: a star stands for no slash
    depth = {name: name.count("/") for name in [*names, *patterns]}
    for name in names:
        assert any(fnmatch(name, p) and depth[p] == depth[name] for p in patterns), name


def test_what_the_page_is_made_of_is_installed():
    patterns = CONFIG["options.package_data"]["keras_attention.plotting.interactive"].split(", ")
    folder = ROOT / "keras_attention" / "plotting" / "interactive"
    files = [path.name for path in folder.iterdir() if path.suffix != ".py" and path.is_file()]
    assert sorted(files) == ["page.css", "page.html", "page.js"]
    assert all(any(fnmatch(name, pattern) for pattern in patterns) for name in files)


def test_python_started_in_a_checkout_finds_the_data():
    program = """
import sys
sys.meta_path = [each for each in sys.meta_path if "editable" not in str(each)]
import keras_attention_command  # The package is imported without Keras.
from keras_attention.storage import bundled
print(bundled("grammar.txt").is_file())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert done.stdout == "True\n"

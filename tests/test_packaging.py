"""What `pip install` takes along: every package, and every file of the bundled corpus."""

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


def test_every_file_of_the_bundled_corpus_is_installed():
    patterns = CONFIG["options.package_data"]["keras_attention.data"].split(", ")
    files = [path.name for path in (ROOT / "data").iterdir() if path.suffix != ".py"]
    files = [name for name in files if name != "__pycache__"]
    assert len(files) >= 5
    assert all(any(fnmatch(name, pattern) for pattern in patterns) for name in files)


def test_what_the_page_is_made_of_is_installed():
    patterns = CONFIG["options.package_data"]["keras_attention.plotting.interactive"].split(", ")
    folder = ROOT / "keras_attention" / "plotting" / "interactive"
    files = [path.name for path in folder.iterdir() if path.suffix != ".py" and path.is_file()]
    assert sorted(files) == ["page.css", "page.html", "page.js"]
    assert all(any(fnmatch(name, pattern) for pattern in patterns) for name in files)

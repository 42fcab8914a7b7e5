import importlib
import re
import warnings
from configparser import ConfigParser
from pathlib import Path

import pytest

from keras_attention import installing

ROOT = Path(__file__).resolve().parents[1]
TEXTS = {".py", ".md", ".cfg", ".toml", ".yml", ".ipynb", ".html", ".js"}
FOLDERS = ("keras_attention", "examples", "docs", "tests", "data")


def texts():
    """Yield all that people read or run: path and text."""
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    for path in [*ROOT.iterdir(), *files]:
        if (path.suffix in TEXTS or path.name == "Makefile") and path != Path(__file__):
            yield path, path.read_text(encoding="utf-8")


def test_nothing_tells_anyone_to_install_the_namesake():
    wrong = re.compile(
        r"pip3? install[^\n;&|]*[\s'\"]keras[-_]attention(?![-_/]\w)|keras-attention\["
    )
    assert wrong.search("pip install keras-attention")
    assert wrong.search("!pip install -U 'keras_attention[demo]'")
    assert not wrong.search(installing.pip_install("demo"))
    found = [f"{path}: {match.group()}" for path, text in texts() for match in wrong.finditer(text)]
    assert found == []


def test_the_address_is_the_same_everywhere():
    other = re.compile(r"git\+(https?://[\w./-]+)")
    found = {url for _, text in texts() for url in other.findall(text)}
    assert found == {installing.REPOSITORY}
    config = ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    assert config["metadata"]["url"] == installing.REPOSITORY
    assert config["metadata"]["name"] == installing.NAME


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Return a function that installs a distribution's metadata where Python looks first."""

    def install(name, version, page):
        folder = tmp_path / f"{name.replace('-', '_')}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nHome-page: {page}\n"
        )
        monkeypatch.syspath_prepend(tmp_path)
        importlib.invalidate_caches()

    return install


def test_the_namesake_is_named_on_import(installed):
    installed("keras-attention", "1.2.3", "https://example.org")
    with pytest.warns(
        UserWarning, match=r"keras-attention 1\.2\.3.*pip uninstall keras-attention$"
    ):
        installing.warn_of_namesake()


def test_an_older_checkout_of_this_package_is_no_namesake(installed):
    installed("keras-attention", "0.1.0", installing.REPOSITORY)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        installing.warn_of_namesake()

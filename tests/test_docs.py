"""The documentation: it builds without a warning, and has a page for every layer and model."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from keras_attention import layers, models
from keras_attention.plotting.diagrams import NAMES

pytestmark = pytest.mark.extra("docs")

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build it; a warning, such as a link to nowhere, ends the build."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return folder


def test_every_layer_and_every_model_has_a_page_with_its_docstring(site):
    names = [("layers", name) for name in layers.__all__]
    names += [("models", name) for name in models.__all__ if name.startswith("build_")]
    assert len(names) > 40
    for room, name in names:
        page = (site / room / f"{name}.html").read_text(encoding="utf-8")
        described = getattr(layers if room == "layers" else models, name).__doc__.splitlines()[0]
        words = re.findall(r"\w+", described)[:4]
        assert re.search(r"\W+".join(words), re.sub(r"<[^>]*>", "", page)), f"{room}/{name}"


@pytest.mark.parametrize("page", ["models/build_transformer", "models/build_rnn_attention"])
def test_a_sketch_keeps_its_lines(site, page):
    text = (site / f"{page}.html").read_text(encoding="utf-8")
    above, below = re.search(r"<pre>.*?(context ids.*?)</pre>", text, re.DOTALL)[1].split("\n")[:2]
    assert above.index("┐") == below.index("┘")  # the corners of its arrow


def test_every_picture_of_the_gallery_is_there(site):
    page = (site / "gallery.html").read_text(encoding="utf-8")
    pictures = re.findall(r'<img[^>]* src="([^"]+)"', page)
    assert len(pictures) >= 12
    assert all((site / picture).is_file() for picture in pictures)


def test_diagrams_are_part_of_their_pages(site):
    """So they turn dark with the page; each is on the page of diagrams, and most with a layer."""
    page = (site / "diagrams.html").read_text(encoding="utf-8")
    assert page.count('keras-attention-diagram" ') == len(NAMES)
    assert "<svg" in (site / "layers/MultiHeadAttention.html").read_text(encoding="utf-8")


def test_nothing_is_loaded_from_elsewhere(site):
    for path in site.rglob("*.html"):
        page = path.read_text(encoding="utf-8")
        loaded = re.findall(
            r'<(?:script|img|iframe|link rel="stylesheet")[^>]*(?:src|href)="(http[^"]+)"', page
        )
        assert not loaded, f"{path.relative_to(site)} loads {loaded}"


def test_the_python_of_the_pages_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for page in ("index.md", "moving.md"):
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        assert blocks
        for block in blocks:
            if "fit(" not in block:
                exec(block, {})

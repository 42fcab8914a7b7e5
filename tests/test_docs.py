"""The documentation: it builds without a warning, and has a page for every layer and model."""

import importlib
import json
import re
import subprocess
import sys
import time
import zlib
from pathlib import Path

import pytest

from examples import notebooks
from keras_attention import layers, models
from keras_attention.plotting.diagrams import NAMES
from tests.browser import find, in_a_browser, started

pytestmark = pytest.mark.extra("docs")

ROOT = Path(__file__).parent.parent
# Where users import from; each has a page in the reference, some on several pages.
ROOMS = (
    *("ops", "layers", "models", "attributions", "corpora", "decoding", "distribution", "export"),
    *("lab", "lab.tasks", "plotting", "plotting.interactive", "runs", "storage", "text"),
    *("training", "translation"),
)


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


def test_everything_public_has_a_reference(site):
    """Every function and class of the rooms that a user imports from, by its dotted name."""
    packed = (site / "objects.inv").read_bytes().split(b"zlib.\n", maxsplit=1)[1]
    described = {line.split(" ")[0] for line in zlib.decompress(packed).decode().splitlines()}
    lacking = []
    for name in ROOMS:
        room = importlib.import_module(f"keras_attention.{name}")
        public = [each for each in room.__all__ if callable(getattr(room, each))]
        assert public, name
        for each in public:
            home = getattr(getattr(room, each), "__module__", "")
            if not {f"keras_attention.{name}.{each}", f"{home}.{each}"} & described:
                lacking.append(f"{name}.{each}")
    assert lacking == []


@pytest.mark.parametrize("script", notebooks.scripts(), ids=lambda script: script.stem)
def test_every_chapter_is_a_page_with_what_its_notebook_shows(site, script):
    cells = json.loads(script.with_suffix(".ipynb").read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    page = (site / "examples" / f"{script.stem}.html").read_text(encoding="utf-8")
    pictures = re.findall(rf'<img[^>]* src="({script.stem}_files/[^"]+)"', page)
    assert len(pictures) == sum("image/png" in each.get("data", {}) for each in outputs)
    assert all((site / "examples" / picture).is_file() for picture in pictures)
    told = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    assert page.count("<summary>Answer</summary>") == told.count("<summary>Answer</summary>")
    assert page.count('<div class="highlight">') >= sum(
        cell["cell_type"] == "code" for cell in cells
    )
    formulas = re.findall(r"\$\$.+?\$\$|\$[^$\n]+\$", re.sub(r"`[^`]*`", "", told), re.DOTALL)
    assert page.count('class="arithmatex"') >= len(formulas)
    assert ".ipynb" not in re.sub(r"https://colab[^\"]*", "", re.sub(r"<code>.*?</code>", "", page))


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


@pytest.mark.parametrize(
    "size",
    [
        pytest.param((1280, 900), id="desktop", marks=in_a_browser),
        pytest.param((390, 800), id="phone", marks=in_a_browser),
    ],
)
def test_formulas_are_set_and_search_answers_without_a_server(site, size):
    metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": True}
    with started(size) as browser:
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        browser.get((site / "examples/04_transformer.html").as_uri())
        formulas = find(browser, ".arithmatex")
        assert len(formulas) > 20
        assert len(find(browser, ".arithmatex .katex-html")) == len(formulas)
        assert not find(browser, ".katex-error")
        assert browser.execute_script("return document.documentElement.scrollWidth") <= size[0]
        browser.get((site / "index.html").as_uri() + "?q=coverage")
        until = time.monotonic() + 20
        while not find(browser, "a.md-search-result__link[href*='CoverageAttention.html']"):
            assert time.monotonic() < until, "the search found nothing"
            time.sleep(0.2)

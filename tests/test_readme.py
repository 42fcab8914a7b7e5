"""The README's Python runs as it stands, on fewer sentences and steps."""

import importlib.util
import re
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_attention import corpora, menu

README = Path(__file__).parent.parent / "README.md"
PAGES = [README, README.parent / "CONTRIBUTING.md", *sorted((README.parent / "docs").glob("*.md"))]
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def test_the_first_lines_translate_a_sentence_and_draw_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(BLOCKS[0], {})
    said = re.search(r"print\(translation.text\)  # (.*)", BLOCKS[0])[1]
    assert capsys.readouterr().out.splitlines()[-1] == said
    assert (tmp_path / "casa.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.thorough
def test_the_ten_lines_train_translate_and_plot(tmp_path, monkeypatch):
    monkeypatch.setattr(corpora.sources, "BUNDLED_PAIRS", 600)
    monkeypatch.chdir(tmp_path)
    code = re.sub(r"steps_per_epoch=\d+, epochs=\d+", "steps_per_epoch=2, epochs=1", BLOCKS[1])
    assert code != BLOCKS[1]
    assert len(code.strip().splitlines()) <= 13
    names = {}
    exec(code, names)
    assert (tmp_path / "heatmap.png").read_bytes().startswith(b"\x89PNG")
    assert isinstance(names["translator"]("Los niños comen pan.").text, str)


def test_the_layer_example_gives_weights_that_keep_to_the_mask():
    names = {}
    exec(BLOCKS[2], names)
    assert tuple(names["read"].shape) == (2, 3, 16)
    weights = keras.ops.convert_to_numpy(names["weights"])
    np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-6)
    np.testing.assert_array_equal(weights[1, :, 3:], 0)


def test_the_table_of_scores_is_that_of_the_menu():
    rows = [f'| {entry.equation} | `"{name}"` |' for name, entry in menu.SCORES.items()]
    missing = "\n".join(row for row in rows if row not in README.read_text(encoding="utf-8"))
    assert not missing, f"`make docs` adds to the README's table of scores:\n{missing}"


def test_a_new_score_comes_into_the_table(monkeypatch):
    spec = importlib.util.spec_from_file_location("tables", README.parent / "docs" / "tables.py")
    tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tables)
    page = README.read_text(encoding="utf-8")
    assert tables.written(page) == page
    monkeypatch.setitem(menu.SCORES, "distance", menu.ScoreEntry("DistanceScore", "−‖q − k‖²"))
    added = set(tables.written(page).splitlines()) - set(page.splitlines())
    assert added == {'| −‖q − k‖² | `"distance"` |'}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_picture_and_page_that_a_page_links_to_is_there(page):
    text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)[^)]*\)", text)
    missing = sorted({target for target in targets if not (page.parent / target).exists()})
    assert not missing, f"{page.name} links to files that do not exist: {missing}"


def test_the_pages_are_full_of_links():
    assert sum(page.read_text(encoding="utf-8").count("](") for page in PAGES) > 500

"""The page as a file: what it holds, and that nothing in a sentence can become markup."""

import base64
import html
import json
import re

import numpy as np
import pytest

from keras_attention.plotting.interactive import Panel, Side, View

H, T, S, LAYERS = 3, 2, 5, 2
MARKUP = "</script><img src=x onerror=\"document.title='broken in'\"> & ' $style"


def random_weights(*shape):
    weights = np.random.default_rng(sum(shape)).random(shape)
    return weights / weights.sum(-1, keepdims=True)


def panel(name="translation → sentence", **changes):
    parts = {
        "name": name,
        "queries": Side("translation", ("eat", "[END]")),
        "keys": Side(
            "sentence", ("[START]", "co", "men", MARKUP, "[END]"), [[0], [1, 2], [3], [4]]
        ),
        "layers": tuple(random_weights(H, T, S) ** n for n in range(1, LAYERS + 1)),
    }
    return Panel(**{**parts, **changes})


def view(*panels, **changes):
    options = {"source": MARKUP, "text": "eat", "candidates": [("eat", -0.5), ("ate", -1.25)]}
    return View(panels or [panel()], **{**options, **changes})


DATA = re.compile(r'<script type="application/json".*?>(.*?)</script>', re.DOTALL)


def data_of(page):
    return json.loads(DATA.search(page)[1])


def test_the_page_holds_every_weight_to_16_bits():
    data = data_of(view().html)
    [found] = data["panels"]
    assert [layer["heads"] for layer in found["layers"]] == [H, H]
    for layer, expected in zip(found["layers"], panel().layers, strict=True):
        weights = np.frombuffer(base64.b64decode(layer["weights"]), "<u2").reshape(H, T, S) / 65535
        np.testing.assert_allclose(weights, expected, atol=1e-5)


def test_the_page_holds_sentences_tokens_groups_and_candidates():
    data = data_of(view().html)
    assert (data["source"], data["text"]) == (MARKUP, "eat")
    assert data["candidates"] == [["eat", -0.5], ["ate", -1.25]]
    [found] = data["panels"]
    assert found["queries"]["groups"] == [[0], [1]]
    assert found["keys"]["tokens"][3] == MARKUP
    assert found["keys"]["groups"] == [[0], [1, 2], [3], [4]]
    assert (found["queries"]["merged"], found["keys"]["merged"]) == (True, False)


def test_what_utf8_cannot_hold_is_seen(tmp_path):
    view(source="casa\udcff").save(tmp_path / "view.html")
    page = (tmp_path / "view.html").read_text(encoding="utf-8")
    assert "<title>casa�</title>" in page
    assert data_of(page)["source"] == "casa�"


def test_markup_in_a_sentence_stays_text():
    page = view().html
    assert "<img" not in page
    assert page.count("</script>") == 2
    assert f"<title>{html.escape(MARKUP)}</title>" in page


def test_the_page_loads_nothing():
    page = DATA.sub("", view(source="casa").html)
    assert "default-src 'none'" in page
    assert not re.search(r"https?://|\bsrc=|\bhref=|@import|url\(", page)


def test_a_notebook_shows_it_in_a_frame_of_its_own():
    frame = view()._repr_html_()
    page = re.fullmatch(r'<iframe srcdoc="([^"]*)" sandbox="allow-scripts" style="[^"]*" .*', frame)
    assert html.unescape(page[1]) == view().html
    assert "<" not in page[1]


def test_it_is_written_whole_or_not_at_all(tmp_path):
    view().save(tmp_path / "new" / "view.html")
    assert (tmp_path / "new" / "view.html").read_text(encoding="utf-8") == view().html
    with pytest.raises(ValueError, match=r"expected a file ending in .html, got .*view.png"):
        view().save(tmp_path / "view.png")
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"layers": ()}, "at least one layer"),
        ({"queries": Side("translation", ())}, "expected tokens on both sides"),
        ({"layers": [np.ones((T, S))]}, r"\(H, T, S\) = \(H, 2, 5\) .*, got \(2, 5\)"),
        ({"layers": [np.ones((H, S, T))]}, r"got \(3, 5, 2\)"),
        ({"layers": [np.full((H, T, S), np.nan)]}, "numbers from 0 to 1"),
        ({"layers": [np.full((H, T, S), -0.1)]}, "numbers from 0 to 1"),
        ({"layers": [np.ones((0, T, S))]}, r"at least one head, got \(0, 2, 5\)"),
        ({"queries": Side("translation", ("eat", "[END]"), [[0, 5]])}, "positions 0 to 1"),
    ],
)
def test_weights_that_do_not_fit_are_an_error(changes, message):
    with pytest.raises(ValueError, match=message):
        view(panel(**changes))


@pytest.mark.parametrize("score", [float("nan"), float("-inf")])
def test_a_score_that_json_cannot_hold_is_an_error(score):
    with pytest.raises(ValueError, match=f"must be a finite number, got {score}"):
        view(candidates=[("eat", score)])


def test_a_view_of_nothing_is_an_error():
    with pytest.raises(ValueError, match="at least one panel"):
        View([], source="casa", text="house")

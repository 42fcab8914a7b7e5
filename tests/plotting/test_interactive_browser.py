"""The page in a real browser: headless Chromium, where it is installed."""

import json
import time

import numpy as np
import pytest

from keras_attention.plotting.interactive import Panel, Side, View
from tests.browser import find, in_a_browser, started

pytestmark = in_a_browser

MARKUP = "</script><img onerror=alert(1) src=x>"
QUERIES = ("I", "eat", "apples", "[END]")
KEYS = ("[START]", "co", "mo", MARKUP, "[END]")
GROUPS = [[0], [1, 2], [3], [4]]
H, LAYERS = 2, 3


def random_weights(*shape, seed=0):
    weights = np.random.default_rng(seed).random(shape) ** 3
    return weights / weights.sum(-1, keepdims=True)


WEIGHTS = [random_weights(H, len(QUERIES), len(KEYS), seed=n) for n in range(LAYERS)]
OWN = [random_weights(H, len(KEYS), len(KEYS), seed=7)]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("view") / "view.html"
    queries = Side("translation", QUERIES)
    keys = Side("sentence", KEYS, GROUPS, unknown=(3,))
    panels = [
        Panel("translation → sentence", queries, keys, WEIGHTS),
        Panel("sentence → itself", keys, keys, OWN),
    ]
    candidates = [("I eat apples", -0.5), ("I ate apples", -1.5)]
    View(panels, source=MARKUP, text="I eat apples", candidates=candidates).save(path)
    return path


@pytest.fixture(scope="module")
def chromium():
    with started((900, 800)) as driver:
        yield driver


@pytest.fixture
def browser(chromium, page):
    """Open the page anew, and end with a console in which nothing stands."""
    for kind in ("browser", "performance"):
        chromium.get_log(kind)
    chromium.set_window_size(900, 800)
    chromium.get(page.as_uri())
    yield chromium
    assert chromium.get_log("browser") == []


def said(browser):
    return find(browser, "#says")[0].text


def choose(browser, control, value):
    from selenium.webdriver.support.select import Select

    Select(find(browser, f"#{control}")[0]).select_by_visible_text(value)


def hover(browser, element, x=0, y=0):
    from selenium.webdriver import ActionChains

    ActionChains(browser).move_to_element_with_offset(element, x, y).perform()


def press(browser, *keys):
    from selenium.webdriver import ActionChains

    for key in keys:
        ActionChains(browser).send_keys(key).perform()


def word(browser, side, index):
    return find(browser, f"#picture .{side} button")[index]


def percent(weight):
    return f"{100 * weight:.0f} %" if weight >= 0.0995 else f"{100 * weight:.1f} %"


def merged(weights):
    """Return the weights (T, S) with the two pieces added."""
    return np.stack([weights[:, group].sum(axis=1) for group in GROUPS], axis=1)


def test_pointing_at_a_word_says_its_weights(browser):
    expected = merged(np.mean(WEIGHTS, axis=(0, 1)))
    hover(browser, word(browser, "queries", 1))
    assert said(browser).startswith("“eat” attends to ")
    for name, weight in zip(("[START]", "como", MARKUP, "[END]"), expected[1], strict=True):
        assert f"“{name}” {percent(weight)}" in said(browser)
    hover(browser, word(browser, "keys", 1))
    assert said(browser).startswith("“como” is attended to by ")
    for name, weight in zip(QUERIES, expected[:, 1], strict=True):
        assert f"“{name}” {percent(weight)}" in said(browser)
    shades = browser.execute_script(
        "return [...document.querySelectorAll('#picture .queries button')]"
        ".map((button) => Number(button.style.getPropertyValue('--weight')))"
    )
    np.testing.assert_allclose(shades, expected[:, 1], atol=1e-3)


def test_a_layer_and_a_head_can_be_chosen(browser):
    choose(browser, "layer", "2")
    choose(browser, "head", "1")
    hover(browser, word(browser, "queries", 0))
    assert f"“como” {percent(merged(WEIGHTS[1][0])[0, 1])}" in said(browser)
    choose(browser, "head", "mean of all")
    hover(browser, word(browser, "queries", 1))
    assert f"“como” {percent(merged(WEIGHTS[1].mean(axis=0))[1, 1])}" in said(browser)


def test_another_kind_of_attention_has_other_words(browser):
    choose(browser, "panel", "sentence → itself")
    names = [each.text for each in find(browser, "#picture .queries button")]
    assert names == ["[START]", "como", MARKUP, "[END]"]
    hover(browser, word(browser, "queries", 1))
    rows = merged(OWN[0].mean(axis=0))
    assert f"“como” {percent(rows[1:3].mean(axis=0)[1])}" in said(browser)


def test_pieces_can_be_seen_apart(browser):
    find(browser, "#merged")[0].click()
    names = [each.text for each in find(browser, "#picture .keys button")]
    assert names == list(KEYS)
    hover(browser, word(browser, "queries", 2))
    assert f"“mo” {percent(np.mean(WEIGHTS, axis=(0, 1))[2, 2])}" in said(browser)


def test_a_cell_of_the_matrix_says_its_weight(browser):
    choose(browser, "mode", "matrix")
    canvas = find(browser, "#picture canvas")[0]
    cell = canvas.size["width"] / len(GROUPS)
    column, row = 1, 2
    across, down = ((i + 0.5) * cell - 1 for i in (column, row))
    size = canvas.size
    hover(browser, canvas, int(across - size["width"] / 2), int(down - size["height"] / 2))
    weight = merged(np.mean(WEIGHTS, axis=(0, 1)))[row, column]
    assert said(browser) == f"“apples” attends to “como”: {percent(weight)}"
    assert word(browser, "keys", 1).get_property("offsetWidth") > 30  # its label can be read
    hover(browser, canvas, -size["width"] // 2, -size["height"] // 2)  # on its border
    assert said(browser).startswith("“I” attends to “[START]”") or said(browser) == ""


def test_the_matrix_of_every_head_has_one_scale(browser):
    assert not find(browser, "#scale")[0].is_displayed()
    choose(browser, "mode", "matrix")
    for head in ("1", "2"):
        choose(browser, "head", head)
        assert find(browser, "#darkest")[0].text == percent(max(w.max() for w in WEIGHTS))


def test_columns_of_a_sentence_that_is_read_from_the_right_begin_there(chromium, tmp_path):
    keys = Side("sentence", ("من", "می\u200cخواهم", "بروم"))
    weights = np.array([[[0.8, 0.15, 0.05]]])
    panel = Panel("translation → sentence", Side("translation", ("go",)), keys, [weights])
    View([panel], source="", text="").save(tmp_path / "view.html")
    chromium.get((tmp_path / "view.html").as_uri())
    choose(chromium, "mode", "matrix")
    first, _, last = find(chromium, "#picture .keys li")
    assert first.location["x"] > last.location["x"]
    canvas = find(chromium, "#picture canvas")[0]
    hover(chromium, canvas, canvas.size["width"] // 2 - 8, 0)
    assert said(chromium) == "“go” attends to “من”: 80 %"


def test_a_word_that_is_held_stays_until_it_is_let_go(browser):
    word(browser, "queries", 1).click()
    held = said(browser)
    assert held.startswith("“eat”")
    hover(browser, word(browser, "queries", 2))
    assert said(browser) == held
    assert word(browser, "queries", 1).get_attribute("aria-pressed") == "true"
    word(browser, "queries", 1).click()
    hover(browser, word(browser, "queries", 2))
    assert said(browser).startswith("“apples”")


def test_everything_can_be_done_with_the_keyboard(browser):
    from selenium.webdriver import Keys

    controls = 5  # attention, layer, head, lines or matrix, merged
    press(browser, *[Keys.TAB] * (controls + 1))
    assert said(browser).startswith("“I” attends to")
    press(browser, Keys.ARROW_DOWN)
    assert said(browser).startswith("“eat” attends to")
    press(browser, Keys.ARROW_RIGHT)
    assert said(browser).startswith("“como” is attended to by")
    press(browser, Keys.END)
    assert said(browser).startswith("“[END]” is attended to by")
    press(browser, Keys.ENTER, Keys.TAB)
    assert said(browser).startswith("“[END]” is attended to by")  # held


def test_readers_of_screens_are_told(browser):
    assert find(browser, "#says")[0].get_attribute("aria-live") == "polite"
    assert find(browser, "canvas")[0].get_attribute("aria-hidden") == "true"
    label = word(browser, "keys", 1).get_attribute("aria-label")
    assert label == "como, sentence 2 of 4"
    for select in find(browser, "select"):
        assert select.accessible_name


def test_what_else_was_found_is_listed(browser):
    lines = [each.text for each in find(browser, "#alternatives tbody tr")]
    assert lines == ["-0.500 I eat apples", "-1.500 I ate apples"]


def test_markup_is_text_and_nothing_is_asked_of_any_network(browser, page):
    assert find(browser, "#source")[0].text == MARKUP
    assert find(browser, "img") == []
    asked = [
        message["params"]["request"]["url"]
        for entry in browser.get_log("performance")
        for message in [json.loads(entry["message"])["message"]]
        if message["method"] == "Network.requestWillBeSent"
    ]
    assert asked == [page.as_uri()]


@pytest.mark.parametrize("mode", ["lines", "matrix"])
def test_a_narrow_window_is_no_wider_than_itself(browser, mode):
    choose(browser, "mode", mode)
    widths = []
    for width in (900, 500):
        browser.set_window_size(width, 800)
        time.sleep(0.3)
        widths.append(find(browser, "canvas")[0].size["width"])
        assert browser.execute_script("return document.body.scrollWidth <= window.innerWidth")
    assert widths[1] < widths[0] or mode == "matrix"


def test_200_words_on_both_sides_and_48_heads_stay_smooth(chromium, tmp_path):
    many = Side("words", tuple(f"word{n}" for n in range(200)))
    layers = [random_weights(8, 200, 200, seed=n) for n in range(6)]
    View([Panel("words", many, many, layers)], source="long", text="long").save(
        tmp_path / "long.html"
    )
    chromium.get((tmp_path / "long.html").as_uri())
    for mode in ("matrix", "lines"):
        choose(chromium, "mode", mode)
        took = chromium.execute_script(
            """
            const button = document.querySelectorAll("#picture .queries button")[100];
            const begun = performance.now();
            for (let i = 0; i < 10; i++) {
              const over = (target) =>
                target.dispatchEvent(new PointerEvent("pointermove", {bubbles: true}));
              over(button);
              over(button.parentElement.nextSibling.firstChild);
            }
            return (performance.now() - begun) / 20;
            """
        )
        assert took < 50, f"{mode}: pointing at a word takes {took:.0f} ms"
    assert chromium.get_log("browser") == []


def test_a_notebook_shows_it_in_a_frame(chromium, tmp_path):
    side = Side("words", ("one", "two"))
    panel = Panel("words", side, side, [np.eye(2)[None]], verbs=("sees", "is seen by"))
    shown = View([panel], source="a", text="b")
    (tmp_path / "notebook.html").write_text(
        f"<!doctype html><body>{shown._repr_html_()}</body>", encoding="utf-8"
    )
    chromium.get((tmp_path / "notebook.html").as_uri())
    chromium.switch_to.frame(0)
    hover(chromium, word(chromium, "queries", 1))
    assert said(chromium) == "“two” sees “two” 100 %"  # and no more
    hover(chromium, word(chromium, "keys", 0))
    assert said(chromium) == "“one” is seen by “one” 100 %"
    chromium.switch_to.default_content()

"""Hostile sentences on every kind of page, opened in headless Chromium.

No script of theirs may run, no request may leave the page, and the console must stay empty. Each
page is opened as its readers open it: a view as a file, a view in a notebook, an answer that the
local page puts into itself, and a picture.
"""

import base64
import json
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from keras_attention import plotting
from keras_attention.plotting.interactive import Panel, Side, View
from keras_attention.translation.web import Answer
from tests import browser
from tests.campaign.inputs import Target, any_text, any_tokens, try_target
from tests.campaign.outcome import Outcome, measured

# Runs in every frame before the page: what would show a script of a sentence says so instead.
CANARY = """
for (const name of ["alert", "confirm", "prompt", "open"])
  window[name] = () => { console.error("a script of a sentence ran"); };
"""
INSERTS = """
<!doctype html><meta charset="utf-8"><title>a page</title><div id="result"></div><script>
const bytes = Uint8Array.from(atob("{}"), (letter) => letter.charCodeAt(0));
document.getElementById("result").innerHTML = new TextDecoder().decode(bytes);
</script>
"""


def run(cases: int, number: int, folder: Path, say: Callable, only: str) -> list[Outcome]:
    """Open this many pages of every kind."""
    if not (browser.CHROMIUM and browser.DRIVER):
        say("pages: left out, since Debian's packages chromium and chromium-driver are missing")
        return []
    outcomes = []
    with browser.started((900, 700)) as driver:
        prepare(driver)
        for what, write in KINDS.items():
            if only not in what:
                continue
            target = Target(what, 1.0, SENTENCES, partial(check, driver, write, folder), ())
            with measured("pages", what, say) as outcome:
                try_target(target, cases, number, outcome)
            outcomes.append(outcome)
    return outcomes


def prepare(driver: Any) -> None:
    """Let a browser say in its console if a script of a sentence runs."""
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": CANARY})


def check(driver: Any, write: Callable, folder: Path, sentences: tuple) -> None:
    """Write a page, open it, use it, and require that the sentences on it did nothing."""
    path = write(folder, *sentences)
    for kind in ("browser", "performance"):
        driver.get_log(kind)
    driver.get(path.as_uri())
    driver.execute_script(
        "for (const each of document.querySelectorAll('select, input, button'))"
        "  { each.focus(); each.click(); each.dispatchEvent(new Event('change')); }"
    )
    own = (path.as_uri(), "data:", "about:")
    asked = [url for url in requests(driver) if not url.startswith(own)]
    assert not asked, f"requests: {asked}"
    said = [entry["message"] for entry in driver.get_log("browser")]
    assert not said, f"the console: {said}"


def requests(driver: Any) -> Iterator[str]:
    """Yield what the browser has asked for since the log was last read."""
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            yield message["params"]["request"]["url"]


def _view(source, text, words):
    weights = np.full((1, len(words), len(words)), 1 / len(words))
    sides = (Side(source, words, unknown=[0]), Side(text, words))
    return View([Panel(text, *sides, [weights])], source=source, text=text, candidates=[(text, 0)])


def _view_as_a_file(folder, source, text, words):
    path = folder / "view.html"
    _view(source, text, words).save(path)
    return path


def _view_in_a_notebook(folder, source, text, words):
    return _page(folder, f"<!doctype html>{_view(source, text, words)._repr_html_()}")


def _answer(folder, source, text, words):
    answer = Answer(source, tuple((word, 0.0) for word in words), "", text)
    shown = base64.b64encode(answer.html.encode()).decode()
    return _page(folder, INSERTS.replace("{}", shown))


def _picture(folder, source, text, words):
    path = folder / "picture.svg"
    weights = np.full((len(words), len(words)), 1 / len(words))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the font has no", UserWarning)  # rightly
        plotting.plot_attention(weights, words, words, title=text, path=path)
    return path


def _page(folder, content):
    path = folder / "page.html"
    path.write_text(content, encoding="utf-8")
    return path


SENTENCES = st.tuples(any_text(60), any_text(60), any_tokens())
KINDS = {
    "a view, as a file": _view_as_a_file,
    "a view, in a notebook": _view_in_a_notebook,
    "an answer of the local page": _answer,
    "a heat map, as an SVG": _picture,
}

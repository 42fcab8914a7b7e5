"""The page in a real browser: `keras-attention serve` in a process, and headless Chromium."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from tests.browser import find, in_a_browser, started

pytestmark = [*in_a_browser, pytest.mark.extra("demo")]

MARKUP = "</script><img src=x onerror=alert(1)>"
PROGRAM = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where it was ignored
from keras_attention_command import main
main()
"""


@pytest.fixture(scope="module")
def address(tiny_run, tmp_path_factory):
    """Serve the tiny run until the tests are done, and then interrupt it: it ends quietly."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-c", PROGRAM, "serve", str(tiny_run.folder), "--no-open"]
    environment = {k: v for k, v in os.environ.items() if k != "TF_CPP_MIN_LOG_LEVEL"}
    errors = tmp_path_factory.mktemp("serve") / "errors.txt"
    with (
        errors.open("w") as writer,
        subprocess.Popen(
            [*command, "--port", str(port)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=writer,
            text=True,
        ) as process,
    ):
        try:
            line = process.stdout.readline()  # empty if it has ended
            expected = f"http://127.0.0.1:{port}/"
            said = errors.read_text()
            assert line == f"Open {expected} in a browser; stop the server with Ctrl-C.\n", said
            yield expected
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=30) == 0
            assert (process.stdout.read(), errors.read_text()) == ("", "")
        finally:
            process.kill()


@pytest.fixture(scope="module")
def chromium():
    """Start a browser that finds no host but this computer."""
    with started(
        (1200, 1000),
        "--no-proxy-server",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    ) as driver:
        yield driver


@pytest.fixture
def browser(chromium, address):
    """Open the page anew; in the end nothing was asked of elsewhere, and no error was logged."""
    for kind in ("browser", "performance"):
        chromium.get_log(kind)
    chromium.get(address)
    wait(lambda: find(chromium, "#sentence textarea"))
    yield chromium
    chromium.switch_to.default_content()
    asked = [
        message["params"]["request"]["url"]
        for entry in chromium.get_log("performance")
        for message in [json.loads(entry["message"])["message"]]
        if message["method"] == "Network.requestWillBeSent"
    ]
    assert address in asked
    own = (address, "data:", "blob:", "about:")
    assert [url for url in asked if not url.startswith(own)] == []
    assert [entry for entry in chromium.get_log("browser") if entry["level"] == "SEVERE"] == []


def wait(condition, seconds=60):
    """Return what a condition gives, once it gives anything."""
    from selenium.common.exceptions import StaleElementReferenceException

    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with suppress(StaleElementReferenceException):  # it was drawn anew meanwhile
            if value := condition():
                return value
        time.sleep(0.1)
    raise TimeoutError(f"nothing came in {seconds} seconds")


def type_in(browser, sentence):
    """Write a sentence into the box, at once: a long one takes a driver long to type."""
    [box] = find(browser, "#sentence textarea")
    browser.execute_script(
        "arguments[0].value = arguments[1];"
        "arguments[0].dispatchEvent(new Event('input', {bubbles: true}));",
        box,
        sentence,
    )
    find(browser, "#translate")[0].click()


def text_of(browser, selector):
    found = find(browser, f"#result {selector}")
    return found[0].text if found else ""


def says(browser, expected, selector=".message"):
    """Tell whether the page comes to say something."""
    wait(lambda: text_of(browser, selector).startswith(expected))
    return True


def words(browser):
    """Return the words of the view that are looked at, read in its frame."""
    browser.switch_to.frame(wait(lambda: find(browser, "#view iframe"))[0])
    found = wait(lambda: find(browser, "#picture .keys button"))
    found = [each.text for each in found]
    browser.switch_to.default_content()
    return found


def choose(browser, control, value):
    [chosen] = [
        label for label in find(browser, f"#{control} label") if label.text.strip() == str(value)
    ]
    chosen.click()


def enabled(browser, control):
    radios = find(browser, f"#{control} input[type=radio]")
    return all(radio.is_enabled() for radio in radios)


def test_a_sentence_is_translated_and_shown(browser, tiny_run):
    sentence = tiny_run.validation[0].context
    translation = tiny_run.translator(sentence)
    type_in(browser, sentence)
    assert says(browser, translation.text, ".translation")
    assert words(browser) == list(translation.context_tokens)
    [frame] = find(browser, "#view iframe")
    assert frame.get_attribute("sandbox") == "allow-scripts"
    assert 200 < frame.size["height"] <= 900
    assert browser.execute_script("return document.body.scrollWidth <= window.innerWidth")


def test_enter_translates_as_the_button_does(browser, tiny_run):
    sentence = tiny_run.validation[1].context
    find(browser, "#sentence textarea")[0].send_keys(f"{sentence}\n")
    assert says(browser, tiny_run.translator(sentence).text, ".translation")


def test_an_example_is_translated_at_a_click(browser):
    examples = find(browser, "#examples button")
    if not examples:
        pytest.skip("the tiny run knows the words of no example")
    examples[0].click()
    wait(lambda: text_of(browser, ".translation"))
    assert find(browser, "#sentence textarea")[0].get_property("value") == examples[0].text


def test_a_beam_lists_what_it_found(browser, tiny_run):
    sentence = tiny_run.validation[0].context
    expected = tiny_run.translator(sentence, beam=2, n_best=2)
    choose(browser, "beam", 2)
    wait(lambda: not enabled(browser, "temperature"))
    type_in(browser, sentence)
    assert says(browser, expected.text, ".translation")
    rows = wait(lambda: find(browser, "#result tbody tr"))
    found = [f"{each.score:.3f} {each.text}" for each in expected.candidates]
    assert [" ".join(row.text.split()) for row in rows] == found


def test_a_temperature_leaves_no_choice_of_a_beam(browser, tiny_run):
    choose(browser, "temperature", 1.5)
    wait(lambda: not enabled(browser, "beam"))
    wait(lambda: [box for box in find(browser, "#seed input") if box.is_displayed()])
    sentence = tiny_run.validation[0].context
    type_in(browser, sentence)
    expected = tiny_run.translator(sentence, temperature=1.5)
    assert says(browser, expected.text, ".translation")
    choose(browser, "temperature", 0.0)
    wait(lambda: enabled(browser, "beam"))


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        ("", "Type a sentence."),
        ("   ", "Type a sentence."),
        (
            "." * 63,
            "A sentence without blanks has at most 62 words and punctuation marks, got 63 in",
        ),
        ("a" * 10_001, "A text has at most 10,000 characters, got 10,001 in 'aaa"),
    ],
    ids=["nothing", "blanks", "many words", "many characters"],
)
def test_what_cannot_be_translated_is_said_on_the_page(browser, tiny_run, sentence, message):
    type_in(browser, tiny_run.validation[0].context)
    wait(lambda: text_of(browser, ".translation"))
    type_in(browser, sentence)
    assert says(browser, message)
    assert text_of(browser, ".translation") == ""
    wait(lambda: not find(browser, "#view iframe"))
    assert "Traceback" not in browser.page_source


@pytest.mark.parametrize("sentence", [MARKUP, MARKUP * 30, "casa ${alert(1)} {{casa}} `casa`"])
def test_markup_is_text_everywhere(browser, sentence):
    type_in(browser, sentence)
    wait(lambda: text_of(browser, ".message") or text_of(browser, ".translation"))
    frames = find(browser, "#view iframe")
    if frames:
        assert "img" in "".join(words(browser)) or "alert" in "".join(words(browser))
        browser.switch_to.frame(frames[0])
        assert find(browser, "img") == []
        browser.switch_to.default_content()
    else:
        assert MARKUP in text_of(browser, ".message")
    assert find(browser, "img[src=x], #result script") == []
    assert browser.execute_script("return document.title") == "keras_attention"


def test_the_server_takes_no_files_and_no_long_requests(address):
    host = address.removeprefix("http://").strip("/")
    for path, size, status in (("upload", 9, 403), ("queue/join", 70_000, 413)):
        connection = http.client.HTTPConnection(host, timeout=30)
        connection.request("POST", f"/gradio_api/{path}", b"x" * size)
        assert connection.getresponse().status == status
        connection.close()

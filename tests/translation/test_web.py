"""What the page shows and says, without Gradio; and the command as far as it goes without it."""

import errno
import html
import re
import socket
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from keras_attention import cli, models
from keras_attention.installing import pip_install
from keras_attention.text import SPECIAL_WORDS, Vocabulary
from keras_attention.translation import web
from keras_attention.translation.result import Candidate, Translation
from keras_attention.translation.translator import Translator
from keras_attention.translation.web import Answer, answer, known_examples

MARKUP = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def translator():
    """Return a translator that has learned nothing, of words of the first example and no other."""
    words = ["¿", "comieron", "los", "ninos", "la", "manzana", "roja", "?"]
    vocabulary = Vocabulary([*SPECIAL_WORDS, *words])
    model = models.build_rnn_attention(len(vocabulary), len(vocabulary), units=5)
    return Translator(model, vocabulary, vocabulary)


def parrot(**changes):
    """Return what translates every sentence likewise, and keeps the options it was given."""
    parts = {
        "text": MARKUP,
        "context_tokens": ("[START]", MARKUP, "[END]"),
        "target_tokens": (MARKUP, "[END]"),
        "weights": {"cross_attention": [np.full((2, 2, 3), 1 / 3)]},
        "unknown": (),
        "finished": True,
        "candidates": (Candidate(MARKUP, -0.5, -1.0, True), Candidate("eat", -1.25, -2.5, True)),
        **changes,
    }
    given = {}

    def translate(sentence, **options):
        given.update(options)
        return Translation(source=sentence, **parts)

    translate.given = given
    return translate


def text_of(markup):
    return html.unescape(re.sub(r"<[^>]*>", "", markup))


# What is answered


def test_a_sentence_is_answered_by_its_translation_and_a_frame(translator):
    sentence = web.EXAMPLES[0]
    given = answer(translator, sentence)
    expected = translator(sentence)
    assert given.text == expected.text
    assert given.candidates == ()
    assert text_of(given.html).startswith(expected.text)
    frame = re.fullmatch(
        r'<iframe srcdoc="([^"]*)" sandbox="allow-scripts" .*></iframe>', given.view
    )
    page = html.unescape(frame[1])
    assert "default-src 'none'" in page
    assert '"manzana"' in page


def test_a_beam_lists_what_it_found(translator):
    given = answer(translator, web.EXAMPLES[0], beam=3)
    expected = translator(web.EXAMPLES[0], beam=3, n_best=3)
    assert given.candidates == tuple((each.text, each.score) for each in expected.candidates)
    assert given.html.count("<tr>") == 1 + 3
    for text, score in given.candidates:
        assert f"{score:.3f}{text}" in text_of(given.html)


def test_a_temperature_and_a_seed_decide_the_draws(translator):
    texts = {answer(translator, "manzana", temperature=1.5, seed=seed).text for seed in range(4)}
    assert len(texts) > 1
    assert answer(translator, "manzana", 1, 1.5, 3) == answer(translator, "manzana", 1, 1.5, 3)


def test_the_options_reach_the_translator():
    translate = parrot()
    answer(translate, "casa", beam=4)
    assert translate.given == {"beam": 4, "n_best": 4, "temperature": 0.0, "seed": 0}


def test_the_choices_go_together():
    from keras_attention.decoding import check_options

    for beam in web.BEAMS:
        check_options(beam=beam, n_best=beam, temperature=web.TEMPERATURES[0])
    for temperature in web.TEMPERATURES:
        check_options(beam=web.BEAMS[0], temperature=temperature)
    # The programs of each choice stay
    from keras_attention.translation.translator import MOST_GENERATORS

    assert len(web.BEAMS) + len(web.TEMPERATURES) - 1 <= MOST_GENERATORS


# What is said


@pytest.mark.parametrize(
    ("sentence", "options", "message"),
    [
        ("", {}, "Type a sentence."),
        (" \n\t", {}, "Type a sentence."),
        (
            "." * 63,
            {},
            "A sentence without blanks has at most 62 words and punctuation marks, got 63 in '.",
        ),
        ("z" * 10_001, {}, "A text has at most 10,000 characters, got 10,001 in 'zzz"),
        ("😀", {}, "Nothing to translate in '😀': expected words in the letters a-z."),
        (
            "manzana",
            {"beam": 2, "temperature": 1.0},
            "A beam searches, a temperature draws: choose",
        ),
        ("manzana", {"seed": -1}, "Seed must be 0 or above, got -1."),
    ],
)
def test_what_cannot_be_translated_is_answered_by_a_message(translator, sentence, options, message):
    given = answer(translator, sentence, **options)
    assert given.message.startswith(message)
    assert given == Answer(message=given.message)
    assert message in text_of(given.html)


def test_words_that_are_not_known_are_named(translator):
    assert "The model does not know “zzyzx”." in answer(translator, "la roja zzyzx").message
    words = ["zz" + letter for letter in "abcdefg"]
    message = answer(translator, " ".join([*words, "q" * 50])).message
    assert "The model does not know “zza”, “zzb”, “zzc”, “zzd”, “zze” and 3 more." in message
    assert f"“{'q' * 40}…”" in answer(translator, "q" * 50).message


def test_a_translation_that_did_not_end_says_so():
    message = "Stopped after 2 tokens, before the end."
    assert answer(parrot(finished=False), "casa").message == message


def test_a_model_without_attention_is_answered_without_a_view():
    given = answer(parrot(weights={}), "casa")
    assert (given.text, given.view) == (MARKUP, "")
    assert given.message == "This model has no attention to show."


def test_markup_is_text_everywhere():
    given = answer(parrot(unknown=(1,)), MARKUP, beam=2)
    assert "<img" not in given.html + given.view
    assert text_of(given.html).count(MARKUP) == 3  # translation, message, first of the candidates
    page = html.unescape(re.search('srcdoc="([^"]*)"', given.view)[1])
    assert "<img" not in page
    assert page.count("</script>") == 2


def test_what_utf8_cannot_hold_is_seen():
    assert "eat�" in answer(parrot(text="eat\ud800"), "casa\udfff").html


def test_the_page_says_only_once_what_was_found():
    given = answer(parrot(), "casa grande", beam=2)
    page = html.unescape(re.search('srcdoc="([^"]*)"', given.view)[1])
    assert '"source": "", "text": "", "candidates": []' in page


# Examples and programs


def test_only_examples_of_which_every_word_is_known_are_offered(translator):
    assert known_examples(translator) == [web.EXAMPLES[0]]


@pytest.mark.thorough
def test_the_bundled_corpus_knows_the_words_of_all_examples():
    from keras_attention.corpora.grammar import Grammar

    pairs = Grammar.load().generate(20_000, seed=0)
    vocabulary = Vocabulary.learn((pair.context for pair in pairs), size=1000)
    translator = SimpleNamespace(context_vocabulary=vocabulary)
    assert known_examples(translator) == list(web.EXAMPLES)


def test_after_warming_up_the_first_example_compiles_nothing(translator):
    seen = []

    def progress(lengths):
        seen.extend(lengths)
        return seen

    web.warm_up(translator, progress)
    made = translator.programs
    # Who has learned nothing writes 50 words, and looking back from these takes a longer program
    translator(web.EXAMPLES[0], attention=False)
    assert seen == [10]
    assert translator.programs == made


# The command


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    """Return a function that runs the command line in an empty folder: (status, out, err)."""
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")  # else it closes what pytest listens to
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["keras-attention", "serve", *map(str, arguments)])
        status = 0
        try:
            cli.main()
        except SystemExit as exit_:
            status = exit_.code or 0
        return (status, *capsys.readouterr())

    return call


@pytest.fixture
def port():
    """Return a port that is free."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def failed(message):
    return (2, "", f"keras-attention: error: {message}\n")


def test_without_gradio_one_line_says_what_to_install(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "gradio", None)  # as if it were not there
    message = f"the page needs Gradio: {pip_install('demo')}"
    assert run("none") == failed(message)
    with pytest.raises(ImportError, match="the page needs Gradio"):
        web.build_page(None)


def test_a_port_in_use_is_one_line(run, monkeypatch):
    monkeypatch.setattr(web, "check_installed", lambda: None)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        message = f"port {port} of 127.0.0.1 is in use: choose another, such as {port + 1}"
        assert run("none", "--port", port) == failed(message)


def test_beside_the_last_port_the_one_before_is_free(monkeypatch):
    def refuse(address):
        raise OSError(errno.EADDRINUSE, "in use")

    monkeypatch.setattr(socket, "create_server", refuse)
    with pytest.raises(OSError, match=r"^port 65535 .* such as 65534$"):
        web.check_address(port=65535)


def test_a_run_that_is_not_there_is_one_line(run, monkeypatch, port):
    monkeypatch.setattr(web, "check_installed", lambda: None)
    message = "there is no model folder none; the package comes with spa-eng, spa-eng-rnn"
    assert run("none", "--port", port) == failed(message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--port", "0"), "Invalid value for '--port'"),
        (("--port", "many"), "Invalid value for '--port'"),
        (("--host", "192.0.2.1", "--port", "7861"), "cannot listen at port 7861 of 192.0.2.1: "),
    ],
)
def test_an_address_that_cannot_be_is_one_line(run, monkeypatch, options, message):
    monkeypatch.setattr(web, "check_installed", lambda: None)
    status, out, errors = run("none", *options)
    assert (status, out, errors.count("\n")) == (2, "", 1)
    assert message in errors


def test_the_options_reach_the_page(run, monkeypatch, port):
    served = []
    monkeypatch.setattr(web, "check_installed", lambda: None)
    monkeypatch.setattr(Translator, "load", lambda folder: folder)
    monkeypatch.setattr(web, "warm_up", lambda *given: None)
    monkeypatch.setattr(web, "serve", lambda *given: served.append(given))
    assert run("run", "--port", port, "--no-open") == (0, "", "")
    assert [(str(folder), *rest) for folder, *rest in served] == [("run", "127.0.0.1", port, False)]


def test_help_teaches(run):
    status, out, errors = run("--help")
    assert (status, errors) == (0, "")
    for part in ("--port", "--host", "--open", "--no-open", "the extra demo", "Ctrl-C"):
        assert part in out


def test_neither_keras_nor_gradio_is_loaded_before_it_is_used():
    program = """
import sys
import keras_attention_command
from keras_attention.translation import web
print([name for name in ("keras", "numpy", "gradio") if name in sys.modules])
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.stdout == "[]\n", ran.stderr


VISITS = """
import http.client, json, sys
from types import SimpleNamespace
from keras_attention.translation import web
from tests.translation.test_web import parrot

translate, port = parrot(), int(sys.argv[1])
translate.context_vocabulary = SimpleNamespace(tokenize=lambda texts: [()] * len(texts))
blocks = web.build_page(translate)

def visit(seconds):  # in place of waiting: six visitors, then Ctrl-C
    path = "/gradio_api/call/show"
    for _ in range(6):
        connection = http.client.HTTPConnection(web.HOST, port, timeout=60)
        body = json.dumps({"data": ["casa", 1, 0.0, 0]})
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        event = json.load(connection.getresponse())["event_id"]
        connection.request("GET", f"{path}/{event}")
        assert "event: complete" in connection.getresponse().read().decode()
    raise KeyboardInterrupt

web.build_page, web.MOST_REMEMBERED = lambda translator: blocks, 3
web.time = SimpleNamespace(sleep=visit)
web.serve(translate, port=port, open_browser=False)
print(len(blocks.state_holder.session_data))
"""


@pytest.mark.extra("demo")
def test_the_page_keeps_the_answers_of_few_visitors(port):
    ran = subprocess.run([sys.executable, "-c", VISITS, str(port)], capture_output=True, text=True)
    assert ran.stdout.splitlines()[1:] == ["3"], ran.stderr

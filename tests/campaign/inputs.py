"""Wrong, strange and hostile input, drawn by Hypothesis.

Every case ends in a result that holds what it promises, or in the error that is documented: none in
another error, in ten seconds without an end, in NaN, or in two gigabytes of memory.
"""

import copy
import html
import html.parser
import io
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import traceback
import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from keras_attention import decoding, plotting, runs, text
from keras_attention.cli.console import printable
from keras_attention.corpora import read_pairs
from keras_attention.corpora.grammar import Grammar
from keras_attention.ops import masked_softmax
from keras_attention.plotting.interactive import Panel, Side, View
from keras_attention.storage import encodable, schemas
from keras_attention.translation import configuration
from keras_attention.translation.translator import Translator
from tests.campaign.outcome import Outcome, measured

HANGS, MOST_MEMORY = 10, 2 * 2**30  # seconds and bytes
WARM_UP = 20  # cases before the memory is counted


@dataclass(frozen=True)
class Target:
    """Something that takes input from outside.

    Attributes:
        what: what it is, for the table.
        share: its part of all cases.
        drawn: the strategy of its input.
        check: called with an input; raises AssertionError if the result is wrong.
        errors: the documented ones.
    """

    what: str
    share: float
    drawn: st.SearchStrategy
    check: Callable
    errors: tuple = (ValueError,)


class HungError(Exception):
    """A case took too long."""


def run(cases: int, number: int, folder: Path, say: Callable, only: str) -> list[Outcome]:
    """Try every target with its share of the cases."""
    outcomes = []
    found = [target for target in targets(folder) if only in target.what]
    shares = sum(target.share for target in found)
    for target in found:
        with measured("inputs", target.what, say) as outcome:
            try_target(target, max(round(cases * target.share / shares), 10), number, outcome)
        outcomes.append(outcome)
    return outcomes


def try_target(target: Target, cases: int, number: int, outcome: Outcome) -> None:
    """Draw this many inputs for a target, and count into the outcome what goes wrong."""
    memory = []

    @seed(number)
    @settings(
        max_examples=cases,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(target.drawn)
    def body(drawn):
        outcome.cases += 1
        if outcome.cases == WARM_UP:
            memory.append(_largest_memory())
        try:
            with _limited():
                target.check(drawn)
        except target.errors as error:
            if isinstance(error, UnicodeError) or not str(error).strip():
                outcome.fail(_kind(error, drawn))
        except BaseException as error:
            outcome.fail(_kind(error, drawn))

    body()
    if memory and _largest_memory() - memory[0] > MOST_MEMORY:
        outcome.fail("more than 2 GB of memory")


def _kind(error, drawn):
    """Return what went wrong, and where; cases that fail alike count together."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(place.filename).name}:{place.lineno}"
    return f"{type(error).__name__} at {where}: {str(error)[:200]!r}, for {_Short(drawn)}"


class _Short:
    """An input in few characters, the same for all of a kind of failure."""

    def __init__(self, drawn):
        self.text = repr(drawn)[:300]

    def __repr__(self):
        return self.text


def _largest_memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@contextmanager
def _limited():
    def hang(number, frame):
        raise HungError(f"no end within {HANGS} seconds")

    signal.signal(signal.SIGALRM, hang)
    signal.setitimer(signal.ITIMER_REAL, HANGS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


# Texts

COMMANDING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
WORDS = ("los", "niños", "comen", "manzanas", "rojas", "don't", "a-b", "Sr.", "¿", "?", "…", "3.14")
MARKUP = (
    *("<script>alert(1)</script>", "</script>", "<!--", "-->", "]]>", "<![CDATA[", "&amp;", '"'),
    *("<img src=x onerror=alert(1)>", "javascript:alert(1)", "${data}", "$data", "{{7*7}}", "\\"),
)
COMMANDS = (
    *("\x1b[31m", "\x1b]0;title\x07", "\x9b2J", "\x07", "\r", "\x08", "\x00", "\x7f"),
    *("\u202e", "\u2066", "\u200f", "\ufeff", "\u2028", "\ufffe", "\U000e0041", "\ud800", "\udfff"),
)
TOKENS = ("[UNK]", "[START]", "[END]", "", "##s", "￭", "￭?", "##")


def any_text(most=120):
    """Draw a text: of all of Unicode with lone surrogates, of words, of markup, or of commands."""
    everything = st.text(st.characters(exclude_categories=()), max_size=most)
    pieces = st.sampled_from((*WORDS, *MARKUP, *COMMANDS, *TOKENS))
    mixed = st.lists(st.one_of(pieces, st.text(max_size=8)), max_size=most // 4)
    return st.one_of(
        everything,
        mixed.map(" ".join),
        mixed.map("".join),
        st.builds(lambda piece, times: piece * times, pieces, st.integers(1, 400)),
    )


def any_tokens():
    """Draw a few short texts, to stand as tokens."""
    return st.lists(any_text(12), min_size=1, max_size=6)


def long_text():
    """Draw a text of up to a megabyte."""
    piece = st.sampled_from((*WORDS, *MARKUP, *COMMANDS, "casa ", "a", "́", "🐕", ". "))
    return st.builds(lambda each, size: (each * size)[:size], piece, st.integers(1, 10**6))


def check_normalized(sentence):
    words = text.normalize(sentence)
    assert re.fullmatch(r"[ a-z.?!,¿]*", words), words
    assert text.normalize(words) == words
    assert words.split() == [word for word, _ in text.split_words(sentence)]


def check_marks(sentence):
    tokens = text.split_marks(sentence)
    assert all(tokens)
    assert not any(map(str.isspace, "".join(tokens)))
    assert not COMMANDING.search(printable(sentence))


def check_cut(drawn):
    sentence, most = drawn

    def count(parts):
        return [len(part.split()) for part in parts]

    parts = text.cut_text(sentence, count, most)
    assert "".join("".join(parts).split()) == "".join(sentence.split())
    assert all(number <= most for number in count(parts))


def check_learned(drawn, folder):
    sentences, size, kind = drawn
    vocabulary = text.KINDS[kind].learn(sentences, size)
    assert len(vocabulary) <= size
    ids = vocabulary.ids(sentences)
    assert ids.min() >= 0
    assert ids.max() < len(vocabulary)
    vocabulary.save(folder / "vocabulary.txt")
    again = text.KINDS[kind].load(folder / "vocabulary.txt")
    assert again.words == vocabulary.words
    assert (again.ids(sentences) == ids).all()
    for each in vocabulary.split(sentences):
        vocabulary.join(each)
        groups = vocabulary.word_groups(each)
        assert [place for group in groups for place in group] == list(range(len(each)))


# Files


def lines_of_bytes():
    """Draw the content of a corpus: bytes, or lines in several encodings with several ends."""
    sentence = any_text(40).map(lambda each: each.encode("utf-8", "replace").decode("utf-8"))
    line = st.lists(sentence, min_size=1, max_size=4).map("\t".join)
    encoding = st.sampled_from(("utf-8", "utf-8", "utf-8-sig", "latin-1", "utf-16"))
    end = st.sampled_from(("\n", "\r\n", "\r", "\0"))
    return st.one_of(
        st.binary(max_size=300),
        st.builds(
            lambda lines, end, encoding: end.join(lines).encode(encoding, "replace"),
            *(st.lists(line, max_size=8), end, encoding),
        ),
    )


def check_corpus(content, folder, name):
    path = folder / name
    path.write_bytes(content)
    try:
        pairs = read_pairs(path)
    except ValueError as error:
        raise _naming(path, error) from error
    assert pairs
    assert all(pair.context.strip() and pair.target.strip() for pair in pairs)


def _naming(path, error):
    """Return the error, if it names a file; else what is wrong with that."""
    if path.name in str(error):
        return error
    return AssertionError(f"the message does not name {path.name}: {error}")


def any_json():
    """Draw what JSON can hold."""

    def nested(inner):
        return st.lists(inner, max_size=4) | st.dictionaries(any_text(10), inner, max_size=4)

    leaves = (st.none(), st.booleans(), st.integers(), st.floats(), any_text(20))
    return st.recursive(st.one_of(*leaves), nested, max_leaves=12)


def json_files():
    """Draw the content of a file: bytes, or JSON."""
    return st.one_of(
        st.binary(max_size=100), any_json().map(lambda each: json.dumps(each).encode())
    )


def check_json(content, folder):
    path = folder / "any.json"
    path.write_bytes(content)
    schemas.read_json(path)


def check_configuration(drawn, folder, config):
    """Put something anywhere into the configuration of a translator, and sign it."""
    place, value, delete = drawn
    changed = copy.deepcopy(config)
    _put(changed, place, value, delete)
    wrong = folder / "configured"
    (wrong / configuration.CONFIG_FILE).write_text(
        configuration.signed_text(changed), encoding="utf-8", errors="surrogatepass"
    )
    Translator.load(wrong)


def _put(tree, place, value, delete):
    """Follow numbers through a tree of objects and lists, and change what they lead to."""
    for number in place:
        keys = sorted(tree, key=str) if isinstance(tree, dict) else list(range(len(tree)))
        if not keys:
            break
        key = keys[number % len(keys)]
        if not isinstance(tree[key], dict | list) or number == place[-1]:
            if delete:
                del tree[key]
            else:
                tree[key] = value
            return
        tree = tree[key]


def check_damaged(drawn, folder, run):
    """Change some bytes of a file of a translator."""
    which, place, change, cut = drawn
    names = sorted(path.name for path in run.iterdir() if path.name != "curves.png")
    path = folder / "damaged" / names[which % len(names)]
    whole = (run / path.name).read_bytes()
    changed = bytearray(whole[: len(whole) - cut % len(whole)])
    position = place % max(len(changed), 1)
    changed[position : position + len(change)] = change
    path.write_bytes(changed)
    try:
        translator = Translator.load(folder / "damaged")
    except (ValueError, FileNotFoundError) as error:
        raise _naming(path, error) from error
    finally:
        path.write_bytes(whole)
    assert bytes(changed) == whole or path.name == "history.json", f"{path.name} was not noticed"
    assert translator


# Options and numbers


def any_value():
    return st.one_of(
        *(st.none(), st.booleans(), st.integers(-(10**13), 10**13), st.integers(-3, 300)),
        *(st.floats(), st.floats(0, 2), any_text(12), st.lists(st.integers(), max_size=2)),
        st.sampled_from(("rnn", "transformer", "bilstm", "seq2seq", "word", "wordpiece", "dot")),
    )


def check_settings(drawn):
    runs.check_model(runs.Settings(**{"units": 8, "epochs": 1, **drawn}))


def check_options(options):
    decoding.check_options(**options)


def check_softmax(drawn):
    shape, number, low, high, masked, axis = drawn
    rng = np.random.default_rng(number)
    scores = rng.uniform(low, high, shape).astype("float32")
    mask = rng.random(shape) < masked
    weights = np.asarray(masked_softmax(scores, mask, axis=axis))
    assert np.isfinite(weights).all()
    assert (weights[~mask] == 0).all()
    total, attends = weights.sum(axis), mask.any(axis)
    np.testing.assert_allclose(total, attends, atol=1e-5)


# Pictures and pages


class _Elements(html.parser.HTMLParser):
    """The elements of a page in their order, with their attributes."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, sorted(name for name, _ in attrs)))


def _view(source, translation, tokens):
    rng = np.random.default_rng(len(tokens))
    weights = rng.random((2, len(tokens), len(tokens)))
    side = Side(source, tokens)
    panel = Panel(translation, side, side, [weights / weights.sum(-1, keepdims=True)])
    return View([panel], source=source, text=translation, candidates=[(source, -1.0)])


def check_page(drawn):
    source, translation, tokens = drawn
    view = _view(source, translation, tokens)
    plain = _view("a", "b", ["c"] * len(tokens))
    assert _Elements(view.html).found == _Elements(plain.html).found
    assert _Elements(view._repr_html_()).found == _Elements(plain._repr_html_()).found
    data = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', view.html, re.DOTALL)
    assert json.loads(data.group(1))["source"] == encodable(source)


def check_picture(drawn, folder):
    source, tokens, title = drawn
    rng = np.random.default_rng(len(tokens))
    weights = rng.random((len(tokens), len(source)))
    path = folder / "picture.svg"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the font has no", UserWarning)  # rightly
        plotting.plot_attention(weights, source, tokens, title=title, path=path)
    for element in ElementTree.parse(path).iter():
        assert not element.tag.endswith("}script")
        assert not any(name.lower().startswith("on") for name in element.attrib)


# Translating


def check_translated(drawn, translator):
    sentence, options = drawn
    translation = translator(sentence, max_length=6, **options)
    assert isinstance(translation.text, str)
    for each in translation.sentences:
        assert np.isfinite(each.attention).all()
        np.testing.assert_allclose(each.attention.sum(-1), 1, atol=1e-3)
    json.dumps(translation.to_dict(), allow_nan=False)


COMMANDS_TO_TRY = (
    *("translate", "view", "attribute", "evaluate", "export", "write", "train", "compare", "serve"),
)
OPTIONS = (
    *("--beam", "--max-length", "--temperature", "--top-k", "--top-p", "--n-best", "--layer"),
    *("--head", "--of", "--plot", "--method", "--corpus", "--validation", "--out", "--part"),
    *("--format", "--length-penalty", "--batch-size", "--seed", "--port", "--host", "--json"),
    *("--heads", "--resume", "--units", "--vocabulary", "--tokens", "--model", "--shapes", "--😀"),
)


def command_lines(run):
    usual = (str(run), "los niños", "bundled", "x.png", "x.gif", "out", "0", "1", "-1")
    value = st.one_of(
        st.sampled_from(usual),
        st.integers(-(10**12), 10**12).map(str),
        st.floats().map(str),
        any_text(20),
    )
    option = st.tuples(st.sampled_from(OPTIONS), value)
    return st.tuples(
        st.sampled_from(COMMANDS_TO_TRY),
        st.lists(value, max_size=3),
        st.lists(option, max_size=3).map(lambda pairs: [each for pair in pairs for each in pair]),
    ).map(lambda drawn: [drawn[0], *drawn[1], *drawn[2]])


def check_command(arguments, folder):
    """Run a command line in this process, with work of any length left out."""
    from keras_attention import cli

    out, errors = io.StringIO(), io.StringIO()
    status, before = 0, os.getcwd()
    os.chdir(folder)
    sys.argv = ["keras-attention", *arguments]
    try:
        with redirect_stdout(out), redirect_stderr(errors), _at_once():
            cli.main()
    except SystemExit as end:
        status = end.code or 0
    finally:
        os.chdir(before)
    said = errors.getvalue()
    assert status in (0, 2), (status, said[-300:])
    if status:
        assert said.count("\n") == 1, said
    assert not COMMANDING.search(out.getvalue() + said)


@contextmanager
def _at_once():
    """Let the commands check all that they are given, and not train, serve or download."""
    from keras_attention.translation import web

    def started(*arguments, **options):
        raise ValueError("checked, and not begun")

    places = [(runs, "train"), (runs.comparison, "compare"), (web, "warm_up")]
    before = [(place, name, getattr(place, name)) for place, name in places]
    for place, name, _ in before:
        setattr(place, name, started)
    try:
        yield
    finally:
        for place, name, function in before:
            setattr(place, name, function)


# All of them


def targets(folder: Path) -> list[Target]:
    """Return the targets; some work in a folder, with tiny translators that are trained there."""
    translators = [_trained(folder / name, model) for name, model in TINY.items()]
    run = folder / "rnn"
    config = json.loads((run / configuration.CONFIG_FILE).read_text(encoding="utf-8"))
    for name in ("configured", "damaged"):
        shutil.copytree(run, folder / name, dirs_exist_ok=True)
    tokens = any_tokens()
    numbers = st.integers(0, 10**6)
    fields = sorted(runs.Settings.__dataclass_fields__)
    files = (ValueError, OSError)
    return [
        Target("a sentence, normalised", 0.2, any_text(), check_normalized),
        Target("a sentence, split into marks; a line on a terminal", 0.2, any_text(), check_marks),
        Target(
            "a text, cut into sentences",
            0.15,
            st.tuples(any_text(400), st.integers(1, 30)),
            check_cut,
        ),
        Target(
            "a text of up to a megabyte, to translate",
            0.001,
            st.tuples(long_text(), st.just({})),
            lambda drawn: check_translated(drawn, translators[0]),
        ),
        Target(
            "a vocabulary, learned, saved and loaded",
            0.05,
            st.tuples(
                st.lists(any_text(30), max_size=4),
                st.integers(-1, 400),
                st.sampled_from(sorted(text.KINDS)),
            ),
            lambda drawn: check_learned(drawn, folder),
        ),
        Target(
            "a corpus in a text file",
            0.1,
            lines_of_bytes(),
            lambda content: check_corpus(content, folder, "corpus.tsv"),
            files,
        ),
        Target(
            "a corpus in a zip file",
            0.02,
            st.one_of(st.binary(max_size=200), _zips()),
            lambda content: check_corpus(content, folder, "corpus.zip"),
            files,
        ),
        Target(
            "a file of JSON",
            0.05,
            json_files(),
            lambda content: check_json(content, folder),
        ),
        Target(
            "the configuration of a translator",
            0.03,
            st.tuples(st.lists(numbers, min_size=1, max_size=4), any_json(), st.booleans()),
            lambda drawn: check_configuration(drawn, folder, config),
            files,
        ),
        Target(
            "a damaged file of a translator",
            0.01,
            st.tuples(numbers, st.integers(0, 10**8), st.binary(max_size=4), st.integers(0, 99)),
            lambda drawn: check_damaged(drawn, folder, run),
            files,
        ),
        Target(
            "the settings of a training",
            0.06,
            st.dictionaries(st.sampled_from(fields), any_value(), max_size=3),
            check_settings,
        ),
        Target(
            "the options of decoding",
            0.05,
            st.fixed_dictionaries({}, optional={name: _number() for name in _DECODING}),
            check_options,
            (ValueError, TypeError),
        ),
        Target(
            "scores and a mask of any shape",
            0.02,
            st.tuples(
                st.lists(st.integers(0, 5), min_size=1, max_size=4).map(tuple),
                numbers,
                st.floats(-1e4, 0),
                st.floats(0, 1e4),
                st.floats(0, 1),
                st.just(-1),
            ),
            check_softmax,
        ),
        Target(
            "a sentence on an HTML page",
            0.03,
            st.tuples(any_text(60), any_text(60), tokens),
            check_page,
        ),
        Target(
            "a sentence in an SVG",
            0.003,
            st.tuples(tokens, tokens, any_text(20)),
            lambda drawn: check_picture(drawn, folder),
        ),
        Target(
            "a sentence to translate",
            0.02,
            st.tuples(any_text(60), st.sampled_from(({}, {"beam": 2}, {"temperature": 0.7}))),
            lambda drawn: check_translated(drawn, random.Random(repr(drawn)).choice(translators)),
        ),
        Target(
            "a command line",
            0.006,
            command_lines(run),
            lambda arguments: check_command(arguments, folder),
        ),
    ]


TINY = {
    "rnn": {"model": "rnn", "units": 8},
    "transformer": {
        **{"model": "transformer", "units": 8, "num_layers": 1, "num_heads": 2},
        **{"feed_forward_dim": 8, "warm_up": 1, "decay": False},
    },
}
_DECODING = ("max_length", "temperature", "top_k", "top_p", "beam", "n_best", "length_penalty")


def _number():
    return st.one_of(st.integers(-2, 10), st.integers(), st.floats())


def _trained(folder, model):
    """Train a tiny translator for a moment; it translates without programs."""
    pairs = list(Grammar.load().generate(200, seed=5))
    tiny = runs.Settings(**model, vocabulary=300, batch_size=8, epochs=1, steps=1)
    translator = runs.ensure(pairs[20:], pairs[:20], folder, tiny, verbose=0)
    translator.run_eagerly = True
    return translator


@st.composite
def _zips(draw):
    """Draw a zip file with a corpus, or with something else, in which some bytes are changed."""
    import zipfile

    content = io.BytesIO()
    method = draw(st.sampled_from((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA)))
    with zipfile.ZipFile(content, "w", method) as archive:
        name = draw(st.sampled_from(("spa.txt", "a/spa.txt", "../spa.txt", "other", "/spa.txt")))
        archive.writestr(name, draw(lines_of_bytes()))
    changed = bytearray(content.getvalue())
    for place in draw(st.lists(st.integers(0, len(changed) - 1), max_size=2)):
        changed[place] = draw(st.integers(0, 255))
    return bytes(changed)

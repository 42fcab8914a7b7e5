import codecs
import errno
import functools
import gc
import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import keras
import numpy as np
import pytest

pytest.importorskip("tensorflow")

import keras_attention_command
from keras_attention import cli, corpora, models, runs
from keras_attention.cli import dividing
from keras_attention.translation.result import Translation
from keras_attention.translation.translator import Translator
from tests.conftest import PIECES_FILES, RUN_FILES, files


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    """Return a function that runs the command line in an empty folder: (status, out, err)."""
    # Otherwise it closes the file descriptor that pytest listens to.
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", "1")  # so that what it sets is undone
    # TensorFlow takes it for the whole process, and so for all later tests.
    monkeypatch.setattr(dividing, "one_thread_an_operation", lambda: False)
    monkeypatch.chdir(tmp_path)

    def call(*arguments, stdin=b""):
        monkeypatch.setattr(sys, "argv", ["keras-attention", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capsys.readouterr()
        status = 0
        try:
            cli.main()
        except SystemExit as exit_:
            status = exit_.code or 0
        return (status, *capsys.readouterr())

    before = signal.getsignal(signal.SIGTERM)
    yield call
    signal.signal(signal.SIGTERM, before)


def assert_one_line(status, errors):
    assert status == 2, errors
    assert errors.count("\n") == 1, errors
    assert errors.startswith("keras-attention: error: ")
    assert "Traceback" not in errors
    assert len(errors) < 700


@pytest.fixture
def wrong(tmp_path, tiny_run):
    """Write wrong input into the working folder, and return what is in it."""
    line = b"Go.\tVe.\n"
    (tmp_path / "empty.tsv").write_bytes(b"")
    (tmp_path / "latin.tsv").write_bytes(line * 4 + "Where?\t¿Dónde?\n".encode("latin-1"))
    (tmp_path / "no-tab.tsv").write_bytes(line * 6 + b"Where is it?\n")
    (tmp_path / "small.tsv").write_bytes(line)
    (tmp_path / "long.tsv").write_bytes(line + b"yes " * 70 + "\tSí.\n".encode())
    with zipfile.ZipFile(tmp_path / "whole.zip", "w") as archive:
        archive.writestr("spa-eng/spa.txt", line)
    (tmp_path / "cut.zip").write_bytes((tmp_path / "whole.zip").read_bytes()[:-40])
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "config.json").write_text("{}")
    for name in ("model.keras", "context_vocabulary.txt", "target_vocabulary.txt"):
        (tmp_path / "other" / name).write_text("")
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "config.json").write_text("{}")
    for name in ("newer", "deep"):
        shutil.copytree(tiny_run.folder, tmp_path / name)
    (tmp_path / "deep" / "config.json").write_text('{"a":' * 10**5 + "1" + "}" * 10**5)
    (tmp_path / "newer" / "config.json").write_text('{"format": 4, "keras_attention": "7.0.0"}')
    return files(tmp_path)


TRAIN = ("train", "--out", "new/run", "--units", "5", "--corpus")
SMALL = ("small.tsv", "--validation", "small.tsv")
EVALUATE = ("evaluate", "RUN", "--corpus", "small.tsv")
WRONG = [
    # Corpora
    ((*TRAIN, "none.tsv"), "none.tsv is not a file"),
    ((*TRAIN, "empty.tsv"), "empty.tsv is empty"),
    ((*TRAIN, "latin.tsv"), "latin.tsv, line 5 is not UTF-8"),
    ((*TRAIN, "no-tab.tsv"), "no-tab.tsv, line 7: expected English⇥Spanish"),
    ((*TRAIN, "cut.zip"), "cut.zip is cut off"),
    (("translate", "deep", "casa"), "config.json has values inside each other more than 16 times"),
    ((*TRAIN, "small.tsv"), "--validation"),
    ((*TRAIN, "small.tsv", "--validation", "long.tsv"), "at most 64 tokens"),
    ((*TRAIN, "small.tsv", "--validation", "no-tab.tsv"), "no-tab.tsv, line 7"),
    (("evaluate", "RUN", "--corpus", "latin.tsv"), "latin.tsv, line 5 is not UTF-8"),
    (("evaluate", "RUN", "--corpus", "long.tsv"), "at most 64 tokens, got 71.*'yes yes"),
    ((*EVALUATE, "--part", "held-out"), "what .* did not learn from is .* --part test"),
    # Settings
    ((*TRAIN, *SMALL, "--attention", "none"), "one of multi_head, global, .*, got 'none'"),
    ((*TRAIN, *SMALL, "--attention", "local-m"), "one of multi_head, .*, got 'local_m'"),
    ((*TRAIN, *SMALL, "--attention", "global", "--score", "sum"), "one of dot, .*, got 'sum'"),
    ((*TRAIN, *SMALL, "--score", "dot"), "multi_head attention has a score of its own"),
    (
        (*TRAIN, *SMALL, "--model", "bilstm", "--attention", "local-p", "--half-width", "-2"),
        "half_width must be positive, got -2",
    ),
    (
        (*TRAIN, *SMALL, "--model", "bilstm", "--score", "dot"),  # an odd number of units
        r"same width, got query .* = \(None, 1, 5\) and keys .* = \(None, None, 4\)",
    ),
    (
        (*TRAIN, "small.tsv", "--model", "seq2seq", "--attention", "global"),
        "seq2seq has no attention; it has pooling, got attention 'global'",
    ),
    (
        (*TRAIN, "small.tsv", "--model", "horse"),
        "model must be one of rnn, bilstm, seq2seq, transformer, got 'horse'",
    ),
    (
        (*TRAIN, "small.tsv", "--model", "transformer"),
        "units must be a multiple of num_heads unless key_dim is given, got 5 units for 4 heads",
    ),
    (
        (*TRAIN, "small.tsv", "--model", "transformer", "--key-dim", "2"),
        "width must be even and positive for pairs of sin and cos, got 5",
    ),
    (
        (*TRAIN, "small.tsv", "--model", "transformer", "--units", "8", "--dropout", "1"),
        "dropout must be at least 0 and below 1, got 1.0",
    ),
    ((*TRAIN, "small.tsv", "--tied"), "rnn has no tied; it has attention, score, half_width, got"),
    ((*TRAIN, "small.tsv", "--tokens", "letter"), "tokens must be one of word, wordpiece, got"),
    ((*TRAIN, "small.tsv", "--decay"), "decay needs a warm_up of at least 1"),
    ((*TRAIN, "small.tsv", "--label-smoothing", "1"), "label_smoothing must be .* got 1.0"),
    ((*TRAIN, "small.tsv", "--epochs", "0"), "epochs must be at least 1, got 0"),
    ((*TRAIN, "small.tsv", "--epochs", "many"), "Invalid value for '--epochs'"),
    ((*TRAIN, "small.tsv", "--units", "1000000"), "GB of memory, this machine has .* GB"),
    (
        (*TRAIN, "small.tsv", "--batch-size", "1000000000"),
        "1,000,000,000 sentences in a batch would",
    ),
    ((*TRAIN, "small.tsv", "--vocabulary", "1000000000000"), "vocabulary must be below 2"),
    # Several devices and processes: refused before anything is loaded
    ((*TRAIN, *SMALL, "--devices", "many"), "devices must be auto or a number from 1 .* there are"),
    ((*TRAIN, *SMALL, "--processes", "2"), "need --coordinator .* got None, None and 2"),
    (
        (*TRAIN, *SMALL, "--coordinator", "a:1", "--processes", "2", "--process-id", "2"),
        "process_id must be from 0 to 1 for 2 processes, got 2",
    ),
    (
        (*TRAIN, *SMALL, "--coordinator", "a", "--processes", "2", "--process-id", "0"),
        "coordinator must be host:port or auto, got 'a'",
    ),
    ((*TRAIN, "small.tsv", "--colour", "blue"), "No such option"),
    (("train", "--corpus", "small.tsv"), "Missing option '--out'"),
    (("fly",), "No such command 'fly'"),
    (
        ("compare", "--out", "new", "--corpus", "none.tsv"),
        "none.tsv is not a file",
    ),
    (("compare", "--out", "new", "--test", "small.tsv"), "--test needs --validation"),
    (("compare", "--out", "new", "--epochs", "0"), "epochs must be at least 1, got 0"),
    (("compare", "--out", "new", "--corpus", *SMALL, "--units", "0"), "units must be at least 1"),
    ((*EVALUATE, "--part", "test"), "at least one sentence pair, got none"),
    ((*EVALUATE, "--part", "none"), "--part must be one of all, "),
    # Folders
    (
        ("train", "--out", "RUN", "--corpus", *SMALL),
        "holds a run",
    ),
    (("train", "--out", "new", "--resume"), "new holds no run to resume"),
    (("train", "--out", "RUN", "--resume"), "has finished; there is nothing to resume"),
    (
        ("train", "--out", "empty.tsv/run", "--corpus", *SMALL),
        "empty.tsv is a file",
    ),
    ((*EVALUATE, "--hypotheses", "empty.tsv/a"), "is a file"),
    (
        ("evaluate", "RUN", "--corpus", "small.tsv", "--hypotheses", "half"),
        "half .* it is a folder",
    ),
    (("translate", "runs/none", "casa"), "there is no model folder runs/none"),
    (("translate", "y/o"), "no model folder y/o; .* name the translator before it: spa-eng y/o"),
    (("translate", "half", "casa"), "half is incomplete: model.keras, context_vocabulary.txt"),
    (("translate", "other", "casa"), "config.json: the contents must have format"),
    (("translate", "newer", "casa"), "has format 4, this version of keras_attention reads 3"),
    # Sentences
    (("translate", "RUN", ""), "nothing to translate in ''"),
    (("translate", "RUN", "   "), "nothing to translate"),
    (("translate", "RUN", "😀"), "nothing to translate in '😀'"),
    (("translate", "RUN", "." * 63), "without blanks has at most 62 words .*, got 63"),
    (("translate", "RUN", "casa", " "), "sentence 2: nothing to translate"),
    (("translate", "RUN", "casa", "--max-length", "0"), "max_length must be at least 1, got 0"),
    (("translate", "RUN", "casa", "--temperature", "-1"), "temperature must be 0"),
    (("demo", "--sentence", ""), "nothing to translate"),
    (("translate", "RUN", "casa", "--seed", "-1", "--temperature", "1"), "seed must be 0 or above"),
    # What is searched for, refused before the model is loaded
    (("translate", "runs/none", "casa", "--beam", "0"), "beam must be at least 1, got 0"),
    (("translate", "runs/none", "casa", "--beam", "2", "--n-best", "3"), "n_best must be .* got 3"),
    (("translate", "runs/none", "casa", "--top-k", "3"), "top_k and top_p are for sampling"),
    (
        ("translate", "runs/none", "casa", "--beam", "2", "--temperature", "1"),
        "not for a beam of 2",
    ),
    (("evaluate", "runs/none", "--corpus", "small.tsv", "--beam", "-1"), "beam must be at least 1"),
    (("evaluate", "runs/none", "--corpus", "small.tsv", "--max-length", "0"), "max_length must be"),
    # Pictures: refused before the model is loaded, or before a sentence is translated
    (("translate", "runs/none", "casa", "--heads"), "need a file to draw to: --plot FILE.png"),
    (
        ("translate", "runs/none", "casa", "--plot", "a.png", "--heads", "--layers"),
        "--heads and --layers ask for different pictures",
    ),
    (
        ("translate", "runs/none", "casa", "--plot", "a.png", "--of", "nothing"),
        "--of must be one of cross, encoder, decoder, got 'nothing'",
    ),
    (
        ("translate", "RUN", "casa", "--plot", "a.png", "--layer", "2"),
        "layer must be from 1 to 1 in this model, got 2",
    ),
    (
        ("translate", "RUN", "casa", "--plot", "a.png", "--of", "encoder"),
        "the encoder of this model does not attend to itself",
    ),
    (
        ("translate", "runs/none", "casa", "--plot", "casa.horse"),
        "path must end in one of",
    ),
    (("translate", "runs/none", "casa", "--plot", "casa"), "path must end in one of"),
    (("translate", "runs/none", "casa", "--dark"), "need a file to draw to: --plot FILE.png"),
    (("translate", "runs/none", "casa", "--plot", "new/casa.gif"), "existing folder"),
    (
        ("translate", "runs/none", "casa", "--plot", "a.gif", "--heads"),
        "a .gif and --heads ask for different pictures",
    ),
    (
        ("translate", "runs/none", "casa", "--plot", "a.png", "--text", "--context-rows"),
        "--text and --context-rows ask for different pictures",
    ),
    (("translate", "runs/none", "casa", "--plot", "new/casa.png"), "existing folder"),
    (("demo", "--plot", "casa.horse"), "path must end in one of"),
    # The page: likewise
    (
        ("view", "runs/none", "casa", "--out", "casa.png"),
        "expected a file ending in .html, got casa.png",
    ),
    (("view", "runs/none", "casa", "--beam", "0"), "beam must be at least 1, got 0"),
    (("view", "runs/none", "casa"), "there is no model folder runs/none"),
    (("view", "RUN", "  "), "nothing to translate"),
    (("attribute", "RUN", "casa", "--method", "guess"), "one of attention, .*, got 'guess'"),
    (("attribute", "RUN", "casa", "--plot", "new/a.png"), "existing folder"),
    (
        ("attribute", "RUN", "casa", "--method", "relevance", "--plot", "a.png"),
        "needs a Transformer, got the model rnn",
    ),
    (("attribute", "RUN", "casa " * 63), "too long: it has 2 parts"),
    (("attribute", "RUN"), "expected one sentence in quotes, got 0"),
    (("demo", "--sentence", " "), "nothing to translate"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=[f"{a[0]}: {m}" for a, m in WRONG])
def test_wrong_input_is_one_line_and_writes_nothing(
    run, wrong, tiny_run, tmp_path, monkeypatch, arguments, message
):
    monkeypatch.setattr(corpora.sources, "BUNDLED_PAIRS", 101)
    arguments = [tiny_run.folder if each == "RUN" else each for each in arguments]
    status, _, errors = run(*arguments)
    assert_one_line(status, errors)
    assert re.search(message, errors), errors
    assert files(tmp_path) == wrong
    assert files(tiny_run.folder) == RUN_FILES


@pytest.mark.parametrize(
    ("stdin", "message"),
    [
        (b"", "standard input is empty"),
        (b"casa\nest\xe1\n", "standard input, line 2 is not UTF-8"),
        (b"casa\n\ncasa\n", "sentence 2: nothing to translate"),
        (b"casa " * 209_715, "at most 10,000 characters, got 1,048,575"),
        (b"a" * 2**20, "at most 10,000 characters, got 1,048,576"),
    ],
    ids=["nothing", "not UTF-8", "an empty line", "a megabyte", "a megabyte of one word"],
)
def test_wrong_standard_input_is_one_line(run, tiny_run, stdin, message):
    status, out, errors = run("translate", tiny_run.folder, stdin=stdin)
    assert_one_line(status, errors)
    assert message in errors
    assert out == ""


def test_a_wrong_download_is_one_line(run, tmp_path, monkeypatch):
    (tmp_path / "wrong.zip").write_bytes(b"wrong")
    download = corpora.download_spa_eng
    for url, message in (
        ((tmp_path / "wrong.zip").as_uri(), "is not the official file: expected sha256 0c4fd7"),
        ((tmp_path / "none.zip").as_uri(), "pass a local file instead: --corpus path/to/spa.txt"),
    ):
        fetch = lambda: download(url, tmp_path / "cache")  # noqa: B023, E731
        monkeypatch.setattr(corpora.sources, "download_spa_eng", fetch)
        status, _, errors = run("train", "--out", "new")
        assert_one_line(status, errors)
        assert message in errors
    assert not (tmp_path / "new").exists()


def test_a_full_disk_is_one_line(run, tiny_run, tmp_path, full_disk):
    (tmp_path / "small.tsv").write_text("Go.\tVe.\n")
    options = ("--corpus", "small.tsv", "--validation", "small.tsv")
    with full_disk(101):
        status, _, errors = run("train", "--out", "new", *options)
    assert_one_line(status, errors)
    assert "File too large" in errors
    with full_disk(101):
        status, _, errors = run(
            "translate", tiny_run.folder, tiny_run.train[0].context, "--plot", "casa.png"
        )
    assert_one_line(status, errors)
    assert files(tmp_path) == ["small.tsv"]


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_a_folder_that_cannot_be_written_to_is_one_line(run, tmp_path, monkeypatch, number):
    def refuse(path, content, encoding=None):
        path.touch()  # what was begun must go as well
        raise OSError(number, os.strerror(number), str(path))

    (tmp_path / "small.tsv").write_text("Go.\tVe.\n")
    monkeypatch.setattr(Path, "write_text", refuse)
    status, _, errors = run("train", "--out", "new/run", "--corpus", *SMALL)
    assert_one_line(status, errors)
    assert os.strerror(number) in errors
    assert files(tmp_path) == ["small.tsv"]


@pytest.mark.parametrize("wanted", [None, "0"])
def test_tensorflow_multiplies_with_onednn_unless_told_otherwise(run, wanted, monkeypatch):
    monkeypatch.delenv("TF_ENABLE_ONEDNN_OPTS", raising=False)
    if wanted:
        monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", wanted)
    run("--help")
    assert os.environ["TF_ENABLE_ONEDNN_OPTS"] == (wanted or "1")


@pytest.mark.thorough
def test_a_process_prints_one_line_and_nothing_else(tmp_path):
    script = Path(sys.executable).with_name("keras-attention")
    if not script.exists():
        pytest.skip(f"the package is not installed: there is no {script}")
    environment = {k: v for k, v in os.environ.items() if k != "TF_CPP_MIN_LOG_LEVEL"}
    result = subprocess.run(
        [script, "translate", "runs/none", "casa"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert_one_line(result.returncode, result.stderr)
    assert "there is no model folder runs/none" in result.stderr
    assert result.stdout == ""
    assert files(tmp_path) == []


# Translating


@pytest.fixture
def loaded(tiny_run, monkeypatch):
    """Spare the time to load and compile the tiny model again; return its folder."""

    def load(folder):
        assert str(folder) == str(tiny_run.folder)
        return tiny_run.translator

    monkeypatch.setattr(Translator, "load", load)
    return tiny_run.folder


@pytest.fixture
def sentences(tiny_run):
    """Sentences of which the tiny model knows every word."""
    return [pair.context for pair in tiny_run.train[:3]]


def test_a_sentence_is_translated(run, tiny_run, sentences):
    status, out, errors = run("translate", tiny_run.folder, sentences[0])
    assert (status, errors) == (0, "")
    assert out == tiny_run.translator(sentences[0]).text + "\n"


def test_unknown_words_are_named_and_the_rest_is_translated(run, loaded, sentences):
    unknown = " ".join(f"zz{letter}" for letter in "abcdefg")
    status, out, errors = run("translate", loaded, f"{sentences[0]} {unknown} {'z' * 99}")
    assert (status, bool(out.strip())) == (0, True)
    named = ", ".join(f"“zz{letter}”" for letter in "abcde")
    assert errors == f"the model does not know {named} and 3 more\n"
    _, _, errors = run("translate", loaded, "z" * 99)
    assert errors == f"the model does not know “{'z' * 40}…”\n"


def test_what_commands_a_terminal_is_shown_and_not_sent(run, tiny_run, sentences, tmp_path):
    hostile = "zz\x1b]0;title\x07\x9b2J\u202e\udce9"
    seen = "zz␛]0;title␇�2J��"
    _, out, errors = run("translate", tiny_run.folder, f"{sentences[0]} {hostile}")
    assert not set("\x1b\x07\x9b\u202e") & set(out + errors)
    assert "does not know" in errors
    status, _, errors = run("translate", tmp_path / hostile, sentences[0])
    assert_one_line(status, errors)
    assert seen in errors


def test_a_text_longer_than_the_model_takes_is_one_line_with_a_picture_a_part(
    run, loaded, sentences, tmp_path
):
    text = f"{sentences[0]} {'casa ' * 60}. {sentences[0]}"
    status, out, errors = run(
        "translate", loaded, text, "--plot", "casa.png", "--max-length", "3", "--heads"
    )
    assert (status, len(out.splitlines())) == (0, 1)
    assert files(tmp_path) == [f"casa-{number}.png" for number in (1, 2, 3)]
    assert errors.count("Attention: casa-") == 3


def test_sentences_and_lines_are_translated_in_their_order(run, tiny_run, loaded, sentences):
    expected = "".join(f"{each.text}\n" for each in tiny_run.translator(sentences))
    assert run("translate", loaded, *sentences) == (0, expected, "")
    lines = "\r\n".join(sentences).encode()
    assert run("translate", loaded, stdin=lines) == (0, expected, "")
    assert run("translate", loaded, stdin=codecs.BOM_UTF8 + lines) == (0, expected, "")


def test_json_has_a_line_a_sentence_with_tokens_and_weights(run, loaded, sentences):
    status, out, errors = run("translate", loaded, *sentences, "--json")
    assert (status, errors) == (0, "")
    lines = out.splitlines()
    assert len(lines) == 3
    for line, sentence in zip(lines, sentences, strict=True):
        read = json.loads(line)
        assert read["source"] == sentence
        shape = (len(read["target_tokens"]), len(read["context_tokens"]))
        assert np.shape(read["attention"]) == shape
        np.testing.assert_allclose(np.sum(read["attention"], axis=1), 1, atol=1e-5)


def test_a_sentence_that_is_cut_off_in_json_says_so(run, loaded, tiny_run, sentences):
    _, out, _ = run("translate", loaded, sentences[0], "--json", "--max-length", "1")
    read, whole = json.loads(out), tiny_run.translator(sentences[0])
    assert (read["finished"], whole.finished) == (False, True)
    assert read["target_tokens"] == list(whole.target_tokens[:1])
    np.testing.assert_allclose(read["attention"], whole.attention[:1], atol=1e-5)


@pytest.mark.parametrize(
    ("name", "beginning"), [("casa.png", b"\x89PNG"), ("casa.svg", b"<?xml"), ("casa.pdf", b"%PDF")]
)
def test_the_attention_is_drawn(run, loaded, sentences, tmp_path, name, beginning):
    status, _, errors = run("translate", loaded, sentences[0], "--plot", name)
    assert (status, errors) == (0, f"Attention: {name}\n")
    assert (tmp_path / name).read_bytes().startswith(beginning)
    assert files(tmp_path) == [name]


def test_beside_the_weights_is_where_words_come_from_unless_others_are_asked_for(
    run, loaded, sentences, monkeypatch
):
    drawn = []
    for name in ("plot_alignment", "plot", "plot_grid"):

        def draw(translation, path, name=name, **options):
            drawn.append((name, options))

        monkeypatch.setattr(Translation, name, draw)
    for options in ((), ("--pieces", "--context-rows"), ("--weights-only",), ("--layer", "1")):
        status, _, _ = run("translate", loaded, sentences[0], "--plot", "casa.png", *options)
        assert status == 0
    rows = {"orientation": "context_rows"}
    whole = {"of": "cross", "layer": None, "head": None, "pieces": False}
    assert drawn == [
        ("plot_alignment", {"pieces": False}),
        ("plot_alignment", {"pieces": True, **rows}),
        ("plot", whole),
        ("plot", {**whole, "layer": 1}),
    ]


def test_the_attention_is_drawn_as_text_and_word_by_word(run, loaded, sentences, tmp_path):
    for options in (("casa.gif",), ("casa.png", "--text"), ("dark.png", "--text", "--dark")):
        status, _, errors = run("translate", loaded, sentences[0], "--plot", *options)
        assert (status, errors) == (0, f"Attention: {options[0]}\n")
    assert (tmp_path / "casa.gif").read_bytes().startswith(b"GIF89a")
    assert (tmp_path / "casa.png").read_bytes() != (tmp_path / "dark.png").read_bytes()


def test_pictures_of_several_sentences_are_numbered(run, loaded, sentences, tmp_path):
    options = ("--plot", "casa.svg", "--context-rows")
    status, out, errors = run("translate", loaded, *sentences, *options)
    assert status == 0
    assert files(tmp_path) == ["casa-1.svg", "casa-2.svg", "casa-3.svg"]
    assert len(out.splitlines()) == len(errors.splitlines()) == 3


def test_temperature_and_seed_decide_the_draws(run, tiny_run, loaded, sentences):
    texts = {}
    for seed in (1, 2):
        translations = tiny_run.translator(sentences, temperature=1.3, seed=seed)
        texts[seed] = "".join(f"{each.text}\n" for each in translations)
        _, out, _ = run("translate", loaded, *sentences, "--temperature", "1.3", "--seed", seed)
        assert out == texts[seed]
    assert texts[1] != texts[2]


# Evaluating and training


def test_scores_are_printed_and_hypotheses_written(run, tiny_run, tmp_path):
    status, out, errors = run(
        *("evaluate", tiny_run.folder, "--corpus", tiny_run.validation_corpus),
        *("--hypotheses", "deep/hypotheses.txt", "--batch-size", "13"),
    )
    assert (status, errors) == (0, "")
    assert "24 sentence pairs" in out
    losses = json.loads((tiny_run.folder / "history.json").read_text())["val_masked_loss"]
    assert f"masked loss           {min(losses):.4f}" in out
    assert re.search(r"masked accuracy +0\.\d{4}\n", out)
    assert re.search(r"BLEU, normalised +\d+\.\d +nrefs:1\|case:mixed\|eff:no\|tok:none", out)
    assert re.search(r"BLEU, as written +\d+\.\d +nrefs:1\|case:mixed\|eff:no\|tok:13a", out)
    assert re.search(r"chrF, as written +\d+\.\d +nrefs:1\|case:mixed\|eff:yes\|nc:6", out)
    expected = [each.text for each in tiny_run.translator([p.context for p in tiny_run.validation])]
    lines = (tmp_path / "deep" / "hypotheses.txt").read_text(encoding="utf-8").splitlines()
    assert lines == expected
    assert files(tmp_path) == ["deep", "deep/hypotheses.txt"]


def test_scores_are_printed_even_if_the_hypotheses_cannot_be_written(run, tiny_run, full_disk):
    evaluate = ("evaluate", tiny_run.folder, "--corpus", tiny_run.validation_corpus)
    with full_disk(101):
        status, out, errors = run(*evaluate, "--hypotheses", "hypotheses.txt")
    assert_one_line(status, errors)
    assert "BLEU, as written" in out
    assert not Path("hypotheses.txt").exists()


def test_pairs_that_a_translator_learned_from_are_told_apart(run):
    pairs = "Tom has lost his job.\tTom perdió su trabajo.\nI know.\tYa lo sé.\n"
    Path("pairs.tsv").write_text(pairs, encoding="utf-8")
    evaluate = ("evaluate", "spa-eng", "--corpus", "pairs.tsv")
    status, out, errors = run(*evaluate)
    assert (status, out.splitlines()[0]) == (0, "2 sentence pairs")
    assert "spa-eng learned from most of these pairs, so its scores are too high" in errors
    status, out, errors = run(*evaluate, "--part", "held-out")
    assert (status, errors, out.splitlines()[0]) == (0, "", "1 sentence pair")
    Path("pairs.tsv").write_text(pairs.splitlines()[1], encoding="utf-8")
    status, _, errors = run(*evaluate, "--part", "held-out")
    assert_one_line(status, errors)
    assert "pairs.tsv has none of the pairs of spa-eng that were held out" in errors


def test_training_leaves_one_folder_and_says_how_to_go_on(run, tiny_run, tmp_path):
    # A run that was killed after two epochs of four: the options make the settings, the end is new.
    options = (*tiny_run.options[:4], *("--epochs", "3"))
    shutil.copytree(tiny_run.killed, tmp_path / "run")
    status, out, errors = run("train", "--out", "run", "--resume", *options)
    assert (status, errors) == (0, "")
    assert "73 training pairs, 24 validation pairs" in out
    (sentence,) = shlex.split(re.search(r"keras-attention translate run (.+)\n", out)[1])
    assert sentence in Path(options[3]).read_text(encoding="utf-8")
    assert files(tmp_path / "run") == RUN_FILES
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert runs.Settings(**config["settings"]).epochs == 3


def test_a_page_shows_where_the_model_looked(run, tiny_run, sentences, tmp_path):
    status, out, errors = run("view", tiny_run.folder, sentences[0], "--beam", "2")
    assert (status, errors) == (0, "Attention: view.html\n")
    page = (tmp_path / "view.html").read_text(encoding="utf-8")
    assert out.strip() in page
    data = json.loads(re.search(r'<script type="application/json".*?>(.*?)</script>', page)[1])
    assert data["source"] == sentences[0]
    assert len(data["candidates"]) == 2
    assert [panel["name"] for panel in data["panels"]][-1] == "translation → sentence: alignment"


def test_a_page_has_the_evidence_that_is_asked_for(run, loaded, sentences, tmp_path):
    methods = ("--method", "leave-one-out", "--method", "attention")
    assert run("view", loaded, sentences[0], *methods)[0] == 0
    page = (tmp_path / "view.html").read_text(encoding="utf-8")
    for method in methods[1::2]:
        assert f"translation → sentence: {method}" in page
    assert "sentence: alignment" not in page
    status, _, errors = run("view", loaded, sentences[0], "--method", "guess")
    assert_one_line(status, errors)
    assert "--method must be one of attention" in errors


def test_words_are_attributed_to_words(run, loaded, tiny_run, sentences, tmp_path):
    options = ("--method", "leave-one-out", "--plot", "map.png")
    status, out, errors = run("attribute", loaded, sentences[0], *options)
    assert (status, errors) == (0, "Map: map.png\n")
    text, *rows = out.splitlines()
    assert text == tiny_run.translator(sentences[0]).text
    rows = [row.split("\t") for row in rows]
    assert [word.strip() for word, _, _ in rows] == re.findall(r"\w+|[^\w\s]", text)
    assert all(0 <= float(part) <= 1 for _, _, part in rows)
    assert files(tmp_path) == ["map.png"]


def test_the_demo_translates_then_trains_scores_and_draws(
    run, tiny_run, short_pairs, tmp_path, monkeypatch
):
    parts = corpora.Split(short_pairs[:73], short_pairs[73:84], short_pairs[84:])
    settings = {"units": 17, "vocabulary": 211, "batch_size": 13, "epochs": 1, "steps": 5}
    monkeypatch.setattr(cli.demo, "DEMO_SETTINGS", settings)
    monkeypatch.setattr(corpora, "load", lambda source: short_pairs)
    monkeypatch.setattr(corpora, "split", lambda pairs: parts)
    shipped = {cli.options.DEFAULT: tiny_run.translator}  # in place of the large one
    load = Translator.load
    monkeypatch.setattr(Translator, "load", lambda name: shipped.get(name) or load(name))
    sentence = short_pairs[0].context

    status, out, errors = run("demo", "--sentence", sentence)
    assert (status, errors) == (0, "")
    first, second = out.split("Now a small model learns.")
    assert f"\n  {sentence}\n  → {tiny_run.translator(sentence).text}\n" in f"\n{first}"
    assert "Attention: heatmap.png" in first
    assert second.index(cli.demo.DEMO_TIME) < second.index("val_loss")  # how long, beforehand
    assert "73 training pairs, 11 validation pairs, 13 held out" in second
    assert re.search(r"BLEU, as written +\d+\.\d", second)
    assert re.search(r"alignment error rate +\d\.\d{3} .* a diagonal \d\.\d{3}", second)
    assert f"\n  {sentence}\n  → " in second
    assert out.endswith("Attention: heatmap-learned.png\n")
    for name in ("heatmap.png", "heatmap-learned.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    assert files(tmp_path / "runs" / "demo") == RUN_FILES

    # A second time it is not trained again, and several sentences have numbered pictures.
    monkeypatch.setattr(cli.demo, "DEMO_SENTENCES", (sentence, short_pairs[1].context))
    status, out, errors = run("demo", "--plot", "again.svg")
    assert (status, errors) == (0, "")
    assert "Found the model of an earlier demo in runs/demo" in out
    assert "Epoch" not in out
    for name in ("again-1.svg", "again-2.svg", "again-learned.svg"):
        assert (tmp_path / name).exists()


# The Transformer


@pytest.fixture
def transformer(tiny_run, tmp_path):
    """Leave a Transformer with two layers of three heads, untrained, in a folder."""
    vocabularies = (tiny_run.translator.context_vocabulary, tiny_run.translator.target_vocabulary)
    sizes = {"units": 18, "num_layers": 2, "num_heads": 3, "feed_forward_dim": 11}
    keras.utils.set_random_seed(3)
    model = models.build_transformer(*map(len, vocabularies), **sizes)
    Translator(model, *vocabularies).save(tmp_path / "transformer")
    return "transformer"


def test_a_transformer_shows_its_layers_and_heads(
    run, transformer, tiny_run, tmp_path, monkeypatch
):
    sentence = tiny_run.train[0].context
    # it is loaded once, and so has its programs once
    monkeypatch.setattr(Translator, "load", functools.cache(Translator.load))
    for number, choice in enumerate((["--layers"], ["--layer", "2", "--head", "3", "--pieces"])):
        plot = ("--plot", f"{number}.png", *choice)
        status, out, errors = run("translate", transformer, sentence, "--max-length", "5", *plot)
        assert status == 0, errors
        assert out.strip()
        assert (tmp_path / f"{number}.png").read_bytes().startswith(b"\x89PNG")
    wrong = ("--plot", "a.png", "--head", "4")
    status, _, errors = run("translate", transformer, sentence, "--max-length", "5", *wrong)
    assert_one_line(status, errors)
    assert "head must be from 1 to 3 in this model, got 4" in errors


@pytest.mark.thorough
def test_a_transformer_trains_and_translates(run, tiny_run, tmp_path, monkeypatch):
    options = [
        *("--corpus", str(tiny_run.corpus), "--validation", str(tiny_run.validation_corpus)),
        *("--units", "18", "--num-layers", "2", "--num-heads", "3", "--feed-forward-dim", "11"),
        *("--vocabulary", "211", "--batch-size", "24", "--epochs", "1", "--steps", "2"),
        *("--warm-up", "1"),
    ]
    status, out, errors = run("train", "--model", "transformer", "--out", "run", *options)
    assert (status, errors) == (0, "")
    assert files(tmp_path / "run") == PIECES_FILES
    sentence = tiny_run.train[0].context

    monkeypatch.setattr(Translator, "load", functools.cache(Translator.load))
    three = ("--beam", "3", "--n-best", "3")
    status, out, errors = run("translate", "run", sentence, *three)
    assert status == 0
    scores = [float(line.split("\t")[0]) for line in out.splitlines()]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)

    choices = (["--layer", "2", "--heads", "--context-rows"], ["--layer", "1", "--of", "decoder"])
    for number, choice in enumerate(choices):
        plot = ("--plot", f"{number}.png", *choice)
        status, _, errors = run("translate", "run", sentence, *three, *plot)
        assert status == 0, errors
        assert (tmp_path / f"{number}.png").read_bytes().startswith(b"\x89PNG")


def test_a_translation_that_stops_at_its_limit_says_so(run, tiny_run):
    sentence = tiny_run.train[0].context
    status, _, errors = run("translate", str(tiny_run.folder), sentence, "--max-length", "1")
    assert status == 0
    assert "stopped after 1 token, before the end: --max-length allows more" in errors


# Help


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("demo", ["--sentence", "--plot", "--out"]),
        (
            "train",
            [
                *("--out", "--corpus", "--validation", "--model", "--attention", "--units"),
                *("--vocabulary", "--batch-size", "--epochs", "--steps", "--patience"),
                *("--learning-rate", "--seed", "--resume", "256", "5000", "64", "100"),
                *("--tokens", "--num-layers", "--num-heads", "--feed-forward-dim", "--key-dim"),
                *("--dropout", "--positions", "--norm-first", "--tied", "--warm-up", "--decay"),
                *("--label-smoothing", "transformer: 4000", "--watch", "--bleu-sample"),
            ],
        ),
        (
            "translate",
            [
                *("--plot", "--context-rows", "--json", "--temperature", "--max-length"),
                *("--beam", "--length-penalty", "--n-best", "--top-k", "--top-p"),
                *("--layer", "--head", "--heads", "--layers", "--of", "--pieces"),
                *("--text", "--dark"),
            ],
        ),
        ("evaluate", ["--corpus", "--part", "--hypotheses", "--batch-size", "--beam"]),
    ],
)
def test_help_names_every_option(run, command, options):
    status, out, errors = run(command, "--help")
    assert (status, errors) == (0, "")
    for option in options:
        assert option in out


def test_without_arguments_the_commands_are_listed(run):
    assert run() == run("--help")
    status, out, errors = run()
    assert (status, errors) == (0, "")
    for command in ("demo", "train", "translate", "evaluate"):
        assert command in out


def test_an_interruption_is_one_line(run, monkeypatch):
    def interrupted(source):
        raise KeyboardInterrupt

    monkeypatch.setattr(corpora, "load", interrupted)
    assert run("train", "--out", "new") == (130, "", "keras-attention: interrupted\n")


def test_ctrl_c_before_the_commands_are_there_is_one_line(monkeypatch, capsys):
    class Interrupted:
        def find_spec(self, name, path, target=None):
            if name == "keras_attention.cli":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "keras_attention.cli")
    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
    with pytest.raises(SystemExit, match="130"):
        keras_attention_command.main()
    assert capsys.readouterr() == ("", "keras-attention: interrupted\n")


@pytest.mark.parametrize(
    ("number", "status", "word"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")],
)
def test_a_signal_in_a_callback_of_the_garbage_collector_is_not_lost(
    run, monkeypatch, number, status, word
):
    def collected(phase, info):
        gc.callbacks.remove(collected)
        signal.raise_signal(number)  # Python drops what is raised here

    def load(source):
        gc.callbacks.append(collected)
        gc.collect()
        time.sleep(10)
        return []

    hook = sys.unraisablehook
    monkeypatch.setattr(corpora, "load", load)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
    begun = time.monotonic()
    try:
        assert run("train", "--out", "new") == (status, "", f"keras-attention: {word}\n")
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - begun < 5
    assert sys.unraisablehook is hook


@pytest.mark.parametrize(
    ("number", "status", "word"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")],
)
def test_a_run_that_is_ended_says_how_to_go_on(run, monkeypatch, number, status, word):
    def train(pairs, validation_pairs, folder, *arguments, **options):
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        signal.raise_signal(number)

    monkeypatch.setattr(runs, "train", train)
    # Whatever a shell starts in the background ignores Ctrl-C
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        ended, _, errors = run("train", "--corpus", "bundled", "--out", "new")
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended == status
    assert errors == (
        "Finished epochs are kept. Go on with: keras-attention train --resume --out new\n"
        f"keras-attention: {word}\n"
    )


def test_json_of_what_is_not_utf_8_is(run, loaded):
    status, out, _ = run("translate", loaded, "--json", "casa \udcff")
    assert status == 0
    assert json.loads(out.encode())["source"] == "casa �"

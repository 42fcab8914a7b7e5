"""The command line: `keras-attention demo | train | translate | evaluate | compare`.

Thin: reads arguments, calls the rooms, prints. A wrong input is one line on stderr and exit code 2.
Keras is imported inside the commands, so that `--help` answers at once.
"""

import json
import os
import sys
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="keras-attention",
    help="Train translators with attention, translate, and see where the model looked.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)

DEMO_SENTENCE = "¿Comieron los niños la manzana roja?"
DEMO_SETTINGS = {"units": 32, "vocabulary": 1000, "epochs": 16, "steps": 200, "patience": 16}
COMPARE_SETTINGS = {**DEMO_SETTINGS, "units": 64, "learning_rate": 0.005}  # on the bundled corpus
DEMO_TIME = "less than a minute on two CPU cores"

Run = Annotated[Path, typer.Argument(help="The folder that `train` wrote.", show_default=False)]
Plot = Annotated[
    Path | None,
    typer.Option(help="Draw the attention to this file: .png, .svg, .pdf, …", show_default=False),
]
BatchSize = Annotated[int, typer.Option(min=1, help="Sentences a batch.")]


def _setting(description, default):
    """Declare an option of `train`; None means the default, or what the resumed run had."""
    return typer.Option(help=description, show_default=str(default))


@app.command()
def demo(
    sentence: Annotated[str, typer.Option(help="A Spanish sentence of your own.")] = DEMO_SENTENCE,
    plot: Annotated[Path, typer.Option(help="Where the heat map goes.")] = Path("heatmap.png"),
    out: Annotated[Path, typer.Option(help="Where the model goes; trained once, then reused.")] = (
        Path("runs/demo")
    ),
):
    """Train on the bundled corpus, score, translate a sentence and draw where the model looked.

    Needs no download and takes a minute or two. The corpus comes from a small grammar, so the
    sentence should use its words: people, animals, food and things; in the present or the past.
    """
    from keras_attention import corpora, plotting, runs, scoring, text

    plotting.check_plot_path(plot)
    _check_sentence(sentence)
    print("Generating the bundled corpus …")
    parts = corpora.split(corpora.load("bundled"))
    known = {word for pair in parts.train for word in text.normalize(pair.context).split()}
    _check_sentence(sentence, known.__contains__)
    print(
        f"  {len(parts.train):,} sentence pairs to learn from, {len(parts.validation):,} to "
        f"validate, {len(parts.test):,} held out for the scores"
    )
    settings = runs.Settings(**DEMO_SETTINGS)
    if (out / runs.HISTORY_FILE).is_file():
        print(f"Found the model of an earlier demo in {out}; delete it to train again.")
    else:
        print(f"Training {settings.epochs} epochs of {settings.steps} batches: {DEMO_TIME}.")
    translator = runs.ensure(parts.train, parts.validation, out, settings, verbose=_verbosity())
    print(f"Scoring {len(parts.test):,} held-out sentences …")
    _print_report(scoring.evaluate(translator, parts.test))
    rates = scoring.alignment_error_rates(translator, parts.test)
    print(
        f"alignment error rate  {rates.attention:.3f}  (the attention against the gold alignment; "
        f"a diagonal has {rates.diagonal:.3f})"
    )
    translation = translator(sentence)
    print(f"\n  {sentence}\n  → {translation.text}\n")
    translation.plot(plot)
    print(f"Where the model looked: {plot}")


@app.command()
def train(
    out: Annotated[Path, typer.Option(help="Folder for everything.", show_default=False)],
    corpus: Annotated[
        str | None,
        typer.Option(
            help="`spa-eng` (downloaded once), `bundled`, or a file with English⇥Spanish lines.",
            show_default="spa-eng",
        ),
    ] = None,
    validation: Annotated[
        str | None,
        typer.Option(help="A validation file; by default 2 % of the corpus.", show_default=False),
    ] = None,
    model: Annotated[
        str | None,
        _setting(
            "`rnn`, the tutorial's; `bilstm`, the lecture's, which attends inside its loop; or "
            "`seq2seq`, without attention.",
            "rnn",
        ),
    ] = None,
    attention: Annotated[
        str | None,
        _setting(
            "`multi-head` (rnn), `global`, `local-m` (bilstm), `local-p`, `hard` (with "
            "straight-through gradients); with a past (bilstm): `coverage`, `neural-coverage`, "
            "`location-aware`, `recurrent-location`; a summary that ignores what is asked: `last`, "
            "`max`, `mean`.",
            "multi-head, bilstm: global",
        ),
    ] = None,
    score: Annotated[
        str | None,
        _setting(
            "Of global, local and hard attention: `dot`, `scaled-dot`, `cosine`, `general`, "
            "`concat`, `additive`, `two-layer`, `location`.",
            "additive, bilstm: two-layer",
        ),
    ] = None,
    half_width: Annotated[
        int | None, _setting("Of the window of local attention, in words.", 3)
    ] = None,
    pooling: Annotated[str | None, _setting("Of seq2seq: `last`, `max` or `mean`.", "last")] = None,
    units: Annotated[int | None, _setting("Width of the model.", 256)] = None,
    vocabulary: Annotated[int | None, _setting("Most words a language.", 5000)] = None,
    batch_size: Annotated[int | None, _setting("Sentences a batch.", 64)] = None,
    epochs: Annotated[int | None, _setting("Most epochs.", 100)] = None,
    steps: Annotated[int | None, _setting("Batches an epoch.", 100)] = None,
    patience: Annotated[
        int | None, _setting("Epochs without improvement until training stops.", 3)
    ] = None,
    learning_rate: Annotated[float | None, _setting("Of Adam.", 0.001)] = None,
    seed: Annotated[int | None, _setting("Of weights and order.", 0)] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the last epoch of the run in --out.")
    ] = False,
):
    """Train a Spanish→English translator; the defaults are those of the TensorFlow tutorial.

    Leaves a folder with the model, both vocabularies, the configuration, the history and the loss
    and accuracy curves. Killed, it loses at most an epoch: `--resume --out FOLDER` goes on.
    """
    from keras_attention import corpora, runs

    given = {
        "model": model,
        "attention": attention and attention.replace("-", "_"),
        "score": score and score.replace("-", "_"),
        "half_width": half_width,
        "pooling": pooling,
        "units": units,
        "vocabulary": vocabulary,
        "batch_size": batch_size,
        "epochs": epochs,
        "steps": steps,
        "patience": patience,
        "learning_rate": learning_rate,
        "seed": seed,
    }
    before = {}
    if resume:
        before = runs.read_settings(out)
    else:
        runs.check_no_run(out)
    sources = before.pop("sources", {})
    settings = runs.Settings(**{**before, **{k: v for k, v in given.items() if v is not None}})
    runs.check_model(settings)
    corpus = corpus or sources.get("corpus", "spa-eng")
    validation = validation or sources.get("validation")
    pairs = corpora.load(corpus)
    if validation:
        train_pairs, validation_pairs = pairs, corpora.load(validation)
    else:
        train_pairs, validation_pairs, _ = corpora.split(pairs)
    print(f"{len(train_pairs):,} pairs to learn from, {len(validation_pairs):,} to validate")
    runs.train(
        train_pairs,
        validation_pairs,
        out,
        settings,
        sources={"corpus": corpus, "validation": validation},
        resume=resume,
        verbose=_verbosity(),
    )
    print(f'Done: {out}\nNow try: keras-attention translate {out} "¿Todavía están en casa?"')


@app.command()
def translate(
    run: Run,
    sentences: Annotated[
        list[str] | None,
        typer.Argument(help="Sentences; none: lines from standard input.", show_default=False),
    ] = None,
    plot: Plot = None,
    context_rows: Annotated[
        bool, typer.Option("--context-rows", help="Draw the transpose: a row is a source word.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object a line, with tokens and weights.")
    ] = False,
    temperature: Annotated[float, typer.Option(help="0 is greedy; above, words are drawn.")] = 0.0,
    max_length: Annotated[int, typer.Option(help="Most tokens of a translation.")] = 50,
    batch_size: BatchSize = 64,
    seed: Annotated[int, typer.Option(help="Of the draws.")] = 0,
):
    """Translate sentences, or lines from standard input, and draw where the model looked.

    With several sentences, `--plot casa.png` writes `casa-1.png`, `casa-2.png`, …
    """
    from keras_attention import plotting, text
    from keras_attention.translator import Translator

    if plot:
        plotting.check_plot_path(plot)
    sentences = sentences or _lines_of_standard_input()
    translator = Translator.load(run)
    vocabulary = translator.context_vocabulary
    for number, sentence in enumerate(sentences, start=1):
        place = f"sentence {number}: " if len(sentences) > 1 else ""
        _check_sentence(sentence, lambda word: vocabulary.id_of(word) != text.UNKNOWN, place)
    translations = translator(
        sentences,
        max_length=max_length,
        temperature=temperature,
        batch_size=batch_size,
        seed=seed,
        progress=_progress("Translating"),
    )
    for number, translation in enumerate(translations, start=1):
        print(
            json.dumps(translation.to_dict(), ensure_ascii=False) if as_json else translation.text
        )
        if plot:
            several = len(translations) > 1
            path = plot.with_stem(f"{plot.stem}-{number}") if several else plot
            orientation = "context_rows" if context_rows else "target_rows"
            translation.plot(path, orientation=orientation)
            print(f"Where the model looked: {path}", file=sys.stderr)


@app.command()
def evaluate(
    run: Run,
    corpus: Annotated[
        str, typer.Option(help="`spa-eng`, `bundled`, or a file with English⇥Spanish lines.")
    ],
    part: Annotated[
        str, typer.Option(help="`all` of the corpus, or its `train`, `validation` or `test` part.")
    ] = "all",
    hypotheses: Annotated[
        Path | None,
        typer.Option(help="Write the translations here, one a line.", show_default=False),
    ] = None,
    batch_size: BatchSize = 64,
):
    """Score a model on sentence pairs: masked loss and accuracy, BLEU and chrF."""
    from keras_attention import corpora, files, scoring
    from keras_attention.translator import Translator

    if part not in ("all", *corpora.Split._fields):
        choices = ", ".join(("all", *corpora.Split._fields))
        raise ValueError(f"--part must be one of {choices}, got {part!r}")
    pairs = corpora.load(corpus)
    if part != "all":
        pairs = getattr(corpora.split(pairs), part)
    translator = Translator.load(run)
    with files.written_whole(hypotheses) if hypotheses else nullcontext() as path:
        report = scoring.evaluate(
            translator, pairs, batch_size=batch_size, progress=_progress("Translating")
        )
        if path:
            path.write_text("".join(f"{h}\n" for h in report.hypotheses), encoding="utf-8")
    print(f"{len(pairs):,} sentence pairs")
    _print_report(report)


@app.command()
def compare(
    out: Annotated[Path, typer.Option(help="Folder for everything.", show_default=False)],
    corpus: Annotated[
        str, typer.Option(help="`bundled`, `spa-eng`, or a file with English⇥Spanish lines.")
    ] = "bundled",
    validation: Annotated[
        str | None,
        typer.Option(
            help="A file to validate on, and without --test to score on as well; by default both "
            "are parts of the corpus.",
            show_default=False,
        ),
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(help="A file to score on, beside --validation.", show_default=False),
    ] = None,
    units: Annotated[int | None, _setting("Width of the models.", "256, bundled: 64")] = None,
    vocabulary: Annotated[
        int | None, _setting("Most words a language.", "5000, bundled: 1000")
    ] = None,
    batch_size: BatchSize = 64,
    epochs: Annotated[int | None, _setting("Most epochs.", "100, bundled: 16")] = None,
    steps: Annotated[int | None, _setting("Batches an epoch.", "100, bundled: 200")] = None,
    patience: Annotated[
        int | None,
        _setting("Epochs without improvement until training stops.", "3, bundled: 16"),
    ] = None,
    learning_rate: Annotated[float | None, _setting("Of Adam.", "0.001, bundled: 0.005")] = None,
    seed: Annotated[int, typer.Option(help="Of weights and order.")] = 0,
):
    """Train with and without attention, and draw BLEU by sentence length.

    Three translators on the same pairs: with attention; the same with a mean in its place; and the
    plain sequence-to-sequence model. Each leaves a run in a folder of its own, beside
    `comparison.json` and `bleu-by-length.png`. On the bundled corpus it takes three minutes on
    two CPU cores. What is in the folder already is used, so a command that was interrupted goes on.
    """
    from keras_attention import comparison, corpora, runs

    given = {
        "units": units,
        "vocabulary": vocabulary,
        "epochs": epochs,
        "steps": steps,
        "patience": patience,
        "learning_rate": learning_rate,
    }
    settings = runs.Settings(
        batch_size=batch_size,
        seed=seed,
        **(COMPARE_SETTINGS if corpus == "bundled" else {}),
    )
    settings = replace(settings, **{k: v for k, v in given.items() if v is not None})
    if test and not validation:
        raise ValueError("--test needs --validation, which the models are chosen by")
    pairs = corpora.load(corpus)
    if validation:
        parts = corpora.Split(pairs, corpora.load(validation), corpora.load(test or validation))
    else:
        parts = corpora.split(pairs)
    compared = comparison.compare(
        parts,
        out,
        settings,
        sources={"corpus": corpus, "validation": validation},
        verbose=_verbosity(),
        progress=_progress("Translating"),
    )
    names = list(comparison.CONTENDERS)
    print(f"{'tokens':<8}{'sentences':>10}" + "".join(f"{name:>12}" for name in names))
    for place, (shortest, longest) in enumerate(compared.ranges):
        length = f"{shortest}" if shortest == longest else f"{shortest}–{longest}"
        scores = "".join(f"{compared.by_length[name][place]:>12.1f}" for name in names)
        print(f"{length:<8}{compared.counts[place]:>10,}{scores}")
    scores = "".join(f"{compared.overall[name]:>12.1f}" for name in names)
    print(f"{'all':<8}{len(parts.test):>10,}{scores}")
    for name in names:
        print(f"  {name}: {comparison.LABELS[name]}")
    print(f"BLEU by length: {out / comparison.PICTURE_FILE}")


def _print_report(report):
    print(f"masked loss           {report.loss:.4f}  nats a token")
    print(f"masked accuracy       {report.accuracy:.4f}")
    for name, score in (
        ("BLEU, normalised", report.bleu_words),
        ("BLEU, as written", report.bleu),
        ("chrF, as written", report.chrf),
    ):
        print(f"{name:<21} {score.value:.1f}  {score.signature}")


def _check_sentence(sentence, knows=None, place=""):
    """Refuse a sentence that cannot be translated, or of which the model knows no word."""
    from keras_attention.text import shortened
    from keras_attention.translator import read_sentence

    try:
        tokens, _ = read_sentence(sentence)
    except ValueError as error:
        raise ValueError(f"{place}{error}") from error
    words = [word for word in tokens[1:-1] if word.isalpha()]
    if words and knows and not any(map(knows, words)):
        raise ValueError(
            f"{place}nothing to translate: the model knows no word of {shortened(sentence)}"
        )


def _lines_of_standard_input():
    if sys.stdin.isatty():
        raise ValueError("give a sentence in quotes, or lines on standard input: … < file.txt")
    lines = []
    for number, line in enumerate(sys.stdin.buffer.read().splitlines(), start=1):
        try:
            lines.append(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise ValueError(f"standard input, line {number} is not UTF-8: {error}") from error
    if not lines:
        raise ValueError("standard input is empty; expected a sentence a line")
    return lines


def _progress(description):
    """Return a progress bar on stderr, as `Translator.generate` takes it."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    return partial(
        track,
        description=description,
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def _verbosity():
    """A bar for a person, a line an epoch for a log file."""
    return 1 if sys.stdout.isatty() else 2


def _silence_native_logs():
    """Send what TensorFlow's C++ code logs to nowhere, and keep Python's stderr.

    It cannot be switched off otherwise, and would bury the one line that says what is wrong. Who
    sets TF_CPP_MIN_LOG_LEVEL wants to see it.
    """
    if "TF_CPP_MIN_LOG_LEVEL" not in os.environ:
        sys.stderr.flush()
        sys.stderr = os.fdopen(os.dup(2), "w", buffering=1, encoding="utf-8", errors="replace")
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def main():
    """Run the command line."""
    _silence_native_logs()
    usage_error = typer.BadParameter.__base__  # Typer has it under another name in every version
    try:
        status = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except usage_error as error:
        _fail(f"{error.format_message().rstrip('.')}; try --help")
    except (ValueError, OSError, ImportError) as error:
        _fail(error)
    except (KeyboardInterrupt, typer.Abort):
        status = 130
    if status:
        print("keras-attention: interrupted", file=sys.stderr)
        sys.exit(status)


def _fail(error):
    print(f"keras-attention: error: {' '.join(str(error).split())}", file=sys.stderr)
    sys.exit(2)

"""`keras-attention demo`: from nothing to a picture."""

from pathlib import Path
from typing import Annotated, Any

import typer

from keras_attention.cli import backend
from keras_attention.cli.console import (
    numbered,
    print_report,
    printable,
    verbosity,
    warn_of_unknown,
)
from keras_attention.cli.options import DEFAULT

DEMO_SENTENCES = (
    "Los niños comieron la manzana roja.",
    "Mi hermana mayor compró una casa blanca cerca del mar.",
    "¿Dónde puedo comprar un billete de tren?",
)
DEMO_SETTINGS: dict[str, Any] = {
    "units": 32,
    "vocabulary": 1000,
    "epochs": 16,
    "steps": 200,
    "patience": 16,
}
DEMO_TIME = "less than a minute on two CPU cores"


def demo(
    sentence: Annotated[
        str | None,
        typer.Option(help="A Spanish sentence of your own.", show_default="three sentences"),
    ] = None,
    plot: Annotated[Path, typer.Option(help="File of the heat map.")] = Path("heatmap.png"),
    out: Annotated[Path, typer.Option(help="Folder of the model; trained once, then reused.")] = (
        Path("runs/demo")
    ),
) -> None:
    """Translate with what comes with the package, then see how a model learns.

    Draws where the words of each translation come from: `heatmap.png`, or `heatmap-1.png`, … for
    several sentences. Then trains a small model on the bundled corpus in about a minute, scores
    it, and draws the first sentence again with it: `heatmap-learned.png`. The bundled corpus comes
    from a small grammar of people, animals, food and things, so this model knows few words.
    """
    from keras_attention import plotting
    from keras_attention.text import SPECIAL_WORDS, Vocabulary
    from keras_attention.translation.translator import read_sentences

    plotting.check_plot_path(plot)
    sentences = list(DEMO_SENTENCES) if sentence is None else [sentence]
    read_sentences(sentences, Vocabulary(SPECIAL_WORDS))
    _translate(sentences, plot)
    _learn(sentences[0], plot.with_stem(f"{plot.stem}-learned"), out)


def _translate(sentences, plot):
    """Translate with the translator that comes with the package, and draw."""
    from keras_attention.translation.translator import Translator

    translator = backend.without_compiling(Translator.load(DEFAULT), sentences)
    translations = translator(sentences)
    drawn = [each for translation in translations for each in translation.sentences]
    for path, translation in zip(numbered(plot, len(drawn)), drawn, strict=True):
        translation.plot_alignment(path)
        print(printable(f"  {translation.source}\n  → {translation.text}\n  Attention: {path}\n"))
        warn_of_unknown(translation)


def _learn(sentence, plot, out):
    """Train on the bundled corpus, score, and draw a sentence."""
    from keras_attention import corpora, runs
    from keras_attention.cli.heap import keep_freed_memory
    from keras_attention.translation import evaluation

    keep_freed_memory()
    print("Now a small model learns. Generating the bundled corpus …")
    parts = corpora.split(corpora.load("bundled"))
    print(
        f"  {len(parts.train):,} training pairs, {len(parts.validation):,} validation pairs, "
        f"{len(parts.test):,} held out for the scores"
    )
    settings = runs.Settings(**DEMO_SETTINGS)
    if (out / runs.HISTORY_FILE).is_file():
        print(f"Found the model of an earlier demo in {out}; delete it to train again.")
    else:
        print(f"Training {settings.epochs} epochs of {settings.steps} batches: {DEMO_TIME}.")
    sources = {"corpus": "bundled"}
    translator = runs.ensure(
        parts.train, parts.validation, out, settings, sources=sources, verbose=verbosity()
    )
    print(f"Scoring {len(parts.test):,} held-out sentences …")
    print_report(evaluation.evaluate(translator, parts.test))
    rates = evaluation.alignment_error_rates(translator, parts.test)
    print(
        f"alignment error rate  {rates.alignment:.3f}  (against the gold alignment; the attention "
        f"has {rates.attention:.3f}, a diagonal {rates.diagonal:.3f})"
    )
    (translation, *_) = translator(sentence).sentences
    print(printable(f"\n  {translation.source}\n  → {translation.text}\n"))
    warn_of_unknown(translation)
    translation.plot_alignment(plot)
    print(f"Attention: {plot}")

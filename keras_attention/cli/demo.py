"""`keras-attention demo`: from nothing to a picture."""

from pathlib import Path
from typing import Annotated, Any

import typer

from keras_attention.cli.console import print_report, verbosity

DEMO_SENTENCE = "¿Comieron los niños la manzana roja?"
DEMO_SETTINGS: dict[str, Any] = {
    "units": 32,
    "vocabulary": 1000,
    "epochs": 16,
    "steps": 200,
    "patience": 16,
}
DEMO_TIME = "less than a minute on two CPU cores"


def demo(
    sentence: Annotated[str, typer.Option(help="A Spanish sentence of your own.")] = DEMO_SENTENCE,
    plot: Annotated[Path, typer.Option(help="File of the heat map.")] = Path("heatmap.png"),
    out: Annotated[Path, typer.Option(help="Folder of the model; trained once, then reused.")] = (
        Path("runs/demo")
    ),
) -> None:
    """Train on the bundled corpus, score, translate a sentence and draw its attention.

    Needs no download and takes a minute or two. The corpus comes from a small grammar, so the
    sentence should use its words: people, animals, food and things, in the present or past tense.
    """
    from keras_attention import corpora, plotting, runs, text
    from keras_attention.cli.heap import keep_freed_memory
    from keras_attention.translation import evaluation
    from keras_attention.translation.translator import read_sentences

    keep_freed_memory()
    plotting.check_plot_path(plot)
    read_sentences([sentence], text.Vocabulary(text.SPECIAL_WORDS))
    print("Generating the bundled corpus …")
    parts = corpora.split(corpora.load("bundled"))
    known = {word for pair in parts.train for word in text.normalize(pair.context).split()}
    read_sentences([sentence], text.Vocabulary([*text.SPECIAL_WORDS, *known]), refuse_unknown=True)
    print(
        f"  {len(parts.train):,} training pairs, {len(parts.validation):,} validation pairs, "
        f"{len(parts.test):,} held out for the scores"
    )
    settings = runs.Settings(**DEMO_SETTINGS)
    if (out / runs.HISTORY_FILE).is_file():
        print(f"Found the model of an earlier demo in {out}; delete it to train again.")
    else:
        print(f"Training {settings.epochs} epochs of {settings.steps} batches: {DEMO_TIME}.")
    translator = runs.ensure(parts.train, parts.validation, out, settings, verbose=verbosity())
    print(f"Scoring {len(parts.test):,} held-out sentences …")
    print_report(evaluation.evaluate(translator, parts.test))
    rates = evaluation.alignment_error_rates(translator, parts.test)
    print(
        f"alignment error rate  {rates.attention:.3f}  (the attention against the gold alignment; "
        f"a diagonal has {rates.diagonal:.3f})"
    )
    translation = translator(sentence)
    print(f"\n  {sentence}\n  → {translation.text}\n")
    translation.plot(plot)
    print(f"Attention: {plot}")

"""`keras-attention compare`: with and without attention, by sentence length."""

from dataclasses import replace
from typing import Annotated

import typer

from keras_attention.cli.console import progress, verbosity
from keras_attention.cli.demo import DEMO_SETTINGS
from keras_attention.cli.options import BatchSize, Out, setting

COMPARE_SETTINGS = {**DEMO_SETTINGS, "units": 64, "learning_rate": 0.005}  # on the bundled corpus


def compare(
    out: Out,
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
    units: Annotated[int | None, setting("Width of the models.", "256, bundled: 64")] = None,
    vocabulary: Annotated[
        int | None, setting("Most words a language.", "5000, bundled: 1000")
    ] = None,
    batch_size: BatchSize = 64,
    epochs: Annotated[int | None, setting("Most epochs.", "100, bundled: 16")] = None,
    steps: Annotated[int | None, setting("Batches an epoch.", "100, bundled: 200")] = None,
    patience: Annotated[
        int | None,
        setting("Epochs without improvement until training stops.", "3, bundled: 16"),
    ] = None,
    learning_rate: Annotated[float | None, setting("Of Adam.", "0.001, bundled: 0.005")] = None,
    seed: Annotated[int, typer.Option(help="Of weights and order.")] = 0,
):
    """Train with and without attention, and draw BLEU by sentence length.

    Three translators on the same pairs: with attention; the same with a mean in its place; and the
    plain sequence-to-sequence model. Each leaves a run in a folder of its own, beside
    `comparison.json` and `bleu-by-length.png`. On the bundled corpus it takes three minutes on
    two CPU cores. What is in the folder already is used, so a command that was interrupted goes on.
    """
    from keras_attention import corpora, runs
    from keras_attention.cli.heap import keep_freed_memory
    from keras_attention.runs import comparison

    keep_freed_memory()
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
        verbose=verbosity(),
        progress=progress("Translating"),
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

"""`keras-attention compare`: with and without attention, by sentence length."""

from typing import Annotated, Any

import typer

from keras_attention.cli.console import progress, verbosity
from keras_attention.cli.demo import DEMO_SETTINGS
from keras_attention.cli.options import Out, with_settings

# For the bundled corpus
COMPARE_SETTINGS: dict[str, Any] = {**DEMO_SETTINGS, "units": 64, "learning_rate": 0.005}


@with_settings(
    *("units", "vocabulary", "batch_size", "epochs", "steps", "patience", "learning_rate", "seed"),
    beside="bundled",
    defaults=COMPARE_SETTINGS,
)
def compare(
    *,
    out: Out,
    corpus: Annotated[
        str, typer.Option(help="`bundled`, `spa-eng`, or a file with English⇥Spanish lines.")
    ] = "bundled",
    validation: Annotated[
        str | None,
        typer.Option(
            help="A file to validate on, and to score on unless --test is given; by default both "
            "are parts of the corpus.",
            show_default=False,
        ),
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(help="A file to score on; needs --validation.", show_default=False),
    ] = None,
    settings: dict[str, Any],
) -> None:
    """Train with and without attention, and draw BLEU by sentence length.

    Trains three translators on the same pairs: with attention; with a mean in place of the
    attention; and the plain sequence-to-sequence model. Each has its own folder, beside
    `comparison.json` and `bleu-by-length.png`. On the bundled corpus this takes three minutes on
    two CPU cores. Finished parts are reused, so an interrupted command can continue.
    """
    from keras_attention import corpora, runs
    from keras_attention.cli.heap import keep_freed_memory
    from keras_attention.runs import comparison

    keep_freed_memory()
    beside = COMPARE_SETTINGS if corpus == "bundled" else {}
    chosen = runs.Settings(**{**beside, **settings})
    if test and not validation:
        raise ValueError("--test needs --validation, the file that selects the best epoch")
    pairs = corpora.load(corpus)
    if validation:
        parts = corpora.Split(pairs, corpora.load(validation), corpora.load(test or validation))
    else:
        parts = corpora.split(pairs)
    compared = comparison.compare(
        parts,
        out,
        chosen,
        sources={"corpus": corpus, "validation": validation},
        verbose=verbosity(),
        progress=progress("Translating"),
    )
    names = list(comparison.CONTENDERS)
    print(f"{'tokens':<8}{'sentences':>10}" + "".join(f"{name:>12}" for name in names))
    for i, (shortest, longest) in enumerate(compared.ranges):
        length = f"{shortest}" if shortest == longest else f"{shortest}–{longest}"
        scores = "".join(f"{compared.by_length[name][i]:>12.1f}" for name in names)
        print(f"{length:<8}{compared.counts[i]:>10,}{scores}")
    scores = "".join(f"{compared.overall[name]:>12.1f}" for name in names)
    print(f"{'all':<8}{len(parts.test):>10,}{scores}")
    for name in names:
        print(f"  {name}: {comparison.LABELS[name]}")
    print(f"BLEU by length: {out / comparison.PICTURE_FILE}")

"""`keras-attention evaluate`: the scores of a translator."""

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from keras_attention.cli import backend
from keras_attention.cli.console import print_report, progress
from keras_attention.cli.options import (
    DEFAULT,
    BatchSize,
    Beam,
    Chosen,
    LengthPenalty,
    MaxLength,
    Runtime,
)
from keras_attention.menu import TRANSLATORS

HELD_OUT = "held-out"


def evaluate(
    corpus: Annotated[
        str, typer.Option(help="`spa-eng`, `bundled`, or a file with English⇥Spanish lines.")
    ],
    chosen: Chosen = DEFAULT,
    part: Annotated[
        str,
        typer.Option(
            help="`all` of the corpus; its `train`, `validation` or `test` part, as `train` "
            "splits it; or `held-out`, what the translators of the package were scored on."
        ),
    ] = "all",
    hypotheses: Annotated[
        Path | None,
        typer.Option(help="Write the translations to this file, one per line.", show_default=False),
    ] = None,
    beam: Beam = 1,
    length_penalty: LengthPenalty = 0.6,
    max_length: MaxLength = 50,
    batch_size: BatchSize = 64,
    runtime: Runtime = None,
) -> None:
    """Score a model on sentence pairs: masked loss and accuracy, BLEU and chrF."""
    from keras_attention import corpora, decoding, storage
    from keras_attention.translation import evaluation
    from keras_attention.translation.translator import Translator

    parts = ("all", *corpora.Split._fields, HELD_OUT)
    if part not in parts:
        raise ValueError(f"--part must be one of {', '.join(parts)}, got {part!r}")
    decoding.check_options(max_length=max_length, beam=beam, length_penalty=length_penalty)
    pairs = corpora.load(corpus)
    if part == HELD_OUT:
        pairs = _held_out(pairs, corpus, chosen)
    elif part != "all":
        pairs = getattr(corpora.split(pairs), part)
    if chosen in TRANSLATORS and 0 < len(corpora.held_out(pairs)) < len(pairs):
        print(
            f"{chosen} learned from most of these pairs, so its scores are too high: "
            f"--part {HELD_OUT} has those that it did not see",
            file=sys.stderr,
        )
    translator = backend.without_compiling(Translator.load(chosen), pairs, runtime)
    with storage.written_whole(hypotheses) if hypotheses else nullcontext() as path:
        report = evaluation.evaluate(
            translator,
            pairs,
            beam=beam,
            length_penalty=length_penalty,
            max_length=max_length,
            batch_size=batch_size,
            progress=progress("Translating"),
        )
        print(f"{len(pairs):,} sentence pair{'s' * (len(pairs) != 1)}")
        print_report(report)
        if path:
            path.write_text("".join(f"{h}\n" for h in report.hypotheses), encoding="utf-8")


def _held_out(pairs, corpus, chosen):
    """Return the pairs of a corpus that a translator of the package was scored on.

    Raises:
        ValueError: it is another translator, or there are none.
    """
    from keras_attention import corpora

    if chosen not in TRANSLATORS:
        raise ValueError(
            f"--part {HELD_OUT} is for {' and '.join(TRANSLATORS)}; what {chosen} did not learn "
            "from is the test part of its corpus: --part test"
        )
    found = corpora.held_out(pairs)
    if not found:
        raise ValueError(f"{corpus} has none of the pairs of spa-eng that were held out")
    return found

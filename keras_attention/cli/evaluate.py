"""`keras-attention evaluate`: the scores of a translator."""

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


def evaluate(
    corpus: Annotated[
        str, typer.Option(help="`spa-eng`, `bundled`, or a file with English⇥Spanish lines.")
    ],
    chosen: Chosen = DEFAULT,
    part: Annotated[
        str, typer.Option(help="`all` of the corpus, or its `train`, `validation` or `test` part.")
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

    if part not in ("all", *corpora.Split._fields):
        choices = ", ".join(("all", *corpora.Split._fields))
        raise ValueError(f"--part must be one of {choices}, got {part!r}")
    decoding.check_options(max_length=max_length, beam=beam, length_penalty=length_penalty)
    pairs = corpora.load(corpus)
    if part != "all":
        pairs = getattr(corpora.split(pairs), part)
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
        if path:
            path.write_text("".join(f"{h}\n" for h in report.hypotheses), encoding="utf-8")
    print(f"{len(pairs):,} sentence pairs")
    print_report(report)

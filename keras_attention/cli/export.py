"""`keras-attention export`: export a translator for programs without this package."""

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from keras_attention.cli.options import DEFAULT, Chosen


def _of_search(description, default):
    return typer.Option(help=description, rich_help_panel="Which translation", show_default=default)


def export(
    kind: Annotated[
        str,
        typer.Option(
            "--format", help="`saved-model`, `onnx` or `ctranslate2`.", show_default=False
        ),
    ],
    out: Annotated[Path, typer.Option(help="The folder to write.", show_default=False)],
    chosen: Chosen = DEFAULT,
    beam: Annotated[
        int | None,
        _of_search("SavedModel: number of hypotheses of beam search; 1 is greedy.", "1"),
    ] = None,
    length_penalty: Annotated[
        float | None,
        _of_search(
            "SavedModel with a beam: length penalty; 0 is none, larger values favour longer "
            "translations.",
            "0.6",
        ),
    ] = None,
    max_length: Annotated[
        int | None,
        _of_search("SavedModel and ONNX: largest number of tokens in a translation.", "50"),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an earlier export in this folder.")
    ] = False,
) -> None:
    """Export a model for programs without this package.

    `saved-model`: a TensorFlow SavedModel, strings in and strings out. `onnx`: one graph that reads
    a sentence as ids and one that writes the next token; needs the extra `onnx`. `ctranslate2`: a
    Transformer for CTranslate2; needs the extra `ctranslate2`.
    """
    from keras_attention.export import check_export
    from keras_attention.export import export as write

    given: dict[str, Any] = {
        "max_length": max_length,
        "beam": beam,
        "length_penalty": length_penalty,
    }
    options = {name: value for name, value in given.items() if value is not None}
    check_export(kind, out, force=force, **options)
    if "keras" not in sys.modules:  # any backend can load any model; export needs this one
        os.environ["KERAS_BACKEND"] = "tensorflow"
    from keras_attention import decoding
    from keras_attention.translation.translator import Translator

    decoding.check_options(**options)
    write(Translator.load(chosen), kind, out, force=force, **options)
    print(f"Exported as {kind}: {out}", file=sys.stderr)

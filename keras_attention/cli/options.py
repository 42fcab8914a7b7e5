"""Options that several commands have, each declared once."""

from pathlib import Path
from typing import Annotated

import typer


def setting(description, default, panel=None):
    """Declare an option of training; None means the default, or what the resumed run had."""
    return typer.Option(help=description, show_default=str(default), rich_help_panel=panel)


Run = Annotated[Path, typer.Argument(help="The folder that `train` wrote.", show_default=False)]
Out = Annotated[Path, typer.Option(help="Folder for everything.", show_default=False)]
BatchSize = Annotated[int, typer.Option(min=1, help="Sentences a batch.")]


def of_search(description):
    """Declare an option that decides which translation is found."""
    return typer.Option(help=description, rich_help_panel="Which translation")


Beam = Annotated[int, of_search("Hypotheses that beam search follows at once; 1 is greedy.")]
LengthPenalty = Annotated[
    float, of_search("Of beam search: 0 is none, larger favours longer translations.")
]
MaxLength = Annotated[int, of_search("Most tokens of a translation.")]

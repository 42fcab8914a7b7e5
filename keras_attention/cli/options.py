"""Options that several commands have, each declared once."""

import functools
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from keras_attention.menu import ATTRIBUTIONS, RUNTIMES, TRANSLATORS
from keras_attention.runs.settings import TRANSFORMER, TUTORIAL, Settings

DEFAULT, *_ = TRANSLATORS
TRANSLATOR_HELP = "A folder that `train` wrote, or " + ", or ".join(
    f"`{name}`, {description} that comes with the package"
    for name, description in TRANSLATORS.items()
)
Chosen = Annotated[str, typer.Argument(help=f"{TRANSLATOR_HELP}.", metavar="TRANSLATOR")]
TranslatorAndSentence = Annotated[
    list[str],
    typer.Argument(
        help=f"{TRANSLATOR_HELP}; the default is `{DEFAULT}`. Then the sentence to translate.",
        metavar="[TRANSLATOR] SENTENCE",
        show_default=False,
    ),
]
Out = Annotated[Path, typer.Option(help="Folder for all results.", show_default=False)]
BatchSize = Annotated[int, typer.Option(min=1, help="Sentences in a batch.")]

Runtime = Annotated[
    str | None,
    typer.Option(
        help="What translates: "
        + "; ".join(f"`{name}`, {description}" for name, description in RUNTIMES.items())
        + ". By default whichever is faster for so many sentences.",
        show_default=False,
    ),
]


def of_search(description: str) -> Any:
    """Declare an option that decides which translation is found."""
    return typer.Option(help=description, rich_help_panel="Which translation")


Beam = Annotated[int, of_search("Hypotheses that beam search follows at once; 1 is greedy.")]
LengthPenalty = Annotated[
    float,
    of_search(
        "Length penalty of beam search: 0 is none; larger values favour longer translations."
    ),
]
MaxLength = Annotated[int, of_search("Largest number of tokens in a translation.")]


def translator_first(arguments: Sequence[str]) -> tuple[str, list[str]]:
    """Part arguments into a translator, which may be left out, and sentences.

    The first argument is a translator if it is the name of one, if there is a folder of that name,
    or if it is a path: one word with a separator of paths.

    Raises:
        FileNotFoundError: the only argument is a path, and there is no such folder.

    Example:
    >>> translator_first(["runs/mine", "¿Dónde estás?"])
    ('runs/mine', ['¿Dónde estás?'])
    >>> translator_first(["¿Dónde estás?", "Estoy en casa."])
    ('spa-eng', ['¿Dónde estás?', 'Estoy en casa.'])
    """
    first, *others = arguments or [""]
    is_path = len(first.split()) == 1 and any(each in first for each in ("/", os.sep))
    # Unlike Path.is_dir, this takes any sentence, however long
    if is_path and not others and not os.path.isdir(first):
        raise FileNotFoundError(
            f"there is no model folder {first}; to translate it as a sentence, name the translator "
            f"before it: {DEFAULT} {first}"
        )
    if first in TRANSLATORS or is_path or os.path.isdir(first):
        return first, others
    return DEFAULT, list(arguments)


def translator_and_sentence(arguments: Sequence[str]) -> tuple[str, str]:
    """Part arguments as `translator_first` does, where one sentence is expected.

    Raises:
        ValueError: there is none, or there are several.
    """
    translator, sentences = translator_first(arguments)
    if len(sentences) != 1:
        raise ValueError(f"expected one sentence in quotes, got {len(sentences)}")
    return translator, sentences[0]


def with_settings(
    *names: str, beside: str = "transformer", defaults: Mapping[str, Any] = TRANSFORMER
) -> Callable[[Callable], Callable]:
    """Give a command an option for each field of `Settings`, in place of its argument `settings`.

    The command receives the options that were given, as a dictionary.

    Args:
        names: the fields to offer; by default all.
        beside: name under which the help shows defaults that differ from those of the tutorial.
        defaults: the defaults shown under that name.
    """
    chosen = [each for each in fields(Settings) if each.name in names or not names]
    options = [_option(each, beside, defaults.get(each.name)) for each in chosen]

    def decorate(command: Callable) -> Callable:
        @functools.wraps(command)
        def with_options(**arguments: Any) -> Any:
            given = {each.name: arguments.pop(each.name) for each in chosen}
            given = {name: value for name, value in given.items() if value is not None}
            return command(settings=given, **arguments)

        parameters = []
        for each in inspect.signature(command).parameters.values():
            parameters += options if each.name == "settings" else [each]
        parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
        # Typer reads both; mypy does not know that a function may have a signature of its own.
        with_options.__annotations__ = {each.name: each.annotation for each in parameters}
        with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return with_options

    return decorate


def _option(setting: Field, beside: str, other: Any) -> inspect.Parameter:
    """Make the option for a setting; if omitted, the default or the resumed run's value applies."""
    shown = setting.metadata["shown"]
    if shown is None:
        first = TUTORIAL.get(setting.name)
        ways = [] if first is None else [_shown(setting, first)]
        if other not in (None, first):
            ways.append(f"{beside}: {_shown(setting, other)}" if ways else _shown(setting, other))
        shown = ", ".join(ways)
    option = typer.Option(
        *setting.metadata["flags"],
        help=setting.metadata["help"],
        show_default=shown,
        rich_help_panel=setting.metadata["panel"],
    )
    kind: Any = setting.type
    return inspect.Parameter(
        setting.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[kind | None, option],
    )


def _shown(setting: Field, value: Any) -> str:
    """Return a default as the help shows it; for a switch, the name of its position."""
    if not setting.metadata["flags"]:
        return f"{value:g}" if isinstance(value, float) else str(value)
    on, off = setting.metadata["flags"][0].split("/")
    return (on if value else off).removeprefix("--")


def check_method(method: str) -> None:
    """Check that there is an attribution of this name.

    Raises:
        ValueError: there is none.
    """
    if method not in ATTRIBUTIONS:
        raise ValueError(f"--method must be one of {', '.join(ATTRIBUTIONS)}, got {method!r}")

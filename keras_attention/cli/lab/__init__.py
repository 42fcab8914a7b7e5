"""`keras-attention lab …`: one command per experiment of the lab."""

import typer

from keras_attention.cli.lab import (
    algorithms,
    captions,
    characters,
    everything,
    glimpses,
    stories,
    truths,
)

app = typer.Typer(
    name="lab",
    rich_markup_mode="markdown",
)
for command in (
    algorithms.copy,
    algorithms.repeat_copy,
    algorithms.associative_recall,
    stories.babi,
    glimpses.glimpses,
    glimpses.two_digits,
    captions.captions,
    characters.characters,
    characters.key_recall,
    truths.ctc,
    truths.hopfield,
    truths.estimators,
):
    app.command()(command)
app.command("all")(everything.everything)


@app.callback(invoke_without_command=True)
def lab(context: typer.Context) -> None:
    """Experiments that show what attention and memory are for, with figures and pictures.

    Most train a model with a mechanism and the same model without it. Some figures have a target:
    `✓ ≥ 0.98` was reached, `✗ ≥ 0.98` was missed. `--quick` runs a small version in under a minute,
    whose figures mean nothing. `--seed` gives another run.
    """
    if context.invoked_subcommand is None:
        print(context.get_help())

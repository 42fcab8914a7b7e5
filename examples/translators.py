"""Train the translators that come with the package: `python -m examples.translators`.

Thin: reads options, trains, scores and writes. A wrong option is one line on stderr and exit
code 2.
"""

import os
from pathlib import Path
from typing import Annotated

import typer

from examples import command
from keras_attention.cli.console import progress, verbosity
from keras_attention.cli.heap import keep_freed_memory
from keras_attention.menu import TRANSLATORS

DATA = Path(__file__).resolve().parents[1] / "data" / "translators"
RECIPES = {
    "spa-eng": {"model": "transformer", "batch_size": 256, "epochs": 36},
    "spa-eng-rnn": {
        "model": "rnn",
        "tokens": "wordpiece",
        "batch_size": 128,
        "epochs": 12,
        "steps": 300,
        "patience": 12,
        "learning_rate": 2e-3,
        "warm_up": 300,
        "decay": True,
        "label_smoothing": 0.1,
    },
}
QUICK = {
    "units": 16,
    "vocabulary": 400,
    "epochs": 1,
    "steps": 3,
    "batch_size": 16,
    "warm_up": 1,
}
PAIRS_FOR_HEADS = 200
SOURCE = {
    "data": "spa-eng of the TensorFlow tutorials: sentence pairs of Tatoeba (https://tatoeba.org), "
    "by way of manythings.org/anki",
    "licence": "CC BY 2.0 FR; the sentences belong to their authors on Tatoeba",
}

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="markdown")


@app.command()
def run(
    names: Annotated[
        list[str] | None,
        typer.Argument(help=f"{' or '.join(TRANSLATORS)}.", show_default="all", metavar="[NAME]…"),
    ] = None,
    corpus: Annotated[
        str, typer.Option(help="`spa-eng`, downloaded once, or a file with English⇥Spanish lines.")
    ] = "spa-eng",
    validation: Annotated[
        str | None,
        typer.Option(help="A validation file; by default 2 % of the corpus.", show_default=False),
    ] = None,
    runs_in: Annotated[
        Path, typer.Option("--runs", help="Folder of the runs; an interrupted one continues.")
    ] = Path("runs/translators"),
    out: Annotated[Path, typer.Option(help="Folder to write to.", show_default="data")] = DATA,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    quick: Annotated[
        bool, typer.Option("--quick", help="The same with tiny models: does everything work?")
    ] = False,
):
    """Train the translators that come with the package, and write them with their cards.

    Each is trained by its recipe, scored on the validation pairs, and written to a folder of its
    own: weights as float16, vocabularies, and the card in `config.json`, which says where the data
    came from, how the model was trained, and how well it translates.

    Example: `python -m examples.translators spa-eng-rnn --out /tmp/translators`
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")  # as the command line does
    wrong = set(names or ()) - set(RECIPES)
    if wrong:
        raise ValueError(f"a translator is one of {', '.join(RECIPES)}, got {', '.join(wrong)}")
    from keras_attention import corpora

    keep_freed_memory()
    pairs = corpora.load(corpus)
    parts = corpora.split(pairs) if validation is None else (pairs, corpora.load(validation))
    for name in names or RECIPES:
        make(name, *parts[:2], runs_in / name, out / name, seed, QUICK if quick else {})


def make(name, train_pairs, validation_pairs, folder, out, seed, changes):
    """Train one translator, or load it if its run has finished, and write it with its card."""
    from keras_attention import Translator, runs
    from keras_attention.translation import evaluation

    print(f"{name}: {TRANSLATORS[name]}, {len(train_pairs):,} training pairs")
    settings = runs.Settings(**{**RECIPES[name], "seed": seed, **changes})
    sources = {"corpus": "spa-eng"}
    trained = runs.ensure(
        train_pairs, validation_pairs, folder, settings, sources=sources, verbose=verbosity()
    )
    card = {**SOURCE, **trained.config}
    vocabularies = trained.context_vocabulary, trained.target_vocabulary
    builder = runs.builder_of(settings, *vocabularies)
    Translator(trained.model, *vocabularies, card).save(out, builder)
    small = Translator.load(out)  # what is scored is what is shipped
    if settings.model == "transformer":
        card["alignment_head"] = alignment_head(small, validation_pairs)
        print("The head that agrees best with leave-one-out:", card["alignment_head"])
    scores = {}
    for search, options in (("greedy", {}), ("beam 4", {"beam": 4})):
        report = evaluation.evaluate(
            small, validation_pairs, progress=progress(f"Scoring, {search}"), **options
        )
        scores[search] = {
            score: round(getattr(report, score).value, 2)
            for score in ("bleu", "chrf", "bleu_words")
        }
        print(f"{search}: BLEU {report.bleu:.1f}, chrF {report.chrf:.1f}, as written")
    Translator(trained.model, *vocabularies, {**card, "scores": scores}).save(out, builder)
    size = sum(path.stat().st_size for path in out.iterdir()) / 1e6
    print(f"Wrote {out}, {size:.1f} MB")


def alignment_head(translator, pairs):
    """Return which head shows best where words come from, for those who export the model."""
    from keras_attention import attributions

    pairs = pairs[:: max(1, len(pairs) // PAIRS_FOR_HEADS)]
    forced = translator.forced([pair.context for pair in pairs], [pair.target for pair in pairs])
    return attributions.aligned_head(progress("Choosing a head")(forced))._asdict()


def main():
    """Run the command, as `python -m examples.translators` does."""
    command.run(app, "examples.translators")


if __name__ == "__main__":
    main()

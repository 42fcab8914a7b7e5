"""Score every attribution on one translator: `python -m examples.attributions`.

Thin: reads options, scores, prints and writes. A wrong option is one line on stderr and exit
code 2.
"""

import os
from pathlib import Path
from typing import Annotated

import typer

from examples import command
from keras_attention.cli.console import progress
from keras_attention.cli.options import DEFAULT
from keras_attention.storage import written_whole

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="markdown")
PAGE = """# How far can a map be believed?

Written by `python -m examples.attributions`: {pairs} pairs of {corpus}, aligned by hand,
with {translator}. AER is the alignment error rate of the largest number of each row; lower is
better. The last column is what the model loses, in nats of log-probability, when the source word
that the map names is left out. A word at random costs {random:.2f}, the one that costs most
{largest:.2f}.

| method | AER | loss without the word it names |
| --- | ---: | ---: |
{rows}
"""


@app.command()
def run(
    translator: Annotated[
        str, typer.Argument(help="A folder that `train` wrote, or a translator of the package.")
    ] = DEFAULT,
    corpus: Annotated[
        str, typer.Option(help="`spa-eng`, `bundled`, or a file with pairs of spa-eng.")
    ] = "spa-eng",
    pairs: Annotated[int, typer.Option(min=1, help="The most pairs to score.")] = 50,
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("attributions.md"),
):
    """Score every map of a translator: does it name the right word, and does the model need it?

    Each method looks at the reference translation of aligned pairs (forced decoding).

    Example: `python -m examples.attributions runs/mine --corpus bundled --pairs 20`
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from examples.attributions import rival
    from keras_attention import Translator, corpora, metrics

    loaded = corpora.load(corpus)
    aligned = loaded if corpus == "bundled" else corpora.aligned(loaded)
    if not aligned:
        raise ValueError(f"{corpus} has none of the pairs that are aligned by hand")
    aligned = aligned[:pairs]
    rows, deletions = score(Translator.load(translator), aligned)
    lines = [f"| {name} | {aer:.3f} | {loss:.2f} |" for name, (aer, loss) in rows.items()]
    if rival.is_installed():
        gold = [set(pair.links) for pair in aligned]
        error = metrics.alignment_error_rate(rival.links(aligned, loaded), gold)
        lines.append(
            f"| eflomal, trained on {len(loaded):,} pairs, without a model | {error:.3f} | |"
        )
    else:
        print("eflomal, the rival, is not installed: pip install '.[bench]' brings it")
    page = PAGE.format(
        pairs=len(aligned),
        corpus=Path(corpus).name,
        translator=translator,
        random=deletions[0],
        largest=deletions[1],
        rows="\n".join(lines),
    )
    print(page)
    with written_whole(out) as path:
        path.write_text(page, encoding="utf-8")


def score(translator, pairs):
    """Return for each method its AER and loss, and the losses at random and at most."""
    import numpy as np

    from keras_attention import attributions, metrics

    forced = translator.forced([p.context for p in pairs], [p.target for p in pairs])
    predicted, losses, limits = {}, {}, []
    for translation in progress("Scoring")(forced):
        lost = attributions.leave_one_out(translator, translation)
        for name, found in maps_of(translator, translation):
            words = attributions.by_words(translation, found)
            predicted.setdefault(name, []).append(metrics.alignment_from_weights(words))
            scored = attributions.deletion(translation, found, lost)
            losses.setdefault(name, []).append(scored.named)
        limits.append((scored.at_random, scored.largest))
    gold = [set(pair.links) for pair in pairs]
    rows = {
        name: (metrics.alignment_error_rate(links, gold), float(np.mean(losses[name])))
        for name, links in predicted.items()
    }
    return rows, tuple(np.mean(limits, axis=0))


def maps_of(translator, translation):
    """Yield the name of each map of a translation and the map (T, S)."""
    from keras_attention import attributions

    for name, method in attributions.METHODS.items():
        try:
            found = method(translator, translation)
        except ValueError:  # this model does not allow it
            continue
        yield name, found if found.ndim == 2 else found.mean(axis=0)
    layers = translation.weights["cross_attention"]
    if layers[0].ndim == 2:  # no heads
        return
    for number, layer in enumerate(layers, start=1):
        for row, weights in (("said", layer), ("fed", attributions.fed_rows(layer))):
            yield f"attention of layer {number}, the row of the word {row}", weights.mean(axis=0)
    chosen = translator.config.get("alignment_head")
    if chosen:
        weights = layers[chosen["layer"] - 1][chosen["head"] - 1]
        row = "fed" if chosen["fed"] else "said"
        name = f"head {chosen['head']} of layer {chosen['layer']}, the row of the word {row}"
        yield name, attributions.fed_rows(weights) if chosen["fed"] else weights


def main():
    """Run the command, as `python -m examples.attributions` does."""
    command.run(app, "examples.attributions")


if __name__ == "__main__":
    main()

"""What more chips would give the Transformer of the paper.

    KERAS_BACKEND=jax python -m examples.scale_out

Thin: reads options, compiles, calculates, draws and writes. A wrong option is one line on stderr
and exit code 2.
"""

import json
from pathlib import Path
from typing import Annotated

import typer

from examples import command
from keras_attention.cli.console import progress
from keras_attention.storage import written_whole

# Width, heads and hidden width in table 3 of Vaswani et al. (2017); 37,000 pieces are those of its
# English and German.
WIDTHS = {"base": (512, 8, 2048), "big": (1024, 16, 4096)}
SIZES = {
    name: {"units": units, "num_heads": heads, "feed_forward_dim": hidden}
    | {"num_layers": 6, "vocabulary": 37_000}
    for name, (units, heads, hidden) in WIDTHS.items()
}
TINY = {"units": 16, "num_layers": 1, "num_heads": 2, "feed_forward_dim": 32, "vocabulary": 101}
SLICES = ("2x2", "4x4", "8x8", "16x16")
PAIRS, LENGTH = 128, 32  # on each chip; about the 25,000 / 8 tokens of a GPU in the paper
CONSTANT = 2048  # pairs on all chips together: 65,536 tokens of each language
COLUMNS = (
    "size",
    "slice",
    "chips",
    "GFLOP a chip",
    "MiB summed",
    "GiB of a chip",
    "computing",
    "summing",
    "efficiency, 128 pairs a chip",
    "efficiency, 2,048 pairs in all",
)
PAGE = """# What more chips would give

Written by `python -m examples.scale_out`: the training step of the Transformer of Vaswani et al.
(2017), {layers} + {layers} layers, {pieces:,} pieces in each language, Adam, `mixed_bfloat16`,
on slices of {generation}, compiled by Google's compiler for TPUs on a machine without one
({versions}).
{pairs} pairs of {length} + {length} tokens on each chip. Nothing here was measured on a TPU.

What a chip computes (matrix products) and its part of the sum of the gradients are the
compiler's figures. Times are calculated from them, in milliseconds: computing at
{utilization:.0%} of the chip's peak, an assumption; summing at the speed of its links, while the
chip does nothing else. The efficiency is the fraction of the time in which a chip computes.

{table}

![Times of a step and efficiency by number of chips]({picture})
"""

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="markdown")


@app.command()
def run(
    sizes: Annotated[
        list[str] | None,
        typer.Argument(help="`base` or `big`.", show_default="both", metavar="[SIZE]…"),
    ] = None,
    generation: Annotated[str, typer.Option(help="`v5e` or `v6e`.")] = "v5e",
    utilization: Annotated[
        float, typer.Option(help="Fraction of the peak that the chips are assumed to reach.")
    ] = 0.45,
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("examples/scale_out"),
    quick: Annotated[
        bool, typer.Option("--quick", help="A tiny model on two slices: does everything work?")
    ] = False,
):
    """Compile the paper's Transformer for ever more chips, and calculate what they would give.

    Needs the extra `tpu`.

    Example: `KERAS_BACKEND=jax python -m examples.scale_out base --out /tmp/scale-out`
    """
    wrong = set(sizes or ()) - set(SIZES)
    if wrong:
        raise ValueError(f"a size is one of {', '.join(SIZES)}, got {', '.join(sorted(wrong))}")
    if generation not in ("v5e", "v6e"):
        raise ValueError(f"--generation must be v5e or v6e, got {generation!r}")
    from keras_attention.compiling import programs, scaling, topologies, tpu

    programs.check_backend()
    names = [f"{generation}:{sides}" for sides in SLICES]
    slices = [topologies.describe(name) for name in names[: 2 if quick else None]]
    scaling.check_utilization(utilization, slices[0])
    jobs = [(size, each) for size in sizes or SIZES for each in slices]
    rows = []
    for size, topology in progress("Compiling")(jobs):
        report = compiled(TINY if quick else SIZES[size], topology)
        if report.error:
            raise ValueError(f"{size} does not compile for {topology.name}: {report.error}")
        rows.append(row(size, topology, report, utilization))
    versions = ", ".join(f"{name} {version}" for name, version in tpu.versions().items())
    of_all = TINY if quick else SIZES["base"]  # the big one has as many layers and pieces
    page = PAGE.format(
        layers=of_all["num_layers"],
        pieces=of_all["vocabulary"],
        generation=generation,
        versions=versions,
        pairs=PAIRS,
        length=LENGTH,
        utilization=utilization,
        table=table(rows),
        picture="scale-out.png",
    )
    with written_whole(out / "scale-out.json") as path:
        path.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    with written_whole(out / "scale-out.png") as path:
        draw(rows, path)
    with written_whole(out / "scale-out.md") as path:
        path.write_text(page, encoding="utf-8")
    print(table(rows))


def compiled(size, topology):
    """Compile the training step of a Transformer for a slice; return the compiler's report."""
    from keras_attention.compiling import programs, tpu

    sizes = programs.Sizes(
        batch_size=PAIRS * topology.chips,
        length=LENGTH,
        dtype_policy="mixed_bfloat16",
        optimizer="adam",
        **size,
    )
    training, _ = programs.programs_of("transformer", sizes)
    return tpu.compile_program(training, topology)


def row(size, topology, report, utilization):
    """Calculate the times of a step from the compiler's figures, as a dictionary."""
    from keras_attention.compiling import scaling

    chips = topology.chips
    each = scaling.estimate(report, topology, utilization)
    fewer = each._replace(computing=each.computing * CONSTANT / (PAIRS * chips))
    return {
        "size": size,
        "slice": topology.name.split(":")[1],
        "chips": chips,
        "flops": report.matrix_flops / chips,
        "summed": sum(each.bytes for each in report.collectives),
        "memory": report.memory,
        "compiling": report.seconds,
        "computing": each.computing,
        "through_memory": each.memory,
        "summing": each.summing,
        "efficiency": each.computing / each.seconds,
        "efficiency_of_constant": fewer.computing / fewer.seconds,
    }


def table(rows):
    """Return a table in Markdown."""
    lines = [f"| {' | '.join(COLUMNS)} |", f"| --- | --- |{' ---: |' * (len(COLUMNS) - 2)}"]
    for each in rows:
        cells = (
            each["size"],
            each["slice"],
            each["chips"],
            f"{each['flops'] / 1e9:,.0f}",
            f"{each['summed'] / 2**20:,.0f}",
            f"{each['memory'] / 2**30:.1f}",
            f"{1000 * each['computing']:.1f}",
            f"{1000 * each['summing']:.2f}",
            f"{each['efficiency']:.0%}",
            f"{each['efficiency_of_constant']:.0%}",
        )
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def draw(rows, path):
    """Draw the times of a step, and the efficiency, by the number of chips."""
    from matplotlib.ticker import PercentFormatter

    from examples.benchmarks.drawing import COLORS
    from keras_attention.plotting.figures import new_figure

    figure = new_figure((9, 3.2), path)
    times, shares = figure.subplots(1, 2)
    for color, size in zip(COLORS, dict.fromkeys(each["size"] for each in rows), strict=False):
        own = [each for each in rows if each["size"] == size]
        chips = [each["chips"] for each in own]
        of = {name: [each[name] for each in own] for name in own[0]}
        times.plot(chips, [1000 * t for t in of["computing"]], "o-", color=color, label=size)
        times.plot(chips, [1000 * t for t in of["summing"]], "s:", color=color)
        shares.plot(chips, of["efficiency"], "o-", color=color, label=size)
        shares.plot(chips, of["efficiency_of_constant"], "s:", color=color)
    times.set_ylabel("milliseconds of a step")
    times.set_title("computing (lines), summing (dots)", fontsize=10, loc="left")
    shares.set_ylim(0, 1)
    shares.yaxis.set_major_formatter(PercentFormatter(1))
    shares.set_title("efficiency: 128 pairs a chip, 2,048 in all (dots)", fontsize=10, loc="left")
    for panel in (times, shares):
        panel.set_xscale("log", base=2)
        panel.set_xticks(chips, list(map(str, chips)))
        panel.minorticks_off()
        panel.set_xlabel("chips")
        panel.grid(color="0.92")
        panel.spines[["top", "right"]].set_visible(False)
        panel.legend(frameon=False)
    times.set_yscale("log")
    figure.savefig(path, format="png", dpi=120)


if __name__ == "__main__":
    command.run(app, "examples.scale_out")

"""`keras-attention compile-check`: compile every model with Google's compiler for TPUs."""

import json
import os
import sys
from dataclasses import asdict
from typing import Annotated

import typer

from keras_attention.cli.console import progress

_MIB = 2**20


def _of_transformer(description):
    return typer.Option(
        help=description,
        show_default="those of `train`",
        rich_help_panel="The Transformer that translates",
    )


def compile_check(
    topology: Annotated[
        str, typer.Option(help="Generation of TPUs and chips along each side; see --list.")
    ] = "v5e:2x2",
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="`rnn`, `bilstm`, `transformer`, `captioner`, …; repeat the option for several.",
            show_default="all",
        ),
    ] = None,
    batch_size: Annotated[int, typer.Option(help="Examples per batch, over all chips.")] = 64,
    length: Annotated[
        int,
        typer.Option(
            help="Tokens of source and target, frames of a clip, or sentences of a story."
        ),
    ] = 16,
    units: Annotated[
        int | None, typer.Option(help="Width of the models.", show_default="each model's own")
    ] = None,
    vocabulary: Annotated[
        int | None, typer.Option(help="Number of ids.", show_default="each model's own")
    ] = None,
    num_layers: Annotated[
        int | None, _of_transformer("Layers of the encoder, and of the decoder.")
    ] = None,
    num_heads: Annotated[int | None, _of_transformer("Heads of each attention.")] = None,
    feed_forward_dim: Annotated[
        int | None, _of_transformer("Hidden width of the feed-forward networks.")
    ] = None,
    optimizer: Annotated[
        str | None,
        typer.Option(help="Of the translators: `adam` or `muon`.", show_default="each model's own"),
    ] = None,
    dtype_policy: Annotated[str, typer.Option(help="`float32` or `mixed_bfloat16`.")] = "float32",
    utilization: Annotated[
        float | None,
        typer.Option(
            help="Fraction of the chips' bfloat16 peak that a model reaches, measured elsewhere, "
            "such as 0.04: adds an estimate of the duration of a training step.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print everything as JSON, sizes in bytes.")
    ] = False,
    list_topologies: Annotated[
        bool, typer.Option("--list", help="List slices of TPUs, and compile nothing.")
    ] = False,
) -> None:
    """Compile every model for TPUs, on a machine without one.

    Compiles the training step of each model, and the program that uses it: for a translator, the
    whole loop that decodes a sentence. The batch is divided among the chips. Prints the duration of
    the compilation, the memory on a chip, and the communication between the chips. Exits with
    status 1 if a program does not compile. Needs the extra `tpu`.
    """
    if list_topologies:
        _print_topologies()
        return
    _use_jax_on_the_cpu()
    from keras_attention.compiling import programs, scaling, topologies, tpu

    sizes = programs.Sizes(
        batch_size=batch_size,
        length=length,
        units=units,
        vocabulary=vocabulary,
        dtype_policy=dtype_policy,
        num_layers=num_layers,
        num_heads=num_heads,
        feed_forward_dim=feed_forward_dim,
        optimizer=optimizer,
    )
    described = topologies.describe(topology)
    if utilization is not None:
        scaling.check_utilization(utilization, described)
    reports = tpu.check(model or ["all"], described, sizes, progress)
    estimates = {}
    if utilization is not None:
        trained = [each for each in reports if each.step == "training" and not each.error]
        estimates = {each.model: scaling.estimate(each, described, utilization) for each in trained}
    if as_json:
        print(json.dumps(_as_json(described, sizes, reports, estimates), indent=2))
    else:
        _print_table(described, sizes, reports)
        _print_estimates(sizes, utilization, estimates)
    failed = [report for report in reports if report.error]
    for report in failed:
        print(
            f"keras-attention: {report.model}, {report.step}, does not compile: {report.error}",
            file=sys.stderr,
        )
    if failed:
        raise typer.Exit(1)


def _use_jax_on_the_cpu():
    """Select JAX for Keras, and the CPU for JAX, unless Keras is imported already."""
    from keras_attention.compiling import topologies

    topologies.check_installed()
    if "keras" not in sys.modules:
        os.environ.update({"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"})


def _print_topologies():
    from keras_attention.compiling.topologies import GENERATIONS

    print("generation  memory/chip    bfloat16 peak  slices, chips along each side")
    for name, each in GENERATIONS.items():
        slices = " ".join(each.slices)
        print(f"{name:<10}  {each.memory:>9} GiB  {each.peak:>7} TFLOP/s  {slices}")
    print("For example --topology v5e:4x4. Other shapes may work too: libtpu decides.")


def _as_json(topology, sizes, reports, estimates):
    from keras_attention.compiling import tpu

    generation = topology.generation and topology.generation._asdict()
    return {
        "topology": {
            "name": topology.name,
            "kind": topology.kind,
            "chips": topology.chips,
            "devices": len(topology.devices),
            "hosts": topology.hosts,
            "generation": generation,
        },
        "sizes": asdict(sizes),
        "versions": tpu.versions(),
        "programs": [
            {
                **asdict(report),
                "memory": report.memory,
                "collectives": [each._asdict() for each in report.collectives],
            }
            for report in reports
        ],
        "training_seconds": {
            name: {**each._asdict(), "seconds": each.seconds} for name, each in estimates.items()
        },
    }


def _print_table(topology, sizes, reports):
    from keras_attention.compiling import tpu

    count = len(topology.devices)
    a_device = "chip" if count == topology.chips else "core"
    versions = ", ".join(f"{name} {version}" for name, version in tpu.versions().items())
    print(
        f"{topology.name}: {_counted(topology.chips, 'chip')} ({topology.kind}) on "
        f"{_counted(topology.hosts, 'host')}; {versions}\n"
        f"batch of {sizes.batch_size}, {sizes.batch_size // count} on each {a_device}; "
        f"length {sizes.length}; {sizes.dtype_policy}; sizes in MiB on each {a_device}\n"
    )
    width = max(len("model"), *(len(report.model) for report in reports))
    print(
        f"{'model':<{width}}  {'step':<8}  seconds  arguments  temporaries   output    code"
        f"   GFLOP  collectives per run"
    )
    for report in reports:
        print(f"{report.model:<{width}}  {report.step:<8}  {_columns(report, count)}")


def _counted(number, what):
    return f"{number} {what}{'s' * (number > 1)}"


def _print_estimates(sizes, utilization, estimates):
    if estimates:
        print(f"\nEstimated training step at {utilization:.3g} of the peak, in milliseconds:\n")
        print("model                     computing   memory  summing      all    examples/second")
    for name, each in estimates.items():
        times = (1000 * seconds for seconds in (*each, each.seconds))
        computing, memory, summing, whole = (f"{time:.3f}" for time in times)
        print(
            f"{name:<24}  {computing:>9}  {memory:>7}  {summing:>7}  {whole:>7}  "
            f"{sizes.batch_size / each.seconds:>17,.0f}"
        )


def _columns(report, count):
    if report.error:
        return "does not compile"
    sizes = (report.arguments, report.temporaries, report.output, report.code)
    columns = (f"{size / _MIB:>{wide}.1f}" for size, wide in zip(sizes, (9, 11, 7, 6), strict=True))
    said = ", ".join(_said(each) for each in report.collectives) or "none"
    if report.host_calls:
        said += f"; calls the host: {', '.join(report.host_calls)}"
    gflop = report.matrix_flops / count / 1e9
    return f"{report.seconds:>7.1f}  {'  '.join(columns)}  {gflop:>6.3g}  {said}"


def _said(collective):
    kind, count, runs, size = collective
    runs = f" ({runs:,} with loops)" if runs != count else ""
    size, unit = next(
        (size / scale, unit)
        for scale, unit in ((_MIB, "MiB"), (2**10, "KiB"), (1, "bytes"))
        if size >= scale or scale == 1
    )
    return f"{count} {kind}{runs}, {size:.3g} {unit}"

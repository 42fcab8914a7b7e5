"""`keras-attention train`: from sentence pairs to a folder with a translator."""

import shlex
import sys
from typing import Annotated, Any

import typer

from keras_attention.cli.console import verbosity
from keras_attention.cli.options import Out, with_settings
from keras_attention.installing import pip_install
from keras_attention.runs.settings import TRAINING

USUAL_WORDS = 5


def _of_several(description: str, default: object) -> Any:
    """Declare an option for training on several devices."""
    return typer.Option(
        help=description, show_default=str(default), rich_help_panel="Several devices"
    )


@with_settings()
def train(
    *,
    out: Out,
    corpus: Annotated[
        str | None,
        typer.Option(
            help="`spa-eng` (downloaded once), `bundled`, or a file with English⇥Spanish lines.",
            show_default="spa-eng",
        ),
    ] = None,
    validation: Annotated[
        str | None,
        typer.Option(help="A validation file; by default 2 % of the corpus.", show_default=False),
    ] = None,
    settings: dict[str, Any],
    watch: Annotated[
        list[str] | None,
        typer.Option(
            help="A sentence to translate and draw after every epoch, in OUT/watched and "
            "for TensorBoard; may be given several times.",
            show_default=False,
            rich_help_panel=TRAINING,
        ),
    ] = None,
    bleu_sample: Annotated[
        int,
        typer.Option(
            min=0,
            help="Number of validation pairs to score by BLEU after every epoch, for history.json "
            "and TensorBoard; 0: none.",
            rich_help_panel=TRAINING,
        ),
    ] = 0,
    jit_compile: Annotated[
        bool | None,
        typer.Option(
            help="Whether XLA compiles the steps of training. Under TensorFlow two cores of a CPU "
            "train faster without, since they then compute a part of each batch each.",
            show_default="on JAX; on TensorFlow with a GPU or TPU, or for bilstm",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue from the last epoch of the run in --out.")
    ] = False,
    devices: Annotated[
        str | None,
        _of_several("Devices of each process that share a batch: a number, or `auto` for all.", 1),
    ] = None,
    shard_vocabulary: Annotated[
        int,
        _of_several("Devices over which the target vocabulary is divided (JAX).", 1),
    ] = 1,
    coordinator: Annotated[
        str | None,
        _of_several(
            "`host:port` at which process 0 listens (JAX), or `auto` on a TPU slice.", "no others"
        ),
    ] = None,
    process_id: Annotated[
        int | None, _of_several("Number of this process, from 0.", "no others")
    ] = None,
    processes: Annotated[int | None, _of_several("Number of processes.", "no others")] = None,
    timeout: Annotated[int, _of_several("Seconds to wait for the others.", 300)] = 300,
) -> None:
    """Train a Spanish→English translator.

    The defaults are those of the TensorFlow tutorial for the recurrent models, and the recipe of
    the README for `--model transformer`. Writes a folder with the model, both vocabularies, the
    configuration, the history, and the curves of loss and accuracy. A run that is killed loses at
    most an epoch: `--resume --out FOLDER` continues it.

    `--devices` divides each batch among several devices; `--coordinator`, `--process-id` and
    `--processes` do so among several processes, on one host or many. Only the first process prints
    and writes to --out. The environment variable KERAS_BACKEND chooses the backend: `jax`, or in
    one process also `tensorflow`.
    """
    arguments = locals()
    from keras_attention.distribution import Processes, supervised

    joint = Processes(coordinator, process_id, processes, timeout)
    try:
        if joint.are_several:
            supervised(lambda: _train(arguments, joint), joint)
        else:
            _train(arguments, joint)
    except (KeyboardInterrupt, SystemExit):
        from keras_attention.translation.configuration import CONFIG_FILE

        if (out / CONFIG_FILE).is_file():  # the run has begun
            print(
                "Finished epochs are kept. Go on with: keras-attention train --resume --out "
                f"{shlex.quote(str(out))}",
                file=sys.stderr,
            )
        raise


def _train(arguments, processes):
    """Train in this process, alone or with the others."""
    try:
        import keras  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name not in ("jax", "torch"):
            raise
        raise ImportError(
            f"KERAS_BACKEND={error.name} needs a package: {pip_install(error.name)}"
        ) from error
    with processes.joined():
        from keras_attention.distribution import spread

        distribution = spread(arguments["devices"], processes, arguments["shard_vocabulary"])
        _run(arguments, distribution)


def _run(arguments, distribution):
    from keras_attention import corpora, runs
    from keras_attention.cli.dividing import one_thread_an_operation
    from keras_attention.cli.heap import keep_freed_memory
    from keras_attention.runs.run import asks_for_xla

    keep_freed_memory()
    out, resume = arguments["out"], arguments["resume"]
    given = arguments["settings"]
    given |= {n: given[n].replace("-", "_") for n in ("attention", "score") if n in given}
    before = distribution.processes.of_first(
        lambda: runs.read_settings(out) if resume else runs.check_no_run(out)
    )
    before = before or {}
    sources = before.pop("sources", {})
    settings = runs.Settings(**{**before, **given})
    if distribution.engine is None and not asks_for_xla(arguments["jit_compile"], settings):
        one_thread_an_operation()  # before the first weight
    runs.check_model(settings)
    distribution.check_batch_size(settings)
    corpus = arguments["corpus"] or sources.get("corpus") or "spa-eng"
    validation = arguments["validation"] or sources.get("validation")
    pairs = corpora.load(corpus)
    if validation:
        train_pairs, validation_pairs = pairs, corpora.load(validation)
    else:
        train_pairs, validation_pairs, _ = corpora.split(pairs)
    if distribution.is_first:
        print(f"{len(train_pairs):,} training pairs, {len(validation_pairs):,} validation pairs")
    runs.train(
        train_pairs,
        validation_pairs,
        out,
        settings,
        sources={"corpus": corpus, "validation": validation},
        resume=resume,
        watched=arguments["watch"] or (),
        bleu_sample=arguments["bleu_sample"],
        verbose=verbosity(),
        distribution=distribution,
        jit_compile=arguments["jit_compile"],
    )
    if distribution.is_first:
        sentences = [pair.context for pair in validation_pairs]
        usual = min(sentences, key=lambda sentence: abs(len(sentence.split()) - USUAL_WORDS))
        words = shlex.join([str(out), usual])
        print(f"Done: {out}\nNow try: keras-attention translate {words}")

"""`keras-attention train`: from sentence pairs to a folder with a translator."""

from dataclasses import fields
from functools import partial
from typing import Annotated

import typer

from keras_attention.cli.console import verbosity
from keras_attention.cli.options import Out, setting
from keras_attention.installing import pip_install

_TRANSFORMER, _TRAINING, _SEVERAL = "The Transformer", "Training", "Several devices"
_of_transformer = partial(setting, panel=_TRANSFORMER)
_of_training = partial(setting, panel=_TRAINING)
_of_several = partial(setting, panel=_SEVERAL)


def train(
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
    model: Annotated[
        str | None,
        setting(
            "`rnn`, the tutorial's; `bilstm`, the lecture's, which attends inside its loop; "
            "`seq2seq`, without attention; or `transformer`, of attention alone.",
            "rnn",
        ),
    ] = None,
    attention: Annotated[
        str | None,
        setting(
            "`multi-head` (rnn), `global`, `local-m` (bilstm), `local-p`, `hard` (with "
            "straight-through gradients); with a state (bilstm): `coverage`, `neural-coverage`, "
            "`location-aware`, `recurrent-location`; a summary that ignores what is asked: `last`, "
            "`max`, `mean`.",
            "multi-head, bilstm: global",
        ),
    ] = None,
    score: Annotated[
        str | None,
        setting(
            "Of global, local and hard attention: `dot`, `scaled-dot`, `cosine`, `general`, "
            "`concat`, `additive`, `two-layer`, `location`.",
            "additive, bilstm: two-layer",
        ),
    ] = None,
    half_width: Annotated[
        int | None, setting("Of the window of local attention, in words.", 3)
    ] = None,
    pooling: Annotated[str | None, setting("Of seq2seq: `last`, `max` or `mean`.", "last")] = None,
    tokens: Annotated[
        str | None,
        setting(
            "`word`: lower-cased words, as in the tutorial; `wordpiece`: pieces of words, which "
            "keep case, accents, digits and punctuation.",
            "word, transformer: wordpiece",
        ),
    ] = None,
    units: Annotated[int | None, setting("Width of the model.", "256, transformer: 128")] = None,
    vocabulary: Annotated[
        int | None, setting("Most tokens a language.", "5000, transformer: 8000")
    ] = None,
    num_layers: Annotated[int | None, _of_transformer("Of encoder and of decoder.", 4)] = None,
    num_heads: Annotated[int | None, _of_transformer("Heads of each attention.", 8)] = None,
    feed_forward_dim: Annotated[
        int | None, _of_transformer("Hidden width of the feed-forward networks.", 512)
    ] = None,
    key_dim: Annotated[
        int | None, _of_transformer("Depth of a head.", "units / heads; the tutorial has units")
    ] = None,
    dropout: Annotated[float | None, _of_transformer("Share dropped in training.", 0.1)] = None,
    positions: Annotated[
        str | None, _of_transformer("`concatenated`, `interleaved` or `learned`.", "concatenated")
    ] = None,
    norm_first: Annotated[
        bool | None,
        typer.Option(
            "--norm-first/--norm-last",
            help="Pre-norm or post-norm.",
            show_default="norm-last",
            rich_help_panel=_TRANSFORMER,
        ),
    ] = None,
    tied: Annotated[
        bool | None,
        typer.Option(
            "--tied/--untied",
            help="Whether the target embedding makes the logits.",
            show_default="tied",
            rich_help_panel=_TRANSFORMER,
        ),
    ] = None,
    batch_size: Annotated[
        int | None, _of_training("Sentences a batch.", "64, transformer: 128")
    ] = None,
    batch_tokens: Annotated[
        int | None,
        _of_training("Tokens a batch in place of sentences: more of short ones.", "sentences"),
    ] = None,
    shapes: Annotated[
        int | None,
        _of_training("Most shapes to which sentences are padded, a program each.", "8 or fewer"),
    ] = None,
    epochs: Annotated[int | None, _of_training("Most epochs.", "100, transformer: 30")] = None,
    steps: Annotated[int | None, _of_training("Batches an epoch.", "100, transformer: 400")] = None,
    patience: Annotated[
        int | None,
        _of_training("Epochs without improvement until training stops.", "3, transformer: 30"),
    ] = None,
    learning_rate: Annotated[
        float | None,
        _of_training("Of Adam; with a warm-up, its peak.", "0.001, transformer: 0.002"),
    ] = None,
    warm_up: Annotated[
        int | None,
        _of_training("Batches until the peak; 0: the rate stays as it is.", "0, transformer: 1000"),
    ] = None,
    decay: Annotated[
        bool | None,
        typer.Option(
            "--decay/--no-decay",
            help="After the warm-up fall to 0 at the last epoch along a cosine, or as the root of "
            "the steps.",
            show_default="no-decay, transformer: decay",
            rich_help_panel=_TRAINING,
        ),
    ] = None,
    label_smoothing: Annotated[
        float | None,
        _of_training("Share of the right answer spread over all.", "0, transformer: 0.1"),
    ] = None,
    dtype_policy: Annotated[
        str | None,
        _of_training(
            "`float32`, or `mixed_bfloat16` for GPUs and TPUs that are faster at it.", "float32"
        ),
    ] = None,
    seed: Annotated[int | None, _of_training("Of weights and order.", 0)] = None,
    watch: Annotated[
        list[str] | None,
        typer.Option(
            help="A sentence to translate and draw after every epoch, in OUT/watched; may be given "
            "several times. For TensorBoard too.",
            show_default=False,
            rich_help_panel=_TRAINING,
        ),
    ] = None,
    bleu_sample: Annotated[
        int,
        typer.Option(
            min=0,
            help="Validation pairs whose BLEU is taken after every epoch, into history.json and "
            "for TensorBoard; 0: none.",
            rich_help_panel=_TRAINING,
        ),
    ] = 0,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the last epoch of the run in --out.")
    ] = False,
    devices: Annotated[
        str | None,
        _of_several("Of each process, to share each batch: a number, or `auto` for all.", 1),
    ] = None,
    shard_vocabulary: Annotated[
        int,
        _of_several("Devices over which the target vocabulary is cut (JAX).", 1),
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
    processes: Annotated[int | None, _of_several("How many train together.", "no others")] = None,
    timeout: Annotated[int, _of_several("Seconds to wait for the others.", 300)] = 300,
):
    """Train a Spanish→English translator.

    The defaults are those of the TensorFlow tutorial for the recurrent models, and the recipe of
    the README for `--model transformer`. Leaves a folder with the model, both vocabularies, the
    configuration, the history and the loss and accuracy curves. Killed, it loses at most an epoch:
    `--resume --out FOLDER` goes on.

    Several devices share each batch with `--devices`; several processes, on one host or many, with
    `--coordinator`, `--process-id` and `--processes`. Only the first of them writes to --out and
    prints. The environment variable KERAS_BACKEND says with what: `jax`, or in one process also
    `tensorflow`.
    """
    arguments = locals()
    from keras_attention.distribution import Processes, supervised

    joint = Processes(coordinator, process_id, processes, timeout)
    if joint.are_several:
        supervised(lambda: _train(arguments, joint), joint)
    else:
        _train(arguments, joint)


def _train(arguments, processes):
    """Do what the command line asks for, in one of the processes that do it together."""
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
    from keras_attention.cli.heap import keep_freed_memory

    keep_freed_memory()
    out, resume = arguments["out"], arguments["resume"]
    given = {field.name: arguments[field.name] for field in fields(runs.Settings)}
    for name in ("attention", "score"):
        given[name] = given[name] and given[name].replace("-", "_")
    before = distribution.processes.of_first(
        lambda: runs.read_settings(out) if resume else runs.check_no_run(out)
    )
    before = before or {}
    sources = before.pop("sources", {})
    settings = runs.Settings(**{**before, **{k: v for k, v in given.items() if v is not None}})
    runs.check_model(settings)
    distribution.check_batch_size(settings)
    corpus = arguments["corpus"] or sources.get("corpus", "spa-eng")
    validation = arguments["validation"] or sources.get("validation")
    pairs = corpora.load(corpus)
    if validation:
        train_pairs, validation_pairs = pairs, corpora.load(validation)
    else:
        train_pairs, validation_pairs, _ = corpora.split(pairs)
    if distribution.is_first:
        print(f"{len(train_pairs):,} pairs to learn from, {len(validation_pairs):,} to validate")
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
    )
    if distribution.is_first:
        print(f'Done: {out}\nNow try: keras-attention translate {out} "¿Todavía están en casa?"')

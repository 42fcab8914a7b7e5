"""What all subjects share: sentences as ids, and trained models to decode with.

Made in a process of its own, and left in a folder, so that the process that times the others has
nothing to do but wait.
"""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

from examples.benchmarks import machine, workers
from keras_attention.runs.settings import TRANSFORMER

# The tutorials' sizes, those of `--model transformer`, and those of a quick run.
SIZES = {
    "rnn": {"units": 256, "vocabulary": 5000},
    "transformer": {
        "units": 128,
        "vocabulary": 8000,
        "num_layers": 4,
        "num_heads": 8,
        "feed_forward_dim": 512,
    },
}
SIZES["recipe"] = {name: TRANSFORMER[name] for name in SIZES["transformer"]}
QUICK_SIZES = {
    "rnn": {"units": 32, "vocabulary": 500},
    "transformer": {
        "units": 32,
        "vocabulary": 1000,
        "num_layers": 1,
        "num_heads": 4,
        "feed_forward_dim": 64,
    },
}
QUICK_SIZES["recipe"] = QUICK_SIZES["transformer"]
TOKENS = {"rnn": "word", "transformer": "wordpiece", "recipe": "wordpiece"}
POST_NORM = {"tied": True, "norm_first": False, "dropout": 0.1, "optimizer": "adam"}
# How the models are trained that are not given: until their sentences end where they should.
TRAINING = {
    "rnn": {"batch_size": 64, "steps": 300, "learning_rate": 2e-3},
    "transformer": {"batch_size": 64, "steps": 300, "learning_rate": 1e-3, **POST_NORM},
}
QUICK_TRAINING = {
    "rnn": {"batch_size": 64, "steps": 150, "learning_rate": 1e-2},
    "transformer": {"batch_size": 64, "steps": 250, "learning_rate": 5e-3, **POST_NORM},
}


class Options(NamedTuple):
    """What the command was asked for.

    Attributes:
        corpus: as for `keras_attention.corpora.load`.
        rnn: folder of a trained RNN, or None.
        transformer: folder of a trained Transformer, or None.
        rounds: how often everything is timed.
        quick: whether to do the same on less.
        folder: for what is made on the way.
    """

    corpus: str = "bundled"
    rnn: Path | None = None
    transformer: Path | None = None
    rounds: int = 5
    quick: bool = False
    folder: Path = Path(".")

    @property
    def sizes(self):
        """The sizes of the models that are trained, by name."""
        return QUICK_SIZES if self.quick else SIZES

    def run(self, model):
        """Return the folder of a trained model."""
        return Path(getattr(self, model) or self.folder / model)

    def pool(self, model):
        """Return the sentence pairs as ids of the model's kind: two arrays, and their sizes."""
        with np.load(self.folder / f"{model}.npz") as arrays:
            return arrays["context"], arrays["target"], json.loads(str(arrays["sizes"]))

    @property
    def sentences(self):
        """The sentences to translate, as written."""
        return json.loads((self.folder / "sentences.json").read_text(encoding="utf-8"))


def prepare(options, pools=(), runs=()):
    """Make the sentences, the ids for some models, and those models that were not given.

    Args:
        options: `Options`.
        pools: names of models for which ids are needed.
        runs: names of models which are needed trained.

    Returns:
        The name of the device that Keras computes on.

    Raises:
        ValueError: the corpus or a given model cannot be used.
    """
    with workers.started({"preparation": ("prepared", "Preparation", {})}) as started:
        problem = started["preparation"].ask("make", options, pools, runs)
        if problem:
            raise ValueError(problem)
        return started["preparation"].ask("device")


class Preparation:
    """What is made in a process of its own."""

    def make(self, options, pools, runs):
        """Do what `prepare` says; return what was wrong with the corpus or a model, or None."""
        try:
            _prepare(options, pools, runs)
        except (ValueError, OSError) as error:
            return str(error)
        return None

    def device(self):
        """Return the name of the device that Keras computes on."""
        return machine.device()


def _prepare(options, pools, runs):
    from keras_attention import Grammar, corpora

    for model in runs:
        if getattr(options, model) is not None:
            _check(options.run(model), model)
    if options.quick and options.corpus == "bundled":
        pairs = Grammar.load().generate(8000)
    else:
        pairs = corpora.load(options.corpus)
    rng = np.random.default_rng(0)
    pairs = [pairs[row] for row in rng.permutation(len(pairs))]
    if options.quick and (pools or runs):
        pairs = _of_one_bucket(pairs[:4000])
    most = 10_000 if machine.has_accelerator() else 2000
    count = min(len(pairs) // 4, 64 if options.quick else most)
    sentences = [pair.context for pair in pairs[:count]]
    (options.folder / "sentences.json").write_text(json.dumps(sentences), encoding="utf-8")
    for model in pools:
        _save_pool(options, model, pairs)
    for model in runs:
        if getattr(options, model) is None:
            _train(options, model, pairs[2 * count :], pairs[count : 2 * count])


def _check(run, model):
    """Check that a folder holds a trained model of a kind, which can be loaded."""
    from keras_attention.translation.translator import Translator

    found = Translator.load(run).config.get("settings", {}).get("model", model)
    if found != model:
        raise ValueError(f"--{model}: {run} holds a model of another kind, {found}")


def _of_one_bucket(pairs):
    """Return the pairs that fit into the smallest bucket, so that there is little to compile."""
    from keras_attention import corpora, text

    lengths = []
    for side in ("context", "target"):
        sentences = [getattr(pair, side) for pair in pairs]
        vocabulary = text.WordPieces.learn(sentences, QUICK_SIZES["transformer"]["vocabulary"])
        lengths.append((vocabulary.ids(sentences) != 0).sum(1))
    fits = np.maximum(*lengths) <= corpora.BUCKETS[0]
    return [pair for pair, fit in zip(pairs, fits, strict=True) if fit]


def _save_pool(options, model, pairs):
    """Look up the ids of the pairs with a vocabulary learned from them; leave out the long ones."""
    from keras_attention import corpora, text

    sizes = dict(options.sizes[model])
    kind = text.KINDS[TOKENS[model]]
    arrays, vocabularies = {}, {}
    for side in ("context", "target"):
        sentences = [getattr(pair, side) for pair in pairs]
        vocabularies[side] = kind.learn(sentences, sizes["vocabulary"])
        arrays[side] = vocabularies[side].ids(sentences)
    longest = np.maximum(*((ids != 0).sum(1) for ids in arrays.values()))
    fits = longest <= corpora.BUCKETS[-1]
    for side, ids in arrays.items():
        arrays[side] = ids[fits][:, : longest[fits].max()]
    np.savez(options.folder / f"{model}.npz", sizes=json.dumps(sizes), **arrays)


def _train(options, model, train_pairs, validation_pairs):
    from keras_attention import runs

    recipe = dict((QUICK_TRAINING if options.quick else TRAINING)[model])
    settings = runs.Settings(
        model=model,
        **options.sizes[model],
        **recipe,
        **({"warm_up": 0, "decay": False} if model == "transformer" else {}),
        epochs=1,
    )
    runs.train(train_pairs, validation_pairs[:128], options.run(model), settings, verbose=0)

"""The home of attention in Keras 3: from a sentence to a picture of where the model looked.

The rooms, in reading order; a module imports only modules that stand above it:

- `types`: what signatures call an array and a shape.
- `ops`: the mathematics, pure functions over `keras.ops`: masks, scores, and what to do with them:
  soft, hard and local lookups, attention with a state, CTC; the sinusoids of positions.
- `layers`: thin Keras layers over `ops`: the context-sensitive memory with its menu of scores, and
  every other attention; decoder cells that attend; the blocks of a Transformer.
- `models`: one paper or tutorial a file: `build_rnn_attention`, `build_bilstm_attention`,
  `build_seq2seq`, `build_transformer`; and the views `encode`, `step` and `attention` over the
  layers of any of them.
- `installing`: what to type to install this package, and its extras.
- `storage`: output that appears whole or not at all; files from the web, fetched once and checked.
- `text`: strings to ids and back: `normalize`, `Vocabulary`, `WordPieces`.
- `corpora`: where sentence pairs come from, how they are split and batched; the bundled grammar,
  which writes Spanish–English pairs with their gold word alignment.
- `training`: masked loss and metrics, warm-up, checkpoints that survive a kill.
- `decoding`: greedy decoding, sampling and beam search over a `step`; knows no model.
- `metrics`: BLEU, chrF, alignment error rate.
- `plotting`: arrays and tokens to matplotlib, or to an HTML page that one can explore; knows no
  model.
- `translation`: sentence to `Translation(text, tokens, attention)` with its pictures; saving and
  loading a `Translator`; its scores; a local page to type sentences on.
- `distribution`: a run on several devices, in several processes, on several machines.
- `export`: a translator for programs without this package: SavedModel, ONNX, CTranslate2.
- `runs`: one training run, from a corpus to a folder with everything in it: its settings, heat maps
  and BLEU after every epoch, and runs with and without attention side by side.
- `lab`: experiments that show what the notes say, with figures and pictures; their examples, from
  bits to copy to clips of moving shapes; a `Writer` of characters.
- `compiling`: what XLA makes of every model, and the compiler for TPUs without having one.
- `cli`: the command line.

Importing the package imports Keras and registers the package's layers, losses and metrics, so that
`keras.saving.load_model` works without `custom_objects`. TensorFlow Text, matplotlib and sacrebleu
are loaded when they are first used.
"""

import importlib
import sys

from keras_attention.installing import warn_of_namesake

__version__ = "0.1.0"

_TRUNK = ("ops", "layers", "models", "training")
_ROOMS = (
    "cli",
    "compiling",
    "corpora",
    "decoding",
    "distribution",
    "export",
    "installing",
    "lab",
    "metrics",
    "plotting",
    "runs",
    "storage",
    "text",
    "translation",
    "types",
)
_NAMES = {
    "Grammar": "corpora",
    "Translation": "translation.result",
    "Translator": "translation.translator",
    "Vocabulary": "text",
    "WordPieces": "text",
    "plot_attention": "plotting",
    "plot_history": "plotting",
}

__all__ = [*_TRUNK, *_ROOMS, *_NAMES]


def __getattr__(name):
    """Load a room, or a public name of one, when it is first asked for."""
    if name in _NAMES:
        return getattr(importlib.import_module(f"{__name__}.{_NAMES[name]}"), name)
    if name in _TRUNK or name in _ROOMS:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted(__all__)


warn_of_namesake()

# The command line imports Keras where it needs it.
if "keras_attention_command" not in sys.modules:
    for _room in _TRUNK:
        importlib.import_module(f"{__name__}.{_room}")

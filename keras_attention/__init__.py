"""The home of attention in Keras 3: from a sentence to a picture of the model's attention.

The subpackages and modules, in reading order; each imports only those above it:

- `types`: the types that signatures name, arrays and shapes.
- `menu`: the options that are chosen by name, such as the scores, listed without Keras.
- `cores`: how many cores this process may use.
- `ops`: the mathematics, pure functions over `keras.ops`: masks, scores, soft, hard and local
  lookups, attention with a state, CTC, and the sinusoids of positions.
- `kernels`: what is faster on some devices: a lookup and a step of Adam as one kernel each, and
  training steps that divide a batch among cores.
- `layers`: thin Keras layers over `ops`: the context-sensitive memory with a choice of scores, and
  every other attention; decoder cells that attend; the blocks of a Transformer.
- `models`: one paper or tutorial per file: `build_rnn_attention`, `build_bilstm_attention`,
  `build_seq2seq`, `build_transformer`; and the views `encode`, `step` and `attention` over the
  layers of each.
- `installing`: the commands that install this package and its extras.
- `storage`: output that appears whole or not at all; the files that come with the package; files
  from the web, downloaded once and checked.
- `text`: strings to ids and back: `normalize`, `Vocabulary`, `WordPieces`.
- `corpora`: sources of sentence pairs, splits and batches; the bundled grammar, which writes
  Spanish–English pairs with their gold word alignment.
- `training`: masked loss and metrics, warm-up, checkpoints that survive a kill.
- `decoding`: greedy decoding, sampling and beam search over a `step`, independent of the model.
- `metrics`: BLEU, chrF, alignment error rate.
- `plotting`: arrays and tokens to matplotlib or to an interactive HTML page, independent of the
  model.
- `graphs`: a Transformer as ONNX graphs, which ONNX Runtime computes without compiling.
- `translation`: sentence to `Translation(text, tokens, attention)` with its pictures; saving and
  loading a `Translator`; its scores; a local page that translates what you type.
- `attributions`: how far a map can be believed: rollout, value norms, relevance and other evidence
  beside the weights, drawn by the same pictures.
- `distribution`: runs on several devices, in several processes, on several machines.
- `export`: a translator for programs without this package: SavedModel, ONNX, CTranslate2.
- `runs`: one training run, from a corpus to a folder with all results: its settings, heat maps and
  BLEU after every epoch, and comparisons of runs with and without attention.
- `lab`: experiments on the claims of the lecture notes, with figures and pictures; their tasks,
  from copying bits to describing clips of moving shapes; a `Writer` of characters.
- `compiling`: XLA's programs of every model, compiled for TPUs on any machine.
- `cli`: the command line.

Importing the package imports Keras and registers the package's layers, losses and metrics, so that
`keras.saving.load_model` works without `custom_objects`. TensorFlow Text, matplotlib and sacrebleu
are loaded on first use.
"""

import importlib
import sys

import lazy_loader

from keras_attention.installing import warn_of_namesake

__version__ = "0.1.0"

_TRUNK = ("ops", "layers", "models", "training")

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=[
        *_TRUNK,
        "attributions",
        "cli",
        "compiling",
        "cores",
        "corpora",
        "decoding",
        "distribution",
        "export",
        "graphs",
        "installing",
        "kernels",
        "lab",
        "menu",
        "metrics",
        "plotting",
        "runs",
        "storage",
        "text",
        "translation",
        "types",
    ],
    submod_attrs={
        "corpora": ["Grammar"],
        "plotting": ["plot_attention", "plot_history"],
        "text": ["Vocabulary", "WordPieces"],
        "translation.result": ["Translation"],
        "translation.translator": ["Translator"],
    },
)

warn_of_namesake()

# The command line imports Keras where it needs it.
if "keras_attention_command" not in sys.modules:
    for _room in _TRUNK:
        importlib.import_module(f"{__name__}.{_room}")

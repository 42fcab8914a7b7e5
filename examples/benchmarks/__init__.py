"""Benchmarks: this package beside other ways to do the same work, in one run.

In reading order:

- `workers`: every implementation in a process of its own; who takes turns, and who waits.
- `machine`: what it is, what memory a process has, how fast it multiplies matrices.
- `flops`, `footprint`: how many operations a model takes, and what it must keep, by formula.
- `prepared`: the sentences and the trained models that all subjects share.
- `batches`, `keras_models`, `torch_models`: the contestants in training.
- `decoders`, `ctranslate2_model`: the contestants in decoding.
- `endless`, `first_steps`, `steady`: what else happens in a process of its own.
- `subject`, `drawing`: what a subject is, its figures, its tables, its pictures.
- `training`, which `rnn_training`, `transformer_training`, `recipe_training` and `choices` share;
  `growing`, which `growth` and `memory_growth` share; `decoding`, `memory`, `start_up`: the
  subjects; `gallery`: all of them.
- `report`: JSON, and the page `results.md`.
- `__main__`: the command, `python -m examples.benchmarks`.

A module that runs in the process of a contestant imports no framework but its own.
"""

# With it, `keras_attention` loads Keras only where needed, as on the command line.
import keras_attention_command  # noqa: F401

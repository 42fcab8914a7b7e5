"""Compile the programs of every model with XLA, also for TPUs on a machine without one.

- `hlo`: read a compiled program: collectives, loops, calls to the host.
- `topologies`: the available TPUs, described by libtpu.
- `matrices`: the number of operations of a traced program.
- `programs`: for every model, the training step and the program that uses the model.
- `tpu`: compile these for a slice of TPUs, and report memory, operations and collectives.
- `scaling`: estimate the duration of a training step there from these figures.

`matrices`, `programs` and `tpu` are loaded on first use, so that the others work without Keras.
They need its JAX backend.
"""

import importlib

from keras_attention.compiling import hlo, scaling, topologies

__all__ = ["hlo", "topologies", "matrices", "programs", "tpu", "scaling"]


def __getattr__(name):
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

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

import lazy_loader

from keras_attention.compiling import hlo, scaling, topologies  # noqa: F401

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__, submodules=["hlo", "matrices", "programs", "scaling", "topologies", "tpu"]
)

"""What XLA makes of the programs of every model, and Google's compiler for TPUs without having one.

- `hlo`: reading a compiled program, whoever compiled it: collectives, loops, calls of the host.
- `topologies`: the TPUs that there are, described by libtpu.
- `matrices`: how many operations a traced program has.
- `programs`: of every model the step that trains it and the one that uses it.
- `tpu`: compiles these for a slice of TPUs, and tells memory, operations and collectives.
- `scaling`: what a training step would take there, calculated from these figures.

`matrices`, `programs` and `tpu` are loaded when they are first asked for, so that the others do
without Keras. They need its JAX backend.
"""

import importlib

from keras_attention.compiling import hlo, scaling, topologies

__all__ = ["hlo", "topologies", "matrices", "programs", "tpu", "scaling"]


def __getattr__(name):
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""Train on several devices and in several processes, with the engines of the backends.

- `Processes`: the processes that train one model together (JAX), and how they exchange values.
- `supervised`: reports in one line how a process ended, even if its own engine ended it.
- `Distribution`, `spread`: the devices that share each batch and, on request, the vocabulary.

Distribution does not affect the outcome of a run: the same seed and the same batches give the same
losses, up to rounding.
"""

import lazy_loader

# Supervision starts before Keras is loaded.
__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["processes", "replicas", "strategies", "supervision"],
    submod_attrs={
        "processes": ["Processes"],
        "replicas": ["ReplicatedCrossentropy"],
        "strategies": ["Distribution", "spread"],
        "supervision": ["supervised"],
    },
)

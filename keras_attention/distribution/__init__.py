"""Training on several devices and in several processes, by the engines that the backends have.

- `Processes`: those that train one model together (JAX), and what they tell one another.
- `supervised`: one line about how a process ended, also where its own engine ends it.
- `Distribution`, `spread`: over which devices a batch, and maybe the vocabulary, is spread.

How a run is distributed is no part of what decides its outcome: the same seed and the same batches
give the same losses, up to rounding.
"""

import importlib

# Loaded when first used: processes are watched before Keras is loaded.
_NAMES = {
    "Distribution": "strategies",
    "Processes": "processes",
    "ReplicatedCrossentropy": "replicas",
    "spread": "strategies",
    "supervised": "supervision",
}

__all__ = [*_NAMES]


def __getattr__(name):
    if name in _NAMES:
        return getattr(importlib.import_module(f"{__name__}.{_NAMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

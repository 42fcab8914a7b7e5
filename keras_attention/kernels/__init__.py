"""What a device computes in one kernel, where `keras.ops` would become many.

- `kernel_for_lookup`: the kernel of a lookup, where there is one and it is faster.
- `kernel_for_adam`: likewise that of a step of Adam.

Here stands the only code of layers, training and decoding that knows a backend. Nothing depends on
it: whatever has a kernel is computed without one elsewhere, with the same result.
"""

from keras_attention.kernels.choice import kernel_for_adam, kernel_for_lookup

__all__ = ["kernel_for_adam", "kernel_for_lookup"]

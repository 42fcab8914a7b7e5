"""What a GPU computes in one program of our own, where the compilers make many.

- `kernel_for_lookup`: the kernel of a lookup, where there is one and it is faster.

Here stands the only code of the trunk that knows a backend. Nothing depends on it: whatever has a
kernel is computed without one elsewhere, with the same result.
"""

from keras_attention.kernels.choice import kernel_for_lookup

__all__ = ["kernel_for_lookup"]

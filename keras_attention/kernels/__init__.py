"""What a device computes in another way than `keras.ops` say, since it is faster there.

- `kernel_for_lookup`: the kernel of a lookup, where there is one and it is faster.
- `kernel_for_adam`: likewise that of a step of Adam.
- `kernel_with_gradient`: that of a crossentropy, an embedding, a GRU, a layer norm or a masked
  softmax, with a gradient that is written out; only within `gradients_written_out()`.
- `kernel_for_steps`: training steps that divide batches, not operations, among the cores.

Here stands the only code of layers, models, training and decoding that knows a backend. Nothing
depends on it: whatever has a kernel is computed without one elsewhere, with the same result, but
for the numbers that dropout draws.
"""

from keras_attention.kernels.choice import (
    gradients_written_out,
    kernel_for_adam,
    kernel_for_lookup,
    kernel_for_steps,
    kernel_with_gradient,
)

__all__ = [
    "gradients_written_out",
    "kernel_for_adam",
    "kernel_for_lookup",
    "kernel_for_steps",
    "kernel_with_gradient",
]

"""Functional models whose training steps may divide a batch among the cores of a CPU."""

from typing import Any

import keras

from keras_attention.kernels import gradients_written_out, kernel_for_steps


@keras.saving.register_keras_serializable("keras_attention")
class DividedModel(keras.Model):
    """A functional model whose steps divide a batch among cores, where that is faster.

    That is on TensorFlow, without XLA, after `tf.config.threading`'s
    `set_intra_op_parallelism_threads(1)`, and with a `MaskedCrossentropy` as loss: see
    `keras_attention.kernels.parts`. Elsewhere its steps are those of `keras.Model`. Divided steps
    learn the same; dropout drops other numbers. Metrics must add up over tokens, as
    `MaskedAccuracy` does. On TensorFlow without XLA layers and loss write out their gradients. To
    compile `train_step` with XLA yourself, pass `jit_compile=True` to `compile` first.

    Args:
        *args, **kwargs: as for `keras.Model`.
    """

    def train_step(self, *inputs: Any) -> Any:
        steps = kernel_for_steps(self)
        with gradients_written_out(not self.jit_compile):
            return super().train_step(*inputs) if steps is None else steps.train(*inputs)

    def test_step(self, *inputs: Any) -> Any:
        steps = kernel_for_steps(self)
        with gradients_written_out(not self.jit_compile):
            return super().test_step(*inputs) if steps is None else steps.test(*inputs)

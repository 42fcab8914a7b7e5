"""Functional models whose training steps may divide a batch among the cores of a CPU."""

from typing import Any

import keras

from keras_attention.kernels import kernel_for_steps


@keras.saving.register_keras_serializable("keras_attention")
class DividedModel(keras.Model):
    """A functional model whose steps divide a batch among cores, where that is faster.

    That is on TensorFlow after `tf.config.threading.set_intra_op_parallelism_threads(1)`, as on the
    command line: see `keras_attention.kernels.parts`. The loss must be a `MaskedCrossentropy`.
    Elsewhere its steps are those of `keras.Model`.

    Args:
        *args, **kwargs: as for `keras.Model`.
    """

    def train_step(self, *inputs: Any) -> Any:
        steps = kernel_for_steps(self)
        return super().train_step(*inputs) if steps is None else steps.train(*inputs)

    def test_step(self, *inputs: Any) -> Any:
        steps = kernel_for_steps(self)
        return super().test_step(*inputs) if steps is None else steps.test(*inputs)

"""Adam, and Muon, whose steps turn every direction of a weight matrix by the same amount.

Muon: M ← μ M + G,  W ← (1 − λ lr) W − lr · 0.2 √max(rows, columns) · orthogonal(G + μ M)
"""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_attention.kernels import kernel_for_adam
from keras_attention.types import Array

# Coefficients of the polynomial a x + b x³ + c x⁵ (Jordan et al. 2024): applied five times, it
# brings every singular value between 0.01 and 1 to about 1.
_A, _B, _C = 3.4445, -4.7750, 2.0315
_ITERATIONS = 5
# The root mean square of a step of Adam, roughly; so both take the same learning rate
_ADAM_STEP = 0.2


@keras.saving.register_keras_serializable("keras_attention")
class Adam(keras.optimizers.Adam):
    """`keras.optimizers.Adam`, with the same result on every backend, and faster on TensorFlow.

    On TensorFlow the gradient of an embedding is a list with one row for each token of the batch.
    Keras squares row by row, so the velocity of a token that occurs several times follows Σ g² in
    place of (Σ g)², and clips each row for itself. Here the rows of a token are added first, as JAX
    and PyTorch do. And a step is one kernel, where Keras' is a dozen operations.

    Args, errors: as for `keras.optimizers.Adam`.
    """

    def apply(self, grads: Sequence[Any], trainable_variables: Any = None) -> None:
        variables = trainable_variables or self._trainable_variables
        # Adds the rows of a token, before Keras clips them
        grads = [
            None if gradient is None else ops.reshape(gradient, variable.shape)
            for gradient, variable in zip(grads, variables, strict=True)
        ]
        super().apply(grads, trainable_variables)

    def update_step(self, gradient: Array, variable: Any, learning_rate: Array) -> None:
        kernel = kernel_for_adam()
        if kernel is None or self.amsgrad:
            super().update_step(gradient, variable, learning_rate)
            return
        index = self._get_variable_index(variable)
        moments = self._momentums[index], self._velocities[index]
        betas = self.beta_1, self.beta_2
        step = self.iterations + 1
        kernel(variable, *moments, gradient, learning_rate, step, betas, self.epsilon)


@keras.saving.register_keras_serializable("keras_attention")
class Muon(Adam):
    """Muon for weight matrices, Adam for embeddings, biases and the scales of norms.

    The momentum of a matrix is replaced by the nearest matrix whose singular values are all 1,
    approximately, so rare directions learn as fast as common ones. A kernel with three axes, as
    those of query, key, value and output of multi-head attention, counts as the matrix that it is:
    the heads belong to the side where they make the matrix squarest. (`keras.optimizers.Muon` gives
    these kernels to AdamW.)

    Args:
        learning_rate: learning rate of both, or a schedule.
        momentum: factor μ of the momentum of matrices, which is Nesterov's.
        **kwargs: as for `keras.optimizers.Adam`; `weight_decay`, λ, spares
            biases and the scales of norms.

    Raises:
        ValueError: the momentum is not in [0, 1).

    References:
        Jordan et al. (2024), Muon: an optimizer for hidden layers in neural networks,
        https://kellerjordan.github.io/posts/muon/; Liu et al. (2025), Muon is scalable for LLM
        training, arXiv:2502.16982, eq. 4, for the scale.
    """

    def __init__(
        self,
        learning_rate: Any = 1e-3,
        momentum: float = 0.95,
        *,
        name: str = "muon",
        **kwargs: Any,
    ):
        super().__init__(learning_rate, name=name, **kwargs)
        if not 0 <= momentum < 1:
            raise ValueError(f"momentum must be at least 0 and below 1, got {momentum}")
        self.momentum = momentum
        self._excluded: tuple[Any, Any] = None, None

    def exclude_from_weight_decay(self, var_list: Any = None, var_names: Any = None) -> None:
        self._excluded = var_list, var_names
        super().exclude_from_weight_decay(var_list, var_names)

    def build(self, variables: Sequence[keras.Variable]) -> None:
        others = [each for each in variables if not is_matrix(each) and not is_embedding(each)]
        chosen, names = self._excluded
        super().exclude_from_weight_decay([*(chosen or ()), *others], names)
        super().build(variables)
        # `update_step` is given the backend's variables, which have no path.
        self._are_matrices = [is_matrix(variable) for variable in variables]

    def update_step(self, gradient: Array, variable: Any, learning_rate: Array) -> None:
        index = self._get_variable_index(variable)
        if not self._are_matrices[index]:
            super().update_step(gradient, variable, learning_rate)
            return
        moment = self._momentums[index]
        gradient = ops.cast(gradient, variable.dtype)
        self.assign(moment, self.momentum * moment + gradient)
        rows, columns = fold(variable.shape)
        step = orthogonal(ops.reshape(gradient + self.momentum * moment, (rows, columns)))
        scale = ops.cast(learning_rate, variable.dtype) * _ADAM_STEP * max(rows, columns) ** 0.5
        self.assign_sub(variable, ops.reshape(scale * step, variable.shape))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "momentum": self.momentum}


def is_matrix(variable: keras.Variable) -> bool:
    """Return whether a variable is a kernel, which maps vectors to vectors.

    One row is not: it is the first state of a cell, or what multiplies a single number.
    """
    is_other = is_embedding(variable) or variable.path.endswith("bias")  # heads have one each
    return len(variable.shape) in (2, 3) and variable.shape[0] > 1 and not is_other


def is_embedding(variable: keras.Variable) -> bool:
    """Return whether a variable holds a vector for each token."""
    return variable.path.endswith(("embeddings", "table"))


def fold(shape: Sequence[int]) -> tuple[int, int]:
    """Return rows and columns of a kernel as one matrix, the squarest one.

    Example:
    >>> fold((128, 8, 16)), fold((8, 16, 128))
    ((128, 128), (128, 128))
    """
    if len(shape) == 2:
        return shape[0], shape[1]
    first, second, third = shape
    return min((first, second * third), (first * second, third), key=max)


def orthogonal(matrix: Array) -> Array:
    """Return a matrix with the same singular vectors, whose singular values are about 1.

    Newton–Schulz iteration, in products of matrices alone; the values end between 0.7 and 1.2.

    Args:
        matrix: (rows, columns).
    """
    rows, columns = matrix.shape
    wide = matrix if rows <= columns else ops.transpose(matrix)
    wide = wide / (ops.norm(wide) + 1e-7)
    for _ in range(_ITERATIONS):
        gram = ops.matmul(wide, ops.transpose(wide))
        wide = _A * wide + ops.matmul(_B * gram + _C * ops.matmul(gram, gram), wide)
    return wide if rows <= columns else ops.transpose(wide)

"""Learning rates that first rise, as a Transformer needs."""

import math
from typing import Any

import keras
from keras import ops

from keras_attention.types import Array


@keras.saving.register_keras_serializable("keras_attention")
class WarmUp(keras.optimizers.schedules.LearningRateSchedule):
    """A learning rate that rises linearly to its peak, and then falls.

    With `decay_steps` None, this is the schedule of eq. 3 of Vaswani et al. (2017),
    lr = peak · min(step / warm_up, √(warm_up / step)). The paper's peak for a model of width D is
    1 / √(D · warm_up), see `vaswani_peak`. Otherwise the rate falls along a cosine to 0 at
    `decay_steps`, for training of known length.

    Args:
        peak: the largest learning rate.
        warm_up: number of steps until the peak.
        decay_steps: number of steps until the end, or None.

    Raises:
        ValueError: the peak or `warm_up` is not positive, or `decay_steps` is not above `warm_up`.

    References:
        Vaswani et al. (2017), Attention is all you need, arXiv:1706.03762; Loshchilov, Hutter
        (2017), SGDR, arXiv:1608.03983, eq. 5, for the cosine.
    """

    def __init__(self, peak: float, warm_up: int, decay_steps: int | None = None):
        if not peak > 0:
            raise ValueError(f"peak must be positive, got {peak}")
        if warm_up < 1 or (decay_steps is not None and decay_steps <= warm_up):
            raise ValueError(
                "warm_up must be at least 1 and decay_steps above it, got "
                f"{warm_up} and {decay_steps}"
            )
        self.peak, self.warm_up, self.decay_steps = peak, warm_up, decay_steps

    def __call__(self, step: Array) -> Array:
        step = ops.cast(step, "float32") + 1  # the first step is number 0
        rising = step / self.warm_up
        if self.decay_steps is None:
            falling = ops.sqrt(self.warm_up / step)
        else:
            passed = (step - self.warm_up) / (self.decay_steps - self.warm_up)
            falling = (1 + ops.cos(math.pi * ops.clip(passed, 0.0, 1.0))) / 2
        return self.peak * ops.minimum(rising, falling)

    def get_config(self) -> dict[str, Any]:
        return {"peak": self.peak, "warm_up": self.warm_up, "decay_steps": self.decay_steps}


def vaswani_peak(width: int, warm_up: int = 4000) -> float:
    """Return the peak of the learning rate in eq. 3 of Vaswani et al. (2017).

    Example:
    >>> round(vaswani_peak(512), 6)
    0.000699
    """
    return 1 / math.sqrt(width * warm_up)

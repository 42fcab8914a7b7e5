"""A recurrent network that chooses its glimpses: each state determines the next location.

l_t ~ N(tanh(W_l s_{t−1}), σ² I),   g_t = f_g(ρ(x, l_t), l_t),   h_t = cell(g_t, h_{t−1})
"""

import math
from collections.abc import Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_attention.layers import loop
from keras_attention.layers.parts import saved, taken
from keras_attention.layers.weights import WeightedLayer
from keras_attention.ops import glimpse, normal_log_probability
from keras_attention.ops.glimpses import check_glimpse
from keras_attention.ops.precision import precise_dtype
from keras_attention.types import Array, Shape

MERGES = ("add", "multiply")
POLICIES = ("learned", "centre", "random")


class Glimpses(NamedTuple):
    """The result of T glimpses.

    `outputs` (B, T, U) of the cell after each glimpse; `states` (B, T, L) that chose each location;
    `locations` (B, T, 2) and their `log_probabilities` (B, T), 0 unless the policy is learned; both
    at least float32.
    """

    outputs: Array
    states: Array
    locations: Array
    log_probabilities: Array


@keras.saving.register_keras_serializable("keras_attention")
class GlimpseNetwork(WeightedLayer):
    """Encode a glimpse of a picture as one vector: what is there, and where it is.

    This is the retina and glimpse network of Mnih et al. (2014), section 3.1 and appendix; with
    `merge="multiply"` it is that of Ba et al. (2015), section 3:

        what = ReLU(W₁ ρ(x, l)),   where = ReLU(W₂ l),
        g = ReLU(W₃ what + W₄ where)   or   ReLU(W₃ what) ⊙ ReLU(W₄ where)

    Our names / the paper's: `size` / g_w, `scales` / k, what / h_g, where / h_l.

    Args:
        units: width of the result.
        size: number of cells along each side of a patch.
        scales: number of patches, each twice as wide as the previous one.
        hidden: width of what and of where. Defaults to half of `units`, rounded up.
        merge: `"add"` or `"multiply"`.
        **kwargs: initializers, regularizers and constraints of the dense layers, as for
            `keras.layers.Dense`; the rest as for every Keras layer.

    Call arguments:
        pictures: (B, H, W, C).
        locations: (B, 2), row and column in [−1, 1]; see `keras_attention.ops.glimpse`.

    Returns:
        (B, units).

    Raises:
        ValueError: a number is not positive, `merge` is unknown, or a glimpse is larger than the
            picture.

    Example:
    >>> import numpy as np
    >>> see = GlimpseNetwork(units=16, size=4, scales=2)
    >>> tuple(see(np.ones((3, 8, 9, 1)), np.zeros((3, 2))).shape)
    (3, 16)

    References:
        Mnih, Heess, Graves, Kavukcuoglu (2014), Recurrent models of visual attention,
        arXiv:1406.6247; Ba, Mnih, Kavukcuoglu (2015), Multiple object recognition with visual
        attention, arXiv:1412.7755.
    """

    def __init__(
        self,
        units: int,
        size: int,
        scales: int = 1,
        hidden: int | None = None,
        merge: str = "add",
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        if units < 1 or (hidden is not None and hidden < 1):
            raise ValueError(f"units and hidden must be positive, got {units} and {hidden}")
        if merge not in MERGES:
            raise ValueError(f"merge must be one of {', '.join(MERGES)}, got {merge!r}")
        self.units, self.size, self.scales = units, size, scales
        self.hidden, self.merge = hidden, merge

        def dense(width, name, activation="relu"):
            options = {**self.weight_options(), "dtype": self.dtype_policy}
            return keras.layers.Dense(width, activation, name=name, **options)

        activation = None if merge == "add" else "relu"
        width = hidden or math.ceil(units / 2)
        self.see, self.place = dense(width, "see"), dense(width, "place")
        self.what, self.where = dense(units, "what", activation), dense(units, "where", activation)

    def build(self, pictures_shape: Shape, locations_shape: Shape | None = None) -> None:
        shape: Any = tuple(pictures_shape)
        if len(shape) != 4 or not all(isinstance(n, int) for n in shape[1:]):
            raise ValueError(
                "pictures must have shape (B, H, W, C) with known height, width and channels, "
                f"got {shape}"
            )
        batch, height, width, channels = shape
        check_glimpse(height, width, self.size, self.scales)
        self.see.build((batch, self.scales * self.size**2 * channels))
        self.place.build((batch, 2))
        self.what.build((batch, self.see.units))
        self.where.build((batch, self.place.units))

    def compute_output_shape(
        self, pictures_shape: Shape, locations_shape: Shape | None = None
    ) -> Shape:
        del locations_shape
        return pictures_shape[0], self.units

    def call(self, pictures: Array, locations: Array) -> Array:
        patches = glimpse(pictures, locations, self.size, self.scales)
        flat = ops.reshape(patches, (-1, self.see.kernel.shape[0]))
        what, where = self.what(self.see(flat)), self.where(self.place(locations))
        return ops.relu(what + where) if self.merge == "add" else what * where

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "units": self.units,
            "size": self.size,
            "scales": self.scales,
            "hidden": self.hidden,
            "merge": self.merge,
        }


@keras.saving.register_keras_serializable("keras_attention")
class GlimpseRNN(WeightedLayer):
    """Take several glimpses of a picture, each at a location chosen by the previous state.

    The core and the location network of Mnih et al. (2014), section 3.1. The state s_{t−1} chooses
    the location of glimpse t, which is drawn around the mean in training and is the mean otherwise:

        l_t ~ N(tanh(W_l s_{t−1}), σ² I),   g_t = f_g(x, l_t),   h_t = cell(g_t, h_{t−1}).

    The state s is h; with a `locator`, a second cell on top, s is the locator's state, as in
    section 3 of Ba et al. (2015): s_t = locator(h_t, s_{t−1}). The choice has no gradient: train it
    with REINFORCE (`keras_attention.models.Reinforced`) from the returned log-probabilities. Their
    gradient stops before h, so learning to choose locations does not disturb what h learns from
    the glimpses. All states start at 0, which puts the first glimpse near the middle, unless
    `first_state` is given.

    Args:
        network: a `GlimpseNetwork`.
        cell: a Keras recurrent cell whose first state is its output.
        num_glimpses: T, the number of glimpses.
        locator: another such cell, or None.
        policy: `"learned"`; or, for comparison, `"centre"`, always the middle, or `"random"`,
            anywhere, even at inference.
        deviation: σ, positive, where the width of the picture is 2.
        seed: random seed.
        **kwargs: initializers, regularizers and constraints of the dense layers, as for
            `keras.layers.Dense`; the rest as for every Keras layer.

    Call arguments:
        pictures: (B, H, W, C).
        first_state: the locator's first state before the first glimpse, (B, L).
        training: whether to draw locations around their means.

    Returns:
        `Glimpses`. The locations are clipped to the picture; the log-probabilities are those of the
        locations before clipping.

    Raises:
        ValueError: a number is not positive, `policy` is unknown, a cell is a stack of cells,
            `first_state` is given without a locator, or a glimpse is larger than the picture.

    Example:
    >>> import keras, numpy as np
    >>> eye = GlimpseNetwork(units=16, size=4, scales=2)
    >>> layer = GlimpseRNN(eye, keras.layers.SimpleRNNCell(11), num_glimpses=5)
    >>> glimpses = layer(np.ones((3, 8, 9, 1)))
    >>> tuple(glimpses.outputs.shape), tuple(glimpses.locations.shape)
    ((3, 5, 11), (3, 5, 2))

    References:
        Mnih, Heess, Graves, Kavukcuoglu (2014), arXiv:1406.6247; Ba, Mnih, Kavukcuoglu (2015),
        arXiv:1412.7755.
    """

    part_names = ("network", "cell", "locator")

    def __init__(
        self,
        network: GlimpseNetwork,
        cell: keras.layers.Layer,
        num_glimpses: int,
        locator: keras.layers.Layer | None = None,
        policy: str = "learned",
        deviation: float = 0.15,
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        if num_glimpses < 1 or not deviation > 0:
            raise ValueError(
                f"num_glimpses and deviation must be positive, got {num_glimpses} and {deviation}"
            )
        if policy not in POLICIES:
            raise ValueError(f"policy must be one of {', '.join(POLICIES)}, got {policy!r}")
        for each in (cell, locator):
            loop.check_single(each)
        self.network, self.cell, self.locator = taken(network), taken(cell), taken(locator)
        self.num_glimpses = num_glimpses
        self.policy, self.deviation, self.seed = policy, deviation, seed
        self.generator = keras.random.SeedGenerator(seed)
        self.choose = keras.layers.Dense(
            2, "tanh", dtype=self.dtype_policy, name="choose", **self.weight_options()
        )

    def build(self, pictures_shape: Shape, first_state_shape: Shape | None = None) -> None:
        batch = pictures_shape[0]
        for part, shape in (
            (self.network, pictures_shape),
            (self.cell, (batch, self.network.units)),
            (self.locator, (batch, self.cell.output_size)),
        ):
            if part is not None and not part.built:  # a part loaded from a file is already built
                part.build(shape)
        if self.policy == "learned":
            self.choose.build((batch, (self.locator or self.cell).output_size))

    def call(
        self, pictures: Array, first_state: Array | None = None, training: bool | None = None
    ) -> Glimpses:
        if first_state is not None and self.locator is None:
            raise ValueError("first_state needs a locator, got locator=None")
        batch = ops.shape(pictures)[0]

        def zeros(cell):
            return [ops.zeros((batch, size), dtype=self.compute_dtype) for size in _sizes(cell)]

        own, locators = zeros(self.cell), zeros(self.locator) if self.locator else []
        if first_state is not None:
            locators[0] = ops.cast(first_state, self.compute_dtype)
        draws = self._draws((batch, self.num_glimpses, 2), training)
        # Glimpses are few, so the loop is unrolled and XLA can optimize across all of them.
        steps = []
        with self._dropout_masks(batch, own, locators):
            for number in range(self.num_glimpses):
                state = (locators or own)[0]
                location, log_probability = self._place(state, draws[:, number])
                output, own = self.cell(self.network(pictures, location), own)
                if self.locator is not None:
                    _, locators = self.locator(ops.stop_gradient(output), locators)
                steps.append((output, state, location, log_probability))
        return Glimpses(*(ops.stack(each, axis=1) for each in zip(*steps, strict=True)))

    @contextmanager
    def _dropout_masks(self, batch, own, locators):
        """Let all glimpses of a call, and no other, have the dropout masks of both cells."""
        with ExitStack() as masks:
            for cell, width, states in (
                (self.cell, self.network.units, own),
                (self.locator, self.cell.output_size, locators),
            ):
                if cell is not None:
                    inputs = ops.zeros((batch, width), dtype=self.compute_dtype)
                    masks.enter_context(loop.dropout_masks(cell, inputs, states[0]))
            yield

    def _draws(self, shape, training):
        """Return the random parts of all locations: not every backend can draw inside a loop."""
        dtype = precise_dtype(self.compute_dtype)
        if self.policy == "random":
            return keras.random.uniform(shape, -1.0, 1.0, dtype, self.generator)
        if self.policy == "learned" and training:
            return keras.random.normal(shape, 0.0, self.deviation, dtype, self.generator)
        return ops.zeros(shape, dtype=dtype)

    def _place(self, state, draw):
        """Return a location (B, 2), in the picture and without gradient, and its ln p, (B,)."""
        if self.policy != "learned":
            return draw, ops.zeros_like(draw[:, 0])
        if self.locator is None:
            state = ops.stop_gradient(state)
        mean = ops.cast(self.choose(state), draw.dtype)
        place = ops.stop_gradient(mean + draw)
        log_probability = normal_log_probability(place, mean, self.deviation)
        return ops.clip(place, -1.0, 1.0), log_probability

    def get_config(self) -> dict[str, Any]:
        parts = {"network": self.network, "cell": self.cell, "locator": self.locator}
        return {
            **super().get_config(),
            **{name: saved(part) for name, part in parts.items()},
            "num_glimpses": self.num_glimpses,
            "policy": self.policy,
            "deviation": self.deviation,
            "seed": self.seed,
        }


def _sizes(cell: keras.layers.Layer) -> Sequence[int]:
    """Return the widths of the states of a Keras cell."""
    return cell.state_size if isinstance(cell.state_size, (list, tuple)) else [cell.state_size]

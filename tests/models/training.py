"""How the tests of models train: a step needs no program, and a few hundred need no compiler.

On JAX all is compiled, since its loops are slow without; on PyTorch nothing is.
"""

import keras
import numpy as np
import pytest

BACKEND = keras.backend.backend()

# Options of `keras.Model.compile`.
ONE_STEP = {"run_eagerly": BACKEND != "jax", "jit_compile": BACKEND == "jax"}
SOME_STEPS = {"jit_compile": BACKEND == "jax"}
XLA = {"jit_compile": BACKEND != "torch"}

each_way = pytest.mark.parametrize(
    "how",
    [
        pytest.param(ONE_STEP, id="one_step"),
        pytest.param(
            XLA,
            marks=[
                pytest.mark.thorough,
                pytest.mark.xla,
                pytest.mark.skipif(
                    BACKEND != "tensorflow", reason="compiled in any case, or never"
                ),
            ],
            id="xla",
        ),
    ],
)


def check_a_step_changes_every_weight(model, inputs, labels, still=()):
    """Fit a model to one batch; the path of a weight without a gradient has a name of `still`."""
    before = model.get_weights()
    history = model.fit(inputs, labels, batch_size=len(labels), verbose=0).history
    assert np.isfinite(history["loss"]).all()
    for old, new, weight in zip(before, model.get_weights(), model.weights, strict=True):
        assert np.isfinite(new).all(), weight.path
        assert any(name in weight.path for name in still) or (old != new).any(), weight.path

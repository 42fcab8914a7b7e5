"""REINFORCE on the smallest task: one of five slots is flagged, its label is wanted."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.layers import HardAttention
from keras_attention.models import Reinforced
from tests.models.training import ONE_STEP, XLA
from tests.numerics import assert_close, gradient
from tests.training.test_losses import LABELS, LOGITS, crossentropies

SLOTS, KINDS = 5, 3


def flagged_slots(count, seed=0):
    """Draw labels in slots, one of them flagged; return inputs, and the label under the flag."""
    rng = np.random.default_rng(seed)
    values, where = rng.integers(KINDS, size=(count, SLOTS)), rng.integers(SLOTS, size=count)
    inputs = {"flags": np.eye(SLOTS, dtype="float32")[where][..., None]}
    inputs["values"] = np.eye(KINDS, dtype="float32")[values]
    return inputs, values[np.arange(count), where].astype("int32")


def reinforced(baseline="moving", **settings):
    flags = keras.Input((SLOTS, 1), name="flags")
    values = keras.Input((SLOTS, KINDS), name="values")
    query = keras.ops.ones_like(flags[:, :1])
    attention = HardAttention("general", seed=0)
    read, weights, distribution = attention(query, values, flags, return_distribution=True)
    outputs = {
        "logits": keras.layers.Dense(KINDS)(read[:, 0]),
        "weights": weights,
        "distribution": distribution,
    }
    if baseline == "learned":
        seen = keras.ops.stop_gradient(keras.layers.Flatten()(flags))
        outputs["baseline"] = keras.layers.Dense(1)(seen)
    return Reinforced([flags, values], outputs, baseline=baseline, **settings)


def compile_reinforced(model, how=ONE_STEP):
    model.compile(keras.optimizers.Adam(0.05), metrics=["accuracy"], **how)
    return model


@pytest.mark.thorough
@pytest.mark.xla
@pytest.mark.parametrize("baseline", ["moving", "learned"])
def test_a_reinforced_model_learns_where_to_look(baseline):
    keras.utils.set_random_seed(0)
    model = compile_reinforced(reinforced(baseline, entropy_weight=0.01), XLA)
    model.fit(*flagged_slots(128 * 128), batch_size=128, verbose=0)
    measured = model.evaluate(*flagged_slots(512, seed=1), verbose=0, return_dict=True)
    assert measured["accuracy"] > 0.95
    assert 0 < measured["loss"] < 0.2


def test_the_moving_baseline_follows_the_loss():
    model = compile_reinforced(reinforced())
    model.optimizer.learning_rate = 0.0
    history = model.fit(*flagged_slots(64), batch_size=64, verbose=0).history
    assert set(history) == {"accuracy", "loss"}
    assert float(model.moving_loss) == pytest.approx(0.1 * history["loss"][0], rel=1e-5)
    model.evaluate(*flagged_slots(64), verbose=0)
    assert float(model.moving_loss) == pytest.approx(0.1 * history["loss"][0], rel=1e-5)


def test_the_loss_that_is_shown_is_the_crossentropy_alone():
    model = compile_reinforced(reinforced(entropy_weight=7.0))
    inputs, labels = flagged_slots(53)
    outputs = {name: keras.ops.convert_to_tensor(x) for name, x in inputs.items()}
    logits = keras.ops.convert_to_numpy(model(outputs)["logits"])
    expected = np.mean(np.log(np.exp(logits).sum(-1)) - logits[np.arange(53), labels])
    measured = model.evaluate(inputs, labels, batch_size=53, verbose=0, return_dict=True)
    assert measured["loss"] == pytest.approx(expected, rel=1e-5)


def test_a_sequence_costs_the_sum_of_its_labels_and_padding_costs_nothing():
    model = compile_reinforced(reinforced())
    sure = keras.ops.ones((3, 2, 1))
    logits = keras.ops.convert_to_tensor(LOGITS[0])
    y_pred = {"logits": logits, "weights": sure, "distribution": sure}
    loss = model.compute_loss(
        y=LABELS[0], y_pred=y_pred, sample_weight=LABELS[0] != 0, training=False
    )
    assert float(loss) == pytest.approx(sum(crossentropies(LABELS[0], LOGITS[0])) / 3, rel=1e-5)


@pytest.mark.parametrize("baseline", ["moving", "learned"])
def test_a_reinforced_model_survives_saving(tmp_path, baseline):
    model = compile_reinforced(reinforced(baseline, entropy_weight=0.25))
    inputs, labels = flagged_slots(64)
    model.fit(inputs, labels, verbose=0)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert type(loaded) is Reinforced
    assert (loaded.baseline, loaded.entropy_weight) == (baseline, 0.25)
    for one, other in zip(loaded.get_weights(), model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)
    loaded.fit(inputs, labels, verbose=0)


def test_labels_in_a_column_cost_as_much_as_labels_in_a_row():
    costs = []
    for column in (False, True):
        model = compile_reinforced(reinforced(cost="errors"))
        inputs, labels = flagged_slots(64)
        keras.utils.set_random_seed(0)
        model.set_weights([np.ones(weight.shape) for weight in model.weights])
        model.train_on_batch(inputs, labels[:, None] if column else labels)
        costs.append(float(model.moving_loss))
    assert 0 < costs[1] == pytest.approx(costs[0])


def test_what_a_reinforced_model_needs_is_said():
    with pytest.raises(ValueError, match="baseline must be one of moving, learned, got 'mean'"):
        reinforced("mean")
    with pytest.raises(ValueError, match="entropy_weight must not be negative, got -1"):
        reinforced(entropy_weight=-1)
    inputs = keras.Input((3,))
    with pytest.raises(ValueError, match="a dict with distribution, logits, weights, got KerasTe"):
        Reinforced(inputs, keras.layers.Dense(2)(inputs))
    with pytest.raises(ValueError, match="with baseline, distribution, logits, weights, got logi"):
        Reinforced(inputs, {"logits": inputs}, baseline="learned")


def test_the_gradient_of_a_choice_by_hand():
    """(ℓ − b) ∇ ln α_z − λ ∇H, with ∇H = −(ln α + 1)."""
    model = compile_reinforced(reinforced(entropy_weight=0.5))
    model.moving_loss.assign(0.25)
    shares = np.array([[[0.3, 0.7]]])
    picks = ops.convert_to_tensor(np.array([[[0.0, 1.0]]], "float32"))
    logits = ops.convert_to_tensor(np.zeros((1, KINDS), "float32"))
    labels = ops.convert_to_tensor(np.array([1]))

    def loss(distribution):
        y_pred = {"logits": logits, "weights": picks, "distribution": distribution}
        return model.compute_loss(y=labels, y_pred=y_pred, training=False)

    (slope,) = gradient(loss, shares)
    expected = 0.5 * (np.log(shares) + 1)
    expected[0, 0, 1] += (np.log(KINDS) - 0.25) / 0.7
    assert_close(slope, expected, 1e-5)


def test_the_picks_of_padding_count_for_nothing():
    """Of two queries the second is padding: whatever it says, the loss has the same gradient."""
    distribution = ops.convert_to_tensor(np.array([[[0.3, 0.7], [0.9, 0.1]]], "float32"))
    picks = ops.convert_to_tensor(np.array([[[0.0, 1.0], [1.0, 0.0]]], "float32"))
    logits = ops.convert_to_tensor(np.zeros((1, 2, KINDS), "float32"))
    model = compile_reinforced(reinforced(entropy_weight=0.5))

    def loss(distribution):
        y_pred = {"logits": logits, "weights": picks, "distribution": distribution}
        weight = ops.convert_to_tensor(np.array([[1.0, 0.0]], "float32"))
        labels = ops.convert_to_tensor(np.array([[1, 2]]))
        return model.compute_loss(y=labels, y_pred=y_pred, sample_weight=weight, training=False)

    (slope,) = gradient(loss, distribution)
    assert (slope[0, 0] != 0).all()
    np.testing.assert_array_equal(slope[0, 1], 0)


def test_a_weight_for_each_example_is_one_for_each_of_its_labels():
    attention = HardAttention("general", seed=0)
    query, values = keras.Input((3, 4)), keras.Input((5, 4))
    _, weights, distribution = attention(query, values, return_distribution=True)
    outputs = {"logits": weights, "weights": weights, "distribution": distribution}
    model = compile_reinforced(Reinforced([query, values], outputs))
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=(3, length, 4)).astype("float32") for length in (3, 5)]
    labels = rng.integers(5, size=(3, 3))
    each = np.array([1.0, 0.0, 0.5], "float32")
    by_label, by_example, by_column = (
        model.evaluate(inputs, labels, sample_weight=weight, verbose=0, return_dict=True)["loss"]
        for weight in (np.repeat(each[:, None], 3, axis=1), each, each[:, None])
    )
    assert by_label == pytest.approx(by_example) == pytest.approx(by_column)
    with pytest.raises(ValueError, match=r"must have the shape of the labels .* got \(3, 2\)"):
        model.compute_loss(
            y=ops.zeros((3, 3)),
            y_pred={"logits": ops.zeros((3, 3, 5))},
            sample_weight=ops.zeros((3, 2)),
        )
    model.compile("sgd", "mse")
    with pytest.raises(
        ValueError, match="has a loss of its own; compile it without one, got 'mse'"
    ):
        model.fit(inputs, labels, verbose=0)


def test_an_example_of_weight_0_teaches_nothing():
    model = compile_reinforced(reinforced(entropy_weight=0.5))
    picks = ops.convert_to_tensor(np.array([[[0.0, 1.0]], [[1.0, 0.0]]], "float32"))
    logits = ops.convert_to_tensor(np.zeros((2, KINDS), "float32"))

    def loss(distribution):
        y_pred = {"logits": logits, "weights": picks, "distribution": distribution}
        weight = ops.convert_to_tensor(np.array([1.0, 0.0], "float32"))
        labels = ops.convert_to_tensor(np.array([1, 2]))
        return model.compute_loss(y=labels, y_pred=y_pred, sample_weight=weight, training=False)

    (slope,) = gradient(loss, np.array([[[0.3, 0.7]], [[0.9, 0.1]]]))
    assert (slope[0] != 0).all()
    np.testing.assert_array_equal(slope[1], 0)

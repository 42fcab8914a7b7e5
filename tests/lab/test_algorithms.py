"""A Neural Turing Machine learns small programs."""

import keras
import numpy as np
import pytest

pytest.importorskip("tensorflow")

from keras_attention.lab import algorithms, tasks
from keras_attention.models import build_neural_turing_machine


def test_the_lstm_has_just_as_many_parameters_as_the_machine():
    machine = build_neural_turing_machine().count_params()
    lstm = algorithms.build_lstm(9, 8, machine)
    assert machine <= lstm.count_params() < 1.03 * machine


def test_who_knows_nothing_pays_a_bit_for_each_bit():
    inputs = keras.Input((None, 9))
    ignorant = keras.Model(inputs, keras.layers.Dense(8, kernel_initializer="zeros")(inputs))
    examples = tasks.copy(np.random.default_rng(0), 7, 5, 5)
    cost, wrong = algorithms.cost_and_errors("nobody", ignorant, examples)
    assert cost.value == pytest.approx(5 * 8)
    assert 30 < wrong.value < 70


def test_the_loss_of_training_is_the_cost_that_is_measured():
    examples = tasks.copy(np.random.default_rng(0), 7)
    model = algorithms.build_lstm(9, 8, 500)
    model.compile(loss=algorithms.bits_of_steps)
    loss = model.evaluate(
        examples.inputs, examples.targets, sample_weight=examples.asked, verbose=0
    )
    cost, _ = algorithms.cost_and_errors("LSTM", model, examples)
    assert loss * examples.asked.shape[1] == pytest.approx(cost.value, rel=1e-5)

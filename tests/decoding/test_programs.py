import logging

import keras
import numpy as np
import pytest

from keras_attention.decoding import Programs
from keras_attention.decoding import programs as on_programs

OFTEN = "5 out of the last 5 calls to <function> triggered tf.function retracing. Tracing is …"


@pytest.fixture
def warnings():
    """Return what is logged by TensorFlow's logger, as it comes."""
    messages = []
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())
    logger = logging.getLogger("tensorflow")
    logger.addHandler(handler)
    yield messages
    logger.removeHandler(handler)


class Logging(keras.Model):
    """Logs as TensorFlow does when it is traced, and adds 1."""

    def call(self, numbers):
        logger = logging.getLogger("tensorflow")
        logger.warning(OFTEN)
        logger.warning("something else")
        return numbers + 1


def test_there_is_a_program_a_shape():
    numbers = keras.Input((None,))
    programs = Programs(keras.Model(numbers, keras.ops.add(numbers, numbers)))
    for shape in ((2, 3), (2, 3), (5, 3), (2, 7), (5, 3)):
        numbers = np.full(shape, 1.5, "float32")
        np.testing.assert_array_equal(programs.predict_on_batch(numbers), 2 * numbers)
    assert len(programs) == 3


@pytest.mark.parametrize("way", ["one by one", "in threads", "together"])
def test_batches_have_the_outputs_and_the_programs_of_each_alone(monkeypatch, way):
    needs = {"in threads": "tensorflow", "together": "jax"}.get(way, keras.backend.backend())
    if keras.backend.backend() != needs:
        pytest.skip(f"batches are computed {way} on {needs} alone")
    monkeypatch.setattr(on_programs, "_calls_are_costly", lambda: way == "together")
    monkeypatch.setattr(on_programs, "_threads", lambda: 3 if way == "in threads" else 1)
    monkeypatch.setattr(on_programs, "TOGETHER", 2)
    layer, numbers = keras.layers.Dense(1, kernel_initializer="ones"), keras.Input((None, 2))
    programs = Programs(keras.Model(numbers, {"sums": layer(numbers)[..., 0]}))
    rng = np.random.default_rng(0)
    batches = [rng.normal(size=(3, 4, 2)).astype("float32") for _ in range(5)]
    found = programs.predict(iter(batches))
    assert [*map(list, found)] == 5 * [["sums"]]
    for outputs, batch in zip(found, batches, strict=True):
        np.testing.assert_allclose(outputs["sums"], batch.sum(-1), rtol=1e-5, atol=1e-6)
    assert len(programs) == 1
    assert programs.predict([]) == []
    one = programs.predict([batches[0][:, :2]])
    np.testing.assert_allclose(one[0]["sums"], batches[0][:, :2].sum(-1), rtol=1e-5, atol=1e-6)
    assert len(programs) == 2


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="TensorFlow has threads")
def test_threads_compute_a_program_once_and_draw_batches_no_faster_than_they_end(monkeypatch):
    monkeypatch.setattr(on_programs, "_threads", lambda: 2)
    numbers = keras.Input((None,))
    programs = Programs(keras.Model(numbers, keras.ops.add(numbers, numbers)))
    drawn, ended = [], []
    real = programs.predict_on_batch

    def predict_on_batch(*arguments):
        outputs = real(*arguments)
        ended.append(outputs)
        return outputs

    def batches():
        for number in range(9):
            assert len(drawn) - len(ended) <= 3  # two are computed, one waits
            drawn.append(number)
            yield np.full((2, 3), number, "float32")

    monkeypatch.setattr(programs, "predict_on_batch", predict_on_batch)
    found = programs.predict(batches())
    np.testing.assert_array_equal([each[0, 0] for each in found], 2 * np.arange(9))
    assert len(programs) == 1


@pytest.mark.skipif(keras.backend.backend() != "jax", reason="batches share a call on JAX alone")
def test_after_an_interrupt_a_model_has_its_weights(monkeypatch):
    monkeypatch.setattr(on_programs, "_calls_are_costly", lambda: True)
    numbers = keras.Input((2,))
    model = keras.Model(numbers, keras.layers.Dense(1, kernel_initializer="ones")(numbers))
    programs, batch = Programs(model), np.full((3, 2), 1.5, "float32")
    compute, calls = model.make_predict_function, []

    def interrupted():
        compute()
        function = model.predict_function

        def once(*arguments):
            if calls:
                raise KeyboardInterrupt
            calls.append(arguments)
            return function(*arguments)

        model.predict_function = once

    with monkeypatch.context() as patches:
        patches.setattr(model, "make_predict_function", interrupted)
        with pytest.raises(KeyboardInterrupt):
            programs.predict([batch, batch])
    model.predict_function = None
    np.testing.assert_array_equal(programs.predict([batch])[0], np.full((3, 1), 3.0))


def test_only_the_warning_of_what_is_meant_is_kept_back(warnings):
    Programs(Logging()).predict_on_batch(np.zeros((2, 3), "float32"))
    assert "something else" in warnings
    assert OFTEN not in warnings
    logging.getLogger("tensorflow").warning(OFTEN)
    assert OFTEN in warnings

"""ONNX Runtime computes what the layers compute, and finds the same translations."""

import time
from concurrent.futures import ThreadPoolExecutor

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention import graphs, models
from keras_attention.decoding import generator as on_generator
from keras_attention.decoding import threads as on_threads
from keras_attention.decoding.logits import candidates
from keras_attention.graphs import runtime as on_runtime
from keras_attention.graphs.transformer import STEPS
from keras_attention.text import END, SPECIAL_WORDS, START, Vocabulary, padded
from keras_attention.translation.translator import Translator

pytest.importorskip("onnx", reason="needs the extra onnxruntime")
pytest.importorskip("onnxruntime", reason="needs the extra onnxruntime")

WORDS = 29
SIZES = {"units": 12, "num_heads": 3, "feed_forward_dim": 20, "num_layers": 2}
MODELS = {
    "post-norm": {},
    "pre-norm": {"norm_first": True, "num_decoder_layers": 1, "positions": "interleaved"},
    "tied": {"tied": True, "norm_first": True, "key_dim": 5, "scale_embedding": False},
    "learned": {"positions": "learned", "max_positions": 16},
}
# The seed and the scale of random weights that write different sentences, some of which end
WEIGHTS = {"post-norm": (7, 0.3), "pre-norm": (8, 0.3), "tied": (8, 0.6), "learned": (9, 0.3)}
SEARCHES = {
    "greedy": {},
    "beam": {"beam": 4, "n_best": 2},
    "drawn": {"temperature": 1.0, "top_k": 7, "seed": 3},
}
L = 9
AS_IT_IS = on_runtime.MOST_COPIED


@pytest.fixture(scope="module")
def translators():
    """Return a function that makes a Transformer with random weights, once a name."""
    made = {}
    words = Vocabulary([*SPECIAL_WORDS, *(f"w{number}" for number in range(WORDS - 4))])

    def make(name):
        if name not in made:
            model = models.build_transformer(WORDS, WORDS, **SIZES, **MODELS[name])
            seed, scale = WEIGHTS[name]
            random = np.random.default_rng(seed)
            for weight in model.weights:
                is_matrix = weight.path.endswith(("kernel", "embeddings"))
                values = random.normal(0, scale if is_matrix else 0.1, weight.shape)
                weight.assign(values + weight.path.endswith("gamma"))
            made[name] = Translator(model, words, words)
        made[name].runtime = "keras"
        made[name].run_eagerly = keras.backend.backend() != "jax"
        return made[name]

    return make


def sentences(count, seed=0):
    """Return ids of random sentences of one to nine words."""
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 10, count)
    return padded([[START, *random.integers(4, WORDS, length), END] for length in lengths])


def found_by(translator, runtime, **options):
    translator.runtime = runtime
    return translator.generate(sentences(23), max_length=L, batch_size=8, **options)


def with_small_caches(monkeypatch, most_copied=2):
    """Let a cache with more slots than these grow in place, by three slots at a time."""
    monkeypatch.setattr(on_runtime, "MOST_COPIED", most_copied)
    monkeypatch.setattr(on_runtime, "ROOM", 3)


@pytest.mark.parametrize(
    ("alone", "most_copied"), [(True, AS_IT_IS), (True, 2), (True, 0), (False, 2)]
)
@pytest.mark.parametrize("name", MODELS)
def test_every_step_has_the_logits_of_the_model(name, alone, most_copied, translators, monkeypatch):
    with_small_caches(monkeypatch, most_copied)
    model, context = translators(name).model, sentences(7)
    target = np.random.default_rng(1).integers(4, WORDS, (7, L)).astype("int32")
    expected = ops.convert_to_numpy(model({"context": context, "target": target}))
    runtime = graphs.Runtime(model)
    encoded = runtime.encode(context)
    memory, states = encoded["memory"], [encoded["state"]] * 2
    all_logits, likeliest = (runtime.step(count, alone) for count in (None, 3))
    for place in range(L):
        tokens = ops.convert_to_tensor(target[:, place])
        logits, _, states[0] = all_logits(tokens, memory, states[0])
        best, _, states[1] = likeliest(tokens, memory, states[1])
        np.testing.assert_allclose(logits, expected[:, place], atol=2e-4)
        wanted = candidates(ops.convert_to_tensor(expected[:, place]), 3, START)
        np.testing.assert_array_equal(best.ids, ops.convert_to_numpy(wanted.ids))
        probabilities = ops.convert_to_numpy(wanted.log_probabilities)
        np.testing.assert_allclose(best.log_probabilities, probabilities, atol=2e-4)


@pytest.mark.parametrize(
    ("search", "most_copied"),
    [*((search, AS_IT_IS) for search in SEARCHES), ("greedy", 2), ("drawn", 2)],
)
@pytest.mark.parametrize("name", MODELS)
def test_the_translations_are_those_of_keras(name, search, most_copied, translators, monkeypatch):
    with_small_caches(monkeypatch, most_copied)
    expected = found_by(translators(name), "keras", **SEARCHES[search])
    found = found_by(translators(name), "onnxruntime", **SEARCHES[search])
    for each, other in zip(found, expected, strict=True):
        assert len(each) == len(other)
        for got, wanted in zip(each, other, strict=True):
            np.testing.assert_array_equal(got.tokens, wanted.tokens)
            assert got.finished == wanted.finished
            np.testing.assert_allclose(got[1::2], wanted[1::2], atol=1e-3)
    assert len({tuple(each[0].tokens) for each in found}) > 8
    assert any(each[0].finished for each in found)


def test_a_long_cache_is_written_in_place_and_copied_only_for_more_room(translators, monkeypatch):
    with_small_caches(monkeypatch)
    runtime = graphs.Runtime(translators("tied").model)
    step, encoded = runtime.step(), runtime.encode(sentences(7))
    state, slots, moved = encoded["state"], [], []
    for _ in range(L):
        _, _, after = step(np.full(7, 5), encoded["memory"], state)
        slots.append(after.cache["values_2"].shape()[2])
        moved.append(after.cache["values_2"] is not state.cache["values_2"])
        state = after
    assert slots == [1, 2, 5, 5, 5, 8, 8, 8, 11]
    assert moved == [True, True, True, False, False, True, False, False, True]


def test_rows_of_a_cache_with_empty_slots_go_on_as_they_would_alone(translators, monkeypatch):
    with_small_caches(monkeypatch)
    runtime, context = graphs.Runtime(translators("post-norm").model), sentences(7)
    step, rows = runtime.step(), np.array([4, 1])
    encoded, few = runtime.encode(context), runtime.encode(context[rows])
    tokens = np.random.default_rng(1).integers(4, WORDS, (L, 7))
    memory, state, state_of_few = encoded["memory"], encoded["state"], few["state"]
    for place in range(4):  # then one of five slots is empty
        _, _, state = step(tokens[place], memory, state)
        _, _, state_of_few = step(tokens[place, rows], few["memory"], state_of_few)
    memory, state = step.take((memory, state), rows)
    for place in range(4, L):
        logits, _, state = step(tokens[place, rows], memory, state)
        expected, _, state_of_few = step(tokens[place, rows], few["memory"], state_of_few)
        np.testing.assert_allclose(logits, expected, atol=1e-5)


def test_threads_that_need_a_session_at_the_same_time_share_one(translators, monkeypatch):
    class Slow(on_runtime._Session):
        def __init__(self, graph):
            time.sleep(0.1)
            made.append(graph)
            super().__init__(graph)

    made = []
    with_small_caches(monkeypatch, most_copied=0)
    runtime = graphs.Runtime(translators("tied").model)
    step, states = runtime.step(), [runtime.encode(sentences(3)) for _ in range(4)]
    monkeypatch.setattr(on_runtime, "_Session", Slow)
    with ThreadPoolExecutor(4) as pool:
        found = [*pool.map(lambda state: step(np.full(3, 5), **state)[0], states)]
    assert len(made) == 1
    for logits in found:
        np.testing.assert_array_equal(logits, found[0])


def test_an_unknown_kind_of_step_is_refused(translators):
    with pytest.raises(ValueError, match="one of several, alone, in place, got 'few'"):
        graphs.step_graph(translators("tied").model, kind="few")


def test_what_is_ruled_out_is_never_found_though_it_is_likeliest(translators):
    translator = translators("post-norm")
    logits = translator.model.get_layer("decoder").get_layer("logits")
    before = ops.convert_to_numpy(logits.bias).copy()
    try:
        logits.bias.assign(np.where(np.isin(np.arange(WORDS), (0, START)), 50, before))
        found = found_by(translator, "onnxruntime", beam=2)
        expected = found_by(translators("post-norm"), "keras", beam=2)
    finally:
        logits.bias.assign(before)
    for (got,), (wanted,) in zip(found, expected, strict=True):
        assert START not in got.tokens
        np.testing.assert_array_equal(got.tokens, wanted.tokens)
        np.testing.assert_allclose(got.log_probabilities, wanted.log_probabilities, rtol=1e-4)


def test_a_beam_as_wide_as_the_vocabulary_finds_what_keras_finds(translators):
    expected = found_by(translators("post-norm"), "keras", beam=WORDS)
    found = found_by(translators("post-norm"), "onnxruntime", beam=WORDS)
    for (got,), (wanted,) in zip(found, expected, strict=True):
        np.testing.assert_array_equal(got.tokens, wanted.tokens)


def test_a_vocabulary_of_six_words_is_searched():
    words = Vocabulary([*SPECIAL_WORDS, "casa", "sol"])
    model = models.build_transformer(6, 6, **SIZES)
    bias = model.get_layer("decoder").get_layer("logits").bias
    bias.assign([50, 0, 40, 0, 20, 30])  # what may not be written is likeliest
    for runtime in ("onnxruntime", "keras"):
        translator = Translator(model, words, words)
        translator.runtime = runtime
        ((best,),) = translator.generate(np.array([[START, 4, END]]), max_length=3, beam=2)
        assert list(best.tokens) == [5, 5, 5], runtime


@pytest.mark.parametrize("threads", [1, 3])
def test_a_batch_gives_what_each_sentence_gives_alone(threads, translators, monkeypatch):
    monkeypatch.setattr(on_generator, "count_of_threads", lambda: threads)
    translator = translators("tied")
    together = found_by(translator, "onnxruntime", beam=3)
    for ids, (best,) in zip(sentences(23), together, strict=True):
        ((alone,),) = translator.generate(ids[None], max_length=L, beam=3)
        np.testing.assert_array_equal(alone.tokens, best.tokens)


@pytest.mark.parametrize(
    ("threads", "options", "sizes"),
    [
        (1, {}, [23]),
        (2, {}, [8, 8, 7]),
        (2, {"batch_size": 6}, [6, 6, 6, 5]),
        (2, {"temperature": 1.0}, [23]),
    ],
)
def test_every_thread_has_two_batches_unless_tokens_are_drawn(
    threads, options, sizes, translators, monkeypatch
):
    monkeypatch.setattr(on_threads, "count_of_threads", lambda: threads)
    translator, found = translators("tied"), []
    translator.runtime = "onnxruntime"

    def watched(batches):
        found.extend(sorted(map(len, batches), reverse=True))
        return batches

    translator.generate(sentences(23), max_length=L, progress=watched, **options)
    assert found == sizes


@pytest.mark.parametrize("most_copied", [AS_IT_IS, 0])
def test_eight_bits_are_close_and_a_quarter_as_large(most_copied, translators, monkeypatch):
    with_small_caches(monkeypatch, most_copied)
    model, context = translators("pre-norm").model, sentences(40)
    tokens = np.random.default_rng(1).integers(4, WORDS, 40).astype("int32")
    logits = []
    for int8 in (False, True):
        runtime = graphs.Runtime(model, int8=int8)
        encoded = runtime.encode(context)
        logits.append(runtime.step()(tokens, **encoded)[0])
    error = np.abs(logits[1] - logits[0])
    assert 0 < error.mean() < 0.05 * logits[0].std()
    large = models.build_transformer(400, 400, units=64, num_layers=1, num_heads=4)
    sizes = [len(graphs.step_graph(large, int8=int8)) for int8 in (False, True)]
    embeddings = 4 * 400 * 64  # they are not multiplied
    assert sizes[1] - embeddings < 0.35 * (sizes[0] - embeddings)


@pytest.mark.parametrize("int8", [False, True])
def test_the_graphs_are_valid_onnx(int8, translators):
    import onnx

    model = translators("learned").model
    made = [graphs.encoder_graph(model, int8)]
    made += [graphs.step_graph(model, int8, kind) for kind in STEPS]
    for graph in map(onnx.load_from_string, made):
        onnx.checker.check_model(graph, full_check=True)
        assert {each.domain for each in graph.opset_import} == {""}  # no operations of its own


@pytest.mark.parametrize("runtime", ["keras", "onnxruntime"])
def test_no_translation_is_longer_than_the_model_has_positions(runtime, translators):
    translator = translators("learned")
    translator.runtime = runtime
    translator.generate(sentences(2), max_length=16)
    with pytest.raises(ValueError, match=r"at most 16, the model's positions .* got 17"):
        translator.generate(sentences(2), max_length=17)


def test_another_model_is_refused_and_stays_with_keras():
    words = Vocabulary([*SPECIAL_WORDS, "casa"])
    for build, options, got in (
        (models.build_rnn_attention, {"units": 4}, "got rnn_attention with float32"),
        (
            models.build_transformer,
            {**SIZES, "dtype": "mixed_bfloat16"},
            "got transformer with float32, mixed_bfloat16",
        ),
    ):
        translator = Translator(build(len(words), len(words), **options), words, words)
        assert not graphs.can_compute(translator.model)
        with pytest.raises(ValueError, match=f"a Transformer in float32, {got}"):
            translator.runtime = "onnxruntime"
        assert translator.runtime == "keras"


# Keras tries every layer, and warns of those without weights.
@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize` method implemented")
def test_a_model_with_quantized_weights_is_refused():
    model = models.build_transformer(WORDS, WORDS, **SIZES)
    assert graphs.can_compute(model)
    model.quantize("int8")
    with pytest.raises(ValueError, match="got transformer with float32, int8"):
        graphs.Runtime(model)


def test_an_unknown_runtime_is_refused(translators):
    names = "keras, onnxruntime, onnxruntime-int8"
    with pytest.raises(ValueError, match=f"must be one of {names}, got 'fast'"):
        translators("tied").runtime = "fast"


def test_without_the_libraries_an_error_says_what_to_install(translators, monkeypatch):
    model = translators("tied").model
    assert graphs.can_compute(model)
    monkeypatch.setattr(on_runtime, "missing", lambda names: [*names][:1])
    assert not graphs.can_compute(model)
    with pytest.raises(ImportError, match=r"needs onnx: pip install .*\[onnxruntime\]"):
        translators("tied").runtime = "onnxruntime"

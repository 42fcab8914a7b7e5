"""The kernels of a GPU, which Pallas interprets here."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.kernels import kernel_for_lookup
from keras_attention.ops import lookup, scaled_dot

if keras.backend.backend() != "jax":
    pytest.skip("the kernels are JAX's", allow_module_level=True)

import jax
import jax.numpy as jnp
from jax import export

from keras_attention.kernels.choice import LONGEST
from keras_attention.kernels.fused_lookup import fused_lookup

B, T, S, H, K, V = 2, 11, 19, 3, 24, 40  # no power of two


def inputs(queries=T, keys=S, depth=K, value_dim=V):
    rng = np.random.default_rng(0)
    shapes = (queries, depth), (keys, depth), (keys, value_dim), (queries, value_dim)
    return [rng.normal(size=(B, rows, H, columns)) for rows, columns in shapes]


def masks(queries=T, keys=S):
    rng = np.random.default_rng(1)
    return {
        "everything": None,
        "padding": np.arange(keys) < np.array([[keys - 3], [keys]]),
        "causal": np.tril(np.ones((1, queries, keys), bool)),
        "any": rng.random((B, queries, keys)) < 0.5,
        "nothing": np.arange(keys) < np.array([[0], [keys]]),
    }


def lookup64(query, keys, values, gradient, mask, factors):
    """The oracle: one query at a time, in float64; the read and three gradients."""
    mask = np.ones((1, 1, keys.shape[1]), bool) if mask is None else mask
    mask = mask[:, None] if mask.ndim == 2 else mask
    mask = np.broadcast_to(mask, (B, query.shape[1], keys.shape[1]))
    read = np.zeros((*query.shape[:3], values.shape[-1]))
    of_query, of_keys, of_values = (np.zeros(each.shape) for each in (query, keys, values))
    for b, t, h in np.ndindex(*query.shape[:3]):
        seen = np.flatnonzero(mask[b, t])
        if not len(seen):
            continue
        scores = keys[b, seen, h] @ query[b, t, h] / np.sqrt(query.shape[-1])
        weights = np.exp(scores - scores.max())
        weights /= weights.sum()
        kept = weights * factors[b, t, h, seen]
        read[b, t, h] = kept @ values[b, seen, h]
        # The Jacobian of the softmax, written out
        jacobian = np.diag(weights) - np.outer(weights, weights)
        of_weights = factors[b, t, h, seen] * (values[b, seen, h] @ gradient[b, t, h])
        of_scores = jacobian @ of_weights / np.sqrt(query.shape[-1])
        of_query[b, t, h] = of_scores @ keys[b, seen, h]
        of_keys[b, seen, h] += np.outer(of_scores, query[b, t, h])
        of_values[b, seen, h] += np.outer(kept, gradient[b, t, h])
    return read, of_query, of_keys, of_values


def results(query, keys, values, gradient, mask=None, factors=None):
    """The read and the gradients of query, keys and values."""
    read, pull = jax.vjp(lambda *each: fused_lookup(*each, mask, factors), query, keys, values)
    return read, *pull(gradient)


@pytest.mark.parametrize("are_dropped", [False, True])
@pytest.mark.parametrize("name", masks())
def test_equals_a_loop_over_the_queries_in_float64(name, are_dropped):
    mask, arrays = masks()[name], inputs()
    factors = np.ones((B, T, H, S))
    if are_dropped:
        factors = np.random.default_rng(2).choice([0, 1.25], factors.shape)
    found = results(
        *(jnp.asarray(each, "float32") for each in arrays),
        None if mask is None else jnp.asarray(mask),
        jnp.asarray(factors, "float32") if are_dropped else None,
    )
    for one, expected in zip(found, lookup64(*arrays, mask, factors), strict=True):
        np.testing.assert_allclose(np.asarray(one), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(16, 16, 16, 16), (2, 1, 8, 8), (100, 128, 64, 48)], ids=str)
def test_in_half_precision_no_less_exact_than_scores_in_memory(shape):
    arrays = [jnp.asarray(each, "bfloat16") for each in inputs(*shape)]
    mask = jnp.asarray(masks(*shape[:2])["any"])

    def plain(query, keys, values):
        query, keys, values = (ops.swapaxes(each, 1, 2) for each in (query, keys, values))
        return ops.swapaxes(lookup(scaled_dot(query, keys), values, mask).read, 1, 2)

    *of, gradient = arrays
    read, pull = jax.vjp(plain, *of)
    exact = lookup64(
        *(np.asarray(each, "float64") for each in arrays),
        np.asarray(mask),
        np.ones((B, shape[0], H, shape[1])),
    )
    for one, other, expected in zip(
        results(*arrays, mask), (read, *pull(gradient)), exact, strict=True
    ):
        assert one.dtype == "bfloat16"
        errors = [np.linalg.norm(np.asarray(x, "float64") - expected) for x in (one, other)]
        assert errors[0] <= 1.1 * errors[1] + 1e-9


def test_a_layer_reads_the_same_with_the_kernel(monkeypatch):
    """Also in training, when it drops some weights."""
    from keras_attention.layers import MultiHeadAttention, multi_head_attention

    layer = MultiHeadAttention(num_heads=H, key_dim=8, dropout=0.25)
    query, memory = (ops.convert_to_tensor(each[:, :, 0], "float32") for each in inputs()[:2])
    mask = ops.convert_to_tensor(masks()["padding"])
    options = {"attention_mask": mask, "return_attention_scores": True}
    expected = layer(query, memory, **options)
    calls = []

    def kernel(*arguments):
        calls.append(arguments)
        return fused_lookup(*arguments)

    monkeypatch.setattr(multi_head_attention, "kernel_for_lookup", lambda *_: kernel)
    for one, other in zip(layer(query, memory, **options), expected, strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), atol=1e-5)
    layer(query, memory, **options, training=True)
    dropped, kept = calls[-1][-1], calls[0][-1]
    assert np.unique(kept).tolist() == [1]
    np.testing.assert_allclose(np.unique(dropped), [0, 1 / (1 - 0.25)])


# JAX 0.11 warns before it asks for a GPU; where Triton is missing the package does without.
@pytest.mark.filterwarnings("ignore:The Pallas Triton backend is deprecated:DeprecationWarning")
def test_a_program_of_a_gpu_can_be_written(monkeypatch):
    """The interpreter takes what no GPU does, such as matrices whose sides are no power of two."""
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    arrays = [jnp.asarray(each, "bfloat16") for each in inputs()]
    mask, factors = jnp.asarray(masks()["any"]), jnp.ones((B, T, H, S), "bfloat16")
    target = "__gpu$xla.gpu.triton"
    try:
        program = export.export(
            jax.jit(results),
            platforms=["cuda"],
            disabled_checks=[export.DisabledSafetyCheck.custom_call(target)],
        )(*arrays, mask, factors)
    except RuntimeError as error:  # of a JAX that asks the GPU what it can do
        pytest.skip(str(error))
    assert program.mlir_module().count(f"@{target}(") == 2


def test_is_taken_only_where_it_is_faster(monkeypatch):
    assert kernel_for_lookup(64, 64, "bfloat16") is None  # on a CPU

    class Device:
        compute_capability = "9.0"

    monkeypatch.setattr(jax, "devices", lambda: [Device])
    assert kernel_for_lookup(64, 64, "bfloat16") is fused_lookup
    assert kernel_for_lookup(2, LONGEST, "float16") is fused_lookup
    for queries, keys, dtype in [
        (1, 64, "bfloat16"),  # a step of decoding
        (None, 64, "bfloat16"),  # a model that is being built
        (64, LONGEST + 1, "bfloat16"),
        (64, 64, "float32"),
    ]:
        assert kernel_for_lookup(queries, keys, dtype) is None
    for capability, expected in [("7.5", None), ("10.3", fused_lookup), ("gfx942", None)]:
        Device.compute_capability = capability
        assert kernel_for_lookup(64, 64, "bfloat16") is expected
    monkeypatch.setattr(keras.distribution, "distribution", lambda: "several devices")
    Device.compute_capability = "9.0"
    assert kernel_for_lookup(64, 64, "bfloat16") is None


def test_a_mask_of_one_column_is_one_for_all_keys():
    query, keys, values, _ = (jnp.asarray(each, "float32") for each in inputs(keys=11))
    mask = jnp.arange(T)[None, :, None] < 7
    whole = jnp.broadcast_to(mask, (1, T, 11))
    found = fused_lookup(query, keys, values, mask)
    np.testing.assert_array_equal(found, fused_lookup(query, keys, values, whole))

import pytest

pytest.importorskip("jax", reason="needs the extra jax")

import jax
import jax.numpy as jnp

from keras_attention.compiling.matrices import matrix_flops


def flops_of(function, *shapes, rounds=1):
    arrays = [jax.ShapeDtypeStruct(shape, "float32") for shape in shapes]
    return matrix_flops(jax.make_jaxpr(function)(*arrays), rounds)


def test_a_product_of_matrices():
    assert flops_of(jnp.matmul, (3, 5), (5, 7)) == 2 * 3 * 5 * 7


def test_a_product_a_row_of_the_batch():
    assert flops_of(jnp.matmul, (11, 3, 5), (11, 5, 7)) == 11 * 2 * 3 * 5 * 7


def test_a_convolution():
    def convolve(x, kernel):
        return jax.lax.conv_general_dilated(
            x, kernel, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    # 6 × 5 places of 11 sums over 3 × 3 × 7 numbers
    assert flops_of(convolve, (2, 12, 10, 7), (3, 3, 7, 11)) == 2 * 2 * 6 * 5 * 11 * 3 * 3 * 7


def test_additions_are_not_counted():
    assert flops_of(lambda x: x + x, (3, 5)) == 0


def test_a_loop_counts_as_often_as_it_goes_round():
    def scan(x, w):
        return jax.lax.scan(lambda x, _: (x @ w, None), x, None, length=13)[0]

    def loop(x, w):
        return jax.lax.while_loop(lambda x: x.sum() < 5, lambda x: x @ w, x)

    once = 2 * 3 * 5 * 5
    assert flops_of(scan, (3, 5), (5, 5)) == 13 * once
    assert flops_of(loop, (3, 5), (5, 5), rounds=17) == 17 * once


def test_of_two_branches_the_dearer_counts():
    def choose(x, w):
        return jax.lax.cond(x.sum() > 0, lambda x: x @ w, lambda x: x @ w @ w, x)

    assert flops_of(choose, (3, 5), (5, 5)) == 2 * 2 * 3 * 5 * 5


def test_a_gradient_costs_twice_as_much_again():
    def loss(w, x):
        return jax.jit(lambda w: (x @ w).sum())(w)

    # The gradients of both factors
    gradient = jax.grad(loss, argnums=(0, 1))
    assert flops_of(gradient, (5, 7), (3, 5)) == 3 * 2 * 3 * 5 * 7

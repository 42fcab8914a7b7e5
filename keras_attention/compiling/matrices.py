"""Count the work of a traced program: the operations of its matrix products."""

from math import prod
from typing import Any

# XLA's own count includes each loop only once; this one includes every iteration.


def matrix_flops(jaxpr: Any, rounds: int = 1) -> int:
    """Return the operations of all matrix products and convolutions of a traced program.

    A product of (M, K) and (K, N) has 2 · M · K · N operations. Of several branches, only
    the most expensive counts.

    Args:
        jaxpr: from `jax.jit(f).trace(...).jaxpr` or `jax.make_jaxpr`.
        rounds: iterations of a loop of unknown length.
    """
    return sum(_flops(equation, rounds) for equation in getattr(jaxpr, "jaxpr", jaxpr).eqns)


def _flops(equation, rounds):
    name, parameters = equation.primitive.name, equation.params
    if name == "dot_general":
        (contracted, _), _ = parameters["dimension_numbers"]
        shape = equation.invars[0].aval.shape
        inner = prod(shape[axis] for axis in contracted)
        return 2 * inner * prod(equation.outvars[0].aval.shape)
    if name == "conv_general_dilated":
        kernel = equation.invars[1].aval.shape
        outputs = kernel[parameters["dimension_numbers"].rhs_spec[0]]
        return 2 * prod(kernel) // outputs * prod(equation.outvars[0].aval.shape)
    inside = [matrix_flops(each, rounds) for each in _jaxprs(parameters)]
    if name == "cond":
        return max(inside)
    times = {"scan": parameters.get("length", 1), "while": rounds}.get(name, 1)
    return times * sum(inside)


def _jaxprs(parameters):
    """Return the programs among the parameters of an equation."""
    values = []
    for value in parameters.values():
        values += value if isinstance(value, (list, tuple)) else [value]
    return [value for value in values if hasattr(value, "eqns") or hasattr(value, "jaxpr")]

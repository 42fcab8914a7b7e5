"""An ONNX graph, written one operation at a time."""

from collections.abc import Mapping
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from keras_attention.types import Array

OPSET = 17  # the first with a layer norm
FORMAT = 8  # of the file: the one of that opset
# An eighth bit would overflow on CPUs without VNNI, which add two products in 16 bits
_LARGEST = 63


class Tensor(NamedTuple):
    """What goes into a graph or comes out of it: its dtype, such as `"FLOAT"`, and its shape.

    A name in the shape is a size that a call may choose.
    """

    dtype: str
    shape: tuple[int | str, ...]


class Graph:
    """Operations and weights, in the order in which they are added.

    Calling a graph adds an operation and returns the name of its output. Arrays among the inputs
    become weights.

    Args:
        int8: whether `product` multiplies integers of eight bits.
    """

    def __init__(self, int8: bool = False):
        self.int8 = int8
        self._nodes: list[Any] = []
        self._weights: list[Any] = []
        self._rounded: dict[str, list[str]] = {}
        self._numbers = count(1)

    def __call__(self, kind: str, *inputs: Any, name: str | None = None, **attributes: Any) -> str:
        """Add an operation with one output.

        Args:
            kind: the operation, such as `"Add"`.
            *inputs: names of earlier outputs or of inputs of the graph, and arrays.
            name: of the output.
            **attributes: of the operation.
        """
        return self.several(kind, *inputs, names=[name or self._new(kind)], **attributes)[0]

    def several(self, kind: str, *inputs: Any, names: list[str], **attributes: Any) -> list[str]:
        """Add an operation whose outputs have these names, and return them."""
        from onnx import helper

        given = [each if isinstance(each, str) else self._weight(each) for each in inputs]
        self._nodes.append(helper.make_node(kind, given, names, **attributes))
        return names

    def product(self, x: str, kernel: Array, bias: Array, name: str | None = None) -> str:
        """Multiply rows by a matrix and add a bias: (N, F), (F, G) and (G,) → (N, G).

        With `int8`, both are rounded: x with one scale, the matrix with one for each column.
        """
        if not self.int8:
            return self("Gemm", x, kernel, bias, name=name)
        if x not in self._rounded:
            names = [self._new(part) for part in ("rounded", "scale", "zero")]
            self._rounded[x] = self.several("DynamicQuantizeLinear", x, names=names)
        rounded, scale, zero = self._rounded[x]
        scales = np.maximum(np.abs(kernel).max(axis=0), 1e-12) / np.float32(_LARGEST)
        integers = np.round(kernel / scales).astype("int8")
        sums = self("MatMulInteger", rounded, integers, zero, np.zeros(len(scales), "int8"))
        numbers = self("Mul", self.cast(sums, "FLOAT"), self("Mul", scale, scales))
        return self("Add", numbers, bias, name=name)

    def cast(self, x: str, dtype: str, **options: Any) -> str:
        """Convert to a dtype, such as `"FLOAT"` or `"INT32"`."""
        return self("Cast", x, to=self._type(dtype), **options)

    def serialized(self, inputs: Mapping[str, Tensor], outputs: Mapping[str, Tensor]) -> bytes:
        """Return the graph as a file has it, with its inputs and outputs by name."""
        from onnx import helper

        def described(tensors):
            return [
                helper.make_tensor_value_info(name, self._type(each.dtype), each.shape)
                for name, each in tensors.items()
            ]

        sides = described(inputs), described(outputs)
        graph = helper.make_graph(self._nodes, "graph", *sides, self._weights)
        opset = helper.make_opsetid("", OPSET)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=FORMAT)
        return model.SerializeToString()

    def _weight(self, array):
        from onnx import numpy_helper

        name = self._new("weight")
        self._weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def _new(self, kind):
        return f"{kind}_{next(self._numbers)}"

    @staticmethod
    def _type(dtype):
        from onnx import TensorProto

        return getattr(TensorProto, dtype)

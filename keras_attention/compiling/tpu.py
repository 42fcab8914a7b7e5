"""Compile the programs of models for TPUs, on any machine, and report the compiler's figures.

The batch is divided among the chips, and every chip has all weights: data parallelism, as in
`keras.distribution.DataParallel`.
"""

import importlib.metadata
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from keras import tree

from keras_attention.compiling import hlo
from keras_attention.compiling.matrices import matrix_flops
from keras_attention.compiling.programs import (
    MODELS,
    Program,
    Sizes,
    check_backend,
    check_model,
    programs_of,
)
from keras_attention.compiling.topologies import Topology, check_installed


@dataclass(frozen=True)
class Compiled:
    """The compiler's report on a program. Sizes are bytes on each device.

    Attributes:
        model: name of the model.
        step: "training", "decoding", "writing" or "forward".
        seconds: duration of the compilation.
        arguments: weights, the optimizer's state, and the device's part of the batch.
        output: results of the program.
        aliased: the part of the output that reuses the memory of arguments.
        temporaries: memory for intermediate values, except those kept beside the chip's cores.
        code: the program itself.
        matrix_flops: operations of all matrix products of one run over the whole batch, on all
            devices together, with the maximum number of iterations of each loop.
        flops: operations on each device as XLA counts them: each loop counts once.
        bytes_accessed: bytes that each device reads and writes, counted in the same way.
        collectives: one `hlo.Collective` per kind.
        loops: the maximum number of iterations of each loop.
        host_calls: calls to the host during a run; there should be none.
        dynamic_shapes: types whose size is known only at run time; there should be none.
        error: why the program does not compile, with all sizes 0; None if it compiles.
    """

    model: str
    step: str
    seconds: float = 0.0
    arguments: int = 0
    output: int = 0
    aliased: int = 0
    temporaries: int = 0
    code: int = 0
    matrix_flops: int = 0
    flops: float = 0.0
    bytes_accessed: float = 0.0
    collectives: tuple[hlo.Collective, ...] = ()
    loops: tuple[int | None, ...] = ()
    host_calls: tuple[str, ...] = ()
    dynamic_shapes: tuple[str, ...] = ()
    error: str | None = None

    @property
    def memory(self) -> int:
        """Bytes that the program needs on a device in all."""
        return self.arguments + self.output - self.aliased + self.temporaries + self.code


def versions() -> dict[str, str]:
    """Return the versions of Keras, JAX and libtpu, by name."""
    return {name: importlib.metadata.version(name) for name in ("keras", "jax", "libtpu")}


def check(
    names: Sequence[str],
    topology: Topology,
    sizes: Sizes,
    progress: Callable[[str], Callable[[Iterable[Any]], Iterable[Any]]] = lambda description: iter,
) -> list[Compiled]:
    """Compile the programs of models for a slice of TPUs.

    Args:
        names: names of models from `programs.MODELS`; "all" among them selects every model.
        topology: from `topologies.describe`.
        sizes: `programs.Sizes`.
        progress: `progress(description)` returns a function that wraps a list, such as a progress
            bar.

    Returns:
        A list of `Compiled`: for each model its training step and the program that uses it.

    Raises:
        ImportError: JAX or libtpu is missing.
        ValueError: the backend is not JAX, there is no such model, the batch cannot be divided
            among the devices, or a model cannot have these sizes.
    """
    check_installed()
    check_backend()
    names = MODELS if "all" in names else tuple(dict.fromkeys(names))
    for name in names:
        check_model(name)
    count = len(topology.devices)
    if sizes.batch_size % count:
        raise ValueError(
            f"batch_size must be a multiple of the {count} devices of {topology.name}, got "
            f"{sizes.batch_size}"
        )
    # Build all models first, so that a size that does not fit is reported before any compilation.
    programs = [each for name in progress("Building")(names) for each in programs_of(name, sizes)]
    compiling = progress(f"Compiling for {topology.name}")
    return [compile_program(program, topology) for program in compiling(programs)]


def compile_program(program: Program, topology: Topology) -> Compiled:
    """Compile a `Program` for a slice of TPUs, and return the compiler's report."""
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(topology.devices), ("batch",))
    everywhere = NamedSharding(mesh, PartitionSpec())
    divided = NamedSharding(mesh, PartitionSpec("batch"))

    def described(arrays, sharding):
        return tree.map_structure(
            lambda array: jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=sharding), arrays
        )

    trains = program.step == "training"
    function = jax.jit(
        program.function,
        donate_argnums=(0,) if trains else (),
        out_shardings=(None, everywhere),
    )
    begun = time.perf_counter()
    try:
        traced = function.trace(
            described(program.state, everywhere), described(program.data, divided)
        )
        compiled = traced.lower().compile()
    except (
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:  # the errors of JAX and XLA are among these
        reason = " ".join(str(error).split())
        return Compiled(program.model, program.step, error=reason or type(error).__name__)
    seconds = time.perf_counter() - begun
    return Compiled(
        program.model,
        program.step,
        seconds=round(seconds, 2),
        matrix_flops=matrix_flops(traced.jaxpr, program.rounds),
        **_figures(compiled),
    )


def _figures(compiled):
    """Return the figures of a compiled program of JAX, as fields of `Compiled`."""
    memory, text = compiled.memory_analysis(), compiled.as_text()
    cost = compiled.cost_analysis()
    cost = cost[0] if isinstance(cost, list) else cost  # older versions of JAX give a list
    return {
        "arguments": memory.argument_size_in_bytes,
        "output": memory.output_size_in_bytes,
        "aliased": memory.alias_size_in_bytes,
        "temporaries": memory.temp_size_in_bytes,
        "code": memory.generated_code_size_in_bytes,
        "flops": cost.get("flops", 0.0),
        "bytes_accessed": cost.get("bytes accessed", 0.0),
        "collectives": tuple(hlo.collectives(text)),
        "loops": tuple(hlo.loops(text)),
        "host_calls": tuple(hlo.host_calls(text)),
        "dynamic_shapes": tuple(hlo.dynamic_shapes(text)),
    }

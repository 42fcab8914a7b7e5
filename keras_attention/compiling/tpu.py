"""Compiling the programs of models for TPUs that need not be there, and what their compiler says.

The batch is divided among the chips, the weights are on all of them: data parallelism, as
`keras.distribution.DataParallel` has it.
"""

import importlib.metadata
import time
from dataclasses import dataclass

import numpy as np
from keras import tree

from keras_attention.compiling import hlo
from keras_attention.compiling.matrices import matrix_flops
from keras_attention.compiling.programs import MODELS, check_backend, check_model, programs_of
from keras_attention.compiling.topologies import check_installed


@dataclass(frozen=True)
class Compiled:
    """What the compiler says of a program. Sizes are bytes on each device.

    Attributes:
        model: name of the model.
        step: "training", "decoding", "writing" or "forward".
        seconds: that compiling took.
        arguments: weights, state of the optimizer, and the device's share of the batch.
        output: what comes out of the program.
        aliased: of the output, what takes the place of arguments.
        temporaries: memory for what is in between, beyond what the chip keeps beside its cores.
        code: the program itself.
        matrix_flops: operations of all matrix products of one run over the whole batch, on all
            devices together; loops count as often as they go round at most.
        flops: operations on each device, as XLA counts them: each loop as if it went round once.
        bytes_accessed: on each device, counted in the same way.
        collectives: a `hlo.Collective` a kind.
        loops: how often each loop goes round at most.
        host_calls: where it needs the host while it runs: nowhere, if all is well.
        dynamic_shapes: types whose size is known only when it runs: none, if all is well.
        error: why it does not compile, and then all sizes are 0; None: it does.
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
    collectives: tuple = ()
    loops: tuple = ()
    host_calls: tuple = ()
    dynamic_shapes: tuple = ()
    error: str | None = None

    @property
    def memory(self):
        """Bytes of a device that the program needs in all."""
        return self.arguments + self.output - self.aliased + self.temporaries + self.code


def versions():
    """Return the versions of what compiles, by name."""
    return {name: importlib.metadata.version(name) for name in ("keras", "jax", "libtpu")}


def check(names, topology, sizes, progress=lambda description: iter):
    """Compile the programs of models for a slice of TPUs.

    Args:
        names: list of names of models, of `programs.MODELS`; with "all" in it, all of them.
        topology: from `topologies.describe`.
        sizes: `programs.Sizes`.
        progress: `progress(description)` returns what wraps a list that is worked through, such as
            a bar.

    Returns:
        A list of `Compiled`: of each model the training step and its use.

    Raises:
        ImportError: JAX or libtpu is missing.
        ValueError: Keras is not on JAX, there is no such model, the batch cannot be divided among
            the devices, or a model cannot be of such a size.
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
    # All of them first, so that a size that a model cannot have is found before anything takes time
    programs = [each for name in progress("Building")(names) for each in programs_of(name, sizes)]
    compiling = progress(f"Compiling for {topology.name}")
    return [compile_program(program, topology) for program in compiling(programs)]


def compile_program(program, topology):
    """Compile a `Program` for a slice of TPUs; return what came of it, a `Compiled`."""
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
    except (RuntimeError, TypeError, ValueError) as error:  # JAX's and XLA's own are among these
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
    """Return what a compiled program of JAX says of itself, as fields of `Compiled`."""
    memory, text = compiled.memory_analysis(), compiled.as_text()
    cost = compiled.cost_analysis()
    cost = cost[0] if isinstance(cost, list) else cost  # one a program, in older versions of JAX
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

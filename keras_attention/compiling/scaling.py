"""Estimate the duration of a training step on a slice of TPUs: a calculation, not a measurement.

    seconds = max(operations / (utilization · peak), bytes / bandwidth) + bytes between chips / link

Operations, bytes and bytes between chips are the compiler's figures; peak, bandwidth and link are
those of the generation. The utilization, the fraction of the peak that a model reaches, is measured
on another machine; the calculation assumes that the chips reach it too.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

from keras_attention.compiling.topologies import Topology

if TYPE_CHECKING:  # it needs Keras, which this module must not load
    from keras_attention.compiling.tpu import Compiled


class Estimate(NamedTuple):
    """Seconds of a step, by cause.

    Attributes:
        computing: matrix products, at the given utilization of the peak.
        memory: reading and writing the weights, the optimizer's state and the batch once;
            intermediate values are not included.
        summing: a ring all-reduce of the gradients: what each chip sends and receives. The chips
            are assumed to do nothing else meanwhile.
    """

    computing: float
    memory: float
    summing: float

    @property
    def seconds(self) -> float:
        """Seconds of the whole step."""
        return max(self.computing, self.memory) + self.summing


def check_utilization(utilization: float, topology: Topology) -> None:
    """Check that `estimate` has the figures that it needs.

    Raises:
        ValueError: the utilization is not above 0 and at most 1, or the generation or the bandwidth
            of its links is unknown.
    """
    if not 0 < utilization <= 1:
        raise ValueError(f"utilization must be above 0 and at most 1, got {utilization}")
    generation = topology.generation
    if generation is None or (topology.chips > 1 and generation.link is None):
        raise ValueError(
            "utilization needs a known generation and, for several chips, its links: one of v5e, "
            f"v5p, v6e and tpu7x, got "
            f"{topology.name}"
        )


def estimate(report: "Compiled", topology: Topology, utilization: float) -> Estimate:
    """Estimate the duration of a step.

    Args:
        report: `tpu.Compiled` of a program for the topology.
        topology: `topologies.Topology`.
        utilization: fraction of the generation's bfloat16 peak that the matrix products reach.

    Returns:
        An `Estimate`.

    Raises:
        ValueError: as for `check_utilization`.
    """
    check_utilization(utilization, topology)
    generation: Any = topology.generation  # not None, as was just checked
    chips = topology.chips
    per_chip = len(topology.devices) // chips  # devices; the report's figures are per device
    said = per_chip * sum(each.bytes for each in report.collectives)
    moved = 4 * (chips - 1) / chips * said  # sent and received, in both halves of an all-reduce
    return Estimate(
        computing=report.matrix_flops / chips / (utilization * generation.peak * 1e12),
        memory=per_chip * (report.arguments + report.output) / (generation.bandwidth * 1e9),
        summing=moved / (generation.link * 1e9) if chips > 1 else 0.0,
    )

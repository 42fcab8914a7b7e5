"""What a training step would take on a slice of TPUs: a calculation, not a measurement.

    seconds = max(operations / (utilization · peak), bytes / bandwidth) + bytes between chips / link

Operations, bytes and what chips say to one another are the compiler's figures; peak, bandwidth and
link are the generation's. The utilization, the fraction of the peak that a model reaches, is
measured where there is a machine to measure it on; the calculation supposes that a chip reaches it
as well.
"""

from typing import NamedTuple


class Estimate(NamedTuple):
    """Seconds of a step, by what takes them.

    Attributes:
        computing: matrix products, at the utilization of the peak.
        memory: weights, state of the optimizer and batch, read and written once; what is in between
            comes on top and is not counted.
        talking: a ring all-reduce of the gradients; what each chip sends and receives. Chips are
            supposed to do nothing else meanwhile.
    """

    computing: float
    memory: float
    talking: float

    @property
    def seconds(self):
        """Seconds of the step."""
        return max(self.computing, self.memory) + self.talking


def check_utilization(utilization, topology):
    """Check that there is something to calculate with.

    Raises:
        ValueError: the utilization is not above 0 and at most 1, or nothing is known of the
            generation or of its links.
    """
    if not 0 < utilization <= 1:
        raise ValueError(f"utilization must be above 0 and at most 1, got {utilization}")
    generation = topology.generation
    if generation is None or (topology.chips > 1 and generation.link is None):
        raise ValueError(
            f"utilization needs a generation whose links are known (v5e, v5p, v6e, tpu7x), got "
            f"{topology.name}"
        )


def estimate(report, topology, utilization):
    """Calculate what a step would take.

    Args:
        report: `tpu.Compiled` of a program for the topology.
        topology: `topologies.Topology`.
        utilization: of the generation's bfloat16 peak that the matrix products reach.

    Returns:
        An `Estimate`.

    Raises:
        ValueError: as for `check_utilization`.
    """
    check_utilization(utilization, topology)
    generation, chips = topology.generation, topology.chips
    per_chip = len(topology.devices) // chips  # devices, over which a chip's figures are divided
    said = per_chip * sum(each.bytes for each in report.collectives)
    moved = 4 * (chips - 1) / chips * said  # sent and received, in both halves of an all-reduce
    return Estimate(
        computing=report.matrix_flops / chips / (utilization * generation.peak * 1e12),
        memory=per_chip * (report.arguments + report.output) / (generation.bandwidth * 1e9),
        talking=moved / (generation.link * 1e9) if chips > 1 else 0.0,
    )

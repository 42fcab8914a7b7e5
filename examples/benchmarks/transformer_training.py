"""Training the Transformer: by batch size, by length, and the share of the matrix peak.

Beside KerasHub's layers and `nn.Transformer`. The tutorial's sizes with tied logits and label
smoothing 0.1; without dropout, which every implementation has in other places, so that it would not
be the same work. Theory: at the sizes of a sentence nearly all operations are products with
weights, so that time should grow with the number of places, and tokens a second with the share of
them that are tokens.
"""

from examples.benchmarks import training
from examples.benchmarks.subject import Subject

CONTESTANTS = (
    training.OURS,
    training.HUB,
    training.TORCH,
    training.TORCH_BFLOAT16,
    training.WITH_XLA,
)
EVERYWHERE = (training.OURS, training.TORCH)
ALIKE = (training.HUB, training.TORCH_BFLOAT16)


def measure(options, progress):
    """Train in turns."""
    return training.measure_by_length(
        options, progress, "transformer", CONTESTANTS, EVERYWHERE, ALIKE, (128, 64, 32)
    )


def figures(raw):
    """Hold what was measured to its bars."""
    return [
        *training.against(raw, training.TORCH, (1.2, 2), bar_of_same=(1.4, 2)),
        *training.against(raw, training.HUB, (1.5, 3)),
        *training.against(raw, training.TORCH_BFLOAT16),
        *training.against(raw, training.WITH_XLA),
        *training.shares_of_peak(raw, (40, 60)),
    ]


SUBJECT = Subject(
    "Training the Transformer, beside KerasHub's layers and PyTorch's, on batches that each makes "
    "itself, and on the same ones; and the share of the peak.",
    measure,
    figures,
    training.tables,
    training.draw,
    pools=("transformer",),
)

"""Training a Transformer of the sizes of `keras-attention train --model transformer`, by length.

It is wider and less deep than the tutorial's, with fewer and deeper heads and half the vocabulary,
so that its products are larger. Beside it stands `nn.Transformer` of the same sizes, both with
norms behind their blocks, Adam and no dropout, as in `transformer-training`. The share of the
matrix peak is that of the recipe itself, as `train` has it: with norms before the blocks, dropout,
Muon, whose products do not count as work, and batches of 3,072 tokens. XLA, which the package
leaves out on a CPU under TensorFlow, is beside it, too.
"""

from examples.benchmarks import training
from examples.benchmarks.subject import Subject

CONTESTANTS = (training.OURS, training.RECIPE, training.WITH_XLA, training.TORCH)
EVERYWHERE = (training.OURS, training.TORCH)


def measure(options, progress):
    """Train in turns."""
    return training.measure_by_length(
        options, progress, "recipe", CONTESTANTS, EVERYWHERE, (), (256,)
    )


def figures(raw):
    """Hold what was measured to its bars."""
    return [
        *training.shares_of_peak(raw, (40, 50), of=training.RECIPE),
        *training.against(raw, training.TORCH),
        *training.against(raw, training.WITH_XLA),
        *training.against(raw, training.RECIPE),
    ]


SUBJECT = Subject(
    "Training a Transformer of the sizes of the package's recipe, beside PyTorch's; and the share "
    "of the peak that the recipe itself reaches.",
    measure,
    figures,
    training.tables,
    training.draw,
    pools=("recipe",),
)

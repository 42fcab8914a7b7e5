"""Training the Transformer of `keras-attention train --model transformer`, by length.

Its sizes are those of the package's own recipe: wider and less deep than the tutorial's, with fewer
and deeper heads and half the vocabulary, so that its products are larger. Beside it stands
`nn.Transformer` of the same sizes. As in `transformer-training` nobody drops anything, but the
share of the matrix peak is that of the recipe, with its dropout. XLA, which the package leaves out
on a CPU under TensorFlow, is beside it, too.
"""

from examples.benchmarks import training
from examples.benchmarks.subject import Subject

CONTESTANTS = (training.OURS, training.DROPPED, training.WITH_XLA, training.TORCH)
EVERYWHERE = (training.OURS, training.TORCH)


def measure(options, progress):
    """Train in turns."""
    return training.measure_by_length(options, progress, "recipe", CONTESTANTS, EVERYWHERE, (256,))


def figures(raw):
    """Hold what was measured to its bars."""
    return [
        *training.shares_of_peak(raw, (40, 50), of=training.DROPPED),
        *training.against(raw, training.TORCH),
        *training.against(raw, training.WITH_XLA),
        *training.against(raw, training.DROPPED),
    ]


SUBJECT = Subject(
    "Training the Transformer of the package's recipe, beside PyTorch's, and the share of the peak "
    "with its dropout.",
    measure,
    figures,
    training.tables,
    training.draw,
    pools=("recipe",),
)

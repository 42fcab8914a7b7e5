"""Training the RNN with attention: by batch size, and by the length of the sentences.

The tutorial's model, against the same in PyTorch and in plain Keras, which has the tutorial's loss
and metrics, and beside it those of this package. Theory: on the same batches, what is saved is what
Keras does between its kernels, and the products of words that a batch repeats; on batches of its
own each pays for its padding, too. Beside it stands this package with XLA, which it leaves out on a
CPU under TensorFlow.

All processes keep the memory that they free, as `keras-attention train` does; beside them stands
this package with freed memory given back. TensorFlow multiplies with oneDNN in all processes, which
without the command line it does on some CPUs only, and PyTorch's Adam is fused.
"""

from examples.benchmarks import training
from examples.benchmarks.subject import Subject

CONTESTANTS = (
    training.OURS,
    training.PLAIN,
    training.TORCH,
    training.PLAIN_OUR_LOSS,
    training.TORCH_BFLOAT16,
    training.RETURNED,
    training.WITH_XLA,
)
EVERYWHERE = (training.OURS, training.TORCH)
ALIKE = (training.PLAIN, training.PLAIN_OUR_LOSS, training.TORCH_BFLOAT16)


def measure(options, progress):
    """Train in turns."""
    return training.measure_by_length(
        options, progress, "rnn", CONTESTANTS, EVERYWHERE, ALIKE, (64, 256)
    )


def figures(raw):
    """Hold what was measured to its bars."""
    return [
        *training.against(raw, training.PLAIN, (2.5, 4)),
        *training.against(raw, training.PLAIN_OUR_LOSS, (2.5, 4)),
        *training.against(raw, training.TORCH, (1.3, 2), bar_of_same=(1.3, 1.6)),
        *training.against(raw, training.TORCH_BFLOAT16),
        *training.against(raw, training.RETURNED),
        *training.against(raw, training.WITH_XLA),
        *training.shares_of_peak(raw),
    ]


SUBJECT = Subject(
    "Training the RNN with attention, beside plain Keras and PyTorch, on batches that each makes "
    "itself, and on the same ones. All keep freed memory; TensorFlow multiplies with oneDNN. "
    "Shares of the peak count the products of every word, also where this package multiplies a "
    "word that a batch repeats only once.",
    measure,
    figures,
    training.tables,
    training.draw,
    pools=("rnn",),
)

"""Training the base Transformer of the paper in bfloat16, 65,536 tokens a side and step.

The sizes are those of Vaswani et al. (2017), section 3: 6 + 6 layers 512 wide, 8 heads, a feed-
forward network of 2,048, about 37,000 word pieces. A batch has 1,024 pairs of 64 tokens, without
padding. The ids are drawn at random, with the frequencies of Zipf's law, as words have them: what a
step takes does not depend on what they mean. This is work for a GPU or a TPU. On a CPU a batch has
four pairs, so that the same command ends there, too. Float32, which needs more memory, has a
quarter of the batch, with bfloat16 beside it.

Beside it stands `nn.Transformer` as PyTorch's own compiler makes it, with PyTorch's fused attention
and its fused Adam. Nobody drops anything; what the dropout of the paper, 0.1, costs this package is
a figure of its own. The peak is that of a product of two large square matrices in bfloat16.
"""

import numpy as np

from examples.benchmarks import batches, machine, training
from examples.benchmarks.subject import Subject
from examples.benchmarks.training import (
    BFLOAT16,
    DROPPED_BFLOAT16,
    OURS,
    TORCH_BFLOAT16,
    TORCH_COMPILED,
)

SIZES = {
    "units": 512,
    "vocabulary": 37_000,
    "num_layers": 6,
    "num_heads": 8,
    "feed_forward_dim": 2048,
}
QUICK_SIZES = SIZES | {"units": 64, "vocabulary": 500, "num_layers": 1, "feed_forward_dim": 128}
LENGTH = 64
SPECIAL = 4  # ids of padding, unknown words, start and end
LARGE = (BFLOAT16, DROPPED_BFLOAT16, TORCH_COMPILED)
SMALL = (BFLOAT16, OURS, TORCH_BFLOAT16)


def measure(options, progress):
    """Train in turns: one batch size after the other, since all at once fill a GPU's memory."""
    sizes = QUICK_SIZES if options.quick else SIZES
    pairs, steps = (1024, 32) if machine.has_accelerator() and not options.quick else (4, 2)
    pool = drawn(4 * pairs, sizes["vocabulary"])
    rows = np.arange(4 * pairs)
    large, small = (
        training.measure(
            options,
            progress,
            "transformer",
            contestants,
            {f"{count} pairs of {LENGTH} tokens": batches.Condition(rows, count, steps)},
            sizes,
            pool,
            ours=BFLOAT16,
            peak_in="bfloat16",
        )
        for count, contestants in ((pairs, LARGE), (pairs // 4, SMALL))
    )
    return {**large, "measured": {**large["measured"], **small["measured"]}}


def drawn(pairs, vocabulary):
    """Draw pairs of ids: contexts (N, 64), targets (N, 65), of which 64 have a label."""
    rng = np.random.default_rng(0)
    frequencies = 1 / np.arange(1, vocabulary - SPECIAL + 1)
    frequencies /= frequencies.sum()
    return [
        rng.choice(vocabulary - SPECIAL, (pairs, length), p=frequencies).astype("int32") + SPECIAL
        for length in (LENGTH, LENGTH + 1)
    ]


def figures(raw):
    """Hold what was measured to its bars."""
    return [
        *training.shares_of_peak(raw, (45, 60), of=BFLOAT16)[:1],
        *training.against(raw, TORCH_COMPILED, (1, 1.3), of=BFLOAT16),
        *training.against(raw, TORCH_BFLOAT16, of=BFLOAT16),
        *training.against(raw, OURS, of=BFLOAT16),
        *training.against(raw, DROPPED_BFLOAT16, of=BFLOAT16),
    ]


SUBJECT = Subject(
    "Training the paper's base Transformer in bfloat16, for a GPU or a TPU: the share of the peak, "
    "beside PyTorch compiled.",
    measure,
    figures,
    training.tables,
    training.draw,
)

"""How many numbers a step must keep at one time, by formula: the least memory that it can do with.

Training with Adam keeps four numbers for each weight: itself, its two moments and its gradient. Of
the forward pass it keeps what the gradients are computed from: the inputs of each product and of
each norm, the weights of each softmax, and the logits with their gradient. Decoding keeps the
weights, the keys and values of the memory, and after the encoder a cache and two arrays of logits
for each of its hypotheses. What exists for a moment is left out; and a compiler that applies each
gradient as soon as it is there can do with a little less.

The letters are those of `flops`, with H heads and W hypotheses. For each sentence of a Transformer:

    training   encoder, a layer    S·(8·D + F) + H·S²
               decoder, a layer    T·(12·D + F) + 2·S·D + H·T² + H·T·S
               logits              2·T·V
    decoding   memory              2·N·S·D
               the larger of       S·(5·D + F) + H·S²    a layer of the encoder
                                   W·(2·N·T·D + 2·V)     the loop

and of the RNN with attention, where a step of a GRU keeps its input, its state, its three gates and
what the reset gate is multiplied by:

    training   encoder             11·S·D                in both directions
               decoder             9·T·D + 2·S·D + T·S
               logits              2·T·V
    decoding   memory              2·S·D
               the larger of       11·S·D, W·(D + 2·V)
"""

BYTES = 4  # of a number in float32


def transformer(sizes, source, target, batch, hypotheses):
    """Return the bytes of a training step and of decoding, for a batch of sentences."""
    s, t, w = source, target, hypotheses
    d, v, n, h, f = (
        sizes[name]
        for name in ("units", "vocabulary", "num_layers", "num_heads", "feed_forward_dim")
    )
    weights = 3 * v * d + n * (12 * d**2 + 4 * d * f)
    encoder = s * (8 * d + f) + h * s**2
    decoder = t * (12 * d + f) + 2 * s * d + h * t**2 + h * t * s
    loop = w * (2 * n * t * d + 2 * v)
    return {
        "train": BYTES * (4 * weights + batch * (n * (encoder + decoder) + 2 * t * v)),
        "decode": BYTES
        * (weights + batch * (2 * n * s * d + max(s * (5 * d + f) + h * s**2, loop))),
    }


def rnn(sizes, source, target, batch, hypotheses):
    """Return the same for the RNN with attention."""
    s, t, w, d, v = source, target, hypotheses, sizes["units"], sizes["vocabulary"]
    weights = 3 * v * d + 22 * d**2
    kept = 11 * s * d + 9 * t * d + 2 * s * d + t * s + 2 * t * v
    return {
        "train": BYTES * (4 * weights + batch * kept),
        "decode": BYTES * (weights + batch * (2 * s * d + max(11 * s * d, w * (d + 2 * v)))),
    }


MODELS = {"rnn": rnn, "transformer": transformer}


def of_step(work, model, sizes, source, target, batch, hypotheses=1):
    """Return the bytes that a step must keep.

    Args:
        work: "train" or "decode".
        model: its kind.
        sizes: of the model.
        source: tokens, S.
        target: tokens, T.
        batch: sentences.
        hypotheses: of a beam search, W.
    """
    return MODELS[model](sizes, source, target, batch, hypotheses)[work]

"""How many floating point operations a model takes, by formula: matrix products alone.

A product of (n, m) and (m, p) takes 2·n·m·p. Softmax, norms, activations and the optimizer are left
out, as is usual. A training step takes three times the forward pass: each product has two more for
its gradients. These are the operations of the equations, not of a program: a GRU of this package
multiplies a word that a batch repeats only once (`keras_attention.kernels.embedding`).

With S source and T target tokens, width D, vocabulary V, and for a Transformer N layers, width F of
its feed-forward networks, and heads that are together as wide as the model:

    encoder, a layer      8·S·D² + 4·S²·D + 4·S·D·F
    decoder, a layer      8·T·D² + 4·T²·D      its own past
                        + 4·T·D² + 4·S·D²      the memory: queries and reads, keys and values
                        + 4·T·S·D + 4·T·D·F
    logits                2·T·D·V

and for the RNN with attention, where a GRU takes 12·D² a token:

    encoder               24·S·D²              in both directions
    decoder               12·T·D² + 4·T·D² + 4·S·D² + 4·T·S·D
    logits                2·T·D·V

In a beam search each hypothesis takes what one sentence does, but for the source: the encoder, and
the keys and values of the memory, 4·S·D² a layer, are of all.
"""


def transformer(source, target, *, units, num_layers, feed_forward_dim, vocabulary, hypotheses=1):
    """Return the operations of a forward pass of one sentence pair; numbers or arrays of them."""
    s, t, d = source, target, units
    encoder = 8 * s * d**2 + 4 * s**2 * d + 4 * s * d * feed_forward_dim
    the_source = encoder + 4 * s * d**2
    own_past = 8 * t * d**2 + 4 * t**2 * d
    the_memory = 4 * t * d**2 + 4 * t * s * d
    decoder = own_past + the_memory + 4 * t * d * feed_forward_dim
    each = num_layers * decoder + 2 * t * d * vocabulary
    return num_layers * the_source + hypotheses * each


def rnn(source, target, *, units, vocabulary, hypotheses=1):
    """Return the same for the RNN with attention."""
    s, t, d = source, target, units
    the_source = 24 * s * d**2 + 4 * s * d**2
    decoder = 12 * t * d**2 + 4 * t * d**2 + 4 * t * s * d
    return the_source + hypotheses * (decoder + 2 * t * d * vocabulary)


MODELS = {"rnn": rnn, "transformer": transformer}


def forward(model, source, target, sizes, hypotheses=1):
    """Return the operations of a forward pass of a model by its name and sizes."""
    takes = {"units", "vocabulary"}
    takes |= {"num_layers", "feed_forward_dim"} if model == "transformer" else set()
    own = {name: sizes[name] for name in takes}
    return MODELS[model](source, target, **own, hypotheses=hypotheses)

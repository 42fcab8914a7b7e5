"""The end-to-end memory network: it answers a question by attending to a story several times.

m_i = Σ_j l_j ⊙ A x_ij + T_A(i);   u = Σ_j l_j ⊙ B q_j;   u ← u + Σ_i p_i c_i;   logits = W u
"""

from functools import partial

import keras
from keras import layers, ops
from keras.initializers import RandomNormal

from keras_attention.layers import BagOfWords, MemoryHop, MemoryTimes
from keras_attention.models.encoder_decoder import check_sizes

TYINGS = ("adjacent", "layerwise")


def build_memory_network(
    vocabulary_size: int,
    units: int = 20,
    hops: int = 3,
    memory_size: int = 50,
    tying: str = "adjacent",
    times: bool = True,
    encode_positions: bool = True,
    noise: float = 0.1,
    linear_start: bool = True,
    dtype: str | keras.DTypePolicy | None = None,
    name: str = "memory_network",
) -> keras.Model:
    """Build the network of Sukhbaatar et al. (2015) that answers questions about a story.

    Each sentence of the story is a key m_i and a value c_i. The question attends to sentences that
    resemble it, adds what it read, and attends again with the sum.

    Args:
        vocabulary_size: number of ids, V, of words and answers alike; 0 is padding.
        units: width of all embeddings, the paper's d.
        hops: number of attention steps, the paper's K.
        memory_size: maximum number of sentences in a story.
        tying: `"adjacent"`: the values of one hop are the keys of the next, A^{k+1} = C^k, with
            B = A¹ and Wᵀ = C^K; or `"layerwise"`: all hops share A and C, and a matrix H maps
            the query of one hop to that of the next, as in a recurrent network. B and W are then
            separate matrices.
        times: whether each sentence has embeddings T_A and T_C of its time; without them the order
            of the story is lost.
        encode_positions: whether the order of the words in a sentence counts.
        noise: probability, in training, that a time is skipped, see `MemoryTimes`.
        linear_start: whether training can begin without the softmax, see `set_linear`.
        dtype: dtype or dtype policy of the layers, such as `"mixed_bfloat16"`; None: the default.
        name: name of the model.

    Returns:
        A functional `keras.Model`: `{"question": ids (B, J), "story": ids (B, S, J)}` → logits
        (B, V). The latest sentence of the story comes first, empty sentences last. The view
        `memory_hops` shows the weights.

    Raises:
        ValueError: the tying is unknown, or a number is not positive.

    References:
        Sukhbaatar, Szlam, Weston, Fergus (2015), End-to-end memory networks, arXiv:1503.08895.
    """
    check_sizes(vocabulary_size=vocabulary_size, units=units, hops=hops, memory_size=memory_size)
    if tying not in TYINGS:
        raise ValueError(f"tying must be one of {', '.join(TYINGS)}, got {tying!r}")
    adjacent = tying == "adjacent"

    # Layers
    def make_bag(name):
        return BagOfWords(vocabulary_size, units, encode_positions, name=name, dtype=dtype)

    memories = range(hops + 1 if adjacent else 2)  # A¹, C¹ = A², …, C^K; or A, C
    sentence_bags = [make_bag(f"sentences_{k}") for k in memories]
    when = MemoryTimes(memory_size, noise, name="when", dtype=dtype)
    time_embeddings = [
        layers.Embedding(
            memory_size, units, RandomNormal(stddev=0.1), name=f"times_{k}", dtype=dtype
        )
        for k in memories
    ]
    question_bag = sentence_bags[0] if adjacent else make_bag("question_bag")
    hop_layers = [
        MemoryHop(not adjacent, linear_start, name=f"hop_{k}", dtype=dtype)
        for k in range(1, hops + 1)
    ]
    if adjacent:
        to_logits = partial(sentence_bags[-1], reverse=True)
    else:
        to_logits = layers.Dense(vocabulary_size, use_bias=False, name="logits", dtype=dtype)

    # Model
    question = keras.Input((None,), dtype="int32", name="question")
    story = keras.Input((None, None), dtype="int32", name="story")
    filled = ops.any(ops.not_equal(story, 0), axis=-1)
    memory = [bag(story) for bag in sentence_bags]
    if times:
        indices = when(story)
        memory = [m + embed(indices) for m, embed in zip(memory, time_embeddings, strict=True)]
    u = question_bag(question)
    for k, hop in enumerate(hop_layers):
        keys, values = memory[k : k + 2] if adjacent else memory
        u, _ = hop(u, values, keys, attention_mask=filled, return_attention_scores=True)
    return keras.Model({"question": question, "story": story}, to_logits(u), name=name)


def memory_hops(model: keras.Model) -> keras.Model:
    """Return the view of a memory network that shows its attention.

    Args:
        model: from `build_memory_network`.

    Returns:
        A functional `keras.Model` with the inputs of the model and the outputs `{"logits": (B, V),
        "weights": (B, hops, S)}`.
    """
    weights = [hop.output[1][..., 0] for hop in _hops(model)]
    inputs = {tensor.name: tensor for tensor in model.inputs}
    outputs = {"logits": model.output, "weights": ops.stack(weights, axis=1)}
    return keras.Model(inputs, outputs, name=f"{model.name}_hops")


def set_linear(model: keras.Model, linear: bool) -> None:
    """Remove or restore the softmax of all hops; compiled programs stay valid.

    Args:
        model: from `build_memory_network`, with `linear_start`.
        linear: whether to remove the softmax.

    Raises:
        ValueError: the model was built without `linear_start`.
    """
    for hop in _hops(model):
        if not hop.linear_start:
            raise ValueError(f"{model.name} was built without linear_start; its softmax stays")
        hop.linear.assign(float(linear))


def _hops(model):
    return [layer for layer in model.layers if isinstance(layer, MemoryHop)]

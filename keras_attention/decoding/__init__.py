"""From logits to sentences: greedy decoding, sampling and beam search over a `step`.

    step(tokens (B,), memory, state) → logits (B, V), weights, state

Decoding knows no model: `memory` and `state` are any structures of tensors with the batch first, so
one loop serves recurrent networks and Transformers alike. The weights of a step are not kept: to
see what a model attended to, feed it the chosen tokens all at once.

The samplers of KerasNLP call `next(prompt, cache, index)`. They have no length penalty and accept
no random numbers from outside, so these functions are tested against them, not built on them.
"""

from keras_attention.decoding.beam import beam_search
from keras_attention.decoding.generator import DirectGenerator, Generator, Search
from keras_attention.decoding.options import Generated, check_options
from keras_attention.decoding.programs import Programs
from keras_attention.decoding.sampling import generate

__all__ = [
    "generate",
    "beam_search",
    "DirectGenerator",
    "Generated",
    "Generator",
    "Programs",
    "Search",
    "check_options",
]

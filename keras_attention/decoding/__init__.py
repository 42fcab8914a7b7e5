"""From logits to sentences: greedy decoding, sampling and beam search over a `step`.

    step(tokens (B,), memory, state) → logits (B, V), weights, state

Knows no model: `memory` and `state` are any structures of tensors with the batch first, so that one
loop serves recurrent networks and Transformers alike. The weights of a step are not kept: whoever
wants to know where a model looked feeds it the chosen tokens, all at once.

The samplers of KerasNLP drive a `next(prompt, cache, index)` and have neither a length penalty nor
draws from outside; so they are what these functions are tested against, not what they are made of.
"""

from keras_attention.decoding.beam import beam_search
from keras_attention.decoding.generator import Generator
from keras_attention.decoding.options import Generated, check_options
from keras_attention.decoding.programs import Programs
from keras_attention.decoding.sampling import generate

__all__ = ["generate", "beam_search", "Generated", "Generator", "Programs", "check_options"]

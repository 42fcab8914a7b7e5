"""A Transformer as ONNX graphs, which ONNX Runtime computes: nothing is compiled, any shape fits.

A compiled loop needs constant shapes, so it computes empty slots of a cache, and sentences that
have ended until a quarter is left; and it must be compiled, which takes longer than translating
thousands of sentences. Here one graph encodes and one makes a step, the cache grows by a slot for
each token, and a sentence leaves the batch soon after its end. A greedy search writes its tokens
into the cache from the 65th on, when a copy would take long. The search is the same.
"""

from keras_attention.graphs.runtime import Runtime, can_compute
from keras_attention.graphs.transformer import encoder_graph, step_graph

__all__ = ["Runtime", "can_compute", "encoder_graph", "step_graph"]

"""Pictures of attention weights and of training: from arrays and token lists to matplotlib.

No function here needs a model: weights and words suffice. Nothing calls `plt.show`. A picture with
a `path` is written to that file, whole or not at all, and leaves no figure behind. A picture
without one is an ordinary pyplot figure, so a notebook shows it below the cell.
"""

from keras_attention.plotting.attention import plot_attention
from keras_attention.plotting.clips import plot_clip_attention
from keras_attention.plotting.coloured import (
    animate_attention,
    check_animation_path,
    plot_coloured_text,
)
from keras_attention.plotting.curves import plot_curves
from keras_attention.plotting.diagrams import Diagram, diagram
from keras_attention.plotting.figures import check_plot_path, page_style
from keras_attention.plotting.glimpses import plot_glimpses
from keras_attention.plotting.grid import plot_attention_grid
from keras_attention.plotting.history import plot_history
from keras_attention.plotting.hops import plot_hops
from keras_attention.plotting.lengths import plot_by_length
from keras_attention.plotting.merging import merge_tokens, merge_words
from keras_attention.plotting.patterns import plot_patterns
from keras_attention.plotting.positions import plot_positions
from keras_attention.plotting.tapes import plot_tapes

__all__ = [
    "Diagram",
    "animate_attention",
    "check_animation_path",
    "check_plot_path",
    "diagram",
    "plot_attention",
    "plot_attention_grid",
    "merge_tokens",
    "merge_words",
    "page_style",
    "plot_by_length",
    "plot_clip_attention",
    "plot_coloured_text",
    "plot_curves",
    "plot_glimpses",
    "plot_history",
    "plot_hops",
    "plot_patterns",
    "plot_positions",
    "plot_tapes",
]

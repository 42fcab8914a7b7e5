"""The examples of the lab: generators and readers of toy data, in NumPy alone.

Every generator takes a `numpy.random.Generator` and draws fresh examples, so that a model cannot
memorize them. Nothing here knows a model.
"""

from keras_attention.lab.tasks.algorithms import (
    Sequences,
    associative_recall,
    copy,
    repeat_copy,
)
from keras_attention.lab.tasks.characters import (
    RECALL_CHARACTERS,
    Characters,
    Recall,
    covering_windows,
    draw_windows,
    is_tiny_shakespeare,
    key_recall,
    load_text,
    split_text,
)
from keras_attention.lab.tasks.clips import Clips, draw_clips
from keras_attention.lab.tasks.digits import Digits, Scenes, load_digits, scatter_digits
from keras_attention.lab.tasks.frames import SILENCE, Speech, speak
from keras_attention.lab.tasks.stories import (
    Question,
    generate_stories,
    learn_words,
    load_babi,
    read_stories,
    story_arrays,
)

__all__ = [
    "RECALL_CHARACTERS",
    "SILENCE",
    "Characters",
    "Clips",
    "Digits",
    "Question",
    "Recall",
    "Scenes",
    "Sequences",
    "Speech",
    "associative_recall",
    "copy",
    "covering_windows",
    "draw_clips",
    "draw_windows",
    "generate_stories",
    "is_tiny_shakespeare",
    "key_recall",
    "learn_words",
    "load_babi",
    "load_digits",
    "load_text",
    "read_stories",
    "repeat_copy",
    "scatter_digits",
    "speak",
    "split_text",
    "story_arrays",
]

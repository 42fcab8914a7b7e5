"""One training run, from a corpus to a folder with everything in it; and several side by side."""

from keras_attention.runs.comparison import compare
from keras_attention.runs.run import (
    HISTORY_FILE,
    build,
    check_model,
    check_no_run,
    ensure,
    read_settings,
    train,
)
from keras_attention.runs.settings import Settings

__all__ = [
    "HISTORY_FILE",
    "Settings",
    "build",
    "check_model",
    "check_no_run",
    "compare",
    "ensure",
    "read_settings",
    "train",
]

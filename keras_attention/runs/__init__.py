"""One training run, from a corpus to a folder with all results; and comparisons of runs.

- `settings`: `Settings`, which determine the outcome of a run.
- `run`: `train`, and functions that resume a run or load a finished one.
- `callbacks`: heat maps and BLEU after every epoch.
- `comparison`: runs with and without attention, side by side.
"""

import lazy_loader

# The command line reads `Settings` for its help, without Keras.
__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["callbacks", "comparison", "run", "settings"],
    submod_attrs={
        "comparison": ["compare"],
        "run": [
            "HISTORY_FILE",
            "build",
            "builder_of",
            "check_model",
            "check_no_run",
            "compile_model",
            "ensure",
            "read_settings",
            "train",
        ],
        "settings": ["Settings"],
    },
)

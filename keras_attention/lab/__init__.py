"""The lab: the notes' claims about attention and memory, each shown by a run that can be repeated.

Each module holds a family of experiments: examples from `tasks`, a model from `models`, the same
model without its mechanism, figures with the bars that they must reach, and pictures.
"""

from keras_attention.lab import (
    algorithms,
    captions,
    characters,
    ctc,
    estimators,
    glimpses,
    hopfield,
    stories,
)
from keras_attention.lab.experiment import Experiment, perform
from keras_attention.lab.report import Figure, Report
from keras_attention.lab.run_all import PAGE_FILE, perform_all, runs_of

EXPERIMENTS = {
    **algorithms.EXPERIMENTS,
    **stories.EXPERIMENTS,
    **glimpses.EXPERIMENTS,
    **captions.EXPERIMENTS,
    **characters.EXPERIMENTS,
    **ctc.EXPERIMENTS,
    **hopfield.EXPERIMENTS,
    **estimators.EXPERIMENTS,
}

__all__ = [
    "EXPERIMENTS",
    "PAGE_FILE",
    "Experiment",
    "Figure",
    "Report",
    "perform",
    "perform_all",
    "runs_of",
]

"""All subjects, in the order in which they are measured."""

from examples.benchmarks import (
    choices,
    decoding,
    growth,
    many_sentences,
    memory,
    memory_growth,
    paper_training,
    recipe_training,
    rnn_training,
    start_up,
    transformer_training,
)

SUBJECTS = {
    "rnn-training": rnn_training.SUBJECT,
    "transformer-training": transformer_training.SUBJECT,
    "recipe-training": recipe_training.SUBJECT,
    "paper-training": paper_training.SUBJECT,
    "choices": choices.SUBJECT,
    "decoding": decoding.SUBJECT,
    "many-sentences": many_sentences.SUBJECT,
    "memory": memory.SUBJECT,
    "start-up": start_up.SUBJECT,
    "growth": growth.SUBJECT,
    "memory-growth": memory_growth.SUBJECT,
}


def chosen(names=()):
    """Return the subjects of some names, in their order; of no names: all.

    Raises:
        ValueError: there is no such subject.
    """
    unknown = [name for name in names if name not in SUBJECTS]
    if unknown:
        raise ValueError(f"no subject {unknown[0]!r}; there are {', '.join(SUBJECTS)}")
    return {name: each for name, each in SUBJECTS.items() if not names or name in names}

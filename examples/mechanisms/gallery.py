"""All tasks, in reading order."""

from examples.mechanisms import decoders, heads, past, reading, scores, transformer

TASKS = {
    task.mechanism: task
    for family in (scores, reading, past, decoders, heads, transformer)
    for task in family.TASKS
}


def chosen(names=()):
    """Return the tasks of these names, in reading order; all where none is named.

    Raises:
        ValueError: there is no task of a name.
    """
    for name in names:
        if name not in TASKS:
            raise ValueError(f"no task {name!r}; there are {', '.join(map(repr, TASKS))}")
    return [task for name, task in TASKS.items() if not names or name in names]

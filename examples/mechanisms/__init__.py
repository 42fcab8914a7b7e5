"""For every mechanism a task that a small model learns with it, and does not learn without it.

    python -m examples.mechanisms                       # all tasks, three seeds: a table, a picture
    python -m examples.mechanisms --task cosine         # one of them, while reading its file

In reading order: `task` says what a task is and how it is measured; `answers`, where the answers
stand; `scores`, `reading`, `past`, `decoders`, `heads` and `transformer` hold the tasks, a family a
file; `gallery` lists them all; `report` makes the table and its picture; `portraits` draws where
each layer looks; `__main__` is the command.
"""

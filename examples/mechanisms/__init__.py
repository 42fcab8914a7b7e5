"""For every mechanism a task that a small model learns with it, and does not learn without it.

    python -m examples.mechanisms                       # all tasks, three seeds: a table, a picture
    python -m examples.mechanisms --task cosine         # one of them, while reading its file

In reading order: `task` says what a task is and how it is measured; `scores`, `reading`, `past`,
`decoders` and `heads` hold the tasks, a family a file; `gallery` lists them all; `report` makes the
table and the pictures; `__main__` is the command.
"""

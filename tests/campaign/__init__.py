"""A campaign against faults, wrong input and load; what came of it is in docs/reliability.md.

- `kills`: training that is killed, ended, out of disk or out of power, and then resumed.
- `processes`: training in several processes, of which one is killed, stopped or slowed.
- `inputs`: wrong, strange and hostile input.
- `numbers`: every layer and builder with numbers at their limits, on each backend.
- `load`: many translations in one process, and a page with many clients.
- `children`: processes in which the command line runs, forked from one that has imported Keras.
"""

"""A campaign against faults, wrong input and load; what came of it is in docs/reliability.md.

- `children`: processes in which the command line runs, forked from one that has imported Keras.
- `kills`: training that is killed, ended, out of disk or out of power, and then resumed.
"""

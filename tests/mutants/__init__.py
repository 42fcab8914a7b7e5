"""Which small changes of the package its tests notice: `python -m tests.mutants`, `make mutants`.

A mutant is the package with one small mistake: a `<` that became `<=`, a 1 that became 2, a branch
turned round. Tests that still pass do not say what that line is for. cosmic-ray knows the mistakes
and writes the mutants; the tests of the mutated room are run against each of a fixed sample.

In reading order:

- `rooms`: what is mutated, and the tests of each.
- `population`: every mutant of the rooms, and the sample.
- `loader`: a process imports a mutant, while no file changes.
- `child`: one process, which runs the tests of a room against one mutant.
- `forks`: such processes, two at a time, forked after TensorFlow was imported once.
- `record`: what came out so far, kept in a file, so that an interrupted run can go on.
- `campaign`: a room must pass as it is; then each mutant, the everyday suite first.
- `report`: a table by room, and the survivors.
"""

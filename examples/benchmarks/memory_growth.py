"""How memory grows with lengths, batch, vocabulary, width, layers and beam.

The memory is that of XLA's program, as the compiler states it: what the program is given, what it
returns elsewhere, and what it keeps on the way. Nothing runs. Theory is the least that a step must
keep, in `footprint`. Weights and their moments do not grow with a sentence or a batch, so an
exponent starts near 0 and comes to that of the theory where sentences are most of the memory.
"""

from functools import partial

from examples.benchmarks import footprint, growing
from examples.benchmarks.subject import Subject, held
from examples.benchmarks.workers import started


def least(kind, point):
    """Return the least bytes that the step of a point must keep."""
    return footprint.of_step(point.work, kind, point.model, *point.call)


MEMORY = growing.Cost(
    name="memory",
    field="bytes",
    unit="MB",
    units=1e-6,
    theory=least,
    is_shape=False,
    dotted="the least that a step must keep",
)


def measure(options, progress):
    """Compile both models along each axis, a process for each model and its sizes."""
    found = {}
    for name, kind in growing.MODELS.items():
        points = growing.points(kind, options.sizes[kind], options.quick)
        progress.expect(len(points))
        memory = {}
        for sizes, group in growing.by_model(points):
            arguments = {"kind": kind, "sizes": sizes}
            with started({name: ("endless", "Compiler", arguments)}) as workers:
                for point in group:
                    progress.doing(f"{point.name}: {name}")
                    memory[point.name] = [workers[name].ask(point.work, *point.call)]
                    progress.done()
        found[name] = growing.by_axis(points, memory, MEMORY.field)
    return growing.measured(options, found)


def figures(raw):
    """Give the memory against the least, for short and long sentences, and the exponents."""
    result = []
    for name, work, axis, sizes, found, least in growing.lines(raw, MEMORY):
        if axis == "target":
            for at in (0, -1):
                title = (
                    f"memory against the least, {growing.WORDS[work]}, {sizes[at]} tokens, {name}"
                )
                result.append(held(title, [found[at] / least[at]], "×"))
    return result + growing.figures(raw, MEMORY)


SUBJECT = Subject(
    "How the memory of XLA's programs (on JAX) grows along the same axes, beside theory.",
    measure,
    figures,
    partial(growing.tables, cost=MEMORY),
    partial(growing.draw, cost=MEMORY),
)

"""How time grows with lengths, batch, vocabulary, width, layers and beam.

Theory is the operations in `flops`, three times the forward pass for a step of training. Where
sentences are short the products with weights are nearly everything, and they grow with the number
of tokens: the exponent is between that of what does not grow (the other sentence, the logits) and
1; attention's S², S·T and T² come in only where a sentence is longer than the model is wide, and
then pull it towards 2. With the vocabulary only the logits grow; with the width the products with
weights, exponent 2, and the logits, exponent 1; with the layers all but the logits; with the beam
all but the encoder. With the batch everything does, exponent 1, and less as long as a machine is
not busy with few sentences.

Decoding with a cache computes what a forward pass does, one token after the other: the same
operations, T² in attention to the past included, if keys and values of the memory are computed
once. So a token of a long sentence costs about what one of a short sentence does. The bars are time
by tokens, of 256 against of 16, and differences, from 64 to 256 tokens against from 16 to 64, in
which what a call costs at any length does not count. An untrained model is made never to end a
sentence, so that lengths are as asked for.
"""

from functools import partial

from examples.benchmarks import flops, growing
from examples.benchmarks.subject import Subject, held, is_there, left_out
from examples.benchmarks.workers import Job, started, take_turns


def operations(kind, point):
    """Return the operations of a point."""
    source, target, batch, *hypotheses = point.call
    forward = flops.forward(kind, source, target, point.model, *hypotheses)
    return batch * forward * (3 if point.work == "train" else 1)


TIME = growing.Cost(
    name="time",
    field="seconds",
    unit="ms",
    units=1000,
    theory=operations,
    is_shape=True,
    dotted="the operations that it takes",
)


def measure(options, progress):
    """Let both models grow along each axis, a process for each model and its sizes.

    ONNX Runtime, where it is installed, decodes with the Transformer.
    """
    found = {}
    names = growing.KIND_OF if is_there("ONNX Runtime") else growing.MODELS
    for name, kind in names.items():
        points = growing.points(kind, options.sizes[kind], options.quick)
        arguments = {"kind": kind}
        if name == growing.ON_ONNX_RUNTIME:
            points = [point for point in points if point.work == "decode"]
            arguments["runtime"] = "onnxruntime"
        seconds = {}
        for sizes, group in growing.by_model(points):
            jobs = [Job(point.name, point.work, point.call) for point in group]
            of_all = {**arguments, "sizes": sizes}
            with started({name: ("endless", "Endless", of_all)}) as workers:
                timed = take_turns(workers, jobs, options.rounds, progress)
            seconds |= {job: each[name].seconds for job, each in timed.items()}
        found[name] = growing.by_axis(points, seconds, TIME.field)
    return {**growing.measured(options, found), "left_out": left_out(["ONNX Runtime"])}


def time_a_token(sizes, seconds):
    """Return how much longer a token takes in the longest sentence than in the shortest.

    Args:
        sizes: tokens, from few to many.
        seconds: by size.
    """
    return seconds[-1] / sizes[-1] / (seconds[0] / sizes[0])


def time_of_a_further_token(sizes, seconds):
    """Return how much longer a further token takes between the last two sizes than before them.

    Args:
        sizes: tokens, at least three sizes, from few to many.
        seconds: by size.
    """
    (short, *_, middle, long), (few, *_, some, most) = sizes, seconds
    return (most - some) / (long - middle) / ((some - few) / (middle - short))


def figures(raw):
    """Hold what was measured to its bars, and give the exponents."""
    result = []
    for name in reversed(raw["measured"]):
        found = raw["measured"][name]["decode"]["target"]
        sizes, rounds = found["sizes"], list(zip(*found["seconds"], strict=True))
        short, *_, middle, long = sizes
        bars = (None, None) if name == "RNN" else ((1.5, None), (1.3, 1.1))
        tokens = [time_a_token(sizes, seconds) for seconds in rounds]
        title = f"time a token, {long} tokens against {short}, cached, {name}"
        result.append(held(title, tokens, "×", at_most=bars[0]))
        further = [time_of_a_further_token(sizes, seconds) for seconds in rounds]
        title = f"a further token from {middle} to {long} against from {short} to {middle}, {name}"
        result.append(held(title, further, "×", at_most=bars[1]))
    return result + growing.figures(raw, TIME)


SUBJECT = Subject(
    "How time grows with lengths, batch, vocabulary, width, layers and beam, beside theory.",
    measure,
    figures,
    partial(growing.tables, cost=TIME),
    partial(growing.draw, cost=TIME),
)

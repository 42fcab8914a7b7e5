"""Implementations that take turns, each in a process of its own.

In one process the idle threads of one framework slow down the next. So each has its own, and waits
while another is timed; and since they take turns, round by round, whatever else the machine does
hits all alike.
"""

import importlib
import multiprocessing
import os
import textwrap
import time
import traceback
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from examples.benchmarks import machine


class Job(NamedTuple):
    """Something that each worker does in each round: a method and its arguments."""

    name: str
    method: str
    arguments: tuple = ()


class Timed(NamedTuple):
    """What a worker took for a job.

    Attributes:
        first: seconds of the first time, when everything is compiled.
        seconds: of the rounds that follow.
        answers: what the method returned in each of these.
    """

    first: float
    seconds: list
    answers: list


class WorkerError(RuntimeError):
    """A process that could not do its work: one line says which one, what, and why.

    Args:
        name: of the process.
        doing: what it was to do.
        report: what it left, a traceback, whose last line is the reason.

    Attributes:
        report: the same.
    """

    def __init__(self, name, doing, report):
        *_, reason = [line.strip() for line in report.splitlines() if line.strip()] or ["?"]
        super().__init__(f"{name} failed at {doing}: {reason}")
        self.report = report


class Worker:
    """A process with one object in it, whose methods are called from here.

    Args:
        name: for messages.
        make: name of a module of this package, and of the class in it of which the process makes
            the object: by name, so that nothing of it is loaded here.
        **arguments: of the class.

    Attributes:
        name: the same.
        process: the `multiprocessing.Process`.

    Raises:
        WorkerError: the object could not be made, a method raised, or the process died.
    """

    def __init__(self, name, make, **arguments):
        processes = multiprocessing.get_context("spawn")
        self.name = name
        self._pipe, there = processes.Pipe()
        self.process = processes.Process(target=_serve, args=(there, make, arguments), daemon=True)
        self.process.start()
        there.close()
        try:
            self._answer("its start")
        except BaseException:
            self.close()
            raise

    def call(self, method, *arguments):
        """Call a method; return its seconds, and what it returned."""
        written = textwrap.shorten(", ".join(map(str, arguments)), 60, placeholder=" …")
        doing = f"{method}({written})" if written else method
        try:
            self._pipe.send((method, arguments))
        except OSError:
            raise self._died(doing) from None
        return self._answer(doing)

    def ask(self, method, *arguments):
        """Call a method; return what it returned."""
        return self.call(method, *arguments)[1]

    def memory(self):
        """Return the memory of the process in MB: at its start, now, and at most since."""
        return self.ask("memory of the process")

    def close(self):
        """End the process."""
        self._pipe.close()  # the other end reads the end of the file
        self.process.join(10)
        if self.process.is_alive():
            self.process.terminate()
            self.process.join()

    def _answer(self, doing):
        try:
            seconds, answer, error = self._pipe.recv()
        except (EOFError, OSError):
            raise self._died(doing) from None
        if error:
            raise WorkerError(self.name, doing, error)
        return seconds, answer

    def _died(self, doing):
        self.process.join(10)
        code = self.process.exitcode
        how = f"by signal {-code}" if code and code < 0 else f"with exit code {code}"
        return WorkerError(self.name, doing, f"its process ended {how}")


def _serve(pipe, names, arguments):
    """Make an object, and call its methods as they are asked for, until the pipe is closed."""
    # What frameworks log from C++ would tear the progress bar; errors come through the pipe.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    at_start = machine.memory()

    def make(**arguments):
        module, name = names
        return getattr(importlib.import_module(f"{__package__}.{module}"), name)(**arguments)

    def perform(function, arguments, options):
        begun = time.perf_counter()
        try:
            answer, error = function(*arguments, **options), None
        except Exception:
            answer, error = None, traceback.format_exc()
        pipe.send((time.perf_counter() - begun, None if function is make else answer, error))
        return answer

    made = perform(make, (), arguments)
    while True:
        try:
            method, values = pipe.recv()
        except (EOFError, OSError):
            return
        if method == "memory of the process":
            perform(lambda: {**machine.memory(), "start": at_start["now"]}, (), {})
        else:
            perform(getattr(made, method), values, {})


@contextmanager
def started(makers):
    """Start workers by name, one after the other, and end them with the block.

    Args:
        makers: by name: a module, a class of it, and a dictionary of its arguments.
    """
    with ExitStack() as stack:
        workers = {}
        for name, (*make, arguments) in makers.items():
            workers[name] = Worker(name, make, **arguments)
            stack.callback(workers[name].close)
        yield workers


def take_turns(workers, jobs, rounds, progress, can=lambda name, job: True):
    """Let workers do jobs, in turns: job by job, and at each job worker by worker.

    Args:
        workers: `Worker`s by name.
        jobs: a list of `Job`s.
        rounds: how often each is timed, after a first time that is kept apart.
        progress: with `expect(count)` and `done(what)`.
        can: `can(name, job)`: whether a worker does a job.

    Returns:
        `Timed` by name of the job and then by name of the worker.
    """
    turns = [(job, name) for job in jobs for name in workers if can(name, job)]
    progress.expect(len(turns) * (rounds + 1))
    found: dict[tuple, list[Any]] = {(job.name, name): [] for job, name in turns}
    for _ in range(rounds + 1):
        for job, name in turns:
            progress.doing(f"{job.name}: {name}")
            found[job.name, name].append(workers[name].call(job.method, *job.arguments))
            progress.done()
    result = {}
    for (job, name), calls in found.items():
        seconds, answers = zip(*calls, strict=True)
        result.setdefault(job, {})[name] = Timed(seconds[0], [*seconds[1:]], [*answers[1:]])
    return result

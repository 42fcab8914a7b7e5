"""Where the time of a test run goes: `python -m pytest -p tests.timings` prints the tables.

Seconds are of the wall, summed over all processes of the run, so that two processes give twice
the time that one waits. Sums by file and by fixture are of pytest's own durations; sums by kind
come from the places where programs are traced, compiled and started:

- import: from the start of a process until it has collected its tests
- trace: Python turned into graphs, also where Keras infers a shape
- compile: the first run of a program, which the compiler takes the better part of
- subprocess: waiting for a process that a test has started
- other: what is left, numbers and Python
"""

import collections
import functools
import subprocess
import sys
import time

import pytest

STARTED = time.perf_counter()
SECONDS = collections.Counter()  # of the test at work, by kind
FIXTURES = collections.Counter()  # … and by fixture
at_work = []  # the kinds whose time is being taken


def timed(kind, function, counts=lambda *args: True):
    """Return the function, whose outermost calls add their time to a kind."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        if at_work or not counts(*args):
            return function(*args, **kwargs)
        at_work.append(kind)
        start = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            SECONDS[kind] += time.perf_counter() - start
            at_work.pop()

    return call


def watch_tensorflow():
    from tensorflow.python.eager.polymorphic_function import atomic_function
    from tensorflow.python.framework import func_graph

    ran = set()

    def first_run(program, *args):
        new = program.name not in ran
        ran.add(program.name)
        return new

    kind = atomic_function.AtomicFunction
    kind.call_flat = timed("compile", kind.call_flat, first_run)
    func_graph.func_graph_from_py_func = timed("trace", func_graph.func_graph_from_py_func)


def watch_jax():
    import jax

    kinds = {
        "/jax/core/compile/jaxpr_trace_duration": "trace",
        "/jax/core/compile/jaxpr_to_mlir_module_duration": "trace",
        "/jax/core/compile/backend_compile_duration": "compile",
    }

    def add(event, seconds, **_):
        if event in kinds:
            SECONDS[kinds[event]] += seconds

    jax.monitoring.register_event_duration_secs_listener(add)


def pytest_collection_finish(session):
    session.config.seconds_of_import = time.perf_counter() - STARTED
    if "tensorflow" in sys.modules:
        watch_tensorflow()
    if "jax" in sys.modules:
        watch_jax()
    for name in ("wait", "communicate"):
        setattr(subprocess.Popen, name, timed("subprocess", getattr(subprocess.Popen, name)))


@pytest.hookimpl(hookwrapper=True)
def pytest_fixture_setup(fixturedef, request):
    start = time.perf_counter()
    yield
    FIXTURES[fixturedef.argname] += time.perf_counter() - start


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item, call):
    if call.when == "teardown":
        item.user_properties += [("kinds", dict(SECONDS)), ("fixtures", dict(FIXTURES))]
        SECONDS.clear()
        FIXTURES.clear()


class Sums:
    """Seconds of the whole run by file, fixture and kind, and the number of tests by file."""

    def __init__(self):
        self.files, self.fixtures, self.kinds, self.tests = (
            collections.Counter() for _ in range(4)
        )


def pytest_configure(config):
    config.sums = Sums()


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["import"] = session.config.seconds_of_import
    else:
        session.config.sums.kinds["import"] += getattr(session.config, "seconds_of_import", 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    node.config.sums.kinds["import"] += node.workeroutput.get("import", 0)


class Collector:
    """Adds up what the processes of a run report."""

    def __init__(self, sums):
        self.sums = sums

    def pytest_runtest_logreport(self, report):
        path = report.location[0]
        self.sums.files[path] += report.duration
        self.sums.tests[path] += report.when == "call"
        self.sums.kinds["other"] += report.duration
        if report.when == "teardown":
            properties = dict(report.user_properties)
            self.sums.fixtures.update(properties.get("fixtures", {}))
            for kind, seconds in properties.get("kinds", {}).items():
                self.sums.kinds[kind] += seconds
                self.sums.kinds["other"] -= seconds


def pytest_sessionstart(session):
    if not hasattr(session.config, "workerinput"):
        session.config.pluginmanager.register(Collector(session.config.sums))


def pytest_terminal_summary(terminalreporter, config):
    sums = config.sums
    for title, counter in (("kind", sums.kinds), ("fixture", sums.fixtures), ("file", sums.files)):
        terminalreporter.section(f"seconds by {title}")
        for name, seconds in counter.most_common():
            if seconds >= 0.05:
                tests = f"{sums.tests[name]:6d} tests" if title == "file" else ""
                terminalreporter.write_line(f"{seconds:9.1f}  {name} {tests}")

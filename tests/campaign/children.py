"""Command lines in processes of their own, forked from this one once it has imported Keras.

To import Keras takes seconds, to fork a process that has it next to nothing. It works as long as no
operation has run here. XLA compiles nothing: no part of the campaign is about compiling.
"""

import functools
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

READY = "ready"
HANGS = 300  # seconds after which a command counts as hanging


@dataclass(frozen=True)
class Ended:
    """How a command ended.

    Attributes:
        status: its exit code, or minus the signal that ended it; None if it hung.
        out: what it printed.
        errors: what it printed to stderr.
    """

    status: int | None
    out: str
    errors: str


class Child:
    """A command line that runs in a process of its own.

    Args:
        arguments: those of `keras-attention`.
        folder: the working folder; what the command prints goes into its files `out` and `errors`,
            and a file `ready` appears when the command begins.
        prepare: called in the child before the command.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        folder: Path,
        prepare: Callable[[], None] = lambda: None,
    ):
        self.folder = folder
        sys.stdout.flush()
        self.number = os.fork()
        if self.number == 0:
            _live([str(argument) for argument in arguments], folder, prepare)

    def is_running(self) -> bool:
        """Return whether the process has not ended."""
        return os.waitid(os.P_PID, self.number, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def end(self, number: int) -> None:
        """Send a signal, if the process still runs."""
        with suppress(ProcessLookupError):
            os.kill(self.number, number)

    def ended(self, timeout: float = HANGS) -> Ended:
        """Wait for the end; a process that hangs is killed."""
        deadline = time.monotonic() + timeout
        while not (found := os.waitpid(self.number, os.WNOHANG))[0]:
            if time.monotonic() > deadline:
                os.killpg(self.number, signal.SIGKILL)
                os.waitpid(self.number, 0)
                return self._read(None)
            time.sleep(0.01)
        return self._read(os.waitstatus_to_exitcode(found[1]))

    def _read(self, status):
        texts = [
            (self.folder / name).read_text(encoding="utf-8", errors="replace")
            for name in ("out", "errors")
        ]
        return Ended(status, *texts)


def import_what_is_heavy() -> None:
    """Import once what every child needs."""
    import keras_attention_command  # noqa: F401
    from tests.mutants import forks

    forks.import_what_is_heavy()
    from keras_attention import plotting, runs, translation

    runs.train, translation.Translator, plotting.plot_history  # noqa: B018


def _live(arguments, folder, prepare):
    """Act as the child, to the end."""
    status = 1
    try:
        os.setsid()
        for name, number in (("out", 1), ("errors", 2)):
            os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), number)
            stream = os.fdopen(os.dup(number), "w", encoding="utf-8", errors="replace")
            stream.reconfigure(line_buffering=True)  # a killed process flushes nothing
            setattr(sys, {1: "stdout", 2: "stderr"}[number], stream)
        os.chdir(folder)
        _without_xla()
        import_module("keras_attention.cli")  # which knows what to do at a signal
        prepare()
        (folder / READY).touch()
        status = _command(arguments)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _command(arguments):
    """Run the command line; return its exit code."""
    import keras_attention_command

    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    sys.argv = ["keras-attention", *arguments]
    try:
        keras_attention_command.main()
    except SystemExit as end:
        return end.code or 0
    return 0


def _without_xla():
    import tensorflow as tf

    original = tf.function

    @functools.wraps(original)
    def function(*args, jit_compile=None, **kwargs):
        return original(*args, **kwargs)

    tf.function = function

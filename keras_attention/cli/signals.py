"""End after Ctrl-C or SIGTERM as after an error: what is half-written goes, what is finished stays.

Both signals raise an exception wherever the program is. Python drops an exception in a callback of
the garbage collector or in a finalizer, and goes on; then the signal is sent again.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPTED, TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGTERM  # exit codes
ENDS = {INTERRUPTED: "interrupted", TERMINATED: "terminated"}
SOON = 0.05  # seconds, in which a callback ends


@contextmanager
def heeded() -> Iterator[None]:
    """Let SIGTERM raise SystemExit, and see to it that neither it nor Ctrl-C gets lost."""
    before = sys.unraisablehook

    def send_again(dropped):
        number = _signal_of(dropped.exc_value)
        if number is None:
            before(dropped)
        else:
            threading.Timer(SOON, os.kill, (os.getpid(), number)).start()

    signal.signal(signal.SIGTERM, _terminate)
    sys.unraisablehook = send_again
    try:
        yield
    finally:
        sys.unraisablehook = before


def _terminate(signal_number, frame):
    sys.exit(TERMINATED)


def _signal_of(error):
    """Return the signal that raised an exception, or None."""
    if isinstance(error, KeyboardInterrupt):
        return signal.SIGINT
    is_terminated = isinstance(error, SystemExit) and error.code == TERMINATED
    return signal.SIGTERM if is_terminated else None

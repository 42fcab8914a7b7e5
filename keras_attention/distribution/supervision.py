"""Report in one line how a process that trained with others ended.

If the coordinator is silent or another process is lost, JAX ends the process from native code
(`abort`), which Python cannot intercept. So a child process does the work. Its parent does nothing
else: it reads what the child's native code logged last and explains it in plain words.
"""

import json
import os
import re
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from keras_attention.distribution.processes import LOST, Processes, made_again

_GRACE = 3  # seconds for a child to clean up after its parent has ended
_INTERRUPTED = 130


def supervised(function: Callable[[], Any], processes: Processes) -> None:
    """Call a function in a child process, and end as the child ends.

    The child is a fork, so call this before loading any large library. On a system without fork
    the function runs in this process. If this process ends, so does the child.

    Args:
        function: takes no arguments; its result is ignored.
        processes: the `Processes` that the function joins.

    Raises:
        ValueError, OSError, ImportError: the function raised it.
        ConnectionError: another process was lost or did not join, and JAX ended the child.
        ChildProcessError: the child was killed.
    """
    if not hasattr(os, "fork"):
        function()
        return
    report, log, life = os.pipe(), os.pipe(), os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        for end in (report[0], log[0], life[1]):
            os.close(end)
        _work(function, report[1], log[1], life[0])
    for end in (report[1], log[1], life[0]):
        os.close(end)
    try:
        last_words = _read(log[0], shown="TF_CPP_MIN_LOG_LEVEL" in os.environ)
        answer = _read(report[0])
    finally:  # also if this process is interrupted: closing the life line ends the child
        os.close(life[1])
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    _end_as(status, answer, last_words, processes)


def _work(function, report, log, life):
    """Act as the child: call the function, report its error to the parent, and exit at once.

    During a normal exit JAX would wait for the other processes, and abort if one is lost.
    """
    for name, number in (("stdout", 1), ("stderr", 2)):  # the parent reads what native code writes
        if getattr(sys, name).fileno() == number:
            setattr(sys, name, _same_stream(number))
        os.dup2(log, number)
    os.close(log)
    threading.Thread(target=_end_with_the_parent, args=(life,), daemon=True).start()
    status = 1
    try:
        function()
        status = 0
    except (ValueError, OSError, ImportError) as error:
        status = 2
        os.write(report, json.dumps([type(error).__name__, str(error)[:4000]]).encode())
    except KeyboardInterrupt:
        status = _INTERRUPTED
    except SystemExit as end:
        status = end.code
    except BaseException:
        traceback.print_exc(file=sys.stderr)
    finally:
        with suppress(OSError):
            sys.stdout.flush()
        os._exit(status)


def _same_stream(number):
    stream = os.fdopen(os.dup(number), "w", buffering=1, encoding="utf-8", errors="replace")
    stream.reconfigure(write_through=True)
    return stream


def _end_with_the_parent(life):
    os.read(life, 1)  # nothing is ever written: this returns when the parent has ended
    signal.raise_signal(signal.SIGINT)
    time.sleep(_GRACE)
    os._exit(_INTERRUPTED)


def _read(pipe, shown=False):
    """Read a pipe until it closes, and return the last 256 KiB."""
    text = b""
    while part := os.read(pipe, 2**16):
        text = (text + part)[-(2**18) :]
        if shown:
            sys.stderr.write(part.decode("utf-8", "replace"))
    os.close(pipe)
    return text.decode("utf-8", "replace")


def _end_as(status, answer, last_words, processes):
    """Return, raise or exit as the child did."""
    if status == _INTERRUPTED:
        raise KeyboardInterrupt
    if answer:
        raise made_again(*json.loads(answer))
    if status == -signal.SIGABRT:
        raise explained(last_words, processes)
    if status < 0:
        raise ChildProcessError(
            f"{_named(processes.process_id)} was ended by {signal.Signals(-status).name}, which "
            f"ends the others too. {LOST}"
        )
    if status:
        sys.exit(status)


def explained(last_words: str, processes: Processes) -> Exception:
    """Return an error that explains why JAX's native code ended a process.

    Args:
        last_words: what the native code logged.
        processes: the `Processes` that the process joined or tried to join.
    """
    # With "auto" only the child learns the numbers of the processes.
    at, own = processes.coordinator, _named(processes.process_id)
    number = processes.number or "the"
    if found := re.search(r"Unexpected task registered with task=(\d+)", last_words):
        return ValueError(
            f"the run at {at} expects fewer than {number} processes and has no process {found[1]}"
        )
    if "different incarnation" in last_words or "already in error" in last_words:
        found = re.search(r"(\d+) unexpectedly tried to connect", last_words)
        return ValueError(
            f"{_named(found[1]) if found else own} joined {at} twice: each of {number} processes "
            "needs a --process-id of its own, counted from 0"
        )
    if "DEADLINE_EXCEEDED" in last_words and "RegisterTask" in last_words:
        who = (
            f"not all of {number} processes joined the coordinator, process 0 at {at},"
            if processes.is_first
            else f"the coordinator, process 0 at {at}, did not answer {own}, or not all of "
            f"{number} processes joined,"
        )
        return ConnectionError(f"{who} within {processes.timeout} seconds (--timeout)")
    if "RPC to coordination service" in last_words:
        return ConnectionError(f"process 0 was lost. {LOST}")
    if found := re.search(r"stopped sending heartbeats\):\s*((?:\d+\s*)+)", last_words):
        return ConnectionError(f"process {', '.join(found[1].split())} was lost. {LOST}")
    return ConnectionError(f"another process was lost. {LOST}")


def _named(process_id):
    return "this process" if process_id is None else f"process {process_id}"

"""One line about how a process ended that trained with others.

JAX ends a process whose coordinator is silent or whose peer was lost, from native code that no
Python sees (`abort`). So the work is done in a child, and its parent, which does nothing else,
reads what the child's native code logged last, and says it in plain words.
"""

import json
import os
import re
import signal
import sys
import threading
import time
import traceback
from contextlib import suppress

from keras_attention.distribution.processes import LOST, made_again

_GRACE = 3  # seconds that a child has to clean up when its parent is gone
_INTERRUPTED = 130


def supervised(function, processes):
    """Call a function in a child process, and end as it ends.

    Call it before anything heavy is loaded: the child is a fork. Where there is no fork, the
    function is called here. If this process ends, so does the child.

    Args:
        function: without arguments; its result is dropped.
        processes: `Processes` that the function joins.

    Raises:
        ValueError, OSError, ImportError: the function did.
        ConnectionError: another process was lost or did not come, and JAX ended the child.
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
    finally:  # also when this process is interrupted: the end of its life line ends the child
        os.close(life[1])
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    _end_as(status, answer, last_words, processes)


def _work(function, report, log, life):
    """Be the child: call the function, tell the parent of its error, and end at once.

    At once, because JAX would wait for the other processes at the usual end, and abort if one has
    gone.
    """
    for name, number in (("stdout", 1), ("stderr", 2)):  # what native code writes, the parent reads
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
    os.read(life, 1)  # nothing is ever written: it returns when the parent has ended
    signal.raise_signal(signal.SIGINT)
    time.sleep(_GRACE)
    os._exit(_INTERRUPTED)


def _read(pipe, shown=False):
    """Return the end of what comes through a pipe until it closes."""
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
            f"{_named(processes.process_id)} was ended by {signal.Signals(-status).name}, and the "
            f"others end with it. {LOST}"
        )
    if status:
        sys.exit(status)


def explained(last_words, processes):
    """Return the error that says what JAX's native code said before it ended a process.

    Args:
        last_words: what it logged.
        processes: `Processes` that the process had joined, or tried to.
    """
    # A cluster that has its own numbers tells them to the child alone
    at, own = processes.coordinator, _named(processes.process_id)
    number = processes.number or "the"
    if found := re.search(r"Unexpected task registered with task=(\d+)", last_words):
        return ValueError(
            f"the run at {at} expects fewer than {number} processes: process {found[1]} is one too "
            "many"
        )
    if "different incarnation" in last_words or "already in error" in last_words:
        found = re.search(r"(\d+) unexpectedly tried to connect", last_words)
        return ValueError(
            f"{_named(found[1]) if found else own} came twice to {at}: each of {number} processes "
            "needs a --process-id of its own, counted from 0"
        )
    if "DEADLINE_EXCEEDED" in last_words and "RegisterTask" in last_words:
        who = (
            f"not all of {number} processes came to the coordinator, process 0 at {at},"
            if processes.is_first
            else f"the coordinator, process 0 at {at}, did not answer {own}, or not all of "
            f"{number} processes came,"
        )
        return ConnectionError(f"{who} within {processes.timeout} seconds (--timeout)")
    if "RPC to coordination service" in last_words:
        return ConnectionError(f"process 0 was lost. {LOST}")
    if found := re.search(r"stopped sending heartbeats\):\s*((?:\d+\s*)+)", last_words):
        return ConnectionError(f"process {', '.join(found[1].split())} was lost. {LOST}")
    return ConnectionError(f"another process was lost. {LOST}")


def _named(process_id):
    return "this process" if process_id is None else f"process {process_id}"

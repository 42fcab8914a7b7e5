"""A process that joins others and does next to nothing, for tests of how such a thing ends.

python -m tests.distribution.joins COORDINATOR PROCESS_ID NUMBER TIMEOUT [WHAT_ELSE]
"""

import os
import signal
import sys
import time

import keras_attention_command  # noqa: F401  (as on the command line: nothing heavy is loaded yet)
from keras_attention.distribution import Processes, supervised


def work(processes, what_else):
    with processes.joined():
        print("joined", processes.process_id, processes.number, flush=True)
        print(processes.of_first(lambda: ["of", processes.process_id]), flush=True)
        if what_else == "of_first_raises":
            processes.of_first(lambda: (_ for _ in ()).throw(FileNotFoundError("there is no run")))
        if what_else == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if what_else == "stopped":
            os.kill(os.getpid(), signal.SIGSTOP)
        if what_else == "raises":
            raise ValueError("of my own")
        if what_else == "crashes":
            raise RuntimeError("a fault in the program")
        for _ in range(int(what_else) if what_else.isdecimal() else 500):
            processes.wait("a step")
            time.sleep(0.1)


def main():
    _, coordinator, process_id, number, timeout, *what_else = sys.argv
    processes = Processes(coordinator, int(process_id), int(number), int(timeout))
    try:
        supervised(lambda: work(processes, what_else[0] if what_else else "3"), processes)
    except (ValueError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()

"""The JAX processes that train one model together over a network, each on its own devices.

Process 0 is the coordinator: the others connect to it when they start. It alone reads and writes
the folder of a run, and sends its contents to the others.
"""

import builtins
import hashlib
import inspect
import json
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

TIMEOUT = 300  # seconds for all processes to join, the default of JAX
SILENCE = 30  # seconds without a heartbeat after which a process counts as lost
LOST = (
    "The last finished epoch is kept in the folder of the run: start all processes again with "
    "--resume"
)


@dataclass(frozen=True)
class Processes:
    """The processes of a run, and the number of this one; by default this process is alone.

    Attributes:
        coordinator: `"host:port"` at which process 0 listens; or `"auto"` where JAX detects the
            cluster, as on the hosts of a TPU slice.
        process_id: number of this process, from 0.
        number: number of processes.
        timeout: seconds to wait for the others.

    Raises:
        ValueError: the arguments do not fit together.
    """

    coordinator: str | None = None
    process_id: int | None = None
    number: int | None = None
    timeout: int = TIMEOUT

    def __post_init__(self):
        if self.timeout < 1:
            raise ValueError(f"timeout must be at least 1 second, got {self.timeout}")
        given = (self.coordinator, self.process_id, self.number)
        if given == (None, None, None):
            object.__setattr__(self, "process_id", 0)
            object.__setattr__(self, "number", 1)
            return
        if self.coordinator == "auto" and given[1:] == (None, None):
            return
        if None in given or self.coordinator == "auto":
            raise ValueError(
                "several processes need --coordinator host:port, --process-id and --processes "
                f"together, or --coordinator auto alone, got {self.coordinator}, "
                f"{self.process_id} and {self.number}"
            )
        port = re.fullmatch(r".+:(\d{1,5})", self.coordinator)
        if not port or not 0 < int(port[1]) < 2**16:
            raise ValueError(
                f"coordinator must be host:port or auto, got {self.coordinator!r}; an example is "
                "10.0.0.1:8476"
            )
        if self.number < 1:
            raise ValueError(f"processes must be at least 1, got {self.number}")
        if not 0 <= self.process_id < self.number:
            raise ValueError(
                f"process_id must be from 0 to {self.number - 1} for {self.number} processes, got "
                f"{self.process_id}"
            )

    @property
    def are_several(self) -> bool:
        """Whether there are other processes."""
        return self.number != 1

    @property
    def is_first(self) -> bool:
        """Whether this process reads and writes the folder of the run; known once it has joined."""
        return self.process_id == 0

    @contextmanager
    def joined(self) -> Iterator["Processes"]:
        """Join the other processes before anything touches a device, and disconnect at the end.

        Raises:
            ValueError: the backend is not JAX, or the others expect a different number
                of processes.
            ConnectionError: the others do not join, or one is lost. In some of these cases JAX
                ends the process; see `supervised`.
        """
        if not self.are_several:
            yield self
            return
        import keras

        if keras.backend.backend() != "jax":
            raise ValueError(
                f"several processes need KERAS_BACKEND=jax, got {keras.backend.backend()}"
            )
        import jax

        try:
            self._join()
            yield self
        except OSError:  # from this machine or a download, not from another process
            raise
        except Exception as error:
            if _tells_of_a_loss(error):
                raise ConnectionError(f"another process was lost. {LOST}") from error
            raise
        jax.distributed.shutdown()

    def _join(self):
        import jax

        options = {
            "initialization_timeout": self.timeout,
            "heartbeat_timeout_seconds": SILENCE,
            "shutdown_timeout_seconds": SILENCE,
        }
        known = inspect.signature(jax.distributed.initialize).parameters  # JAX 0.5 lacks some
        options = {name: value for name, value in options.items() if name in known}
        if self.coordinator != "auto":
            options["coordinator_address"] = self.coordinator
            options["num_processes"], options["process_id"] = self.number, self.process_id
            if self.is_first:
                self._check_that_nobody_listens()
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        try:
            jax.distributed.initialize(**options)
        except RuntimeError as error:
            raise ConnectionError(f"cannot join at {self.coordinator}: {error}") from error
        if self.number is None:
            object.__setattr__(self, "process_id", jax.process_index())
            object.__setattr__(self, "number", jax.process_count())
        if jax.process_count() != self.number:
            raise ValueError(
                f"the run at {self.coordinator} has {jax.process_count()} processes, got "
                f"--processes {self.number}"
            )

    def _check_that_nobody_listens(self):
        """Report a port in use before JAX's own server tries it, which may crash the process."""
        try:
            socket.create_server(("", int(self.coordinator.rpartition(":")[2]))).close()
        except OSError as error:
            raise ConnectionError(f"cannot listen at {self.coordinator}: {error}") from error

    def of_first(self, function: Callable[[], Any]) -> Any:
        """Call a function in the first process, and return its result in every process.

        Args:
            function: takes no arguments; its result must be serializable as JSON.

        Returns:
            The result of the function.

        Raises:
            ValueError, OSError, ImportError: in every process, if the function raised it.
        """
        if not self.are_several:
            return function()
        answer = None
        if self.is_first:
            try:
                answer = {"result": function()}
            except (ValueError, OSError, ImportError) as error:
                answer = {"error": [type(error).__name__, str(error)]}
        answer = json.loads(self._broadcast_text(json.dumps(answer)))
        if "error" in answer:
            raise made_again(*answer["error"])
        return answer["result"]

    def agree_on(self, value: Any) -> bool:
        """Return whether every process has the same value, which must be serializable as JSON."""
        if not self.are_several:
            return True
        import numpy as np
        from jax.experimental import multihost_utils

        digest = hashlib.sha256(json.dumps(value, sort_keys=True).encode()).digest()
        digests = multihost_utils.process_allgather(np.frombuffer(digest, "uint8"))
        return bool(np.all(digests == digests[0]))

    def broadcast(self, arrays: "list[np.ndarray]") -> "list[np.ndarray]":
        """Return the NumPy arrays of the first process; shapes must be equal in all processes."""
        if not self.are_several:
            return arrays
        from jax.experimental import multihost_utils

        return multihost_utils.broadcast_one_to_all(arrays, is_source=self.is_first)

    def wait(self, name: str) -> None:
        """Wait until every process has made this call."""
        if self.are_several:
            from jax.experimental import multihost_utils

            multihost_utils.sync_global_devices(name)

    def _broadcast_text(self, text):
        import numpy as np

        content = np.frombuffer(text.encode(), "uint8")
        (size,) = self.broadcast([np.int32(len(content))])
        buffer = np.zeros(int(size), "uint8")
        if self.is_first:
            buffer[:] = content
        (content,) = self.broadcast([buffer])
        return bytes(content).decode()


def made_again(name: str, message: str) -> Exception:
    """Rebuild an error of another process; `ValueError` if its class needs more than a message."""
    try:
        return getattr(builtins, name, ValueError)(message)
    except TypeError:
        return ValueError(message)


def _tells_of_a_loss(error):
    """Return whether an error comes from the network between the processes."""
    words = (
        r"\bGloo\b|\bNCCL\b|coordination service|heartbeat|Socket closed|Broken pipe"
        r"|Connection (reset|closed|refused)|failed to connect"
        r"|UNAVAILABLE|DEADLINE_EXCEEDED|CANCELLED|ABORTED"
    )
    return re.search(words, str(error)) is not None

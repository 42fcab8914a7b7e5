"""The machine: what it is, what memory a process has, how fast it multiplies matrices."""

import importlib.metadata
import platform
import time
from pathlib import Path

import numpy as np

from keras_attention.cores import count_of_cores

PACKAGES = (
    *("keras", "tensorflow", "jax", "keras-hub", "torch", "ctranslate2", "onnxruntime", "numpy"),
)
PEAK_SIZE, GPU_PEAK_SIZE, PEAK_REPEATS = 2048, 8192, 6
GPU_PRODUCTS = 10  # in a row, so that asking for them takes no time of its own
SLOW = 5.0  # seconds of a product after which one is enough


def described(backend):
    """Describe the machine and what is installed, for a report.

    Args:
        backend: name of the backend that Keras runs on.
    """
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "cores": count_of_cores(),
        "processor": _processor(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "backend": backend,
        "versions": versions,
    }


def device():
    """Return the name of the device that Keras computes on, which is made ready for it."""
    from keras import ops

    device = ops.convert_to_tensor(0.0).device
    return getattr(device, "device_kind", None) or str(device).rsplit("device:", 1)[-1]


def has_accelerator():
    """Return whether Keras computes on something else than a CPU."""
    import keras

    return not is_cpu(keras.distribution.list_devices()[0])


def is_cpu(device):
    """Return whether a device is a CPU, by the name that a framework has for it."""
    return device.lower().startswith("cpu")


def _processor():
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def memory():
    """Return the resident memory of this process in MB, `now` and at `most` since it began.

    Read from Linux; elsewhere `now` is what it was at most.
    """
    path = Path("/proc/self/status")
    if path.is_file():
        lines = dict(line.split(":", 1) for line in path.read_text().splitlines() if ":" in line)
        now, most = (int(lines[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))
        return {"now": now, "most": most}
    import resource

    unit = 2**20 if platform.system() == "Darwin" else 2**10
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    return {"now": most, "most": most}


def multiply_rate(multiply, prepare=np.asarray, device="cpu", repeats=PEAK_REPEATS):
    """Return the operations a second of a matrix product, 2 · size³ operations: the best.

    The matrices are larger on what is no CPU, where a small product is over before Python is, and
    are multiplied several times before anyone waits.

    Args:
        multiply: `multiply(a, b, count)`: so many times of two prepared matrices (size, size), done
            when it returns.
        prepare: makes of a float32 array what is multiplied, on the device; not timed.
        device: name of the device that multiplies.
        repeats: how often, after a first time, which counts only if it is slow: PyTorch needs a
            minute in bfloat16 on a CPU without instructions for it.
    """
    size, count = (PEAK_SIZE, 1) if is_cpu(device) else (GPU_PEAK_SIZE, GPU_PRODUCTS)
    arrays = np.random.default_rng(0).standard_normal((2, size, size), dtype="float32")
    a, b = map(prepare, arrays)

    def seconds(count):
        begun = time.perf_counter()
        multiply(a, b, count)
        return time.perf_counter() - begun

    first = seconds(1)
    if first > SLOW:
        return 2 * size**3 / first
    return 2 * size**3 * count / min(seconds(count) for _ in range(repeats))

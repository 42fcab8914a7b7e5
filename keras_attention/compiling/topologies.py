"""The available TPUs, and descriptions of them, for which libtpu compiles on any machine.

Needs JAX and libtpu, the extra `tpu`.
"""

import importlib.util
import os
import re
from typing import Any, NamedTuple

from keras_attention.installing import pip_install

# These keep libtpu from searching for a TPU on the machine or the network, from refusing a second
# process that compiles at the same time, and from leaving logs in /tmp.
ENVIRONMENT = {
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_WORKER_ID": "0",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "TPU_LOG_DIR": "disabled",
}


class Generation(NamedTuple):
    """A generation of TPUs, with the figures of https://cloud.google.com/tpu/docs for each chip.

    Attributes:
        slices: shapes of the slices that Google Cloud offers, chips along each side.
        memory: GiB of high-bandwidth memory.
        peak: 10¹² bfloat16 operations per second.
        bandwidth: 10⁹ bytes per second to that memory.
        link: 10⁹ bytes per second to other chips, both directions together; None: not published.
        config: libtpu's configuration of a chip: with `megacore` both cores of a v4 are one device,
            as in JAX.
    """

    slices: tuple[str, ...]
    memory: int
    peak: int
    bandwidth: int
    link: int | None = None
    config: str = "default"


_FLAT = ("1x1", "2x2", "2x4", "4x4", "4x8", "8x8", "8x16", "16x16")
_CUBES = ("2x2x1", "2x2x2", "2x2x4", "2x4x4", "4x4x4", "4x4x8", "4x8x8", "8x8x8")
GENERATIONS = {
    "v2": Generation(("2x2", "4x4", "8x8", "8x16", "16x16"), 16, 46, 700),
    "v3": Generation(("2x2", "4x4", "8x8", "8x16", "16x16", "16x32", "32x32"), 32, 123, 900),
    "v4": Generation(_CUBES, 32, 275, 1200, config="megacore"),
    "v5e": Generation(_FLAT, 16, 197, 819, 400),
    "v5p": Generation(_CUBES, 95, 459, 2765, 1200),
    "v6e": Generation(_FLAT, 32, 918, 1640, 800),
    "tpu7x": Generation(_CUBES, 192, 2307, 7380, 1200),
}
_HOST = (2, 2, 1)  # chips of a host along each side, in every generation


class Topology(NamedTuple):
    """A slice of TPUs, present or not.

    Attributes:
        name: such as "v5e:2x2".
        devices: descriptions for a `jax.sharding.Mesh`. A chip of v2, v3 or tpu7x has two devices.
        kind: JAX's name of such a device.
        chips: number of chips.
        hosts: number of hosts.
        generation: the `Generation`, or None if it is not in the table.
    """

    name: str
    devices: list[Any]
    kind: str
    chips: int
    hosts: int
    generation: Generation | None


def check_installed() -> None:
    """Check that JAX and libtpu are installed.

    Raises:
        ImportError: one of them is missing; the message says what to install.
    """
    missing = [name for name in ("jax", "libtpu") if importlib.util.find_spec(name) is None]
    if missing:
        raise ImportError(
            f"compiling for a TPU needs {' and '.join(missing)}: "
            f"{pip_install('tpu')} (libtpu runs on Linux on x86-64)"
        )


def names() -> list[str]:
    """Return the names of the slices in the table."""
    return [f"{name}:{shape}" for name, each in GENERATIONS.items() for shape in each.slices]


def describe(name: str) -> Topology:
    """Return libtpu's description of a slice of TPUs. libtpu decides which slices exist.

    Args:
        name: generation and chips along each side, such as "v5e:4x4" or "v4:2x2x2".

    Returns:
        A `Topology`.

    Raises:
        ImportError: JAX or libtpu is missing.
        ValueError: libtpu does not know this slice; the message lists some known ones.
    """
    match = re.fullmatch(r"([\w ]+):([1-9]\d*(?:x[1-9]\d*){1,2})", name)
    if not match:
        raise ValueError(_unknown(name))
    sides = [int(side) for side in match[2].split("x")]
    sides += [1] * (3 - len(sides))
    generation = GENERATIONS.get(match[1])
    check_installed()
    for variable, value in ENVIRONMENT.items():
        os.environ.setdefault(variable, value)
    from jax.errors import JaxRuntimeError
    from jax.experimental import topologies

    try:
        devices: list[Any] = topologies.get_topology_desc(
            platform="tpu",
            topology_name=name,
            chip_config_name=generation.config if generation else "default",
            chips_per_host_bounds=tuple(map(min, sides, _HOST)),
        ).devices
    except JaxRuntimeError as error:
        raise ValueError(_unknown(name, f"; libtpu reports: {error}")) from error
    return Topology(
        name=name,
        devices=devices,
        kind=devices[0].device_kind,
        chips=len({tuple(device.coords) for device in devices}),
        hosts=len({device.process_index for device in devices}),
        generation=generation,
    )


def _unknown(name, reason=""):
    known = "; ".join(f"{name}: {', '.join(each.slices)}" for name, each in GENERATIONS.items())
    return (
        "topology must be a generation of TPUs and the chips along each side, such as v5e:2x2, got "
        f"{name!r}{reason}. Known: {known}"
    )

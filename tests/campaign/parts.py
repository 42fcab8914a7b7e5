"""The parts of the campaign; each runs in a process whose memory and threads are its own."""

import multiprocessing
import tempfile
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from pathlib import Path

from tests.campaign.outcome import Outcome

# Cases: for kills and processes, of each fault; for pages, of each kind; for numbers, layers and
# models, at most all
PARTS = {
    "kills": 100,
    "inputs": 100_000,
    "load": 100_000,
    "numbers": 1000,
    "processes": 20,
    "pages": 250,
}
FEW = {"kills": 2, "inputs": 2_000, "load": 2_000, "numbers": 3, "processes": 1, "pages": 10}


def run(part: str, cases: int, seed: int, only: str) -> list[Outcome]:
    """Run the kinds of cases of a part whose name holds `only`, with cases drawn by a seed."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_run, part, cases, seed, only).result()


def _run(part, cases, seed, only):
    room = import_module(f"tests.campaign.{part}")
    with tempfile.TemporaryDirectory(prefix="campaign-") as folder:
        return room.run(cases, seed, Path(folder), say, only)


def say(line: str) -> None:
    """Say at once how it goes, also where it goes to a file."""
    print(line, flush=True)

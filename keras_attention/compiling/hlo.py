"""Read a compiled program: the communication between devices, loops, and calls to the host.

XLA writes its programs as text, HLO: computations of instructions `name = type opcode(operands)`.
The functions here read that text for any compiler and any device.
"""

import re
from collections import defaultdict
from math import prod
from typing import NamedTuple

COLLECTIVES = (
    *("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "ragged-all-to-all"),
    *("collective-permute", "collective-broadcast"),
)
_TALKS_TO_THE_HOST = ("infeed", "outfeed", "send", "recv")
_HOST_TARGET = re.compile(r"callback|py_?func|host", re.IGNORECASE)

_COMPUTATION = re.compile(r"(ENTRY )?%?([\w.\-]+)(?: \(.*)? \{\s*(?:/\*.*)?$")
_INSTRUCTION = re.compile(r"\s+(?:ROOT )?%?([\w.\-]+) = (.*?) ([a-z][\w\-]*)\((.*)$")
_CALLED = re.compile(
    r"\b(calls|to_apply|condition|body|branch_computations|true_computation|false_computation)="
    r"(?:\{([^}]*)\}|%?([\w.\-]+))"
)
_ARRAY = re.compile(r"\b([a-z]+(\d+)?\w*)\[([\d,<= ]*)\]")


class Collective(NamedTuple):
    """All collectives of one kind in a program.

    Attributes:
        kind: such as "all-reduce".
        count: number of them in the text.
        runs: maximum number executed in one run of the program, counting every iteration of a loop.
        bytes: bytes that each device contributes in one run of the program.
    """

    kind: str
    count: int  # type: ignore[assignment]  # it hides tuple.count, which nobody calls
    runs: int
    bytes: int


class Instruction(NamedTuple):
    """A line of a program: its name, the type of its result, its opcode, and the rest."""

    name: str
    type: str
    opcode: str
    rest: str

    @property
    def operands(self) -> str:
        """The text between the parentheses of the opcode."""
        return re.split(r"\)(?:, [a-z_]+=|$)", self.rest, maxsplit=1)[0]


def computations(text: str) -> tuple[dict[str, list[Instruction]], str]:
    """Return the computations of a program.

    Args:
        text: HLO.

    Returns:
        A dictionary name → list of `Instruction`, and the name of the entry computation.

    Raises:
        ValueError: the text is not HLO.
    """
    found: dict[str, list[Instruction]] = {}
    entry: str | None = None
    inside: list[Instruction] | None = None
    for line in text.splitlines():
        if inside is None:
            begins = None if line.startswith("HloModule") else _COMPUTATION.match(line)
            if begins:
                inside = found[begins[2]] = []
                entry = begins[2] if begins[1] else entry
        elif line.startswith("}"):
            inside = None
        else:
            instruction = _INSTRUCTION.match(line)
            if instruction:
                inside.append(Instruction(*instruction.groups()))
    if entry is None:
        raise ValueError(f"text must be HLO with an ENTRY computation, got {text[:60]!r}")
    return found, entry


def collectives(text: str) -> list[Collective]:
    """Return the communication between the devices of a program, one `Collective` per kind."""
    found, entry = computations(text)
    runs = _runs(found, entry)
    types = {each.name: each.type for body in found.values() for each in body}
    totals: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for name, body in found.items():
        for each in body:
            kind = each.opcode.removesuffix("-start")
            if kind in COLLECTIVES:
                operands = re.findall(r"[\w.\-]+", each.operands)
                size = sum(size_of(types[operand]) for operand in operands if operand in types)
                for column, more in enumerate((1, runs[name], runs[name] * size)):
                    totals[kind][column] += more
    return [Collective(kind, *totals[kind]) for kind in COLLECTIVES if kind in totals]


def loops(text: str) -> list[int | None]:
    """Return the maximum number of iterations of each loop; None where the text gives none."""
    found, _ = computations(text)
    return [
        _rounds(each, found) for body in found.values() for each in body if each.opcode == "while"
    ]


def host_calls(text: str) -> list[str]:
    """Return a program's calls to the host as it runs: opcodes, and targets of custom calls."""
    found, _ = computations(text)
    calls = []
    for each in (instruction for body in found.values() for instruction in body):
        if each.opcode.removesuffix("-done") in _TALKS_TO_THE_HOST:
            calls.append(each.opcode)
        elif each.opcode == "custom-call":
            target = re.search(r'custom_call_target="([^"]*)"', each.rest)
            if target and _HOST_TARGET.search(target[1]):
                calls.append(target[1])
    return calls


def dynamic_shapes(text: str) -> list[str]:
    """Return the types in a program whose size is known only at run time: `f32[<=8,3]`."""
    return sorted({match[0] for match in _ARRAY.finditer(text) if "<=" in match[3]})


def size_of(type: str) -> int:
    """Return the bytes of a type, an array or a tuple; a bounded size counts as its bound."""
    bits = 0
    for match in _ARRAY.finditer(type):
        if match[1] in ("token", "opaque"):
            continue
        width = 8 if match[1] == "pred" else int(match[2])
        bits += width * prod(int(size.strip("<= ")) for size in match[3].split(",") if size.strip())
    return -(-bits // 8)


def _runs(found, entry):
    """Return the maximum number of runs of each computation; callees precede callers in `found`."""
    runs = dict.fromkeys(found, 0)
    runs[entry] = 1
    for name in reversed(found):
        for each in found[name]:
            for role, several, one in _CALLED.findall(each.rest):
                rounds = 1
                if role in ("body", "condition") and each.opcode == "while":
                    rounds = _rounds(each, found) or 1
                for called in re.findall(r"[\w.\-]+", several or one):
                    if called in runs:
                        runs[called] += runs[name] * rounds
    return runs


def _rounds(loop, found):
    """Return the maximum number of iterations of a loop: XLA's, or the bound of its counter."""
    known = re.search(r'"?known_trip_count"?:\{"?n"?:"?(\d+)', loop.rest)
    if known:
        return int(known[1])
    condition = re.search(r"condition=%?([\w.\-]+)", loop.rest)[1]
    bounds = {
        each.name: int(each.operands)
        for each in found[condition]
        if each.opcode == "constant" and re.match(r"[su]\d+\[\]", each.type)
    }
    held = [
        bounds[operand]
        for each in found[condition]
        if each.opcode == "compare" and "direction=LT" in each.rest
        for operand in re.findall(r"[\w.\-]+", each.operands)[1:]
        if operand in bounds
    ]
    return held[0] if len(held) == 1 else None

"""Endpoints: initiators, which issue accesses, and targets, which hold the data.

The grammar is the same in the CLI, in plans and in results::

    node:0             as initiator: that node's CPUs; as target: its memory
    node:0,2@3:1       target: pages of both nodes, 3 of node 0 to 1 of node 2; or node:0@3,2
    cpus:0-7,16        initiator: CPUs
    gpu:1              a GPU, by the driver's index; as target: its memory
    file:/data/x       target: a file, or a directory to make one in
    dev:/dev/nvme0n1   target: a block device
    pmem:/mnt/pmem     target: a directory, on a DAX file system for persistent memory
    pmem:node:2        target: persistent memory that a node's ordinary memory stands in for
    dax:/dev/dax0.0    target: a DAX device
    host:n1            a host of an MPI program, which sends or receives messages

``node0``, ``gpu1`` and ``cpu:0`` are read as ``node:0``, ``gpu:1`` and ``cpus:0``.
"""

import difflib
import os
import re
from collections.abc import Sequence
from typing import NoReturn

from pydantic import model_validator

from tierscope.model.base import Model, TextEnum
from tierscope.model.errors import UserError, is_text

MAX_WEIGHT = 255  # as in Linux's weighted_interleave/nodeN
_WHOLE = re.compile(r"[0-9]{1,20}")
_SHORT = re.compile(r"(node|cpus?|gpu):?(\d.*)", re.DOTALL)


class EndpointKind(TextEnum):
    """The part of an endpoint before its colon."""

    NODE = "node"
    CPUS = "cpus"
    GPU = "gpu"
    FILE = "file"
    DEV = "dev"
    PMEM = "pmem"
    DAX = "dax"
    HOST = "host"


INITIATORS = (EndpointKind.NODE, EndpointKind.CPUS, EndpointKind.GPU)
STORAGE = (EndpointKind.FILE, EndpointKind.DEV, EndpointKind.PMEM, EndpointKind.DAX)
TARGETS = (EndpointKind.NODE, EndpointKind.GPU, *STORAGE)

_FORMS = {
    EndpointKind.NODE: "node:0",
    EndpointKind.CPUS: "cpus:0-7,16",
    EndpointKind.GPU: "gpu:1",
    EndpointKind.FILE: "file:/data/x",
    EndpointKind.DEV: "dev:/dev/nvme0n1",
    EndpointKind.PMEM: "pmem:/mnt/pmem",
    EndpointKind.DAX: "dax:/dev/dax0.0",
    EndpointKind.HOST: "host:n1",
}
_IS = {
    EndpointKind.NODE: "a NUMA node",
    EndpointKind.CPUS: "a set of CPUs",
    EndpointKind.GPU: "a GPU",
    EndpointKind.FILE: "a file",
    EndpointKind.DEV: "a block device",
    EndpointKind.PMEM: "a directory on persistent memory",
    EndpointKind.DAX: "a DAX device",
    EndpointKind.HOST: "a host",
}


class Endpoint(Model):
    """One parsed endpoint; ``str()`` gives its canonical text back."""

    kind: EndpointKind
    numbers: tuple[int, ...] = ()
    """Node, CPU or GPU numbers; ascending for CPUs, in the order given for nodes. Of persistent
    memory, the node that stands in for it."""
    weights: tuple[int, ...] = ()
    """One for each node where weights were given (1..255), else empty."""
    path: str = ""
    """Absolute path of what stores data outside of memory."""
    hosts: tuple[str, ...] = ()
    """Names of hosts."""

    def __str__(self) -> str:
        if self.kind in STORAGE:
            emulated = f"node:{self.numbers[0]}" if self.numbers else ""
            return f"{self.kind}:{emulated or self.path}"
        if self.kind is EndpointKind.HOST:
            return f"{self.kind}:{','.join(self.hosts)}"
        if self.kind is EndpointKind.CPUS:
            return f"{self.kind}:{format_ranges(self.numbers)}"
        weights = "@" + ":".join(map(str, self.weights)) if self.weights else ""
        return f"{self.kind}:{','.join(map(str, self.numbers))}{weights}"

    @property
    def description(self) -> str:
        """Its kind in words: "a block device"."""
        return _IS[self.kind]


class Initiator(Endpoint):
    """Issuer of accesses: the CPUs of nodes, CPUs, or a GPU."""

    @model_validator(mode="after")
    def _check(self) -> "Initiator":
        if self.kind not in INITIATORS:
            raise ValueError(f"{self.description} issues no accesses")
        if self.weights:
            raise ValueError("weights are for targets")
        return self


class Target(Endpoint):
    """Holder of the data: memory of nodes or of a GPU, a file, a device, a pool."""

    @model_validator(mode="after")
    def _check(self) -> "Target":
        if self.kind not in TARGETS:
            raise ValueError(f"{self.description} holds no data")
        return self


def parse_initiator(
    text: str, accepted: Sequence[EndpointKind] = INITIATORS, kind: str = "this"
) -> Initiator:
    """Parse what issues accesses; raises UserError that says which forms ``kind`` accepts."""
    parsed = parse_endpoint(text, forms(accepted))
    if parsed.kind not in INITIATORS:
        _refuse(text, f"{parsed.description} and issues no accesses", kind, "initiators", accepted)
    if parsed.kind not in accepted:
        _refuse(text, parsed.description, kind, "initiators", accepted)
    if parsed.weights:
        raise UserError(f"'{text}' has weights, which only targets take")
    return Initiator.model_validate(parsed.model_dump())


def parse_target(
    text: str, accepted: Sequence[EndpointKind] = TARGETS, kind: str = "this"
) -> Target:
    """Parse what holds the data; raises UserError that says which forms ``kind`` accepts."""
    weighted = ", node:0,2@3:1" if EndpointKind.NODE in accepted else ""
    parsed = parse_endpoint(text, forms(accepted) + weighted)
    if parsed.kind not in TARGETS:
        _refuse(text, f"{parsed.description} and holds no data", kind, "targets", accepted)
    if parsed.kind not in accepted:
        _refuse(text, parsed.description, kind, "targets", accepted)
    return Target.model_validate(parsed.model_dump())


def _refuse(
    text: str, what: str, kind: str, side: str, accepted: Sequence[EndpointKind]
) -> NoReturn:
    form = "form" if len(accepted) == 1 else "forms"
    raise UserError(f"'{text}' is {what}; {kind} accepts {side} of the {form} {forms(accepted)}")


def forms(kinds: Sequence[EndpointKind]) -> str:
    """Write an example of each kind of endpoint: ``node:0, gpu:1``."""
    return ", ".join(_FORMS[kind] for kind in kinds)


_DRIVE = re.compile(r"/dev/(?!shm(/|$))")


def parse_endpoint(text: str, accepted: str = "") -> Endpoint:
    """Parse one endpoint; raises UserError that names the text and the forms ``accepted``."""
    if not is_text(text):
        raise UserError(f"endpoint '{text}' is not UTF-8 text")
    name, colon, rest = _spelled_out(text).partition(":")
    if not colon or name not in set(EndpointKind) or not rest:
        known = accepted or f"{forms(list(EndpointKind))}, node:0,2@3:1"
        raise UserError(f"endpoint '{text}' is not one of the forms {known}{_hint(text)}")
    kind = EndpointKind(name)
    if kind is EndpointKind.PMEM and not rest.startswith("/"):
        return Endpoint(kind=kind, numbers=_parse_emulated(text, rest))
    if kind in STORAGE:
        return Endpoint(kind=kind, path=_parse_path(text, rest))
    if kind is EndpointKind.HOST:
        return Endpoint(kind=kind, hosts=tuple(rest.split(",")))
    numbers_text, at, weights_text = _weights_last(rest).partition("@")
    try:
        numbers = parse_ranges(numbers_text)
    except ValueError as error:
        raise UserError(f"endpoint '{text}': {error}") from None
    if kind is EndpointKind.GPU and len(numbers) != 1:
        raise UserError(f"endpoint '{text}': name one GPU, as in gpu:0")
    if kind is EndpointKind.CPUS:
        numbers = sorted(numbers)
    if at and kind is not EndpointKind.NODE:
        raise UserError(f"endpoint '{text}': only nodes take weights, as in node:0,2@3:1")
    weights = _parse_weights(text, weights_text, len(numbers)) if at else ()
    return Endpoint(kind=kind, numbers=tuple(numbers), weights=weights)


def _spelled_out(text: str) -> str:
    """Return ``node:0`` for ``node0``, ``cpus:0`` for ``cpu:0``, ``file:/data`` for ``/data``, and
    ``dev:/dev/nvme0n1`` for ``/dev/nvme0n1``."""
    if text.startswith(("/", ".")):
        kind = EndpointKind.DEV if _DRIVE.match(text) else EndpointKind.FILE
        return f"{kind}:{os.path.abspath(text)}"  # noqa: PTH100 - of any length
    match = _SHORT.fullmatch(text)
    return f"{'cpus' if match[1] == 'cpu' else match[1]}:{match[2]}" if match else text


def _hint(text: str) -> str:
    name, colon, rest = text.partition(":")
    if text.isascii() and text.isdigit():
        return f"; did you mean 'node:{text}'?"
    nearest = difflib.get_close_matches(name, list(EndpointKind), n=1)
    return f"; did you mean '{nearest[0]}:{rest}'?" if nearest and colon and rest else ""


def _weights_last(rest: str) -> str:
    """Return ``0,2@3:1`` for ``0@3,2``, where weights stand behind their own nodes."""
    if "," not in rest.partition("@")[2]:
        return rest
    shares = [part.partition("@") for part in rest.split(",")]
    numbers = ",".join(number for number, _, _ in shares)
    return f"{numbers}@{':'.join(weight if at else '1' for _, at, weight in shares)}"


def _parse_emulated(text: str, rest: str) -> tuple[int, ...]:
    name, _, number = _spelled_out(rest).partition(":")
    try:
        numbers = parse_ranges(number) if name == "node" else []
    except ValueError:
        numbers = []
    if len(numbers) != 1:
        raise UserError(
            f"endpoint '{text}' is not one of the forms pmem:/mnt/pmem (a directory), pmem:node:0 "
            "(a node's memory that stands in for persistent memory)"
        )
    return tuple(numbers)


def _parse_path(text: str, path: str) -> str:
    if not path.startswith("/"):
        raise UserError(f"endpoint '{text}': the path must be absolute")
    if not path.isprintable():
        raise UserError(f"endpoint {text!r}: the path has characters that cannot be printed")
    return path


def _parse_weights(text: str, weights_text: str, nodes: int) -> tuple[int, ...]:
    parts = weights_text.split(":")
    weights = tuple(whole_number(part) or 0 for part in parts)
    if len(weights) != nodes or not all(1 <= weight <= MAX_WEIGHT for weight in weights):
        raise UserError(
            f"endpoint '{text}': give one weight from 1 to {MAX_WEIGHT} for each of the "
            f"{nodes} nodes, separated by colons, as in node:0,2@3:1"
        )
    return weights


def whole_number(text: str) -> int | None:
    """Return the number that ASCII digits write; None for other text, and for more digits than 64
    bits have."""
    return int(text) if _WHOLE.fullmatch(text) else None


def parse_ranges(text: str) -> list[int]:
    """Parse ``0-7,16`` into numbers in the order given; raises ValueError saying what is wrong."""
    numbers: list[int] = []
    for part in text.split(","):
        low, dash, high = part.partition("-")
        bounds = [low, high] if dash else [low, low]
        if not all(bound.isascii() and bound.isdigit() and len(bound) <= 6 for bound in bounds):
            raise ValueError(f"'{part}' is neither a number up to 999999 nor a range such as 0-7")
        first, last = int(bounds[0]), int(bounds[1])
        if last < first:
            raise ValueError(f"the range '{part}' runs backwards")
        numbers.extend(range(first, last + 1))
    if len(set(numbers)) != len(numbers):
        raise ValueError(f"'{text}' names a number twice")
    return numbers


def format_ranges(numbers: tuple[int, ...]) -> str:
    """Write ascending numbers as ``0-7,16``."""
    parts: list[str] = []
    start = previous = None
    for number in (*numbers, None):
        if previous is not None and number == previous + 1:
            previous = number
            continue
        if start is not None:
            parts.append(f"{start}" if start == previous else f"{start}-{previous}")
        start = previous = number
    return ",".join(parts)

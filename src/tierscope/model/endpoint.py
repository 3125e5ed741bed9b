"""Endpoints: who issues accesses (initiator) and what holds the data (target).

The grammar is the same in the CLI, in plans and in results::

    node:0            as initiator: that node's CPUs; as target: its memory
    node:0,2@3:1      target only: pages of both nodes, 3 of node 0 to 1 of node 2
    cpus:0-7,16       initiator only
    gpu:1             a GPU's index as the driver counts them
    pmem:/mnt/pmem    a directory on a DAX file system
    file:/data/x      a file, or a directory to make one in
"""

from enum import StrEnum

from tierscope.model.base import Model
from tierscope.model.errors import UserError

MAX_WEIGHT = 255  # as in Linux's weighted_interleave/nodeN
_GRAMMAR = "node:0  node:0,2@3:1  cpus:0-7,16  gpu:1  pmem:/mnt/pmem  file:/data/x"


class EndpointKind(StrEnum):
    """The part of an endpoint before its colon."""

    NODE = "node"
    CPUS = "cpus"
    GPU = "gpu"
    PMEM = "pmem"
    FILE = "file"


class Endpoint(Model):
    """One parsed endpoint; ``str()`` gives its canonical text back."""

    kind: EndpointKind
    numbers: tuple[int, ...] = ()
    """Node, CPU or GPU numbers; ascending for CPUs, in the order given for nodes."""
    weights: tuple[int, ...] = ()
    """One for each node where weights were given (1..255), else empty."""
    path: str = ""
    """Absolute path of a ``pmem`` or ``file`` endpoint."""

    def __str__(self) -> str:
        if self.kind in (EndpointKind.PMEM, EndpointKind.FILE):
            return f"{self.kind}:{self.path}"
        if self.kind is EndpointKind.CPUS:
            return f"{self.kind}:{format_ranges(self.numbers)}"
        weights = "@" + ":".join(map(str, self.weights)) if self.weights else ""
        return f"{self.kind}:{','.join(map(str, self.numbers))}{weights}"


def parse_endpoint(text: str) -> Endpoint:
    """Parse one endpoint; raises UserError that names the text and the grammar."""
    name, colon, rest = text.partition(":")
    if not colon or name not in set(EndpointKind) or not rest:
        raise UserError(f"endpoint '{text}' is not one of the forms {_GRAMMAR}")
    kind = EndpointKind(name)
    if kind in (EndpointKind.PMEM, EndpointKind.FILE):
        if not rest.startswith("/"):
            raise UserError(f"endpoint '{text}': the path must be absolute")
        return Endpoint(kind=kind, path=rest)
    numbers_text, at, weights_text = rest.partition("@")
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


def _parse_weights(text: str, weights_text: str, nodes: int) -> tuple[int, ...]:
    parts = weights_text.split(":")
    weights = tuple(int(part) if part.isascii() and part.isdigit() else 0 for part in parts)
    if len(weights) != nodes or not all(1 <= weight <= MAX_WEIGHT for weight in weights):
        raise UserError(
            f"endpoint '{text}': give one weight from 1 to {MAX_WEIGHT} for each of the "
            f"{nodes} nodes, separated by colons, as in node:0,2@3:1"
        )
    return weights


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

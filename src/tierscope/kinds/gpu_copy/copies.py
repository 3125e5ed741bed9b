"""Measured copies with their transfers as planned, and what people call them."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from tierscope.model.gpu import GpuPlace, HostPlace, Transfer
from tierscope.model.run import Measurement, Run
from tierscope.model.transfers import between_gpus, endpoint_of, host_places, reads
from tierscope.report.pictures.picture import words_of

_ALL_WORDS = ["engine", "memory", "pages", "way", "transfers", "issued", "streams"]


@dataclass(frozen=True)
class Copy:
    """One measured copy."""

    entry: Measurement
    transfers: tuple[Transfer, ...]
    """As the plan has them; none in a file of another's making."""
    gpus: int
    """GPUs of the machine."""

    @property
    def counted(self) -> list[Transfer]:
        """The transfers whose bytes the figure counts."""
        return [one for one in self.transfers if one.reported]

    @property
    def both_ways(self) -> bool:
        """Whether two transfers go in opposite directions."""
        return (
            len(self.transfers) == 2 and self.transfers[1].source == self.transfers[0].destination
        )

    @property
    def source_writes(self) -> bool:
        """Whether, between two GPUs, the source issues the copy."""
        one = self.transfers[0] if self.transfers else None
        return one is not None and between_gpus(one) and not reads(one)

    @property
    def size(self) -> int:
        """Bytes of one copy."""
        return int(self.entry.pattern["size"])


def copies_of(measured: Sequence[Measurement], run: Run) -> list[Copy]:
    """Return the copies of a run with their transfers."""
    gpus = len(run.header.machine["gpus"])
    return [Copy(entry, _transfers(run, entry), gpus) for entry in measured]


def _transfers(run: Run, entry: Measurement) -> tuple[Transfer, ...]:
    planned = run.planned(entry.id) or {}
    try:
        return tuple(Transfer.model_validate(one) for one in planned.get("transfers", ()))
    except ValidationError:  # Of a later version: its figures stand for themselves.
        return ()


def describe(copy: Copy) -> str:
    """Return ``node:0 -> gpu:0, ce, pinned`` or the like: all that tells copies apart."""
    entry, transfers = copy.entry, copy.transfers
    if not transfers:
        said = words_of(entry, [key for key in _ALL_WORDS if key in entry.pattern])
        return ", ".join(filter(None, (f"{entry.initiator} -> {entry.target}", said, *rows(copy))))
    first = transfers[0]
    streams = [f"{first.streams} streams"] if first.streams > 1 else []
    worker = []
    if between_gpus(first) and len(transfers) <= 2:
        worker = [f"gpu:{first.gpu} {'reads' if reads(first) else 'writes'}"]
    parts = [_name(copy), first.engine, *worker, *memory_of(copy), *rows(copy), *streams]
    return ", ".join(parts)


def _name(copy: Copy) -> str:
    first = copy.transfers[0]
    source, destination = endpoint_of(first.source), endpoint_of(first.destination)
    if len(copy.transfers) == 1:
        return f"{source} -> {destination}"
    if copy.both_ways:
        return f"{source} <-> {destination}"
    label = _set_of(copy)
    name = f"{len(copy.transfers)} transfers{_common_endpoint(copy.transfers)}"
    return f"{label}: {name}" if label else name


def _set_of(copy: Copy) -> str:
    """Return the name of a set of transfers among all GPUs; empty for any other."""
    transfers = copy.transfers
    ends = [(one.source, one.destination) for one in transfers]
    gpus = {end.gpu for pair in ends for end in pair if isinstance(end, GpuPlace)}
    if len(copy.counted) != len(transfers) or len(gpus) != copy.gpus:
        return ""
    from_host = [one for one in transfers if isinstance(one.source, HostPlace)]
    to_host = [one for one in transfers if isinstance(one.destination, HostPlace)]
    if len(from_host) + len(to_host) == len(transfers):
        if from_host and to_host:
            return "all-and-host"
        return "host-to-all" if from_host else "all-to-host"
    if from_host or to_host:
        return ""
    if len({endpoint_of(source) for source, _ in ends}) == 1:
        return "one-to-all"
    if len({endpoint_of(destination) for _, destination in ends}) == 1:
        return "all-to-one"
    return "all-to-all" if len(transfers) == len(gpus) * (len(gpus) - 1) else ""


def _common_endpoint(transfers: Sequence[Transfer]) -> str:
    sources = {endpoint_of(one.source) for one in transfers}
    destinations = {endpoint_of(one.destination) for one in transfers}
    if len(sources) == 1:
        return f" from {sources.pop()}"
    return f" to {destinations.pop()}" if len(destinations) == 1 else ""


def memory_of(copy: Copy) -> list[str]:
    """Return the kinds of host memory of a copy: ``pinned``, ``registered in 2m pages``."""
    return [
        place.memory + ("" if place.pages == "base" else f" in {place.pages} pages")
        for place in host_places(copy.transfers[:1])
    ]


def rows(copy: Copy) -> list[str]:
    """Return the rows of a strided copy."""
    row, pitch = copy.entry.pattern.get("row_bytes"), copy.entry.pattern.get("pitch")
    return [f"rows of {row} B every {pitch} B"] if row else []

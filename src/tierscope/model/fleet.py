"""The index of a fleet: ``fleet.json`` in the folder that ``tierscope fleet run`` leaves.

It says what was asked of which hosts and what became of each. Their figures are in run files of
their own, ``hosts/HOST.jsonl``.
"""

from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import Field

from tierscope.model.base import Count, Model, Word

FLEET_VERSION: Final = 1

HostState = Literal["measured", "partial", "cannot", "failed", "lost"]
"""measured: all that was asked for is in its run file, or skipped with a reason there; partial: a
measurement failed, or the run ended before its time; cannot: the plan does not fit this host, which
was said before anything was measured; failed: it broke and has no figure; lost: its rank died, hung
or stopped answering, and what it had measured until then is in its run file."""


class ClockOffset(Model):
    """How far a host's clock is ahead of rank 0's, by the quickest of many round trips.

    The method is Cristian's: the offset lies within half that round trip of the estimate, provided
    that neither clock was set meanwhile.
    """

    offset_ns: int
    low_ns: int
    high_ns: int
    round_trip_ns: Count
    """Of the quickest round trip."""
    round_trips: Count
    """That were made."""


class InFleet(Model):
    """The part that a run had in a fleet, in its header."""

    rank: Count
    order: Word[Literal["together", "one-by-one"]]
    """together: its repetitions began in step with those of other hosts."""
    alone: bool = False
    """Rank 0 had been lost before it began, so it measured without an order."""
    clock: ClockOffset | None = None
    """When the run began; None where rank 0 did not answer."""


@dataclass(frozen=True)
class FleetPlace:
    """Which host of a fleet this is."""

    number: Count
    """Of those that measure, from 0."""
    hosts: Count
    token: str
    """Of the fleet; no other one has it."""


class FleetHost(Model):
    """A host, and what became of it."""

    host: str
    """As in its run file."""
    rank: Count | None = None
    """Its MPI rank; None where run files were put together without MPI."""
    state: Word[HostState | Literal["waiting", "measuring"]]
    """waiting and measuring: while the fleet is under way, or where rank 0 itself was lost."""
    reason: str = ""
    """Why it is not measured, for people."""
    run: str = ""
    """Its run file, relative to the folder; empty where it has none."""
    clock: ClockOffset | None = None
    """Before its first repetition; None where it is unknown, as of run files copied together."""
    clock_after: ClockOffset | None = None
    """After its last one: the difference is how far the clocks drifted apart."""
    rack: str | None = None
    switch: str | None = None


class FleetJob(Model):
    """The request to a fleet, and its time."""

    version: Literal[1] = FLEET_VERSION
    started: str
    """ISO 8601 with offset."""
    finished: str | None = None
    """None while it is under way, or where rank 0 was lost."""
    command: list[str] = []
    tierscope: str = ""
    """Version of tierscope."""
    plan: str = ""
    """The plan or profile that was asked for, as it was named."""
    order: Word[Literal["together", "one-by-one"]] | None = None
    """together: the repetitions of all hosts begin in step; None: measured each by itself."""


class FleetIndex(FleetJob):
    """The request to a fleet, its time, and the state of each host."""

    hosts: Annotated[list[FleetHost], Field(min_length=1)]

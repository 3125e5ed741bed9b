"""One look at a tiering that is on: counters, pages by node, accesses, and what to think of it."""

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tierscope.place import supervisor, tiering
from tierscope.place.damon import reasons, status
from tierscope.place.damon.rules import Rules, Scheme
from tierscope.place.damon.status import Region, SchemeStatus
from tierscope.place.kernel import PAGE_BYTES, Kernel
from tierscope.place.nodes import nodes_with_memory
from tierscope.place.tiering import Session

_PROOF = 16 << 20
"""Bytes from which on moved pages have to show."""
_RECENT = 10
"""Looks that the pages of the last one are found among."""


@dataclass(frozen=True)
class Move:
    """A scheme that moves pages, and how it goes."""

    scheme: Scheme
    source: tuple[int, ...]
    status: SchemeStatus | None
    """None where its kdamond is off."""
    reasons: tuple[str, ...]
    """Why it moves nothing."""


@dataclass(frozen=True)
class Heat:
    """Bytes of a node by how often they are accessed."""

    node: int
    samples: int
    """Samples in an aggregation interval."""
    regions: tuple[Region, ...]


@dataclass(frozen=True)
class Look:
    """State of a tiering at one time."""

    session: Session
    seconds: float
    """Since it began."""
    moves: tuple[Move, ...]
    pages: dict[int, int]
    """Bytes by node."""
    pages_seconds: float
    """When the pages were there, since it began."""
    migrated_bytes: int
    """By the whole kernel, since it began."""
    promoted_bytes: int
    demoted_bytes: int
    """By NUMA balancing and reclaim, since boot."""
    heat: tuple[Heat, ...]
    doubts: tuple[str, ...]
    """What is wrong with it, and where counters and pages disagree; for NUMA balancing why nothing
    moves."""


class Looks:
    """Looks at a program until it has ended.

    A program that ends gives its memory back before anybody can see that it has ended, and its
    children before that. So the last look has the pages of the last one that found about as many as
    those before it.
    """

    def __init__(self, first: Look) -> None:
        self._recent = deque([first], maxlen=_RECENT)

    def add(self, one: Look) -> None:
        """Add a look."""
        self._recent.append(one)

    def last(self) -> Look:
        """Return the last look, at a program that has ended."""
        most = max(sum(one.pages.values()) for one in self._recent)
        full = next(one for one in reversed(self._recent) if 2 * sum(one.pages.values()) >= most)
        seconds = time.time() - full.session.started
        return replace(
            self._recent[-1], seconds=seconds, pages=full.pages, pages_seconds=full.pages_seconds
        )


def look(kernel: Kernel, session: Session, rules: Rules | None, deep: bool = True) -> Look:
    """Look at a tiering; ``deep`` also reads all regions, which takes an aggregation interval."""
    pages = tiering.bytes_by_node(kernel, session.cgroup, session.pid)
    moves, heat = _by_damon(kernel, session, rules, deep) if rules is not None else ((), ())
    migrated = (tiering.migrated_pages(kernel) - session.migrated) * PAGE_BYTES
    promoted, demoted = (PAGE_BYTES * number for number in tiering.moved(kernel))
    doubts = [*_problems(session), *_disagreements(moves, migrated)]
    if rules is None and not promoted + demoted:
        doubts += tiering.why_nothing_moves(kernel)
    seconds = time.time() - session.started
    return Look(
        session, seconds, moves, pages, seconds, migrated, promoted, demoted, heat, tuple(doubts)
    )


def _by_damon(
    kernel: Kernel, session: Session, rules: Rules, deep: bool
) -> tuple[tuple[Move, ...], tuple[Heat, ...]]:
    counters = status.scheme_statuses(kernel, rules)
    found = status.regions(kernel, rules) if deep else []
    moves = []
    for number, place, context, scheme in rules.schemes():
        if not scheme.moves:
            continue
        own = next((one for one in counters if (one.kdamond, one.place) == (number, place)), None)
        sources = _sources(session, number)
        why = _without_memory(kernel, session, sources, scheme) or reasons.why_nothing_moves(
            kernel, context, scheme, own, [one for one in found if one.kdamond == number],
            session.cgroup, sources,
        )  # fmt: skip
        moves.append(Move(scheme, sources, own, tuple(why) if deep else ()))
    heat = []
    for number, kdamond in enumerate(rules.kdamonds):
        for context in kdamond.contexts:
            nodes = _sources(session, number)
            own_regions = tuple(one for one in found if one.kdamond == number)
            if len(nodes) == 1 and own_regions:
                monitoring = context.monitoring
                heat.append(Heat(nodes[0], monitoring.aggr_us // monitoring.sample_us, own_regions))
    return tuple(moves), tuple(heat)


def _sources(session: Session, number: int) -> tuple[int, ...]:
    """Return the nodes that a kdamond monitors, those too whose memory has gone offline since."""
    return session.monitored[number].nodes if number < len(session.monitored) else ()


def _without_memory(
    kernel: Kernel, session: Session, sources: Sequence[int], scheme: Scheme
) -> list[str]:
    """Return the nodes whose memory is offline, where a scheme can move nothing for that reason."""
    there = nodes_with_memory(kernel)
    found = []
    for nodes in (sources, scheme.destinations()):
        if nodes and not {*nodes} & {*there}:
            found += [f"node {node} has no memory{_since(session, node)}" for node in nodes]
    return found


def _since(session: Session, node: int) -> str:
    last = next((one for one in reversed(session.events) if one.node == node), None)
    return f" since {clock(last.time)}" if last and not last.left else " any more"


def clock(seconds: float) -> str:
    """Return a time of this day, or another one with its day."""
    then = datetime.fromtimestamp(seconds).astimezone()
    today = then.date() == datetime.now().astimezone().date()
    return f"{then:%H:%M:%S}" if today else f"{then:%Y-%m-%d %H:%M:%S}"


def hit_share(heat: Sequence[Heat], fast: Sequence[int]) -> float | None:
    """Return the share of accesses that fall on these nodes, as DAMON's samples estimate it.

    None where one side is not monitored, or nothing was accessed.
    """
    if {one.node for one in heat} <= {*fast} or not any(one.node in fast for one in heat):
        return None
    weight = {
        one.node: sum(r.bytes * r.accesses for r in one.regions) / max(1, one.samples)
        for one in heat
    }
    total = sum(weight.values())
    return sum(weight.get(node, 0) for node in fast) / total if total else None


def fast_nodes(moves: Sequence[Move]) -> tuple[int, ...]:
    """Return the nodes that pages are promoted to or demoted from."""
    found = [
        node
        for move in moves
        for node in (
            move.source if move.scheme.action == "migrate_cold" else move.scheme.destinations()
        )
    ]
    return tuple(dict.fromkeys(found))


def _problems(session: Session) -> list[str]:
    found = [session.problem] if session.problem else []
    if session.left:
        found.append(str(tiering.NotUndoneError(session)))
    elif not supervisor.alive(session.supervisor):
        found.append(
            "its supervisor has been killed: memory that comes online is not monitored, and what "
            "was changed stays until 'tierscope tier stop'"
        )
    return found


def _disagreements(moves: Sequence[Move], migrated: int) -> list[str]:
    """Applied bytes without migrated pages: older kernels count what a full node refused."""
    found = []
    applied = sum(move.status.applied_bytes for move in moves if move.status)
    if applied >= _PROOF and migrated < applied / 10:
        found.append(
            f"DAMON says that it moved {applied >> 20} MiB, and the kernel has migrated "
            f"{migrated >> 20} MiB since: its counters are wrong where the target is full"
        )
    return found

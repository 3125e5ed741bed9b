"""One look at a tiering that is on: counters, pages by node, accesses, and what to think of it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from tierscope.place import tiering
from tierscope.place.damon import reasons, status, tree
from tierscope.place.damon.rules import Rules, Scheme
from tierscope.place.damon.status import Region, SchemeStatus
from tierscope.place.kernel import Kernel
from tierscope.place.tiering import Session

_PROOF = 16 << 20
"""Bytes from which on moved pages have to show."""
_PAGE = 4096


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
    """Bytes by node, now."""
    migrated_bytes: int
    """By the whole kernel, since it began."""
    promoted_bytes: int
    demoted_bytes: int
    """By NUMA balancing and reclaim, since boot."""
    heat: tuple[Heat, ...]
    doubts: tuple[str, ...]
    """Where counters and pages disagree; for NUMA balancing why nothing moves."""


def look(kernel: Kernel, session: Session, rules: Rules | None, deep: bool = True) -> Look:
    """Look at a tiering; ``deep`` also reads all regions, which takes an aggregation interval."""
    pages = tiering.bytes_by_node(kernel, session.cgroup, session.pid)
    vmstat = kernel.fields("/proc/vmstat")
    migrated = (vmstat.get("pgmigrate_success", 0) - session.migrated) * _PAGE
    moves, heat = _by_damon(kernel, session, rules, deep) if rules is not None else ((), ())
    promoted, demoted = (_PAGE * number for number in tiering.moved(kernel))
    doubts = [*_disagreements(moves, migrated)]
    if rules is None and not promoted + demoted:
        doubts += tiering.why_nothing_moves(kernel)
    return Look(
        session, time.time() - session.started, moves, pages, migrated, promoted, demoted, heat,
        tuple(doubts),
    )  # fmt: skip


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
        why = reasons.why_nothing_moves(
            kernel, context, scheme, own, [one for one in found if one.kdamond == number],
            session.cgroup,
        )  # fmt: skip
        moves.append(Move(scheme, tree.nodes_of(kernel, context), own, tuple(why) if deep else ()))
    heat = []
    for number, kdamond in enumerate(rules.kdamonds):
        for context in kdamond.contexts:
            nodes = tree.nodes_of(kernel, context)
            own_regions = tuple(one for one in found if one.kdamond == number)
            if len(nodes) == 1 and own_regions:
                monitoring = context.monitoring
                heat.append(Heat(nodes[0], monitoring.aggr_us // monitoring.sample_us, own_regions))
    return tuple(moves), tuple(heat)


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

"""What a study's figures say, in sentences that name baseline, operation and number of threads."""

from collections.abc import Iterator, Sequence
from statistics import fmean

from tierscope.analysis.streamer import (
    CLOSE,
    FAR,
    LOCAL,
    OPERATIONS,
    REMOTE,
    SPREAD,
    Configuration,
    Study,
    Way,
    ratio,
)
from tierscope.analysis.streamer_limits import Limits, against_optane, split_losses
from tierscope.analysis.streamer_words import Finding, changes, counted, gb, values_of

_LEVEL = 0.05
"""Change of a curve, and difference of two, from which on they are said to differ."""


def findings(study: Study, limits: Limits) -> list[Finding]:
    """Return what one machine's figures say, topic by topic."""
    topics = (_saturation, _remote, _far, _sockets, _pmdk, _backings, _close, _meet, against_optane)
    return [*(one for say in topics for one in say(study)), *split_losses(study, limits)]


def between_machines(study: Study, baseline: Study) -> list[Finding]:
    """Return one machine's local, remote and far memory against another machine's."""
    found = []
    for persistent in (True, False):
        for relation in (LOCAL, REMOTE, FAR):
            ways = [_of_relation(one, relation, persistent) for one in (baseline, study)]
            if not all(ways):
                continue
            figures = [
                {name: one.points(way, name) for name in OPERATIONS}
                for one, way in zip((baseline, study), ways, strict=True)
                if way
            ]
            shared = set.intersection(
                *(set(points) for by in figures for points in by.values() if points)
            )
            if not shared:
                continue
            threads = max(shared)
            ratios = {
                name: ratio(figures[1][name][threads], figures[0][name][threads])
                for name in OPERATIONS
                if figures[0][name] and figures[1][name]
            }
            old, new = (
                f"{one.machine}, {way.words}"
                for one, way in zip((baseline, study), ways, strict=True)
                if way
            )
            text = (
                f"{counted(threads)}, {relation} memory: {new} against {old} (baseline): "
                f"{changes(ratios)}."
            )
            found.append(Finding("machines", study.machine, text, old, threads, values_of(ratios)))
    return found


def _of_relation(study: Study, relation: str, persistent: bool) -> Way | None:
    """Return a machine's first way of one socket to memory of a relation.

    Of pools the one whose object ids are translated goes first, since STREAM-PMem does that, too.
    """
    memories = sorted(study.memories(persistent), key=lambda m: m.backing != "pool-objects")
    for socket in study.sockets():
        for memory in memories:
            own = FAR if memory.socket is None else LOCAL if memory.socket == socket else REMOTE
            way = Way((socket,), memory)
            if own == relation and any(study.points(way, name) for name in OPERATIONS):
                return way
    return None


def _saturation(study: Study) -> Iterator[Finding]:
    """Where the groups of one socket, which the others are compared with, stop to scale."""
    for one in study:
        if len(one.sockets) > 1 or len(one.threads()) < 3:
            continue
        last, parts, values = one.threads()[-1], [], {}
        for name in (name for name in OPERATIONS if name in one.points):
            knee, (_, best) = one.knee(name), one.best(name)
            values[name] = best.value
            where = f"{knee.last}" if knee.first == knee.last else f"{knee.first} to {knee.last}"
            rising = ", still rising" if knee.last >= last else ""
            parts.append(f"{name.title()} {where} (best {gb(best.value)}{rising})")
        text = (
            f"{one.group}, {one.words} ({one.relation()}): saturates (95% of the best bandwidth) "
            f"with this many threads: {', '.join(parts)}."
        )
        yield Finding("saturation", study.machine, text, "", last, values)


def _against(
    study: Study, topic: str, base: Way, other: Way, first: bool = False
) -> Iterator[Finding]:
    """Yield a comparison of two ways at the most threads that both have, and at the ``first``."""
    shared = study.common(base, other)
    for count in sorted({*shared[: 1 if first else 0], *shared[-1:]}):
        ratios = study.ratios(base, other, count)
        here, there = _in_words(other), _in_words(base, ", baseline")
        socket = "" if base.sockets != other.sockets else f"Socket {base.socket_words}, "
        if not socket:
            here = f"{other.memory.words} from socket {other.socket_words}"
            there = f"the same from socket {base.socket_words} (baseline)"
        head = f"{socket}{counted(count)}: {here} against {there}"
        text = f"{head[0].upper()}{head[1:]}: {changes(ratios)}."
        yield Finding(topic, study.machine, text, base.words, count, values_of(ratios))


def _in_words(way: Way, more: str = "") -> str:
    """Return a memory and whose it is, as its CPUs see it."""
    socket = way.memory.socket
    relation = FAR if socket is None else LOCAL if socket in way.sockets else REMOTE
    return f"{way.memory.words} ({relation}{more})"


def _remote(study: Study) -> Iterator[Finding]:
    """Each socket's way to another socket's memory against that to its own."""
    for persistent in (True, False):
        for socket in study.sockets():
            own = study.own_memory(socket, persistent)
            for memory in study.memories(persistent):
                if own and memory.socket not in (None, socket) and memory.backing == own.backing:
                    base, other = Way((socket,), own), Way((socket,), memory)
                    yield from _against(study, "remote", base, other)


def _far(study: Study) -> Iterator[Finding]:
    """Memory of no socket against another socket's, and against local memory."""
    for persistent in (True, False):
        memories = study.memories(persistent)
        for socket in study.sockets():
            for far in (memory for memory in memories if memory.socket is None):
                other = Way((socket,), far)
                for base in (m for m in memories if m.socket is not None):
                    if base.backing == far.backing:
                        yield from _against(study, "far", Way((socket,), base), other)


def _sockets(study: Study) -> Iterator[Finding]:
    """The same far memory from each socket, at one thread and at the most."""
    for persistent in (True, False):
        for far in (m for m in study.memories(persistent) if m.socket is None):
            first, *others = study.sockets() or [0]
            for socket in others:
                base, other = Way((first,), far), Way((socket,), far)
                yield from _against(study, "sockets", base, other, first=True)


def _pmdk(study: Study) -> Iterator[Finding]:
    """Persistent memory against NUMA memory on the same memory, at one thread and at the most."""
    for socket in study.sockets():
        for memory in study.memories(persistent=True):
            for plain in study.memories(persistent=False):
                if memory.of_node and plain.numbers == memory.numbers:
                    base, other = Way((socket,), plain), Way((socket,), memory)
                    yield from _against(study, "pmdk", base, other, first=True)


def _backings(study: Study) -> Iterator[Finding]:
    """Object ids translated for each element against pointers taken once."""
    memories = study.memories(persistent=True)
    for socket in study.sockets():
        for base in (m for m in memories if m.backing == "pool"):
            for other in (m for m in memories if m.backing == "pool-objects"):
                if base.numbers == other.numbers:
                    ways = Way((socket,), base), Way((socket,), other)
                    yield from _against(study, "backing", *ways, first=True)


def _close(study: Study) -> Iterator[Finding]:
    """What the second socket's cores do to a curve that the first one's have filled."""
    for one in _of_two(study, CLOSE):
        first = one.cores[0]
        last = one.threads()[-1]
        ratios = {
            name: ratio(points[last], points[first])
            for name, points in one.points.items()
            if first in points and last in points and last > first
        }
        if not ratios:
            continue
        mean = fmean(one.value - 1 for one in ratios.values())
        verb = "falls" if mean < -_LEVEL else "rises" if mean > _LEVEL else "stays level"
        joining = one.sockets[1:]
        owner = one.memory.socket
        see = FAR if owner is None else "local" if owner in joining else "remote"
        names = "+".join(map(str, joining))
        text = (
            f"{one.group}, {one.words}: from {counted(first)} on, where socket {one.sockets[0]} is "
            f"full and socket {names} joins (its memory is {see} to it), the curve {verb}; "
            f"at {counted(last)} against {first}: {changes(ratios)}."
        )
        yield Finding("close", study.machine, text, counted(first), last, values_of(ratios))


def _of_two(study: Study, affinity: str) -> list[Configuration]:
    return [c for c in study if len(c.sockets) > 1 and c.affinity == affinity]


def _meet(study: Study) -> Iterator[Finding]:
    """From which number of threads on close and spread differ by less than 5%."""
    for spread in _of_two(study, SPREAD):
        close = next(
            (c for c in _of_two(study, CLOSE)
             if (c.memory, c.group, c.sockets) == (spread.memory, spread.group, spread.sockets)),
            None,
        )  # fmt: skip
        if close is None:
            continue
        parts, values = [], {}
        for name in spread.points.keys() & close.points.keys():
            counts = sorted(spread.points[name].keys() & close.points[name].keys())
            if len(counts) < 2:
                continue
            met = _meeting(
                [abs(spread.points[name][n].value / close.points[name][n].value - 1)
                 for n in counts], counts
            )  # fmt: skip
            if met is not None:
                values[name] = float(met)
        parts = [f"{n.title()} from {values[n]:.0f}" for n in OPERATIONS if n in values]
        missing = [n.title() for n in OPERATIONS if n in spread.points and n not in values]
        parts += [f"{', '.join(missing)} nowhere"] if missing else []
        if values or missing:
            last = min(spread.threads()[-1], close.threads()[-1])
            text = (
                f"{spread.group}, {spread.memory.words}: close (baseline) and spread affinity stay "
                f"within {_LEVEL:.0%} of each other from these numbers of threads on, up to "
                f"{last}: {', '.join(parts)}."
            )
            yield Finding("meet", study.machine, text, close.words, last, values)


def _meeting(apart: Sequence[float], counts: Sequence[int]) -> int | None:
    """Return the count from which on all differences are small; None where the last is not."""
    met = None
    for count, difference in zip(reversed(counts), reversed(apart), strict=True):
        if difference > _LEVEL:
            break
        met = count
    return met

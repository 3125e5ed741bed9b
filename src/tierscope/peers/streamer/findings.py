"""Sentences on the figures of a study, and the STREAMer paper's beside its published figures.

Claims are those of Fridman et al., "CXL Memory as Persistent Memory for Disaggregated HPC: A
Practical Approach", 2023, in our words, with the sections that they are from. The limits of its
machines follow from its section 2: one DDR5-4800 module a socket; one channel of DDR4 with a clock
of 1333 MHz on the CXL device, behind PCIe 5.0 x16.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from statistics import fmean

from tierscope.model.errors import counted
from tierscope.peers.streamer.study import (
    CLOSE,
    FAR,
    LOCAL,
    OPERATIONS,
    OPTANE_READ,
    OPTANE_SOURCE,
    OPTANE_WRITE,
    REMOTE,
    SPREAD,
    Configuration,
    Curves,
    Finding,
    Limits,
    Memory,
    MemoryLimit,
    Ratios,
    Study,
    Way,
    common_counts,
    ratios_of,
)

_SECTION_2 = "section 2 of the paper: DDR4-2666 on one channel, DDR5-4800 on one"
_DDR5, _CXL = 8 * 4800e6, 8 * 2666e6
_LINK = 32e9 * 16 / 8 * 128 / 130
LIMITS: Limits = {
    (0,): MemoryLimit(_DDR5, None, _SECTION_2),
    (1,): MemoryLimit(_DDR5, None, _SECTION_2),
    (2,): MemoryLimit(_CXL, _LINK, _SECTION_2),
}
"""Limits of the machine with CXL memory, by its nodes."""

_POINTS = 0.03
"""Percentage points by which a figure may miss a rounded one and still be as the text says."""
_RATE = 0.5e9
_ALIKE = 0.05
_TENTH = 0.1

Values = dict[str, float]
"""By operation: a change, a factor, or bytes/s."""
_LEVEL = 0.05
"""Change of a curve, and difference of two, from which on they are said to differ."""
Pairs = Iterator[tuple[Way, Way]]
"""A baseline, and the way that is compared with it."""


@dataclass(frozen=True)
class _Published:
    """The published figures: the machine with CXL memory, and the one with DDR4."""

    first: Study
    older: Study | None

    def pmem(self, number: int) -> Curves:
        """Persistent memory from socket 0."""
        return _curves(self.first, number, True)

    def numa(self, number: int) -> Curves:
        """NUMA memory from socket 0."""
        return _curves(self.first, number, False)

    def older_numa(self, number: int) -> Curves:
        """NUMA memory of the machine with DDR4 from socket 0."""
        return _curves(self.older, number, False)


@dataclass(frozen=True)
class _Claim:
    """A statement of the paper that its figures can be held against."""

    where: str
    text: str
    low: float
    high: float
    tolerance: float
    values: Callable[[_Published], Values]
    say: Callable[[float], str]
    on_average: bool = False
    """The text speaks of the mean of all operations."""


def _curves(study: Study | None, number: int, persistent: bool) -> Curves:
    """Return what socket 0 gets of the memory of a number."""
    found = _numbered(study, number, persistent)
    return study.curves(Way((0,), found)) if study and found else {}


def _numbered(study: Study | None, number: int, persistent: bool) -> Memory | None:
    memories = study.memories(persistent) if study else []
    return next((one for one in memories if one.numbers == (number,)), None)


def _all_cores(study: Study | None, number: int, persistent: bool) -> Curves:
    """Return what all cores get of the memory of a number, by close affinity."""
    memory = _numbered(study, number, persistent)
    found = (c.points for c in _of_two(study, CLOSE) if c.memory == memory) if study else ()
    return next(iter(found), {})


def _changes(base: Curves, other: Curves, threads: int = 10) -> Values:
    return {name: change - 1 for name, change in _factors(base, other, threads).items()}


def _factors(base: Curves, other: Curves, threads: int = 10) -> Values:
    return _values(ratios_of(base, other, threads))


def _values(ratios: Ratios) -> Values:
    return {name: one.value for name, one in ratios.items()}


def _best_local(data: _Published) -> Values:
    return {name: max(p.value for p in points.values()) for name, points in data.pmem(0).items()}


def _fabric(data: _Published) -> Values:
    """Return the loss against local memory beyond the share of the media, estimated as below."""
    near, far = data.pmem(0), data.pmem(2)
    return {
        name: near[name][10].value * _CXL / _DDR5 - far[name][10].value
        for name in ratios_of(near, far, 10)
    }


def percent(change: float) -> str:
    """Return a change as a signed percentage, with a decimal below 10%."""
    if abs(change) < 0.0005:
        return "0.0%"
    return f"{change:+.1%}" if abs(change) < 0.0995 else f"{change:+.0%}"


def _gb(value: float) -> str:
    """Return bytes/s as GB/s, or MB/s where it is little, with three digits."""
    if abs(value) < 1e8:
        return f"{value / 1e6:.3g} MB/s"
    return f"{f'{value / 1e9:#.3g}'.rstrip('.')} GB/s"


def _times(value: float) -> str:
    return f"{value:.2f} times"


_CLAIMS = (
    _Claim("4, class 1a", "local DDR5 by PMDK saturates at 20 to 22 GB/s in all operations",
           20e9, 22e9, _RATE, _best_local, _gb),
    _Claim("4, class 1b", "on average the remote DDR5 gives 30% less than local DDR5, by PMDK",
           -0.30, -0.30, _POINTS, lambda data: _changes(data.pmem(0), data.pmem(1)), percent,
           on_average=True),
    _Claim("4, class 1b", "CXL memory gives 50% less than the remote socket's DDR5, by PMDK",
           -0.50, -0.50, _POINTS, lambda data: _changes(data.pmem(1), data.pmem(2)), percent),
    _Claim("1.4", "CXL memory gives about 60% less than local DDR5, by PMDK",
           -0.60, -0.60, _POINTS, lambda data: _changes(data.pmem(0), data.pmem(2)), percent),
    _Claim("5", "CXL memory gives around 50% less than local DDR5, by PMDK",
           -0.50, -0.50, _POINTS, lambda data: _changes(data.pmem(0), data.pmem(2)), percent),
    _Claim("4, class 1b", "2 to 3 GB/s are lost to the CXL fabric (here: estimated by limits)",
           2e9, 3e9, _RATE, _fabric, _gb),
    _Claim("4, class 1c", "with all cores, both sockets' DDR5 converge, by PMDK",
           0.0, 0.0, _ALIKE, lambda data: _changes(
               _all_cores(data.first, 0, True), _all_cores(data.first, 1, True), 20), percent),
    _Claim("4, class 1c", "with all cores, CXL memory gives 50% less than DDR5, by PMDK",
           -0.50, -0.50, _POINTS, lambda data: _changes(
               _all_cores(data.first, 0, True), _all_cores(data.first, 2, True), 20), percent),
    _Claim("4, class 2a", "PMDK costs 10 to 15% on the remote socket's DDR5",
           -0.15, -0.10, _POINTS, lambda data: _changes(data.numa(1), data.pmem(1)), percent),
    _Claim("4, class 2a", "PMDK costs 10 to 15% on CXL memory",
           -0.15, -0.10, _POINTS, lambda data: _changes(data.numa(2), data.pmem(2)), percent),
    _Claim("4, class 2a", "the remote socket's DDR5 has twice the bandwidth of CXL's DDR4",
           2.0, 2.0, _TENTH, lambda data: _factors(data.numa(2), data.numa(1)), _times),
    _Claim("4, class 2a", "the remote socket's DDR5 has twice that of the other machine's DDR4",
           2.0, 2.0, _TENTH, lambda data: _factors(data.older_numa(1), data.numa(1)), _times),
    _Claim("4, end", "the remote socket's DDR5 has 1.5 times the bandwidth of CXL's DDR4",
           1.5, 1.5, _TENTH, lambda data: _factors(data.numa(2), data.numa(1)), _times),
    _Claim("4, class 2b", "with all cores, on-node DDR4 converges to CXL's DDR4",
           0.0, 0.0, _ALIKE, lambda data: _changes(
               _all_cores(data.older, 0, False), _all_cores(data.first, 2, False), 20), percent),
)  # fmt: skip


def paper_findings(studies: Sequence[Study]) -> list[Finding]:
    """Return, for each claim that these published figures cover, whether they agree."""
    by_cxl = sorted(studies, key=lambda study: not _numbered(study, 2, True))
    if not by_cxl:
        return []
    return list(_judged(_Published(by_cxl[0], by_cxl[1] if len(by_cxl) > 1 else None)))


def _judged(data: _Published) -> Iterator[Finding]:
    for claim in _CLAIMS:
        values = claim.values(data)
        if not values:
            continue
        low, high = claim.low - claim.tolerance, claim.high + claim.tolerance
        judged = {"mean": fmean(values.values())} if claim.on_average else values
        outside = [name.title() for name, value in judged.items() if not low <= value <= high]
        figures = ", ".join(
            f"{name.title()} {claim.say(value)}" for name, value in {**values, **judged}.items()
        )
        verdict = (
            "The figures agree"
            if not outside
            else "The figures contradict that"
            if len(outside) == len(judged)
            else f"The figures agree in part, those of {' and '.join(outside)} do not"
        )
        text = f"The paper, section {claim.where}: {claim.text}. {verdict}: {figures}."
        yield Finding("paper", data.first.machine, text, values=values)


def findings(study: Study, limits: Limits) -> list[Finding]:
    """Return what one machine's figures say, topic by topic."""
    return [
        *_saturation(study),
        *(one for topic in _COMPARED for one in _compared(study, topic)),
        *_close(study),
        *_meet(study),
        *_against_optane(study),
        *_split_losses(study, limits),
    ]


def between_machines(study: Study, baseline: Study) -> list[Finding]:
    """Return one machine's local, remote and far memory against another machine's."""
    found = []
    for persistent in (True, False):
        for relation in (LOCAL, REMOTE, FAR):
            base, other = (_of_relation(one, relation, persistent) for one in (baseline, study))
            if base is None or other is None:
                continue
            curves = baseline.curves(base), study.curves(other)
            shared = common_counts(*curves)
            if not shared:
                continue
            ratios = ratios_of(*curves, shared[-1])
            old = f"{baseline.machine}, {base.words}"
            text = (
                f"{counted(shared[-1], 'thread')}, {relation} memory: {study.machine}, "
                f"{other.words} against {old} (baseline): {_in_percent(ratios)}."
            )
            values = _values(ratios)
            found.append(Finding("machines", study.machine, text, old, shared[-1], values))
    return found


def _of_relation(study: Study, relation: str, persistent: bool) -> Way | None:
    """Return a machine's first way of one socket to memory of a relation.

    Pools whose object ids are translated go first, since STREAM-PMem does that, too.
    """
    memories = sorted(study.memories(persistent), key=lambda m: m.backing != "pool-objects")
    ways = (Way((socket,), memory) for socket in study.sockets() for memory in memories)
    fitting = (way for way in ways if way.memory.relation(way.sockets) == relation)
    return next((way for way in fitting if study.curves(way)), None)


def _in_percent(ratios: Ratios) -> str:
    """Return the change of each operation: "Copy -9.5%, Scale -12%"."""
    return ", ".join(
        f"{name.title()} {percent(one.value - 1)}"
        + (" (within the intervals)" if one.low <= 1 <= one.high and one.low < one.high else "")
        for name, one in ratios.items()
    )


def _saturation(study: Study) -> Iterator[Finding]:
    """Yield the thread counts at which groups of one socket stop scaling."""
    for one in study:
        if len(one.sockets) > 1 or len(one.threads()) < 3:
            continue
        last, parts, values = one.threads()[-1], [], {}
        for name in (name for name in OPERATIONS if name in one.points):
            knee, (_, best) = one.knee(name), one.best(name)
            values[name] = best.value
            where = f"{knee.last}" if knee.first == knee.last else f"{knee.first} to {knee.last}"
            rising = ", still rising" if knee.last >= last else ""
            parts.append(f"{name.title()} {where} (best {_gb(best.value)}{rising})")
        text = (
            f"{one.group}, {one.words} ({one.relation}): saturates (95% of the best bandwidth) "
            f"with this many threads: {', '.join(parts)}."
        )
        yield Finding("saturation", study.machine, text, "", last, values)


def _sees_remote(study: Study, socket: int, base: Memory, other: Memory) -> bool:
    """Another socket's memory against a socket's own."""
    own = study.own_memory(socket, base.persistent)
    return base == own and other.socket not in (None, socket) and _held_alike(base, other)


def _sees_far(_study: Study, _socket: int, base: Memory, other: Memory) -> bool:
    """Memory of no socket against that of each socket."""
    return base.socket is not None and other.socket is None and _held_alike(base, other)


def _pays_for_pmdk(_study: Study, _socket: int, base: Memory, other: Memory) -> bool:
    """Persistent memory against NUMA memory on the same memory."""
    kinds = (base.persistent, other.persistent) == (False, True)
    return kinds and other.of_node and base.numbers == other.numbers


def _translates(_study: Study, _socket: int, base: Memory, other: Memory) -> bool:
    """Object ids translated for each element against pointers taken once."""
    backings = (base.backing, other.backing) == ("pool", "pool-objects")
    return backings and base.numbers == other.numbers


def _loses_far(study: Study, socket: int, base: Memory, other: Memory) -> bool:
    """Memory of no socket against a socket's own."""
    own = study.own_memory(socket, base.persistent)
    return base == own and other.socket is None and _held_alike(base, other)


def _held_alike(base: Memory, other: Memory) -> bool:
    return (base.persistent, base.backing) == (other.persistent, other.backing)


def _of_one_socket(study: Study, compares: Callable[[Study, int, Memory, Memory], bool]) -> Pairs:
    """Yield the ways from each socket to two memories that are compared."""
    for persistent in (True, False):
        for socket in study.sockets():
            for other in study.memories(persistent):
                for base in (*study.memories(True), *study.memories(False)):
                    if compares(study, socket, base, other):
                        yield Way((socket,), base), Way((socket,), other)


def _from_each_socket(study: Study) -> Pairs:
    """Yield the ways to the same far memory from the first socket and from each other one."""
    for persistent in (True, False):
        for far in (m for m in study.memories(persistent) if m.socket is None):
            first, *others = study.sockets() or [0]
            for socket in others:
                yield Way((first,), far), Way((socket,), far)


_COMPARED: dict[str, tuple[Callable[[Study], Pairs], bool]] = {
    "remote": (lambda study: _of_one_socket(study, _sees_remote), False),
    "far": (lambda study: _of_one_socket(study, _sees_far), False),
    "sockets": (_from_each_socket, True),
    "pmdk": (lambda study: _of_one_socket(study, _pays_for_pmdk), True),
    "backing": (lambda study: _of_one_socket(study, _translates), True),
}
"""By topic: its pairs of ways, and whether they are compared at the fewest threads, too, which both
have; all are compared at the most."""


def _compared(study: Study, topic: str) -> Iterator[Finding]:
    pairs, at_fewest = _COMPARED[topic]
    for base, other in pairs(study):
        curves = study.curves(base), study.curves(other)
        shared = common_counts(*curves)
        for count in sorted({*shared[: int(at_fewest)], *shared[-1:]}):
            ratios = ratios_of(*curves, count)
            head = f"{counted(count, 'thread')}: {_sides(base, other)}"
            if base.sockets == other.sockets:
                head = f"Socket {base.socket_words}, {head}"
            text = f"{head}: {_in_percent(ratios)}."
            yield Finding(topic, study.machine, text, base.words, count, _values(ratios))


def _sides(base: Way, other: Way) -> str:
    if base.sockets != other.sockets:
        return (
            f"{other.memory.words} from socket {other.socket_words} against the same from socket "
            f"{base.socket_words} (baseline)"
        )
    here, there = (f"{w.memory.words} ({w.memory.relation(w.sockets)}" for w in (other, base))
    return f"{here}) against {there}, baseline)"


def _close(study: Study) -> Iterator[Finding]:
    """Yield the effect of the second socket's cores once the first socket is full."""
    for one in _of_two(study, CLOSE):
        first = one.cores[0]
        last = one.threads()[-1]
        ratios = {
            name: points[last].over(points[first])
            for name, points in one.points.items()
            if first in points and last in points and last > first
        }
        if not ratios:
            continue
        mean = fmean(one.value - 1 for one in ratios.values())
        verb = "falls" if mean < -_LEVEL else "rises" if mean > _LEVEL else "stays level"
        joining = one.sockets[1:]
        see = one.memory.relation(joining).partition(" ")[0]
        names, filled = "+".join(map(str, joining)), counted(first, "thread")
        text = (
            f"{one.group}, {one.words}: from {filled} on, where socket {one.sockets[0]} is "
            f"full and socket {names} joins (its memory is {see} to it), the curve {verb}; "
            f"at {counted(last, 'thread')} against {first}: {_in_percent(ratios)}."
        )
        yield Finding("close", study.machine, text, filled, last, _values(ratios))


def _of_two(study: Study, affinity: str) -> list[Configuration]:
    return [c for c in study if len(c.sockets) > 1 and c.affinity == affinity]


def _meet(study: Study) -> Iterator[Finding]:
    """Yield the thread counts from which on close and spread differ by less than 5%."""
    for spread in _of_two(study, SPREAD):
        same = (spread.memory, spread.group, spread.sockets)
        beside = _of_two(study, CLOSE)
        close = next((c for c in beside if (c.memory, c.group, c.sockets) == same), None)
        if close is None:
            continue
        values = {}
        for name in (n for n in OPERATIONS if n in spread.points and n in close.points):
            ours, theirs = spread.points[name], close.points[name]
            apart = {n: abs(ours[n].value / theirs[n].value - 1) for n in ours if n in theirs}
            met = _meeting(apart) if len(apart) > 1 else None
            if met is not None:
                values[name] = float(met)
        parts = [f"{n.title()} from {values[n]:.0f}" for n in values]
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


def _meeting(apart: dict[int, float]) -> int | None:
    """Return the threads from which on all differences are small; None where the last is not."""
    small = takewhile(lambda count: apart[count] <= _LEVEL, sorted(apart, reverse=True))
    return min(small, default=None)


def _against_optane(study: Study) -> Iterator[Finding]:
    """Yield far persistent memory against one Optane module."""
    for one in study:
        if not one.memory.persistent or len(one.sockets) > 1 or one.relation != FAR:
            continue
        last = one.threads()[-1]
        rates = {name: points[last].value for name, points in one.points.items() if last in points}
        parts = [
            f"{name.title()} {rate / OPTANE_READ:.1f} and {rate / OPTANE_WRITE:.1f}"
            for name, rate in rates.items()
        ]
        text = (
            f"{one.group}, {one.words}, {counted(last, 'thread')}: this many times the reads and "
            f"the writes of one Optane module (baseline, {OPTANE_READ / 1e9:g} and "
            f"{OPTANE_WRITE / 1e9:g} GB/s, {OPTANE_SOURCE}): {', '.join(parts)}."
        )
        values = {name: rate / OPTANE_READ for name, rate in rates.items()}
        yield Finding("reference", study.machine, text, "one Optane module, read", last, values)


def _split_losses(study: Study, limits: Limits) -> Iterator[Finding]:
    """Split the loss of far memory against local memory into the parts of media and link.

    If only the media differed, bandwidth would fall as their limits do; the loss beyond that is
    counted as that of the link, its controllers and protocol.
    """
    for base, other in _of_one_socket(study, _loses_far):
        yield from _split_of(study, base, other, limits)


def _split_of(study: Study, base: Way, other: Way, limits: Limits) -> Iterator[Finding]:
    curves = study.curves(base), study.curves(other)
    threads = common_counts(*curves)
    if not threads:
        return
    last = threads[-1]
    near, far = (
        limits.get(way.memory.numbers) if way.memory.of_node else None for way in (base, other)
    )
    head = (
        f"Socket {base.socket_words}, {counted(last, 'thread')}: {other.memory.words} against "
        f"{base.memory.words} (baseline)"
    )
    if near is None or far is None or not near.media or not far.media:
        unknown = base if near is None or not near.media else other
        text = (
            f"{head}: the loss cannot be split into media and link, because the limit of "
            f"{unknown.memory.name}'s media is not known."
        )
        yield Finding("split", study.machine, text, base.words, last)
        return
    share = min(1.0, far.media / near.media)
    parts, values = [], {}
    for name in ratios_of(*curves, last):
        first, second = (by[name][last].value for by in curves)
        values[name] = first * share - second
        parts.append(f"{name.title()} {_shares(first - second, values[name])}")
    link_limit = f"; the link allows {_gb(far.link)}" if far.link else ""
    text = (
        f"{head}: an estimate of the loss by the limits of both media, {_gb(far.media)} and "
        f"{_gb(near.media)} ({far.source}{link_limit}): {', '.join(parts)}."
    )
    yield Finding("split", study.machine, text, base.words, last, values)


def _shares(lost: float, link: float) -> str:
    """Say how a loss in bytes/s divides between media and link."""
    if lost <= 0:
        return "no loss"
    if link <= 0:
        return f"all {_gb(lost)} by the media"
    if link >= lost:
        return f"all {_gb(lost)} by the link"
    return f"{_gb(lost - link)} by the media and {_gb(link)} by the link"

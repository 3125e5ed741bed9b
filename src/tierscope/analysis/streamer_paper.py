"""What the STREAMer paper says of its figures, beside what its published figures say.

Claims are those of Fridman et al., "CXL Memory as Persistent Memory for Disaggregated HPC: A
Practical Approach", 2023, in our words, with the sections that they are from. The limits of its
machines follow from its section 2: one DDR5-4800 module a socket; one channel of DDR4 with a clock
of 1333 MHz on the CXL device, behind PCIe 5.0 x16.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from tierscope.analysis.streamer import OPERATIONS, Study, Way
from tierscope.analysis.streamer_limits import Limits, MemoryLimit
from tierscope.analysis.streamer_words import Finding, gb, percent

_SECTION_2 = "section 2 of the paper: DDR4-2666 on one channel, DDR5-4800 on one"
_DDR5, _CXL = 8 * 4800e6, 8 * 2666e6
_LINK = 32e9 * 16 / 8 * 128 / 130
LIMITS: Limits = {
    (0,): MemoryLimit(_DDR5, None, _SECTION_2),
    (1,): MemoryLimit(_DDR5, None, _SECTION_2),
    (2,): MemoryLimit(_CXL, _LINK, _SECTION_2),
}
"""Of the machine with CXL memory, by its nodes."""

_POINTS = 0.03
"""Percentage points by which a figure may miss a rounded one and still be as the text says."""
_RATE = 0.5e9
_ALIKE = 0.05
_TENTH = 0.1

Values = dict[str, float]
"""By operation: a change, a factor, or bytes/s."""


@dataclass(frozen=True)
class _Claim:
    """A statement of the paper that its figures can be held against."""

    where: str
    text: str
    low: float
    high: float
    tolerance: float
    values: Callable[["_Data"], Values]
    say: Callable[[float], str]
    on_average: bool = False
    """The text speaks of the mean of all operations."""


@dataclass(frozen=True)
class _Data:
    """The published figures: the machine with CXL memory, and the one with DDR4."""

    first: Study
    older: Study | None

    def way(self, socket: int, number: int, persistent: bool) -> Way | None:
        """The way from a socket to the memory of a number on the first machine."""
        return _way(self.first, socket, number, persistent)

    def change(self, base: Way | None, other: Way | None, threads: int) -> Values:
        """The change of each operation at a number of threads."""
        if base is None or other is None:
            return {}
        ratios = self.first.ratios(base, other, threads)
        return {name: one.value - 1 for name, one in ratios.items()}


def _way(study: Study, socket: int, number: int, persistent: bool) -> Way | None:
    found = (m for m in study.memories(persistent) if m.numbers == (number,))
    memory = next(found, None)
    return Way((socket,), memory) if memory else None


def _pmem(base: int, other: int) -> Callable[[_Data], Values]:
    """Return the change from one memory to another, by PMDK, from socket 0 at 10 threads."""
    return lambda data: data.change(data.way(0, base, True), data.way(0, other, True), 10)


def _pmdk(number: int) -> Callable[[_Data], Values]:
    """Return PMDK's cost on a memory, from socket 0 at 10 threads."""
    return lambda data: data.change(data.way(0, number, False), data.way(0, number, True), 10)


def _local(data: _Data) -> Values:
    way = data.way(0, 0, True)
    if way is None:
        return {}
    found = {name: data.first.points(way, name) for name in OPERATIONS}
    return {name: max(p.value for p in points.values()) for name, points in found.items() if points}


def _fabric(data: _Data) -> Values:
    """What the loss against local memory is beyond the media's share, as findings estimate it."""
    base, other = data.way(0, 0, True), data.way(0, 2, True)
    found = {}
    for name in OPERATIONS:
        near = data.first.points(base, name).get(10) if base else None
        far = data.first.points(other, name).get(10) if other else None
        if near and far:
            found[name] = near.value * _CXL / _DDR5 - far.value
    return found


def _all_cores(persistent: bool, first: int, second: int) -> Callable[[_Data], Values]:
    """Return the change from one memory to another with all 20 cores, by close affinity."""

    def values(data: _Data) -> Values:
        found = {
            c.memory.numbers[0]: c.points
            for c in data.first
            if len(c.sockets) == 2 and c.affinity == "close" and c.memory.persistent == persistent
        }
        if first not in found or second not in found:
            return {}
        return {
            name: found[second][name][20].value / points[20].value - 1
            for name, points in found[first].items()
            if 20 in points and 20 in found[second].get(name, {})
        }

    return values


def _factor(data: _Data) -> Values:
    """DDR5 over CXL's DDR4 as NUMA memory of socket 0 at 10 threads."""
    change = data.change(data.way(0, 2, False), data.way(0, 1, False), 10)
    return {name: 1 + one for name, one in change.items()}


def _factor_older(data: _Data) -> Values:
    """DDR5 over DDR4 of the other machine, both of the remote socket, at 10 threads."""
    if data.older is None:
        return {}
    base, other = _way(data.older, 0, 1, False), data.way(0, 1, False)
    if base is None or other is None:
        return {}
    return {
        name: data.first.points(other, name)[10].value / points[10].value
        for name in OPERATIONS
        if 10 in (points := data.older.points(base, name)) and 10 in data.first.points(other, name)
    }


def _older_all_cores(data: _Data) -> Values:
    """CXL's DDR4 over the other machine's DDR4 with all 20 cores."""

    def at_all(study: Study, number: int) -> Mapping[str, float]:
        found = [c for c in study if c.group == "2b" and c.memory.numbers == (number,)]
        points = found[0].points if found else {}
        return {name: by[20].value for name, by in points.items() if 20 in by}

    if data.older is None:
        return {}
    base, other = at_all(data.older, 0), at_all(data.first, 2)
    return {name: other[name] / value - 1 for name, value in base.items() if name in other}


def _times(value: float) -> str:
    return f"{value:.2f} times"


_CLAIMS = (
    _Claim("4, class 1a", "local DDR5 by PMDK saturates at 20 to 22 GB/s in all operations",
           20e9, 22e9, _RATE, _local, gb),
    _Claim("4, class 1b", "on average the remote DDR5 gives 30% less than local DDR5, by PMDK",
           -0.30, -0.30, _POINTS, _pmem(0, 1), percent, on_average=True),
    _Claim("4, class 1b", "CXL memory gives 50% less than the remote socket's DDR5, by PMDK",
           -0.50, -0.50, _POINTS, _pmem(1, 2), percent),
    _Claim("1.4", "CXL memory gives about 60% less than local DDR5, by PMDK",
           -0.60, -0.60, _POINTS, _pmem(0, 2), percent),
    _Claim("5", "CXL memory gives around 50% less than local DDR5, by PMDK",
           -0.50, -0.50, _POINTS, _pmem(0, 2), percent),
    _Claim("4, class 1b", "2 to 3 GB/s are lost to the CXL fabric (here: estimated by limits)",
           2e9, 3e9, _RATE, _fabric, gb),
    _Claim("4, class 1c", "with all cores, both sockets' DDR5 converge, by PMDK",
           0.0, 0.0, _ALIKE, _all_cores(True, 0, 1), percent),
    _Claim("4, class 1c", "with all cores, CXL memory gives 50% less than DDR5, by PMDK",
           -0.50, -0.50, _POINTS, _all_cores(True, 0, 2), percent),
    _Claim("4, class 2a", "PMDK costs 10 to 15% on the remote socket's DDR5",
           -0.15, -0.10, _POINTS, _pmdk(1), percent),
    _Claim("4, class 2a", "PMDK costs 10 to 15% on CXL memory",
           -0.15, -0.10, _POINTS, _pmdk(2), percent),
    _Claim("4, class 2a", "the remote socket's DDR5 has twice the bandwidth of CXL's DDR4",
           2.0, 2.0, _TENTH, _factor, _times),
    _Claim("4, class 2a", "the remote socket's DDR5 has twice that of the other machine's DDR4",
           2.0, 2.0, _TENTH, _factor_older, _times),
    _Claim("4, end", "the remote socket's DDR5 has 1.5 times the bandwidth of CXL's DDR4",
           1.5, 1.5, _TENTH, _factor, _times),
    _Claim("4, class 2b", "with all cores, on-node DDR4 converges to CXL's DDR4",
           0.0, 0.0, _ALIKE, _older_all_cores, percent),
)  # fmt: skip


def paper_findings(studies: Sequence[Study]) -> list[Finding]:
    """Return, for each claim that these published figures cover, whether they agree."""
    by_cxl = sorted(studies, key=lambda study: not _way(study, 0, 2, True))
    if not by_cxl:
        return []
    data = _Data(by_cxl[0], by_cxl[1] if len(by_cxl) > 1 else None)
    return list(_judged(data))


def _judged(data: _Data) -> Iterator[Finding]:
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

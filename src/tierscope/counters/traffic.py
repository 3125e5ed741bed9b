"""Memory bandwidth by socket, node and CXL device, from counters that the engine reads."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from tierscope.counters.reading import Count, Key, Reading
from tierscope.counters.source import Source, absent, lacks
from tierscope.engine.traffic import CounterSource, TrafficCount, TrafficProcess
from tierscope.model.errors import UserError
from tierscope.model.lacking import LackingCounters
from tierscope.model.topology import Topology

WHAT = "memory bandwidth"
_CXL = re.compile(r"cxl_pmu_(mem\d+)\.\d+/(\w+)")
_READS = ("read", "s2m_drs_")
_WRITES = ("write", "m2s_rwd_")


def traffic_source(topology: Topology) -> Source:
    """What the counters of memory controllers, CXL devices and last-level caches see."""
    try:
        process = TrafficProcess()
    except UserError as error:
        return absent("bandwidth", [lacks(WHAT, str(error))])
    lacking = lacking_of(process.sources)
    if not any(source.available for source in process.sources):
        process.close()
        return absent("bandwidth", lacking)

    def read() -> Reading:
        return reading_of(process.counts(), topology)

    return Source("bandwidth", read, lacking, close=process.close)


def lacking_of(sources: Sequence[CounterSource]) -> list[LackingCounters]:
    """Return what of the counters cannot be read, and why."""
    return [
        lacks(f"{WHAT} by {source.name}", source.reason, source.remedy)
        for source in sources
        if not source.available
    ]


def reading_of(counts: Iterable[TrafficCount], topology: Topology) -> Reading:
    """Return counts by what they count; those of one place stay apart, for each has its own time.

    Parts are ``socket 0`` of memory controllers, ``socket 0 mem1`` of a CXL device, ``socket 0
    CPUs`` of resctrl, with the counter behind a tab; ``summed`` adds their rates up.
    """
    package = {cpu: one.number for one in topology.packages for cpu in one.cpus}
    found = Reading()
    for count in counts:
        named = _named(count, lambda cpu: package.get(cpu))
        if named is not None:
            metric, place = named
            key = Key(metric, f"{place}\t{count.counter}")
            found.counts[key] = Count(count.bytes, count.seconds)
    return found


def _named(count: TrafficCount, package_of: Callable[[int], int | None]) -> tuple[str, str] | None:
    """Return the metric and the place of a count; None of one that is no direction of any."""
    package = package_of(count.cpu)
    socket = "machine" if package is None else f"socket {package}"
    if count.source == "resctrl":
        metric = count.counter.rpartition("/")[2]
        # Of CPUs' traffic: what they take from all memory, and from that near to them.
        own = {"mbm_total_bytes": f"{socket} CPUs", "mbm_local_bytes": f"{socket} CPUs local"}
        return ("throughput", own[metric]) if metric in own else None
    event = count.counter.rpartition("/")[2]
    device = _CXL.match(count.counter)
    place = f"{socket} {device[1]}" if device else socket
    if any(word in event for word in _READS):
        return "read_throughput", place
    if any(word in event for word in _WRITES):
        return "write_throughput", place
    return None


def summed(
    found: dict[Key, float], wanted: Sequence[Key] | None = None
) -> dict[tuple[str, str], float]:
    """Add up rates whose parts have a counter behind a tab; leave others as they are.

    ``wanted`` are all counters there are: a place of which one has no rate has no sum.
    """
    sums: dict[tuple[str, str], float] = defaultdict(float)
    for key, rate in found.items():
        sums[_place(key)] += rate
    for key in wanted or ():
        if key not in found:
            sums.pop(_place(key), None)
    return dict(sums)


def _place(key: Key) -> Key:
    return Key(key.metric, key.part.partition("\t")[0])

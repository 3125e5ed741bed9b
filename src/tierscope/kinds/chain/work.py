"""What chains wait for: the line of each operation that takes an address, and what is written."""

from tierscope.analysis.whatif import Range, Visits, Work, range_of
from tierscope.kinds.chain.spec import lines_moved, parse_chains
from tierscope.model.errors import UserError, counted
from tierscope.model.run import Measurement
from tierscope.model.spec import CACHE_LINE, MeasurementSpec
from tierscope.plans.grammar import format_size


def work_of(measurement: Measurement) -> Work | None:
    """Return the work of one; None where its regions are in several places, or a part is timed."""
    pattern = measurement.pattern
    second = pattern.get("second")
    if pattern.get("timed_from", 1) > 1:
        return None
    if "," in measurement.target or second not in (None, measurement.target):
        return None
    try:
        (operations,) = parse_chains(str(pattern["chain"]))
    except UserError:
        return None  # a chain of another version
    sizes = (int(pattern["size"]), int(pattern.get("size_second") or pattern["size"]))
    linked = bool(pattern.get("linked", True))
    walks = int(pattern.get("interleave", 1)) * int(pattern["threads"])
    visits = []
    for region, size in enumerate(sizes[: 1 + (second is not None)]):
        read, fetched, written = lines_moved(operations, region)
        lines = read + fetched + written
        visits.append(Visits(f"m{region}", lines, lines, size))
    time = range_of(measurement)
    return Work(
        measurement=measurement,
        name=f"chain {pattern['chain']}, {format_size(sum(sizes[: len(visits)]))}, "
        + counted(walks, "walk" if "interleave" in pattern else "thread"),
        streams=walks,
        time=time if linked else time.map(lambda rate: walks * 1e9 / rate),
        visits=tuple(visits),
        size=sum(sizes[: len(visits)]),
        pages=str(pattern.get("pages", "thp")),
        writes=any(one.access != "read" for one in operations),
        dependent=linked
        and all(one.access == "read" and one.size <= CACHE_LINE for one in operations),
    )


def in_caches(_spec: MeasurementSpec, _size: int) -> MeasurementSpec | None:
    """Return nothing: what a chain takes besides its accesses is in its evidence."""
    return None


def cached_time(work: Work, _small: Work | None) -> Range | None:
    """Return the time that making addresses takes."""
    evidence = work.measurement.evidence
    if evidence is None or evidence.address_ns is None:
        return None
    loads = sum(one.loads for one in work.visits)
    return Range.exact(evidence.address_ns * loads)

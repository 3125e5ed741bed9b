"""Which measurements stand for their paths, in headlines, tables and pictures alike."""

from collections.abc import Sequence
from functools import cache

from tierscope.model.endpoint import Endpoint, EndpointKind, parse_endpoint
from tierscope.model.errors import UserError
from tierscope.model.run import Measurement, Run, lower_is_better, shared
from tierscope.report import figures
from tierscope.report.naming import path_name

_DIGITS = 3


@cache
def known_endpoint(text: str) -> Endpoint | None:
    """Return the endpoint that a text names; None where it names none, as in imported files."""
    try:
        return parse_endpoint(text)
    except UserError:
        return None


def best_of(measurements: Sequence[Measurement]) -> Measurement:
    """Return the highest rate or the lowest time, by the worse ends of their intervals."""
    return max(measurements, key=figures.conservative_rank)


def as_good(best: Measurement, measurements: Sequence[Measurement]) -> list[Measurement]:
    """Return those others whose intervals overlap that of the best one: any may be the best."""
    if best.ci_low is None or best.ci_high is None:
        return []
    low, high = best.ci_low, best.ci_high
    return [
        m
        for m in measurements
        if m is not best
        and m.ci_low is not None
        and m.ci_high is not None
        and (m.ci_low <= high if lower_is_better(best) else m.ci_high >= low)
    ]


def best_of_path(measurements: Sequence[Measurement]) -> Measurement:
    """Return the best of one path. What caches can hold counts only where nothing else is."""
    return best_of(_by_one_chase([m for m in measurements if not m.fits_caches] or measurements))


def _by_one_chase(measurements: Sequence[Measurement]) -> Sequence[Measurement]:
    """Leave out latencies of several chases at once, whose loads wait for each other, where the
    latency of one is there."""
    return [m for m in measurements if m.pattern.get("chases", 1) == 1] or measurements


def best_rates(measured: Sequence[Measurement]) -> list[Measurement]:
    """Return the best rate of each path."""
    paths: dict[str, list[Measurement]] = {}
    for m in measured:
        paths.setdefault(path_name(m), []).append(m)
    return [best_of_path(members) for members in paths.values()]


def memory_latencies(measured: list[Measurement]) -> list[Measurement]:
    """Return one latency a path: of the largest working set, chased in the same way for all.

    What fits the caches is not a latency of memory and left out.
    """
    idle = _by_one_chase([m for m in measured if m.metric == "latency" and not m.fits_caches])
    paths: dict[str, dict[tuple[str, str], Measurement]] = {}
    for m in sorted(idle, key=_size):
        way = (str(m.pattern.get("order", "")), str(m.pattern.get("pages", "")))
        known = paths.setdefault(path_name(m), {}).get(way)
        if (
            known is None
            or _size(known) != _size(m)
            or figures.conservative_rank(m) > figures.conservative_rank(known)
        ):
            paths[path_name(m)][way] = m
    ways = [set(found) for found in paths.values()]
    common = set.intersection(*ways) if ways else set()
    chosen = []
    for found in paths.values():
        alike = [m for way, m in found.items() if way in common] or list(found.values())
        largest = max(map(_size, alike))
        alike = [m for m in alike if _size(m) == largest]
        # A chase that stays within pages leaves out what translating addresses costs.
        usual = [m for m in alike if m.pattern.get("order") != "page-random"] or alike
        chosen.append(max(usual, key=figures.conservative_rank))
    return chosen


def _size(measurement: Measurement) -> float:
    return float(measurement.pattern.get("size") or 0)


def best_to(*runs: Run) -> dict[str, tuple[str, str]]:
    """Return the best bandwidth to each node and GPU and where it was measured from: "277 GB/s",
    "from node:0"."""
    found: dict[str, list[Measurement]] = {}
    for m in (m for run in runs for m in run.measurements):
        rate = m.status == "measured" and m.unit == "B/s"
        if rate and not shared(m) and not m.fits_caches and (name := _crossed(m)):
            found.setdefault(name, []).append(m)
    best = {name: best_of(members) for name, members in sorted(found.items())}
    return {
        name: (f"{figures.plain(m, 1e9, _DIGITS)} GB/s", _origin(m)) for name, m in best.items()
    }


def _origin(measurement: Measurement) -> str:
    """Say where it came from; of a copy from a GPU, where it went."""
    start, end = measurement.initiator, measurement.target
    return (
        f"to {end}" if start.startswith("gpu:") and not end.startswith("gpu:") else f"from {start}"
    )


def _crossed(measurement: Measurement) -> str | None:
    """Return the node or GPU whose link a path crosses; a path inside a GPU crosses none."""
    start, end = known_endpoint(measurement.initiator), known_endpoint(measurement.target)
    if start is None or end is None:
        return None
    gpus = [one for one in (start, end) if one.kind is EndpointKind.GPU]
    if len(gpus) == 1:
        return f"gpu:{gpus[0].numbers[0]}"
    if not gpus and end.kind is EndpointKind.NODE and len(end.numbers) == 1:
        return f"node {end.numbers[0]}"
    return None

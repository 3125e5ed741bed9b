"""Which measurements stand for their paths, in headlines, tables and pictures alike."""

from collections.abc import Sequence

from tierscope.model.run import Measurement
from tierscope.report import figures
from tierscope.report.naming import path_name


def best_of(measurements: Sequence[Measurement]) -> Measurement:
    """Return the highest rate or the lowest time, by the worse ends of their intervals."""
    return max(measurements, key=figures.conservative_rank)


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

    What fits the caches is no latency of memory and left out.
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

"""Which measurement stands for a path: its best rate, and its idle latency."""

from collections.abc import Iterable, Mapping, Sequence

from tierscope.model.run import Measurement, lower_is_better

Ends = tuple[str, str]
"""Initiator and target."""
Way = tuple[str, str]
_ORDERS = ("random", "page-random")
_PAGES = ("thp", "2m", "32m", "512m", "1g", "base")
"""What stands for a path's idle latency, in order of preference."""


def conservative_rank(measurement: Measurement) -> tuple[bool, float]:
    """Return what to compare figures by, higher is better: the interval's worse end.

    An imprecise figure whose median happens to be high is not a best one, and one without an
    interval comes after all that have one.
    """
    value = measurement.estimate or 0.0
    known = measurement.ci_low is not None and measurement.ci_high is not None
    if lower_is_better(measurement):
        return known, -(value if measurement.ci_high is None else measurement.ci_high)
    return known, value if measurement.ci_low is None else measurement.ci_low


def best_of(measurements: Sequence[Measurement]) -> Measurement:
    """Return the highest rate or the lowest time, by the worse ends of their intervals."""
    return max(measurements, key=conservative_rank)


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


def idle_latencies(
    measured: Iterable[Measurement], in_caches: bool = False
) -> dict[Ends, Measurement]:
    """Return the idle latency of each path that has one, by initiator and target.

    That is the time of a load while nothing else runs, one load after the other, in random order on
    transparent huge pages, through the largest working set that was measured and no cache can hold.
    Paths that were not all chased so are taken as all of them were, where there is such a way; else
    each is taken as it comes nearest: huge pages before base pages, and last a chase that stays
    within pages, which leaves out what translating addresses costs. With ``in_caches``, what caches
    can hold stands for a path of which nothing else was measured.
    """
    paths: dict[Ends, list[Measurement]] = {}
    for m in measured:
        if _is_idle(m) and (in_caches or not m.fits_caches):
            paths.setdefault((m.initiator, m.target), []).append(m)
    paths = {
        path: [m for m in members if not m.fits_caches] or members
        for path, members in paths.items()
    }
    ways = [{_way(m) for m in members} for members in paths.values()]
    common = sorted(set.intersection(*ways), key=_unusual) if ways else []
    return {path: _idle_latency(members, common[:1]) for path, members in paths.items()}


def is_one_of(m: Measurement, idle: Mapping[Ends, Measurement]) -> bool:
    """Return whether a measurement is its path's idle latency."""
    return idle.get((m.initiator, m.target)) is m


def _idle_latency(measured: Sequence[Measurement], common: Sequence[Way]) -> Measurement:
    alone = _by_one_chase(measured)
    (way,) = common or [min(map(_way, alone), key=_unusual)]
    usual = [m for m in alone if _way(m) == way] or alone
    largest = max(map(_size, usual))
    return best_of([m for m in usual if _size(m) == largest])


def _is_idle(m: Measurement) -> bool:
    elsewhere = "writer" in m.pattern  # lines of another core's caches
    return (
        m.has_figure and m.metric == "latency" and not (elsewhere or m.pattern.get("load_threads"))
    )


def _way(m: Measurement) -> Way:
    return str(m.pattern.get("order", "")), str(m.pattern.get("pages", ""))


def _unusual(way: Way) -> tuple[int, int, Way]:
    order, pages = way
    of_order = _ORDERS.index(order) if order in _ORDERS else len(_ORDERS)
    of_pages = _PAGES.index(pages) if pages in _PAGES else len(_PAGES)
    return of_order, of_pages, way


def _size(m: Measurement) -> float:
    return float(m.pattern.get("size") or 0)


def _by_one_chase(measurements: Sequence[Measurement]) -> Sequence[Measurement]:
    """Leave out latencies of several chases at once, whose loads wait for each other, where the
    latency of one is there."""
    return [m for m in measurements if m.pattern.get("chases", 1) == 1] or measurements

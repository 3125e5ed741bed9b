"""Curves as specs: points that differ in nothing but how much the load moves."""

from collections.abc import Iterator, Sequence

from tierscope.kinds.loaded_latency.spec import LoadedLatencySpec

COARSE_DELAYS_NS = (8000, 2400, 1000, 400, 160, 0)
"""Delays that every curve begins with, from light load to full; refinement adds others."""
IDLE_BEFORE = (0, 3, 6)
"""Places among them of the idle controls."""
MIN_POINTS = len(COARSE_DELAYS_NS)
"""Loaded points that every curve has."""


def first_points(curve: LoadedLatencySpec) -> Iterator[LoadedLatencySpec]:
    """Yield a curve's first points, loads going up, with idle controls between them."""
    controls = 0
    for place, delay in enumerate((*COARSE_DELAYS_NS, None)):
        if place in IDLE_BEFORE:
            controls += 1
            yield idle_control(curve, controls)
        if delay is not None:
            yield loaded_point(curve, delay)


def idle_control(curve: LoadedLatencySpec, number: int) -> LoadedLatencySpec:
    """Return a point of a curve at which the load stands still."""
    return curve.model_copy(
        update={
            "id": f"{curve.id}.idle{number}",
            "load": curve.load.model_copy(update={"idle": True}),
        }
    )


def loaded_point(curve: LoadedLatencySpec, delay_ns: int) -> LoadedLatencySpec:
    """Return a point of a curve."""
    pattern = curve.load.pattern.model_copy(update={"delay_ns": delay_ns})
    return curve.model_copy(
        update={
            "id": f"{curve.id}.d{delay_ns}",
            "load": curve.load.model_copy(update={"pattern": pattern}),
        }
    )


def thread_points(curve: LoadedLatencySpec, counts: Sequence[int]) -> Iterator[LoadedLatencySpec]:
    """Yield a point for each number of threads that load at full rate; 0: none does.

    ``curve`` has the CPUs of the most threads; fewer threads are the first of them.
    """
    for count in counts:
        cpus = curve.load.cpus[: count or None]
        load = curve.load.model_copy(update={"cpus": cpus, "idle": count == 0})
        yield curve.model_copy(update={"id": f"{curve.id}.t{count}", "load": load})

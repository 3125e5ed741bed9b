"""The best measured bandwidth to each node and GPU, for drawings of the machine."""

from functools import cache

from tierscope.analysis.concurrent import shared
from tierscope.model.endpoint import EndpointKind, parse_endpoint
from tierscope.model.errors import UserError
from tierscope.model.run import Measurement, Run
from tierscope.report import figures
from tierscope.report.best import best_of

_DIGITS = 3


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
    try:
        ends = [_parsed(measurement.initiator), _parsed(measurement.target)]
    except UserError:
        return None
    gpus = [end for end in ends if end.kind is EndpointKind.GPU]
    if len(gpus) == 1:
        return f"gpu:{gpus[0].numbers[0]}"
    end = ends[1]
    if not gpus and end.kind is EndpointKind.NODE and len(end.numbers) == 1:
        return f"node {end.numbers[0]}"
    return None


_parsed = cache(parse_endpoint)

"""The best rates of paths, nodes and GPUs, as headlines, tables and pictures have them."""

from collections.abc import Callable, Sequence
from functools import cache

from tierscope.analysis.best import as_good, best_of, best_of_path
from tierscope.model.endpoint import Endpoint, EndpointKind, parse_endpoint
from tierscope.model.errors import UserError
from tierscope.model.run import Measurement, Run, shared
from tierscope.report import figures
from tierscope.report.naming import bracketed, path_name

_DIGITS = 3
_NAMED = 2
"""Others that may be as good which are named; of more, their number is."""


@cache
def known_endpoint(text: str) -> Endpoint | None:
    """Return the endpoint that a text names; None where it names none, as in imported files."""
    try:
        return parse_endpoint(text)
    except UserError:
        return None


def with_rivals(
    text: str,
    best: Measurement,
    measurements: Sequence[Measurement],
    name: Callable[[Measurement], str],
) -> str:
    """Return what is said of the best one, and in brackets which others may be as good."""
    return bracketed(text, rivals_text(best, measurements, name))


def rivals_text(
    best: Measurement, measurements: Sequence[Measurement], name: Callable[[Measurement], str]
) -> str:
    """Say which others may be as good as the best one; nothing where none may."""
    found = [one for m in as_good(best, measurements) if (one := name(m)) != name(best)]
    names = [*dict.fromkeys(found)]
    if not names:
        return ""
    said = " and ".join(names) if len(names) <= _NAMED else f"{len(names)} others"
    return f"{said} may be as fast"


def best_rates(measured: Sequence[Measurement]) -> list[Measurement]:
    """Return the best rate of each path."""
    paths: dict[str, list[Measurement]] = {}
    for m in measured:
        paths.setdefault(path_name(m), []).append(m)
    return [best_of_path(members) for members in paths.values()]


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

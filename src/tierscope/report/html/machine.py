"""The machine of a run as a drawing, with what was measured to each part of it."""

import base64
from functools import cache

from markupsafe import Markup, escape

from tierscope.analysis.concurrent import shared
from tierscope.model.endpoint import EndpointKind, parse_endpoint
from tierscope.model.errors import UserError
from tierscope.model.run import Measurement, Run
from tierscope.report import figures
from tierscope.report.best import best_of
from tierscope.report.legal import legal_text
from tierscope.report.topology_svg import draw

_DIGITS = 3
_SMALLEST, _LARGEST = 0.75, 1.35
"""How far the drawing may shrink, with legible text, before it scrolls, and how far it may grow."""


def machine_drawing(run: Run) -> Markup | None:
    """Return the drawing as an image; None where the run does not know its topology.

    It is an image because the drawing's style rules would otherwise hold for the whole page; it
    follows the page's light or dark theme by itself.
    """
    topology = run.header.topology
    if topology is None:
        return None
    measured = best_to(run)
    text = legal_text(draw(topology, measured, headed=False))
    width = float(text.partition('viewBox="0 0 ')[2].partition(" ")[0])
    svg = base64.b64encode(text.encode()).decode("ascii")
    said = (
        "; ".join(f"{name}: {rate} {origin}" for name, (rate, origin) in measured.items())
        or "nothing measured"
    )
    return Markup(
        '<img class="machine-drawing" style="min-width: {:.0f}px; max-width: {:.0f}px" alt="{}" '
        'src="data:image/svg+xml;base64,{}">'
    ).format(
        width * _SMALLEST,
        width * _LARGEST,
        escape(
            f"The machine's packages, nodes and devices, with the best bandwidth to each. {said}"
        ),
        svg,
    )


def best_to(run: Run) -> dict[str, tuple[str, str]]:
    """Return the best bandwidth to each node and GPU and where it was measured from: "277 GB/s",
    "from node:0"."""
    found: dict[str, list[Measurement]] = {}
    for m in run.measurements:
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

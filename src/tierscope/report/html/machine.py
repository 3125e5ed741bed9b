"""The machine of a run as a drawing, with what was measured to each part of it."""

import base64
import json
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Machine:
    """The machine of a run on the page. Runs of one machine share a drawing and settings."""

    topology: Markup | None
    """The drawing; None where the run does not know its topology, or an earlier run has it."""
    drawn_in: int | None
    """Number of the run with the drawing, from 1, where an earlier run has it."""
    set_in: int | None
    """Number of an earlier run with the same machine and settings, from 1."""


def machines_of(runs: list[Run]) -> list[Machine]:
    """Return the machine of each run; the first of one machine's runs has the drawing."""
    keys = [_key_of(run) for run in runs]
    settings = [(key, _settings_of(run)) for key, run in zip(keys, runs, strict=True)]
    found = []
    for number, (run, key, setting) in enumerate(zip(runs, keys, settings, strict=True)):
        drawn, same = keys.index(key), settings.index(setting)
        alike = [other for other, its in zip(runs, keys, strict=True) if its == key]
        found.append(
            Machine(
                topology=machine_drawing(run, alike) if drawn == number else None,
                drawn_in=drawn + 1 if drawn < number and run.header.topology else None,
                set_in=same + 1 if same < number else None,
            )
        )
    return found


def _key_of(run: Run) -> str:
    """Return what tells a machine from others: all but what changes while it runs."""
    summary = {key: value for key, value in run.header.machine.items() if key != "nodes"}
    nodes = [
        {key: value for key, value in node.items() if key != "free_bytes"}
        for node in run.header.machine["nodes"]
    ]
    known = run.header.topology is not None
    return json.dumps([run.header.host, summary, nodes, known], sort_keys=True)


def _settings_of(run: Run) -> list[tuple[str, str]]:
    return [(key, value) for key, value in run.header.environment.items() if key != "load"]


def machine_drawing(run: Run, alike: list[Run]) -> Markup | None:
    """Return the drawing as an image, with the best of all runs of the machine; None where the run
    does not know its topology.

    It is an image because the drawing's style rules would otherwise hold for the whole page; it
    follows the page's light or dark theme by itself.
    """
    topology = run.header.topology
    if topology is None:
        return None
    measured = best_to(*alike)
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

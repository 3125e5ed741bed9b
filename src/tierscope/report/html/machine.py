"""The machine of a run as a drawing, with what was measured to each part of it."""

import base64
import json
from dataclasses import dataclass

from markupsafe import Markup, escape

from tierscope.model.run import Run
from tierscope.report.best_to import best_to
from tierscope.report.legal import legal_text
from tierscope.report.topology_svg import draw

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

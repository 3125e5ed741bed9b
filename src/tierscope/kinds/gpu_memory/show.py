"""One sentence why the figure of a GPU's own memory is what it is."""

from tierscope.machine.paths import MachinePaths
from tierscope.model.run import Measurement, Run
from tierscope.model.topology import Topology
from tierscope.report.evidence import throttled
from tierscope.report.pictures.generic import bars, size_sweeps
from tierscope.report.view import Column, View

_GOOD = 0.9
"""Efficiency that a GPU's memory reaches where nothing is in the way."""


def explain(measurement: Measurement, topology: Topology | None) -> str:
    """Return the most telling thing about a measured rate; empty where there is none."""
    if text := throttled(measurement):
        return text
    if measurement.fits_caches:
        return "arrays this small may come out of the L2, whose rate is not known"
    if measurement.pattern.get("operation") == "random":
        return "random accesses: each opens its own DRAM row"
    if measurement.limit is None and topology is not None:
        path = MachinePaths(topology).path(measurement.target, measurement.target)
        return f"no limit is known: {path.note}"
    if (measurement.efficiency or 0.0) >= _GOOD:
        return "near the memory's maximum: refresh and bus turnarounds take the rest"
    return ""


def _columns(_measured: list[Measurement], run: Run) -> list[Column]:
    return [Column("why", lambda m: explain(m, run.header.topology), number=False)]


VIEW = View(
    title="GPU memory",
    method="A kernel over arrays in the GPU's memory, timed by the device's events; bytes as "
    "STREAM counts them; median and its 95% interval.",
    columns=_columns,
    pictures=(size_sweeps, bars),
)

"""Latency over the working set, with the cache levels found in it."""

import math
from typing import Any

from tierscope.analysis.plateaus import plateaus
from tierscope.model.run import Measurement, Run
from tierscope.report import figures
from tierscope.report.naming import path_of
from tierscope.report.pictures import shapes
from tierscope.report.pictures.generic import Axes, curves_over
from tierscope.report.pictures.picture import (
    Picture,
    PictureInput,
    Spec,
    constants,
    distinct,
    groups_by,
    scale_of,
    varying,
    words_of,
)
from tierscope.report.tiers import side_caches

_MIN_SWEEP = 4
_LABEL_HEIGHT = 0.35
"""Room of a label: the logarithm of a ratio of latencies."""


def over_working_set(given: PictureInput) -> list[Picture]:
    """Latency over working set, both logarithmic: all targets of an initiator in one picture, with
    plateaus and the caches as named; all initiators on one scale."""
    by_initiator = groups_by(given.measured, "initiator")
    found = {str(initiator): _sweeps(group) for (initiator,), group in by_initiator.items()}
    swept = [m for sweeps in found.values() for sweep in sweeps for m in sweep]
    if not swept:
        return []
    unit, factor = scale_of(swept)
    y = log_axis(unit, [(m.estimate or 0.0) / factor for m in swept])
    x = shapes.size_axis("working set", [float(m.pattern["size"]) for m in swept])
    pictures: list[Picture] = []
    for initiator, sweeps in found.items():
        members = [m for sweep in sweeps for m in sweep]
        if not members:
            continue
        targets = distinct(members, "target")
        names = ["target"] if len(targets) > 1 else []
        names += varying(members, "size", "path")
        marks, said = _levels(sweeps, names, factor, unit, y)
        by_cpu = initiator.startswith(("node:", "cpus:"))
        caches = cache_marks(given.run, x, targets) if by_cpu else []
        path = initiator if len(targets) > 1 else path_of(members[0])
        pictures.append(
            curves_over(
                members,
                "size",
                names,
                key=f"latency {path} {len(pictures)}",
                title=f"Latency over working set, {path}",
                subtitle=constants(members, "size"),
                alt=said,
                axes=Axes(x=x, y=y, marks=[*caches, *marks]),
            )
        )
    return pictures


def _sweeps(group: list[Measurement]) -> list[list[Measurement]]:
    """Return the curves of an initiator: alike in all but the working set."""
    group = [m for m in group if m.pattern.get("size")]
    alike = ["path", *varying(group, "size", "path")]
    return [
        members
        for members in groups_by(group, *alike).values()
        if len({m.pattern.get("size") for m in members}) >= _MIN_SWEEP
    ]


def log_axis(unit: str, values: list[float]) -> Spec:
    """A logarithmic axis of values, with room for text below them."""
    ends = min(values) / 2.2, max(values) * 1.3
    return shapes.log_axis("value", unit, ends, values=shapes.decade_ticks(ends), format="~g")


def _levels(
    sweeps: list[list[Measurement]], names: list[str], factor: float, unit: str, y: Spec
) -> tuple[list[Spec], str]:
    """Name the plateaus' latencies on the curves, the caches' only once, and say them."""
    rows: list[dict[str, Any]] = []
    ends: list[dict[str, Any]] = []
    said: list[str] = []
    for sweep in sweeps:
        points = sorted((int(m.pattern["size"]), m.estimate or 0.0) for m in sweep)
        found = plateaus([(size, value) for size, value in points if value > 0])
        times = {p: f"{figures.significant(p.latency / factor, 3)} {unit}" for p in found}
        labels = [
            {"x": p.first_size, "value": p.latency / factor, "text": time}
            for p, time in times.items()
        ]
        if len(sweeps) > 1 and labels:
            last = labels.pop()
            ends += [] if any(_near(last, row) for row in ends) else [last]
        if not said:
            rows = labels
        elif found:
            found = found[-1:]
        if found:
            words = words_of(sweep[0], names)
            levels = "; ".join(
                f"{times[p]} from {figures.size_text(p.first_size)} to "
                f"{figures.size_text(p.last_size)}"
                for p in found
            )
            said.append(f"{words}: {levels}." if words else f"Plateaus: {levels}.")
    if not said:
        return [], f"{len(sweeps[0])} working sets; no plateau was found."
    # Below the beginning of each plateau; right of the plot at each curve's end: memory's latency.
    marks = [_labels(rows, {"x": {"field": "x", "type": "quantitative"}, "y": y}, dy=17, dx=4)]
    if ends:
        marks.append(_labels(ends, {"x": None, "y": y}, x="width", dx=7, baseline="middle"))
    return marks, " ".join(said)


def _labels(rows: list[dict[str, Any]], place: Spec, **look: Any) -> Spec:
    mark = {"type": "text", "align": "left", "aria": False, "fontWeight": 600, **look}
    encoding = {**place, "text": {"field": "text"}}
    return {"data": {"values": rows}, "mark": mark, "encoding": encoding}


def _near(label: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether a label at the end of a curve would lie over another one."""
    return abs(math.log(label["value"] / other["value"])) < _LABEL_HEIGHT


def cache_marks(run: Run, x: Spec, targets: list[str], at_top: bool = False) -> list[Spec]:
    """Upright lines where the system says that a cache ends, named below or ``at_top``, wherever
    curves leave room."""
    low, high = x["scale"]["domain"]
    caches: list[dict[str, Any]] = run.header.machine.get("caches", [])
    named = [(cache["size_bytes"], f"L{cache['level']}") for cache in caches]
    sides = dict.fromkeys(size for target in targets for size in side_caches(run, target))
    named += [(size, "memory-side cache") for size in sides]
    rows = [{"x": size, "text": text} for size, text in named if low < size < high]
    if not rows:
        return []
    return shapes.uprights(rows, **({"y": 0, "dy": 12} if at_top else {"y": "height", "dy": -4}))

"""Latency over the working set, with the cache levels found in it."""

import math
from typing import Any

from tierscope.analysis.plateaus import plateaus
from tierscope.model.run import Measurement, Run
from tierscope.report import figures
from tierscope.report.machine_caches import side_caches
from tierscope.report.pictures import shapes
from tierscope.report.pictures.picture import (
    Gathered,
    Picture,
    Spec,
    constants,
    groups_by,
    row_of,
    scale_of,
    slug,
    varying,
    words_of,
)

_MIN_SWEEP = 4


def over_working_set(gathered: Gathered) -> list[Picture]:
    """Latency over working set, both logarithmic, with plateaus and the caches as named."""
    pictures: list[Picture] = []
    for (path,), group in groups_by(gathered.measured, "path").items():
        alike = varying(group, "size", "path")
        swept = [
            members
            for members in groups_by(group, *alike).values()
            if len({m.pattern.get("size") for m in members}) >= _MIN_SWEEP
        ]
        if not swept:
            continue
        members = [m for sweep in swept for m in sweep]
        unit, factor = scale_of(members)
        names = varying(members, "size", "path")
        rows = [
            row_of(m, factor, unit, x=m.pattern["size"], series=words_of(m, names) or "latency",
                   what=figures.size_text(m.pattern["size"]))
            for m in members
        ]  # fmt: skip
        x = shapes.size_axis("working set", [row["x"] for row in rows])
        y = log_axis(unit, [row["value"] for row in rows])
        marks, said = _levels(swept[0], factor, unit, y)
        by_cpu = path.startswith(("node:", "cpus:"))
        caches = _cache_marks(gathered.run, x, members[0].target) if by_cpu else []
        pictures.append(
            Picture(
                key=slug(f"latency {path} {len(pictures)}"),
                title=f"Latency over working set, {path}",
                subtitle=constants(members, "size"),
                alt=said,
                spec=shapes.curves(rows, x, y, [*caches, *marks]),
                measurements=members,
            )
        )
    return pictures


def log_axis(unit: str, values: list[float]) -> Spec:
    """A logarithmic axis of values, with room for text below them."""
    low, high = min(values) / 2.2, max(values) * 1.3
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [digit * 10.0**decade for decade in decades for digit in (1, 2, 5)]
    return {
        "field": "value",
        "type": "quantitative",
        "title": unit,
        "scale": {"type": "log", "nice": False, "domain": [low, high]},
        "axis": {"values": [tick for tick in ticks if low <= tick <= high], "format": "~g"},
    }


def _levels(curve: list[Measurement], factor: float, unit: str, y: Spec) -> tuple[list[Spec], str]:
    """Name the plateaus' latencies on the curve, and say them."""
    points = sorted((int(m.pattern["size"]), m.estimate or 0.0) for m in curve)
    found = plateaus([(size, value) for size, value in points if value > 0])
    if not found:
        return [], f"{len(curve)} working sets; no plateau was found."
    rows = [
        {
            "x": p.first_size,
            "x2": p.last_size,
            "value": p.latency / factor,
            "text": f"{p.latency / factor:.3g} {unit}",
        }
        for p in found
    ]
    text: Spec = {
        "data": {"values": rows},
        "mark": {
            "type": "text",
            "dy": 17,
            "dx": 4,
            "align": "left",
            "aria": False,
            "fontWeight": 600,
        },
        "encoding": {
            "x": {"field": "x", "type": "quantitative"},
            "y": y,
            "text": {"field": "text"},
        },
    }
    said = "; ".join(
        f"{p.latency / factor:.3g} {unit} from {figures.size_text(p.first_size)} to "
        f"{figures.size_text(p.last_size)}"
        for p in found
    )
    return [text], f"Plateaus: {said}."


def _cache_marks(run: Run, x: Spec, target: str) -> list[Spec]:
    """Upright lines where the system says that a cache ends."""
    low, high = x["scale"]["domain"]
    caches: list[dict[str, Any]] = run.header.machine.get("caches", [])
    named = [(cache["size_bytes"], f"L{cache['level']}") for cache in caches]
    named += [(size, "memory-side cache") for size in side_caches(run, target)]
    rows = [{"x": size, "text": text} for size, text in named if low < size < high]
    if not rows:
        return []
    place = {"x": {"field": "x", "type": "quantitative"}}
    return [
        {
            "data": {"values": rows},
            "mark": {"type": "rule", "strokeDash": [3, 4], "color": "role:soft", "aria": False},
            "encoding": place,
        },
        {
            "data": {"values": rows},
            "mark": {"type": "text", "y": "height", "dx": 4, "dy": -4, "align": "left",
                     "color": "role:soft", "aria": False},
            "encoding": {**place, "text": {"field": "text"}},
        },
    ]  # fmt: skip

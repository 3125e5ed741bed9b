"""The pictures of any kind: bars of what differs, sweeps over sizes, matrices of paths."""

from typing import Any

from tierscope.analysis.direction import lower_is_better
from tierscope.analysis.half_size import half_size
from tierscope.model.run import Measurement
from tierscope.report import figures
from tierscope.report.best import best_of
from tierscope.report.naming import path_of
from tierscope.report.pictures import shapes
from tierscope.report.pictures.matrix import matrix_of
from tierscope.report.pictures.picture import (
    Gathered,
    Picture,
    Spec,
    constants,
    distinct,
    groups_by,
    label_of,
    metric_name,
    row_of,
    scale_of,
    slug,
    varying,
    words_of,
)

_MAX_BARS = 24
_SWEEPS = ("size", "access_size", "threads", "streams")


def bars(gathered: Gathered) -> list[Picture]:
    """Bars of what is in no matrix, a picture a metric: of each sweep over sizes its best."""
    drawn = {_sweep(m) for picture in matrices(gathered) for m in picture.measurements}
    rest = [m for m in gathered.measured if _sweep(m) not in drawn]
    pictures: list[Picture] = []
    groups: dict[tuple[str, str], list[Measurement]] = {}
    for m in rest:
        # Bars of a fast link would leave nothing to see of a slow one's.
        limit = f"limit {m.limit.value / 1e9:.4g} GB/s" if m.limit else ""
        groups.setdefault((str(m.metric), limit), []).append(m)
    for (metric, limit), members in groups.items():
        apart = varying(members, "size")
        group = [best_of(list(alike)) for alike in groups_by(members, *apart).values()]
        if len(group) < 2 and len(members) > 1:
            continue
        names = varying(group, "size")
        lower = lower_is_better(group[0])
        shown = sorted(group, key=lambda m: m.estimate or 0.0, reverse=not lower)[:_MAX_BARS]
        left_out = len(group) - len(shown)
        unit, factor = scale_of(shown)
        best = shown[0]
        pictures.append(
            Picture(
                key=slug(f"{gathered.kind} {metric} {limit}"),
                title=f"{gathered.title}: {metric_name(metric)}",
                subtitle="; ".join(
                    filter(
                        None,
                        (
                            constants(group),
                            limit,
                            f"the best {_MAX_BARS} of {len(group)}" if left_out else "",
                        ),
                    )
                ),
                alt=(f"The best of {len(group)} is " if len(group) > 1 else "")
                + f"{_name(best, names)}: {figures.with_interval(best, factor)} {unit}.",
                spec=shapes.bars(shown, lambda m, names=names: _name(m, names)),  # type: ignore[misc]
                measurements=shown,
            )
        )
    return pictures


def _sweep(measurement: Measurement) -> str:
    """Return what measurements have in common of which a matrix shows the best one."""
    rest = {k: value for k, value in measurement.pattern.items() if k not in ("size", "issued")}
    return f"{path_of(measurement)} {measurement.metric} {sorted(rest.items())}"


def _name(measurement: Measurement, names: list[str]) -> str:
    return words_of(measurement, names) or path_of(measurement)


def matrices(gathered: Gathered) -> list[Picture]:
    """Initiator by target for each pattern, where at least three paths share it."""
    pictures: list[Picture] = []
    single = [m for m in gathered.measured if "transfers" not in m.pattern]
    apart = (*_SWEEPS, "memory", "issued")
    alike = [key for key in varying(single, "path") if key not in apart]
    for group in groups_by(single, "metric", *alike).values():
        # Copies between GPUs touch no host memory and belong to each kind of it.
        for memory in [kind for kind in distinct(group, "memory") if kind] or [None]:
            members = [m for m in group if m.pattern.get("memory") in (memory, "", None)]
            best = [best_of(path) for path in groups_by(members, "path").values()]
            if len(best) >= 3:
                said = [words_of(best[0], alike), str(memory or "")]
                what = ", ".join(filter(None, said)) or gathered.kind
                pictures.append(matrix_of(best, what, gathered.endpoints))
    return pictures


def size_sweeps(gathered: Gathered) -> list[Picture]:
    """A metric over size for each path; of bandwidth with the size that reaches half the peak."""
    pictures: list[Picture] = []
    for (path, metric), group in groups_by(gathered.measured, "path", "metric").items():
        if len(distinct(group, "size")) < 4 or None in distinct(group, "size"):
            continue
        names = varying(group, "size", "path")
        sweeps = groups_by(group, *names).values()
        group = [m for sweep in sweeps if len(distinct(sweep, "size")) >= 4 for m in sweep]
        if not group:
            continue
        unit, factor = scale_of(group)
        rows = [_size_row(m, names, unit, factor) for m in group]
        rising = group[0].unit == "B/s"
        halves = _halves(group, names) if rising else {}
        y = {
            "field": "value",
            "type": "quantitative",
            "title": unit,
            "scale": {"zero": True} if rising else {"type": "log"},
        }
        x = shapes.size_axis("size", [row["x"] for row in rows])
        pictures.append(
            Picture(
                key=slug(f"{gathered.kind} size {path} {metric}"),
                title=f"{metric_name(metric).capitalize()} over size, {path}",
                subtitle=constants(group, "size"),
                alt=f"Half the peak is reached at {', '.join(halves.values())}."
                if halves
                else f"{len(group)} sizes.",
                spec=shapes.curves(rows, x, y, _half_marks(halves)),
                measurements=group,
            )
        )
    return pictures


def _size_row(m: Measurement, names: list[str], unit: str, factor: float) -> dict[str, Any]:
    words = words_of(m, names)
    what = ", ".join(filter(None, (words, label_of("size", m.pattern["size"]))))
    series = words or metric_name(m.metric)
    return row_of(m, factor, unit, x=m.pattern["size"], series=series, what=what)


def _halves(group: list[Measurement], names: list[str]) -> dict[float, str]:
    """Return n1/2 of each curve with its text."""
    found: dict[float, str] = {}
    for members in groups_by(group, *names).values():
        half = half_size([(float(m.pattern["size"]), m.estimate or 0.0) for m in members])
        if half is not None:
            text = figures.size_text(half.size)
            found[half.size] = f"{text} ({words_of(members[0], names) or 'n½'})"
    return found


def _half_marks(halves: dict[float, str]) -> list[Spec]:
    if not halves:
        return []
    rows = [{"x": size, "text": f"n½ {figures.size_text(size)}"} for size in halves]
    place = {"x": {"field": "x", "type": "quantitative"}}
    return [
        {
            "data": {"values": rows},
            "mark": {"type": "rule", "strokeDash": [3, 4], "color": "role:soft", "aria": False},
            "encoding": place,
        },
        {
            "data": {"values": rows[:1]},
            "mark": {"type": "text", "y": 4, "dx": 4, "align": "left", "baseline": "top",
                     "color": "role:soft", "aria": False},
            "encoding": {**place, "text": {"field": "text"}},
        },
    ]  # fmt: skip

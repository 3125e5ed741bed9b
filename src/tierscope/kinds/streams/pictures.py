"""Pictures of streams: mixes and what they cost on the bus, threads, sweeps, concurrent ones."""

from typing import Any

from tierscope.kinds.streams.spreads import studies
from tierscope.model.run import Figure, Measurement
from tierscope.report import figures
from tierscope.report.best import best_of
from tierscope.report.pictures import shapes
from tierscope.report.pictures.picture import (
    Gathered,
    Picture,
    Spec,
    constants,
    distinct,
    groups_by,
    label_of,
    row_of,
    scale_of,
    slug,
    varying,
    words_of,
)
from tierscope.report.pictures.stacked import stacked

_MIX = ("mix", "writes", "stores")
_SWEPT = ("prefetch", "delay_ns", "zipf_alpha", "access_size", "size")
_TITLES = {
    "prefetch": "prefetch distance, bytes",
    "delay_ns": "delay between accesses, ns",
    "zipf_alpha": "Zipf's alpha",
    "access_size": "access size",
    "size": "working set",
}
_FEW = 6
_ON_BUS = "bandwidth_with_write_allocate"
_ALL = "total_bandwidth"


def mixes(gathered: Gathered) -> list[Picture]:
    """Bars of each mix's best: what the program asked for, and what the bus carries on top."""
    pictures: list[Picture] = []
    for (path, *_), group in groups_by(_alone(gathered), "path", "order", *_SWEPT, "pages").items():
        best = [best_of(members) for members in groups_by(group, "mix").values()]
        if len(best) < 2:
            continue
        unit, factor = scale_of(best)
        rows = []
        for m in best:
            asked, bus = m.estimate or 0.0, figures.figure_of(m, _ON_BUS) or m.estimate or 0.0
            text = figures.with_interval(m, factor)
            name = words_of(m, ["mix"])
            rows.append(_part(name, "asked by the program", asked / factor, f"{text} {unit}", text))
            if bus > asked:
                tip = f"{figures.significant((bus - asked) / factor, 3)} {unit}"
                rows.append(_part(name, "fetched before writes", (bus - asked) / factor, tip, text))
        fastest = best_of(best)
        pictures.append(
            Picture(
                key=slug(f"mixes {path} {len(pictures)}"),
                title=f"Bandwidth by mix of reads and writes, {path}",
                subtitle=_said(best, *_MIX, "threads"),
                alt=f"{len(best)} mixes; the fastest is {words_of(fastest, ['mix'])} with "
                f"{figures.with_interval(fastest, factor)} {unit}.",
                spec=stacked(rows, unit),
                measurements=best,
            )
        )
    return pictures


def over_threads(gathered: Gathered) -> list[Picture]:
    """Bandwidth over threads, a curve a mix."""
    pictures: list[Picture] = []
    for (path, *_), group in groups_by(_alone(gathered), "path", "order", *_SWEPT, "pages").items():
        counts = distinct(group, "threads")
        if len(counts) > 1:
            x = shapes.count_axis("threads", counts)
            pictures.append(
                _curves(f"threads {path}", f"over threads, {path}", group, "threads", x)
            )
    return pictures


def sweeps(gathered: Gathered) -> list[Picture]:
    """Bandwidth over prefetch distance, delay, alpha, access size or working set."""
    pictures: list[Picture] = []
    for swept in _SWEPT:
        others = [key for key in _SWEPT if key != swept]
        keys = ("path", "order", *others, "pages")
        for (path, *_), group in groups_by(_alone(gathered), *keys).items():
            if swept == "zipf_alpha" and group[0].pattern["order"] != "zipf":
                continue
            alike = groups_by(group, *varying(group, swept, "path")).values()
            group = [m for members in alike for m in members if len(distinct(members, swept)) > 2]
            if not group:
                continue
            values = distinct(group, swept)
            # A distance of none has no place on an axis that doubles.
            x = (
                shapes.size_axis(_TITLES[swept], values)
                if swept in ("access_size", "size")
                else _axis(_TITLES[swept], values)
            )
            title = f"over {_TITLES[swept].split(',')[0]}, {path}"
            pictures.append(_curves(f"{swept} {path}", title, group, swept, x))
    return pictures


def _axis(title: str, values: list[float]) -> Spec:
    axis: Spec = {"field": "x", "type": "quantitative", "title": title, "scale": {"zero": False}}
    return {**axis, "axis": {"values": values}} if len(values) <= _FEW else axis


def concurrent(gathered: Gathered) -> list[Picture]:
    """Concurrent streams: each one's share of all, a bar a measurement."""
    pictures: list[Picture] = []
    several = [m for m in gathered.measured if m.pattern.get("beside")]
    for (path, beside), group in groups_by(several, "path", "beside").items():
        unit, factor = scale_of(group)
        names = varying(group, *_MIX[1:], "path")
        rows = []
        for m in group:
            name = words_of(m, names) or "all streams"
            said = figures.plain(figures.side_figure(m, _ALL) or m, factor)
            parts: list[tuple[str, Measurement | Figure]] = [("main", m)]
            parts += [(figure.part, figure) for figure in _others(m)]
            for part, figure in parts:
                tip = f"{figures.plain(figure, factor)} {unit}"
                rows.append(_part(name, part, (figure.estimate or 0.0) / factor, tip, said))
        pictures.append(
            Picture(
                key=slug(f"concurrent {path} {len(pictures)}"),
                title=f"Concurrent streams, {path} and others",
                subtitle=f"main: {_said(group, *_MIX[1:], 'beside', 'threads')}; {beside}",
                alt=f"Concurrent with the main stream: {beside}. "
                + "; ".join(row["tip"] for row in rows[:8]),
                spec=stacked(rows, unit),
                measurements=group,
            )
        )
    return pictures


def _alone(gathered: Gathered) -> list[Measurement]:
    """Return streams by themselves; ratios of pages have pictures of their own."""
    spread = {
        m.id
        for study in studies(gathered.measured, None)
        for (weights, _), m in study.points.items()
        if len(weights) > 1
    }
    return [m for m in gathered.measured if not m.pattern.get("beside") and m.id not in spread]


def _others(measurement: Measurement) -> list[Figure]:
    """Return the bandwidths of the streams but the main one."""
    return [f for f in measurement.figures if f.metric == "bandwidth" and f.part]


def _part(name: str, part: str, value: float, tip: str, text: str) -> dict[str, Any]:
    return {"name": name, "series": part, "value": value, "tip": f"{name}, {part}: {tip}",
            "text": text}  # fmt: skip


def _said(group: list[Measurement], *without: str) -> str:
    """Say what is the same; Zipf's alpha only where the order is Zipf's."""
    unsaid = () if group[0].pattern.get("order") == "zipf" else ("zipf_alpha",)
    return constants(group, *without, *unsaid, "prefetch", "delay_ns") or "best thread count"


def _curves(key: str, title: str, group: list[Measurement], swept: str, x: Spec) -> Picture:
    unit, factor = scale_of(group)
    names = varying(group, swept, *_MIX[1:], "path")
    if swept != "threads" and "mix" not in names and not names:
        names = ["mix"]
    rows = [
        row_of(m, factor, unit, x=m.pattern[swept], series=words_of(m, names) or "bandwidth",
               what=words_of(m, [*names, swept]))
        for m in group
    ]  # fmt: skip
    best = best_of(group)
    return Picture(
        key=slug(f"streams {key} {_said(group, swept)}"),
        title=f"Bandwidth of streams {title}",
        subtitle=_said(group, swept, *_MIX[1:]),
        alt=f"The best is {words_of(best, ['mix'])}, {label_of(swept, best.pattern[swept])}, with "
        f"{figures.with_interval(best, factor)} {unit}.",
        spec=shapes.curves(rows, x, shapes.from_zero(unit)),
        measurements=group,
    )

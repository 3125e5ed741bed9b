"""The few figures that a report shows large, each that of one measurement."""

from collections.abc import Iterator
from dataclasses import replace

from tierscope.analysis.concurrent import shared
from tierscope.model.run import Measurement, Run
from tierscope.report import figures
from tierscope.report.best import best_of, best_rates, memory_latencies
from tierscope.report.naming import path_name
from tierscope.report.tiers import Tier, tiers_of
from tierscope.report.view import KeyFigure, Views, kinds_in, view_of
from tierscope.report.warnings import warnings_of

_FAR = 0.85
"""Share of its limit below which a path is worth a look."""
_LONGEST = 90
"""Characters of a warning from which on its example in parentheses is left out."""


def key_figures(run: Run, views: Views) -> list[KeyFigure]:
    """Return peak bandwidth, idle latency, the slowest tier, what kinds add, the path furthest
    below its limit, and warnings; what a run does not have is left out."""
    measured = [m for m in run.measurements if m.has_figure]
    alone = [m for m in measured if m.unit == "B/s" and not shared(m)]
    found = [*_extremes(alone, measured, views), *_slowest(run, views)]
    for kind in kinds_in(run, views):
        of_kind = view_of(views, kind).key_figure
        members = [m for m in measured if m.kind == kind]
        if of_kind and members and (figure := of_kind(members)):
            found.append(figure)
    found += _below_limit(run, alone)
    if run.header.imported:
        found = [replace(one, label=f"{one.label}, imported") for one in found]
    return [*found, _warnings(run)]


def _extremes(
    rates: list[Measurement], measured: list[Measurement], views: Views
) -> Iterator[KeyFigure]:
    groups = {
        "Peak bandwidth": [m for m in rates if not _on_gpu(m)],
        "Peak of a GPU": [m for m in rates if _on_gpu(m)],
    }
    for label, members in groups.items():
        if best := best_rates([m for m in members if not m.fits_caches] or members):
            top = best_of(best)
            threads = top.pattern.get("threads")
            words = [path_name(top), str(top.pattern.get("operation", ""))]
            words.append(f"{threads} thread{'s' if threads != 1 else ''}" if threads else "")
            yield _figure(label, top, ", ".join(filter(None, words)))
    own = [m for m in measured if view_of(views, m.kind).represents_path]
    if times := memory_latencies(own):
        lowest = best_of(times)
        size = figures.size_text(lowest.pattern.get("size") or 0)
        yield _figure("Idle latency", lowest, f"{path_name(lowest)}, over {size}")


def _on_gpu(measurement: Measurement) -> bool:
    return "gpu:" in f"{measurement.initiator} {measurement.target}"


def _slowest(run: Run, views: Views) -> Iterator[KeyFigure]:
    """The tier with the lowest bandwidth of all, and its latency."""
    tiers = [t for group in tiers_of(run, views).values() for t in group if t.bandwidth]
    if not tiers:
        return
    slowest = min(tiers, key=lambda tier: figures.conservative_rank(_rate(tier)))
    latency = slowest.latency
    after = f"; {figures.plain(latency, 1.0)} ns" if latency else ""
    detail = f"{slowest.name} from {slowest.initiator}{after}"
    yield _figure("Slowest tier", _rate(slowest), detail)


def _rate(tier: Tier) -> Measurement:
    assert tier.bandwidth is not None
    return tier.bandwidth


def _below_limit(run: Run, alone: list[Measurement]) -> Iterator[KeyFigure]:
    limited = best_rates([m for m in alone if m.limit and m.efficiency is not None])
    if run.header.emulated or not limited:
        return
    worst = min(limited, key=lambda m: m.efficiency or 0.0)
    assert worst.limit is not None
    assert worst.efficiency is not None
    text = figures.share_text(worst.efficiency)
    unit, factor = figures.scale_of("B/s", [worst.limit.value])
    limit = f"{worst.limit.value / factor:.4g} {unit}, {worst.limit.link}"
    yield KeyFigure(
        "Lowest efficiency",
        text.rstrip("%"),
        "%" if text.endswith("%") else "",
        f"{path_name(worst)}, of {limit}",
        worst.efficiency < _FAR,
    )


def _figure(label: str, measurement: Measurement, detail: str) -> KeyFigure:
    unit, factor = figures.scale_of(measurement.unit or "count", [measurement.estimate or 0.0])
    doubtful = figures.is_doubtful(measurement)
    return KeyFigure(label, figures.plain(measurement, factor), unit, detail, doubtful)


def _warnings(run: Run) -> KeyFigure:
    found = warnings_of(run)
    first = found[0] if found else "nothing that may invalidate these figures"
    if len(first) > _LONGEST:
        first = first.partition(" (")[0]
    return KeyFigure("Warnings", str(len(found)), "", first, bool(found))

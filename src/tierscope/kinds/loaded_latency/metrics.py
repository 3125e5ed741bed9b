"""The metrics of curves and families as tables and JSON."""

from collections.abc import Iterator, Sequence
from typing import Any

from tierscope.kinds.loaded_latency.family import Curve, Family, families_in, families_of
from tierscope.kinds.loaded_latency.points import is_disturbed
from tierscope.model.run import Figure, Run
from tierscope.report import figures
from tierscope.report.naming import path_name
from tierscope.report.view import Side, Summary

_GB = 1e9
_NONE = "–"
_OF_LOAD = ("load_order", "load_access_size", "load_size", "pages", "size", "stride", "order")
_METRICS = ["unloaded, ns", "maximum, ns", "saturated from, GB/s", "to, GB/s"]
_METHOD = (
    "bandwidth on the bus, lines that ordinary stores fetch included; saturated: from where "
    "latency is twice the unloaded one to the highest bandwidth"
)


def summaries(sides: Sequence[Side]) -> list[Summary]:
    """Return a table of each family's curves; before them one of all families, where several."""
    found = [(side, family) for side in sides for family in side_families(side)]
    each = [_of_family(side, family, len(sides) > 1) for side, family in found]
    return [_of_all(found, len(sides) > 1), *each] if len(found) > 1 else each


def side_families(side: Side) -> list[Family]:
    """Return the families of a run."""
    return families_of(side.measured, side.run.header.topology)


def family_name(family: Family) -> str:
    """Return a family's path, and what loads what where that is another one."""
    first = family.first
    pattern = first.pattern
    name = path_name(first)
    load = pattern.get("load_from"), pattern.get("load_to")
    if None not in load and load != (first.initiator, first.target):
        name += f", load {load[0]} → {load[1]}"
    return name


def _of_family(side: Side, family: Family, several: bool) -> Summary:
    limited = any(family.theoretical(curve) for curve in family.curves)
    rows = [_row(family, curve, limited) for curve in family.curves]
    if len(rows) > 1:
        rows.append(["all", "", *_ranges(family), *([_share_of_all(family)] if limited else [])])
    name = f"{side.name}: {family_name(family)}" if several else family_name(family)
    return Summary(
        f"{name}, metrics of the curves",
        ["on the bus", "mix", *_METRICS, *(["of theoretical"] if limited else [])],
        rows,
        [_METHOD, *_missing(family)],
    )


def _row(family: Family, curve: Curve, limited: bool) -> list[str]:
    found = curve.metrics
    cells = [
        curve.name,
        curve.mix,
        _cell(found.unloaded, 1.0),
        _cell(found.maximum_latency, 1.0),
        _cell(found.saturated_from, _GB),
        _cell(found.maximum_bandwidth, _GB),
    ]
    return [*cells, _share(family, curve)] if limited else cells


def _cell(figure: Figure | None, factor: float) -> str:
    if figure is None:
        return _NONE
    known = figures.has_interval(figure)
    return figures.with_interval(figure, factor) if known else figures.plain(figure, factor)


def _ranges(family: Family) -> list[str]:
    """Return the range of each metric over all curves."""
    found = family.metrics
    return [
        _span(found.unloaded, 1.0),
        _span(found.maximum_latency, 1.0),
        _span(found.saturated_from, _GB),
        _span(found.maximum_bandwidth, _GB),
    ]


def _span(ends: tuple[Figure, Figure] | None, factor: float) -> str:
    if ends is None:
        return _NONE
    low, high = (figures.plain(end, factor) for end in ends)
    return low if low == high else f"{low}..{high}"


def _shares(family: Family, curve: Curve) -> tuple[float, float] | None:
    """Return where a curve's saturated range begins and ends, as shares of the theoretical rate."""
    limit = family.theoretical(curve)
    if not limit:
        return None
    last = curve.metrics.maximum_bandwidth
    return (curve.metrics.saturated_from or last).estimate / limit, last.estimate / limit


def _share(family: Family, curve: Curve) -> str:
    found = _shares(family, curve)
    return _percent(*found) if found else _NONE


def _share_of_all(family: Family) -> str:
    found = [shares for curve in family.curves if (shares := _shares(family, curve))]
    return _percent(min(low for low, _ in found), max(high for _, high in found))


def _percent(low: float, high: float) -> str:
    first, last = figures.share_text(low), figures.share_text(high)
    return last if first == last else f"{first.rstrip('%')}–{last}"


def _missing(family: Family) -> Iterator[str]:
    """Yield what a reader has to know of cells that lack something."""
    metrics = [curve.metrics for curve in family.curves]
    if not all(one.saturated_from for one in metrics):
        yield f"{_NONE} latency does not reach twice the unloaded one, beyond the intervals"
    disturbed = [one.name for one in family.curves if any(map(is_disturbed, one.points))]
    if disturbed:
        yield f"other programs disturbed points of {', '.join(disturbed)}: measure again"
    causes = [figure.no_interval for one in metrics for figure in one.figures()
              if not figures.has_interval(figure)]  # fmt: skip
    if causes:
        known = ", ".join(dict.fromkeys(cause.replace("-", " ") for cause in causes if cause))
        yield "without ±: no interval, since what it is made of has none" + (
            f" ({known})" if known else ""
        )


def _of_all(found: Sequence[tuple[Side, Family]], several: bool) -> Summary:
    limited = any(family.theoretical(curve) for _, family in found for curve in family.curves)
    rows = []
    for side, family in found:
        known = any(family.theoretical(curve) for curve in family.curves)
        share = _share_of_all(family) if known else _NONE
        name = [side.name] if several else []
        rows.append([*name, family_name(family), str(len(family.curves)), *_ranges(family),
                     *([share] if limited else [])])  # fmt: skip
    return Summary(
        "Families of curves: the range of each metric over all mixes",
        [*(["run"] if several else []), "path", "curves", *_METRICS,
         *(["of theoretical"] if limited else [])],
        rows,
        [],
    )  # fmt: skip


def more(run: Run) -> dict[str, Any]:
    """Return what a run's JSON has of its curves: the metrics of each and of each family."""
    families = families_in(run)
    return {"bandwidth_latency": [_json(family) for family in families]} if families else {}


def _json(family: Family) -> dict[str, Any]:
    first = family.first
    found = family.metrics
    ends = {
        "unloaded_latency": found.unloaded,
        "maximum_latency": found.maximum_latency,
        "saturated_from": found.saturated_from,
        "maximum_bandwidth": found.maximum_bandwidth,
    }
    return {
        "initiator": first.initiator,
        "target": first.target,
        **{key: first.pattern[key] for key in ("load_from", "load_to", *_OF_LOAD)
           if key in first.pattern},
        "curves": [
            {
                "mix": curve.mix,
                "bus_read_share": curve.traffic.read_share,
                "theoretical_bandwidth": family.theoretical(curve),
                "measurements": [m.id for m in curve.members],
                "figures": [figure.model_dump(mode="json") for figure in curve.metrics.figures()],
            }
            for curve in family.curves
        ],
        "range": {name: [end.model_dump(mode="json") for end in pair] if pair else None
                  for name, pair in ends.items()},
    }  # fmt: skip

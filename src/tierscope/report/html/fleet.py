"""The page of a fleet: hosts that need attention first, each path over all hosts, each host."""

import math
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from typing import Any

from tierscope.model.errors import counted
from tierscope.model.outlier import Outlier
from tierscope.report.fleet import (
    FleetView,
    differing_settings,
    signed_percent,
    together_table,
)
from tierscope.report.html.page import csv_line, drawn, packed, template
from tierscope.report.pictures.fleet import distribution
from tierscope.report.view import KeyFigure

MAX_PICTURES = 60
"""Distributions that are drawn; the table has all paths."""
MAX_OUTLIERS = 200
MAX_NAMED = 24
"""Hosts of the table whose cells have figures; the map of all hosts has the rest."""
_MOST_NAMES = 12
"""Hosts that a line of a table names."""
_DIGITS = 5
"""Significant digits in the page's data; intervals are seldom narrower than 0.01%."""
LEVELS = (0.01, 0.02, 0.05, 0.1, 0.2)
"""Deviations from which cells are darker."""


@dataclass(frozen=True)
class OutlierRow:
    """One outlier on the page."""

    host: str
    path: str
    more: int
    """Further paths on which it is slow."""
    value: str
    median: str
    deviation: str
    slower: str
    """Over all paths."""
    together: bool
    group: str
    causes: list[str]


@dataclass(frozen=True)
class Reason:
    """Hosts that are not measured as asked, of one state and for one reason."""

    state: str
    reason: str
    hosts: list[str]
    more: int


@dataclass(frozen=True)
class Cell:
    """One host on one path in the table of the hosts that deviate most."""

    text: str
    """The deviation in whole percent; empty where it is no larger than usual."""
    tip: str
    style: str
    """Class by direction and size."""


@dataclass(frozen=True)
class PathLine:
    """One path in the table of all paths."""

    name: str
    hosts: int
    median: str
    unit: str
    spread: str
    lowest: str
    highest: str
    limit: str
    golden: str
    failing: int
    outliers: int


def render_fleet(view: FleetView) -> str:
    """Return the page."""
    order = _picture_order(view)
    cards = [drawn("path", distribution(view, number)) for number in order[:MAX_PICTURES]]
    lines = [*_path_lines(view)]
    return str(
        template("fleet.html").render(
            scripts=["page.js", "fleet.js"],
            view=view,
            keys=_keys(view),
            reasons=_reasons(view),
            outliers=[_outlier_row(view, one) for one in view.outliers[:MAX_OUTLIERS]],
            outliers_left=max(0, len(view.outliers) - MAX_OUTLIERS),
            most=[view.hosts[number] for number in view.by_deviation[:MAX_NAMED]],
            cells=_cells(view),
            levels=[f"{100 * level:g}%" for level in LEVELS],
            cards=cards,
            pictures_left=max(0, len(order) - MAX_PICTURES),
            lines=lines,
            together=together_table(view.together),
            unmeasured=[view.names[n] for n, path in enumerate(view.paths) if not path.measured],
            settings=[
                (one, [(v, len(hosts), _names(hosts)) for v, hosts in one.values])
                for one in differing_settings(view)
            ],
            outlier_data=packed([*_outlier_csv(view)]),
            path_data=packed([*_path_csv(lines)]),
            data=packed(_data(view)),
        )
    )


def _picture_order(view: FleetView) -> list[int]:
    """Return numbers of the paths that have figures: most outliers first, then as planned."""
    measured = [number for number, path in enumerate(view.paths) if path.measured]
    return sorted(measured, key=lambda number: -len(view.slow_on(number)))


def _keys(view: FleetView) -> list[KeyFigure]:
    total = len(view.hosts)
    measured = view.states["measured"]
    rest = ", ".join(f"{n} {state}" for state, n in view.states.items() if state != "measured")
    share = f"{100 * len(view.outliers) / max(1, measured):.2g}%"
    found = [
        KeyFigure("Hosts measured", f"{measured:,}", f"of {total:,}", rest or "all of them",
                  alarming=measured < total),
        KeyFigure("Slow hosts", f"{len(view.outliers):,}", "",
                  f"{share} of the measured" if view.outliers else "no significant deviation",
                  alarming=bool(view.outliers)),
    ]  # fmt: skip
    if view.outliers:
        worst = max(view.outliers, key=lambda one: abs(one.paths[0].deviation))
        slow = worst.worst
        found.append(
            KeyFigure("Largest deviation", signed_percent(slow.deviation)[:-1], "%",
                      f"{worst.host}, {view.names[view.number_of(slow)]}", alarming=True)
        )  # fmt: skip
    drawn = [number for number, path in enumerate(view.paths) if path.measured]
    if drawn:
        widest = max(drawn, key=lambda number: view.spreads[number])
        found.append(
            KeyFigure("Widest spread", f"{100 * view.spreads[widest]:.2g}", "%",
                      f"of hosts alike: {view.names[widest]}")
        )  # fmt: skip
    failing = [path for path in view.paths if path.failing()]
    if any(path.golden for path in view.paths):
        said = f"on {counted(len(failing), 'path')}" if failing else "all figures meet them"
        number = sum(path.failing() for path in failing)
        found.append(KeyFigure("Golden values missed", f"{number:,}", "", said, bool(failing)))
    return found


def _outlier_row(view: FleetView, one: Outlier) -> OutlierRow:
    slow, number = one.worst, view.number_of(one.worst)
    path = view.paths[number]
    return OutlierRow(
        host=one.host,
        path=view.names[number],
        more=len(one.paths) - 1,
        value=path.text(slow.figure),
        median=path.text(slow.centre),
        deviation=signed_percent(slow.deviation),
        slower=signed_percent(one.slower).lstrip("+"),
        together=one.together,
        group=one.group,
        causes=one.causes,
    )


def _reasons(view: FleetView) -> list[Reason]:
    groups: dict[tuple[str, str], list[str]] = {}
    for host in view.hosts:
        if host.state != "measured":
            groups.setdefault((host.state, host.reason), []).append(host.name)
    ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
    return [
        Reason(state, reason, hosts[:_MOST_NAMES], max(0, len(hosts) - _MOST_NAMES))
        for (state, reason), hosts in ordered
    ]


def _names(hosts: list[str]) -> list[str]:
    """Return the hosts that a line names: none where there are many, which is the usual case."""
    return hosts if len(hosts) <= _MOST_NAMES else []


def _cells(view: FleetView) -> list[tuple[str, list[Cell]]]:
    """Return a row of cells for each path with figures."""
    return [
        (
            view.names[number],
            [_cell(view, number, host) for host in view.by_deviation[:MAX_NAMED]],
        )
        for number, path in enumerate(view.paths)
        if path.measured
    ]


def _cell(view: FleetView, number: int, host: int) -> Cell:
    path, deviation = view.paths[number], view.deviations[number][host]
    value = path.values[host]
    name = view.hosts[host].name
    if value is None or deviation is None:
        status, reason = path.missing.get(host, ("not planned", ""))
        return Cell("", f"{name}: {status}{': ' if reason else ''}{reason}", "none")
    unusual = abs(deviation) >= view.unusual[number]
    level = sum(abs(deviation) >= limit for limit in LEVELS) if unusual else 0
    direction = "worse" if (deviation > 0) == path.lower else "better"
    text = f"{100 * deviation:+.0f}".replace("-", "−") if level else ""
    tip = f"{name}: {path.text(value)}, {signed_percent(deviation)}"
    return Cell(text, tip, f"{direction} level{level}" if level else "")


def _path_lines(view: FleetView) -> Iterator[PathLine]:
    for number, path in enumerate(view.paths):
        if not path.measured:
            continue
        yield PathLine(
            name=view.names[number],
            hosts=len(path.measured),
            median=path.between([one for one in view.medians[number] if one is not None]),
            unit=path.scale[0],
            spread=f"{100 * view.spreads[number]:.2g}%",
            lowest=path.number(min(path.measured)),
            highest=path.number(max(path.measured)),
            limit=path.between(path.known_limits),
            golden=path.golden_text,
            failing=path.failing(),
            outliers=len(view.slow_on(number)),
        )


def _outlier_csv(view: FleetView) -> Iterator[str]:
    yield csv_line(["host", "group", "q", "kind", "initiator", "target", "id", "unit", "value",
                    "median", "deviation", "causes"])  # fmt: skip
    for one in view.outliers:
        for slow in one.paths:
            m = view.paths[view.number_of(slow)].measurement
            path = [m.kind, m.initiator, m.target, m.id, m.unit or ""]
            figures = [f"{slow.figure:.6g}", f"{slow.centre:.6g}", f"{slow.deviation:.5g}"]
            yield csv_line([one.host, one.group, f"{one.q:.3g}", *path, *figures,
                            "; ".join(one.causes)])  # fmt: skip


def _path_csv(lines: list[PathLine]) -> Iterator[str]:
    yield csv_line([field.name for field in fields(PathLine)])
    for line in lines:
        yield csv_line([str(value) for value in astuple(line)])


def _data(view: FleetView) -> dict[str, Any]:
    """Return what the page's script draws the map, the hosts' pages and the search from."""
    settings = list(dict.fromkeys(name for host in view.hosts for name in host.settings))
    return {
        "levels": LEVELS,
        "groups": view.groups,
        "group": view.group_of,
        "order": view.by_deviation,
        "hosts": [[host.name, host.state, host.reason, host.run] for host in view.hosts],
        "settings": [
            _coded(name, [host.settings.get(name, "") for host in view.hosts]) for name in settings
        ],
        "paths": [_path_data(view, number) for number in range(len(view.paths))],
        "outliers": {
            one.host: [
                [[view.names[view.number_of(slow)], signed_percent(slow.deviation)]
                 for slow in one.paths],
                one.together, signed_percent(one.slower).lstrip("+"), one.causes,
            ]
            for one in view.outliers
        },
    }  # fmt: skip


def _coded(name: str, values: list[str]) -> dict[str, Any]:
    """Return a setting as numbers of its values, which few hosts have different ones of."""
    distinct = {value: number for number, value in enumerate(dict.fromkeys(values))}
    return {"name": name, "values": [*distinct], "of": [distinct[value] for value in values]}


def _path_data(view: FleetView, number: int) -> dict[str, Any]:
    path = view.paths[number]
    unit, factor = path.scale if path.measured else ("", 1.0)
    columns = {"value": path.values, "low": path.lows, "high": path.highs, "limit": path.limits}
    return {
        "name": view.names[number],
        "unit": unit,
        "lower": path.lower,
        "unusual": round(view.unusual[number], 4),
        "median": _short(view.medians[number], factor),
        "golden": path.golden_text,
        "missing": [[host, *said] for host, said in path.missing.items()],
        **{key: _short(values, factor) for key, values in columns.items()},
    }


def _short(values: list[float | None], factor: float) -> list[float | None]:
    return [
        None
        if value is None or not math.isfinite(value)
        else float(f"{value / factor:.{_DIGITS}g}")
        for value in values
    ]

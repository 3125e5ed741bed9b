"""Pictures of a STREAMer study: four panels a group, one for each operation, over threads."""

from collections.abc import Iterator, Sequence
from typing import Any

from tierscope.analysis.streamer import GROUPS, Configuration, operations_of
from tierscope.analysis.streamer_limits import OPTANE_READ, OPTANE_SOURCE, OPTANE_WRITE
from tierscope.model.errors import counted
from tierscope.report.pictures import shapes
from tierscope.report.pictures.draw import SERIES
from tierscope.report.pictures.picture import Picture, Spec, slug

_WIDTH, _HEIGHT = 330, 230
_MAX = len(SERIES)
"""Lines of a panel that can be told apart."""
_GB = 1e9


def group_pictures(
    group: str, members: Sequence[Configuration], several: bool
) -> Iterator[Picture]:
    """Yield a group's panels: one picture, or one a machine where its lines are too many.

    ``several``: the study has several machines, so that lines carry their machine's name.
    """
    if len(members) <= _MAX:
        yield _panels(group, members, "", several)
        return
    for machine in dict.fromkeys(one.machine for one in members):
        own = [one for one in members if one.machine == machine]
        for number in range(0, len(own), _MAX):
            part = f", part {number // _MAX + 1}" if len(own) > _MAX else ""
            yield _panels(group, own[number : number + _MAX], f"{machine}{part}", several)


def names_of(members: Sequence[Configuration], several: bool) -> list[str]:
    """Return what each line is called; with its machine's name where there are several."""
    return [f"{one.words}{f', {one.machine}' if several else ''}" for one in members]


def _panels(group: str, members: Sequence[Configuration], of: str, several: bool) -> Picture:
    names = names_of(members, several)
    found = operations_of(members)
    top = max(p.high for one in members for points in one.points.values() for p in points.values())
    panels = [_panel(operation, members, names, group, top / _GB) for operation in found]
    alone = f", {names[0]}" if len(names) == 1 else ""
    machines = ", ".join(dict.fromkeys(one.machine for one in members))
    best, name, operation, threads = max(
        (one.best(o)[1].value, name, o, one.best(o)[0])
        for one, name in zip(members, names, strict=True)
        for o in found
        if o in one.points
    )
    lines = (
        f"; dashed lines: one Optane module, read and write ({OPTANE_SOURCE})"
        if group.startswith("1")
        else ""
    )
    return Picture(
        key=slug(f"streamer {group} {of}"),
        title=f"{group}: {GROUPS[group]}{f', {of}' if of else ''}",
        subtitle=f"{machines}{alone}; GB/s over threads, 95% intervals where they are known{lines}",
        alt=f"{counted(len(panels), 'panel')} with {counted(len(members), 'line')} each. The best "
        f"is {name}, {operation} with {counted(threads, 'thread')}: {best / _GB:.4g} GB/s.",
        spec={
            "concat": panels,
            "columns": 2,
            "spacing": 28,
            "resolve": {"scale": {"color": "shared", "shape": "shared", "strokeDash": "shared"}},
        },
        measurements=[],
    )


def _panel(
    operation: str,
    members: Sequence[Configuration],
    names: Sequence[str],
    group: str,
    top: float,
) -> Spec:
    """Draw an operation; all panels of a group have one scale, up to ``top`` GB/s."""
    rows: list[dict[str, Any]] = []
    for one, name in zip(members, names, strict=True):
        for threads, point in sorted(one.points.get(operation, {}).items()):
            interval = (
                "" if point.low == point.high
                else f" [{point.low / _GB:.4g}, {point.high / _GB:.4g}]"
            )  # fmt: skip
            rows.append(
                {
                    "x": threads,
                    "value": point.value / _GB,
                    "low": point.low / _GB,
                    "high": point.high / _GB,
                    "series": name,
                    "doubtful": False,
                    "tip": f"{name}, {operation}, {counted(threads, 'thread')}: "
                    f"{point.value / _GB:.4g}{interval} GB/s",
                }
            )
    counts = sorted({row["x"] for row in rows})
    more = [_reference()] if group.startswith("1") else []
    x = shapes.count_axis("threads", counts)
    y = {**shapes.from_zero("GB/s"), "scale": {"domain": [0, 1.05 * top], "nice": False}}
    spec = _wide_legend(shapes.curves(rows, x, y, more, named=names), names)
    return {
        **spec,
        "width": _WIDTH,
        "height": _HEIGHT,
        "title": {"text": operation.title(), "anchor": "start", "color": "role:ink"},
    }


def _wide_legend(spec: Spec, names: Sequence[str]) -> Spec:
    """Give the legend the width of two panels."""
    columns = max(1, min(len(names), 2 * _WIDTH // (7 * max(map(len, names)) + 40)))
    layers = []
    for layer in spec["layer"]:
        encoding = layer.get("encoding", {})
        wide = {
            key: {**channel, "legend": {**channel["legend"], "columns": columns}}
            for key, channel in encoding.items()
            if isinstance(channel, dict) and channel.get("legend")
        }
        layers.append({**layer, "encoding": {**encoding, **wide}} if wide else layer)
    return {**spec, "layer": layers}


def _reference() -> Spec:
    """Dashed lines at what one Optane module reads and writes."""
    values = [
        {"at": OPTANE_READ / _GB, "text": "Optane read"},
        {"at": OPTANE_WRITE / _GB, "text": "Optane write"},
    ]
    y = {"field": "at", "type": "quantitative"}
    return {
        "data": {"values": values},
        "layer": [
            {
                "mark": {"type": "rule", "strokeDash": [3, 3], "color": "role:soft", "aria": False},
                "encoding": {"y": y, "x": None},
            },
            {
                "mark": {"type": "text", "align": "right", "x": "width", "dy": -6, "fontSize": 11,
                         "fill": "role:soft", "aria": False},
                "encoding": {"y": y, "x": None, "text": {"field": "text", "type": "nominal"}},
            },
        ],
    }  # fmt: skip

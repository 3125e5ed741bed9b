"""The data flow of each of a group's configurations: which cores go to which memory, and by what.

After figure 9 of the STREAMer paper: sockets with their memories, far memory beside them, active
sockets and the memory that they access filled, and the way between them drawn through.
"""

from collections.abc import Sequence
from typing import Any

from tierscope.analysis.streamer import FAR, GROUPS, LOCAL, REMOTE, Configuration, Way
from tierscope.report.pictures.picture import Picture, Spec, slug

_STEP, _BOX, _TALL, _LOW = 92.0, 76.0, 34.0, 96.0
"""Distance of columns, width and height of boxes, top of the memories' row; in pixels."""
_MIDDLE = 66.0
"""Where ways to far memory run from column to column, between both rows."""
_COLUMNS = 3
_ACTIVE, _TARGET, _IDLE = "role:series-1", "role:series-2", "role:grid"

Row = dict[str, Any]


def flow_picture(group: str, members: Sequence[Configuration], machine: str) -> Picture:
    """Return one picture with a small one for each configuration of a machine."""
    sockets = sorted(
        {number for one in members for number in one.sockets}
        | {one.memory.socket for one in members if one.memory.socket is not None}
    )
    # Affinity changes the order of cores, not the way of the data.
    drawn = {(one.sockets, one.memory): one for one in members}
    panels = [_panel(one, sockets) for one in drawn.values()]
    ways = "; ".join(_way_words(one) for one in drawn.values())
    return Picture(
        key=slug(f"streamer {group} flow {machine}"),
        title=f"{group}: data flow, {machine}",
        subtitle=f"{GROUPS[group]}: filled sockets are active, the filled memory holds the arrays",
        alt=f"{ways}.",
        spec={"concat": panels, "columns": _COLUMNS, "spacing": 26},
        measurements=[],
    )


def _way_words(one: Configuration) -> str:
    numbers = " and ".join(map(str, one.sockets))
    return f"socket {numbers} to {one.memory.words} {_BY[one.relation()]}"


_BY = {LOCAL: "directly", REMOTE: "through its own socket", FAR: "over its link"}


def _panel(one: Configuration, sockets: Sequence[int]) -> Spec:
    column = {socket: number for number, socket in enumerate(sockets)}
    far = one.memory.socket is None
    width = _STEP * (len(sockets) + far)
    boxes = [_box(column[s], 0.0, f"socket {s}", "", s in one.sockets, _ACTIVE) for s in sockets]
    for socket in sockets:
        own = socket == one.memory.socket
        words = (one.memory.name, one.memory.kind) if own else ("memory", "")
        boxes.append(_box(column[socket], _LOW, *words, own, _TARGET))
    if far:
        boxes.append(_box(len(sockets), _LOW, one.memory.name, one.memory.kind, True, _TARGET))
    size = {"width": width, "height": _LOW + _TALL}
    return {
        **size,
        "title": {"text": Way(one.sockets, one.memory).words, "anchor": "start",
                  "color": "role:ink", "fontSize": 12, "fontWeight": "normal",
                  "limit": max(240, int(width))},
        "layer": [
            _lines(_links(sockets, column), _IDLE, 2, size),
            _lines(_ways(one, column, len(sockets)), _TARGET, 3, size),
            *_drawn_boxes(boxes, size),
        ],
    }  # fmt: skip


def _middle(column: int) -> float:
    return _STEP * column + _STEP / 2


def _box(column: int, top: float, first: str, second: str, filled: bool, role: str) -> Row:
    left = _middle(column) - _BOX / 2
    return {
        "x": left, "x2": left + _BOX, "y": top, "y2": top + _TALL, "middle": _middle(column),
        "line1": top + (11 if second else _TALL / 2), "line2": top + 24,
        "first": first, "second": second, "fill": role if filled else "role:paper",
        "stroke": role if filled else "role:soft", "ink": "role:paper" if filled else "role:ink",
    }  # fmt: skip


def _links(sockets: Sequence[int], column: dict[int, int]) -> list[list[tuple[float, float]]]:
    """Each socket's way to its own memory, and the one between neighbouring sockets."""
    down = [[(_middle(column[s]), _TALL), (_middle(column[s]), _LOW)] for s in sockets]
    across = [
        [(_middle(n) + _BOX / 2, _TALL / 2), (_middle(n + 1) - _BOX / 2, _TALL / 2)]
        for n in range(len(sockets) - 1)
    ]
    return down + across


def _ways(
    one: Configuration, column: dict[int, int], sockets: int
) -> list[list[tuple[float, float]]]:
    """The way from each active socket to the memory."""
    found = []
    for socket in one.sockets:
        at = _middle(column[socket])
        if one.memory.socket is None:
            end = _middle(sockets)
            found.append([(at, _TALL), (at, _MIDDLE), (end, _MIDDLE), (end, _LOW)])
            continue
        end = _middle(column[one.memory.socket])
        if end != at:
            half = _BOX / 2 if end > at else -_BOX / 2
            found.append([(at + half, _TALL / 2), (end - half, _TALL / 2)])
        found.append([(end, _TALL), (end, _LOW)])
    return found


def _axis(field: str, end: float) -> Spec:
    scale = {"domain": [0, end], "nice": False, "zero": False}
    return {"field": field, "type": "quantitative", "axis": None, "scale": scale}


def _lines(ways: list[list[tuple[float, float]]], role: str, thick: int, size: Spec) -> Spec:
    rows = [
        {"way": number, "place": place, "x": x, "y": y}
        for number, way in enumerate(ways)
        for place, (x, y) in enumerate(way)
    ]
    return {
        "data": {"values": rows},
        "mark": {"type": "line", "color": role, "strokeWidth": thick, "aria": False},
        "encoding": {
            "x": _axis("x", size["width"]),
            "y": _upside_down("y", size["height"]),
            "detail": {"field": "way", "type": "nominal"},
            "order": {"field": "place", "type": "quantitative"},
        },
    }


def _upside_down(field: str, end: float) -> Spec:
    axis = _axis(field, end)
    return {**axis, "scale": {**axis["scale"], "reverse": True}}


def _drawn_boxes(boxes: list[Row], size: Spec) -> list[Spec]:
    x, y = _axis("x", size["width"]), _upside_down("y", size["height"])
    as_it_is = {"type": "nominal", "scale": None, "legend": None}
    rectangles = {
        "data": {"values": boxes},
        "mark": {"type": "rect", "cornerRadius": 3, "strokeWidth": 1.2, "aria": False},
        "encoding": {
            "x": x, "x2": {"field": "x2"}, "y": y, "y2": {"field": "y2"},
            "fill": {"field": "fill", **as_it_is}, "stroke": {"field": "stroke", **as_it_is},
        },
    }  # fmt: skip
    return [rectangles, *(_texts(boxes, x, y, *pair) for pair in _LINES_OF_TEXT)]


_LINES_OF_TEXT = (("first", "line1", 12), ("second", "line2", 10.5))


def _texts(boxes: list[Row], x: Spec, y: Spec, text: str, at: str, font: float) -> Spec:
    return {
        "data": {"values": [box for box in boxes if box[text]]},
        "mark": {"type": "text", "fontSize": font, "aria": False, "baseline": "middle"},
        "encoding": {
            "x": {**x, "field": "middle"},
            "y": {**y, "field": at},
            "text": {"field": text, "type": "nominal"},
            "fill": {"field": "ink", "type": "nominal", "scale": None, "legend": None},
        },
    }

"""A STREAMer study as pictures, tables and JSON.

A group has panels, one for each operation over threads, and a drawing of the data's ways.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from tierscope.model.cause import Cause
from tierscope.model.errors import counted
from tierscope.model.run import Run
from tierscope.peers.streamer.findings import LIMITS, between_machines, findings, paper_findings
from tierscope.peers.streamer.plan import (
    Absent,
    absent,
    limits_of,
    lines,
    sentence,
    study_of,
    unwritten,
)
from tierscope.peers.streamer.study import (
    FAR,
    GROUPS,
    LOCAL,
    OPTANE_READ,
    OPTANE_SOURCE,
    OPTANE_WRITE,
    REMOTE,
    Configuration,
    Finding,
    Limits,
    Point,
    Study,
    Way,
    operations_of,
)
from tierscope.report.pictures import shapes
from tierscope.report.pictures.draw import SERIES
from tierscope.report.pictures.picture import Picture, Spec, slug
from tierscope.report.run import show_between
from tierscope.report.run_view import OwnSection, RunView
from tierscope.report.style import new_table, note, title
from tierscope.report.summary import warnings_line
from tierscope.suites.stream import rule_text

_WIDTH, _HEIGHT = 330, 230
_MAX = len(SERIES)
"""Most lines of a panel that can be told apart."""
_GB = 1e9
_STEP, _BOX, _TALL, _LOW = 92.0, 76.0, 34.0, 96.0
"""Of drawings: distance of columns, width and height of boxes, top of the memories' row; pixels."""
_MIDDLE = 66.0
"""Height between both rows at which the lines to far memory run."""
_COLUMNS = 3
_ACTIVE, _TARGET, _IDLE = "role:series-1", "role:series-2", "role:grid"
_BY = {LOCAL: "directly", REMOTE: "through its own socket", FAR: "over its link"}
_LINES_OF_TEXT = (("first", "line1", 12), ("second", "line2", 10.5))
"""Lines of a box: the keys of text and height, and the size of its font."""
TOPICS = {
    "saturation": "Where one socket saturates",
    "remote": "The remote socket's memory against local memory",
    "far": "Far memory against the sockets' memory",
    "sockets": "Far memory from each socket",
    "pmdk": "What persistent memory costs on the same memory",
    "backing": "What translating object ids costs",
    "close": "What the next socket's cores do with close affinity",
    "meet": "Where close and spread affinity meet",
    "reference": "Beside one Optane module",
    "split": "The loss of far memory, split into media and link (an estimate)",
    "machines": "Beside other machines",
    "paper": "The paper's text beside its published figures",
}
"""Headings of findings, in the order shown."""

Row = dict[str, Any]


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
    """Return the names of lines; with that of the machine where there are several."""
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
    """Return dashed lines at the read and write bandwidth of one Optane module."""
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


def flow_picture(group: str, members: Sequence[Configuration], machine: str) -> Picture:
    """Return one picture with a small one for each configuration of a machine."""
    sockets = sorted(
        {number for one in members for number in one.sockets}
        | {one.memory.socket for one in members if one.memory.socket is not None}
    )
    # Affinity changes the order of cores, not the way of the data.
    drawn = {(one.sockets, one.memory): one for one in members}
    panels = [_flow_panel(one, sockets) for one in drawn.values()]
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
    return f"socket {numbers} to {one.memory.words} {_BY[one.relation]}"


def _flow_panel(one: Configuration, sockets: Sequence[int]) -> Spec:
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
    """Return the way from each socket to its own memory, and between neighbouring sockets."""
    down = [[(_middle(column[s]), _TALL), (_middle(column[s]), _LOW)] for s in sockets]
    across = [
        [(_middle(n) + _BOX / 2, _TALL / 2), (_middle(n + 1) - _BOX / 2, _TALL / 2)]
        for n in range(len(sockets) - 1)
    ]
    return down + across


def _ways(
    one: Configuration, column: dict[int, int], sockets: int
) -> list[list[tuple[float, float]]]:
    """Return the way from each active socket to the memory."""
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


def _axes(size: Spec) -> dict[str, Spec]:
    """Return both channels in pixels, from the upper left corner."""
    return {
        name: {
            "field": name,
            "type": "quantitative",
            "axis": None,
            "scale": {"domain": [0, size[side]], "nice": False, "zero": False, "reverse": down},
        }
        for name, side, down in (("x", "width", False), ("y", "height", True))
    }


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
            **_axes(size),
            "detail": {"field": "way", "type": "nominal"},
            "order": {"field": "place", "type": "quantitative"},
        },
    }


def _drawn_boxes(boxes: list[Row], size: Spec) -> list[Spec]:
    x, y = _axes(size).values()
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


@dataclass(frozen=True)
class StudyView:
    """A study as it is shown: one or more machines and findings."""

    studies: Sequence[Study]
    findings: Sequence[Finding]
    left_out: Mapping[str, Sequence[Absent]] = field(default_factory=dict)
    """Parts of each group that were left out."""
    remarks: Sequence[str] = ()
    """Remarks on how this machine's figures were measured."""

    def members(self, group: str) -> list[Configuration]:
        """The configurations of a group, of all machines."""
        return [one for study in self.studies for one in study if one.group == group]

    @property
    def several(self) -> bool:
        """Whether it has several machines."""
        return len(self.studies) > 1

    def groups(self) -> list[str]:
        """Groups with figures or remarks."""
        return [group for group in GROUPS if self.members(group) or self.left_out.get(group)]

    def by_topic(self) -> dict[str, list[Finding]]:
        """The findings by topic, in the order shown."""
        found = {topic: [f for f in self.findings if f.topic == topic] for topic in TOPICS}
        return {topic: members for topic, members in found.items() if members}


def pictures_of_group(view: StudyView, group: str) -> Iterator[Picture]:
    """Yield a group's panels, then the data flow of each machine's configurations."""
    members = view.members(group)
    if not members:
        return
    yield from group_pictures(group, members, view.several)
    for study in view.studies:
        own = [one for one in study if one.group == group]
        if own:
            yield flow_picture(group, own, study.machine)


def pictures(view: StudyView) -> Iterator[Picture]:
    """Yield all pictures of a study."""
    for group in view.groups():
        yield from pictures_of_group(view, group)


def figure_rows(members: Sequence[Configuration], several: bool) -> list[list[str]]:
    """Return headings, then GB/s of each configuration at its most threads, by operation."""
    operations = operations_of(members)
    rows = [["GB/s", "threads", *map(str.title, operations)]]
    for one, name in zip(members, names_of(members, several), strict=True):
        last = one.threads()[-1]
        points = [one.points.get(operation, {}).get(last) for operation in operations]
        rows.append([name, str(last), *map(_cell, points)])
    return rows


def _cell(point: Point | None) -> str:
    if point is None:
        return "-"
    half = (point.high - point.low) / (2 * _GB)
    return f"{point.value / _GB:.2f}" + (f" ±{half:.2f}" if half else "")


def show_study(console: Console, view: StudyView) -> None:
    """Print the figures of each group, then the findings."""
    for line in view.remarks:
        note(console, line)
    for group in view.groups():
        title(console, f"{group}: {GROUPS[group]}")
        members = view.members(group)
        if members:
            headings, *rows = figure_rows(members, view.several)
            table = new_table(*headings, words=headings[:1])
            for row in rows:
                table.add_row(*row)
            console.print(table)
        for lacking in view.left_out.get(group, ()):
            note(console, lacking.text)
    for topic, found in view.by_topic().items():
        title(console, TOPICS[topic])
        for one in found:
            console.print(Text(said(one, view.several)))


def show_run(console: Console, view: StudyView, run: Run | None, path: Path | None) -> None:
    """Print a study, and the measurements without a figure of its run on this machine."""
    if run and path:
        from tierscope.kinds.views import VIEWS

        show_between(console, run, path, lambda: show_study(console, view), VIEWS)
    else:
        show_study(console, view)


def run_view(run: Run) -> RunView:
    """Return how a run of ``tierscope streamer`` is shown: as a study."""

    @cache
    def study() -> StudyView:
        return view_of(run)

    def section(prefix: str) -> OwnSection:
        from tierscope.peers.streamer.page import study_section

        return study_section(study(), prefix)

    return RunView(
        show=lambda console, path: show_run(console, study(), run, path),
        json=lambda: study_json(study()),
        section=section,
        pictures=lambda: pictures(study()),
    )


def said(finding: Finding, several: bool) -> str:
    """Return a finding's sentence, with its machine's name where there are several."""
    named = several and finding.topic not in ("machines", "paper")
    return f"{finding.machine}: {finding.text}" if named else finding.text


def study_json(view: StudyView) -> dict[str, Any]:
    """Return a study for JSON; rates in bytes/s."""
    return {
        "streamer": {
            "configurations": [
                {
                    "group": one.group,
                    "machine": one.machine,
                    "sockets": list(one.sockets),
                    "memory": one.memory.name,
                    "memory_kind": one.memory.kind,
                    "memory_of_socket": one.memory.socket,
                    "persistent": one.memory.persistent,
                    "backing": one.memory.backing or None,
                    "affinity": one.affinity,
                    "points": {
                        operation: [
                            {"threads": threads, "bandwidth": point.value,
                             "ci_low": None if point.low == point.high else point.low,
                             "ci_high": None if point.low == point.high else point.high}
                            for threads, point in sorted(points.items())
                        ]
                        for operation, points in one.points.items()
                    },
                }
                for study in view.studies
                for one in study
            ],
            "findings": [
                {**asdict(one), "baseline": one.baseline or None} for one in view.findings
            ],
            "remarks": list(view.remarks),
            "left_out": {
                group: [{"cause": one.cause, "text": one.text} for one in lacking]
                for group, lacking in view.left_out.items()
            },
        }
    }  # fmt: skip


@dataclass(frozen=True)
class Others:
    """Results that a study is laid over."""

    published: Sequence[Study] = ()
    """Results of the study itself, which the paper's text is compared with."""
    machines: Sequence[Study] = ()
    runs: Sequence[Run] = field(default_factory=list)
    """Runs of tierscope on other machines."""


def view_of(run: Run | None, others: Others = Others(), groups: Sequence[str] = ()) -> StudyView:
    """Return the study of a run and of others; ``groups`` were asked for, all where it is empty."""
    own = [study_of(run)] if run else []
    elsewhere = [study_of(one) for one in others.runs]
    limits: list[Limits] = [limits_of(one.header.topology) for one in (run, *others.runs) if one]
    limits += [LIMITS if not number else {} for number in range(len(others.published))]
    limits += [{} for _ in others.machines]
    studies = [*own, *elsewhere, *others.published, *others.machines]
    found = [one for study, by in zip(studies, limits, strict=True) for one in findings(study, by)]
    for study in own:
        for other in studies[1:]:
            found += between_machines(study, other)
    found += paper_findings(others.published)
    left_out = _left_out(run, groups or list(GROUPS)) if run else {}
    remarks = _remarks(run) if run else []
    return StudyView([one for one in studies if one.configurations], found, left_out, remarks)


def _remarks(run: Run) -> list[str]:
    """Say whether STREAM's rule is kept and data survives power loss, and what distorts figures."""
    topology, found = run.header.topology, []
    measured = [m for m in run.measurements if m.status == "measured"]
    sizes = [int(m.pattern["size"]) for m in measured if "size" in m.pattern]
    if topology and sizes:
        cpus = sorted({cpu for m in measured for cpu in m.cpus})
        asked = "--size" in " ".join(run.header.command)
        found.append(sentence(rule_text(topology, cpus, min(sizes), asked)))
    survival: dict[tuple[str, str], dict[str, None]] = {}
    for m in measured:
        if m.evidence and (one := m.evidence.persistent):
            survival.setdefault((one.survives_power_loss, one.why), {})[m.target] = None
    for (survives, why), targets in survival.items():
        found.append(f"{', '.join(targets)}: whether data would survive a loss of power: "
                     f"{survives}. {sentence(why)}")  # fmt: skip
    return [*found, *filter(None, [warnings_line(run)])]


def _left_out(run: Run, groups: Sequence[str]) -> dict[str, list[Absent]]:
    """Return what the machine has no hardware for, and measurements that failed or were skipped."""
    found: list[Absent] = []
    if topology := run.header.topology:
        targets = {m.target for m in run.measurements}
        found += [*absent(topology, groups), *unwritten(topology, groups, targets)]
    for persistent, members in ((True, "1"), (False, "2")):
        without = [
            m for m in run.measurements
            if m.status != "measured" and m.target.startswith(("pmem:", "dax:")) == persistent
        ]  # fmt: skip
        if without:
            text = f"{counted(len(without), 'measurement')} gave no figure: {without[0].reason}"
            cause = without[0].cause or Cause.OTHER
            concerned = [group for group in groups if group.startswith(members)]
            found += [Absent(group, cause, text) for group in concerned if _has_lines(run, group)]
    by_group: dict[str, list[Absent]] = {}
    for one in found:
        by_group.setdefault(one.group, []).append(one)
    return by_group


def _has_lines(run: Run, group: str) -> bool:
    topology = run.header.topology
    return topology is None or bool(lines(topology, [group], ["pool"]))

"""A STREAMer study in the terminal and as JSON, and its pictures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.text import Text

from tierscope.analysis.streamer import GROUPS, Configuration, Point, Study, operations_of
from tierscope.analysis.streamer_words import Finding
from tierscope.model.cause import Cause
from tierscope.report.pictures.picture import Picture
from tierscope.report.pictures.streamer import group_pictures, names_of
from tierscope.report.pictures.streamer_flow import flow_picture
from tierscope.report.style import new_table, note, title

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


@dataclass(frozen=True)
class LeftOut:
    """What a group lacks."""

    text: str
    """Why, and what to do, as a sentence."""
    cause: Cause


@dataclass(frozen=True)
class StudyView:
    """What is shown of a study: one or more machines, and what their figures say."""

    studies: Sequence[Study]
    findings: Sequence[Finding]
    left_out: Mapping[str, Sequence[LeftOut]] = field(default_factory=dict)
    """By group."""
    remarks: Sequence[str] = ()
    """On how this machine's figures were measured."""

    def members(self, group: str) -> list[Configuration]:
        """The configurations of a group, of all machines."""
        return [one for study in self.studies for one in study if one.group == group]

    @property
    def several(self) -> bool:
        """Whether it has several machines."""
        return len(self.studies) > 1

    def groups(self) -> list[str]:
        """The groups that have figures or notes."""
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


@dataclass(frozen=True)
class FigureRow:
    """A configuration at its most threads."""

    name: str
    threads: int
    cells: list[str]
    """GB/s of each operation, with half of the interval where it is known."""


def figure_rows(
    members: Sequence[Configuration], several: bool
) -> tuple[list[str], list[FigureRow]]:
    """Return the operations of some configurations, and a row of each at its most threads."""
    operations = operations_of(members)
    rows = []
    for one, name in zip(members, names_of(members, several), strict=True):
        last = one.threads()[-1]
        points = [one.points.get(operation, {}).get(last) for operation in operations]
        rows.append(FigureRow(name, last, [_cell(point) for point in points]))
    return operations, rows


def _cell(point: Point | None) -> str:
    if point is None:
        return "-"
    half = (point.high - point.low) / 2e9
    return f"{point.value / 1e9:.2f}" + (f" ±{half:.2f}" if half else "")


def show_study(console: Console, view: StudyView) -> None:
    """Print each group's figures, then what they say."""
    for line in view.remarks:
        note(console, line)
    for group in view.groups():
        title(console, f"{group}: {GROUPS[group]}")
        members = view.members(group)
        if members:
            operations, rows = figure_rows(members, view.several)
            table = new_table()
            table.add_column("GB/s", overflow="fold")
            table.add_column("threads", justify="right", no_wrap=True)
            for operation in operations:
                table.add_column(operation.title(), justify="right", no_wrap=True)
            for row in rows:
                table.add_row(row.name, str(row.threads), *row.cells)
            console.print(table)
        for lacking in view.left_out.get(group, ()):
            note(console, lacking.text)
    for topic, found in view.by_topic().items():
        title(console, TOPICS[topic])
        for one in found:
            console.print(Text(said(one, view.several)))


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
                {
                    "topic": one.topic,
                    "machine": one.machine,
                    "text": one.text,
                    "baseline": one.baseline or None,
                    "threads": one.threads,
                    "values": one.values,
                }
                for one in view.findings
            ],
            "remarks": list(view.remarks),
            "left_out": {
                group: [{"cause": one.cause.value, "text": one.text} for one in lacking]
                for group, lacking in view.left_out.items()
            },
        }
    }  # fmt: skip

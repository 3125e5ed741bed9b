"""A STREAMer study on a page: of its own, or as a section of a run's report."""

from dataclasses import dataclass

from markupsafe import Markup

from tierscope.analysis.streamer import GROUPS
from tierscope.report.pictures.draw import svg_for_page
from tierscope.report.pictures.picture import Picture
from tierscope.report.streamer import (
    TOPICS,
    FigureRow,
    StudyView,
    figure_rows,
    pictures_of_group,
    said,
)


@dataclass(frozen=True)
class StudyCard:
    """One picture of a study."""

    id: str
    picture: Picture
    svg: Markup


@dataclass(frozen=True)
class StudyGroup:
    """One group: its pictures and its figures at the most threads."""

    id: str
    title: str
    cards: list[StudyCard]
    notes: list[str]
    operations: list[str]
    rows: list[FigureRow]


@dataclass(frozen=True)
class StudySection:
    """A study as templates get it."""

    id: str
    remarks: list[str]
    groups: list[StudyGroup]
    topics: list[tuple[str, list[str]]]
    """Headings and sentences."""


def study_section(view: StudyView, prefix: str) -> StudySection:
    """Return a study with its pictures drawn; ids begin with ``prefix``."""
    return StudySection(
        id=f"{prefix}-study",
        remarks=list(view.remarks),
        groups=[_group(view, group, prefix) for group in view.groups()],
        topics=[
            (TOPICS[topic], [said(one, view.several) for one in found])
            for topic, found in view.by_topic().items()
        ],
    )


def _group(view: StudyView, group: str, prefix: str) -> StudyGroup:
    members = view.members(group)
    operations, rows = figure_rows(members, view.several) if members else ([], [])
    cards = []
    for picture in pictures_of_group(view, group):
        id_ = f"{prefix}-{picture.key}"
        svg = svg_for_page(picture, id_, f"{id_}-title {id_}-alt")
        cards.append(StudyCard(id_, picture, Markup(svg)))  # noqa: S704  # Vega escapes text in its SVG
    return StudyGroup(
        id=f"{prefix}-study-{group}",
        title=f"{group}: {GROUPS[group]}",
        cards=cards,
        notes=[one.text for one in view.left_out.get(group, ())],
        operations=operations,
        rows=rows,
    )


def render_study(view: StudyView) -> str:
    """Return a page of a study without a run of this machine."""
    from tierscope.report.html.page import template

    machines = ", ".join(study.machine for study in view.studies)
    section = study_section(view, "study")
    return str(template("study.html").render(study=section, machines=machines))

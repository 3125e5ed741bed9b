"""A STREAMer study as a page, or as a section of a run's report."""

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from tierscope.peers.streamer.output import (
    TOPICS,
    StudyView,
    figure_rows,
    pictures_of_group,
    said,
)
from tierscope.peers.streamer.study import GROUPS
from tierscope.report.html.page import Drawn, drawn, template
from tierscope.report.run_view import OwnSection

_TITLE = "STREAMer study"
_PACKAGE = "tierscope.peers.streamer"


@dataclass(frozen=True)
class _Group:
    """One group: its pictures and its figures at the most threads."""

    id: str
    title: str
    cards: list[Drawn]
    notes: list[str]
    rows: list[list[str]]
    """Headings first; empty without figures."""


def study_section(view: StudyView, prefix: str) -> OwnSection:
    """Return a study with its pictures drawn; ids begin with ``prefix``."""
    return _section(view, prefix, list(_groups(view, prefix)))


def render_study(view: StudyView) -> str:
    """Return a page of a study without a run of this machine."""
    groups = list(_groups(view, "study"))
    machines = ", ".join(study.machine for study in view.studies)
    body = _section(view, "study", groups).body
    page = template("study.html", _PACKAGE)
    return str(page.render(body=body, groups=groups, machines=machines))


def _section(view: StudyView, prefix: str, groups: list[_Group]) -> OwnSection:
    topics = [
        (TOPICS[topic], [said(one, view.several) for one in found])
        for topic, found in view.by_topic().items()
    ]
    study = {"id": f"{prefix}-study", "remarks": view.remarks, "groups": groups, "topics": topics}
    body = template("section.html", _PACKAGE).render(study=study, title=_TITLE)
    return OwnSection(f"{prefix}-study", _TITLE, Markup(body))  # noqa: S704  # the template escapes


def _groups(view: StudyView, prefix: str) -> Iterator[_Group]:
    for group in view.groups():
        members = view.members(group)
        yield _Group(
            id=f"{prefix}-study-{group}",
            title=f"{group}: {GROUPS[group]}",
            cards=[drawn(prefix, picture) for picture in pictures_of_group(view, group)],
            notes=[one.text for one in view.left_out.get(group, ())],
            rows=figure_rows(members, view.several) if members else [],
        )

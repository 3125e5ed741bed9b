"""The page of a report, with everything that it needs inside it."""

import base64
import csv
import gzip
import hashlib
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from tierscope.analysis.together import Together
from tierscope.model.endpoint import format_ranges
from tierscope.model.run import Run
from tierscope.model.topology import emulated_parts
from tierscope.report.causes import Missing, missing_by_cause
from tierscope.report.evidence import evidence_line, warnings
from tierscope.report.figures import share_text, size_text
from tierscope.report.html.machine import Machine, machines_of
from tierscope.report.html.rows import MAX_PATHS, FigureTable, PathRow, figure_table, path_rows
from tierscope.report.html.story import TierCard, sign, tier_cards
from tierscope.report.html.study import StudySection, study_section
from tierscope.report.key_figures import key_figures
from tierscope.report.pictures.draw import DARK, LIGHT, svg_for_page
from tierscope.report.pictures.of_run import pictures_beside, pictures_of
from tierscope.report.pictures.picture import Picture
from tierscope.report.sentences import sentences
from tierscope.report.streamer import StudyView
from tierscope.report.together import headings, lines, rows
from tierscope.report.view import (
    KeyFigure,
    Summary,
    Views,
    kinds_in,
    sides_of,
    summaries_of,
    view_of,
)
from tierscope.runs.export import csv_records

MAX_PICTURES = 30
"""Pictures on one page; --svg and --png draw all."""
MAX_OPEN_TIERS = 4
"""Initiators whose tiers are on the first screen."""
_SVG_BYTES = 1_300_000
"""All pictures of a run together, so that its page stays under 3 MB."""
_MAX_MISSING = 20


@dataclass(frozen=True)
class Drawn:
    """One picture on the page."""

    id: str
    picture: Picture
    svg: Markup


@dataclass(frozen=True)
class Card(Drawn):
    """A picture of one run with all that belongs to it."""

    table: FigureTable
    rows: str
    """Numbers of its lines in the page's CSV, as ranges."""
    observed: str
    warnings: list[str]


@dataclass(frozen=True)
class Section:
    """One kind of measurement."""

    id: str
    title: str
    method: str
    cards: Sequence[Drawn]
    summaries: list[Summary]
    """Tables of what its figures come to together."""


@dataclass(frozen=True)
class RunPage:
    """One run on the page."""

    id: str
    name: str
    run: Run
    sentences: list[str]
    keys: list[KeyFigure]
    tiers: list[TierCard]
    open_tiers: int
    """How many of them are on the first screen; the others are folded."""
    paths: list[PathRow]
    paths_left_out: int
    machine: Machine
    sections: list[Section]
    more_pictures: bool
    """Whether the run has more pictures than the page."""
    study: StudySection | None
    """Of a run of ``tierscope streamer``."""
    missing: list[Missing]
    most_missing: int
    """Measurements of one cause that the page names."""
    data: str
    """The run's CSV for the buttons: lines as JSON, gzip, base64."""
    planned: int
    statuses: dict[str, int]
    """How many were measured, skipped, failed."""


def render_report(
    runs: list[tuple[str, Run]],
    views: Views,
    studies: Mapping[str, StudyView] | None = None,
    beside: Sequence[Together] = (),
) -> str:
    """Return the page of one or more runs, each with the name to show.

    ``studies`` are those of ``tierscope streamer``, by their runs' names; ``beside`` are runs of
    several hosts that began together.
    """
    shown = studies or {}
    machines = machines_of([run for _, run in runs])
    pages = [
        _run_page(f"run{number}", name, run, machine, views, shown.get(name))
        for number, ((name, run), machine) in enumerate(zip(runs, machines, strict=True), 1)
    ]
    hosts = ", ".join(dict.fromkeys(page.run.header.host for page in pages))
    return str(
        template("report.html").render(
            pages=pages, title=hosts, together=beside, beside=_beside(runs, views)
        )
    )


def _beside(runs: list[tuple[str, Run]], views: Views) -> list[Section]:
    """Return what kinds show of several runs beside each other; the runs have their own figures."""
    if len(runs) == 1:
        return []
    tables = summaries_of(runs, views)
    return [
        Section(
            f"beside-{kind}",
            f"{views[kind].title}, beside each other",
            views[kind].method,
            [_drawn("beside", picture) for picture in pictures],
            tables.get(kind, []),
        )
        for kind, pictures in pictures_beside(runs, views).items()
    ]


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("tierscope.report.html"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["size"] = size_text
    environment.filters["emulated_parts"] = emulated_parts
    environment.filters["cpus"] = lambda cpus: format_ranges(tuple(sorted(cpus))) or "none"
    environment.filters["share"] = share_text
    environment.filters["when"] = _when
    environment.filters["setting"] = _setting
    environment.filters["count"] = lambda number, name: f"{number} {name}" + "s" * (number != 1)
    environment.filters["fragment"] = _fragment
    environment.globals["sign"] = sign
    environment.globals["together_headings"] = headings
    environment.globals["together_rows"] = rows
    environment.globals["together_lines"] = lines
    environment.globals["asset"] = _asset
    environment.globals["script_hash"] = _script_hash
    environment.globals["colours"] = {"light": LIGHT, "dark": DARK}
    return environment


def _fragment(text: str) -> str:
    """Return text as part of a link within the page, as JavaScript's encodeURIComponent does."""
    return quote(text, safe="!'()*")


def _when(time: str) -> str:
    """Return a file's time as people read it: 2026-01-05 14:03:07 UTC."""
    return time.replace("T", " ").replace("+00:00", " UTC")


def _setting(value: str) -> str:
    """Return a setting's value with its bytes in words: "8388608 bytes" as "8 MiB"."""
    return (
        re.sub(r"\b(\d{4,15})( bytes)?(?= left|,|$)", lambda m: size_text(int(m[1])), value)
        if "bytes" in value
        else value
    )


def template(name: str) -> Any:
    """Return a template by name, with everything that the pages share."""
    return _environment().get_template(name)


def _asset(name: str) -> Markup:
    """Return a style sheet or script of ours as it is."""
    folder = resources.files("tierscope.report.html") / "templates"
    return Markup((folder / name).read_text(encoding="utf-8"))  # noqa: S704  # our own file


def _script_hash(name: str) -> str:
    """Return the hash by which the page's content security policy allows this script only."""
    digest = hashlib.sha256(str(_asset(name)).encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _run_page(
    prefix: str, name: str, run: Run, machine: Machine, views: Views, study: StudyView | None
) -> RunPage:
    lines, numbers = _csv_lines(run)
    # A study has its own pictures of the same figures, whose initiators are hundreds.
    pictures, more = _pictures(run, views) if study is None else ({}, False)
    sections: list[Section] = []
    room = _SVG_BYTES
    for kind, members in pictures.items():
        cards = []
        for picture in members:
            card = _card(prefix, picture, numbers)
            if len(card.svg) > room:
                more = True
                continue
            room -= len(card.svg)
            cards.append(card)
        view = view_of(views, kind)
        if cards:
            tables = view.summaries(sides_of([(name, run)], kind)) if view.summaries else []
            sections.append(Section(f"{prefix}-{kind}", view.title, view.method, cards, tables))
    paths = path_rows(run.measurements, views)
    tiers = tier_cards(prefix, run, views) if study is None else []
    return RunPage(
        id=prefix,
        name=name,
        run=run,
        sentences=sentences(run, views),
        keys=key_figures(run, views),
        tiers=tiers,
        open_tiers=min(MAX_OPEN_TIERS, sum(card.svg is not None for card in tiers)) or 1,
        paths=paths[:MAX_PATHS],
        paths_left_out=max(0, len(paths) - MAX_PATHS),
        machine=machine,
        sections=sections,
        more_pictures=more,
        study=study_section(study, prefix) if study else None,
        missing=missing_by_cause(run.measurements),
        most_missing=_MAX_MISSING,
        data=packed(lines),
        planned=len(run.header.plan.get("measurements", [])),
        statuses={
            status: sum(m.status == status for m in run.measurements)
            for status in ("measured", "imported", "skipped", "failed")
            if status != "imported" or run.header.imported
        },
    )


def _pictures(run: Run, views: Views) -> tuple[dict[str, list[Picture]], bool]:
    """Return each kind's pictures, as many as a page shows, and whether there are more.

    Kinds take turns, so that each has some. Pictures beyond the page's limit are not generated: a
    long run has thousands.
    """
    waiting = {kind: pictures_of(run, kind, views) for kind in kinds_in(run, views)}
    kept: dict[str, list[Picture]] = {kind: [] for kind in waiting}
    room = MAX_PICTURES
    while waiting:
        for kind, pictures in list(waiting.items()):
            picture = next(pictures, None)
            if picture is None:
                del waiting[kind]
            elif not room:
                return kept, True
            else:
                kept[kind].append(picture)
                room -= 1
    return kept, False


def _drawn(prefix: str, picture: Picture) -> Drawn:
    id_ = f"{prefix}-{picture.key}"
    svg = svg_for_page(picture, id_, f"{id_}-title {id_}-alt")
    return Drawn(id_, picture, Markup(svg))  # noqa: S704  # Vega escapes text in its SVG


def _card(prefix: str, picture: Picture, numbers: dict[str, int]) -> Card:
    drawn = _drawn(prefix, picture)
    lines = sorted({numbers[m.id] for m in picture.measurements if m.id in numbers})
    return Card(
        id=drawn.id,
        picture=picture,
        svg=drawn.svg,
        table=figure_table(picture.measurements),
        rows=format_ranges(tuple(lines)),
        observed=evidence_line(picture.measurements),
        warnings=warnings(picture.measurements),
    )


def _csv_lines(run: Run) -> tuple[list[str], dict[str, int]]:
    """Return the run's CSV line by line, heading first, and each measurement's line number."""
    lines = [csv_line([str(cell) for cell in record]) for record in csv_records(run)]
    return lines, {m.id: number for number, m in enumerate(run.measurements, start=1)}


def csv_line(record: list[str]) -> str:
    """Return one line of CSV, safe in a spreadsheet."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(map(harmless, record))
    return text.getvalue()


def harmless(cell: str) -> str:
    """Keep spreadsheets from taking text for a formula; numbers stay numbers."""
    if not cell.startswith(("=", "+", "-", "@", "\t", "\r")):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def packed(lines: object) -> str:
    """Return lines, or other data, for the page's script: JSON, gzip, base64.

    Nothing in it can end the script.
    """
    content = json.dumps(lines, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return base64.b64encode(gzip.compress(content, 6, mtime=0)).decode("ascii")

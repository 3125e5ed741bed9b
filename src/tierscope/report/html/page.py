"""The page of a report: one or more runs, each with its tiers, paths, machine and pictures."""

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any
from urllib.parse import quote

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape

from tierscope.analysis.best import best_of_path
from tierscope.analysis.concurrent import Together
from tierscope.model.endpoint import format_ranges
from tierscope.model.errors import counted
from tierscope.model.event import Evidence
from tierscope.model.run import Measurement, Run, lower_is_better
from tierscope.model.text import brief, csv_text
from tierscope.model.topology import emulated_parts
from tierscope.report import figures
from tierscope.report.best import best_to
from tierscope.report.drawing import draw
from tierscope.report.evidence import by_node, evidence_line, warnings, with_counts
from tierscope.report.figures import share_text, size_text
from tierscope.report.fleet import side_by_side
from tierscope.report.naming import Missing, legal_text, missing_by_cause, no_interval_text, path_of
from tierscope.report.pictures.draw import DARK, LIGHT, svg_for_page
from tierscope.report.pictures.of_run import pictures_beside, pictures_of
from tierscope.report.pictures.picture import (
    Picture,
    groups_by,
    label_of,
    varying,
    words_of,
)
from tierscope.report.pictures.tier_map import COLOURS, SHAPES, tier_maps
from tierscope.report.run_view import Beside, MakeSection, OwnSection
from tierscope.report.summary import key_figures, sentences
from tierscope.report.tiers import TierRow, tier_rows, tiers_of
from tierscope.report.view import (
    KeyFigure,
    Summary,
    Views,
    kinds_in,
    sides_of,
    summaries_of,
    view_of,
)
from tierscope.report.watch import lacking_lines
from tierscope.runs.export import csv_records

_OURS = "tierscope.report.html"
_SIGNS = {
    "circle": "M7 1.5a5.5 5.5 0 1 0 .01 0Z",
    "square": "M2 2h10v10H2Z",
    "triangle-up": "M7 1 13 12H1Z",
    "triangle-down": "M7 13 1 2h12Z",
    "triangle-right": "M13 7 2 13V1Z",
    "triangle-left": "M1 7 12 1v12Z",
    "diamond": "M7 0l5 7-5 7-5-7Z",
    "cross": "M5 1h4v4h4v4H9v4H5V9H1V5h4Z",
}
"""The marks of the map as paths of 14 by 14 pixels."""
_SMALLEST, _LARGEST = 0.75, 1.35
"""How far the drawing may shrink, with legible text, before it scrolls, and how far it may grow."""
MAX_PATHS = 200
MAX_FIGURES = 40
_TOLD = ("operation", "order", "engine", "memory", "way", "size", "access_size", "threads",
         "pages", "transfers", "beside")  # fmt: skip
"""Properties that a row says of its path's best."""
_APART = {
    False: ("operation", "way", "transfers", "beside"),
    True: ("order", "pages", "way", "transfers"),
}
"""Properties that have rows of their own, of rates and of times."""
_STOPS = {
    "precision": "precision reached",
    "budget": "time budget spent",
    "rounds": "all rounds made",
    "interrupted": "interrupted",
    "written": "all of it written",
    "steady": "steady state reached",
}
_SHOWN = {"pages", "cpus", "cpus_seen", "page_bytes", "threads", "clock", "notes", "region_bytes",
          "counters", "lacking"}  # fmt: skip
MAX_PICTURES = 30
"""Pictures on one page; --svg and --png draw all."""
MAX_OPEN_TIERS = 4
"""Initiators whose tiers are on the first screen."""
_SVG_BYTES = 1_300_000
"""All pictures of a run together, so that its page stays under 3 MB."""
_MAX_MISSING = 20


@dataclass(frozen=True)
class TierCard:
    """The tiers of one initiator on the page."""

    id: str
    initiator: str
    drawn: "Drawn | None"
    """The map; None where fewer than two tiers have both a latency and a bandwidth."""
    rows: list[TierRow]


def tier_cards(prefix: str, run: Run, views: Views) -> list[TierCard]:
    """Return a card for each initiator that has several tiers, those with a map first."""
    maps = {picture.measurements[0].id: picture for picture in tier_maps(run, views)}
    cards = []
    for number, (initiator, tiers) in enumerate(tiers_of(run, views).items(), 1):
        id_ = f"{prefix}-tiers{number}"
        first = next((t.latency.id for t in tiers if t.latency and t.bandwidth), "")
        picture = drawn_as(id_, maps[first]) if first in maps else None
        cards.append(TierCard(id_, initiator, picture, tier_rows(tiers)))
    return sorted(cards, key=lambda card: card.drawn is None)


def sign(medium: str) -> Markup:
    """Return the mark of a medium as the map has it, to stand in a table."""
    return Markup(
        '<svg class="sign" viewBox="0 0 14 14" aria-hidden="true">'
        '<path fill="var(--{})" d="{}"/></svg>'
    ).format(COLOURS[medium], _SIGNS[SHAPES[medium]])


@dataclass(frozen=True)
class Machine:
    """The machine of a run on the page. Runs of one machine share a drawing and settings."""

    topology: Markup | None
    """The drawing; None where the run does not know its topology, or an earlier run has it."""
    drawn_in: int | None
    """Number of the run with the drawing, from 1, where an earlier run has it."""
    set_in: int | None
    """Number of an earlier run with the same machine and settings, from 1."""


def machines_of(runs: list[Run]) -> list[Machine]:
    """Return the machine of each run; the first of one machine's runs has the drawing."""
    keys = [_key_of(run) for run in runs]
    settings = [(key, _settings_of(run)) for key, run in zip(keys, runs, strict=True)]
    found = []
    for number, (run, key, setting) in enumerate(zip(runs, keys, settings, strict=True)):
        drawn, same = keys.index(key), settings.index(setting)
        alike = [other for other, its in zip(runs, keys, strict=True) if its == key]
        found.append(
            Machine(
                topology=machine_drawing(run, alike) if drawn == number else None,
                drawn_in=drawn + 1 if drawn < number and run.header.topology else None,
                set_in=same + 1 if same < number else None,
            )
        )
    return found


def _key_of(run: Run) -> str:
    """Return what tells a machine from others: all but what changes while it runs."""
    summary = {key: value for key, value in run.header.machine.items() if key != "nodes"}
    nodes = [
        {key: value for key, value in node.items() if key != "free_bytes"}
        for node in run.header.machine["nodes"]
    ]
    known = run.header.topology is not None
    return json.dumps([run.header.host, summary, nodes, known], sort_keys=True)


def _settings_of(run: Run) -> list[tuple[str, str]]:
    return [(key, value) for key, value in run.header.environment.items() if key != "load"]


def machine_drawing(run: Run, alike: list[Run]) -> Markup | None:
    """Return the drawing as an image, with the best of all runs of the machine; None where the run
    does not know its topology.

    It is an image because the drawing's style rules would otherwise hold for the whole page; it
    follows the page's light or dark theme by itself.
    """
    topology = run.header.topology
    if topology is None:
        return None
    measured = best_to(*alike)
    text = legal_text(draw(topology, measured, headed=False))
    width = float(text.partition('viewBox="0 0 ')[2].partition(" ")[0])
    svg = base64.b64encode(text.encode()).decode("ascii")
    said = (
        "; ".join(f"{name}: {rate} {origin}" for name, (rate, origin) in measured.items())
        or "nothing measured"
    )
    return Markup(
        '<img class="machine-drawing" style="min-width: {:.0f}px; max-width: {:.0f}px" alt="{}" '
        'src="data:image/svg+xml;base64,{}">'
    ).format(
        width * _SMALLEST,
        width * _LARGEST,
        escape(
            f"The machine's packages, nodes and devices, with the best bandwidth to each. {said}"
        ),
        svg,
    )


@dataclass(frozen=True)
class PathRow:
    """One line of the table of paths."""

    path: str
    what: str
    estimate: str
    interval: str
    unit: str
    limit: str
    link: str
    formula: str
    efficiency: float | None
    rate: bool
    """Whether it has a limit at all; a time has none."""


def path_rows(measurements: list[Measurement], views: Views) -> list[PathRow]:
    """Return the best of each path, kind and operation; paths in order of appearance.

    Of latencies the one of the largest working set stands for its path: it is the memory's.
    """
    measured = [m for m in measurements if m.has_figure and view_of(views, m.kind).represents_path]
    rows = []
    for (_, kind, *_), group in _grouped(measured).items():
        if lower_is_better(group[0]):
            size = max(float(m.pattern.get("size", 0)) for m in group)
            group = [m for m in group if float(m.pattern.get("size", 0)) == size]
        rows.append(_path_row(best_of_path(group), kind))
    return rows


def _grouped(measured: list[Measurement]) -> dict[tuple[str, ...], list[Measurement]]:
    groups: dict[tuple[str, ...], list[Measurement]] = {}
    for (path,), members in groups_by(measured, "path").items():
        for m in members:
            apart = (str(m.pattern.get(key, "")) for key in _APART[lower_is_better(m)])
            key = (path, m.kind, str(m.metric), *apart)
            groups.setdefault(key, []).append(m)
    return groups


def _path_row(best: Measurement, kind: str) -> PathRow:
    unit, factor = figures.common_scale([best])
    estimate, interval = figures.parts(best, factor)
    details = [
        label_of(key, best.pattern[key], best.kind)
        for key in _TOLD
        if best.pattern.get(key) not in (None, "", "sequential")
        and (key != "size" or lower_is_better(best))
        and (key != "access_size" or best.pattern.get("order") not in (None, "sequential"))
    ]
    return PathRow(
        path=path_of(best),
        what=", ".join([kind, *details]),
        estimate=estimate + figures.mark(best),
        interval=interval,
        unit=unit,
        limit=figures.limit_text(best.limit) if best.limit else "",
        link=best.limit.link if best.limit else "",
        formula=f"{best.limit.formula} ({best.limit.source})" if best.limit else "",
        efficiency=best.efficiency,
        rate=best.unit == "B/s",
    )


@dataclass(frozen=True)
class FigureRow:
    """One measurement in a picture's table."""

    what: str
    estimate: str
    interval: str
    samples: str
    cpus: str
    pages: str
    more: str


@dataclass(frozen=True)
class FigureTable:
    """A picture's figures with what was observed."""

    unit: str
    rows: list[FigureRow]
    left_out: int


def figure_table(measurements: list[Measurement]) -> FigureTable:
    """Return a picture's figures and their evidence, at most MAX_FIGURES of them."""
    names = varying(measurements)
    unit, factor = figures.common_scale(measurements)
    shown = measurements[:MAX_FIGURES]
    rows = [_figure_row(m, names, factor) for m in shown]
    return FigureTable(unit, rows, len(measurements) - len(shown))


def _figure_row(measurement: Measurement, names: list[str], factor: float) -> FigureRow:
    estimate, interval = figures.parts(measurement, factor)
    evidence = measurement.evidence or Evidence()
    return FigureRow(
        what=words_of(measurement, names) or path_of(measurement),
        estimate=estimate + figures.mark(measurement),
        interval=no_interval_text(measurement) or interval,
        samples=_samples(measurement),
        cpus=_cpus(evidence) or "–",
        pages=by_node(evidence.pages) or "–",
        more="; ".join(_more(evidence)) or "–",
    )


def _samples(measurement: Measurement) -> str:
    if measurement.status == "imported":
        return "imported"
    return f"{measurement.n}, {_STOPS.get(measurement.stop or '', '')}"


def _cpus(evidence: Evidence) -> str:
    """Return the CPUs that threads were seen on."""
    seen = evidence.cpus_seen or [evidence.cpus or []]
    return format_ranges(tuple(sorted({cpu for cpus in seen for cpu in cpus})))


def _more(evidence: Evidence) -> list[str]:
    """Everything else that was observed, whichever fields a kind has."""
    values = evidence.model_dump(mode="json", exclude_none=True)
    parts = []
    for key, value in values.items():
        if key in _SHOWN or value in (0, "", [], {}):
            continue
        name = key.replace("_", " ")
        if key == "traffic":
            parts.append(f"traffic {by_node(value)}")
        elif key.endswith("_bytes") and isinstance(value, int | float):
            parts.append(f"{name.removesuffix(' bytes')} {figures.size_text(value)}")
        elif isinstance(value, float):
            parts.append(f"{name} {brief(value, 4)}")
        elif isinstance(value, str | int):
            parts.append(f"{name} {value}")
        else:
            parts.append(f"{name} {_short(str(value))}")
    lines = [*with_counts([evidence]), *lacking_lines(evidence.lacking or [])]
    return [*parts, *lines, *map(str, evidence.notes or [])]


def _short(text: str) -> str:
    return text if len(text) <= 160 else f"{text[:157]}..."


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
    own: OwnSection | None
    """Stands in place of pictures and tiers."""
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
    own: Mapping[str, MakeSection] | None = None,
    beside: Sequence[Together] = (),
    published: Mapping[str, Beside] | None = None,
) -> str:
    """Return the page of one or more runs, each with the name to show.

    ``own`` are sections that stand in place of a run's pictures and tiers, by the runs' names;
    ``beside`` are runs of several hosts that began together; ``published`` are published figures
    that runs are shown beside, by the runs' names.
    """
    sections, others = own or {}, published or {}
    machines = machines_of([run for _, run in runs])
    pages = [
        _run_page(f"run{number}", (name, run), machine, views, sections.get(name), others.get(name))
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
            [drawn("beside", picture) for picture in pictures],
            tables.get(kind, []),
        )
        for kind, pictures in pictures_beside(runs, views).items()
    ]


def _legal(value: Any) -> Any:
    """Return a value as a page may show it; markup is made of legal text."""
    return legal_text(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def _environment(package: str) -> Environment:
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(name) for name in dict.fromkeys((package, _OURS))]),
        autoescape=select_autoescape(default=True, default_for_string=True),
        finalize=_legal,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "size": size_text,
        "emulated_parts": emulated_parts,
        "cpus": lambda cpus: format_ranges(tuple(sorted(cpus))) or "none",
        "share": share_text,
        "when": _when,
        "setting": _setting,
        "count": counted,
        "fragment": _fragment,
    }
    environment.globals |= {
        "sign": sign,
        "side_by_side": side_by_side,
        "asset": _asset,
        "script_hash": _script_hash,
        "colours": {"light": LIGHT, "dark": DARK},
    }
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


def template(name: str, package: str = _OURS) -> Any:
    """Return a template of a package by name, with everything that the pages share."""
    return _environment(package).get_template(name)


def _asset(name: str) -> Markup:
    """Return a style sheet or script of ours as it is."""
    folder = resources.files(_OURS) / "templates"
    return Markup((folder / name).read_text(encoding="utf-8"))  # noqa: S704  # our own file


def _script_hash(name: str) -> str:
    """Return the hash by which the page's content security policy allows this script only."""
    digest = hashlib.sha256(str(_asset(name)).encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _run_page(
    prefix: str,
    named: tuple[str, Run],
    machine: Machine,
    views: Views,
    own: MakeSection | None,
    published: Beside | None,
) -> RunPage:
    name, run = named
    lines, numbers = _csv_lines(run)
    # Of a run with a section of its own, initiators may be hundreds.
    pictures, more = _pictures(run, views) if own is None else ({}, False)
    sections: list[Section] = []
    if published:
        id_, title, method = f"{prefix}-published", published.title, published.method
        shown = [_card(prefix, picture, numbers) for picture in published.pictures()]
        sections.append(Section(id_, title, method, [], [published.summary]))
        if shown:
            sections.append(Section(f"{id_}-maps", f"{title}: maps", method, shown, []))
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
    tiers = tier_cards(prefix, run, views) if own is None else []
    return RunPage(
        id=prefix,
        name=name,
        run=run,
        sentences=sentences(run, views),
        keys=key_figures(run, views),
        tiers=tiers,
        open_tiers=min(MAX_OPEN_TIERS, sum(card.drawn is not None for card in tiers)) or 1,
        paths=paths[:MAX_PATHS],
        paths_left_out=max(0, len(paths) - MAX_PATHS),
        machine=machine,
        sections=sections,
        more_pictures=more,
        own=own(prefix) if own else None,
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


def drawn(prefix: str, picture: Picture) -> Drawn:
    """Draw a picture for the page; its id begins with ``prefix``."""
    return drawn_as(f"{prefix}-{picture.key}", picture)


def drawn_as(id_: str, picture: Picture) -> Drawn:
    """Draw a picture for the page under this id."""
    svg = svg_for_page(picture, id_, f"{id_}-title {id_}-alt")
    return Drawn(id_, picture, Markup(svg))  # noqa: S704  # Vega escapes text in its SVG


def _card(prefix: str, picture: Picture, numbers: dict[str, int]) -> Card:
    plain = drawn(prefix, picture)
    lines = sorted({numbers[m.id] for m in picture.measurements if m.id in numbers})
    return Card(
        id=plain.id,
        picture=picture,
        svg=plain.svg,
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
    return csv_text([record]).rstrip("\n")


def packed(lines: object) -> str:
    """Return lines, or other data, for the page's script: JSON, gzip, base64.

    Nothing in it can end the script.
    """
    content = json.dumps(lines, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return base64.b64encode(gzip.compress(content, 6, mtime=0)).decode("ascii")

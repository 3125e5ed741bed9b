"""Contents of a fleet's report, read from the tables that ``tierscope fleet gather`` makes.

Tables are read column by column, so thousands of hosts take megabytes.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tierscope.analysis.expect import OF_LIMIT, Rule, check
from tierscope.analysis.outliers import MINIMUM, MOST
from tierscope.fleet.index import read_index
from tierscope.fleet.outliers import MODEL, group_hosts, outliers_of
from tierscope.fleet.show import uneven_text, unjudged_text
from tierscope.fleet.tables import is_url, name_of, open_fleet
from tierscope.fleet.together import together_in
from tierscope.model.base import RECORDED
from tierscope.model.errors import UserError, shown
from tierscope.model.run import Figure, Measurement
from tierscope.report.fleet import (
    FleetHostRow,
    FleetPath,
    FleetView,
    Golden,
    natural,
)
from tierscope.runs.query import system_cause
from tierscope.runs.read import read_run

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_AT_ONCE = 50_000
"""Rows in memory while figures are read."""
_KEY = "kind, initiator, target, pattern"
_SHOWN = "(figure = 0 OR compared)"
_HOSTS = """
    SELECT h.host, state, reason, run, rack, switch, facts, grp
    FROM hosts h LEFT JOIN grouped g ON h.host = g.host
"""
_PATHS = f"""
    SELECT {_KEY}, any_value(id), max(metric), max(part), max(unit), median(estimate)
    FROM figures WHERE {_SHOWN} GROUP BY {_KEY} ORDER BY min(number), min(figure), {_KEY}
"""  # noqa: S608 - constants
_FIGURES = f"""
    SELECT host, {_KEY}, status, reason, estimate, ci_low, ci_high, limit_value
    FROM figures WHERE {_SHOWN}
"""  # noqa: S608 - constants
_NO_MODEL = "not known, since nothing was measured"


def read_view(
    place: str,
    rules: Sequence[Rule] = (),
    by: str = MODEL,
    groups: Mapping[str, str] | None = None,
    minimum: float = MINIMUM,
    most: float = MOST,
) -> FleetView:
    """Return the contents of a gathered fleet's report.

    ``place`` is its folder, or the URL of its tables; ``rules`` are golden values, of a folder;
    ``by``, ``groups``, ``minimum`` and ``most`` are those of ``outliers_of``.
    Raises UserError where the folder has no tables, or damaged ones.
    """
    import duckdb

    try:
        database = open_fleet(place)
        group_hosts(database, by, groups)
        hosts = _hosts(database)
        paths = _paths(database, hosts)
        verdict = outliers_of(place, by, groups, minimum, most=most)
    except duckdb.Error as error:
        raise UserError(
            f"the tables in '{shown(place)}' cannot be read: {system_cause(error)}; "
            "make them again with 'tierscope fleet gather'"
        ) from None
    emulated = database.execute("SELECT count(*) FROM hosts WHERE emulated").fetchone()
    index = None if is_url(place) else read_index(Path(place))
    golden, remarks = _golden(Path(place), hosts, rules)
    if emulated and emulated[0]:
        remarks.insert(0, f"{emulated[0]} of {len(hosts)} hosts are emulated; their figures show "
                       "that measuring works, not how fast anything is.")  # fmt: skip
    said = [unjudged_text(*one) for one in verdict.unjudged.items()]
    said += map(uneven_text, verdict.uneven)
    remarks += [f"{one[0].upper()}{one[1:]}." for one in said]
    paths = [_with_golden(path, golden) for path in paths]
    return FleetView(
        name=index.plan if index else shown(name_of(place)),
        started=index.started if index else "",
        command=index.command if index else (),
        hosts=hosts,
        paths=paths,
        outliers=verdict.outliers,
        remarks=remarks,
        together=together_in(place),
    )


def _hosts(database: "DuckDBPyConnection") -> list[FleetHostRow]:
    rows = database.execute(_HOSTS).fetchall()
    return [_host(*row) for row in sorted(rows, key=lambda row: natural(row[0]))]


def _host(
    name: str, state: str, reason: str | None, run: str | None, rack: str | None,
    switch: str | None, facts: Mapping[str, str] | None, group: str | None,
) -> FleetHostRow:  # fmt: skip
    places = {key: value for key, value in (("rack", rack), ("switch", switch)) if value}
    return FleetHostRow(
        name, state, reason or "", run or "", group or _NO_MODEL, {**places, **(facts or {})}
    )


def _as_text(pattern: dict[str, Any]) -> str:
    return json.dumps(pattern, sort_keys=True)


def _paths(database: "DuckDBPyConnection", hosts: list[FleetHostRow]) -> list[FleetPath]:
    """Return each measurement over all hosts, in the plan's order."""
    found: dict[tuple[str, ...], FleetPath] = {}
    for *key, id_, metric, part, unit, value in database.execute(_PATHS).fetchall():
        kind, initiator, target, pattern = key
        fields = {"metric": metric, "part": part, "unit": unit, "estimate": value}
        figures = [Figure.model_validate(fields, context=RECORDED)] if metric else []
        measurement = Measurement(
            id=id_, kind=kind, initiator=initiator, target=target, cpus=[],
            pattern=json.loads(pattern), status="measured", figures=figures,
        )  # fmt: skip
        found[tuple(key)] = FleetPath.empty(measurement, len(hosts))
    numbers = {host.name: number for number, host in enumerate(hosts)}
    cursor = database.execute(_FIGURES)
    while rows := cursor.fetchmany(_AT_ONCE):
        for host, *key, status, reason, value, low, high, limit in rows:
            path, number = found[tuple(key)], numbers[host]
            if value is None:
                path.missing[number] = (status, reason or "")
                continue
            path.values[number], path.lows[number], path.highs[number] = value, low, high
            path.limits[number] = limit
    return list(found.values())


def _golden(
    folder: Path, hosts: Iterable[FleetHostRow], rules: Sequence[Rule]
) -> tuple[dict[tuple[str, str], tuple[Rule, str]], list[str]]:
    """Return the rule of each figure, by its measurement's id and its pattern, by one host of each
    group.

    Which figure stands for its path depends on the figures, so a run decides.
    """
    found: dict[tuple[str, str], tuple[Rule, str]] = {}
    remarks: list[str] = []
    groups: dict[str, FleetHostRow] = {}
    for host in hosts:
        if host.run and host.state == "measured":
            groups.setdefault(host.group, host)
    by_text = {rule.text: rule for rule in rules}
    for host in groups.values() if rules else ():
        try:
            run = read_run(folder / host.run)
        except UserError as error:
            remarks.append(f"Golden values are not shown for {host.group}: {error}")
            continue
        for finding in check(run, list(rules)):
            if finding.id:
                key = finding.id, _as_text(finding.pattern)
                found.setdefault(key, (by_text[finding.rule], finding.rule))
    return found, remarks


def _with_golden(path: FleetPath, golden: dict[tuple[str, str], tuple[Rule, str]]) -> FleetPath:
    """Return a path with its golden value; a rule about limits refers to the lowest limit."""
    key = path.measurement.id, _as_text(path.measurement.pattern)
    if key not in golden:
        return path
    rule, text = golden[key]
    bound = rule.bound
    if rule.unit == OF_LIMIT:
        limits = [limit for limit in path.limits if limit is not None]
        if not limits:
            return path
        bound *= min(limits)
    elif rule.unit != path.measurement.unit:
        return path
    return replace(path, golden=Golden(text, rule.comparison, bound))

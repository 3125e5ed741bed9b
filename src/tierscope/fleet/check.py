"""Whether a fleet is accepted: every host measured, like the others, and up to golden values."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tierscope.analysis.expect import Finding, check
from tierscope.analysis.outliers import Outlier, Verdict
from tierscope.analysis.rules import Rule
from tierscope.fleet.at_once import together_in
from tierscope.fleet.index_file import INDEX
from tierscope.fleet.nodelist import compress
from tierscope.fleet.rows import run_files_below
from tierscope.fleet.tables import COLUMNS, open_fleet
from tierscope.model.base import Count, Model
from tierscope.model.fleet import HostState
from tierscope.model.together import TogetherFigure
from tierscope.runs.read import read_run

if TYPE_CHECKING:
    from tierscope.fleet.rows import Told

_MEASURED = "measured"


class HostOf(Model):
    """A host as the tables have it."""

    host: str
    state: HostState
    reason: str
    run: str
    """Relative to the fleet's folder; empty where there is none."""
    emulated: bool | None


class Unmet(Model):
    """A golden value that a host does not meet."""

    host: str
    finding: Finding


class Drain(Model):
    """Hosts to take out of service for one reason."""

    hosts: str
    """As Slurm writes lists: node[001-003,7]."""
    reason: str


class FleetCheck(Model):
    """What checking a fleet found."""

    hosts: Count
    unmeasured: list[HostOf]
    """Hosts without all of their figures, and why."""
    verdict: Verdict
    rules: Count
    """Golden values that each host has to meet."""
    unmet: list[Unmet]
    emulated: Count
    """Hosts whose figures mean nothing."""
    together: list[TogetherFigure]
    """What hosts moved together; no part of what is accepted."""

    @property
    def accepted(self) -> bool:
        """Whether nothing is wrong with any host."""
        return not (self.unmeasured or self.verdict.outliers or self.unmet)

    def drain(self) -> list[Drain]:
        """Return the hosts that something is wrong with, those of one reason together."""
        reasons: dict[str, str] = {}
        for one in self.unmeasured:
            reasons.setdefault(one.host, f"tierscope: {one.state}")
        for outlier in self.verdict.outliers:
            reasons.setdefault(outlier.host, f"tierscope: slow {_said(outlier)}")
        for unmet in self.unmet:
            reasons.setdefault(unmet.host, f"tierscope: golden value {unmet.finding.name}")
        found: dict[str, list[str]] = {}
        for host, reason in reasons.items():
            found.setdefault(reason, []).append(host)
        return [Drain(hosts=compress(hosts), reason=reason) for reason, hosts in found.items()]


def _said(outlier: Outlier) -> str:
    """Without numbers, so that hosts of one defect share a reason."""
    worst = outlier.worst
    several = outlier.together or len(outlier.paths) > 1
    where = "several paths" if several else f"{worst.initiator} -> {worst.target} {worst.kind}"
    return f"on {where}{f'; {outlier.causes[0]}' if outlier.causes else ''}"


def is_stale(folder: Path) -> bool:
    """Return whether a fleet's tables are missing, or older than what they are made of."""
    tables = [folder / f"{name}.parquet" for name in COLUMNS]
    if not all(path.is_file() for path in tables):
        return True
    made = min(path.stat().st_mtime_ns for path in tables)
    index = folder / INDEX
    sources = [*run_files_below(folder), *([str(index)] if index.is_file() else [])]
    return any(os.stat(path).st_mtime_ns > made for path in sources)  # noqa: PTH116


def hosts_of(place: str) -> list[HostOf]:
    """Return the hosts of a gathered fleet, by name."""
    fields = ", ".join(HostOf.model_fields)
    rows = open_fleet(place).execute(f"SELECT {fields} FROM hosts ORDER BY host")  # noqa: S608
    names = list(HostOf.model_fields)
    return [
        HostOf(
            **{**dict(zip(names, row, strict=True)), "reason": row[2] or "", "run": row[3] or ""}
        )
        for row in rows.fetchall()
    ]


def check_fleet(
    place: str, verdict: Verdict, rules: list[Rule], told: "Told" = lambda _done, _all: None
) -> FleetCheck:
    """Check a gathered fleet; golden values are compared run file by run file."""
    hosts = hosts_of(place)
    unmet = []
    for number, host in enumerate(hosts if rules else ()):
        told(number, len(hosts))
        if host.run:
            found = check(read_run(Path(place) / host.run), rules)
            unmet += [Unmet(host=host.host, finding=one) for one in found if not one.passed]
    return FleetCheck(
        hosts=len(hosts),
        unmeasured=[host for host in hosts if host.state != _MEASURED],
        verdict=verdict,
        rules=len(rules),
        unmet=unmet,
        emulated=sum(bool(host.emulated) for host in hosts),
        together=together_in(place),
    )

"""Acceptance of a fleet: every host is measured, like the others, and meets golden values."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tierscope.analysis.expect import Finding, Rule, check
from tierscope.analysis.outliers import MOST, Outlier, Verdict
from tierscope.analysis.scatter import allowed
from tierscope.fleet.groups import compress
from tierscope.fleet.index import INDEX
from tierscope.fleet.rows import run_files_below
from tierscope.fleet.tables import COLUMNS, open_fleet, records
from tierscope.fleet.together import together_in
from tierscope.model.base import Count, Model
from tierscope.model.errors import UserError
from tierscope.model.fleet import HostState
from tierscope.model.outlier import TogetherFigure
from tierscope.runs.read import read_run

if TYPE_CHECKING:
    from tierscope.fleet.rows import Told

_MEASURED = "measured"
_HOSTS = """
    SELECT host, state, coalesce(reason, '') AS reason, coalesce(run, '') AS run, emulated
    FROM hosts ORDER BY host
"""


class HostOf(Model):
    """A host, from the tables."""

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
    """Hosts to take out of service, or to leave in it, for one reason."""

    hosts: str
    """As Slurm writes lists: node[001-003,7]."""
    reason: str


class FleetCheck(Model):
    """Result of checking a fleet."""

    hosts: Count
    unmeasured: list[HostOf]
    """Hosts without all of their figures, with reasons."""
    verdict: Verdict
    most_drained: float
    """Share of the hosts that may be drained."""
    rules: Count
    """Number of golden values that each host has to meet."""
    unmet: list[Unmet]
    """Only what is missed is a reason to drain the host."""
    emulated: Count
    """Hosts that are emulated, so their figures mean nothing."""
    together: list[TogetherFigure]
    """Combined figures of hosts in step; acceptance does not depend on them."""

    @property
    def accepted(self) -> bool:
        """Whether nothing is wrong with any host, and none could be overlooked: each was compared
        with its group, or has golden values to meet."""
        verdict = self.verdict
        unjudged = verdict.unjudged and not self.rules
        return not (self.unmeasured or verdict.outliers or verdict.uneven or self.unmet or unjudged)

    @property
    def defective(self) -> bool:
        """Whether a host's figure is too slow beyond its interval."""
        return bool(self._reasons())

    def drain(self) -> list[Drain]:
        """Return the hosts of which a figure is too slow beyond its interval, by reason; none where
        they are more than may be drained."""
        return [] if self.withheld() else _by_reason(self._reasons())

    def withheld(self) -> str:
        """Return why no host is drained though figures are too slow; empty: there is no reason."""
        count = len(self._reasons())
        if count <= allowed(self.hosts, self.most_drained):
            return ""
        return (
            f"nothing is drained: {count} of {self.hosts} hosts are slower or miss golden values, "
            f"more than --most-drained {self.most_drained:.0%}: the fleet is not homogeneous, or "
            "the golden values do not fit it"
        )

    def inconclusive(self) -> list[Drain]:
        """Return the hosts that are not accepted but not drained either, grouped by reason."""
        drained = self._reasons()
        doubts = {one.host: f"not judged: {one.state}: {one.reason}" for one in self.unmeasured}
        for outlier in self.verdict.outliers:
            if outlier.doubt:
                doubts.setdefault(outlier.host, f"slow {_said(outlier)}: {outlier.doubt}")
        for unmet in self.unmet:
            said = f"golden value {unmet.finding.name}: {unmet.finding.verdict}"
            doubts.setdefault(unmet.host, said)
        return _by_reason({host: why for host, why in doubts.items() if host not in drained})

    def _reasons(self) -> dict[str, str]:
        """Return the hosts to drain, with reasons."""
        reasons: dict[str, str] = {}
        for outlier in self.verdict.outliers:
            if not outlier.doubt:
                reasons.setdefault(outlier.host, f"tierscope: slow {_said(outlier)}")
        for unmet in self.unmet:
            if unmet.finding.verdict == "missed":
                reasons.setdefault(unmet.host, f"tierscope: golden value {unmet.finding.name}")
        return reasons


def _by_reason(reasons: dict[str, str]) -> list[Drain]:
    found: dict[str, list[str]] = {}
    for host, reason in reasons.items():
        found.setdefault(reason, []).append(host)
    return [Drain(hosts=compress(hosts), reason=reason) for reason, hosts in found.items()]


def _said(outlier: Outlier) -> str:
    """Return the reason without numbers, so that hosts with the same defect share it."""
    worst = outlier.worst
    several = outlier.together or len(outlier.paths) > 1
    where = "several paths" if several else f"{worst.initiator} -> {worst.target} {worst.kind}"
    return f"on {where}{f'; {outlier.causes[0]}' if outlier.causes else ''}"


def is_stale(folder: Path) -> bool:
    """Return whether a fleet's tables are missing, or older than their sources."""
    tables = [folder / f"{name}.parquet" for name in COLUMNS]
    if not all(path.is_file() for path in tables):
        return True
    made = min(path.stat().st_mtime_ns for path in tables)
    index = folder / INDEX
    sources = [*run_files_below(folder), *([str(index)] if index.is_file() else [])]
    return any(os.stat(path).st_mtime_ns > made for path in sources)  # noqa: PTH116


def hosts_of(place: str) -> list[HostOf]:
    """Return the hosts of a gathered fleet, by name."""
    return [HostOf.model_validate(row) for row in records(open_fleet(place), _HOSTS)]


def check_fleet(
    place: str,
    verdict: Verdict,
    rules: list[Rule],
    most_drained: float = MOST,
    told: "Told" = lambda _done, _all: None,
) -> FleetCheck:
    """Check a gathered fleet; golden values are compared run file by run file.

    Raises UserError with file, line and text of a rule that matches nothing on any host: that is a
    mistake of the file, for which no host is to be drained.
    """
    hosts = hosts_of(place)
    unmet = []
    matched: set[tuple[str, str]] = set()
    for number, host in enumerate(hosts if rules else ()):
        told(number, len(hosts))
        if not host.run:
            continue
        try:
            run = read_run(Path(place) / host.run)
        except UserError as error:  # damaged, or of a later version: no defect of the host
            if host.state == _MEASURED:
                unread = {"state": "failed", "reason": str(error)}
                hosts[number] = host.model_copy(update=unread)
            continue
        found = check(run, rules)
        matched |= {(one.where, one.rule) for one in found if one.path}
        unmet += [Unmet(host=host.host, finding=one) for one in found if one.verdict != "met"]
    _refuse_unmatched(unmet, matched, {one.host for one in hosts if one.state == _MEASURED})
    return FleetCheck(
        hosts=len(hosts),
        unmeasured=[host for host in hosts if host.state != _MEASURED],
        verdict=verdict,
        most_drained=most_drained,
        rules=len(rules),
        unmet=unmet,
        emulated=sum(bool(host.emulated) for host in hosts),
        together=together_in(place),
    )


def _refuse_unmatched(unmet: list[Unmet], matched: set[tuple[str, str]], whole: set[str]) -> None:
    """Raise UserError for a rule that matches nothing on any host, one of them measured whole."""
    for host, one in ((one.host, one.finding) for one in unmet):
        if host in whole and (one.where, one.rule) not in matched:
            raise UserError(
                f"{one.where}: rule '{one.rule}' matches no figure of any host; "
                f"of {host}: {one.said}"
            )

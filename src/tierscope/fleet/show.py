"""Results of gathering and checking a fleet: tables, JUnit XML, commands that drain hosts."""

import shlex

from rich.console import Console

from tierscope.analysis.outliers import MIN_HOSTS, Outlier, SlowPath
from tierscope.fleet.check import Drain, FleetCheck
from tierscope.fleet.gather import Gathered
from tierscope.fleet.groups import compress
from tierscope.model.base import RECORDED
from tierscope.model.errors import counted
from tierscope.model.outlier import Detectable, Path, Uneven
from tierscope.model.run import Figure
from tierscope.report import figures
from tierscope.report.compare import percent_text
from tierscope.report.fleet import show_shared
from tierscope.report.junit import Case, junit_xml
from tierscope.report.pictures.picture import label_of
from tierscope.report.style import new_table, note, title

_MOST = 50
"""Rows of a table; --json has all."""
_MOST_WORDS = 4
_TELLING = ("operation", "mix", "threads", "size", "block_size", "depth", "load_threads", "order")
"""Properties of a pattern that are named first."""
UNKNOWN = "unknown"


def show_gathered(console: Console, found: Gathered) -> None:
    """Print the summary of the tables."""
    states = ", ".join(f"{count} {state}" for state, count in found.states.items())
    show_shared(console, found.together)
    console.print(f"{counted(found.hosts, 'host')}: {states}; {counted(found.figures, 'figure')}")


def show_check(console: Console, found: FleetCheck) -> None:
    """Print the defects of a fleet's hosts."""
    if found.unmeasured:
        title(console, "Not measured in full")
        headings = ("hosts", "state", "reason")
        table = new_table(*headings, words=headings)
        reasons: dict[tuple[str, str], list[str]] = {}
        for host in found.unmeasured:
            reasons.setdefault((host.state, host.reason), []).append(host.host)
        for (state, reason), hosts in reasons.items():
            table.add_row(compress(hosts), state, reason)
        console.print(table)
    if found.verdict.outliers:
        _show_outliers(console, found.verdict.outliers)
    if found.unmet:
        _show_unmet(console, found)
    show_shared(console, found.together)
    _show_summary(console, found)


def _show_outliers(console: Console, outliers: list[Outlier]) -> None:
    title(console, "Slower than their group")
    words = ("host", "path", "likely cause")
    table = new_table("host", "path", "figure", "against group", "q", "likely cause", words=words)
    for one in outliers[:_MOST]:
        worst = one.worst
        table.add_row(
            one.host,
            _path_text(one),
            figure_text(worst),
            deviation_text(worst),
            f"{one.q:.1g}",
            "; ".join(one.causes) or UNKNOWN,
        )
    console.print(table)
    if len(outliers) > _MOST:
        note(console, f"and {counted(len(outliers) - _MOST, 'more host')}; --json has all")
    note(
        console,
        "against group: figure / median - 1, with its 95% interval; q: share of false alarms "
        "among hosts at least as sure",
    )


def deviation_text(path: SlowPath) -> str:
    """Return ``-3.1% (-3.4 to -2.8)``."""
    return percent_text(1 + path.deviation, 1 + path.low, 1 + path.high)


def figure_text(path: SlowPath) -> str:
    """Return a slow path's figure with its unit."""
    unit, factor = figures.scale_of(path.unit, [path.figure])
    one = Figure.model_validate(
        {"metric": path.metric, "unit": path.unit, "estimate": path.figure,
         "ci_low": path.centre * (1 + path.low), "ci_high": path.centre * (1 + path.high)},
        context=RECORDED,
    )  # fmt: skip
    return f"{figures.plain(one, factor)} {unit}"


def _outlier_text(one: Outlier) -> str:
    cause = "; ".join(one.causes) or UNKNOWN
    return f"{_path_text(one)}: {deviation_text(one.worst)}; likely cause: {cause}"


def unjudged_text(group: str, hosts: int) -> str:
    """Return the sentence that a group has too few hosts to be compared, and what to do instead."""
    return (
        f"not compared: {counted(hosts, 'host')} of {group}; with fewer than {MIN_HOSTS} alike, "
        "half the speed would not stand out; give --expect rules that 'tierscope check --learn' "
        "makes of earlier runs"
    )


def uneven_text(one: Uneven) -> str:
    """Return the sentence that a group is not homogeneous."""
    more = f", and it is uneven on {counted(one.paths - 1, 'more path')}" if one.paths > 1 else ""
    return (
        f"{one.group} is not homogeneous: {one.hosts} of its {one.group_hosts} hosts are slower "
        f"than the others, by {one.slower:.1%} (their median) on {_measured_text(one)}{more}; "
        "--by compares hosts of one rack, switch or group"
    )


def detectable_text(losses: list[Detectable]) -> str:
    """Return the sentence on the smallest losses that would have been named, by path."""
    usual = losses[len(losses) // 2]
    of_half = f"{usual.slower:.1%} on half of the paths, at most " if len(losses) > 1 else ""
    return (
        "smallest loss on one path alone for which a host would have been named: "
        f"{of_half}{losses[0].slower:.1%} ({_measured_text(losses[0])})"
    )


def _measured_text(one: Path) -> str:
    keys = [*(key for key in _TELLING if key in one.pattern), *one.pattern]
    words = [
        label_of(key, one.pattern[key], one.kind)
        for key in dict.fromkeys(keys)
        if one.pattern[key] not in (None, "")
    ]
    return f"{one.path} {one.kind}: {', '.join(words[:_MOST_WORDS])}"


def _path_text(one: Outlier) -> str:
    said = _measured_text(one.worst)
    if one.together:
        return f"all {one.judged} paths together by {one.slower:.1%}; most surely {said}"
    more = len(one.paths) - 1
    return f"{said}{f'; and {more} more of {one.judged} paths' if more else ''}"


def _show_unmet(console: Console, found: FleetCheck) -> None:
    title(console, "Golden values that are not met")
    headings = ("rule", "verdict", "hosts", "path", "first of them")
    table = new_table(*headings, words=headings)
    rules: dict[tuple[str, str, str], list[tuple[str, str]]] = {}
    for one in sorted(found.unmet, key=lambda one: one.finding.verdict != "missed"):
        key = one.finding.name, one.finding.verdict, one.finding.path
        rules.setdefault(key, []).append((one.host, one.finding.said))
    for (name, verdict, path), members in list(rules.items())[:_MOST]:
        hosts = compress(host for host, _ in members)
        table.add_row(name, verdict, hosts, path, members[0][1])
    console.print(table)


def _show_summary(console: Console, found: FleetCheck) -> None:
    verdict = found.verdict
    console.print()
    for name, size in verdict.unjudged.items():
        note(console, unjudged_text(name, size))
    if found.emulated:
        note(console, f"{counted(found.emulated, 'host')} emulated: their figures mean nothing")
    for uneven in verdict.uneven:
        note(console, uneven_text(uneven))
    if verdict.detectable:
        note(console, detectable_text(verdict.detectable))
    if found.inconclusive():
        note(console, inconclusive_line(found.inconclusive()))
    slow = len(verdict.outliers)
    missed = {one.host for one in found.unmet if one.finding.verdict == "missed"}
    unknown = {one.host for one in found.unmet} - missed
    golden = [f"{len(missed)} not up to golden values"]
    golden += [f"{len(unknown)} inconclusive"] if unknown else []
    parts = [
        f"{counted(found.hosts, 'host')}, {verdict.judged} compared",
        f"{slow} slower than their group",
        *(golden if found.rules else []),
        f"{len(found.unmeasured)} not measured in full",
    ]
    console.print("; ".join(parts))


def drain_lines(found: FleetCheck) -> list[str]:
    """Return Slurm commands that take hosts out of service, to be run by the reader."""
    return [
        "scontrol update "
        + " ".join(
            [
                shlex.quote(f"NodeName={_plain(one.hosts)}"),
                "State=DRAIN",
                shlex.quote(f"Reason={_plain(one.reason)}"),
            ]
        )
        for one in found.drain()
    ]


def inconclusive_line(doubtful: list[Drain]) -> str:
    """Return one line that names the hosts that are not drained, since they may be good."""
    hosts = "; ".join(f"{_plain(one.hosts)} ({_plain(one.reason)})" for one in doubtful)
    return f"inconclusive or not judged, not drained: {hosts}"


def _plain(text: str) -> str:
    """Replace characters that control terminals or end Slurm's values: anyone chooses names."""
    return "".join(sign if sign.isprintable() and sign not in "\"'\\`$" else "?" for sign in text)


def check_xml(found: FleetCheck, name: str) -> str:
    """Return JUnit XML: a test case for each thing that is wrong with a host, and for the rest one
    of all hosts that were compared, one of all that were measured, one a golden value."""
    cases = []
    for host in found.unmeasured:
        said = f"{host.state}: {host.reason}"
        cases.append(Case("measured", host.host, said, error=said))
    for outlier in found.verdict.outliers:
        said = _outlier_text(outlier)
        cases.append(Case("like its group", outlier.host, said, failure=said))
    for uneven in found.verdict.uneven:
        said = uneven_text(uneven)
        cases.append(Case("like its group", uneven.group, said, error=said))
    for unmet in found.unmet:
        one = unmet.finding
        said = f"{one.path} {one.said}"
        missed, doubtful = (said, None) if one.verdict == "missed" else (None, said)
        cases.append(Case(f"golden value {one.name}", unmet.host, said, missed, doubtful))
    passed = [
        ("measured", counted(found.hosts - len(found.unmeasured), "host")),
        ("like its group", counted(found.verdict.judged - len(found.verdict.outliers), "host")),
    ]
    if found.rules:
        good = found.hosts - len({one.host for one in found.unmet})
        said = f"{counted(found.rules, 'rule')} met by {counted(good, 'host')}"
        passed.append(("golden values", said))
    return junit_xml(f"fleet {name}", [*cases, *(Case(*one) for one in passed)])

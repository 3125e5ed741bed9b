"""What is printed and written of a checked fleet: from findings that are made."""

import io
import xml.etree.ElementTree as ElementTree

import pytest
from rich.console import Console
from tests.fleet.test_drain_reasons import PATH, checked, slow

from tierscope.analysis.expect import Finding
from tierscope.fleet.check import FleetCheck, HostOf, Unmet
from tierscope.fleet.gather import Gathered
from tierscope.fleet.show import (
    check_xml,
    detectable_text,
    deviation_text,
    drain_lines,
    figure_text,
    show_check,
    show_gathered,
    uneven_text,
    unjudged_text,
)
from tierscope.model.outlier import Detectable, Outlier, Uneven, Verdict

PATTERN = {"colour": "red", "isa": None, "order": "random", "mix": "", "shade": "dark",
           "operation": "read", "depth": 8}  # fmt: skip
NAMED = "operation read, depth 8, order random, colour red"
"""Of a kind that nobody knows, so that each property is called by its name."""
OF_KIND = {"kind": "k", "pattern": PATTERN}


def printed(found: FleetCheck | Gathered) -> list[str]:
    """Lines on a wide terminal, of one space between words."""
    file = io.StringIO()
    console = Console(file=file, width=300)
    if isinstance(found, Gathered):
        show_gathered(console, found)
    else:
        show_check(console, found)
    lines = [" ".join(line.split()) for line in file.getvalue().splitlines()]
    return [line for line in lines if line.strip("─ ")]


def lost(host: str, reason: str, state: str = "lost") -> HostOf:
    return HostOf.model_validate(
        {"host": host, "state": state, "reason": reason, "run": "", "emulated": None}
    )


def golden(host: str, verdict: str, said: str, name: str = "rate") -> Unmet:
    finding = Finding.model_validate(
        {"name": name, "rule": "r", "where": "w", "path": "node:0 → node:1", "verdict": verdict,
         "said": said}
    )  # fmt: skip
    return Unmet(host=host, finding=finding)


def uneven(paths: int = 1) -> Uneven:
    one = {**PATH, **OF_KIND, "group": "g", "hosts": 9, "group_hosts": 20}
    return Uneven.model_validate({**one, "slower": 0.1234, "paths": paths})


def detectable(slower: float) -> Detectable:
    return Detectable.model_validate({**PATH, **OF_KIND, "slower": slower})


def with_pattern(one: Outlier) -> Outlier:
    paths = [path.model_copy(update=OF_KIND) for path in one.paths]
    return one.model_copy(update={"paths": paths})


@pytest.mark.parametrize(
    ("hosts", "states", "said"),
    [(3, {"measured": 2, "lost": 1}, "3 hosts: 2 measured, 1 lost; 16 figures"),
     (1, {"measured": 1}, "1 host: 1 measured; 16 figures")],
)  # fmt: skip
def test_what_was_gathered(hosts: int, states: dict[str, int], said: str) -> None:
    found = Gathered(
        hosts=hosts, figures=16, states=states, unreadable=[], older=[], together=[]
    )  # fmt: skip
    assert printed(found) == [said]


def test_hosts_that_were_not_measured_share_a_row_by_state_and_reason() -> None:
    found = checked(
        unmeasured=[lost("n1", "a"), lost("n2", "b"), lost("n3", "a"), lost("n4", "a", "failed")]
    )
    *rows, doubts, summary = printed(found)
    assert rows == [
        "Not measured in full", "hosts state reason", "n[1,3] lost a", "n2 lost b", "n4 failed a"
    ]  # fmt: skip
    assert doubts == (
        "inconclusive or not judged, not drained: n[1,3] (not judged: lost: a); n2 (not judged: "
        "lost: b); n4 (not judged: failed: a)"
    )
    assert summary == "100 hosts, 100 compared; 0 slower than their group; 4 not measured in full"


def test_slow_hosts_have_a_row_with_path_figure_and_cause() -> None:
    """90 GB/s of 100, -11 to -9%: the interval is worth one decimal."""
    found = checked(
        with_pattern(slow("n1")), with_pattern(slow("n2", 3, causes=["a", "b"], q=0.012)),
        with_pattern(slow("n3", together=True, slower=0.0461)),
    )  # fmt: skip
    found = found.model_copy(update={"verdict": _in_gigabytes(found)})
    title, heading, *rows, about, _ = printed(found)
    assert title == "Slower than their group"
    assert heading == "host path figure against group q likely cause"
    change = "90.0 GB/s -10.0% (-11.0 to -9.0)"
    figure = f"node:0 → node:1 k: {NAMED}"
    together = "all 8 paths together by 4.6%; most surely"
    assert rows == [
        f"n1 {figure} {change} 1e-06 unknown",
        f"n2 {figure}; and 2 more of 8 paths {change} 0.01 a; b",
        f"n3 {together} {figure} {change} 1e-06 unknown",
    ]
    assert about.startswith("against group: figure / median - 1, with its 95% interval; q: share")


def _in_gigabytes(found: FleetCheck) -> Verdict:
    outliers = []
    for one in found.verdict.outliers:
        paths = [
            path.model_copy(update={"figure": 90e9, "centre": 100e9}) for path in one.paths
        ]  # fmt: skip
        outliers.append(one.model_copy(update={"paths": paths}))
    return found.verdict.model_copy(update={"outliers": outliers})


@pytest.mark.parametrize(
    ("hosts", "more"),
    [(50, []), (51, ["and 1 more host; --json has all"]),
     (53, ["and 3 more hosts; --json has all"])],
)  # fmt: skip
def test_at_most_fifty_slow_hosts_are_listed(hosts: int, more: list[str]) -> None:
    lines = printed(checked(*(slow(f"n{number}") for number in range(hosts)), hosts=1000))
    assert sum(" unknown" in line for line in lines) == 50
    assert [line for line in lines if line.startswith("and ")] == more
    assert lines[-1].startswith(f"1000 hosts, 1000 compared; {hosts} slower than their group; ")


def test_golden_values_by_rule_and_verdict_the_missed_ones_first() -> None:
    found = checked(
        unmet=[golden("n1", "inconclusive", "a"), golden("n2", "missed", "b"),
               golden("n3", "inconclusive", "c"), golden("n2", "missed", "d", "other"),
               golden("n4", "missed", "e")],
        rules=2,
    )  # fmt: skip
    title, heading, *rows, _, summary = printed(found)
    assert (title, heading) == (
        "Golden values that are not met", "rule verdict hosts path first of them"
    )  # fmt: skip
    assert rows == [
        "rate missed n[2,4] node:0 → node:1 b",
        "other missed n2 node:0 → node:1 d",
        "rate inconclusive n[1,3] node:0 → node:1 a",
    ]
    assert summary == (
        "100 hosts, 100 compared; 0 slower than their group; 2 not up to golden values; "
        "2 inconclusive; 0 not measured in full"
    )


def test_at_most_fifty_golden_values_are_listed() -> None:
    found = checked(unmet=[golden("n", "missed", "x", f"rule{n}") for n in range(60)], rules=60)
    assert sum(line.startswith("rule") for line in printed(found)) == 1 + 50


def test_a_host_that_misses_one_value_and_may_meet_another_counts_once() -> None:
    found = checked(unmet=[golden("n1", "missed", "a"), golden("n1", "inconclusive", "b", "other")],
                    rules=2)  # fmt: skip
    assert printed(found)[-1] == (
        "100 hosts, 100 compared; 0 slower than their group; 1 not up to golden values; "
        "0 not measured in full"
    )


def test_remarks_stand_before_the_summary() -> None:
    found = checked(unjudged={"g": 3}, uneven=[uneven()], emulated=1, hosts=1)
    verdict = found.verdict.model_copy(update={"detectable": [detectable(0.05)]})
    found = found.model_copy(update={"verdict": verdict})
    assert printed(found) == [
        unjudged_text("g", 3), "1 host emulated: their figures mean nothing",
        uneven_text(uneven()), detectable_text([detectable(0.05)]),
        "1 host, 1 compared; 0 slower than their group; 0 not measured in full",
    ]  # fmt: skip


def test_a_small_group_and_what_to_do_instead() -> None:
    said = unjudged_text("g", 1)
    assert said.startswith("not compared: 1 host of g; with fewer than 5 alike, half the speed")
    assert said.endswith("give --expect rules that 'tierscope check --learn' makes of earlier runs")


@pytest.mark.parametrize(
    ("paths", "more"),
    [(1, ""), (2, ", and it is uneven on 1 more path"), (4, ", and it is uneven on 3 more paths")],
)
def test_a_group_that_is_not_homogeneous(paths: int, more: str) -> None:
    assert uneven_text(uneven(paths)) == (
        "g is not homogeneous: 9 of its 20 hosts are slower than the others, by 12.3% (their "
        f"median) on node:0 → node:1 k: {NAMED}{more}; --by compares hosts of one rack, "
        "switch or group"
    )


@pytest.mark.parametrize(
    ("losses", "said"),
    [
        ([0.1], "10.0%"),
        ([0.2, 0.1], "10.0% on half of the paths, at most 20.0%"),
        ([0.3, 0.2, 0.1], "20.0% on half of the paths, at most 30.0%"),
        ([0.4, 0.3, 0.2, 0.1], "20.0% on half of the paths, at most 40.0%"),
    ],
)
def test_the_smallest_losses_that_would_have_shown(losses: list[float], said: str) -> None:
    others = [detectable(one).model_copy(update={"kind": "other"}) for one in losses[1:]]
    assert detectable_text([detectable(losses[0]), *others]) == (
        "smallest loss on one path alone for which a host would have been named: "
        f"{said} (node:0 → node:1 k: {NAMED})"
    )


def test_a_time_is_shown_in_its_unit() -> None:
    (path,) = slow("n1").paths
    times = {"metric": "latency", "unit": "ns", "figure": 120.0, "centre": 100.0,
             "deviation": 0.2, "low": 0.15, "high": 0.25}  # fmt: skip
    path = path.model_copy(update=times)
    assert figure_text(path) == "120 ns"
    assert deviation_text(path) == "+20.0% (+15.0 to +25.0)"


def test_a_command_drains_all_hosts_of_a_reason() -> None:
    found = checked(slow("n1"), slow("n2"), slow("n`3", causes=["it's $x \\ \"\x1b"]))
    reason = "tierscope: slow on node:0 -> node:1 bandwidth"
    assert drain_lines(found) == [
        f"scontrol update 'NodeName=n[1-2]' State=DRAIN 'Reason={reason}'",
        f"scontrol update 'NodeName=n?3' State=DRAIN 'Reason={reason}; it?s ?x ? ??'",
    ]


def cases_of(found: FleetCheck) -> list[tuple[str | None, str | None, str | None, str | None]]:
    """Class, name, outcome and what is said of each test case."""
    cases = []
    for case in ElementTree.fromstring(check_xml(found, "f")).iter("testcase"):
        outcome = next(iter(case), None)
        tag, text = (None, None) if outcome is None else (outcome.tag, outcome.text)
        cases.append((case.get("classname"), case.get("name"), tag, text))
    return cases


def test_each_defect_is_a_case_and_what_is_well_is_counted() -> None:
    found = checked(
        with_pattern(slow("n1", causes=["a"])), unmeasured=[lost("n2", "why")], hosts=4, rules=1,
        uneven=[uneven()], unmet=[golden("n3", "missed", "b"), golden("n1", "inconclusive", "c")],
    )  # fmt: skip
    assert cases_of(found) == [
        ("measured", "n2", "error", "lost: why"),
        ("like its group", "n1", "failure",
         f"node:0 → node:1 k: {NAMED}: -10.0% (-11.0 to -9.0); likely cause: a"),
        ("like its group", "g", "error", uneven_text(uneven())),
        ("golden value rate", "n3", "failure", "node:0 → node:1 b"),
        ("golden value rate", "n1", "error", "node:0 → node:1 c"),
        ("measured", "3 hosts", None, None),
        ("like its group", "3 hosts", None, None),
        ("golden values", "1 rule met by 2 hosts", None, None),
    ]  # fmt: skip


def test_a_fleet_that_is_well_has_the_counts_only() -> None:
    assert cases_of(checked(hosts=1)) == [
        ("measured", "1 host", None, None), ("like its group", "1 host", None, None)
    ]  # fmt: skip
    suite = ElementTree.fromstring(check_xml(checked(), "f")).find("testsuite")
    assert suite is not None
    assert suite.get("name") == "tierscope fleet f"

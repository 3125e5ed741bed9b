"""Golden values held against the run files of a gathered fleet."""

import random
from pathlib import Path

import pytest
from tests import synthetic
from tests.fleet import made

from tierscope.analysis.expect import Rule, parse_rule
from tierscope.fleet.check import FleetCheck, check_fleet, hosts_of
from tierscope.fleet.gather import gather
from tierscope.kinds.vocabulary import vocabulary
from tierscope.model.errors import UserError
from tierscope.model.fleet import FleetHost, FleetIndex
from tierscope.model.outlier import Verdict

NONE = Verdict(outliers=[], judged=0, unjudged={})


def rules(*texts: str) -> list[Rule]:
    return [parse_rule(text, vocabulary(), f"golden.yaml:{n}", f"rule {n}")
            for n, text in enumerate(texts, start=1)]  # fmt: skip


LOCAL = "node:0 -> node:0 read: >= 200 GB/s"
REMOTE = "node:0 -> node:1 read: >= 100 GB/s"
FAR = "node:0 -> node:7 read: >= 1 GB/s"


def fleet(folder: Path, figures: dict[int, int], index: bool = False) -> str:
    """Hosts that read 250 GB/s of node 0 and, where they have three figures, 120 GB/s of node 1."""
    for number, count in figures.items():
        found = made.measurements(random.Random(number), figures=count)
        whole = count == max(figures.values())
        made.write(folder, made.run_of(number, found, finished=whole, emulated=number == 2))
    if index:
        hosts = [
            FleetHost(host=made.name_of(9), state="lost", reason="gone"),
            *(FleetHost(host=made.name_of(number), state="measured") for number in figures),
        ]
        whole_index = FleetIndex(started="2026-01-05T14:00:00+00:00", hosts=hosts)
        (folder / "fleet.json").write_text(whole_index.model_dump_json())
    gather(folder, folder)
    return str(folder)


def unmet(found: FleetCheck) -> list[tuple[str, str, str]]:
    return [(one.host, one.finding.name, one.finding.verdict) for one in found.unmet]


def test_what_is_met_is_no_finding_and_hosts_are_by_name(tmp_path: Path) -> None:
    place = fleet(tmp_path, {2: 3, 1: 3, 0: 3})
    told: list[tuple[int, int]] = []
    found = check_fleet(
        place, NONE, rules(LOCAL, REMOTE), 0.2, lambda done, of: told.append((done, of))
    )
    assert (found.hosts, found.rules, found.emulated, found.unmet) == (3, 2, 1, [])
    assert (found.most_drained, found.verdict, found.unmeasured) == (0.2, NONE, [])
    assert told == [(0, 3), (1, 3), (2, 3)]
    assert [host.host for host in hosts_of(place)] == [made.name_of(number) for number in range(3)]
    missed = check_fleet(place, NONE, rules("node:0 -> node:1 read: >= 200 GB/s", LOCAL))
    assert unmet(missed) == [(made.name_of(number), "rule 1", "missed") for number in range(3)]
    assert missed.most_drained == 0.05


def test_without_rules_no_run_file_is_read(tmp_path: Path) -> None:
    place = fleet(tmp_path, {0: 1, 1: 1})
    (tmp_path / "hosts" / f"{made.name_of(0)}.jsonl").unlink()
    told: list[object] = []
    found = check_fleet(place, NONE, [], told=lambda *numbers: told.append(numbers))
    assert (found.unmeasured, found.unmet, told) == ([], [], [])


def test_a_host_without_a_run_file_leaves_those_after_it(tmp_path: Path) -> None:
    place = fleet(tmp_path, {8: 3, 10: 3}, index=True)
    found = check_fleet(place, NONE, rules("node:0 -> node:0 read: >= 300 GB/s"))
    assert unmet(found) == [(made.name_of(number), "rule 1", "missed") for number in (8, 10)]
    assert [(host.host, host.state) for host in found.unmeasured] == [(made.name_of(9), "lost")]


@pytest.mark.parametrize(("cut", "state"), [(False, "failed"), (True, "partial")])
def test_a_run_file_damaged_since_is_no_defect_and_leaves_others(
    tmp_path: Path, cut: bool, state: str
) -> None:
    """What the tables say of a host that was not measured whole stays."""
    place = fleet(tmp_path, {0: 2 if cut else 3, 1: 3, 2: 3})
    (tmp_path / "hosts" / f"{made.name_of(0)}.jsonl").write_text("damaged\n")
    found = check_fleet(place, NONE, rules(LOCAL))
    (one,) = found.unmeasured
    assert (one.host, one.state, found.unmet, found.hosts) == (made.name_of(0), state, [], 3)
    assert ("is not a tierscope run file" in one.reason) is not cut


@pytest.mark.parametrize("whole", [True, False])
def test_a_rule_that_matches_no_host_is_refused_where_one_was_measured_whole(
    tmp_path: Path, whole: bool
) -> None:
    found = made.measurements(random.Random(1), figures=1)
    made.write(tmp_path, made.run_of(0, found, finished=whole))
    gather(tmp_path, tmp_path)
    said = ""
    try:
        checked = check_fleet(str(tmp_path), NONE, rules(LOCAL, FAR))
        assert unmet(checked) == [(made.name_of(0), "rule 2", "not measured")]
    except UserError as error:
        said = str(error)
    start = "golden.yaml:2: rule 'node:0 -> node:7 read: >= 1 GB/s' matches no figure of any host"
    assert said.startswith(f"{start}; of node00000: ") if whole else said == ""


def test_a_rule_that_one_host_has_a_figure_for_is_none_s_mistake(tmp_path: Path) -> None:
    """The one that has it may be cut, the one that lacks it is whole."""
    two, three = (made.measurements(random.Random(1), figures=n) for n in (2, 3))
    made.write(tmp_path, made.run_of(0, two))
    made.write(tmp_path, made.run_of(1, three, finished=False))
    gather(tmp_path, tmp_path)
    found = check_fleet(str(tmp_path), NONE, rules(REMOTE))
    assert unmet(found) == [(made.name_of(0), "rule 1", "not measured")]


def test_hosts_of_tables_without_reason_and_run_have_empty_ones(tmp_path: Path) -> None:
    made.index(tmp_path, 1)
    gather(tmp_path, tmp_path)
    (host,) = hosts_of(str(tmp_path))
    assert (host.reason, host.run, host.emulated) == ("its run file is missing", "", None)
    synthetic.write(made.run_of(0, []), tmp_path / "a.jsonl")
    gather(tmp_path, tmp_path)
    assert [one.emulated for one in hosts_of(str(tmp_path))] == [False]

"""Fleets that are too small to compare, and both commands' share of hosts that may be slow."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.fleet import made

from tierscope.cli.app import app


def do(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(one) for one in arguments], standalone_mode=False)


def test_four_hosts_are_not_compared_and_the_check_says_what_to_do(tmp_path: Path) -> None:
    made.fleet(tmp_path / "fleet", 4, slow=[2], by=0.5)
    said = " ".join(do("fleet", "check", tmp_path / "fleet").stdout.split())
    assert "not compared: 4 hosts of " in said
    assert "give --expect rules that 'tierscope check --learn' makes of earlier runs" in said
    assert "4 hosts, 0 compared; 0 slower than their group" in said


def test_a_small_fleet_is_held_to_rules_that_earlier_runs_taught(tmp_path: Path) -> None:
    """The same four hosts of a night before, all of them well, and one at half speed today."""
    before, now, rules = tmp_path / "before", tmp_path / "now", tmp_path / "golden.yaml"
    made.fleet(before, 4)
    made.fleet(now, 4, slow=[2], by=0.5)
    learned = do("check", "--learn", *sorted((before / "hosts").glob("*.jsonl")), "-o", rules)
    assert learned.exception is None
    assert do("fleet", "check", before, "--expect", rules).return_value in (0, None)
    assert do("fleet", "check", now, "--expect", rules).return_value == 1
    drained = do("fleet", "check", now, "--expect", rules, "--drain").stdout
    assert drained.count("\n") >= 1
    assert made.name_of(2) in drained
    assert not any(made.name_of(number) in drained for number in (0, 1, 3))


@pytest.mark.parametrize(("most", "slow"), [("20%", 0), ("30%", 10)])
def test_a_report_names_as_many_as_the_check(tmp_path: Path, most: str, slow: int) -> None:
    made.fleet(tmp_path, 40, slow=range(30, 40))
    page = tmp_path / "page.html"
    done = do("fleet", "report", tmp_path, "--most-drained", most, "-o", page, "--json")
    assert len(json.loads(done.stdout)["slow"]) == slow
    checked = do("fleet", "check", tmp_path, "--most-drained", most, "--json")
    found = json.loads(checked.stdout)["verdict"]["outliers"]
    assert [one["host"] for one in found] == json.loads(done.stdout)["slow"]
    assert ("is not homogeneous" in page.read_text()) is (slow == 0)


@pytest.mark.parametrize("command", ["check", "report"])
def test_a_share_that_is_none_is_refused_by_both(command: str, tmp_path: Path) -> None:
    made.fleet(tmp_path, 5)
    done = do("fleet", command, tmp_path, "--most-drained", "150%")
    assert "--most-drained" in str(done.exception)

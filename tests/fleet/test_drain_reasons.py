"""What is said of hosts to be drained, and which are: from findings that are made."""

import os
from pathlib import Path

import pytest

from tierscope.analysis.expect import Finding
from tierscope.fleet.check import FleetCheck, HostOf, Unmet, is_stale
from tierscope.fleet.index import INDEX
from tierscope.fleet.tables import COLUMNS
from tierscope.model.outlier import Outlier, SlowPath, Uneven, Verdict

PATH = {"kind": "bandwidth", "initiator": "node:0", "target": "node:1", "pattern": {},
        "metric": "bandwidth", "unit": "B/s"}  # fmt: skip


def slow(host: str, paths: int = 1, **more: object) -> Outlier:
    numbers = {"figure": 90.0, "centre": 100.0, "deviation": -0.1, "low": -0.11, "high": -0.09}
    found = [SlowPath(**{**PATH, "target": f"node:{n + 1}"}, **numbers, p=1e-9)  # type: ignore[arg-type]
             for n in range(paths)]  # fmt: skip
    values = {"group": "g", "group_hosts": 100, "q": 1e-6, "judged": 8, "together": False,
              "slower": 0.1, "paths": found}  # fmt: skip
    return Outlier(host=host, **{**values, **more})  # type: ignore[arg-type]


def unmet(host: str, verdict: str, name: str = "rate") -> Unmet:
    finding = Finding.model_construct(name=name, verdict=verdict)
    return Unmet.model_construct(host=host, finding=finding)


def checked(*outliers: Outlier, hosts: int = 100, most: float = 0.05, **more: object) -> FleetCheck:
    verdict = Verdict(outliers=list(outliers), judged=hosts, unjudged=more.pop("unjudged", {}),  # type: ignore[arg-type]
                      uneven=more.pop("uneven", []))  # type: ignore[arg-type]  # fmt: skip
    values = {"unmeasured": [], "rules": 0, "unmet": [], "emulated": 0, "together": [], **more}
    return FleetCheck.model_construct(hosts=hosts, verdict=verdict, most_drained=most, **values)


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (slow("n1"), "tierscope: slow on node:0 -> node:1 bandwidth"),
        (slow("n1", causes=["a", "b"]), "tierscope: slow on node:0 -> node:1 bandwidth; a"),
        (slow("n1", 2), "tierscope: slow on several paths"),
        (slow("n1", together=True, causes=["a"]), "tierscope: slow on several paths; a"),
    ],
)
def test_the_reason_is_the_path_and_the_first_cause(one: Outlier, reason: str) -> None:
    assert [(d.hosts, d.reason) for d in checked(one).drain()] == [("n1", reason)]
    assert not checked(one).accepted
    assert checked(one).defective


def test_hosts_with_the_same_reason_share_a_line() -> None:
    found = checked(slow("n1"), slow("n2"), slow("n4", 2), slow("n3"))
    assert [d.hosts for d in found.drain()] == ["n[1-3]", "n4"]


@pytest.mark.parametrize(
    ("hosts", "count", "drained"),
    [(100, 5, True), (100, 6, False), (4, 1, True), (4, 2, False), (39, 2, False)],
)
def test_more_than_a_share_of_all_hosts_are_not_drained(
    hosts: int, count: int, drained: bool
) -> None:
    found = checked(*(slow(f"n{n}") for n in range(count)), hosts=hosts)
    assert bool(found.drain()) is drained
    assert bool(found.withheld()) is not drained
    if not drained:
        assert f"{count} of {hosts} hosts" in found.withheld()
        assert "more than --most-drained 5%" in found.withheld()


def test_what_is_in_doubt_is_named_and_not_drained() -> None:
    doubtful = slow("n2", doubt="other programs disturbed it")
    found = checked(
        slow("n1"), doubtful, unmet=[unmet("n3", "inconclusive"), unmet("n1", "missed")]
    )
    assert [d.hosts for d in found.drain()] == ["n1"]
    kept = {d.hosts: d.reason for d in found.inconclusive()}
    assert set(kept) == {"n2", "n3"}
    assert kept["n2"].endswith("other programs disturbed it")
    assert kept["n3"] == "golden value rate: inconclusive"
    assert not checked(doubtful).defective
    assert not checked(doubtful).accepted


def test_what_is_missed_is_drained_and_a_slow_path_comes_first() -> None:
    found = checked(slow("n1"), unmet=[unmet("n1", "missed"), unmet("n2", "missed")])
    assert [(d.hosts, d.reason) for d in found.drain()] == [
        ("n1", "tierscope: slow on node:0 -> node:1 bandwidth"),
        ("n2", "tierscope: golden value rate"),
    ]


def test_a_fleet_is_accepted_where_nothing_is_wrong() -> None:
    assert checked().accepted
    lost = HostOf(host="n1", state="lost", reason="why", run="", emulated=None)
    uneven = Uneven(**PATH, group="g", hosts=9, group_hosts=20, slower=0.1, paths=1)
    for wrong in (
        checked(unmeasured=[lost]), checked(uneven=[uneven]),
        checked(unmet=[unmet("n1", "inconclusive")]),
    ):  # fmt: skip
        assert not wrong.accepted
        assert not wrong.defective
        assert wrong.drain() == []


def test_a_group_too_small_to_be_compared_needs_golden_values_to_be_accepted() -> None:
    assert not checked(unjudged={"g": 3}).accepted
    assert checked(unjudged={"g": 3}, rules=1).accepted


def test_tables_are_stale_when_a_source_is_newer(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.mkdir()
    run, index = hosts / "n1.jsonl", tmp_path / INDEX
    run.write_text('{"record":"header"}\n')
    index.write_text("{}")
    assert is_stale(tmp_path)
    tables = [tmp_path / f"{name}.parquet" for name in COLUMNS]
    for table in tables:
        table.write_text("")
    times = {run: 100, index: 100, **dict.fromkeys(tables, 200)}

    def stale(**newer: int) -> bool:
        named = {"run": run, "index": index, "table": tables[-1]}
        for path, at in {**times, **{named[name]: at for name, at in newer.items()}}.items():
            os.utime(path, (at, at))
        return is_stale(tmp_path)

    assert not stale()
    assert not stale(run=200)
    assert stale(run=201)
    assert stale(index=201)
    assert stale(table=99)
    tables[0].unlink()
    assert is_stale(tmp_path)

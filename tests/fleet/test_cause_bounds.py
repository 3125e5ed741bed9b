"""What is named as a likely cause, and how many hosts have to have it."""

from collections.abc import Mapping

import duckdb
import pytest

from tierscope.fleet.outliers import likely_causes


def causes(
    facts: Mapping[str, Mapping[str, str]], slow: list[str],
    groups: Mapping[str, str] | None = None, **shares: Mapping[str, float],
) -> dict[str, list[str]]:  # fmt: skip
    """The causes of slow hosts; ``shares`` have disturbed, stolen and load of some hosts."""
    database = duckdb.connect()
    database.execute(
        "CREATE TABLE hosts (host VARCHAR, facts MAP(VARCHAR, VARCHAR), disturbed DOUBLE, "
        "stolen DOUBLE, load DOUBLE)"
    )
    database.execute("CREATE TABLE grouped (host VARCHAR, grp VARCHAR)")
    for host, own in facts.items():
        values = [shares.get(name, {}).get(host) for name in ("disturbed", "stolen", "load")]
        database.execute("INSERT INTO hosts VALUES (?, ?, ?, ?, ?)", [host, dict(own), *values])
        database.execute("INSERT INTO grouped VALUES (?, ?)", [host, (groups or {}).get(host, "g")])
    return likely_causes(database, slow)


def hosts(count: int, other: int, usual: str = "a", rare: str = "b") -> dict[str, dict[str, str]]:
    """So many hosts, of which the first ones have another value of one fact."""
    return {f"n{n}": {"fact": rare if n < other else usual} for n in range(count)}


@pytest.mark.parametrize(
    ("count", "other", "named"), [(10, 4, True), (10, 5, False), (11, 5, True), (3, 1, True)]
)
def test_most_hosts_have_the_usual_value(count: int, other: int, named: bool) -> None:
    """More than half of them: of two values that are as frequent, neither is usual."""
    slow = [f"n{n}" for n in range(other)]
    for usual, rare in ("ab", "ba"):
        facts = hosts(count, other, usual, rare)
        said = [f"fact: {rare} (group: {usual})"] if named else []
        for order in (facts, dict(reversed(facts.items()))):
            assert causes(order, slow) == dict.fromkeys(slow, said)


@pytest.mark.parametrize(
    ("slow", "other", "named"), [(1, 4, False), (2, 4, True), (3, 4, True), (9, 19, False)]
)
def test_at_least_half_of_those_with_another_value_are_slow(
    slow: int, other: int, named: bool
) -> None:
    found = causes(hosts(50, other), [f"n{n}" for n in range(slow)])
    assert all(bool(one) is named for one in found.values())


def test_what_a_slow_host_has_as_the_others_is_no_cause() -> None:
    assert causes(hosts(20, 4), ["n9"]) == {"n9": []}


def test_a_fact_that_a_host_lacks_differs_too() -> None:
    facts = {**hosts(9, 0), "n0": {}}
    assert causes(facts, ["n0"]) == {"n0": ["fact: absent (group: a)"]}


def test_each_group_has_its_own_usual_value() -> None:
    facts = {**hosts(6, 0), **{f"m{n}": {"fact": "b" if n else "a"} for n in range(6)}}
    groups = {host: host[0] for host in facts}
    assert causes(facts, ["m0", "n0"], groups) == {"m0": ["fact: a (group: b)"], "n0": []}


def test_the_five_rarest_are_named_the_rarest_first() -> None:
    facts = {f"n{n}": {f"fact{k}": "b" if n <= k else "a" for k in range(7)} for n in range(40)}
    slow = [f"n{n}" for n in range(7)]
    found = causes(facts, slow)
    assert found["n0"] == [f"fact{k}: b (group: a)" for k in range(5)]
    assert found["n6"] == ["fact6: b (group: a)"]


@pytest.mark.parametrize(
    ("name", "said"),
    [("disturbed", "other programs disturbed 15% of the rows"),
     ("stolen", "the hypervisor took 15% of the time"),
     ("load", "load of 0.15 a CPU when the run began")],
)  # fmt: skip
def test_neighbours_are_named_from_a_twentieth_above_the_median_on(name: str, said: str) -> None:
    facts = hosts(10, 0)
    usual = dict.fromkeys(facts, 0.1)
    assert causes(facts, ["n0"], **{name: {**usual, "n0": 0.1500001}}) == {"n0": [said]}
    assert causes(facts, ["n0"], **{name: {**usual, "n0": 0.149}}) == {"n0": []}
    assert causes(facts, ["n1"], **{name: {**usual, "n0": 0.9}}) == {"n1": []}


def test_neighbours_that_others_have_without_harm_are_no_cause() -> None:
    facts = hosts(10, 0)
    busy = {**dict.fromkeys(facts, 0.0), "n0": 0.5, "n1": 0.5, "n2": 0.5}
    assert causes(facts, ["n0"], disturbed=busy) == {"n0": []}
    assert causes(facts, ["n0", "n1"], disturbed=busy)["n0"] != []


def test_no_slow_host_has_no_cause() -> None:
    assert causes(hosts(5, 1), []) == {}

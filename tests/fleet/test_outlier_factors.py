"""Each factor and bound of the verdict on a fleet, from figures of which it can be told by hand."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fleet.figures import Fleet, figure, judged, key, made

from tierscope.analysis.estimate import student_quantile
from tierscope.analysis.outliers import HostFigure, chance
from tierscope.analysis.scatter import allowed, slow_side, within

FALSE_ALARM = 3e-4
"""Chance of a false alarm, of a host."""
MEDIAN_ERROR = math.sqrt(math.pi / 2)


def steps(hosts: int) -> list[float]:
    """Logarithms that differ, evenly about 0."""
    return [0.004 * (number - (hosts - 1) / 2) for number in range(hosts)]


def fleet(*paths: list[float], group: str = "g", error: float = 0.0) -> Fleet:
    """Bandwidths, of which the logarithms are given, by path and host."""
    return [
        (
            key(path),
            [figure(host, 100 * math.exp(own), error, group) for host, own in enumerate(values)],
        )
        for path, values in enumerate(paths)
    ]


def test_a_host_of_one_path_has_its_chance_and_one_of_several_that_of_the_worst_times_all() -> None:
    """Bonferroni over paths, and over the two ways of judging; then over hosts, where one is slow
    (Benjamini and Hochberg)."""
    (one,) = judged(made(60, paths=1, slow=frozenset({3}), by=0.4)).outliers
    assert one.q == pytest.approx(60 * one.worst.p, abs=0)
    (several,) = judged(made(60, paths=8, slow=frozenset({3}), by=0.08, on=1)).outliers
    assert 1e-12 < several.worst.p < 1e-6
    assert several.q == pytest.approx(2 * 8 * 60 * several.worst.p, abs=0)
    two = judged(made(60, paths=8, slow=frozenset({3, 4}), by=0.08, on=1), most=0.1).outliers
    surer, other = two
    assert surer.q <= other.q == pytest.approx(2 * 8 * 60 * other.worst.p / 2, abs=0)


@pytest.mark.parametrize("hosts", [12, 390])
def test_the_rate_of_false_discoveries_and_the_chance_of_a_false_alarm_bound_both(
    hosts: int,
) -> None:
    """Of 390 hosts, the first bounds the chance (5% / 390); of 12, the second."""
    (found,) = judged(fleet(steps(hosts))).detectable
    slower = [-math.sqrt(hosts / (hosts - 1)) * one for one in steps(hosts)]
    spread = max(within(slower), slow_side(slower, 0.05))
    far = student_quantile(4, 2 * min(FALSE_ALARM, 0.05 / hosts))
    whole = math.hypot(MEDIAN_ERROR * spread / math.sqrt(hosts), spread, 1e-3)
    assert found.slower == pytest.approx(-math.expm1(-far * whole))


@pytest.mark.parametrize("groups", [1, 40])
def test_a_median_of_few_lies_too_near_to_them_and_what_they_differ_in_is_made_larger(
    groups: int,
) -> None:
    """Groups of five, whose medians are their own members; the spread is that of all groups."""
    own = [[0.01 * step * (1 + 0.001 * group) for step in (-2, -1, 0, 1, 2)]
           for group in range(groups)]  # fmt: skip
    figures = [
        figure(f"{group}-{number}", 100 * math.exp(-one), group=f"g{group}")
        for group, members in enumerate(own)
        for number, one in enumerate(members)
    ]
    (found,) = judged([(key(0), figures)]).detectable
    every = [math.sqrt(5 / 4) * one for members in own for one in members]
    spread = max(within(every), slow_side(every, 0.05))
    freedom = min(4, round(0.82 * (len(every) - groups)))
    far = student_quantile(freedom, 2 * min(FALSE_ALARM, 0.05 / len(every)))
    whole = math.hypot(MEDIAN_ERROR * spread / math.sqrt(5), spread, 1e-3)
    assert found.slower == pytest.approx(-math.expm1(-far * whole))


@pytest.mark.parametrize(("own", "seen"), [(0.02, 0.02), (0.005, 0.01), (0.0, 0.01)])
def test_the_interval_of_a_deviation_is_the_wider_of_its_own_and_a_usual_one(
    own: float, seen: float
) -> None:
    """Hosts whose figures agree differ in nothing, so that only intervals are left."""
    figures = [figure(number, 100.0, 0.01) for number in range(50)]
    slow = figure("slow", 60.0, own)
    (found,) = judged([(key(0), [*figures, slow])]).outliers
    centre = MEDIAN_ERROR * 0.01 / math.sqrt(51)
    half = 1.96 * math.hypot(seen, centre)
    assert math.log1p(found.worst.high) == pytest.approx(math.log(0.6) + half, rel=1e-6)
    assert math.log1p(found.worst.low) == pytest.approx(math.log(0.6) - half, rel=1e-6)
    score = math.log(1 / 0.6) / math.hypot(seen, centre, 1e-3)
    assert found.worst.p == pytest.approx(chance(score, 4))


def test_the_wider_side_of_an_interval_counts() -> None:
    figures = [figure(number, 100.0, 0.01) for number in range(50)]
    for low, high in ((55.0, 60.5), (59.5, 60.0 * 60 / 55)):
        slow = HostFigure("nslow", "g", "m", 60.0, low, high)
        (found,) = judged([(key(0), [*figures, slow])]).outliers
        half = 1.96 * math.hypot(math.log(60 / 55) / 1.96, MEDIAN_ERROR * 0.01 / math.sqrt(51))
        assert math.log1p(found.worst.high) == pytest.approx(math.log(0.6) + half, rel=1e-6)


def test_what_intervals_explain_hosts_do_not_differ_in() -> None:
    """The variance between hosts is that of their figures less that of the intervals."""
    hosts = 60
    values = steps(hosts)
    slower = [math.sqrt(hosts / (hosts - 1)) * one for one in values]
    seen = max(within(slower), slow_side(slower, 0.05))
    error = seen / 2
    (found,) = judged(fleet(values, error=error)).detectable
    spread = math.sqrt(seen**2 - error**2)
    centre = MEDIAN_ERROR * math.hypot(spread, error) / math.sqrt(hosts)
    far = student_quantile(4, 2 * FALSE_ALARM)
    whole = math.hypot(error, centre, spread, 1e-3)
    assert found.slower == pytest.approx(-math.expm1(-far * whole), rel=1e-6)


def test_the_degrees_of_freedom_are_those_of_the_estimator_of_the_spread() -> None:
    """Its efficiency is 82% of a standard deviation's (Rousseeuw and Croux, 1993): of five hosts
    3 degrees remain of 4; with fewer than 200 scores, a tail is taken as that of 4."""
    for hosts, freedom in ((5, 3), (6, 4), (30, 4)):
        (found,) = judged(fleet(steps(hosts))).detectable
        slower = [math.sqrt(hosts / (hosts - 1)) * one for one in steps(hosts)]
        spread = max(within(slower), slow_side(slower, 0.05))
        whole = math.hypot(MEDIAN_ERROR * spread / math.sqrt(hosts), spread, 1e-3)
        far = student_quantile(freedom, 2 * FALSE_ALARM)
        assert found.slower == pytest.approx(-math.expm1(-far * whole)), hosts


def test_of_few_hosts_the_spread_leans_on_that_of_three_like_paths() -> None:
    """By four degrees of freedom; of two like paths, or of other metrics, on none."""
    hosts, narrow, wide = 6, steps(6), [3 * one for one in steps(6)]

    def detectable(fleet_: Fleet, path: int) -> float:
        return next(
            one.slower for one in judged(fleet_).detectable if one.initiator == f"node:{path}"
        )

    def expected(own: float, usual: float | None, paths: int) -> float:
        freedom, spread = 4, own
        if usual is not None:
            spread = math.sqrt((4 * own**2 + 4 * usual**2) / 8)
            freedom = 8
        whole = math.hypot(MEDIAN_ERROR * spread / math.sqrt(hosts), spread, 1e-3)
        far = student_quantile(min(4, freedom), 2 * FALSE_ALARM / (2 * paths))
        return -math.expm1(-far * whole)

    def seen(values: list[float]) -> float:
        slower = [math.sqrt(hosts / (hosts - 1)) * one for one in values]
        return max(within(slower), slow_side(slower, 0.05))

    three = fleet(narrow, narrow, wide)
    assert detectable(three, 2) == pytest.approx(expected(seen(wide), seen(narrow), 3), rel=1e-6)
    two = fleet(narrow, wide)
    assert detectable(two, 1) == pytest.approx(expected(seen(wide), None, 2), rel=1e-6)
    other = [*fleet(narrow, wide), (key(2, "latency"), fleet(narrow)[0][1])]
    assert detectable(other, 1) == pytest.approx(expected(seen(wide), None, 3), rel=1e-6)


def test_twenty_hosts_are_enough_to_tell_a_spread_by() -> None:
    """A path of which hosts differ three times as much keeps its own spread from 20 hosts on."""
    for hosts, leans in ((19, True), (20, False)):
        narrow, wide = steps(hosts), [3 * one for one in steps(hosts)]
        found = {
            one.initiator: one.slower for one in judged(fleet(narrow, narrow, wide)).detectable
        }
        # Both paths are judged alike, so that the ratio of their logarithms is that of spreads.
        ratio = math.log1p(-found["node:2"]) / math.log1p(-found["node:0"])
        assert (ratio < 2.9) is leans, hosts


def test_five_hosts_are_a_group_and_four_are_none() -> None:
    for hosts in (4, 5):
        verdict = judged(fleet(steps(hosts)))
        assert verdict.judged == (hosts if hosts == 5 else 0)
        assert verdict.unjudged == ({} if hosts == 5 else {"g": 4})


@given(st.integers(1, 5000), st.floats(0, 1))
def test_at_most_a_share_of_hosts_may_be_slow_for_a_reason_and_one_in_any_case(
    hosts: int, most: float
) -> None:
    assert allowed(hosts, most) == max(1, math.floor(most * hosts))


@pytest.mark.parametrize(("slow", "uneven"), [(5, False), (6, True)])
def test_one_more_than_may_be_slow_makes_a_group_uneven(slow: int, uneven: bool) -> None:
    verdict = judged(made(100, paths=1, slow=frozenset(range(slow)), by=0.3))
    assert bool(verdict.uneven) is uneven
    assert bool(verdict.outliers) is not uneven


def test_hosts_count_as_apart_from_four_deviations_of_most_hosts_on() -> None:
    """Six of 60, where three may be slow; what they lack is put on either side of the bound."""
    source = random.Random(3)
    most = [source.gauss(0, 0.01) for _ in range(54)]
    seen = set()
    for by in (0.03, 0.04, 0.045, 0.05, 0.055, 0.06, 0.07, 0.09):
        values = [*most, *[-by] * 6]
        centre = sorted(values)[29] / 2 + sorted(values)[30] / 2
        slower = [math.sqrt(60 / 59) * (centre - one) for one in values]
        bound = 4 * math.hypot(within(slower), 1e-3)
        apart = sum(one > bound for one in slower)
        found = judged(fleet(values)).uneven
        assert [one.hosts for one in found] == ([apart] if apart > 3 else [])
        seen.add(apart)
    assert seen == {0, 6}


def test_hosts_that_are_slower_by_less_than_counts_are_not_apart() -> None:
    fleet_ = made(60, paths=1, slow=frozenset(range(6)), by=0.008, between=1e-4)
    assert judged(fleet_, minimum=0.01).uneven == []
    assert [one.hosts for one in judged(fleet_, minimum=0.005).uneven] == [6]


def test_the_path_with_most_hosts_apart_is_the_one_that_is_named() -> None:
    fleet_ = [
        (key(number), made(100, paths=1, slow=frozenset(range(slow)), by=0.3, seed=slow)[0][1])
        for number, slow in enumerate((8, 20, 9))
    ]
    (found,) = judged(fleet_).uneven
    assert (found.initiator, found.hosts, found.paths) == ("node:1", 20, 3)


def test_of_two_groups_each_has_its_own_and_the_largest_loss_is_stated() -> None:
    values = [
        figure(f"{group}{number}", 100 * math.exp((1 + group) * one), group=f"g{group}")
        for group in range(2)
        for number, one in enumerate(steps(40))
    ]
    verdict = judged([(key(0), values)])
    assert len(verdict.detectable) == 1
    assert verdict.judged == 80


def test_slow_paths_come_with_the_surest_first_and_findings_too() -> None:
    fleet_ = made(200, paths=4, slow=frozenset({3}), by=0.1, on=2)
    path, own = fleet_[1]
    fleet_[1] = (path, [one._replace(value=one.value * 0.8) if one.host == "n3" else one
                        for one in own])  # fmt: skip
    path, own = fleet_[3]
    fleet_[3] = (path, [one._replace(value=one.value * 0.85) if one.host == "n9" else one
                        for one in own])  # fmt: skip
    first, second = judged(fleet_).outliers
    assert (first.host, second.host) == ("n3", "n9")
    assert first.q <= second.q
    assert [one.initiator for one in first.paths] == ["node:1", "node:0"]
    assert first.paths[0].p <= first.paths[1].p
    assert first.worst == first.paths[0]

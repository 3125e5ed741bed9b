"""Slow hosts among many: found, named once, and none that is not slow; figures from a formula."""

import math
import random
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fleet.figures import figure, judged, key, made

from tierscope.analysis.estimate import NORMAL
from tierscope.analysis.outliers import chance, q_values
from tierscope.analysis.scatter import Tail, slow_side, within
from tierscope.model.outlier import Verdict


def named(verdict: Verdict) -> set[str]:
    return {one.host for one in verdict.outliers}


def hosts(numbers: frozenset[int]) -> set[str]:
    return {f"n{number}" for number in numbers}


@pytest.mark.parametrize("metric", ["bandwidth", "latency"])
@pytest.mark.parametrize(
    ("between", "error", "shared"), [(0.01, 0.0, 0.0), (0.0, 0.01, 0.0), (0.003, 0.004, 0.3)]
)
def test_hosts_that_are_slow_on_all_paths_are_found(
    metric: str, between: float, error: float, shared: float
) -> None:
    slow = frozenset(range(7, 1000, 100))
    fleet = made(1000, slow=slow, between=between, error=error, metric=metric, shared=shared)
    verdict = judged(fleet)
    found = named(verdict)
    assert len(found & hosts(slow)) == len(slow)
    assert len(found - hosts(slow)) <= 1
    assert verdict.judged == 1000
    sign = 1 if metric == "latency" else -1
    assert all(one.worst.deviation * sign > 0.01 for one in verdict.outliers)
    assert all(one.worst.low < one.worst.deviation < one.worst.high for one in verdict.outliers)


def test_a_host_that_is_slow_on_one_path_is_named_with_that_path() -> None:
    verdict = judged(made(500, slow=frozenset({11}), by=0.05, between=0.005, on=1))
    (one,) = verdict.outliers
    assert one.host == "n11"
    assert not one.together
    assert [path.initiator for path in one.paths] == ["node:0"]
    assert one.judged == 8


def test_a_host_is_one_finding_however_many_of_its_paths_are_slow() -> None:
    (one,) = judged(made(500, slow=frozenset({11}), by=0.2)).outliers
    assert len(one.paths) == 8
    assert one.slower == pytest.approx(0.25, abs=0.02)


def test_a_little_on_every_path_is_found_by_all_of_them_together() -> None:
    (one,) = judged(made(2000, paths=30, slow=frozenset({11}), by=0.015)).outliers
    assert one.host == "n11"
    assert one.together
    assert len(one.paths) == 1


@pytest.mark.parametrize("shared", [0.0, 0.8])
@pytest.mark.parametrize("seed", range(3))
def test_alike_hosts_are_left_alone(shared: float, seed: int) -> None:
    assert len(judged(made(1000, shared=shared, seed=seed)).outliers) <= 1


def test_faster_hosts_are_left_alone() -> None:
    assert named(judged(made(300, slow=frozenset({5}), by=-0.2))) == set()


def test_what_is_certain_and_small_is_left_alone() -> None:
    fleet = made(300, slow=frozenset({5}), by=0.008, between=0.0005)
    assert named(judged(fleet)) == set()
    assert named(judged(fleet, minimum=0.005)) == {"n5"}


def test_hosts_that_agree_to_the_last_digit_do_not_make_trifles_certain() -> None:
    figures = [figure(number, 100.0) for number in range(50)]
    trifle = [*figures, figure("off", 99.9)]
    assert named(judged([(key(0), trifle)], minimum=0.0)) == set()
    defect = [*figures, figure("off", 90.0)]
    assert named(judged([(key(0), defect)])) == {"noff"}


def test_more_slow_hosts_than_may_be_make_a_group_uneven() -> None:
    fleet = made(200, slow=frozenset(range(60)), by=0.3)
    verdict = judged(fleet)
    assert named(verdict) == set()
    (uneven,) = verdict.uneven
    assert (uneven.group, uneven.hosts, uneven.group_hosts, uneven.paths) == ("g0", 60, 200, 8)
    assert uneven.slower == pytest.approx(0.3, abs=0.01)
    verdict = judged(fleet, most=0.4)
    assert named(verdict) == hosts(frozenset(range(60)))
    assert verdict.uneven == []


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("metric", ["bandwidth", "latency"])
def test_the_smallest_loss_that_is_found_is_stated(metric: str, seed: int) -> None:
    (largest, *_) = judged(made(100, seed=seed, metric=metric)).detectable
    path = int(largest.initiator.removeprefix("node:"))
    assert largest.metric == metric
    worse = math.log1p(largest.slower) if metric == "latency" else math.log1p(-largest.slower)

    def found(times: float) -> set[str]:
        fleet = made(100, seed=seed, metric=metric)
        way, figures = fleet[path]
        centre = sorted(one.value for one in figures)[50]
        own = figures[0]._replace(value=centre * math.exp(times * worse))
        fleet[path] = way, [own, *figures[1:]]
        return named(judged(fleet))

    assert found(1.1) == {"n0"}
    assert found(0.8) == set()


def test_the_deviation_of_rounded_values_is_that_of_what_was_rounded() -> None:
    source = random.Random(1)
    values = [source.gauss(0, 0.5) for _ in range(400)]
    for step in (1.0, 1.5):
        rounded = [0.01 * step * round(value / step) for value in values]
        assert within(rounded) == pytest.approx(0.005, rel=0.25)
    assert within(values) == pytest.approx(0.5, rel=0.1)


def test_far_values_change_the_deviation_of_neither_side() -> None:
    source = random.Random(2)
    values = [source.gauss(0, 1) for _ in range(200)]
    far = [*values, *[50.0] * 10, *[-50.0] * 10]
    assert within(far) == pytest.approx(1, rel=0.25)
    assert slow_side(far, most=0.06) < 2
    assert slow_side([*values, *[50.0] * 40], most=0.06) > 20, "so many are what values are like"


def test_each_group_has_its_own_centre_and_all_groups_one_spread() -> None:
    fleet = made(400, groups=50, slow=frozenset({3}), by=0.1)
    faster = [
        (path, [one._replace(value=one.value * (1.5 if one.group == "g7" else 1)) for one in own])
        for path, own in fleet
    ]
    (one,) = judged(faster).outliers
    assert (one.host, one.group, one.group_hosts) == ("n3", "g3", 8)


def test_a_group_of_few_is_not_judged_and_said_to_be_small() -> None:
    verdict = judged([(key(0), [figure(number, 100 - number) for number in range(4)])])
    assert (verdict.judged, verdict.outliers, verdict.unjudged) == (0, [], {"g": 4})


def test_an_interval_that_is_narrow_by_luck_is_not_believed() -> None:
    fleet = made(300, paths=1, between=0.0, error=0.01, seed=4)
    path, figures = fleet[0]
    lucky = figure("lucky", 97.5, 1e-5)
    assert "nlucky" not in named(judged([(path, [*figures, lucky])]))


def test_no_fleet_at_all() -> None:
    assert judged([]) == Verdict(outliers=[], judged=0, unjudged={})


def test_q_values_as_benjamini_and_hochberg_have_them() -> None:
    found = q_values({"a": 0.01, "b": 0.02, "c": 0.03, "d": 0.5})
    assert found == pytest.approx({"a": 0.04, "b": 0.04, "c": 0.04, "d": 0.5})


@given(st.dictionaries(st.text(max_size=3), st.floats(0, 1), max_size=20))
def test_q_values_keep_order_and_are_never_below_p(chances: dict[str, float]) -> None:
    found = q_values(chances)
    assert all(chances[name] <= q + 1e-12 and q <= 1 for name, q in found.items())
    order = sorted(chances, key=lambda name: chances[name])
    assert all(found[a] <= found[b] for a, b in pairwise(order))


@pytest.mark.parametrize(
    ("score", "freedom", "expected"),  # tables of Student's t and of the normal distribution
    [(0, 5, 0.5), (2.015, 5, 0.05), (-2.015, 5, 0.95), (3.365, 5, 0.01), (4.604, 4, 0.005),
     (1.645, NORMAL, 0.05), (3.0902, NORMAL, 0.001)],
)  # fmt: skip
def test_probabilities(score: float, freedom: int, expected: float) -> None:
    assert chance(score, freedom) == pytest.approx(expected, rel=2e-3)


def test_tails() -> None:
    source = random.Random(1)

    def tail(draw: Callable[[], float], slow: int = 0) -> int:
        found = Tail()
        for number in range(20_000):
            found.add(draw() + (3 if number < slow else 0))
        return found.freedom()

    def student() -> float:
        return source.gauss(0, 1) / math.sqrt(source.gammavariate(1.5, 2) / 3)

    assert tail(lambda: source.gauss(0, 1)) >= 15
    assert tail(lambda: source.gauss(0, 1), slow=400) >= 15, "few slow hosts are no tail"
    assert tail(student) <= 4
    assert tail(lambda: source.expovariate(1) - 0.7) <= 4, "only the slow side is long"
    few = Tail()
    for _ in range(50):
        few.add(1.0)
        few.add(-1.0)
    assert few.freedom() == 4
    assert few.freedom(otherwise=8) == 8

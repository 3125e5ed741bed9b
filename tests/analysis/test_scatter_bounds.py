"""The spread and the tail of hosts, against their definitions written out."""

import math
import random
from itertools import combinations
from statistics import NormalDist

import pytest
from tests.fleet.figures import Fleet, made

from tierscope.analysis.estimate import NORMAL, student_quantile
from tierscope.analysis.outliers import MINIMUM, MOST, RATE, find_outliers
from tierscope.analysis.scatter import Tail, slow_side, within

# Croux and Rousseeuw, 1992, table 1.
OF_FEW = {2: 0.399, 3: 0.994, 4: 0.512, 5: 0.844, 6: 0.611, 7: 0.857, 8: 0.669, 9: 0.872}


def qn(values: list[float]) -> float:
    """The k-th of the distances of all pairs, k = h (h - 1) / 2 where h = n / 2 + 1."""
    n = len(values)
    h = n // 2 + 1
    distances = sorted(abs(a - b) for a, b in combinations(values, 2))
    small = OF_FEW.get(n) or (n / (n + 1.4) if n % 2 else n / (n + 3.8))
    return 2.2191 * small * distances[h * (h - 1) // 2 - 1]


@pytest.mark.parametrize("count", [*range(2, 16), 50, 99, 100])
def test_most_values_have_the_deviation_of_rousseeuw_and_croux(count: int) -> None:
    source = random.Random(count)
    values = [source.gauss(3, 0.02) for _ in range(count)]
    assert within(values) == pytest.approx(qn(values), rel=1e-12)


def test_of_more_than_a_hundred_values_every_second_or_third_in_order_counts() -> None:
    source = random.Random(1)
    values = [source.gauss(0, 1) for _ in range(250)]
    assert within(values) == pytest.approx(qn(sorted(values)[::3]))
    assert within(values[:101]) == pytest.approx(qn(sorted(values[:101])[::2]))


def test_values_that_tie_are_spread_evenly_over_their_step() -> None:
    """Four at 0 and two at 0.01: at -3/8, -1/8, 1/8, 3/8, and at 1 -+ 1/4 of that step."""
    tied = [0.0, 0.01, 0.0, 0.0, 0.01, 0.0]
    evenly = [0.01 * one for one in (-3 / 8, -1 / 8, 1 / 8, 3 / 8, 3 / 4, 5 / 4)]
    assert within(tied) == pytest.approx(qn(evenly))
    wide = [5 * one for one in tied]
    apart = [0.02 * one for one in (-3 / 8, -1 / 8, 1 / 8, 3 / 8)] + [0.045, 0.055]
    assert within(wide) == pytest.approx(qn(apart)), "no figure is rounded by more than 2%"


def test_few_that_tie_were_not_rounded() -> None:
    """Less than half of the values: two of five do not count, three do."""
    assert within([0.0, 0.0, 0.3, 0.7, 1.2]) == pytest.approx(qn([0.0, 0.0, 0.3, 0.7, 1.2]))
    three = [0.0, 0.0, 0.0, 0.7, 1.2]
    assert within(three) != pytest.approx(qn(three))
    half = [0.0, 0.0, 0.7, 1.2]
    assert within(half) == pytest.approx(qn([-0.005, 0.005, 0.7, 1.2]))
    assert within([1.0] * 9) == 0


@pytest.mark.parametrize(("count", "most", "out"), [(100, 0.05, 5), (100, 0.2, 20), (10, 0.05, 1)])
def test_the_slow_side_reaches_as_far_as_a_normal_one_but_for_the_slowest(
    count: int, most: float, out: int
) -> None:
    values = [(number / count) ** 2 for number in range(1, count + 1)]
    share = (count - out - 0.5) / count
    expected = sorted(values, reverse=True)[out] / NormalDist().inv_cdf(share)
    assert slow_side(values, most) == pytest.approx(expected)
    assert slow_side([-one for one in values], most) == 0


def test_a_share_of_less_than_six_tenths_counts_as_that() -> None:
    values = [1.0, 2.0, 4.0]
    assert slow_side(values, 0.05) == pytest.approx(2.0 / NormalDist().inv_cdf(0.6))


@pytest.mark.parametrize("freedom", [3, 4, 5, 6, 8, 10, 15, 20])
@pytest.mark.parametrize("scale", [1.0])
def test_the_tail_of_students_t_is_that_of_so_many_degrees(freedom: int, scale: float) -> None:
    tail = Tail()
    for number in range(4000):
        value = student_quantile(freedom, (number + 0.5) / 4000)
        # A little shorter, since bins round.
        value = scale * (value**0.985 if value > 1 else value)
        tail.add(value)
        tail.add(-value)
    assert tail.freedom() == freedom


def test_a_normal_tail_is_taken_as_one() -> None:
    tail = Tail()
    for number in range(4000):
        value = NormalDist().inv_cdf((number + 0.5) / 8000)
        tail.add(value)
        tail.add(-value)
    assert tail.freedom() in (NORMAL, 200, 100)


def test_of_fewer_than_two_hundred_scores_on_a_side_the_tail_is_not_known() -> None:
    for slow, fast, known in ((200, 200, True), (199, 200, False), (200, 199, False)):
        tail = Tail()
        for count, sign in ((slow, 1), (fast, -1)):
            for number in range(count):
                tail.add(sign * student_quantile(30, (number + 0.5) / count))
        for _ in range(1000):
            tail.add(0.0)  # on neither side
        assert (tail.freedom(otherwise=77) != 77) is known
        assert (tail.freedom() == 4) is not known


def test_slow_scores_that_reach_further_even_well_inside_decide_the_tail() -> None:
    """Both sides are normal, but the slow one is skewed: exponential."""
    even, skewed = Tail(), Tail()
    for number in range(2000):
        share = (number + 0.5) / 2000
        normal = -NormalDist().inv_cdf(share / 2)
        for tail in (even, skewed):
            tail.add(-normal)
        even.add(normal)
        skewed.add(-math.log(share))
    assert even.freedom() >= 100
    assert skewed.freedom() <= 10


def test_defaults_are_those_of_the_command() -> None:
    assert (MINIMUM, MOST, RATE) == (0.01, 0.05, 0.05)
    fleet = made(300, slow=frozenset({5}), by=0.008, between=0.0003)

    def read(hosts: frozenset[str] | None) -> Fleet:
        return [(way, [one for one in own if not hosts or one.host in hosts]) for way, own in fleet]

    def found(*more: float) -> list[str]:
        return [one.host for one in find_outliers(read, *more).outliers]

    assert found() == []
    assert found(0.007) == ["n5"]

"""fio's layout of times, and its keys."""

import math
from collections.abc import Sequence
from statistics import mean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.model.histogram import bucket_of
from tierscope.peers.fio.output import (
    Times,
    _binary,
    _count,
    _decimal,
    bucket_time,
    shares,
    spread,
    times_of,
)

_NS = st.integers(0, 1 << 40)


def times(values: Sequence[int]) -> Times:
    """Count each of these times."""
    return times_of([[bucket_of(ns), 1] for ns in values])


@pytest.mark.parametrize(
    ("ns", "bucket"),
    [(0, 0), (127, 127), (128, 129), (129, 129), (570, 572), (47_200, 47_360), (88_300, 88_576)],
)
def test_times_stand_for_fio_s_buckets(ns: int, bucket: int) -> None:
    assert bucket_time(ns) == bucket


@given(_NS)
def test_a_bucket_is_a_64th_of_its_power_of_two(ns: int) -> None:
    found = bucket_time(ns)
    assert bucket_time(found) == found
    assert abs(found - ns) <= max(0, ns / 128)


@given(st.lists(_NS, min_size=1, max_size=40))
def test_all_times_are_counted_in_their_buckets(values: list[int]) -> None:
    found = times(values)
    assert found.number == len(values) == sum(found.bins.values())
    for ns in values:
        assert bucket_time(ns) in found.bins
    assert found.least == pytest.approx(min(values), rel=0.005)
    assert found.most == pytest.approx(max(values), rel=0.005)
    assert found.mean == pytest.approx(mean(values), rel=0.005)
    assert list(found.bins) == sorted(found.bins)


@given(st.lists(_NS, min_size=1, max_size=40), st.floats(0.1, 100))
def test_a_percentile_is_the_time_that_so_many_do_not_exceed(
    values: list[int], percent: float
) -> None:
    found = times(values).percentile(percent)
    ordered = sorted(map(bucket_time, values))
    assert found == ordered[max(0, math.ceil(len(ordered) * percent / 100 - 1e-9) - 1)]


@given(st.lists(_NS, max_size=20), st.lists(_NS, max_size=20))
def test_added_times_are_those_of_both(first: list[int], second: list[int]) -> None:
    assert times_of([times(first).histogram, times(second).histogram]) == times([*first, *second])


@given(st.lists(_NS, min_size=1, max_size=40))
def test_shares_of_times_add_up(values: list[int]) -> None:
    found = shares(times(values))
    assert sum(sum(one.values()) for one in found.values()) == pytest.approx(100)
    assert [len(one) for one in found.values()] == [10, 10, 12]


def test_a_share_is_of_times_up_to_its_bound() -> None:
    found = shares(times([2, 3, 900, 1500, 60_000, 3_000_000, 5_000_000_000]))
    for unit, bound in (
        ("ns", "2"), ("ns", "4"), ("ns", "1000"), ("us", "2"), ("us", "100"), ("ms", "4"),
        ("ms", ">=2000"),
    ):  # fmt: skip
        assert found[unit][bound] == pytest.approx(100 / 7)


def test_nothing_has_no_times() -> None:
    none = times_of([])
    assert (none.number, none.least, none.most, none.mean, none.deviation) == (0, 0, 0, 0.0, 0.0)
    assert none.percentile(50) == 0
    assert set(shares(none)["ns"].values()) == {0.0}


def test_deviations() -> None:
    values = [100, 120, 140, 90]
    assert times(values).deviation == pytest.approx(stdev(values))
    assert spread([1.0, 3.0]).deviation == pytest.approx(stdev([1, 3]))
    assert spread([1.0]).deviation == 0.0
    assert spread([]).number == 0


def test_rates_have_the_unit_that_they_have_one_or_more_of() -> None:
    assert _binary(111_000_000) == "106MiB"
    assert _binary(999) == "999B"
    assert _binary(1536) == "1.50KiB"
    assert _decimal(111_400_000) == "111MB"
    assert _count(23_691) == "23.7k"
    assert _count(950) == "950"

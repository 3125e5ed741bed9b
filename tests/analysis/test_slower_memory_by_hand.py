"""The model of slower memory on figures that are simple enough to follow by hand."""

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import synthetic

from tierscope.analysis.curve import Point
from tierscope.analysis.whatif import (
    Curve,
    Expansion,
    Level,
    Local,
    Range,
    Tier,
    Visits,
    Work,
    expansion,
    ordered,
    predictions,
    range_of,
    small_id,
    visits_of,
    waits_of,
)
from tierscope.model.run import Figure, Measurement

MIB = 1 << 20
GB = 1e9
LOCAL = Local(
    idle=Range.exact(100),
    here=Range(100, 95, 105),
    last_level=Range(20, 15, 30),
    private_bytes=16 * MIB,
    last_level_bytes=32 * MIB,
)
A = Visits("a", loads=2, lines=2, reuse=64 * MIB)
"""Of its loads 3/4 miss the private caches, and 1/2 the last level: 1.5 and 1."""
B = Visits("b", loads=4, lines=8, reuse=128 * MIB)
"""7/8 and 3/4: 3.5 and 3."""
BOTH = ("a", "b")
ENDS = ("estimate", "low", "high")


def measured(value: float, low: float | None = None, high: float | None = None) -> Measurement:
    made = synthetic.Maker().make("traffic", "node:0", "node:0", {}, value)
    figure = Figure(metric="bandwidth", unit="B/s", estimate=value, ci_low=low, ci_high=high)
    return made.model_copy(update={"figures": [figure]})


def work(**changes: Any) -> Work:
    values: dict[str, Any] = {
        "measurement": measured(1), "name": "w", "streams": 1, "time": Range(600, 580, 630),
        "visits": (A, B), "size": 1 << 30, "pages": "thp", "cached": Range(100, 90, 110),
    }  # fmt: skip
    return Work(**{**values, **changes})


def near(found: Range, *expected: float) -> bool:
    return [getattr(found, name) for name in ENDS] == pytest.approx([*expected], rel=1e-4)


def test_waits_are_the_time_that_caches_do_not_explain() -> None:
    """In the middle 4.5 loads of 100 ns and 0.5 of 20 ns: 450 of 460 ns are memory's, of 500. At
    the low end 4 loads and 1: 400 of 420, of 580 - 110; at the high end all 5 loads that miss."""
    expected = (5 * 450 / 460, 470 / 105 * 400 / 420, 5)
    assert near(waits_of(work(), LOCAL, BOTH), *expected)
    # What b cannot have waited for, 3.5, was a's; in the middle by loads: 1.25 of 4.5.
    assert near(waits_of(work(), LOCAL, ("a",)), expected[0] * 1.25 / 4.5, expected[1] - 3.5, 1.5)
    assert near(waits_of(work(), LOCAL, ("b",)), 3.5, expected[1] - 1.5, 3.5)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        # All of 310 ns are waiting, for 95 ns.
        ({"time": Range(300, 290, 310), "cached": None}, (3, 0, 310 / 95)),
        ({"dependent": True}, (5 * 450 / 460, 470 / 105 * 400 / 420, 5)),
        ({"dependent": True, "time": Range(300, 290, 310)}, (4, 4, 5)),
        # Caches may hold all that is wanted often: 2.5 loads in the middle, none at the low end.
        ({"skewed": True}, (5 * 250 / 300, 0, 5)),
        # 4 of 6 loads are fetched ahead: half of them count in the middle.
        ({"visits": (A, replace(B, in_order=True))},
         (5 * 450 / 460 * 2 / 3, 470 / 105 * 400 / 420 - 4, 5)),
        # Faster than in caches.
        ({"time": Range(90, 80, 95)}, (0, 0, 1)),
    ],
)  # fmt: skip
def test_waits_of_other_work(changes: dict[str, Any], expected: tuple[float, ...]) -> None:
    assert near(waits_of(work(**changes), LOCAL, BOTH), *expected)


def test_a_last_level_that_is_slower_than_memory_takes_as_long_as_it() -> None:
    slow = replace(LOCAL, last_level=Range.exact(200))
    assert waits_of(work(), slow, BOTH).estimate == pytest.approx(5 * 450 / 500)


def test_the_time_is_longer_by_each_wait() -> None:
    tier = Tier("t", Range(50, 40, 60), None, added=True)
    waits = waits_of(work(), LOCAL, BOTH)
    found = predictions(work(streams=4), LOCAL, tier)
    assert [one.parts for one in found] == [("a",), ("b",), BOTH]
    both = found[-1]
    taken = [600 + 50 * waits.estimate, 580 + 40 * waits.low, 630 + 60 * waits.high]
    assert near(both.time, *taken)
    assert near(both.rate, *(4e9 / ns for ns in (taken[0], taken[2], taken[1])))
    # The local time is in both terms: its interval is in neither.
    assert near(both.slowdown, taken[0] / 600, taken[1] / 580, taken[2] / 630)
    assert not both.full
    (alone,) = predictions(work(visits=(A,)), LOCAL, tier)
    assert alone.parts == ("a",)


def test_the_bytes_of_an_operation_are_between_its_loads_and_all_its_lines() -> None:
    """At least the 4 loads that miss the last level, at most 2 x 3/4 + 8 x 7/8 = 8.5 lines."""
    tier = Tier("t", Range.exact(0), Range.exact(40 * GB), added=True)
    one = predictions(work(time=Range.exact(600)), LOCAL, tier)[-1]
    assert near(one.traffic, (4 + 8.5) / 2 * 64 / 600e-9, 4 * 64 / 600e-9, 8.5 * 64 / 600e-9)
    skewed = predictions(work(time=Range.exact(600), skewed=True), LOCAL, tier)[-1]
    assert near(skewed.traffic, 8.5 / 2 * 64 / 600e-9, 0, 8.5 * 64 / 600e-9)
    only = predictions(work(time=Range.exact(600)), LOCAL, tier)[0]
    assert near(only.traffic, (1 + 1.5) / 2 * 64 / 600e-9, 64 / 600e-9, 1.5 * 64 / 600e-9)


def test_bandwidth_bounds_the_rate_to_what_the_tier_moves() -> None:
    """6.25 lines are 400 bytes: 100 streams move 40000 bytes in 2 us at 20 GB/s."""
    tier = Tier("t", Range.exact(0), Range(20 * GB, 16 * GB, 32 * GB), added=True)
    one = predictions(work(streams=100), LOCAL, tier)[-1]
    assert one.full
    assert near(one.time, 2000, 100 * 256 / 32, 100 * 544 / 16)
    assert near(one.slowdown, 2000 / 600, 800 / 580, 3400 / 630)
    assert not predictions(work(streams=29), LOCAL, tier)[-1].full
    assert predictions(work(streams=31), LOCAL, tier)[-1].full


@pytest.mark.parametrize(
    ("cached", "low"),
    [
        # 5 waits, each shorter by 50 ns: but half of the latency takes half of the time at least.
        (None, 250), (Range.exact(1), 250), (Range(400, 390, 410), 390),
    ],
)  # fmt: skip
def test_a_faster_tier_leaves_what_takes_time_in_caches(cached: Range | None, low: float) -> None:
    asked = work(time=Range.exact(500), cached=cached, dependent=True)
    (*_, found) = predictions(asked, LOCAL, Tier("t", Range.exact(50), None))
    assert found.time.low == pytest.approx(low)
    (*_, found) = predictions(asked, LOCAL, Tier("t", Range.exact(10), None))
    assert found.time.low == pytest.approx(max(50, low if cached and low > 250 else 50))


def test_what_is_added_is_longer_than_the_local_latency_and_what_is_stated_is_not() -> None:
    local, value = Range(100, 98, 103), Range(250, 240, 265)
    added, stated = Tier("t", value, None, added=True), Tier("t", value, None)
    assert added.idle(local) == Range(350, 338, 368)
    assert added.more(local) == value
    assert stated.idle(local) == value
    assert stated.more(local) == Range(150, 137, 167)


LOADED = Tier(
    "t", Range(250, 240, 260), Range.exact(30 * GB),
    curve=(Point(1000, 10 * GB, 300), Point(10, 20 * GB, 400), Point(0, 30 * GB, 900)),
)  # fmt: skip


@pytest.mark.parametrize(
    ("rate", "ns"),
    [(-1, 0), (0, 0), (5, 25), (10, 50), (15, 100), (20, 150), (25, 400), (31, 650),
     (math.inf, 650)],
)  # fmt: skip
def test_a_loaded_tier_has_a_queue_by_its_curve(rate: float, ns: float) -> None:
    assert LOADED.waiting(rate * GB) == pytest.approx(ns)
    assert replace(LOADED, curve=()).waiting(rate * GB) == 0
    quicker = replace(LOADED, latency=Range.exact(1000))
    assert quicker.waiting(rate * GB) == 0


@given(st.integers(1, 60), st.floats(200, 3000), st.booleans())
def test_a_queue_is_that_at_the_bandwidth_that_it_leads_to(
    streams: int, ns: float, added: bool
) -> None:
    """So the time is the local one and each wait, for the latency under this very traffic."""
    tier = replace(LOADED, bandwidth=None, added=added)
    asked = work(streams=streams, time=Range.exact(ns), cached=Range.exact(ns / 4))
    one = predictions(asked, LOCAL, tier)[-1]
    more = tier.more(LOCAL.idle).estimate + tier.waiting(one.traffic.estimate)
    assert one.time.estimate == pytest.approx(ns + one.waits.estimate * more, rel=1e-3)


def test_ranges_hold_their_estimate() -> None:
    assert ordered(5, (7, 6)) == Range(5, 5, 7)
    assert ordered(5, ()) == Range.exact(5)
    assert Range(2, 1, 4).map(lambda x: 8 / x) == Range(4, 2, 8)
    figure = Range(2, 1, 4).figure("latency", "ns")
    assert (figure.estimate, figure.ci_low, figure.ci_high) == (2, 1, 4)
    assert (figure.metric, figure.unit) == ("latency", "ns")


def test_a_figures_range_is_its_interval_else_the_middle_of_its_samples() -> None:
    m = measured(50).model_copy(update={"samples": [float(n) for n in range(101)]})
    assert range_of(m) == Range(50, 10, 90)
    assert range_of(m.model_copy(update={"samples": [60.0]})) == Range(50, 50, 60)
    assert range_of(m.model_copy(update={"samples": [40.0, 60.0]})) == Range(50, 42, 58)
    other = Figure(metric="iops", unit="1/s", estimate=7)
    assert range_of(m, other) == Range.exact(7)
    assert range_of(m.model_copy(update={"figures": [*m.figures, other]})) == Range(50, 10, 90)
    assert range_of(measured(50, 40, None)) == Range(50, 40, 50)


def test_the_id_of_the_same_on_little_data_has_the_end_of_a_long_one() -> None:
    assert small_id("ops.btree") == "cached.ops.btree"
    assert small_id("a" + "b" * 56) == "cached." + "b" * 56


def test_data_of_fewer_bytes_than_an_operation_moves_is_wanted_by_the_next_one() -> None:
    """The small level again after one operation, which moves 128 bytes of the large one."""
    small, large = visits_of([Level("s", 9, 4, 64), Level("l", 1, 2, MIB, in_order=True)])
    assert small == Visits("s", 4, 4, 64 + 128)
    assert large == Visits("l", 1, 2, MIB + 64, in_order=True)
    assert LOCAL.missing(0, MIB) == 0
    assert LOCAL.missing(2 * MIB, MIB) == 0.5
    assert LOCAL.missing(MIB, 2 * MIB) == 0


def spread(tier: Tier, **points: Measurement) -> Expansion:
    found = expansion(Curve("c", {int(k[1:]): m for k, m in points.items()}), LOCAL.idle, tier)
    assert found is not None
    return found


def exact(rate: float) -> Measurement:
    return measured(rate * GB, rate * GB, rate * GB)


def test_pages_on_a_tier_are_bound_by_the_tier_where_it_is_slower_than_stated() -> None:
    """10:3 pages of 100 and 30 GB/s; at 20 GB/s a share of 3/13 is 86.7 GB/s, at 40 still 130."""
    tier = Tier("t", Range(250, 200, 300), Range(30 * GB, 20 * GB, 40 * GB))
    found = spread(tier, t1=exact(12), t16=exact(100))
    assert (found.weights, found.threads) == ((10, 3), 16)
    assert near(found.gain, 1.3, 260 / 300, 1.3)
    assert near(found.bandwidth, 130 * GB, 260 / 3 * GB, 130 * GB)
    assert near(found.local, 100 * GB, 100 * GB, 100 * GB)


def test_threads_that_wait_longer_on_the_tier_bound_its_gain() -> None:
    """Of 4 threads local memory takes 3: the fourth has 10 GB/s / 4 of a latency of 400 ns."""
    tier = Tier("t", Range.exact(400), Range.exact(30 * GB))
    found = spread(tier, t1=exact(10), t4=exact(30))
    assert found.weights == (12, 1)
    assert found.gain.estimate == pytest.approx(32.5 / 30)
    # At up to 5 times the latency, 16 threads of 12 GB/s have 16 x 12 / (10 + 3 x 5) x 13.
    slow = spread(
        Tier("t", Range(250, 250, 500), Range.exact(30 * GB)), t1=exact(12), t16=exact(100)
    )
    assert slow.gain.low == pytest.approx(16 * 12 / 25 * 13 / 100)
    # A single count does not tell what one thread can do.
    assert spread(tier, t4=exact(30)).gain.estimate == pytest.approx(2)


def test_a_thread_and_many_may_each_be_at_an_end_of_their_intervals() -> None:
    """Pages 10:3 and 16 threads. Many at 90: 90 x 13/10. Many at 110 and one at 10: threads bound,
    16 x 10 / (10 + 3 x 2.5) x 13 = 118.9, over 110. Many at 110 and one at 14: the tier, 130."""
    one, many = measured(12 * GB, 10 * GB, 14 * GB), measured(100 * GB, 90 * GB, 110 * GB)
    found = spread(Tier("t", Range.exact(250), Range.exact(30 * GB)), t1=one, t16=many)
    assert found.weights == (10, 3)
    assert near(found.gain, 1.3, 160 / 17.5 * 13 / 110, 1.3)
    assert near(found.bandwidth, 130 * GB, 117 * GB, 130 * GB)


def test_prefetchers_may_keep_more_in_flight_up_to_the_local_rate() -> None:
    """Of 4 threads of 10 GB/s, local memory that may take 44 leaves none; at 36, one in ten."""
    tier = Tier("t", Range.exact(120), Range.exact(30 * GB))
    found = spread(tier, t1=exact(10), t4=measured(36 * GB, 36 * GB, 44 * GB))
    assert found.bandwidth.estimate == pytest.approx((36 + 4 / 1.2) * GB, rel=0.003)
    assert found.bandwidth.high == pytest.approx(44 * GB)

"""The model of slower memory: what it may and may not predict, whatever it is given."""

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests import synthetic

from tierscope.analysis.curve import Point
from tierscope.analysis.tiers import is_stated, parse_tier
from tierscope.analysis.whatif import (
    Curve,
    Level,
    Local,
    Prediction,
    Range,
    Tier,
    Work,
    expansion,
    predictions,
    range_of,
    visits_of,
    waits_of,
)
from tierscope.model.errors import UserError
from tierscope.model.run import Measurement

GB = 1e9
LOCAL = Local(
    idle=Range(100, 98, 102),
    here=Range(95, 94, 97),
    last_level=Range(20, 19, 25),
    private_bytes=1 << 20,
    last_level_bytes=32 << 20,
)
MAKER = synthetic.Maker()


def measured(value: float = 1e6) -> Measurement:
    return MAKER.make("ops", "node:0", "node:0", {"threads": 1}, value, "1/s")


def work(
    time: float = 300, cached: float | None = 60, streams: int = 1, noise: float = 0.02
) -> Work:
    """A tree whose inner nodes the last-level cache may hold, with two loads of each node."""
    visits = visits_of([Level("inner", 2, 4, 16 << 20), Level("leaves", 2, 8, 1 << 30)])
    at = Range(time, time * (1 - noise), time * (1 + noise))
    inside = None if cached is None else Range(cached, cached * 0.99, cached * 1.01)
    return Work(measured(), "tree", streams, at, visits, 1 << 30, "thp", cached=inside)


def whole(of: Work, tier: Tier, local: Local = LOCAL) -> Prediction:
    return predictions(of, local, tier)[-1]


def stated(ns: float, rate: float | None = None, added: bool = False) -> Tier:
    return Tier("t", Range.exact(ns), Range.exact(rate) if rate else None, added)


TIMES = st.floats(50, 5000)
SHARES = st.floats(0, 1.2)
WORKS = st.builds(
    lambda time, share, streams, noise: work(time, time * share, streams, noise),
    TIMES, SHARES, st.integers(1, 64), st.floats(0, 0.3),
)  # fmt: skip
TIERS = st.builds(
    stated, st.floats(50, 2000), st.one_of(st.none(), st.floats(1 * GB, 400 * GB)), st.booleans()
)


@given(WORKS, TIERS)
def test_a_range_holds_its_estimate_and_nothing_is_below_0(of: Work, tier: Tier) -> None:
    for one in predictions(of, LOCAL, tier):
        for value in (one.waits, one.time, one.rate, one.slowdown, one.traffic):
            assert 0 <= value.low <= value.estimate <= value.high


@given(WORKS, st.floats(100, 2000), st.floats(1, 3), st.floats(1 * GB, 400 * GB))
def test_a_slower_tier_is_never_predicted_faster(
    of: Work, ns: float, longer: float, rate: float
) -> None:
    for fast, slow in zip(
        predictions(of, LOCAL, stated(ns, rate)),
        predictions(of, LOCAL, stated(ns * longer, rate / longer)),
        strict=True,
    ):
        for name in ("estimate", "low", "high"):
            assert getattr(slow.time, name) >= getattr(fast.time, name) * (1 - 1e-9)


@given(WORKS)
def test_a_tier_like_local_memory_changes_nothing(of: Work) -> None:
    for one in predictions(of, LOCAL, stated(0, added=True)):
        assert one.time.estimate == pytest.approx(of.time.estimate)
        assert one.slowdown.low == pytest.approx(1)
        assert one.slowdown.high == pytest.approx(1)
    same = whole(of, Tier("same", LOCAL.idle, None))
    assert same.slowdown.low <= 1 <= same.slowdown.high
    assert same.slowdown.estimate == pytest.approx(1)


@given(WORKS, TIERS)
def test_one_part_on_the_tier_costs_no_more_than_all(of: Work, tier: Tier) -> None:
    assume(tier.added or tier.latency.estimate >= LOCAL.idle.high)
    *parts, together = predictions(of, LOCAL, tier)
    for one in parts:
        assert one.time.high <= together.time.high * (1 + 1e-9)
        assert one.time.estimate <= together.time.estimate * (1 + 1e-9)
    assert sum(one.waits.high for one in parts) >= together.waits.high * (1 - 1e-9)


def test_what_dependent_loads_take_is_known_well() -> None:
    visits = visits_of([Level("m0", 1, 1, 8 << 30)])
    chase = Work(measured(), "chase", 1, Range(100, 99, 101), visits, 8 << 30, "thp",
                 dependent=True, cached=Range.exact(2))  # fmt: skip
    local = replace(LOCAL, here=Range(100, 99, 101))
    found = whole(chase, stated(150, added=True), local)
    assert found.time.low == pytest.approx(99 + 150, rel=0.01)
    assert found.time.high == pytest.approx(101 + 150, rel=0.01)


def test_without_a_figure_in_caches_the_lower_end_is_no_waiting_at_all() -> None:
    found = whole(work(cached=None), stated(300))
    assert found.slowdown.low <= 1.05
    assert found.waits.low == 0
    assert whole(work(cached=60), stated(300)).slowdown.low > 1.5


def test_waits_are_no_more_than_the_time_holds_or_the_loads_that_miss() -> None:
    assert waits_of(work(300), LOCAL, ("inner", "leaves")).high == pytest.approx(306 / 94)
    assert waits_of(work(3000), LOCAL, ("leaves",)).high < 2


def test_caches_may_hold_data_that_is_wanted_more_often() -> None:
    uniform = waits_of(work(), LOCAL, ("leaves",))
    skewed = waits_of(replace(work(), skewed=True), LOCAL, ("leaves",))
    assert skewed.low <= uniform.low


def test_lines_in_order_may_cost_nothing_more() -> None:
    column = replace(
        work(), visits=visits_of([Level("column", 0.125, 0.125, 1 << 30, in_order=True)])
    )
    found = whole(replace(column, time=Range(3, 2.9, 3.1), cached=Range.exact(1)), stated(300))
    assert found.slowdown.low == pytest.approx(1)
    assert 1.5 < found.slowdown.estimate < found.slowdown.high


def test_bandwidth_bounds_many_threads() -> None:
    many = work(streams=64)
    free, bound = whole(many, stated(250)), whole(many, stated(250, 5 * GB))
    assert not free.full
    assert bound.full
    assert bound.time.estimate > free.time.estimate
    assert bound.traffic.estimate == pytest.approx(5 * GB, rel=0.01)


def test_a_tier_with_a_curve_is_slower_as_more_is_asked_of_it() -> None:
    points = tuple(Point(delay, rate * GB, ns) for delay, rate, ns in (
        (1000, 1, 250), (100, 10, 260), (10, 25, 400), (0, 30, 900)))  # fmt: skip
    flat = stated(250, 30 * GB)
    curved = replace(flat, curve=points)
    alone = [whole(work(), tier).time.estimate for tier in (flat, curved)]
    assert alone[1] == pytest.approx(alone[0], rel=0.05)
    busy = [whole(work(streams=16), tier).time.estimate for tier in (flat, curved)]
    assert busy[1] > busy[0] * 1.05
    assert whole(work(streams=16), curved).traffic.estimate < 30 * GB


def test_a_line_is_wanted_again_after_its_level_and_what_goes_by_meanwhile() -> None:
    upper, lower = visits_of([Level("inner", 2, 4, 256 * 1000), Level("leaves", 2, 8, 1 << 30)])
    assert upper.reuse == pytest.approx(1000 * (256 + 512))
    assert lower.reuse == pytest.approx((1 << 30) + 256 * 1000)
    assert visits_of([Level("positions", 0, 0, 1 << 20)]) == ()


def test_a_figure_without_an_interval_lies_among_its_samples() -> None:
    m = measured()
    lacking = m.model_copy(
        update={"figures": [m.figures[0].model_copy(update={"ci_low": None, "ci_high": None})]}
    )
    found = range_of(lacking)
    assert min(lacking.samples) < found.low < found.estimate < found.high < max(lacking.samples)
    few = lacking.model_copy(update={"samples": []})
    assert range_of(few) == Range.exact(few.figures[0].estimate)
    assert range_of(m).low == m.ci_low


def curve(**rates: float) -> Curve:
    points = {
        int(name[1:]): MAKER.make("traffic", "node:0", "node:0", {"threads": int(name[1:])}, rate)
        for name, rate in rates.items()
    }
    return Curve("100:0", points)


def test_a_tier_adds_its_bandwidth_where_threads_fill_local_memory() -> None:
    found = expansion(curve(t1=15 * GB, t16=100 * GB), LOCAL.idle, stated(250, 30 * GB))
    assert found is not None
    assert found.gain.estimate == pytest.approx(1.3, rel=0.02)
    assert found.gain.low <= found.gain.estimate <= found.gain.high
    assert found.weights[0] / found.weights[1] == pytest.approx(100 / 30, rel=0.1)


def test_a_tier_adds_nothing_where_threads_are_the_limit() -> None:
    found = expansion(curve(t1=10 * GB, t4=40 * GB), LOCAL.idle, stated(400, 30 * GB))
    assert found is not None
    assert found.gain.estimate == pytest.approx(1, rel=0.05)
    assert expansion(curve(t1=1 * GB), LOCAL.idle, stated(400)) is None


@given(st.floats(20 * GB, 200 * GB), st.floats(100, 2000), st.floats(1 * GB, 300 * GB))
def test_gains_of_tiers_lie_in_their_ranges(peak: float, ns: float, rate: float) -> None:
    found = expansion(curve(t1=12 * GB, t16=peak), LOCAL.idle, stated(ns, rate))
    assert found is not None
    assert found.gain.low <= found.gain.estimate <= found.gain.high
    assert found.gain.estimate >= 0.99
    assert found.bandwidth.estimate <= (peak + rate) * 1.05


@pytest.mark.parametrize(
    ("text", "ns", "rate", "added"),
    [
        ("250ns,30GB/s", 250, 30e9, False),
        ("30GB/s, 250 ns", 250, 30e9, False),
        ("0.4us", 400, None, False),
        ("+150ns,1.5TB/s", 150, 1.5e12, True),
        ("+0ns", 0, None, True),
        ("250ns,24GiB/s", 250, 24 * 2.0**30, False),
        ("1000us,500MB/s", 1e6, 5e8, False),
        ("1ns,1MiB/s", 1, 2.0**20, False),
        ("1ns,0.5TiB/s", 1, 2.0**39, False),
        ("1ns,1000TB/s", 1, 1e15, False),
    ],
)
def test_tiers_are_stated(text: str, ns: float, rate: float | None, added: bool) -> None:
    assert is_stated(text)
    found = parse_tier(text)
    assert found.latency.estimate == pytest.approx(ns)
    assert (found.bandwidth.estimate if found.bandwidth else None) == rate
    assert found.added == added


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("250", "'250': '250' is neither a latency in ns or us nor a bandwidth in GB/s or GiB/s"),
        ("250ns,30", "'250ns,30': '30' is neither"),
        ("30GB/s", "'30GB/s' has no latency; write 250ns,30GB/s"),
        ("0ns", "'0ns': 0ns is out of range: above 0, at most 1 ms"),
        ("250ns,0GB/s", "'250ns,0GB/s': 0GB/s is out of range: above 0"),
        ("-5ns", "'-5ns': '-5ns' is neither"),
        ("2ms", "'2ms': '2ms' is neither"),
        ("2000us", "'2000us': 2000us is out of range"),
        ("250ns,300ns", "'250ns,300ns' has two latencies; give each tier an option of its own"),
        ("9GB/s,9GB/s", "'9GB/s,9GB/s' has two bandwidths"),
        ("9ns,1001TB/s", "'9ns,1001TB/s': 1001TB/s is out of range: above 0, at most 1000 TB/s"),
        ("+1001us", "'+1001us': +1001us is out of range: above 0, at most 1 ms"),
        ("250ns,", "'250ns,': '' is neither"),
        ("250ns,30gb/s", "'250ns,30gb/s': '30gb/s' is neither"),
    ],
)
def test_other_tiers_are_refused_in_a_line(text: str, message: str) -> None:
    assert is_stated(text)
    with pytest.raises(UserError) as refused:
        parse_tier(text)
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)


@given(st.text(max_size=40) | st.from_regex(r"\+?\d+(\.\d+)?(ns|us)?(,\d+[GMT]i?B/s)?"))
def test_any_text_is_a_tier_or_one_error(text: str) -> None:
    try:
        found = parse_tier(text)
    except UserError:
        return
    assert found.latency.low >= 0


@pytest.mark.parametrize(
    "name", ["last", "20261127-070230-whatif", "./250ns/run.jsonl", "a:node:2"]
)
def test_names_of_runs_are_no_figures(name: str) -> None:
    assert not is_stated(name)

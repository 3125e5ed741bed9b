"""Distributions of single operations: the layout, sums, percentiles and their intervals."""

import json
import math
import random
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from tests.analysis.test_conclude import LOST, SAMPLE_S, spec

from tierscope.analysis.conclude import conclude
from tierscope.analysis.distribution import estimates, merged, percentile
from tierscope.model.event import EventAdapter, Repetition
from tierscope.model.histogram import BUCKETS, Histogram, bucket_of, values_of
from tierscope.model.metric import DISTRIBUTIONS, METRICS, PERCENTILES
from tierscope.model.run import Figure, Measurement
from tierscope.runs.record import Bounds, measurement_of

_NS = st.integers(0, 3_600_000_000_000)


def histogram(times: Sequence[int]) -> Histogram:
    counts: dict[int, int] = {}
    for ns in sorted(times):
        counts[bucket_of(ns)] = counts.get(bucket_of(ns), 0) + 1
    return [number for item in counts.items() for number in item]


def sorted_percentile(times: Sequence[int], beyond: float) -> int:
    """The smallest time that at most a share ``beyond`` of all exceed."""
    return sorted(times)[len(times) - 1 - math.floor(beyond * len(times))]


# The layout.


@given(_NS)
def test_a_bucket_holds_its_values_and_is_at_most_1_128_of_them_wide(ns: int) -> None:
    low, high = values_of(bucket_of(ns))
    assert low <= ns <= high
    assert high - low + 1 <= max(1, low / 128)


def test_buckets_follow_each_other_without_gaps() -> None:
    ends = [values_of(bucket) for bucket in range(BUCKETS)]
    assert ends[0] == (0, 0)
    assert ends[-1][1] == (1 << 42) - 1
    assert all(later[0] == earlier[1] + 1 for earlier, later in pairwise(ends))
    assert bucket_of(1 << 50) == BUCKETS - 1


def test_the_engine_has_the_same_layout() -> None:
    """Cases of engine/tests/repetition_event_test.cpp."""
    assert [bucket_of(ns) for ns in (90, 100, 100_000)] == [90, 100, 128 * 9 + 195]


_HISTOGRAM: TypeAdapter[Histogram] = TypeAdapter(Histogram)


@given(st.lists(_NS, max_size=60))
def test_what_an_engine_can_count_is_read_as_it_is(times: list[int]) -> None:
    found = histogram(times)
    assert _HISTOGRAM.validate_json(json.dumps(found), strict=True) == found


@pytest.mark.parametrize(
    "wrong",
    [
        [5], [5, 1, 6], [5, 0], [5, -1], [-1, 1], [BUCKETS, 1], [6, 1, 5, 1], [5, 1, 5, 1],
        [5, 1 << 54], [5, 1 << 52, 6, 1 << 53], [5, 1.5], ["5", 1], [None, 1], 5,
    ],
)  # fmt: skip
def test_what_no_engine_can_count_is_refused(wrong: Any) -> None:
    with pytest.raises(ValidationError):
        _HISTOGRAM.validate_json(json.dumps(wrong), strict=True)


# Percentiles, against sorted lists.


@given(
    st.lists(st.lists(st.lists(_NS, max_size=40), max_size=4), min_size=1, max_size=4),
    st.sampled_from([0.5, 0.1, 0.01]),
)
def test_a_percentile_of_sums_is_within_1_percent_of_the_sorted_list_s(
    repetitions: list[list[list[int]]], beyond: float
) -> None:
    times = [ns for samples in repetitions for sample in samples for ns in sample]
    found = percentile(
        merged([[histogram(sample) for sample in samples] for samples in repetitions]), beyond
    )
    if beyond * len(times) < 10:
        assert found is None
    else:
        exact = sorted_percentile(times, beyond)
        assert found is not None
        assert abs(found - exact) <= 0.01 * exact


@pytest.mark.parametrize(("count", "given"), [(9_999, False), (10_000, True)])
def test_a_percentile_needs_ten_operations_beyond_it(count: int, given: bool) -> None:
    found = dict(estimates([[histogram(range(1, count + 1))]]))
    assert ("p99.9" in found) == given
    assert "p99.99" not in found


def test_nothing_is_said_of_no_operations() -> None:
    assert not list(estimates([]))
    assert not list(estimates([[[], []], [[]]]))


def test_times_below_a_nanosecond_give_no_figure() -> None:
    assert not list(estimates([[histogram([0] * 100)] * 10]))


# Intervals.


def repetitions_of(
    source: random.Random, repetitions: int = 12, samples: int = 10, operations: int = 200,
    between: float = 0.0,
) -> list[list[Histogram]]:  # fmt: skip
    """Lognormal times about 100 µs, whose median differs from repetition to repetition."""
    found = []
    for _ in range(repetitions):
        level = math.log(1e5) + source.gauss(0, between)
        found.append(
            [
                histogram([int(source.lognormvariate(level, 0.5)) for _ in range(operations)])
                for _ in range(samples)
            ]
        )
    return found


def test_an_interval_holds_its_estimate_and_grows_with_scatter_between_repetitions() -> None:
    widths = []
    for between in (0.0, 0.1, 0.3):
        found = dict(estimates(repetitions_of(random.Random(1), between=between), apart=True))
        assert set(found) == {"mean", "p50", "p90", "p99", "p99.9", "max"}
        for name, one in found.items():
            if name != "max":
                assert one.low is not None
                assert one.high is not None
                assert one.low < one.value < one.high
        widths.append(found["p50"].relative_half_width)
    assert widths[0] < 0.02 < widths[1] < widths[2]


def test_a_maximum_has_no_interval_and_says_why() -> None:
    found = dict(estimates(repetitions_of(random.Random(1))))["max"]
    assert (found.low, found.no_interval) == (None, "maximum")


def test_few_samples_give_no_interval() -> None:
    found = dict(estimates(repetitions_of(random.Random(1), repetitions=2, samples=2)))
    assert {one.no_interval for name, one in found.items() if name != "max"} == {"few-samples"}


def test_few_repetitions_that_drift_give_no_interval() -> None:
    times = [[histogram([1000 * (10 * v + r + 1)] * 50) for r in range(10)] for v in range(3)]
    found = dict(estimates(times))
    assert found["p50"].no_interval == "few-repetitions"


def test_equal_times_have_an_interval_of_one_bucket() -> None:
    found = dict(estimates([[histogram([100_000] * 50)] * 10] * 6))
    assert (found["p90"].low, found["p90"].high) == values_of(bucket_of(100_000))
    assert found["mean"].low == found["mean"].high


# From repetitions to figures.


def repetition(
    times: Sequence[Sequence[int]], disturbed: Sequence[int] = (), **changes: Any
) -> Repetition:
    """A repetition with a sample for each of these, as the engine would write it."""
    series = {
        "name": "operations",
        "starts": [i * SAMPLE_S for i in range(len(times))],
        "durations": [SAMPLE_S] * len(times),
        "lost": [LOST * (i in disturbed) for i in range(len(times))],
        "columns": [{"metric": "bandwidth", "part": "", "values": [1e9] * len(times)}],
        "distributions": [
            {
                "metric": "io_latency",
                "part": "read",
                "samples": [histogram(sample) for sample in times],
            }
        ],
        **changes,
    }
    event = {
        "event": "repetition", "id": "m", "seconds": len(times) * SAMPLE_S, "fresh": False,
        "interrupted": False, "series": [series], "evidence": {},
    }  # fmt: skip
    found = EventAdapter.validate_json(json.dumps(event))
    assert isinstance(found, Repetition)
    return found


def measured(repetitions: Sequence[Repetition]) -> Measurement:
    return measurement_of(spec(), repetitions, None, Bounds())


def figure(found: Sequence[Figure], name: str) -> Figure:
    return next(f for f in found if f.metric == f"io_latency_{name}")


def test_known_times_of_repetitions_come_out_within_1_percent() -> None:
    source = random.Random(3)
    repetitions = [
        [[int(source.lognormvariate(11, 1)) for _ in range(400)] for _ in range(40)]
        for _ in range(8)
    ]
    found = measured([repetition(samples) for samples in repetitions])
    kept = [ns for samples in repetitions for sample in samples for ns in sample]
    assert {f.part for f in found.figures[1:]} == {"read"}
    assert {f.unit for f in found.figures[1:]} == {"ns"}
    for name, beyond in PERCENTILES.items():
        exact = sorted_percentile(kept, beyond)
        if beyond * len(kept) >= 10:
            assert figure(found.figures, name).estimate == pytest.approx(exact, rel=0.01)
    assert figure(found.figures, "mean").estimate == pytest.approx(fmean(kept), rel=0.01)
    assert figure(found.figures, "max").estimate == pytest.approx(max(kept), rel=0.01)
    assert figure(found.figures, "p99.99").ci_low is not None
    (kept_whole,) = found.distributions or []
    assert (kept_whole.metric, kept_whole.part) == ("io_latency", "read")
    assert kept_whole.histogram == histogram(kept)


def test_only_kept_samples_count() -> None:
    calm, slow = [1000] * 20, [9000] * 20
    times = [*[calm] * 12, slow, slow]
    found = conclude(spec(), [repetition(times, disturbed=[12, 13])])
    assert found.distributions[0].histogram == histogram(calm * 12)
    assert (found.evidence.disturbed, found.evidence.replaced) == (0, 2)


def test_a_series_that_keeps_disturbed_samples_flags_and_counts_them() -> None:
    calm, slow = [1000] * 20, [9000] * 20
    times = [*[calm] * 12, slow, slow]
    found = conclude(spec(), [repetition(times, disturbed=[12, 13], keep_disturbed=True)])
    assert figure(found.figures, "max").estimate == pytest.approx(9000, rel=0.01)
    assert (found.evidence.disturbed, found.evidence.replaced) == (2, 0)


def test_disturbed_samples_that_count_do_not_keep_a_figure_from_being_precise() -> None:
    one = repetition([[1000] * 20] * 30, disturbed=[7], keep_disturbed=True)
    assert conclude(spec(), [one] * 8).stop == "precision"
    other = repetition([[1000] * 20] * 4, disturbed=[0, 1, 2, 3])
    assert conclude(spec(), [other] * 8).stop == "budget"


def test_a_repetition_may_lack_a_distribution_that_others_have() -> None:
    without = repetition([[1000] * 20] * 10, distributions=None)
    found = conclude(spec(), [without, repetition([[1000] * 20] * 10), without])
    assert found.distributions[0].histogram == histogram([1000] * 20 * 10)


@pytest.mark.parametrize(
    "wrong",
    [
        {"samples": [[5, 1]]},
        {"metric": "bandwidth"},
        {"metric": "io_latency_p99"},
        {"samples": [[5, 1], [5, 0]]},
        {"surprise": 1},
    ],
)
def test_distributions_that_no_engine_writes_are_refused(wrong: dict[str, Any]) -> None:
    good = {"metric": "io_latency", "part": "", "samples": [[5, 1], []]}
    assert repetition([[1], [2]], distributions=[good])
    with pytest.raises(ValidationError):
        repetition([[1], [2]], distributions=[good | wrong])


def test_every_distribution_that_the_engine_writes_is_known() -> None:
    kinds = Path(__file__).parents[2] / "engine" / "kinds"
    written = {
        name
        for path in kinds.glob("*.cpp")
        for name in re.findall(r'distributions\.push_back\(\{\.metric = "(\w+)"', path.read_text())
    }
    assert written
    assert written <= set(DISTRIBUTIONS)


def test_figures_of_distributions_are_metrics() -> None:
    assert METRICS["io_latency_p99.99"].better == "lower"
    assert METRICS["completion_latency_mean"].unit == "ns"
    assert "submission_latency_max" in METRICS

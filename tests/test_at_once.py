"""What hosts moved together: common time, sums, fairness, merged percentiles."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.analysis.concurrent import AtOnce, HostRepetition, Window, Windows, windows
from tierscope.model.histogram import Histogram, bucket_of, values_of

RATE, TIMES = ("bandwidth", ""), ("io_latency", "")
SAMPLE_S = 0.05


def repetition(
    rates: Sequence[float],
    start: float = 0.0,
    number: int = 0,
    samples: Sequence[Histogram] | None = None,
    sample_s: float = SAMPLE_S,
) -> HostRepetition:
    starts = [start + sample_s * sample for sample in range(len(rates))]
    return HostRepetition(
        number=number,
        warm=starts[0],
        starts=starts,
        durations=[sample_s] * len(rates),
        rates={RATE: list(rates)},
        histograms={TIMES: samples} if samples else {},
    )


def joined(hosts: dict[str, list[HostRepetition]], error_s: float = 0.0) -> AtOnce:
    found = AtOnce(windows((host, error_s, one) for host, own in hosts.items() for one in own))
    for host, own in hosts.items():
        found.add(host, own)
    return found


def histogram(*times: int) -> Histogram:
    buckets = sorted(bucket_of(time) for time in times)
    return [n for bucket in dict.fromkeys(buckets) for n in (bucket, buckets.count(bucket))]


def test_only_the_time_that_all_hosts_spent_together_counts() -> None:
    """The second host begins 4 samples later: what the first one had to itself is left out."""
    alone, shared = [900.0] * 4, [100.0] * 12
    found = joined(
        {"a": [repetition(alone + shared)], "b": [repetition([50.0] * 20, start=4 * SAMPLE_S)]}
    )
    one = found.sums()[RATE]
    assert found.windows.seconds == pytest.approx(12 * SAMPLE_S)
    assert one.estimate.value == pytest.approx(150.0)
    assert one.mean == pytest.approx(150.0)
    assert one.slowest == (pytest.approx(50.0), "b")
    assert one.fastest == (pytest.approx(100.0), "a")
    assert one.fairness == pytest.approx(150**2 / (2 * (100**2 + 50**2)))
    assert found.windows.share == pytest.approx(12 * 2 / (16 + 20))


def test_the_uncertainty_of_clocks_makes_the_common_time_shorter() -> None:
    hosts = {"a": [repetition([10.0] * 20)], "b": [repetition([10.0] * 20)]}
    assert joined(hosts, error_s=0.1).windows.seconds == pytest.approx(1.0 - 0.2)
    assert not joined(hosts, error_s=0.6).windows.by_number


def test_samples_that_begin_at_different_times_add_up_by_their_shares() -> None:
    """Half a sample later, each stretch has about a half of each of two samples."""
    found = joined(
        {"a": [repetition([0, 100] * 8)], "b": [repetition([7.0] * 16, start=SAMPLE_S / 2)]}
    )
    one = found.sums()[RATE]
    assert found.windows.by_number[0].samples == 15
    assert one.mean == pytest.approx(7 + 100 * 8 / 15.5)
    assert one.estimate.value == pytest.approx(one.mean, rel=0.1)


def test_a_host_that_stalls_shows_in_the_mean() -> None:
    stalling = [100.0] * 9 + [0.0] * 3
    found = joined({"a": [repetition(stalling)], "b": [repetition([100.0] * 12)]}).sums()[RATE]
    assert found.estimate.value == pytest.approx(200.0)
    assert found.mean == pytest.approx(175.0)


def test_repetitions_of_other_hosts_are_left_out() -> None:
    """A host is lost after two of six repetitions: the four of the others count."""
    hosts = {
        name: [repetition([rate] * 8, start=number, number=number) for number in range(repetitions)]
        for name, rate, repetitions in (("a", 10.0, 6), ("b", 10.0, 6), ("lost", 10.0, 2))
    }
    found = joined(hosts)
    assert (found.windows.hosts, found.windows.left_out) == (2, 2)
    assert sorted(found.windows.by_number) == [2, 3, 4, 5]
    assert found.sums()[RATE].mean == pytest.approx(20.0)
    assert "lost" not in (found.sums()[RATE].slowest[1], found.sums()[RATE].fastest[1])


def test_repetitions_one_after_the_other_have_no_common_time() -> None:
    found = joined({"a": [repetition([10.0] * 4)], "b": [repetition([10.0] * 4, start=9.0)]})
    assert found.sums() == {}
    assert found.windows.left_out == 1


def test_an_interval_comes_from_the_scatter_between_repetitions() -> None:
    levels = [90.0, 110.0, 95.0, 105.0, 100.0, 92.0, 108.0, 101.0]
    hosts = {
        name: [repetition([level] * 8, start=10.0 * n, number=n) for n, level in enumerate(levels)]
        for name in "ab"
    }
    estimate = joined(hosts).sums()[RATE].estimate
    assert estimate.low is not None
    assert estimate.high is not None
    assert 179.9 < estimate.low < 200 < estimate.high < 220.1


def test_percentiles_are_those_of_all_operations_not_means_of_percentiles() -> None:
    """990 quick operations of one host and 1010 slow ones of the other: the median is slow."""
    quick, slow = histogram(*[1000] * 99), histogram(*[9000] * 101)
    hosts = {
        "a": [repetition([1.0] * 10, samples=[quick] * 10)],
        "b": [repetition([1.0] * 10, samples=[slow] * 10)],
    }
    found = joined(hosts).percentiles()[TIMES]
    low, high = values_of(bucket_of(9000))
    assert low <= found["p50"].value <= high
    assert found["mean"].value == pytest.approx((990 * 1000 + 1010 * 9000) / 2000, rel=0.01)


def test_operations_outside_the_common_time_are_in_no_percentile() -> None:
    samples = [histogram(*[10**6] * 100)] * 5 + [histogram(*[1000] * 100)] * 10
    hosts = {
        "a": [repetition([1.0] * 15, samples=samples)],
        "b": [repetition([1.0] * 10, start=5 * SAMPLE_S, samples=samples[5:])],
    }
    assert joined(hosts).percentiles()[TIMES]["max"].value < 2000


Rates = st.lists(st.floats(0, 1e9), min_size=4, max_size=30)


@given(st.dictionaries(st.sampled_from("abcdef"), st.tuples(Rates, st.floats(0, 0.1)), min_size=2))
def test_nothing_is_lost_and_nothing_is_made(hosts: dict[str, tuple[list[float], float]]) -> None:
    """The stretches hold what samples moved in the common time, whoever comes first."""
    repetitions = {host: [repetition(rates, start)] for host, (rates, start) in hosts.items()}
    found = joined(repetitions)
    again = joined(dict(reversed(repetitions.items())))
    assert (found.sums() == {}) == (not found.windows.by_number)
    for window in found.windows.by_number.values():
        moved = sum(
            rate * window.shared(start, start + SAMPLE_S)
            for (one,) in repetitions.values()
            for start, rate in zip(one.starts, one.rates[RATE], strict=True)
            if rate is not None
        )
        one, other = found.sums()[RATE], again.sums()[RATE]
        assert one.mean * window.seconds == pytest.approx(moved, rel=1e-6, abs=1e-3)
        assert other.mean == pytest.approx(one.mean)
        assert other.estimate.value == pytest.approx(one.estimate.value, rel=1e-6, abs=1e-3)
        assert one.slowest[0] <= one.mean / len(hosts) * (1 + 1e-9)
        if one.fairness is not None:
            assert 1 / len(hosts) <= one.fairness * (1 + 1e-9)
            assert one.fairness <= 1 + 1e-9


def test_a_repetition_ends_with_its_last_sample() -> None:
    """Whatever the others take; the common time has as many stretches as the longest samples."""
    long = HostRepetition(0, 0.25, [0.0, 1.0, 1.5], [1.0, 0.5, 2.0], {RATE: [8.0] * 3}, {})
    found = joined({"a": [repetition([8.0] * 20, sample_s=0.25)], "b": [long]}).windows
    assert long.end == 3.5
    assert found.by_number == {0: Window(0.25, 3.5, 3)}
    assert found.share == pytest.approx(2 * 3.25 / (5 + 3.25))


@pytest.mark.parametrize(
    ("sample_s", "count", "error_s", "stretches"),
    [(0.25, 8, 0.0, 8), (0.25, 1, 0.05, 1), (2.0**-10, 300, 0.0, 200), (0.0, 3, 0.0, 1)],
)
def test_common_time_has_one_to_200_stretches(
    sample_s: float, count: int, error_s: float, stretches: int
) -> None:
    one = repetition([1.0] * count, sample_s=sample_s)
    one = replace(one, warm=-0.5) if sample_s == 0 else one
    (window,) = windows([("a", error_s, one)]).by_number.values()
    assert window.samples == stretches


def test_what_a_sample_moved_before_the_common_time_is_in_no_stretch() -> None:
    """It began three stretches before the first one; the others moved nothing."""
    long = HostRepetition(0, 0.0, [0.0, 1.0, 1.25], [1.0, 0.25, 0.25], {RATE: [8.0, 0, 0]}, {})
    found = joined({"a": [long], "b": [repetition([0.0] * 4, start=0.75, sample_s=0.25)]})
    assert found.windows.by_number == {0: Window(0.75, 1.5, 3)}
    one = found.sums()[RATE]
    assert (one.estimate.value, one.mean) == (0, pytest.approx(8 / 3))


def test_of_two_sets_that_made_as_many_repetitions_the_larger_counts() -> None:
    hosts = {
        name: [repetition([1.0] * 4, start=2.0 * n, number=n) for n in range(count)]
        for name, count in (("a", 4), ("b", 2))
    }
    found = joined(hosts).windows
    assert (found.hosts, sorted(found.by_number), found.left_out) == (2, [0, 1], 2)
    assert found.share == pytest.approx(1)
    assert windows([]) == Windows({}, 0, 0, 0.0)


@pytest.mark.parametrize("letter", "klmnopqrstuvwxyz")
def test_of_two_sets_that_are_as_large_the_first_counts(letter: str) -> None:
    """Whatever the hosts are called: the same files give the same figures each time."""
    hosts = {
        f"{letter}{name}": [repetition([1.0] * 4, start=2.0 * n, number=n) for n in numbers]
        for name, numbers in (("a", (0, 1)), ("b", (0, 1)), ("c", (2, 3)), ("d", (2, 3)))
    }
    assert sorted(joined(hosts).windows.by_number) == [0, 1]


def test_a_repetition_that_hosts_did_not_share_leaves_the_others() -> None:
    hosts = {
        "a": [repetition([1.0] * 4, start=3.0 * n, number=n) for n in range(3)],
        "b": [repetition([1.0] * 4, start=3.0 * n + (n == 1), number=n) for n in range(3)],
    }
    assert sorted(joined(hosts).windows.by_number) == [0, 2]


def test_hosts_that_moved_nothing_have_no_fairness_and_ties_go_by_name() -> None:
    still = joined({name: [repetition([0.0] * 8)] for name in "ab"}).sums()[RATE]
    assert (still.mean, still.fairness) == (0, None)
    one = joined({name: [repetition([3.0] * 8)] for name in "bca"}).sums()[RATE]
    assert (one.slowest[1], one.fastest[1]) == ("a", "c")
    assert one.fairness == pytest.approx(1)


@pytest.mark.parametrize(("late", "slowest"), [(0.25, 9e6), (0.5, 9e6), (0.75, 1e3)])
def test_a_sample_of_which_half_is_common_time_is_in_the_percentiles(
    late: float, slowest: float
) -> None:
    samples = [histogram(9 * 10**6)] + [histogram(1000)] * 7
    hosts = {
        "a": [repetition([1.0] * 8, samples=samples, sample_s=0.25)],
        "b": [repetition([1.0] * 8, start=0.25 * late, sample_s=0.25)],
    }
    assert joined(hosts).percentiles()[TIMES]["max"].value == pytest.approx(slowest, rel=0.02)
    # The same of a last sample, whose middle may be just the end of the common time.
    hosts["a"] = [replace(hosts["a"][0], histograms={})]
    ends = repetition([1.0] * 8, 0.25 * late, samples=samples[::-1], sample_s=0.25)
    hosts["b"] = [ends]
    assert joined(hosts).percentiles()[TIMES]["max"].value == pytest.approx(slowest, rel=0.02)


def drifting(gap: float, start: float = 0.0) -> AtOnce:
    """Twelve repetitions of 1 s, of which each goes on where the one before ended."""
    levels = [100.0 + 2 * n for n in range(12)]
    of_time = [[histogram(*range(1000 + 10 * n, 1400 + 10 * n)) for _ in range(8)]
               for n in range(12)]  # fmt: skip
    return joined(
        {
            "a": [
                repetition(
                    [level + k / 4 for k in range(8)], start + n * (1 + gap), n, times, 0.125
                )
                for n, (level, times) in enumerate(zip(levels, of_time, strict=True))
            ]
        }
    )


def test_when_hosts_began_does_not_matter() -> None:
    """A shift of all times changes nothing: each operation stays in its stretch."""
    at_0, later = drifting(10.0), drifting(10.0, 4096.0)
    assert at_0.sums() == later.sums()
    assert at_0.percentiles() == later.percentiles()
    assert at_0.percentiles()[TIMES]["p50"].low is not None


def test_repetitions_that_are_far_apart_do_not_continue_each_other() -> None:
    """From ten times their own length on."""
    found = [drifting(gap) for gap in (0.0, 9.5, 10.0, 20.0)]
    near, still_near, far, farther = (one.sums()[RATE].estimate for one in found)
    assert near == still_near != far == farther
    times = [one.percentiles()[TIMES]["p50"] for one in found]
    assert times[0] == times[1] != times[2] == times[3]

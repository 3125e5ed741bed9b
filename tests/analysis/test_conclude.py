"""What repetitions come to: which samples count, and what is concluded from exactly those."""

import random
from collections.abc import Callable, Sequence
from statistics import mean, median, pstdev
from typing import Any

import pytest

from tierscope.analysis.conclude import conclude, interim_analysis
from tierscope.kinds.bandwidth.spec import BandwidthSpec
from tierscope.kinds.loaded_latency.spec import LoadedLatencySpec
from tierscope.model.event import Evidence, Repetition
from tierscope.model.run import Figure
from tierscope.model.spec import MeasurementSpec, Sampling
from tierscope.report.figures import relative_half

SAMPLE_S = 0.01
KEEP = (100.0, 0.1)


def spec(budget_s: float = 10.0, precision: float = 0.01) -> MeasurementSpec:
    return BandwidthSpec.model_validate(
        {
            "id": "m", "initiator": "node:0", "target": "node:0", "cpus": [0, 1],
            "placement": {"policy": "bind", "nodes": [{"node": 0}]},
            "pattern": {"operation": "write", "size": 1 << 20},
            "sampling": {"precision": precision, "budget_s": budget_s, "sample_s": SAMPLE_S},
        }
    )  # fmt: skip


def repetition(
    columns: dict[str, Sequence[float | None]],
    disturbed: Sequence[int] | None = (),
    more: Sequence[dict[str, Any]] = (),
    **changes: Any,
) -> Repetition:
    """A repetition whose first series has these columns, named ``metric`` or ``metric part``."""
    n = len(next(iter(columns.values())))
    first = series("windows", columns, disturbed)
    return Repetition.model_validate(
        {
            "id": "m", "seconds": n * SAMPLE_S, "fresh": False, "interrupted": False,
            "series": [first, *more], "evidence": {}, **changes,
        }
    )  # fmt: skip


def series(
    name: str, columns: dict[str, Sequence[float | None]], disturbed: Sequence[int] | None = ()
) -> dict[str, Any]:
    n = len(next(iter(columns.values())))
    named = [(*key.split(" "), "")[:2] for key in columns]
    return {
        "name": name,
        "starts": [i * SAMPLE_S for i in range(n)],
        "durations": [SAMPLE_S] * n,
        "disturbed": None if disturbed is None else list(disturbed),
        "columns": [
            {"metric": metric, "part": part, "values": list(values)}
            for (metric, part), values in zip(named, columns.values(), strict=True)
        ],
    }


def spread(repetitions: Sequence[Repetition]) -> list[Repetition]:
    """Give repetitions the times of a run in which each comes after many others."""
    return [one.model_copy(update={"at_s": 30.0 * i}) for i, one in enumerate(repetitions)]


def samples(n: int, value: Callable[[int], float]) -> list[float]:
    return [value(i) for i in range(n)]


def figure(figures: list[Figure], metric: str, part: str = "") -> Figure:
    return next(f for f in figures if (f.metric, f.part) == (metric, part))


# Which samples count: warm-up.


def test_samples_are_dropped_until_two_agree() -> None:
    values = samples(60, lambda i: 10.0 * i + 1 if i < 5 else 100.0)
    found = conclude(spec(), [repetition({"bandwidth": values})])
    assert len(found.samples) == 60 - 7  # five rising ones, then 100 and the 100 that agrees
    assert found.figures[0].ci_low == 100.0


def test_warm_up_takes_a_fifth_of_a_repetition_at_most_and_says_so() -> None:
    values = samples(100, lambda i: 100.0 if i % 2 == 0 else 200.0)
    found = conclude(spec(), [repetition({"bandwidth": values})])
    assert len(found.samples) == 80
    assert "no two successive samples agreed in the warm-up" in (found.evidence.notes or [])


def test_every_repetition_warms_up_anew() -> None:
    values = samples(50, lambda i: 50.0 if i == 0 else 100.0)
    found = conclude(spec(), [repetition({"bandwidth": values})] * 3)
    assert found.samples == [100.0] * 3 * 47


def test_only_the_first_series_warms_up() -> None:
    timed = series("timed", {"latency_p50": [9.0, 1.0, 9.0]})
    found = conclude(spec(), [repetition({"latency": [1.0] * 30}, more=[timed])] * 5)
    assert figure(found.figures, "latency_p50").estimate == 9.0


def test_a_repetition_of_one_sample_keeps_it() -> None:
    found = conclude(spec(budget_s=0.01), [repetition({"bandwidth": [5.0]})])
    assert (found.samples, found.stop) == ([5.0], "budget")


# Which samples count: disturbance.


def test_disturbed_samples_are_dropped_where_enough_others_remain() -> None:
    values = samples(60, lambda i: 200.0 if i % 3 == 2 else 100.0)
    found = conclude(spec(), [repetition({"bandwidth": values}, disturbed=range(2, 60, 3))])
    assert found.figures[0].ci_high == 100.0
    assert (found.evidence.disturbed, found.evidence.replaced) == (0, 20)


def test_six_undisturbed_samples_count_alone() -> None:
    values = samples(32, lambda i: 100.0 if i >= 26 else 200.0)
    found = conclude(spec(), [repetition({"bandwidth": values}, disturbed=range(26))])
    assert found.samples == [100.0] * 6
    assert (found.evidence.disturbed, found.evidence.replaced) == (0, 24)


def test_disturbed_samples_are_kept_where_too_few_others_remain() -> None:
    found = conclude(spec(), [repetition({"bandwidth": [100.0] * 30}, disturbed=range(25))] * 1)
    assert len(found.samples) == 28
    assert (found.evidence.disturbed, found.evidence.replaced) == (23, 0)
    assert found.stop == "budget"


def test_percentile_samples_are_watched_alike() -> None:
    timed = series("timed", {"latency_p99": [500.0] * 14 + [90.0] * 6}, disturbed=range(14))
    found = conclude(spec(), [repetition({"latency": [1.0] * 30}, more=[timed])])
    assert figure(found.figures, "latency_p99").estimate == 90.0


def test_disturbance_is_absent_where_nobody_looked() -> None:
    found = conclude(spec(), [repetition({"bandwidth": [100.0] * 30}, disturbed=None)])
    assert (found.evidence.disturbed, found.evidence.replaced) == (None, None)


# All columns over the same samples.


def disturbed_repetition(seed: int) -> Repetition:
    """A write of two threads: a slow warm-up, then noise, and every fifth sample disturbed."""
    source = random.Random(seed)
    total = [
        source.gauss(*KEEP) * (0.3 if i < 4 else 1.0) * (0.5 if i % 5 == 4 else 1.0)
        for i in range(100)
    ]
    return repetition(
        {
            "bandwidth": total,
            "bandwidth_with_write_allocate": [2 * value for value in total],
            "thread_bandwidth 0": [0.75 * value for value in total],
            "thread_bandwidth 1": [0.25 * value for value in total],
        },
        disturbed=range(4, 100, 5),
    )


def test_write_allocate_is_exactly_twice_what_the_program_wrote() -> None:
    found = conclude(spec(), [disturbed_repetition(1), disturbed_repetition(2)])
    bus = figure(found.figures, "bandwidth_with_write_allocate")
    first = found.figures[0]
    assert first.ci_low is not None
    assert first.ci_high is not None
    assert (bus.estimate, bus.ci_low, bus.ci_high) == (
        2 * first.estimate, 2 * first.ci_low, 2 * first.ci_high
    )  # fmt: skip


def test_threads_are_evidence_over_the_same_samples() -> None:
    found = conclude(spec(), [disturbed_repetition(1)])
    assert found.evidence.threads is not None
    assert sum(found.evidence.threads) == pytest.approx(found.figures[0].estimate)
    assert [f.metric for f in found.figures] == ["bandwidth", "bandwidth_with_write_allocate"]


def test_the_phases_of_mapping_add_up_to_the_headline() -> None:
    source = random.Random(7)
    pages, columns = 64, {"time_per_page": [], "map": [], "populate_per_page": [],
                          "unmap_per_page": []}  # type: dict[str, list[float]]  # fmt: skip
    for i in range(100):
        slow = (4.0 if i < 5 else 1.0) * (2.0 if i % 5 == 4 else 1.0)
        phases = [source.gauss(mean, mean / 500) * slow for mean in (6000.0, 350.0, 60.0)]
        for name, value in zip(list(columns)[1:], phases, strict=True):
            columns[name].append(value)
        columns["time_per_page"].append(phases[0] / pages + phases[1] + phases[2])
    found = conclude(spec(), [repetition(columns, disturbed=range(4, 100, 5))])
    once = {f.metric: f.estimate for f in found.figures}
    total = once["map"] / pages + once["populate_per_page"] + once["unmap_per_page"]
    assert total == pytest.approx(found.figures[0].estimate, rel=1e-3)


def test_samples_without_a_value_are_left_out_of_that_figure_only() -> None:
    columns: dict[str, Sequence[float | None]] = {
        "bandwidth": [100.0] * 40,
        "bandwidth b": [None, 10.0] * 20,
    }
    found = conclude(spec(), [repetition(columns)])
    assert len(found.samples) == 38
    assert figure(found.figures, "bandwidth", "b").estimate == 10.0


def test_a_headline_without_any_value_is_refused() -> None:
    with pytest.raises(ValueError, match="no sample has a value of bandwidth"):
        conclude(spec(), [repetition({"bandwidth": [None, None]})])


# When it ends.


@pytest.mark.parametrize(
    ("values", "cut", "stop"),
    [
        (samples(100, lambda i: 100.0 + 0.1 * (i * 7 % 5)), False, "precision"),
        (samples(100, lambda i: 100.0 * (1 + 0.005 * i)), False, "budget"),
        (samples(100, lambda i: 100.0 * (1 + 0.005 * i)), True, "interrupted"),
    ],
)
def test_the_stop_reason(values: list[float], cut: bool, stop: str) -> None:
    assert conclude(spec(), [repetition({"bandwidth": values})] * 6, cut=cut).stop == stop


def test_a_signal_is_the_stop_reason_even_of_a_precise_figure() -> None:
    assert conclude(spec(), [repetition({"bandwidth": [1.0] * 50}, interrupted=True)]).stop == (
        "interrupted"
    )


def test_one_sitting_is_never_precise_and_says_that_it_was_one() -> None:
    found = conclude(spec(), [repetition({"bandwidth": [100.0] * 200})])
    assert found.stop == "budget"
    assert any(note.startswith("one repetition:") for note in found.evidence.notes or [])


def test_fewer_than_six_effective_samples_are_never_precise() -> None:
    # Each repetition holds still at a level of its own: five samples, not sixty.
    repetitions = [repetition({"bandwidth": [100 + 0.05 * (i * 2 % 5)] * 12}) for i in range(5)]
    assert not interim_analysis(Sampling(sample_s=SAMPLE_S), spread(repetitions)).precise
    more = [repetition({"bandwidth": [100 + 0.05 * (i * 2 % 5)] * 12}) for i in range(16)]
    assert interim_analysis(Sampling(sample_s=SAMPLE_S), spread(more)).precise


def test_adjacent_repetitions_of_a_drifting_series_are_never_precise() -> None:
    source = random.Random(7)
    drifting = [100 + 0.01 * i + source.gauss(0, 0.01) for i in range(192)]
    repetitions = [repetition({"bandwidth": drifting[at : at + 12]}) for at in range(0, 192, 12)]
    found = conclude(spec(), repetitions)
    assert (found.figures[0].no_interval, found.stop) == ("autocorrelated", "budget")


def test_the_range_of_repetitions_keeps_a_lucky_interval_from_being_precise() -> None:
    source = random.Random(7)
    quiet = [[source.gauss(100, 0.1) for _ in range(12)] for _ in range(15)]
    alike = [repetition({"bandwidth": values}) for values in quiet]
    other = [*alike, repetition({"bandwidth": [110.0] * 12})]
    sampling = Sampling(sample_s=SAMPLE_S)
    assert interim_analysis(sampling, spread(alike)).precise
    found = interim_analysis(sampling, spread(other))
    assert found.relative_half_width < 0.01
    assert not found.precise


def test_the_repetitions_that_decide_do_not_make_the_interval() -> None:
    source = random.Random(7)
    alike = [samples(12, lambda _: source.gauss(100, 0.6)) for _ in range(8)]
    differing = [[value + level for value in alike[0]] for level in (-2, -1.5, -1, 0, 0, 1, 1.5, 2)]
    pairs = zip(alike, differing, strict=True)
    repetitions = spread([repetition({"bandwidth": values}) for pair in pairs for values in pair])
    interim = interim_analysis(spec().sampling, repetitions)
    found = conclude(spec(), repetitions)
    assert (interim.precise, found.stop) == (True, "precision")
    assert relative_half(found.figures[0]) > 0.01 > interim.relative_half_width


def test_a_series_of_one_repetition_is_concluded_where_halves_of_the_repetitions_decide() -> None:
    source = random.Random(7)
    alike = [samples(12, lambda _: source.gauss(100, 0.6)) for _ in range(8)]
    differing = [[value + level for value in alike[0]] for level in (-2, -1.5, -1, 0, 0, 1, 1.5, 2)]
    pairs = zip(alike, differing, strict=True)
    first_copy = series("first", {"first_copy_bandwidth": [70.0]})
    repetitions = spread(
        [
            repetition({"bandwidth": values}, more=[first_copy] if number == 0 else [])
            for number, values in enumerate(values for pair in pairs for values in pair)
        ]
    )
    found = conclude(spec(), repetitions)
    assert found.stop == "precision"
    first = figure(found.figures, "first_copy_bandwidth")
    assert (first.estimate, first.no_interval) == (70.0, "few-samples")


def test_two_modes_are_never_precise() -> None:
    source = random.Random(7)
    repetitions = [
        repetition({"bandwidth": samples(12, lambda _: source.choice([100.0, 120.0]))})
        for _ in range(16)
    ]
    assert not interim_analysis(Sampling(sample_s=SAMPLE_S), repetitions).precise


def test_rare_outliers_do_not_move_a_figure() -> None:
    source = random.Random(7)
    repetitions = [
        repetition({"bandwidth": samples(
            20, lambda _: 1e6 if source.random() < 0.05 else source.gauss(100, 0.5)
        )})
        for _ in range(15)
    ]  # fmt: skip
    found = conclude(spec(), repetitions)
    assert found.stop == "precision"
    assert found.figures[0].estimate == pytest.approx(100.0, abs=1.0)


# What is said beside the figure.


def test_the_type_b_share_of_a_kind_widens_all_its_intervals() -> None:
    class Wider(BandwidthSpec):
        type_b = 0.001

    wider = Wider.model_validate(spec().model_dump())
    columns = {"bandwidth": [100.0] * 40, "call_latency": [10.0] * 40}
    found = conclude(wider, [repetition(columns)])
    assert (found.figures[0].ci_low, found.figures[0].ci_high) == pytest.approx((99.9, 100.1))
    call = figure(found.figures, "call_latency")
    assert (call.ci_low, call.ci_high) == pytest.approx((9.99, 10.01))


@pytest.mark.parametrize(
    ("values", "note"),
    [
        ([float(100 + i) for i in range(60)], "autocorrelated samples (effective n = "),
        ([100.0, 104.0, 102.0, 103.0, 101.0, 104.5], "few samples (effective n = "),
    ],
)
def test_few_effective_samples_are_said_to_be_few(values: list[float], note: str) -> None:
    found = conclude(spec(), [repetition({"bandwidth": values})])
    assert any(said.startswith(note) for said in found.evidence.notes or [])


def test_evidence_of_repetitions_is_merged() -> None:
    first = Evidence.model_validate(
        {
            "pages": {"0": 10}, "verified": "1 byte", "cpus": [0], "notes": ["a"],
            "steal_share": 0.1,
            "counters": [{"source": "s", "bytes": 1.0, "program_bytes": 2.0, "bus_bytes": 3.0}],
            "gpus": [{"gpu": 0, "name": "g", "samples": 2, "power_w": [5.0, 7.0],
                      "throttle": ["heat"]}],
        }
    )  # fmt: skip
    second = Evidence.model_validate(
        {
            "pages": {"1": 20}, "verified": "2 bytes", "notes": ["a", "b"], "steal_share": 0.3,
            "counters": [{"source": "s", "bytes": 10.0, "program_bytes": 20.0, "bus_bytes": 30.0}],
            "gpus": [{"gpu": 0, "name": "g", "samples": 3, "power_w": [6.0, 9.0], "throttle": []}],
        }
    )  # fmt: skip
    repetitions = [
        repetition({"bandwidth": [1.0] * 30}, evidence=one.model_dump()) for one in (first, second)
    ]
    found = conclude(spec(), repetitions).evidence
    assert found.pages == {"0": 10, "1": 20}
    assert (found.verified, found.cpus) == ("2 bytes", [0])
    assert found.notes == ["a", "b"]
    assert found.steal_share == pytest.approx(0.2)
    assert found.counters is not None
    assert (found.counters[0].bytes, found.counters[0].bus_bytes) == (11.0, 33.0)
    assert found.gpus is not None
    assert (found.gpus[0].samples, found.gpus[0].power_w) == (5, [5.0, 9.0])
    assert found.gpus[0].throttle == ["heat"]


def traced(values: list[float]) -> Evidence:
    sample = {
        "group": "operation", "name": "copy", "count": len(values), "bytes": 8.0 * len(values),
        "total_ns": sum(values), "mean_ns": mean(values), "median_ns": median(values),
        "min_ns": min(values), "max_ns": max(values), "stddev_ns": pstdev(values),
    }  # fmt: skip
    return Evidence.model_validate({"trace": [sample]})


def test_a_trace_covers_all_repetitions() -> None:
    first, second = [1.0, 2.0, 3.0], [5.0, 9.0, 7.0, 7.0]
    repetitions = [
        repetition({"bandwidth": [1.0] * 30}, evidence=traced(values).model_dump())
        for values in (first, second)
    ]
    samples = conclude(spec(), repetitions).evidence.trace
    assert samples is not None
    (sample,) = samples
    together = first + second
    assert (sample.count, sample.bytes, sample.total_ns) == (7, 56.0, sum(together))
    assert (sample.min_ns, sample.max_ns) == (1.0, 9.0)
    assert (sample.mean_ns, sample.stddev_ns) == pytest.approx((mean(together), pstdev(together)))


@pytest.mark.parametrize(("drift", "settled"), [(0.0, True), (0.2, False)])
def test_loaded_latency_says_whether_all_its_columns_held_still(
    drift: float, settled: bool
) -> None:
    loaded = LoadedLatencySpec.model_validate(
        {
            "id": "m", "initiator": "node:0", "target": "node:0", "cpu": 0,
            "placement": {"policy": "bind", "nodes": [{"node": 0}]},
            "pattern": {"size": 1 << 20},
            "load": {
                "initiator": "node:0", "target": "node:0", "cpus": [1],
                "placement": {"policy": "bind", "nodes": [{"node": 0}]},
                "pattern": {"size": 1 << 20},
            },
        }
    )  # fmt: skip
    rates = samples(40, lambda i: 1e9 * (1 + drift * i / 40))
    found = conclude(loaded, [repetition({"latency": [100.0] * 40, "bandwidth": rates})])
    assert found.evidence.settled is settled

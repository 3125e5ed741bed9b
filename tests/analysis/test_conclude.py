"""What repetitions come to: which samples count, and what is concluded from exactly those."""

import math
import random
from collections.abc import Callable, Sequence
from statistics import mean, median, pstdev
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.analysis.conclude import InterimAnalysis, conclude, interim_analysis
from tierscope.analysis.estimate import estimate_median
from tierscope.analysis.warm_up import warm_up
from tierscope.kinds.bandwidth.spec import BandwidthSpec
from tierscope.kinds.loaded_latency.spec import LoadedLatencySpec
from tierscope.model.event import Evidence, Repetition
from tierscope.model.run import Figure
from tierscope.model.spec import MeasurementSpec

SAMPLE_S = 0.01
LOST = 0.25
"""Of a disturbed sample."""
KEEP = (100.0, 0.1)


def spec(
    budget_s: float = 10.0, precision: float = 0.01, cpus: Sequence[int] = (0, 1)
) -> MeasurementSpec:
    return BandwidthSpec.model_validate(
        {
            "id": "m", "initiator": "node:0", "target": "node:0", "cpus": list(cpus),
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
        "lost": None if disturbed is None else [LOST * (i in disturbed) for i in range(n)],
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


def interim(repetitions: Sequence[Repetition]) -> InterimAnalysis:
    found = interim_analysis(spec(), spread(repetitions))
    assert found is not None
    return found


def figure(figures: list[Figure], metric: str, part: str = "") -> Figure:
    return next(f for f in figures if (f.metric, f.part) == (metric, part))


# Which samples count: warm-up.


def test_what_repetitions_have_in_common_at_their_beginning_is_dropped_from_each() -> None:
    source = random.Random(3)
    slow = (40.0, 70.0, 90.0)
    repetitions = [
        repetition({"bandwidth": [*slow, *(source.gauss(*KEEP) for _ in range(17))]})
        for _ in range(5)
    ]
    found = conclude(spec(), spread(repetitions))
    assert len(found.samples) == 5 * 16
    assert min(found.samples) > 99


def test_a_figure_whose_samples_still_change_has_no_interval() -> None:
    source = random.Random(3)
    rising = [
        repetition({"bandwidth": [90.0 + i + source.gauss(0, 0.1) for i in range(20)]})
        for _ in range(5)
    ]
    found = conclude(spec(), spread(rising))
    assert found.figures[0].no_interval == "unsettled"
    assert found.stop == "budget"


def test_a_small_change_within_repetitions_extends_the_interval_to_where_it_leads() -> None:
    source = random.Random(3)
    level = [source.gauss(100, 0.05) for _ in range(8)]
    made = [repetition({"bandwidth": samples(20, lambda i, at=at: at + 0.05 * i)}) for at in level]
    rising = conclude(spec(), spread(made)).figures[0]
    assert rising.ci_high is not None
    assert rising.ci_low is not None
    assert rising.ci_high - rising.estimate > 3 * (rising.estimate - rising.ci_low)
    assert rising.ci_high > 101.2
    # By twice the change, as a factor: e to the power of it.
    found = warm_up([one.series[0] for one in made], 0.01)
    kept = [one.series[0].columns[0].values[found.samples :] for one in made]
    still = estimate_median([[value or 0 for value in one] for one in kept], 0.04, apart=True)
    assert found.drift > 0.001
    assert rising.ci_high == pytest.approx((still.high or 0) * math.exp(2 * found.drift))


@given(
    st.integers(2, 12), st.integers(3, 24), st.floats(0.3, 3), st.floats(-6, 0), st.integers(0, 99)
)
def test_an_interval_is_above_0_however_samples_scatter_and_change(
    number: int, length: int, deviation: float, change: float, seed: int
) -> None:
    source = random.Random(seed)
    made = [
        repetition(
            {
                "bandwidth": samples(
                    length,
                    lambda i: math.exp(source.gauss(change * i / length, deviation)),
                )
            }
        )
        for _ in range(number)
    ]
    found = conclude(spec(), spread(made)).figures[0]
    assert found.ci_low is None or 0 < found.ci_low <= found.estimate


def test_only_the_first_series_warms_up() -> None:
    timed = series("timed", {"latency_p50": [9.0, 1.0, 9.0]})
    found = conclude(spec(), [repetition({"latency": [1.0] * 30}, more=[timed])] * 5)
    assert figure(found.figures, "latency_p50").estimate == 9.0


def test_a_repetition_of_one_sample_keeps_it() -> None:
    found = conclude(spec(budget_s=0.01), [repetition({"bandwidth": [5.0]})])
    assert (found.samples, found.stop) == ([5.0], "budget")


# Which samples count: disturbance.


def test_disturbed_samples_are_dropped() -> None:
    values = samples(60, lambda i: 200.0 if i % 3 == 2 else 100.0)
    found = conclude(spec(), [repetition({"bandwidth": values}, disturbed=range(2, 60, 3))])
    assert found.figures[0].ci_high == 100.0
    assert (found.evidence.disturbed, found.evidence.replaced) == (0, 20)


@pytest.mark.parametrize("clean", [1, 5, 6])
def test_a_few_undisturbed_samples_count_alone(clean: int) -> None:
    values = samples(30, lambda i: 100.0 if i >= 30 - clean else 200.0)
    found = conclude(spec(), [repetition({"bandwidth": values}, disturbed=range(30 - clean))])
    assert found.samples == [100.0] * clean
    assert (found.evidence.disturbed, found.evidence.replaced) == (0, 30 - clean)
    assert found.figures[0].ci_low is None


def test_what_a_single_thread_did_counts_by_its_cpu_time_where_all_samples_are_disturbed() -> None:
    source = random.Random(4)
    columns = {
        "bandwidth": [75.0 + source.gauss(0, 0.1) for _ in range(30)],
        "time_per_load": [4.0] * 30,
        "tries_per_update": [1.5] * 30,
    }
    disturbed = spread([repetition(columns, disturbed=range(30))] * 12)
    found = conclude(spec(cpus=[0]), disturbed)
    corrected = figure(found.figures, "bandwidth")
    assert corrected.ci_low
    assert corrected.ci_high
    assert 99.5 < corrected.ci_low < corrected.estimate < corrected.ci_high < 100.5
    assert figure(found.figures, "time_per_load").estimate == 3.0
    assert figure(found.figures, "tries_per_update").estimate == 1.5
    evidence = found.evidence
    assert (evidence.by_cpu_time, evidence.cpu_share, evidence.disturbed) == (True, 0.75, 360)
    several = conclude(spec(cpus=[0, 1]), disturbed)
    assert several.figures[0].no_interval == "disturbed"
    assert (several.evidence.by_cpu_time, several.evidence.cpu_share) == (None, 0.75)


def test_a_sample_without_a_value_or_any_cpu_time_is_not_corrected() -> None:
    """Of others' times and rates: half the time was lost, or all of it."""
    columns: dict[str, Sequence[float | None]] = {
        "bandwidth": [50.0, 50.0, 7.0] * 10,
        "time_per_load": [8.0, None, 7.0] * 10,
        "updates": [3.0, 3.0, 7.0] * 10,
    }
    one = repetition(columns, disturbed=range(30))
    lost = one.series[0].model_copy(update={"lost": [0.5, 0.5, 1.0] * 10})
    one = one.model_copy(update={"series": [lost]})
    found = conclude(spec(cpus=[0]), spread([one] * 12))
    assert set(found.samples) == {100.0}
    estimates = {f.metric: f.estimate for f in found.figures}
    assert estimates == {"bandwidth": 100, "time_per_load": 4, "updates": 6}
    assert found.evidence.cpu_share == pytest.approx(1 / 3, abs=1e-3)


def test_undisturbed_samples_are_not_corrected_where_they_give_an_interval() -> None:
    values = [75.0] * 10 + [100.0] * 20
    found = conclude(spec(cpus=[0]), spread([repetition({"bandwidth": values}, range(10))] * 12))
    assert (found.evidence.by_cpu_time, found.evidence.replaced) == (None, 120)
    assert found.figures[0].estimate == 100.0


def test_undisturbed_samples_of_repetitions_far_apart_give_an_interval_of_their_own() -> None:
    """From repetition to repetition they drift, which is no correlation of what is so far apart."""
    source = random.Random(3)
    made = [
        repetition(
            {"bandwidth": [75.0] + [100 + 0.01 * i + source.gauss(0, 0.01) for _ in range(15)]},
            disturbed=[0],
        )
        for i in range(12)
    ]
    found = conclude(spec(cpus=[0]), spread(made))
    assert (found.evidence.by_cpu_time, found.evidence.replaced) == (None, 12)
    assert found.figures[0].ci_low is not None
    near = [one.model_copy(update={"at_s": 0.2 * i}) for i, one in enumerate(made)]
    assert conclude(spec(cpus=[0]), near).evidence.by_cpu_time


def test_what_the_hypervisor_took_disturbs_a_sample() -> None:
    one = repetition({"bandwidth": [100.0] * 20 + [50.0] * 10})
    stolen = one.series[0].model_copy(update={"stolen": [0.0] * 20 + [0.01] * 10})
    found = conclude(spec(), [one.model_copy(update={"series": [stolen]})])
    assert (found.figures[0].estimate, found.evidence.replaced) == (100.0, 10)


def test_where_all_samples_are_disturbed_they_count_without_an_interval() -> None:
    disturbed = repetition({"bandwidth": [100.0] * 30}, disturbed=range(30))
    found = conclude(spec(), spread([disturbed] * 12))
    assert (found.evidence.disturbed, found.evidence.replaced) == (360, 0)
    assert (found.figures[0].no_interval, found.stop) == ("disturbed", "budget")


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
    assert (bus.estimate, bus.ci_low, bus.ci_high) == pytest.approx(
        (2 * first.estimate, 2 * first.ci_low, 2 * first.ci_high)
    )


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
    assert len(found.samples) == 40
    assert figure(found.figures, "bandwidth", "b").estimate == 10.0


def test_a_headline_without_any_value_is_refused() -> None:
    with pytest.raises(ValueError, match="no sample has a value of bandwidth"):
        conclude(spec(), [repetition({"bandwidth": [None, None]})])


def test_samples_in_which_nothing_ended_leave_no_interval_that_begins_at_0() -> None:
    values = [*[100.0, 0.0] * 10, 100.0]
    repetitions = [repetition({"bandwidth": values}) for _ in range(6)]
    (first,) = conclude(spec(), repetitions).figures
    assert (first.estimate, first.ci_low, first.no_interval) == (100.0, None, "idle-samples")
    few = [100.0] * 19 + [0.0]
    (first,) = conclude(spec(), [repetition({"bandwidth": few}) for _ in range(6)]).figures
    assert (first.ci_low, first.no_interval) == (100.0, None)
    idle = [repetition({"bandwidth": [100.0, 0.0, 0.0]}) for _ in range(6)]
    said = "no operation ended in most samples of 10 ms: give longer samples or rounds"
    with pytest.raises(ValueError, match=said):
        conclude(spec(), idle)


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
    assert conclude(spec(), [repetition({"bandwidth": values})] * 12, cut=cut).stop == stop


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
    assert not interim(repetitions).precise
    more = [repetition({"bandwidth": [100 + 0.05 * (i * 2 % 5)] * 12}) for i in range(16)]
    assert interim(more).precise


@pytest.mark.parametrize(("apart_s", "precise"), [(0.15, False), (0.2, True)])
def test_a_figure_that_is_precise_was_measured_for_two_seconds(
    apart_s: float, precise: bool
) -> None:
    source = random.Random(3)
    made = [
        repetition({"bandwidth": samples(16, lambda _: source.gauss(100, 0.1))}, at_s=apart_s * i)
        for i in range(12)
    ]
    found = interim_analysis(spec(), made)
    assert found is not None
    assert found.precise is precise


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
    assert interim(alike).precise
    found = interim(other)
    assert found.relative_half_width < 0.01
    assert not found.precise


@pytest.mark.parametrize(
    ("deviation", "repetitions", "precise"),
    [(0.1, 7, False), (0.1, 8, True), (1.0, 11, False), (1.0, 12, True)],
)
def test_a_figure_that_is_precise_took_many_repetitions(
    deviation: float, repetitions: int, precise: bool
) -> None:
    source = random.Random(3)
    made = [
        repetition({"bandwidth": samples(16, lambda _: source.gauss(100, deviation))})
        for _ in range(repetitions)
    ]
    assert interim(made).precise is precise


def test_an_interval_that_is_as_narrow_as_asked_is_precise() -> None:
    source = random.Random(3)
    made = spread(
        [
            repetition({"bandwidth": samples(16, lambda _: source.gauss(100, 1.0))})
            for _ in range(16)
        ]
    )
    width = interim(made).relative_half_width
    for precision, precise in ((width, True), (width * (1 - 1e-9), False)):
        found = interim_analysis(spec(precision=precision), made)
        assert found is not None
        assert (found.relative_half_width, found.precise) == (width, precise)


@pytest.mark.parametrize(
    ("gap", "unknown", "apart"), [(9.9, False, False), (10.1, False, True), (10.1, True, False)]
)
def test_repetitions_that_are_ten_times_their_length_apart_do_not_continue_each_other(
    gap: float, unknown: bool, apart: bool
) -> None:
    """A drift from each to the next one is no correlation then, which leaves an interval."""
    source = random.Random(3)
    made = [
        repetition(
            {"bandwidth": [100 + 0.01 * i + source.gauss(0, 0.01) for _ in range(16)]},
            at_s=None if unknown and i == 5 else i * (1 + gap) * 16 * SAMPLE_S,
        )
        for i in range(12)
    ]
    assert (conclude(spec(), made).figures[0].ci_low is not None) is apart


def test_few_repetitions_say_nothing_yet() -> None:
    three = spread([repetition({"bandwidth": [100.0] * 16})] * 3)
    assert interim_analysis(spec(), three) is None


@pytest.mark.parametrize(("length", "too_short"), [(12, True), (40, False)])
def test_repetitions_that_warm_up_for_most_of_their_time_are_too_short(
    length: int, too_short: bool
) -> None:
    source = random.Random(7)
    made = [
        repetition({"bandwidth": samples(length, lambda i: source.gauss(90 + min(i, 10), 0.2))})
        for _ in range(5)
    ]
    assert interim(made).too_short is too_short


def test_a_series_of_one_repetition_is_concluded_beside_others() -> None:
    source = random.Random(3)
    first_copy = series("first", {"first_copy_bandwidth": [70.0]})
    repetitions = spread(
        [
            repetition(
                {"bandwidth": samples(16, lambda _: source.gauss(100, 0.6))},
                more=[first_copy] if number == 0 else [],
            )
            for number in range(12)
        ]
    )
    found = conclude(spec(), repetitions)
    assert found.figures[0].ci_low is not None
    first = figure(found.figures, "first_copy_bandwidth")
    assert (first.estimate, first.no_interval) == (70.0, "few-samples")


def test_two_modes_are_said_and_never_precise() -> None:
    source = random.Random(7)
    repetitions = [
        repetition({"bandwidth": samples(12, lambda _: source.choice([100.0, 120.0]))})
        for _ in range(16)
    ]
    assert not interim(repetitions).precise
    fast, slow = conclude(spec(), spread(repetitions)).evidence.modes or []
    assert (fast.value, slow.value) == (120.0, 100.0)
    assert fast.share + slow.share == 1
    assert fast.share == pytest.approx(0.5, abs=0.1)


def test_of_two_times_the_shorter_is_the_faster_mode() -> None:
    source = random.Random(7)
    repetitions = [
        repetition({"latency": samples(12, lambda _: 120.0 if source.random() < 0.3 else 100.0)})
        for _ in range(16)
    ]
    found = conclude(spec(), spread(repetitions))
    fast, slow = found.evidence.modes or []
    assert (fast.value, slow.value) == (100.0, 120.0)
    assert found.figures[0].ci_high == 100.0, "they changed too often to be one that lasts"
    assert fast.share == pytest.approx(0.7, abs=0.1)
    assert slow.share == pytest.approx(1 - fast.share)


def test_where_modes_changed_seldom_the_interval_holds_both() -> None:
    source = random.Random(7)
    repetitions = [
        repetition({"bandwidth": samples(12, lambda _, at=at: source.gauss(at, 0.1))})
        for at in [100.0] * 6 + [92.0] * 2 + [100.0] * 5
    ]
    found = conclude(spec(), spread(repetitions))
    low, high = found.figures[0].ci_low, found.figures[0].ci_high
    assert low is not None
    assert high is not None
    assert low < 92.1
    assert high > 99.9
    assert found.evidence.modes is None, "two changes may be a drift"


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
        ([100.0, 104.0, 102.0, 103.0, 101.0], "few samples (effective n = "),
    ],
)
def test_few_effective_samples_are_said_to_be_few(values: list[float], note: str) -> None:
    found = conclude(spec(), [repetition({"bandwidth": values})])
    assert any(said.startswith(note) for said in found.evidence.notes or [])


def test_how_many_samples_are_few_is_said_by_their_number() -> None:
    """Twelve are not few in themselves, beside the three that are dropped as warm-up."""
    for n, what in ((11, "few"), (12, "autocorrelated")):
        values = samples(n + 3, lambda i: 100.0 + i)
        rising = conclude(spec(), [repetition({"bandwidth": values})])
        assert len(rising.samples) == n
        one, said, *_ = rising.evidence.notes or []
        assert one.startswith("one repetition: ")
        assert said.startswith(f"{what} samples (effective n = ")


@pytest.mark.parametrize(("fresh", "said"), [((0, 0), True), ((0, 1), False), ((0,), False)])
def test_one_set_of_pages_is_said_of_several_repetitions(
    fresh: tuple[int, ...], said: bool
) -> None:
    made = [repetition({"bandwidth": [100.0] * 30}, fresh=bool(one)) for one in fresh]
    notes = conclude(spec(), made).evidence.notes or []
    assert ("one set of pages: other pages may give another figure" in notes) is said


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
    assert found.notes == ["a", "b", "one set of pages: other pages may give another figure"]
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


@pytest.mark.parametrize(
    # The halves' medians differ by drift / 2, of 1 + 29.5 / 40 x drift: 3% at 0.06278.
    ("drift", "settled"),
    [(0.0, True), (0.0627, True), (0.0629, False), (0.2, False)],
)
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

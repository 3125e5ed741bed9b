"""What placements do to a program, from runs whose truth is known."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.analysis.effect import Effect, effects, figures_of, metric_of, values_of
from tierscope.model.event import Evidence
from tierscope.model.evidence import ProgramEvidence, ProgramRun
from tierscope.model.run import Figure, Measurement

Runs = list[dict[str, float]]


def measurement(placement: str, runs: Runs, command: str = "job") -> Measurement:
    program = ProgramEvidence(runs=[ProgramRun(values=values) for values in runs])
    return Measurement(
        id=placement, kind="effect", initiator="cpus:0", target="node:0", cpus=[0],
        pattern={"command": command, "placement": placement}, status="measured",
        repetitions=len(runs),
        figures=[
            Figure(metric="run_time", unit="ns", estimate=1.0),
            Figure(metric="reported_rate", part="rate", unit="1/s", estimate=1.0)
        ],
        evidence=Evidence(program=program),
    )  # fmt: skip


def times(*seconds: float) -> Runs:
    return [{"run_time": one} for one in seconds]


def test_drift_that_both_share_cancels() -> None:
    base = times(1, 9, 2, 7, 3, 5)
    new = [{"run_time": one["run_time"] * 1.1} for one in base]
    (found,) = effects([measurement("a", base), measurement("b", new)])
    assert found.ratio == pytest.approx(1.1)
    assert (found.base, found.placement, found.verdict, found.pairs) == ("a", "b", "worse", 6)
    assert found.detectable == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(("comparisons", "student"), [(1, 2.5706), (2, 3.1634)])
def test_what_would_have_been_found_is_half_of_the_interval(
    comparisons: int, student: float
) -> None:
    """Six logarithms, 0.1 -+ 0.05: their standard deviation is 0.05 x sqrt(6/5). The error of 5%
    is shared between the placements that are compared with the first one."""
    base = times(*[1.0] * 6)
    new = times(*(math.exp(0.1 + step) for step in (-0.05, 0.05) * 3))
    found = effects([measurement("a", base), *[measurement("b", new)] * comparisons])
    half = student * 0.05 / math.sqrt(5)
    assert len(found) == comparisons
    for one in found:
        assert one.detectable == pytest.approx(math.expm1(half), rel=1e-3)
        assert one.low == pytest.approx(math.exp(0.1 - half), rel=1e-3)
        assert one.high == pytest.approx(math.exp(0.1 + half), rel=1e-3)


def test_a_file_of_others_without_runs_has_its_headline() -> None:
    one, other = (measurement(name, []).model_copy(update={"evidence": None}) for name in "ab")
    assert figures_of(one) == ["run_time"]
    assert values_of(one, "run_time") == [1.0]
    (found,) = effects([one, other])
    assert (found.ratio, found.pairs, found.verdict) == (1.0, 1, "undecided")
    assert metric_of(measurement("a", []), "rate") == "reported_rate"
    assert metric_of(measurement("a", []), "gc_time") == "gc_time"
    assert metric_of(measurement("a", []), "of the user") == "run_time"
    assert effects([one, other.model_copy(update={"status": "failed"})]) == []


def test_a_figure_that_no_pair_has_gives_no_ratio() -> None:
    base = [{"run_time": 1.0, "gc_time": 1.0}, {"run_time": 1.0}]
    new = [{"run_time": 2.0}, {"run_time": 2.0, "gc_time": 1.0}]
    took, collected = effects([measurement("a", base), measurement("b", new)])
    assert (took.pairs, took.ratio) == (2, pytest.approx(2))
    assert (collected.pairs, collected.ratio, collected.verdict) == (0, None, "undecided")


def test_more_is_better_of_a_rate_and_worse_of_a_time() -> None:
    base = [{"run_time": 1.0 + 0.01 * n, "rate": 5.0 + 0.01 * n} for n in range(6)]
    new = [{"run_time": 2.0 + 0.01 * n, "rate": 9.0} for n in range(6)]
    took, rate = effects([measurement("a", base), measurement("b", new)])
    assert (took.figure, took.verdict, took.metric) == ("run_time", "worse", "run_time")
    assert (rate.figure, rate.verdict, rate.metric) == ("rate", "better", "reported_rate")


def test_few_pairs_give_no_verdict() -> None:
    (found,) = effects([measurement("a", times(*[1] * 5)), measurement("b", times(*[2] * 5))])
    assert (found.verdict, found.ratio, found.low, found.detectable) == (
        "undecided",
        2.0,
        None,
        None,
    )


def test_a_figure_that_is_missing_or_zero_in_a_run_takes_its_pair_away() -> None:
    base = [{"run_time": 1.0, "gc_time": 1.0}] * 7 + [{"run_time": 0.0, "gc_time": 0.0}]
    new = [{"run_time": 2.0, "gc_time": 1.0}] * 5 + [{"run_time": 2.0}, {"gc_time": 0.0}]
    new.append({"run_time": 2.0, "gc_time": 1.0})
    took, collected = effects([measurement("a", base), measurement("b", new)])
    assert (took.pairs, collected.pairs) == (6, 5)


def test_programs_are_compared_with_themselves_only() -> None:
    runs = times(*[1] * 6)
    one = [measurement("a", runs, "x"), measurement("b", runs, "x")]
    other = [measurement("a", runs, "y")]
    (found,) = effects([*one, *other])
    assert (found.command, found.placement) == ("x", "b")
    assert (found.low, found.high, found.verdict) == (1, 1, "undecided"), "all runs are alike"


def simulated(seed: int, shape: str, change: float, rounds: int = 10) -> list[Effect]:
    """Three placements and two figures; the last placement's are changed."""
    chance = random.Random(f"{shape} {seed}")
    level = 1.0
    runs: dict[str, Runs] = {"a": [], "b": [], "c": []}
    for _ in range(rounds):
        level *= math.exp(chance.gauss(0, 0.05))  # of the machine, which all of a round share
        for name in runs:
            factor = 1 + change if name == "c" else 1.0
            noise = {
                "normal": chance.gauss(0, 0.02),
                "lopsided": 0.02 * chance.expovariate(1),
                "outliers": 0.5 if chance.random() < 0.1 else chance.gauss(0, 0.01),
                "two modes": chance.choice((0.0, 0.05)) + chance.gauss(0, 0.002),
            }[shape]
            took = level * factor * math.exp(noise)
            runs[name].append(
                {"run_time": took, "rate": 1 / took * math.exp(chance.gauss(0, 0.02))}
            )
    return effects([measurement(name, found) for name, found in runs.items()])


SHAPES = ["normal", "lopsided", "outliers", "two modes"]


@pytest.mark.parametrize("shape", SHAPES)
def test_nothing_is_found_where_nothing_differs_nineteen_times_of_twenty(shape: str) -> None:
    found = sum(
        any(one.verdict != "undecided" for one in simulated(seed, shape, 0.0))
        for seed in range(400)
    )
    # 5% of 400 are 20; more than 31 of them come by chance once in a hundred times.
    assert found <= 31


@pytest.mark.parametrize("shape", SHAPES)
def test_a_large_difference_is_found_and_not_put_down_to_others(shape: str) -> None:
    undetected = wrong = 0
    for seed in range(100):
        b, _, c, _ = simulated(seed, shape, 1.0)
        undetected += c.verdict != "worse"
        wrong += b.verdict != "undecided"
    assert undetected <= 2
    assert wrong <= 8


def test_what_is_called_detectable_is_found() -> None:
    limits = [simulated(seed, "normal", 0.0)[2].detectable or 0 for seed in range(50)]
    twice = 2 * sorted(limits)[25]
    found = sum(simulated(seed, "normal", twice)[2].verdict == "worse" for seed in range(100))
    assert found >= 85


@given(st.lists(st.tuples(*[st.floats(1e-6, 1e12)] * 2), min_size=1, max_size=12))
def test_whatever_runs_took_the_interval_holds_the_ratio(pairs: list[tuple[float, float]]) -> None:
    base, new = times(*[old for old, _ in pairs]), times(*[fresh for _, fresh in pairs])
    (found,) = effects([measurement("a", base), measurement("b", new)])
    assert found.ratio is not None
    if found.low is not None and found.high is not None:
        assert found.low <= found.ratio * (1 + 1e-9)
        assert found.ratio <= found.high * (1 + 1e-9)

"""Watts and energy for each bit from the energy of repetitions."""

from random import Random
from statistics import fmean
from typing import Any

import pytest

from tierscope.analysis.energy import energy_figures
from tierscope.analysis.observed import merged_evidence
from tierscope.model.event import Column, Evidence, Repetition, Series
from tierscope.model.evidence import EnergyDomain, EnergyEvidence
from tierscope.model.run import Figure


def domain(name: str, joules: float, idle_w: float | None, summed: bool = True) -> EnergyDomain:
    return EnergyDomain(name=name, source="RAPL", joules=joules, idle_w=idle_w, summed=summed)


def repetition(
    domains: list[EnergyDomain], seconds: float = 2.0, rate: float = 10e9, metric: str = "bandwidth"
) -> Repetition:
    energy = EnergyEvidence(seconds=seconds, idle_s=3.0, readings=100, domains=domains)
    series = Series(
        name="windows",
        starts=[0.0, 1.0],
        durations=[1.0, 1.0],
        columns=[Column(metric=metric, values=[rate, rate])],
    )
    return Repetition(
        id="a",
        seconds=seconds,
        fresh=False,
        interrupted=False,
        series=[series],
        evidence=Evidence(energy=energy),
    )


def by_name(repetitions: list[Repetition]) -> dict[tuple[str, str], Figure]:
    return {(figure.metric, figure.part): figure for figure in energy_figures(repetitions)[0]}


def test_power_is_energy_over_time_and_idle_is_subtracted() -> None:
    parts = [
        domain("package 0", 200.0, 60.0),
        domain("package 0 dram", 40.0, 10.0),
        domain("psys", 999.0, 1.0, summed=False),
    ]
    found = by_name([repetition(parts)] * 3)
    assert found["power", ""].estimate == pytest.approx(120)
    assert found["power", "package 0"].estimate == pytest.approx(100)
    assert found["power", "psys"].estimate == pytest.approx(499.5)
    assert found["power_above_idle", ""].estimate == pytest.approx(50)
    per_bit = found["energy_per_bit", ""]
    assert (per_bit.estimate, per_bit.unit) == (pytest.approx(50 / 80e9), "J/bit")
    assert per_bit.ci_low == pytest.approx(per_bit.estimate), "all repetitions are alike"


def test_one_repetition_has_no_interval() -> None:
    found = by_name([repetition([domain("package 0", 200.0, 60.0)])])
    assert found["power", ""].no_interval == "few-repetitions"
    assert found["power", ""].ci_low is None


def test_a_latency_has_watts_only() -> None:
    found = by_name([repetition([domain("package 0", 200.0, 60.0)], metric="latency")] * 2)
    assert set(found) == {("power", ""), ("power", "package 0"), ("power_above_idle", "")}


@pytest.mark.parametrize("idle", [99.0, 100.0, 130.0])
def test_what_is_not_surely_above_idle_is_not_told_for_a_bit(idle: float) -> None:
    repetitions = [
        repetition([domain("package 0", joules, idle)]) for joules in (190.0, 210.0, 200.0)
    ]
    figures, notes = energy_figures(repetitions)
    assert {figure.metric for figure in figures} == {"power"}
    assert "not above that of the idle machine" in notes[0]


def test_without_idle_power_nothing_is_subtracted() -> None:
    found = by_name([repetition([domain("package 0", 200.0, None)])] * 2)
    assert {metric for metric, _ in found} == {"power"}


def test_repetitions_without_energy_or_time_have_none() -> None:
    bare = repetition([domain("package 0", 1.0, 0.0)]).model_copy(update={"evidence": Evidence()})
    assert energy_figures([bare]) == ([], [])
    assert energy_figures([repetition([domain("package 0", 1.0, 0.0)], seconds=0.0)]) == ([], [])


def test_intervals_hold_as_often_as_they_say() -> None:
    random = Random(7)
    held = []
    for _ in range(400):
        repetitions = [
            repetition([domain("package 0", 2.0 * random.gauss(100, 5), 50.0)], rate=10e9)
            for _ in range(8)
        ]
        figure = by_name(repetitions)["power_above_idle", ""]
        assert figure.ci_low is not None
        assert figure.ci_high is not None
        held.append(figure.ci_low <= 50 <= figure.ci_high)
    assert 0.92 <= fmean(held) <= 0.98


def test_evidence_of_repetitions_adds_up() -> None:
    one = repetition([domain("package 0", 200.0, 60.0), domain("gone", 1.0, 1.0)])
    other = repetition([domain("package 0", 100.0, 80.0)], seconds=2.0)
    energy = merged_evidence([one, other]).energy
    assert energy is not None
    assert (energy.seconds, energy.readings) == (4.0, 200)
    assert [(d.name, d.joules, d.idle_w) for d in energy.domains] == [("package 0", 300.0, 70.0)]


def uneven(joules: float, seconds: float, rates: list[float | None], **more: Any) -> Repetition:
    """A repetition whose samples took 1 s, 3 s, ... each."""
    one = repetition([domain("package 0", joules, 10.0)], seconds, **more)
    series = one.series[0].model_copy(
        update={
            "starts": [float(n * n) for n in range(len(rates))],
            "durations": [2.0 * n + 1 for n in range(len(rates))],
            "columns": [Column(metric="bandwidth", values=rates)],
        }
    )
    return one.model_copy(update={"series": [series]})


def test_the_interval_is_that_of_a_ratio_of_sums() -> None:
    """100 J in 1 s and 140 J in 3 s: 60 W, and each is 40 J off: sqrt(2 x 2 x 40^2) / 4 = 20 W,
    times Student's 12.706 of two repetitions."""
    found = by_name([uneven(100, 1, [1e9]), uneven(140, 3, [1e9])])
    power, above = found["power", ""], found.get(("power_above_idle", ""))
    assert power.estimate == pytest.approx(60)
    assert power.ci_low == pytest.approx(60 - 254.12, rel=1e-4)
    assert power.ci_high == pytest.approx(60 + 254.12, rel=1e-4)
    assert above is None, "its interval reaches below 0"


def test_bits_are_those_of_the_mean_rate_over_the_samples_time() -> None:
    """1 GB/s for 1 s and 5 GB/s for 3 s are 4 GB/s; a sample without a rate counts as the rest."""
    for rates in ([1e9, 5e9], [1e9, 5e9, None]):
        found = by_name([uneven(100, 2, rates)])
        assert found["energy_per_bit", ""].estimate == pytest.approx((100 - 20) / (4e9 * 2 * 8))
    unknown = by_name([uneven(100, 2, [None, None]), uneven(100, 2, [1e9, 5e9])])
    assert ("energy_per_bit", "") not in unknown
    assert ("power_above_idle", "") in unknown


@pytest.mark.parametrize(("joules", "told"), [(19.0, False), (20.0, False), (21.0, True)])
def test_one_repetition_tells_what_is_above_idle_by_its_estimate(joules: float, told: bool) -> None:
    figures, notes = energy_figures([uneven(joules, 2, [1e9])])
    assert [one.metric for one in figures][1:-1] == (
        ["power_above_idle", "energy_per_bit"] if told else []
    )
    assert bool(notes) is not told


def test_a_domain_counts_where_all_repetitions_have_it_and_its_idle_power() -> None:
    both = [domain("package 0", 200.0, 60.0), domain("package 1", 100.0, 20.0)]
    found = by_name([repetition(both), repetition(both[:1])])
    assert {part for _, part in found} == {"", "package 0"}
    assert found["power", ""].estimate == pytest.approx((300 + 200) / 4)
    one_unknown = by_name([repetition([both[0], domain("package 1", 100.0, None)])] * 2)
    assert {metric for metric, _ in one_unknown} == {"power"}
    beside = by_name([repetition([both[0], domain("psys", 500.0, None, summed=False)])] * 2)
    assert beside["power_above_idle", ""].estimate == pytest.approx(40)
    sometimes = by_name([repetition(both[:1]), repetition([domain("package 0", 200.0, None)])])
    assert {metric for metric, _ in sometimes} == {"power"}


def test_counters_that_stood_still_give_no_power_of_the_whole() -> None:
    still = [domain("package 0", 0.0, 0.0), domain("psys", 50.0, None, summed=False)]
    found = by_name([repetition(still), repetition([domain("package 0", 9.0, 0.0), still[1]])])
    assert set(found) == {("power", "package 0"), ("power", "psys")}
    assert energy_figures([repetition([])]) == ([], [])

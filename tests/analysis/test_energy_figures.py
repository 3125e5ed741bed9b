"""Watts and energy for each bit from the energy of repetitions."""

from random import Random
from statistics import fmean

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

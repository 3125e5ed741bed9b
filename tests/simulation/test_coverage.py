"""Intervals hold the median as often as they claim, over the whole procedure.

The short form takes the designs and series that are hardest; the long one (soak) all of them.
"""

import math

import pytest
from processes import FURTHER, PROCESSES
from simulate import DESIGNS, Design, simulate

SPREAD, SHORT, ALONE = DESIGNS
HARD = ("independent, 3%", "bimodal, 40:60, sticky", "AR(1) 0.97, 1%", "AR(1) 0.99, 2%", "bursts")
ALL = PROCESSES | FURTHER
INDEPENDENT = ("independent, 1%", "independent, 3%", "bimodal, 30:70", "bimodal, 50:50")


@pytest.mark.parametrize("name", HARD)
def test_intervals_of_rounds_hold_the_median(name: str) -> None:
    tally = simulate(PROCESSES[name], SPREAD, 120, "1")
    assert tally.coverage() >= 0.93 - 2 * error_of(120)
    assert tally.share("none") <= 0.02
    assert tally.width <= 1.5 * tally.oracle


def test_figures_of_a_fast_series_stop_by_precision_before_the_budget_does() -> None:
    tally = simulate(PROCESSES["independent, 1%"], ALONE, 60, "2")
    assert tally.share("precision") >= 0.9
    assert tally.coverage("precision") >= 0.93 - 2 * error_of(60)
    assert tally.mean_repetitions < 15


def test_one_figure_alone_that_is_autocorrelated_has_no_interval() -> None:
    tally = simulate(PROCESSES["AR(1) 0.99, 2%"], ALONE, 60, "3")
    assert tally.share("none") >= 0.9


def test_one_figure_alone_that_is_independent_has_one() -> None:
    tally = simulate(PROCESSES["bimodal, 30:70"], ALONE, 60, "4")
    assert tally.share("none") <= 0.02
    assert tally.coverage() >= 0.93


@pytest.mark.soak
@pytest.mark.parametrize("design", [SPREAD, SHORT], ids=["spread", "short"])
@pytest.mark.parametrize("name", ALL)
def test_long(name: str, design: Design) -> None:
    tally = simulate(ALL[name], design, 2000, "soak")
    assert tally.coverage() >= 0.925
    assert tally.coverage("budget") >= 0.93
    # Two sticky modes can look like one in half of the repetitions, as the page says.
    if "sticky" not in name:
        assert tally.coverage("precision") >= 0.93 - 2 * error_of(tally.stops["precision"])
    assert tally.share("none") <= 0.02


def error_of(count: int) -> float:
    """The standard error of a share of 93% of so many; above 1 of very few."""
    return math.sqrt(0.93 * 0.07 / count) if count >= 10 else 1.0


@pytest.mark.soak
@pytest.mark.parametrize("name", INDEPENDENT)
def test_long_alone(name: str) -> None:
    tally = simulate(PROCESSES[name], ALONE, 2000, "soak")
    assert tally.coverage() >= 0.93
    assert tally.share("none") <= 0.02

"""Intervals hold the median as often as they claim, over the whole procedure.

The short form takes a few series; the long one (soak) all families, with a seed of its own each
time, which a failure names.
"""

import math
import secrets

import pytest
from processes import FAMILIES, PROCESSES
from simulate import DESIGNS, Design, simulate

SPREAD, ALONE = DESIGNS[0], DESIGNS[-1]
SELDOM = {("two modes in time", ALONE): 0.90}
"""Two seconds in turn cannot tell the shares of modes that last for up to one."""
SHORT = (
    "independent, 3%", "bimodal, 40:60, dwell 10", "AR(1) 0.99, 1%", "pages, 1%",
    "warm-up of 10 samples, 5%",
)  # fmt: skip


@pytest.mark.parametrize("name", SHORT)
def test_intervals_of_rounds_hold_the_median(name: str) -> None:
    tally = simulate(PROCESSES[name], SPREAD, 120, "1")
    assert tally.coverage() >= 0.93
    assert tally.share("none") <= 0.05
    assert tally.width <= 2 * tally.oracle


def test_figures_of_a_fast_series_stop_by_precision_before_the_budget_does() -> None:
    alone = Design("one figure alone, 5 s", 1, 5.0)
    tally = simulate(PROCESSES["independent, 1%"], alone, 60, "2")
    assert tally.share("precision") >= 0.8
    assert tally.coverage("precision") >= 0.93
    assert tally.mean_repetitions < 14


def test_one_figure_alone_that_is_autocorrelated_has_no_interval() -> None:
    tally = simulate(PROCESSES["AR(1) 0.99, 1%"], ALONE, 60, "3")
    assert tally.share("none") >= 0.6


def test_one_figure_alone_that_is_independent_has_one() -> None:
    tally = simulate(PROCESSES["bimodal, 30:70"], ALONE, 60, "4")
    assert tally.share("none") <= 0.02
    assert tally.coverage() >= 0.93


@pytest.mark.soak
@pytest.mark.parametrize("design", DESIGNS, ids=["spread", "one-set", "quick", "alone"])
@pytest.mark.parametrize("name", FAMILIES)
def test_long(name: str, design: Design) -> None:
    seed = secrets.token_hex(4)
    tally = simulate(FAMILIES[name], design, 2000, seed)
    shown = 1 - tally.share("none")
    if 2000 * shown < 100:
        return  # Nearly all were refused: the few others say nothing of a share.
    claimed = SELDOM.get((name, design), 0.93)
    assert tally.coverage() >= claimed - math.sqrt(0.93 * 0.07 / 2000 / shown), seed
    missed = tally.share("precision") * (1 - tally.coverage("precision"))
    assert missed <= 0.04, seed  # Of all figures: what no repetition showed, no interval holds.

"""Machines compared with themselves, simulated: one comparison in twenty may find a thing."""

import math
import random

import pytest
from simulate_runs import Machine

from tierscope.analysis.compare import compare

PATHS = ("node:0", "node:1", "node:2")
STEPS = 5
FIGURES = [(path, threads) for path in PATHS for threads in range(1, STEPS + 1)]
COMPARISONS = 100
ALARMS = 0.05


@pytest.mark.parametrize(
    "comparisons", [COMPARISONS, pytest.param(4 * COMPARISONS, marks=pytest.mark.soak)]
)
@pytest.mark.parametrize(
    "machine",
    [
        pytest.param(Machine(0.01), id="quiet"),
        pytest.param(Machine(0.01, follow=0.7), id="samples that depend on each other"),
        pytest.param(Machine(0.005, 0.005, 0.3), id="medians that vary more than intervals say"),
        pytest.param(Machine(0.02, 0.05, 0.5), id="shared"),
        pytest.param(Machine(0.1, 0.2, 0.8), id="under others' load"),
    ],
)
def test_a_machine_is_the_same_as_itself(machine: Machine, comparisons: int) -> None:
    chance = random.Random(20260105)
    alarms = 0
    for _ in range(comparisons):
        runs = [("run", machine.run(chance, FIGURES)) for _ in range(2)]
        found = compare(*runs, 0.0)
        alarms += bool(found.count("slower") + found.count("faster"))
    # Two standard deviations above one in twenty would still be chance.
    assert alarms <= comparisons * ALARMS + 2 * math.sqrt(comparisons * ALARMS * (1 - ALARMS))


def test_a_path_that_lost_five_percent_is_found_and_no_other() -> None:
    chance = random.Random(20260106)
    machine = Machine(0.005, 0.001, 0.3)
    exact = 0
    for _ in range(50):
        base = machine.run(chance, FIGURES)
        new = machine.run(chance, FIGURES, -0.05, FIGURES[STEPS : 2 * STEPS])
        found = compare(("base", base), ("new", new), 0.02)
        slower = [d.target for d in found.differences if d.verdict == "slower"]
        exact += slower == ["node:1"] * STEPS and not found.count("faster")
    assert exact >= 45

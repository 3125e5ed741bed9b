"""Two modes are said where there are two, and of nothing else."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.analysis.modes import find_modes


def test_two_modes_are_found_with_their_shares_and_changes() -> None:
    source = random.Random(1)
    fast = [source.gauss(28.1, 0.1) for _ in range(70)]
    slow = [source.gauss(25.9, 0.1) for _ in range(30)]
    found = find_modes([fast[:40], slow, fast[40:]])
    assert found is not None
    assert found.high == pytest.approx(28.1, abs=0.1)
    assert found.low == pytest.approx(25.9, abs=0.1)
    assert (found.share_high, found.changes) == (0.7, 2)


@pytest.mark.parametrize("count", [12, 60, 600])
@pytest.mark.parametrize(
    "draw",
    [
        lambda s: s.gauss(100, 1),
        lambda s: s.lognormvariate(0, 0.5),
        lambda s: s.uniform(90, 110),
        lambda s: 100 + s.expovariate(1),
        lambda s: round(s.gauss(100, 1) / 1.3) * 1.3,
    ],
    ids=["normal", "lognormal", "uniform", "exponential", "quantized"],
)
def test_one_mode_is_seldom_taken_for_two(count: int, draw: object) -> None:
    source = random.Random(2)
    found = sum(
        find_modes([[draw(source) for _ in range(count)]]) is not None  # type: ignore[operator]
        for _ in range(200)
    )
    assert found <= 4


def test_a_few_outliers_are_no_mode() -> None:
    assert find_modes([[100.0 + n % 7 for n in range(95)] + [150.0] * 5]) is None


@given(st.lists(st.lists(st.floats(1e-3, 1e12), max_size=30), max_size=6))
def test_shares_and_values_are_those_of_samples(repetitions: list[list[float]]) -> None:
    found = find_modes(repetitions)
    if found is None:
        return
    values = sorted(value for samples in repetitions for value in samples)
    assert values[0] <= found.low < found.high <= values[-1]
    assert 0.05 <= found.share_high <= 0.95
    assert 1 <= found.changes < len(values)

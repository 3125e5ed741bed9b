"""Ends of plateaus: where a level ends, and what joins two runs."""

import pytest

from tierscope.analysis.plateaus import Plateau, check_levels, plateaus


def curve(*latencies: float) -> list[tuple[int, float]]:
    return [(4096 << step, latency) for step, latency in enumerate(latencies)]


def test_a_level_ends_by_the_first_size_that_is_nearer_to_the_next() -> None:
    """The geometric mean of 1 and 16 is 4: 3 is below it, 5 above."""
    first, last = plateaus(curve(1, 1, 1, 3, 5, 16, 16, 16))
    assert (first.last_size, first.ends_by) == (4096 << 2, 4096 << 4)
    assert (last.first_size, last.last_size, last.ends_by) == (4096 << 5, 4096 << 7, None)
    first, _ = plateaus(curve(1, 1, 1, 16, 16, 16))
    assert first.ends_by == 4096 << 3
    first, _ = plateaus(curve(1, 1, 1, 3.9, 16, 16, 16))
    assert first.ends_by == 4096 << 4


@pytest.mark.parametrize(("second", "levels"), [(1.19, 1), (1.21, 1), (1.26, 2), (1.5, 2)])
def test_latencies_within_a_quarter_are_one_level(second: float, levels: int) -> None:
    assert len(plateaus(curve(1, 1, 1, second, second, second))) == levels


def test_runs_that_drift_are_one_level_only_where_they_touch() -> None:
    """1 to 1.24 and 1.27 to 1.4: the medians differ by less than a fifth; a step between keeps
    levels apart."""
    (one,) = plateaus(curve(1.0, 1.2, 1.24, 1.24, 1.27, 1.29, 1.3, 1.4))
    assert one.last_size == 4096 << 7
    (one,) = plateaus(curve(1.0, 1.0, 1.1, 1.1, 1.255, 1.255))
    assert (one.first_size, one.last_size, one.ends_by) == (4096, 4096 << 5, None)
    apart = plateaus(curve(1.0, 1.1, 1.24, 1.24, 1.36, 1.55, 1.55, 1.55))
    assert len(apart) == 2


def test_a_size_that_fits_no_level_keeps_its_neighbours_apart() -> None:
    found = plateaus(curve(1, 1, 1, 2, 3.5, 6, 6, 6))
    assert [(p.first_size >> 12, p.last_size >> 12) for p in found] == [(1, 4), (32, 128)]


def test_larger_working_sets_are_never_faster() -> None:
    """A single slow size before faster ones was a disturbance."""
    assert len(plateaus(curve(1, 1, 9, 1, 1, 1))) == 1
    assert plateaus(curve(1, 1, 9, 1, 1, 1))[0].latency == 1


@pytest.mark.parametrize(
    ("size", "verdict"),
    [(1000, "seen"), (667, "seen"), (666, "unseen"), (3000, "seen"), (3001, "unseen"),
     (8000, "unseen"), (8001, "beyond")],
)  # fmt: skip
def test_a_cache_belongs_to_a_level_half_as_far_again(size: int, verdict: str) -> None:
    level = Plateau(first_size=1, last_size=1000, ends_by=2000, latency=1.0)
    last = Plateau(first_size=4000, last_size=16000, ends_by=None, latency=9.0)
    (found,) = check_levels([level, last], 16000, [("L1", size)])
    assert found.verdict == verdict
    assert found.plateau == (level if verdict == "seen" else None)


def test_a_level_belongs_to_one_cache() -> None:
    level = Plateau(first_size=1, last_size=1000, ends_by=2000, latency=1.0)
    found = check_levels([level], 16000, [("L1", 1000), ("L2", 1500)])
    assert [one.verdict for one in found] == ["seen", "unseen"]

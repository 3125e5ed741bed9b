"""Intervals of percentiles hold them about as often as they claim: 96%."""

import pytest
from tails import DEVICES, simulate

HARD = ("AR(1) 0.9, 10%", "bursts of 10 samples")


@pytest.mark.parametrize("name", HARD)
def test_intervals_of_rounds_hold_the_percentile(name: str) -> None:
    found = simulate(DEVICES[name], 40, "1")
    assert list(found) == ["mean", "p50", "p90", "p99", "p99.9"]
    for percentile, tally in found.items():
        assert tally.coverage >= 0.8, percentile
        assert tally.given >= 36, percentile


def test_repetitions_that_differ_widen_intervals() -> None:
    calm, differing = (
        simulate(DEVICES[name], 10, "2") for name in ("independent", "repetitions, 10%")
    )
    assert differing["p50"].width > 3 * calm["p50"].width


@pytest.mark.soak
@pytest.mark.parametrize("name", DEVICES)
def test_long(name: str) -> None:
    for percentile, tally in simulate(DEVICES[name], 600, "soak").items():
        assert tally.coverage >= 0.87, percentile
        assert tally.missing <= 0.02 * 600, percentile


@pytest.mark.soak
@pytest.mark.parametrize("name", [name for name in DEVICES if "bursts" not in name])
def test_alone_they_hold_or_are_not_given(name: str) -> None:
    for percentile, tally in simulate(DEVICES[name], 600, "alone", apart=False).items():
        assert tally.coverage >= 0.85 or tally.given < 60, percentile

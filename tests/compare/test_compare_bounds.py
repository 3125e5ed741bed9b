"""Bounds of a comparison, from figures without noise: each just below and just above."""

import math
from itertools import pairwise

import pytest
from tests import synthetic
from tests.compare.test_compare import against, changed

from tierscope.analysis.change import paired_ratio
from tierscope.analysis.compare import compare, percent
from tierscope.analysis.estimate import student_quantile
from tierscope.model.comparison import Comparison, Difference
from tierscope.model.run import Measurement, Run


def quiet(n: int = 12, seed: int = 1, noise: float = 1e-5) -> Run:
    """A run whose samples hardly scatter."""
    maker = synthetic.Maker(seed, noise=noise, n=n)
    return synthetic.run(synthetic.memory_measurements(maker)[::6])


def one(m: Measurement) -> bool:
    return m.id == "bandwidth.7"


def of(found: Comparison) -> Difference:
    """What was found of that one."""
    number = next(k for k, m in enumerate(quiet().measurements) if one(m))
    return found.differences[number]


def test_a_change_of_the_tolerance_is_the_same_and_one_beyond_it_is_none() -> None:
    """By the same factor up and down, so that it does not matter which run is called the base."""
    for tolerance in (0.05, 0.2):
        for beyond, verdict in ((0.999, "same"), (1.001, "slower")):
            factor = (1 - tolerance) ** beyond
            base, new = quiet(), changed(quiet(), factor, one)
            assert of(against(base, new, tolerance)).verdict == verdict
            other = "faster" if verdict == "slower" else "same"
            assert of(against(new, base, tolerance)).verdict == other


@pytest.mark.parametrize(("n", "cause"), [(5, "few-samples"), (6, None)])
def test_six_samples_give_a_verdict_and_five_give_none(n: int, cause: str | None) -> None:
    """2 x 0.5^n is below 5% from 6 on."""
    assert (2 * 0.5**n < 0.05) is (cause is None)
    found = of(against(quiet(n), changed(quiet(n), 0.8, one)))
    assert (found.verdict, found.cause) == ("slower" if cause is None else "undecided", cause)
    mixed = of(against(quiet(12), changed(quiet(n), 0.8, one)))
    assert mixed.cause == cause
    assert mixed.reason == ("" if cause is None else mixed.reason)
    assert ("new run: 5" in mixed.reason) is (cause is not None)


def test_a_change_that_no_bound_excludes_is_too_noisy_from_a_quarter_on() -> None:
    """``detectable`` says how small a change may be that would show."""
    seen = set()
    for noise in (0.05, 0.1, 0.2, 0.3, 0.4, 0.6):
        found = against(quiet(12, 1, noise), quiet(12, 2, noise))
        for d in found.differences:
            if d.verdict not in ("same", "undecided") or d.detectable is None or d.ratio is None:
                continue
            largest = abs(math.log(d.ratio)) + math.log1p(d.detectable)
            assert (d.cause == "noisy") == (
                largest > math.log(1.25) and abs(math.log(d.ratio)) <= math.log1p(d.detectable)
            )
            seen.add(d.cause)
    assert seen == {"noisy", None}


def test_an_interval_is_the_ratio_within_what_is_detectable() -> None:
    for d in against(quiet(12, 1, 0.05), quiet(12, 2, 0.05)).differences:
        assert d.detectable is not None
        assert d.ratio is not None
        assert d.low == pytest.approx(d.ratio / (1 + d.detectable))
        assert d.high == pytest.approx(d.ratio * (1 + d.detectable))


def test_several_comparisons_share_the_error() -> None:
    base, new = quiet(12, 1, 0.02), quiet(12, 2, 0.02)
    widths = [
        of(compare(("b", base), ("n", new), 0.02, comparisons=count)).detectable
        for count in (1, 2, 9)
    ]
    assert all(a is not None and b is not None and a < b for a, b in pairwise(widths))


def test_what_earlier_runs_differ_in_counts_as_no_change() -> None:
    base, new = quiet(), changed(quiet(), 0.9, one)
    assert of(against(base, new)).verdict == "slower"
    assert of(against(base, new, also=[changed(quiet(), 0.89, one)])).verdict == "same"
    assert of(against(base, new, also=[changed(quiet(), 1.1, one)])).verdict == "slower"


@pytest.mark.parametrize(
    ("bound", "text"),
    [(math.log(1.1234), "12%"), (math.log(1.99), "99%"), (math.log(2), "a factor of 2"),
     (math.log(3.14), "a factor of 3.1"), (0.0, "0%")],
)  # fmt: skip
def test_a_change_in_words(bound: float, text: str) -> None:
    assert percent(bound) == text


@pytest.mark.parametrize("error", [0.05, 0.01])
def test_the_interval_of_pairs_is_students(error: float) -> None:
    """Three pairs whose logarithms are -d, 0 and d about 0.1: their standard deviation is d."""
    d = 0.02
    pairs = [(1.0, math.exp(0.1 + step)) for step in (-d, 0.0, d)]
    found = paired_ratio(pairs, error)
    half = student_quantile(2, error) * d / math.sqrt(3)
    assert found.low is not None
    assert found.high is not None
    assert [math.log(x) for x in (found.ratio, found.low, found.high)] == pytest.approx(
        [0.1, 0.1 - half, 0.1 + half]
    )
    assert paired_ratio(pairs[:1]).low is None
    assert paired_ratio(pairs[:2]).low is not None

"""Samples: what was counted is neither lost nor counted twice, however long reading takes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.machine.counters import Count, Key, Reading, Source
from tierscope.machine.sampler import Sampler

KEY = Key("pages_migrated")
PAUSES = st.floats(0.001, 10)


@given(st.lists(st.tuples(st.integers(0, 10_000), PAUSES, PAUSES), min_size=1))
def test_rates_times_durations_are_what_was_counted(
    intervals: list[tuple[int, float, float]],
) -> None:
    """Counters rise before they are read and while they are; reading takes its time."""
    now, counted = 100.0, 0
    rising = iter([(5, 1.0, 1.0), *intervals])

    def read() -> Reading:
        nonlocal now, counted
        pages, before, meanwhile = next(rising)
        now += before
        counted += pages
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("time.monotonic", lambda: now)
            reading = Reading({KEY: Count(counted)})
        now += meanwhile
        return reading

    sampler = Sampler([Source("migrations", read)])
    samples = [sample for _ in intervals for sample in sampler.samples()]
    total = sum(sample.values[KEY] * sample.duration_s for sample in samples)
    assert total == pytest.approx(sum(pages for pages, _, _ in intervals))
    ends = [sample.start_s + sample.duration_s for sample in samples]
    assert [sample.start_s for sample in samples] == pytest.approx([0, *ends[:-1]])

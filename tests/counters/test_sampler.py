"""Rows: what was counted is neither lost nor counted twice, however long reading takes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.counters.reading import Count, Key, Reading
from tierscope.counters.sampler import Sampler
from tierscope.counters.source import Source

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
    rows = [row for _ in intervals for row in sampler.rows()]
    total = sum(row.values[KEY] * row.duration_s for row in rows)
    assert total == pytest.approx(sum(pages for pages, _, _ in intervals))
    ends = [row.start_s + row.duration_s for row in rows]
    assert [row.start_s for row in rows] == pytest.approx([0, *ends[:-1]])

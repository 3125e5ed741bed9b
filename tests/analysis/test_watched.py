"""Means over the time that was watched."""

from hypothesis import example, given
from hypothesis import strategies as st

from tierscope.analysis.watched import mean_of
from tierscope.model.event import Column, Series

SAMPLES = st.lists(
    st.tuples(
        st.none() | st.floats(0, 1e18),
        st.floats(1e-3, 1e6),
    ),
    min_size=1,
    max_size=20,
)


@given(SAMPLES)
@example([(2824155136.0, 0.2000123), (2824155136.0, 0.1999871), (2824155136.0, 0.2003457)])
def test_a_mean_lies_within_the_values_that_it_is_of(
    samples: list[tuple[float | None, float]],
) -> None:
    values = [value for value, _ in samples]
    column = Column(metric="memory_used", part="", values=values)
    series = Series(
        name="memory",
        starts=[float(i) for i in range(len(samples))],
        durations=[seconds for _, seconds in samples],
        columns=[column],
    )
    mean = mean_of(series, column)
    known = [value for value in values if value is not None]
    if not known:
        assert mean is None
        return
    assert mean is not None
    assert min(known) <= mean <= max(known)

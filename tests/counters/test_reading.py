"""Rates between two readings: whatever comes, goes, wraps around or is set back."""

from hypothesis import given
from hypothesis import strategies as st

from tierscope.machine.counters import Count, Key, Reading, rates

KEY = Key("read_throughput", "nvme0n1")
AMOUNT = st.integers(0, 1 << 60)


def rate(before: Count | None, after: Count) -> float | None:
    earlier = Reading({} if before is None else {KEY: before})
    return rates(earlier, Reading({KEY: after})).get(KEY)


@given(AMOUNT, st.integers(0, 1 << 40), st.floats(0.01, 1e4))
def test_a_rate_is_the_increase_over_the_counters_own_time(
    value: int, more: int, seconds: float
) -> None:
    found = rate(Count(value, 5.0), Count(value + more, 5.0 + seconds))
    assert found is not None
    assert abs(found * seconds - more) <= 1e-6 * more


@given(st.integers(0, 0xFFFFFFFF), st.integers(0, 0xFFFFFFFE))
def test_a_counter_of_32_bits_goes_on_after_it_wrapped(value: int, more: int) -> None:
    wrapped = (value + more) % (1 << 32)
    found = rate(Count(value, 0.0, 1 << 32), Count(wrapped, 1.0, 1 << 32))
    assert found == more


@given(st.integers(1, 1 << 60), st.data())
def test_a_counter_that_was_set_back_has_no_rate(value: int, data: st.DataObject) -> None:
    lower = data.draw(st.integers(0, value - 1))
    assert rate(Count(value, 0.0), Count(lower, 1.0)) is None


def test_what_is_new_or_whose_time_stood_still_has_no_rate() -> None:
    assert rate(None, Count(10, 1.0)) is None
    assert rate(Count(10, 1.0), Count(20, 1.0)) is None


def test_what_is_gone_is_absent_and_levels_are_as_they_are() -> None:
    used = Key("memory_used", "node 0")
    before = Reading({KEY: Count(1, 0.0)}, {used: 5.0})
    assert rates(before, Reading({}, {used: 7.0})) == {used: 7.0}

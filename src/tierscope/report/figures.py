"""Figures as text: units for people, and no more digits than the interval supports."""

import math

from tierscope.analysis.direction import lower_is_better
from tierscope.model.run import Measurement

_SCALES = {"B/s": (("TB/s", 1e12), ("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3), ("B/s", 1.0))}
_TIMES = (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0))
_MAX_DIGITS = 4
_LOPSIDED = 1.5
"""Ratio of an interval's sides from which on both of its ends are shown."""


def scale_of(unit: str, values: list[float]) -> tuple[str, float]:
    """Return the unit to show values in and what to divide them by, by their median."""
    middle = sorted(values)[len(values) // 2] if values else 0.0
    if unit == "B/s":
        # GB/s is what the field reads; only a far slower tier leaves it.
        return ("GB/s", 1e9) if middle >= 1e8 else _first_below(_SCALES["B/s"], middle)
    if unit == "ns":
        return ("ns", 1.0) if middle < 1e5 else _first_below(_TIMES, middle)
    if unit == "1/s" and middle >= 1e6:
        return "million/s", 1e6
    return unit, 1.0


def _first_below(scales: tuple[tuple[str, float], ...], value: float) -> tuple[str, float]:
    return next(((name, factor) for name, factor in scales if value >= factor), scales[-1])


def decimals_of(value: float, half: float) -> int:
    """Return the decimals that a value with an interval of ± ``half`` is worth."""
    if value == 0 or not math.isfinite(value):
        return 0
    most = _MAX_DIGITS - 1 - math.floor(math.log10(abs(value)))
    if half <= 0 or not math.isfinite(half):
        return max(0, most)
    exponent = math.floor(math.log10(half))
    # An interval that begins with 1 gets a second digit: ±1.4 and ±1.9 are not the same.
    second = 1 if half / 10.0**exponent < 2 else 0
    return max(0, min(most, second - exponent))


def with_interval(measurement: Measurement, factor: float) -> str:
    """Return ``28.1 ±0.2``, or ``28.1 27.9..28.8`` where the sides differ by more than half.

    Of two sides that are nearly alike, the larger one stands for both.
    """
    value, half = value_and_half(measurement)
    low, high = measurement.ci_low, measurement.ci_high
    if low is None or high is None:
        cause = f": {measurement.no_interval.replace('-', ' ')}" if measurement.no_interval else ""
        return f"{value / factor:.{decimals_of(value / factor, 0.0)}f} (no interval{cause})"
    decimals = decimals_of(value / factor, half / factor)
    if half <= 0:
        return f"{value / factor:.{decimals}f}"
    if half > _LOPSIDED * min(value - low, high - value):
        return f"{value / factor:.{decimals}f} {_range(low / factor, high / factor, decimals)}"
    # An interval narrower than the digits shown is rounded up to the last of them, not to none.
    step = 10.0**-decimals
    shown = max(step, math.ceil(half / factor / step - 1e-9) * step)
    return f"{value / factor:.{decimals}f} ±{shown:.{decimals}f}"


def _range(low: float, high: float, decimals: int) -> str:
    """Return ``27.9..28.8``, rounded outwards; what is above 0 stays so."""
    step = 10.0**-decimals
    least = math.floor(low / step + 1e-9) * step
    lower = f"{least:.{decimals}f}" if least > 0 or low <= 0 else f"{low:.1g}"
    return f"{lower}..{math.ceil(high / step - 1e-9) * step:.{decimals}f}"


def figure_of(measurement: Measurement, metric: str, part: str = "") -> float | None:
    """Return a measurement's further figure, None where it has none of that metric and part."""
    found = (f.estimate for f in measurement.figures if (f.metric, f.part) == (metric, part))
    return next(found, None)


def has_interval(measurement: Measurement) -> bool:
    """Whether a figure's uncertainty is known."""
    return measurement.ci_low is not None and measurement.ci_high is not None


def plain(measurement: Measurement, factor: float, digits: int) -> str:
    """Return the estimate alone, with the digits that its interval supports, at most so many."""
    value, half = value_and_half(measurement)
    shown = value / factor
    most = digits - 1 - math.floor(math.log10(abs(shown))) if shown else 0
    return f"{shown:.{max(0, min(most, decimals_of(shown, half / factor)))}f}"


def value_and_half(measurement: Measurement) -> tuple[float, float]:
    """Return a measured estimate and the larger side of its interval; 0 where it has none."""
    value = measurement.estimate or 0.0
    low = value if measurement.ci_low is None else measurement.ci_low
    high = value if measurement.ci_high is None else measurement.ci_high
    return value, max(value - low, high - value, 0.0)


def conservative_rank(measurement: Measurement) -> float:
    """Return what to compare figures by, higher is better: the interval's worse end.

    An imprecise figure whose median happens to be high is no best one.
    """
    value = measurement.estimate or 0.0
    if lower_is_better(measurement):
        return -(value if measurement.ci_high is None else measurement.ci_high)
    return value if measurement.ci_low is None else measurement.ci_low


def share_text(share: float) -> str:
    """Return a share in percent, with enough digits not to say 0% of something."""
    if share <= 0 or share >= 0.0995:
        return f"{share:.0%}"
    return f"{share:.1%}" if share >= 0.001 else "under 0.1%"


def of_limit(measurement: Measurement) -> str:
    """Return the efficiency in percent; a dash where no limit is known."""
    return "–" if measurement.efficiency is None else f"{measurement.efficiency:.0%}"


def relative_half(measurement: Measurement) -> float:
    """Return half the interval as a share of the estimate."""
    value, half = value_and_half(measurement)
    return half / abs(value) if value else 0.0


def size_text(size: float) -> str:
    """Return bytes as people write them: 48 KiB, 1 GiB, 1.5 GiB."""
    for name, factor in (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return (
                f"{size / factor:.3g} {name}"
                if size / factor < 1000
                else f"{size / factor:.0f} {name}"
            )
    return f"{size:.0f} B"

"""Figures as text: units for people, and no more digits than the interval supports."""

import math
from collections.abc import Callable, Sequence

from tierscope.model.metric import METRICS
from tierscope.model.path import Limit
from tierscope.model.run import Figure, Measurement, is_exact, is_unreliable
from tierscope.model.text import brief

Figured = Measurement | Figure
"""Whatever has an estimate and, where it is known, its interval."""

_RATES = (("TB/s", 1e12), ("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3), ("B/s", 1.0))
_SIZES = (("TiB", 2.0**40), ("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10), ("B", 1.0))
_TIMES = (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0))
_MAX_DIGITS = 4
WIDEST = 0.5
"""Half of an interval, as a share, up to which its width is a number: an unreliable figure's."""
_UNKNOWN_DIGITS = 3
"""Digits of a figure that no interval belongs to: what another program gave, or a maximum."""
_DOUBTFUL_DIGITS = 2
"""Digits of a figure that lacks its interval."""
_LOPSIDED = 1.5
"""Ratio of an interval's sides from which on both of its ends are shown."""
_NARROW = 0.02
"""Half of an interval, as a share, up to which one side stands for both whatever their ratio."""
_NOTHING = 1e-4
"""Share of an unreliable interval's high end below which its low end says nothing."""
_TO = "–"
"""Between the ends of an interval in a table."""
BOUND = "†"
"""Marks figures that are of something other than the measured memory or device."""
_BOUND_BY = {
    "address-generation": "bound by address generation",
    "not-the-device": "contradicted by the device's counters",
}


def scale_of(unit: str, values: list[float]) -> tuple[str, float]:
    """Return the unit to show values in and what to divide them by, by their median."""
    middle = sorted(values)[len(values) // 2] if values else 0.0
    if unit == "B/s":
        # GB/s is what the field reads; only a far slower tier leaves it.
        return ("GB/s", 1e9) if middle >= 1e8 else _first_below(_RATES, middle)
    if unit == "ns":
        return ("ns", 1.0) if middle < 1e5 else _first_below(_TIMES, middle)
    if unit == "B":
        return _first_below(_SIZES, middle)
    if unit == "J/bit":
        return "pJ/bit", 1e-12
    if unit == "1/s" and middle >= 1e6:
        return "million/s", 1e6
    return unit, 1.0


def common_scale(shown: Sequence[Figured]) -> tuple[str, float]:
    """Return the unit to show figures of one metric in, and what to divide them by."""
    return scale_of(shown[0].unit or "count", [one.estimate or 0.0 for one in shown])


def limit_text(limit: Limit) -> str:
    """Return a limit with its unit: 12.8 GB/s."""
    unit, factor = scale_of(limit.unit, [limit.value])
    return f"{brief(limit.value / factor, 4)} {unit}"


def _first_below(scales: tuple[tuple[str, float], ...], value: float) -> tuple[str, float]:
    return next(((name, factor) for name, factor in scales if value >= factor), scales[-1])


def decimals_of(value: float, half: float) -> int:
    """Return the decimals that a value with an interval of ± ``half`` is worth; -2: hundreds."""
    if value == 0 or not math.isfinite(value):
        return 0
    most = max(0, _MAX_DIGITS - 1 - math.floor(math.log10(abs(value))))
    if half <= 0 or not math.isfinite(half):
        return most
    exponent = math.floor(math.log10(half))
    # An interval that begins with 1 gets a second digit: ±1.4 and ±1.9 are not the same.
    second = 1 if half / 10.0**exponent < 2 else 0
    return min(most, second - exponent)


def _rounded(value: float, decimals: int, how: Callable[[float], float] = round) -> str:
    """Return a value rounded to so many decimals, or to tens, hundreds where they are negative."""
    nudge = 1e-9 if how is math.floor else -1e-9 if how is math.ceil else 0.0
    steps = how(value * 10.0**decimals + nudge)
    return f"{steps / 10.0**decimals:.{max(0, decimals)}f}"


def with_interval(figure: Figured, factor: float) -> str:
    """Return a table's cell: ``28.1 ±0.2``, or ``28.1 (27.9–28.8)`` where the sides of the interval
    differ by more than half.

    Of two sides that are nearly alike or narrow, the larger one stands for both. An unreliable
    figure is its interval alone, ``3–130``; one that lacks its interval is ``~28``.
    """
    estimate, interval = parts(figure, factor)
    if is_unreliable(figure):
        return interval
    if figure.no_interval and is_exact(figure):
        return f"{estimate} ({figure.no_interval})"
    if not has_interval(figure):
        return estimate
    shown = interval if _is_symmetric(interval) else f"({interval})"
    return f"{estimate} {shown}".rstrip()


def text(figure: Figured, factor: float = 1.0, unit: str = "") -> str:
    """Return a figure as sentences have it: ``28.1 ±0.2 GB/s``, ``28.1 GB/s (27.9 to 28.8)``,
    ``between 3 and 130 ns``, ``~28 GB/s (no interval)``."""
    estimate, interval = parts(figure, factor)
    after = f" {unit}" if unit else ""
    if is_unreliable(figure):
        return f"between {interval.replace(_TO, ' and ')}{after}"
    if not has_interval(figure):
        said = figure.no_interval if figure.no_interval and is_exact(figure) else "no interval"
        return f"{estimate}{after} ({said})"
    if _is_symmetric(interval):
        return f"{estimate} {interval}".rstrip() + after
    return f"{estimate}{after} ({interval.replace(_TO, ' to ')})"


def _is_symmetric(interval: str) -> bool:
    return interval[:1] in ("", "±")


def ratio(one: Measurement, other: Measurement) -> Figure:
    """Return one headline over another.

    Each end of the interval takes both figures at the ends of theirs, so it is no narrower than
    95%, even where one of them is the best of several.
    """
    assert one.estimate
    assert other.estimate
    known = one.ci_low and one.ci_high and other.ci_low and other.ci_high
    return Figure(
        metric="ratio",
        unit="ratio",
        estimate=one.estimate / other.estimate,
        ci_low=one.ci_low / other.ci_high if known else None,  # type: ignore[operator]
        ci_high=one.ci_high / other.ci_low if known else None,  # type: ignore[operator]
    )


def parts(figure: Figured, factor: float) -> tuple[str, str]:
    """Return a figure's estimate and its interval apart: ``28.1`` and ``±0.2`` or ``27.9–28.8``.

    The interval is empty where it has no width, and "no interval" with the reason where there is
    none."""
    value, half = value_and_half(figure)
    low, high = figure.ci_low, figure.ci_high
    if low is None or high is None:
        cause = f": {figure.no_interval.replace('-', ' ')}" if figure.no_interval else ""
        return plain(figure, factor), f"no interval{cause}"
    if is_unreliable(figure):
        return plain(figure, factor), _TO.join(_rough_range(low / factor, high / factor))
    decimals = decimals_of(value / factor, half / factor)
    estimate = _rounded(value / factor, decimals)
    if half <= 0:
        return estimate, ""
    if half > max(_NARROW * abs(value), _LOPSIDED * min(value - low, high - value)):
        return estimate, _range(low / factor, high / factor, decimals)
    # An interval narrower than the digits shown is rounded up to the last of them, not to none.
    return estimate, f"±{_rounded(max(half / factor, 10.0**-decimals), decimals, math.ceil)}"


def _range(low: float, high: float, decimals: int) -> str:
    """Return ``27.9–28.8``, rounded outwards; what is above 0 stays so."""
    lower = _rounded(low, decimals, math.floor)
    if float(lower) <= 0 < low:
        lower = f"{low:.1g}"
    return f"{lower}{_TO}{_rounded(high, decimals, math.ceil)}"


def _rough_range(low: float, high: float) -> tuple[str, str]:
    """Return the ends of an unreliable figure's interval, rounded outwards; 0 for a low end that is
    orders of magnitude below the high one."""
    least = 0.0 if low < high * _NOTHING else low
    return significant(least, 1, math.floor), significant(high, 2, math.ceil)


def _rough(value: float, low: float, high: float) -> str:
    """Return an unreliable estimate: a digit, or more where that lies outside of the interval."""
    least, most = map(float, _rough_range(low, high))
    texts = [significant(value, digits) for digits in (1, 2, 3)]
    return next((text for text in texts if least <= float(text) <= most), texts[-1])


def significant(value: float, digits: int, how: Callable[[float], float] = round) -> str:
    """Return a value with so many significant digits and without an exponent: 509 as ``500``."""
    if value == 0 or not math.isfinite(value):
        return f"{value:.0f}"
    return _rounded(value, digits - 1 - math.floor(math.log10(abs(value))), how)


def plain(figure: Figured, factor: float, digits: int = _MAX_DIGITS) -> str:
    """Return the estimate alone, with the digits that its interval supports, at most so many.

    One that is not known to within ±50% begins with ``~``. It has a single digit where that lies in
    its interval, ``~100``, and two where it has no interval.
    """
    value, half = value_and_half(figure)
    shown = value / factor
    if is_unreliable(figure) and figure.ci_low is not None and figure.ci_high is not None:
        return f"~{_rough(shown, figure.ci_low / factor, figure.ci_high / factor)}"
    if not has_interval(figure):
        if is_exact(figure):
            return significant(shown, min(digits, _UNKNOWN_DIGITS))
        return f"~{significant(shown, min(digits, _DOUBTFUL_DIGITS))}"
    most = max(0, digits - 1 - math.floor(math.log10(abs(shown)))) if shown else 0
    return _rounded(shown, min(most, decimals_of(shown, half / factor)))


def side_figure(measurement: Measurement, metric: str, part: str = "") -> Figure | None:
    """Return a measurement's figure, None where it has none of that metric and part."""
    return next((f for f in measurement.figures if (f.metric, f.part) == (metric, part)), None)


def figure_of(measurement: Measurement, metric: str, part: str = "") -> float | None:
    """Return the estimate of a figure, None where there is none of that metric and part."""
    found = side_figure(measurement, metric, part)
    return found.estimate if found else None


def has_interval(measurement: Figured) -> bool:
    """Whether a figure's uncertainty is known."""
    return measurement.ci_low is not None and measurement.ci_high is not None


def is_vague(figure: Figured) -> bool:
    """Return whether a figure is not known to within ±50%: no conclusion is drawn from it."""
    return is_unreliable(figure) or not (has_interval(figure) or is_exact(figure))


def is_doubtful(measurement: Measurement) -> bool:
    """Return whether a figure is vague, comes from disturbed rows for want of others, or is
    contradicted by the device's counters."""
    evidence = measurement.evidence
    disturbed = bool(evidence and evidence.disturbed)
    return is_vague(measurement) or disturbed or measurement.bound_by == "not-the-device"


def bound_of(measurement: Measurement, figure: Figure) -> str | None:
    """Return what one of its figures is of, other than its memory or device, where known."""
    if figure is measurement.headline:
        return measurement.bound_by
    known, evidence = METRICS.get(figure.metric), measurement.evidence
    if known is None or not known.reads_back or evidence is None:
        return None
    return "not-the-device" if evidence.less_on_devices(False) else None


def mark(measurement: Measurement, figure: Figure | None = None) -> str:
    """Return the mark of a figure of something other than its memory or device, or nothing; of the
    headline unless told otherwise."""
    found = figure or measurement.headline
    return BOUND if found and bound_of(measurement, found) else ""


def bound_words(bound: str) -> str:
    """Return in words what a figure is of, other than its memory or device; a later version's word
    as it stands."""
    return _BOUND_BY.get(bound) or f"bound by '{bound}'"


def bound_text(measurements: Sequence[Measurement]) -> str:
    """Explain the marks of these figures; empty where none has one."""
    found = dict.fromkeys(bound_words(m.bound_by) for m in measurements if m.bound_by)
    return f"{BOUND} {', '.join(found)}" if found else ""


def value_and_half(measurement: Figured) -> tuple[float, float]:
    """Return a measured estimate and the larger side of its interval; 0 where it has none."""
    value = measurement.estimate or 0.0
    low = value if measurement.ci_low is None else measurement.ci_low
    high = value if measurement.ci_high is None else measurement.ci_high
    return value, max(value - low, high - value, 0.0)


def share_text(share: float) -> str:
    """Return a share in percent, with enough digits not to say 0% of something."""
    if share <= 0 or share >= 0.0995:
        return f"{share:.0%}"
    return f"{share:.1%}" if share >= 0.001 else "under 0.1%"


def of_limit(measurement: Figured) -> str:
    """Return the efficiency in percent, marked where the user states the limit; a dash where no
    limit is known."""
    if measurement.efficiency is None:
        return "–"
    stated = " stated" if measurement.limit and measurement.limit.stated else ""
    return share_text(measurement.efficiency) + stated


def relative_half(measurement: Figured) -> float:
    """Return half the interval as a share of the estimate."""
    value, half = value_and_half(measurement)
    return half / abs(value) if value else 0.0


def width_text(share: float) -> str:
    """Return the width of an interval as a share: ±3%; no number for one beyond all use."""
    return f"±{100 * share:.2g}%" if share <= WIDEST else f"more than ±{WIDEST:.0%}"


def size_text(size: float) -> str:
    """Return bytes as people write them: 48 KiB, 1 GiB, 1.5 GiB."""
    name, factor = _first_below(_SIZES, size)
    shown = size / factor
    return f"{shown:.0f} {name}" if shown >= 1000 or factor == 1 else f"{shown:.3g} {name}"


def seconds_text(seconds: float) -> str:
    """Return a time as people write it: 0.5 s, 42 s, 12 min, 5 h 20 min."""
    if seconds < 120:
        return f"{seconds:.3g} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"

"""Power, and energy per bit, from the energy counters of each repetition."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tierscope.analysis.estimate import student_quantile
from tierscope.model.event import Column, Repetition, Series
from tierscope.model.evidence import EnergyEvidence
from tierscope.model.metric import METRICS
from tierscope.model.run import Figure

_ERROR = 0.05
_BITS = 8


@dataclass(frozen=True)
class Window:
    """Energy of one repetition."""

    seconds: float
    joules: float
    """Joules of all domains that count."""
    idle_joules: float | None
    """Joules that their idle power would have taken; None where unknown."""
    by_domain: dict[str, float]
    bits: float | None
    """As the headline counts bytes; None of a headline that is not a bandwidth."""


def energy_figures(repetitions: Sequence[Repetition]) -> tuple[list[Figure], list[str]]:
    """Return the figures of energy of repetitions, and what has to be said of them.

    Power is all energy over all time, energy for a bit all energy above idle over all bits; their
    intervals are those of a ratio estimator over repetitions (Cochran, Sampling Techniques, 2.11),
    with Student's t. The idle power is taken for known."""
    windows = list(_windows(repetitions))
    if not windows:
        return [], []
    names = [name for name in windows[0].by_domain if all(name in w.by_domain for w in windows)]
    counted = [w for w in windows if w.joules > 0]
    figures: list[Figure] = []
    notes: list[str] = []
    if len(counted) == len(windows):
        figures.append(_ratio("power", "", [(w.joules, w.seconds) for w in windows]))
        figures += _above_idle(windows, notes)
    for name in names:
        pairs = [(w.by_domain[name], w.seconds) for w in windows]
        figures.append(_ratio("power", name, pairs))
    return figures, notes


def _above_idle(windows: Sequence[Window], notes: list[str]) -> Iterator[Figure]:
    net = [w.joules - w.idle_joules for w in windows if w.idle_joules is not None]
    if len(net) < len(windows):
        return
    above = _ratio(
        "power_above_idle", "", [(n, w.seconds) for n, w in zip(net, windows, strict=True)]
    )
    if (above.estimate if above.ci_low is None else above.ci_low) <= 0:
        notes.append("its power was not above that of the idle machine, as far as counters tell")
        return
    yield above
    bits = [w.bits for w in windows if w.bits]
    if len(bits) == len(windows):
        yield _ratio("energy_per_bit", "", list(zip(net, bits, strict=True)))


def _windows(repetitions: Sequence[Repetition]) -> Iterator[Window]:
    for repetition in repetitions:
        energy = repetition.evidence.energy
        if energy is None or energy.seconds <= 0 or not energy.domains:
            continue
        rate = _mean_rate(repetition.series[0])
        summed = [one for one in energy.domains if one.summed]
        yield Window(
            seconds=energy.seconds,
            joules=sum(one.joules for one in summed),
            idle_joules=_idle_joules(energy),
            by_domain={one.name: one.joules for one in energy.domains},
            bits=None if rate is None else rate * energy.seconds * _BITS,
        )


def _idle_joules(energy: EnergyEvidence) -> float | None:
    found = [one.idle_w for one in energy.domains if one.summed]
    known = [watts for watts in found if watts is not None]
    return sum(known) * energy.seconds if len(known) == len(found) else None


def _mean_rate(series: Series) -> float | None:
    """Return the mean of a headline in bytes/s, weighted by its samples' time."""
    headline: Column = series.columns[0]
    if METRICS[headline.metric].unit != "B/s":
        return None
    pairs = zip(headline.values, series.durations, strict=True)
    known = [(value, seconds) for value, seconds in pairs if value is not None]
    total = sum(seconds for _, seconds in known)
    return sum(value * seconds for value, seconds in known) / total if total > 0 else None


def _ratio(metric: str, part: str, pairs: Sequence[tuple[float, float]]) -> Figure:
    """Return the sum of the first of each pair over that of the second, with its interval."""
    above, below = (sum(pair[place] for pair in pairs) for place in (0, 1))
    estimate, n = above / below, len(pairs)
    half: float | None = None
    if n > 1:
        squares = sum((y - estimate * x) ** 2 for y, x in pairs)
        error = math.sqrt(n / (n - 1) * squares) / below
        half = student_quantile(n - 1, _ERROR) * error
    return Figure(
        metric=metric,
        part=part,
        unit=METRICS[metric].unit,
        estimate=estimate,
        ci_low=None if half is None else estimate - half,
        ci_high=None if half is None else estimate + half,
        no_interval="few-repetitions" if half is None else None,
    )

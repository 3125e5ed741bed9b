"""Whether storage has come to its steady state, by the five-round rule.

SNIA's Solid State Storage Performance Test Specification (PTS) takes a measurement in rounds and
calls it steady where, over five consecutive rounds, the range of the values is within 20% of their
average, and the line that fits them best by least squares rises or falls by at most 10% of it over
the five. Its rounds take a minute; how long they are here is part of the answer.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, linear_regression
from typing import Any, Literal

from tierscope.analysis.observed import merged_evidence
from tierscope.model.event import COUNTED_BYTES, IoEvidence, Repetition
from tierscope.model.run import Round
from tierscope.model.spec import MeasurementSpec
from tierscope.model.time_series import TimeSeries

ROUNDS = 5
RANGE, SLOPE = 0.20, 0.10
_WHOLE = ("storage_io", *COUNTED_BYTES)
"""Evidence that is of all rounds, also where a figure is of the last ones only."""
Ending = Literal["written", "steady", "rounds"]


@dataclass(frozen=True)
class Steady:
    """Verdict of the rule on a measurement."""

    reached: bool
    round_s: float
    """Seconds of a round."""
    first: int = 0
    """Number of the round, from 0 on, with which the first five begin that are steady."""
    rounds: int = ROUNDS
    """Rounds of the whole measurement."""


def steady_state(samples: Sequence[float], sample_s: float, round_s: float = 0.0) -> Steady | None:
    """Say whether samples, in the order in which they were taken, come to a steady state.

    ``sample_s`` is how long each of them is. A round is the mean of ``round_s`` seconds of them, or
    of a tenth of all, if that is longer. None of fewer samples than five.
    """
    if len(samples) < ROUNDS:
        return None
    each = max(len(samples) // (2 * ROUNDS), round(round_s / sample_s) if sample_s > 0 else 0, 1)
    rounds = [fmean(samples[at : at + each]) for at in range(0, len(samples) - each + 1, each)]
    if len(rounds) < ROUNDS:
        return None
    for first in range(len(rounds) - ROUNDS + 1):
        if is_steady(rounds[first : first + ROUNDS]):
            return Steady(True, each * sample_s, first, len(rounds))
    return Steady(False, each * sample_s, 0, len(rounds))


@dataclass(frozen=True)
class Window:
    """Five rounds as the rule judges them."""

    mean: float
    range: float
    """Largest less smallest value, as a share of the mean."""
    slope: float
    """What the line that fits them best rises or falls over the five, as a share of the mean."""

    @property
    def steady(self) -> bool:
        """Whether they keep to the rule."""
        return self.range <= RANGE and self.slope <= SLOPE


def window_of(rounds: Sequence[float]) -> Window:
    """Return what the rule says of five rounds."""
    mean = fmean(rounds)
    if mean <= 0 or not math.isfinite(mean):
        return Window(mean, math.inf, math.inf)
    across = abs(linear_regression(range(len(rounds)), rounds).slope) * (len(rounds) - 1)
    return Window(mean, (max(rounds) - min(rounds)) / mean, across / mean)


def operation_times(rounds: Sequence[Round]) -> list[float]:
    """Return the mean seconds of an operation in each round, of one operation in flight; infinite
    where none came to its end."""
    return [1.0 / one.value if one.value else math.inf for one in rounds]


def is_steady(rounds: Sequence[float]) -> bool:
    """Whether five rounds keep to the rule."""
    return window_of(rounds).steady


def rounds_of(repetitions: Sequence[Repetition]) -> list[Round]:
    """Return the rounds that repetitions are, in their order."""
    found: list[Round] = []
    seconds, written = 0.0, 0
    for repetition in repetitions:
        seconds += repetition.seconds
        io = repetition.evidence.storage_io
        written += io.bytes_written if io else 0
        value = _rate(repetition, io) if io else 0.0
        found.append(Round(end_s=seconds, value=value, bytes_written=written))
    return found


def _rate(repetition: Repetition, io: IoEvidence) -> float:
    """Return the headline over a whole repetition: what was done in all of its time.

    That is not the mean of its samples. Operations that wait for a busy CPU are done together, and
    may be in a sample that is far shorter than the others.
    """
    series = repetition.series[0]
    counted = (io.reads, io.writes)
    if series.columns[0].metric == "bandwidth":
        counted = (io.bytes_read, io.bytes_written)
    seconds = sum(series.durations)
    return sum(counted) / seconds if seconds else 0.0


def ended_by(spec: MeasurementSpec, repetitions: Sequence[Repetition]) -> Ending | None:
    """Return which rule its repetitions fulfil; None: it goes on, ran out of time, or has no
    rule."""
    asked = spec.rounds()
    if asked is not None:
        return "rounds" if len(repetitions) >= asked else None
    rule = spec.time_series()
    if rule is None or not repetitions:
        return None
    rounds = rounds_of(repetitions)
    if rule.group:
        return _in_group(rule, rounds)
    if rounds[-1].bytes_written < rule.passes * _used(repetitions):
        return None
    if rule.until == "written":
        return "written"
    return "steady" if _ends_steady(rule, rounds) else None


def _in_group(rule: TimeSeries, rounds: Sequence[Round]) -> Ending | None:
    """Return the ending of a series that ends with its group: the tracked ones decide."""
    if not rule.tracked:
        return "rounds"
    return "steady" if _ends_steady(rule, rounds) else None


def _ends_steady(rule: TimeSeries, rounds: Sequence[Round]) -> bool:
    last = rounds[-ROUNDS:]
    values = operation_times(last) if rule.of == "time" else [one.value for one in last]
    return len(values) == ROUNDS and is_steady(values)


def seconds_left(spec: MeasurementSpec, repetitions: Sequence[Repetition]) -> float | None:
    """Return how long what is scheduled apart goes on at most; None where nobody knows yet.

    One that ends when so much is written is expected to go on at its rate so far.
    """
    spent = sum(repetition.seconds for repetition in repetitions)
    rounds = spec.rounds()
    if rounds is not None:
        return spent / len(repetitions) * (rounds - len(repetitions)) if repetitions else None
    rule = spec.time_series()
    if rule is not None and rule.group:  # so many rounds, however long each of them took
        most = round(spec.sampling.budget_s / rule.round_s)
        return rule.round_s * max(0, most - len(repetitions))
    if rule is None or rule.until == "steady":
        return max(0.0, spec.sampling.budget_s - spent)
    written = rounds_of(repetitions)[-1].bytes_written if repetitions else 0
    return spent * max(0.0, rule.passes * _used(repetitions) / written - 1) if written else None


def of_figure(spec: MeasurementSpec, repetitions: Sequence[Repetition]) -> Sequence[Repetition]:
    """Return the repetitions that the figures are of: of a curve, its last five rounds."""
    rule = spec.time_series()
    return repetitions[-ROUNDS:] if rule and rule.until == "steady" else repetitions


def whole_evidence(repetitions: Sequence[Repetition]) -> dict[str, Any]:
    """Return the evidence that is of all rounds."""
    merged = merged_evidence(repetitions)
    return {name: getattr(merged, name) for name in _WHOLE}


def _used(repetitions: Sequence[Repetition]) -> int:
    """Return the bytes of the device that the series goes over."""
    io = repetitions[0].evidence.storage_io
    return (io.used_bytes if io else None) or 0

"""Visits that are rounds of a time series: preconditioning, and the write-saturation curve.

SNIA's Solid State Storage Performance Test Specification (PTS) writes to a drive in rounds of a
minute until the rates of five of them are steady. An empty drive's rates are steady, too, until it
has been written once: so a series says how much has to be written before it may end.
"""

from collections.abc import Sequence
from statistics import fmean
from typing import Any, Literal

from tierscope.analysis.observed import merged_evidence
from tierscope.analysis.steady_state import ROUNDS, is_steady
from tierscope.model.event import Visit
from tierscope.model.run import Round
from tierscope.model.spec import MeasurementSpec

_WHOLE = ("storage_io", "device_bytes_read", "device_bytes_written")
"""Evidence that is of all rounds, also where a figure is of the last ones only."""
Ending = Literal["written", "steady", "rounds"]


def rounds_of(visits: Sequence[Visit]) -> list[Round]:
    """Return the rounds that visits are, in their order."""
    found: list[Round] = []
    seconds, written = 0.0, 0
    for visit in visits:
        seconds += visit.seconds
        written += visit.evidence.storage_io.bytes_written if visit.evidence.storage_io else 0
        found.append(Round(end_s=seconds, value=_mean(visit), bytes_written=written))
    return found


def _mean(visit: Visit) -> float:
    """Return the mean of the headline over a visit's rows, which are equally long."""
    values = [value for value in visit.series[0].columns[0].values if value is not None]
    return fmean(values) if values else 0.0


def ended_by(spec: MeasurementSpec, visits: Sequence[Visit]) -> Ending | None:
    """Return which rule its visits fulfil; None: it goes on, ran out of time, or has no rule."""
    asked = spec.rounds()
    if asked is not None:
        return "rounds" if len(visits) >= asked else None
    rule = spec.time_series()
    if rule is None or not visits:
        return None
    rounds = rounds_of(visits)
    if rounds[-1].bytes_written < rule.passes * _used(visits):
        return None
    if rule.until == "written":
        return "written"
    last = [one.value for one in rounds[-ROUNDS:]]
    return "steady" if len(last) == ROUNDS and is_steady(last) else None


def seconds_left(spec: MeasurementSpec, visits: Sequence[Visit]) -> float | None:
    """Return how long what is scheduled apart goes on at most; None where nobody knows yet.

    One that ends when so much is written is expected to go on at its rate so far.
    """
    spent = sum(visit.seconds for visit in visits)
    rounds = spec.rounds()
    if rounds is not None:
        return spent / len(visits) * (rounds - len(visits)) if visits else None
    rule = spec.time_series()
    if rule is None or rule.until == "steady":
        return max(0.0, spec.sampling.budget_s - spent)
    written = rounds_of(visits)[-1].bytes_written if visits else 0
    return spent * max(0.0, rule.passes * _used(visits) / written - 1) if written else None


def of_figure(spec: MeasurementSpec, visits: Sequence[Visit]) -> Sequence[Visit]:
    """Return the visits that the figures are of: of a curve, its last five rounds."""
    rule = spec.time_series()
    return visits[-ROUNDS:] if rule and rule.until == "steady" else visits


def whole_evidence(visits: Sequence[Visit]) -> dict[str, Any]:
    """Return the evidence that is of all rounds."""
    merged = merged_evidence(visits)
    return {name: getattr(merged, name) for name in _WHOLE}


def _used(visits: Sequence[Visit]) -> int:
    """Return the bytes of the device that the series goes over."""
    io = visits[0].evidence.storage_io
    return (io.used_bytes if io else None) or 0

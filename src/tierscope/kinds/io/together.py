"""What targets that ran together say in words: beside each alone, outliers, finishers."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from tierscope.kinds.io.points import estimate, observed, on, plural, rate, same_but
from tierscope.kinds.io.words import rate_text
from tierscope.model.run import Measurement
from tierscope.model.storage import DriveFacts
from tierscope.report import figures
from tierscope.report.pictures.picture import varying, words_of

_OUTLIER = 0.9
"""Share of the median of its peers below which a target is an outlier; its peers are two at least.
"""
_KEYS = ("together", "jobs", "threads", "memory")
"""In which targets together differ from each of them alone."""


def together_remarks(measured: Sequence[Measurement]) -> list[str]:
    """Return a line for each thing worth saying, the most telling first."""
    together = [m for m in measured if "together" in m.pattern]
    names = varying(together, "path", "operation", "order", "read_percent", *_KEYS)
    lines = [line for m in together for line in _of_one(m, measured, words_of(m, names))]
    lines += [line for peers in _alone(measured) for line in _outliers(peers)]
    return list(dict.fromkeys([*lines, *_firmware(measured)]))


def _of_one(m: Measurement, measured: Sequence[Measurement], apart: str) -> Iterator[str]:
    """``apart``: what tells it from others of several targets together."""
    names = _names(m)
    alone = [
        other
        for other in measured
        if other.target in names and "together" not in other.pattern and same_alone(other, m)
    ]
    if len({other.target for other in alone}) == len(names):
        total = sum(estimate(other, str(m.metric)) for other in alone)
        if total:
            what = f"{plural(m)}, {apart}" if apart else plural(m)
            yield (
                f"{what}: {len(names)} targets together reach {rate_text(m)}, "
                f"{figures.share_text((m.estimate or 0.0) / total)} of the sum of each alone"
            )
    else:
        yield from _outliers({name: _part(m, name) for name in names}, "together, ")
    yield from _finishers(m)


def same_alone(alone: Measurement, together: Measurement) -> bool:
    """Whether one target was measured alone as it was together with others."""
    return same_but(alone.model_copy(update={"target": together.target}), together, *_KEYS)


def _alone(measured: Sequence[Measurement]) -> Iterator[dict[str, float]]:
    """Yield the figures of targets that were measured alike, each alone."""
    groups: dict[str, dict[str, float]] = {}
    for m in measured:
        if "together" not in m.pattern and m.estimate:
            key = str(sorted((k, str(value)) for k, value in m.pattern.items()))
            groups.setdefault(f"{m.metric} {key}", {})[m.target] = m.estimate
    yield from groups.values()


def _outliers(by_target: Mapping[str, float], how: str = "alone, ") -> Iterator[str]:
    if len(by_target) < 3:
        return
    middle = median(by_target.values())
    for target, value in by_target.items():
        if value < _OUTLIER * middle:
            share = figures.share_text(value / middle)
            yield f"{how}{target} has {share} of the median of the {len(by_target)} targets"


def _finishers(m: Measurement) -> Iterator[str]:
    """Say which target was done first, and which last, where each had an amount to move."""
    io = observed(m)
    ended = [(one.last_finisher_s, one.name) for one in (io.targets if io else None) or []]
    known = sorted((seconds, name) for seconds, name in ended if seconds)
    if len(known) > 1:
        (first, name), (last, other) = known[0], known[-1]
        yield f"{name} was done first, after {first:.3g} s; {other} last, after {last:.3g} s"


def _firmware(measured: Sequence[Measurement]) -> Iterator[str]:
    """Say where drives of one model differ in their firmware."""
    models: dict[str, dict[str, list[str]]] = {}
    for drive in _drives(measured).values():
        if drive.firmware:
            models.setdefault(drive.model, {}).setdefault(drive.firmware, []).append(drive.name)
    for model, by_firmware in models.items():
        if len(by_firmware) > 1:
            parts = [f"{name} on {', '.join(drives)}" for name, drives in by_firmware.items()]
            yield f"drives of model {model} differ in firmware: {'; '.join(parts)}"


def _drives(measured: Sequence[Measurement]) -> dict[str, DriveFacts]:
    return {drive.name: drive for m in measured for facts in on(m) for drive in facts.drives}


def _names(m: Measurement) -> list[str]:
    io = observed(m)
    return [one.name for one in (io.targets if io else None) or []]


def _part(m: Measurement, name: str) -> float:
    found = rate(m, str(m.metric), name)
    return (found.estimate if found else None) or 0.0

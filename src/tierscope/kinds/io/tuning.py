"""Which settings of cuFile are worth changing, by measurement."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tierscope.analysis.bend import LEVEL, z_of
from tierscope.analysis.change import Traits, change_of
from tierscope.kinds.io.points import plural, same_but
from tierscope.model.run import Measurement
from tierscope.report import figures

_NOTHING_KNOWN = Traits(private_bytes=0.0, shared_caches={})
"""Of caches, which have no part in this."""


@dataclass(frozen=True)
class _Side:
    """A setting beside cufile.json as it is, as natural logarithms of the rates' ratio."""

    measurement: Measurement
    size: float
    half: float
    """Half of the interval: of 95% over all settings of a comparison (Bonferroni)."""

    @property
    def setting(self) -> str:
        return str(self.measurement.pattern["cufile"])

    @property
    def better(self) -> bool:
        return self.size > self.half

    @property
    def worse(self) -> bool:
        return self.size < -self.half

    def __str__(self) -> str:
        middle, low, high = (
            f"{math.exp(value):.4g}"
            for value in (self.size, self.size - self.half, self.size + self.half)
        )
        return f"{middle} times the rate ({low} to {high})"


def setting_lines(measured: Sequence[Measurement]) -> list[str]:
    """Say what each setting changes beside cufile.json as it is, and which to set.

    A change is recommended only where the interval of the ratio of the two rates leaves out 1. The
    intervals contain the variation between visits; both sides are visited in the same rounds.
    """
    lines = []
    for base in measured:
        if base.pattern.get("cufile") or not base.estimate:
            continue
        others = [
            m
            for m in measured
            if m.pattern.get("cufile") and m.estimate and same_but(base, m, "cufile")
        ]
        if others:
            lines.append(_line(base, _sides(base, others)))
    return lines


def _sides(base: Measurement, others: Sequence[Measurement]) -> list[_Side]:
    z = z_of(LEVEL / 2 / len(others))
    changes = [change_of(base, other, _NOTHING_KNOWN) for other in others]
    return [_Side(change.new, change.size, z * change.error) for change in changes]


def _line(base: Measurement, sides: Sequence[_Side]) -> str:
    what = f"{plural(base)} of {figures.size_text(base.pattern['block_size'])}"
    key = sides[0].setting.partition("=")[0]
    slower = _listed([side for side in sides if side.worse])
    also = f"; slower: {slower}" if slower else ""
    better = [side for side in sides if side.better]
    if not better:
        seen = max(side.half for side in sides)
        hidden = (
            f"changes of less than {100 * math.expm1(seen):.2g}% would not be seen"
            if seen < 1
            else "the intervals are too wide to tell more"
        )
        return (
            f"{what}: leave {key} as it is: nothing is faster beyond the intervals; {hidden}{also}"
        )
    best = max(better, key=lambda side: side.size)
    alike = [
        side
        for side in better
        if side is not best and best.size - side.size <= math.hypot(best.half, side.half)
    ]
    same = f"; {_listed(alike)} may be as good" if alike else ""
    return f"{what}: set {best.setting}: {best} of cufile.json as it is{same}{also}"


def _listed(sides: Sequence[_Side]) -> str:
    return ", ".join(side.setting.partition("=")[2] for side in sides)

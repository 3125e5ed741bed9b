"""Run-to-run variation of one machine's medians, and which changes are significant despite it.

See ``tierscope.analysis.compare`` for the reasoning.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist, median

from tierscope.analysis.change import Change

_CONFIDENCE = 0.95
_MIN_CHANGES = 8
"""Fewer differences than this say too little about run-to-run variation."""
_MIN_OF_GROUP = 6
_MIN_OF_PATH = 5
"""Fewer measurements cannot tell that a path changed as a whole."""
_ALIKE = 4.0
"""Times that a path's change has to be larger than what its measurements differ in."""
_NORMAL = NormalDist().inv_cdf(0.75)
"""Median of the absolute value of a standard normal variable."""


@dataclass(frozen=True)
class Variation:
    """Run-to-run variation of medians, in standard deviations of logarithms."""

    overall: float | None
    """The larger of all changes' and of any one group's; None where differences are too few."""
    groups: dict[tuple[str, bool], float]
    """Of groups that are large enough."""
    usual: dict[tuple[str, bool], float]
    """Median sampling error of each group: among many intervals of small effective sample sizes
    some are narrow by luck; none is trusted to be narrower than usual."""

    @classmethod
    def of(cls, changes: list[Change]) -> "Variation":
        """Estimate it from all changes between two runs."""
        members: dict[tuple[str, bool], list[Change]] = {}
        for change in changes:
            members.setdefault(change.group, []).append(change)
        usual = {group: median(change.sampling for change in own) for group, own in members.items()}
        if len(changes) < _MIN_CHANGES:
            return cls(None, {}, usual)
        groups = {
            group: excess_scatter(_residuals(own))
            for group, own in members.items()
            if len(own) >= _MIN_OF_GROUP
        }
        return cls(max([excess_scatter(_residuals(changes)), *groups.values()]), groups, usual)

    def bound(self, change: Change, judged: int) -> float:
        """Return the half-width of the interval of a change, one of ``judged``."""
        tail = (1 - _CONFIDENCE) / 2 / judged
        sampling = max(change.sampling, self.usual.get(change.group, 0.0))
        known = self.groups.get(change.group, self.overall)
        # Where the variation is unknown, it is at worst that of single samples.
        own = change.spread if change.volatile or known is None else 0.0
        varying = math.hypot(known or 0.0, own)
        return math.hypot(NormalDist().inv_cdf(1 - tail) * sampling, student4(1 - tail) * varying)


def excess_scatter(residuals: list[tuple[float, float]]) -> float:
    """Return the scatter of residuals that their sampling errors do not explain, robustly.

    Of residuals over their whole standard deviation the median is that of a normal distribution;
    that gives the part of it that sampling is not, whose uncertainty of two standard errors of
    1.17 / sqrt(n) is added.
    """

    def excess(variation: float) -> float:
        scaled = (abs(r) / max(1e-9, math.hypot(s, variation)) for r, s in residuals)
        return median(scaled) - _NORMAL

    if excess(0.0) <= 0:
        return 0.0
    low, high = 0.0, max(abs(residual) for residual, _ in residuals) / _NORMAL
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return high * (1 + 2 * 1.17 / math.sqrt(len(residuals)))


def _residuals(changes: list[Change]) -> list[tuple[float, float]]:
    """Return each difference, less its path's if that changed as a whole, with its error."""
    paths: dict[tuple[str, ...], list[Change]] = {}
    for change in changes:
        m = change.base
        paths.setdefault((m.kind, m.initiator, m.target), []).append(change)
    found = []
    for members in paths.values():
        common = _common_change(members)
        # A path's own median lies nearer to its members than the true change does.
        grow = math.sqrt(len(members) / (len(members) - 1)) if common else 1.0
        found += [((change.size - common) * grow, change.error) for change in members]
    return found


def _common_change(members: list[Change]) -> float:
    """Return the median change of a path's measurements where they changed alike, else nothing.

    Alike: the change is far larger than what they differ in among themselves. A clock that went
    down, or another program, changes some of a path's measurements more than others.
    """
    if len(members) < _MIN_OF_PATH:
        return 0.0
    middle = median(change.size for change in members)
    apart = 1.4826 * median(abs(change.size - middle) for change in members)
    apart = max(apart, median(change.sampling for change in members))
    return middle if abs(middle) > _ALIKE * apart else 0.0


def student4(probability: float) -> float:
    """Quantile of Student's t with 4 degrees of freedom, above 0.5; exact (Shaw, 2006)."""
    alpha = 4 * probability * (1 - probability)
    root = math.sqrt(alpha)
    return 2 * math.sqrt(max(0.0, math.cos(math.acos(root) / 3) / root - 1))

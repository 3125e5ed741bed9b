"""Two modes of samples: a machine that is now faster and now slower, or pages that are.

The split into a lower and an upper group is the one with the greatest variance between the groups
(Otsu, IEEE Transactions on Systems, Man, and Cybernetics 9, 1979). A split exists for any samples,
so two modes are said only of groups that lie apart: between them is a gap that holds no sample but
for stragglers, and that is wide both in proportion to the groups' distance and to the steps from
sample to sample within them, which also leaves out figures that a coarse clock has quantized."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

_MIN_SHARE = 0.1
"""Minimum share of the samples in a mode; fewer are outliers."""
_MIN_SAMPLES = 4
_MIN_DISTANCE = 0.005
"""Minimum distance of two modes, relative."""
_STRAGGLERS = 0.05
"""Share of a mode's samples, on either side, that may lie in the gap."""
_GAP_SHARE = 0.25
"""Minimum gap, as a share of the distance of the modes' medians: 0.1 for samples of one mode."""
_GAP_STEPS = 4
"""Minimum gap, in multiples of the longest step between samples within the modes."""


@dataclass(frozen=True)
class Modes:
    """Two modes: their medians, the share of samples in the upper one, and how often it changed."""

    low: float
    high: float
    share_high: float
    changes: int
    """From a sample to the next one."""


def find_modes(repetitions: Sequence[Sequence[float]]) -> Modes | None:
    """Return the two modes of samples in the order in which they were taken; None for one mode."""
    ordered = sorted(value for samples in repetitions for value in samples)
    count = len(ordered)
    least = max(_MIN_SAMPLES, round(_MIN_SHARE * count))
    if count < 2 * least:
        return None
    at = _split(ordered, least)
    lower, upper = ordered[:at], ordered[at:]
    low, high = median(lower), median(upper)
    own = [_central(lower), _central(upper)]
    gap = own[1][0] - own[0][-1]
    step = max((b - a for group in own for a, b in itertools.pairwise(group)), default=0.0)
    apart = high - low
    if apart < _MIN_DISTANCE * abs(high) or gap < max(_GAP_SHARE * apart, _GAP_STEPS * step):
        return None
    sides = [value >= upper[0] for samples in repetitions for value in samples]
    changes = sum(a != b for a, b in itertools.pairwise(sides))
    return Modes(low, high, len(upper) / count, changes)


def _split(ordered: Sequence[float], least: int) -> int:
    """Return where the groups' means, weighted by their sizes, are farthest apart."""
    total, count, below = sum(ordered), len(ordered), 0.0
    best, found = -1.0, least
    for at, value in enumerate(ordered[: count - least], start=1):
        below += value
        between = at * (count - at) * (below / at - (total - below) / (count - at)) ** 2
        if at >= least and value < ordered[at] and between > best:
            best, found = between, at
    return found


def _central(group: Sequence[float]) -> Sequence[float]:
    cut = int(_STRAGGLERS * len(group))
    return group[cut : len(group) - cut]

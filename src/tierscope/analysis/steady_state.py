"""Whether storage has come to its steady state, by the five-round rule.

SNIA's Solid State Storage Performance Test Specification (PTS) takes a measurement in rounds and
calls it steady where, over five consecutive rounds, the range of the values is within 20% of their
average, and the line that fits them best by least squares rises or falls by at most 10% of it over
the five. Its rounds take a minute; how long they are here is part of the answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, linear_regression

ROUNDS = 5
RANGE, SLOPE = 0.20, 0.10


@dataclass(frozen=True)
class Steady:
    """What the rule says of a measurement."""

    reached: bool
    round_s: float
    """Seconds of a round."""
    first: int = 0
    """Number of the round, from 0 on, with which the first five begin that are steady."""
    rounds: int = ROUNDS
    """Of the whole measurement."""


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


def is_steady(rounds: Sequence[float]) -> bool:
    """Whether five rounds keep to the rule."""
    mean = fmean(rounds)
    if mean <= 0:
        return False
    slope = linear_regression(range(len(rounds)), rounds).slope
    across = abs(slope) * (len(rounds) - 1)
    return max(rounds) - min(rounds) <= RANGE * mean and across <= SLOPE * mean

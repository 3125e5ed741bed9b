"""Runs of a machine that is simulated, for what ``compare`` finds in them.

Rows of a repetition follow each other as on a real machine: an autoregressive series about a level
that differs from run to run. Intervals are those that a run's repetitions get."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from tests import synthetic

from tierscope.analysis.estimate import estimate_median
from tierscope.model.run import Run

REPETITIONS = 6
ROWS = 5
_MODE_PROBABILITY = 1 / 3


@dataclass(frozen=True)
class Machine:
    """What its runs differ by, relative."""

    noise: float
    """Standard deviation of a row."""
    variation: float = 0.0
    """Standard deviation of a figure from run to run, with heavy tails."""
    follow: float = 0.0
    """Correlation of a row with the next one of its repetition."""
    noisiest: float = 1.0
    """Factor of both deviations for the first figure."""
    mode: float = 0.0
    """By how much all figures of one run in three are lower."""

    def run(
        self,
        chance: random.Random,
        figures: Sequence[tuple[str, int]],
        shift: float = 0.0,
        shifted: Sequence[tuple[str, int]] = (),
    ) -> Run:
        """Return a run with a figure for each path and number of threads; ``shift`` is a relative
        change of those that are ``shifted``."""
        maker = synthetic.Maker()
        whole = math.log1p(-self.mode) if chance.random() < _MODE_PROBABILITY else 0.0
        found = []
        for place, (path, threads) in enumerate(figures):
            factor = 1.0 if place else self.noisiest
            tail = math.sqrt(2 / chance.gammavariate(2, 1))  # Student's t, 4 degrees
            level = whole + factor * chance.gauss(0, self.variation) * tail / math.sqrt(2)
            level += math.log1p(shift) if (path, threads) in shifted else 0.0
            repetitions = [
                self._rows(chance, factor, 1e10 * threads * math.exp(level))
                for _ in range(REPETITIONS)
            ]
            estimate = estimate_median(repetitions, apart=True)
            samples = [row for repetition in repetitions for row in repetition]
            made = maker.make("bandwidth", "node:0", path, {"threads": threads}, 1e10)
            found.append(
                synthetic.changed(
                    made, estimate=estimate.value, ci_low=estimate.low, ci_high=estimate.high,
                    samples=samples, n=len(samples),
                )
            )  # fmt: skip
        return synthetic.run(found)

    def _rows(self, chance: random.Random, factor: float, level: float) -> list[float]:
        """Return the rows of a repetition."""
        noise = factor * self.noise
        value, found = chance.gauss(0, noise), []
        for _ in range(ROWS):
            step = chance.gauss(0, noise * math.sqrt(1 - self.follow**2))
            value = self.follow * value + step
            found.append(level * math.exp(value))
        return found

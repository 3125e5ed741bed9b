"""Series whose median is known: what a figure may do from sample to sample and from repetition to
repetition.

Values are natural logarithms of figures, time is counted in samples.
"""

import math
import random
from abc import abstractmethod
from collections.abc import Callable
from statistics import NormalDist, median

_MODE = 0.05
"""Distance of two modes."""


class Others:
    """Other programs that take a share of the time, in spells of so many samples."""

    def __init__(self, source: random.Random, share: float, stay: float) -> None:
        self.source = source
        self.share = share
        self.kept = max(0.0, 1 - 1 / stay / (1 - share)) if stay else 0.0
        self.busy = source.random() < share

    def skip(self, samples: float) -> None:
        """Let time pass."""
        chance = self.share + (self.busy - self.share) * self.kept**samples
        self.busy = self.source.random() < chance


class Process:
    """A series that goes on while nobody looks."""

    def __init__(self, source: random.Random, run: float) -> None:
        """``run`` is the length of the whole run, in samples."""
        self.source = source
        self.run = run
        self.now = 0.0
        self.others = Others(source, 0.05, 0)

    def begin(self, new_pages: bool) -> None:
        """A repetition begins, on new pages or on those of the one before it."""

    @abstractmethod
    def sample(self) -> float:
        """Take a sample."""

    def skip(self, samples: float) -> None:
        """Let time pass."""
        self.now += samples

    def truth(self) -> float:
        """The median over the times until now, and over all pages."""
        return 0.0

    def truth_here(self) -> float:
        """The median over the times until now, on these pages."""
        return self.truth()


class Independent(Process):
    """Samples that know nothing of each other."""

    def __init__(self, source: random.Random, run: float, sd: float, freedom: int = 0) -> None:
        super().__init__(source, run)
        self.sd = sd
        self.freedom = freedom
        """Of Student's t; 0: normal."""

    def sample(self) -> float:
        value = self.source.gauss(0, self.sd)
        if self.freedom:
            value /= math.sqrt(self.source.gammavariate(self.freedom / 2, 2) / self.freedom)
        return value


class Autoregressive(Process):
    """AR(1): each sample depends on the one before it."""

    def __init__(self, source: random.Random, run: float, phi: float, sd: float) -> None:
        super().__init__(source, run)
        self.phi = phi
        self.sd = sd
        self.state = source.gauss(0, sd)

    def sample(self) -> float:
        self.skip(1)
        return self.state

    def skip(self, samples: float) -> None:
        super().skip(samples)
        kept = self.phi**samples
        self.state = kept * self.state + self.source.gauss(0, self.sd * math.sqrt(1 - kept * kept))


class TwoStates(Process):
    """Two modes; samples stay in the upper one for ``stay`` samples on average, 0: independent."""

    def __init__(
        self, source: random.Random, run: float, share: float, stay: float, distance: float = _MODE,
        sd: float = 0.01,
    ) -> None:  # fmt: skip
        super().__init__(source, run)
        self.share = share
        self.kept = max(0.0, 1 - 1 / stay / (1 - share)) if stay else 0.0
        self.distance = distance
        self.sd = sd
        self.upper = source.random() < share

    def sample(self) -> float:
        self.skip(1)
        return self.source.gauss(self.distance if self.upper else 0.0, self.sd)

    def skip(self, samples: float) -> None:
        super().skip(samples)
        chance = self.share + (self.upper - self.share) * self.kept**samples
        self.upper = self.source.random() < chance

    def truth(self) -> float:
        upper = NormalDist(self.distance, self.sd)
        return median_of_two(self.share, upper, NormalDist(0, self.sd))


def median_of_two(share: float, one: NormalDist, other: NormalDist) -> float:
    """The median of a mixture of which ``share`` is ``one``."""
    low, high = -1.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        below = share * one.cdf(middle) + (1 - share) * other.cdf(middle)
        low, high = (middle, high) if below < 0.5 else (low, middle)
    return low


class Drift(Process):
    """A straight line over the run, up or down, and noise."""

    def __init__(self, source: random.Random, run: float, total: float, sd: float) -> None:
        super().__init__(source, run)
        self.slope = source.choice([-1, 1]) * total / run
        self.sd = sd

    def sample(self) -> float:
        self.skip(1)
        return self.slope * self.now + self.source.gauss(0, self.sd)

    def truth(self) -> float:
        return self.slope * self.now / 2


class Pages(Process):
    """Every set of pages has a level of its own."""

    def __init__(self, source: random.Random, run: float, between: float, sd: float) -> None:
        super().__init__(source, run)
        self.between = between
        self.sd = sd
        self.level = 0.0

    def begin(self, new_pages: bool) -> None:
        if new_pages:
            self.level = self.source.gauss(0, self.between)

    def sample(self) -> float:
        return self.level + self.source.gauss(0, self.sd)

    def truth_here(self) -> float:
        return self.level


class PageModes(Process):
    """A share of all sets of pages is slower by ``distance``."""

    def __init__(
        self, source: random.Random, run: float, share: float, distance: float, sd: float
    ) -> None:
        super().__init__(source, run)
        self.share = share
        self.distance = distance
        self.sd = sd
        self.level = 0.0

    def begin(self, new_pages: bool) -> None:
        if new_pages:
            self.level = -self.distance if self.source.random() < self.share else 0.0

    def sample(self) -> float:
        return self.source.gauss(self.level, self.sd)

    def truth(self) -> float:
        return median_of_two(
            self.share, NormalDist(-self.distance, self.sd), NormalDist(0, self.sd)
        )

    def truth_here(self) -> float:
        return self.level


class WarmUp(Independent):
    """Each repetition begins slower, by ``depth`` at first, and is warm after so many samples."""

    def __init__(
        self, source: random.Random, run: float, samples: int, depth: float, sd: float, ramp: bool
    ) -> None:
        super().__init__(source, run, sd)
        self.samples = samples
        self.depth = depth
        self.ramp = ramp
        self.number = 0

    def begin(self, new_pages: bool) -> None:  # noqa: ARG002  as the others have it
        self.number = 0

    def sample(self) -> float:
        left = max(0, self.samples - self.number) / self.samples
        self.number += 1
        return super().sample() - self.depth * (left if self.ramp else left > 0)


class Quantised(Independent):
    """Samples in steps, as a coarse clock gives them; the median is between two steps or on one."""

    def __init__(self, source: random.Random, run: float, sd: float, step: float) -> None:
        super().__init__(source, run, sd)
        self.step = step
        self.offset = source.random()

    def sample(self) -> float:
        return (round(super().sample() / self.step + self.offset) - self.offset) * self.step

    def truth(self) -> float:
        return (round(self.offset) - self.offset) * self.step


class Lognormal(Process):
    """Samples with a long tail upwards only."""

    def __init__(self, source: random.Random, run: float, sd: float) -> None:
        super().__init__(source, run)
        self.sd = sd

    def sample(self) -> float:
        return math.log1p(self.sd * self.source.lognormvariate(0, 1))

    def truth(self) -> float:
        return math.log1p(self.sd)


class Noisy(Autoregressive):
    """AR(1) seen through independent noise: ARMA(1, 1)."""

    def sample(self) -> float:
        return super().sample() + self.source.gauss(0, self.sd)


class Sine(Process):
    """A wave over the run, and noise."""

    def __init__(
        self, source: random.Random, run: float, height: float, waves: float, sd: float
    ) -> None:
        super().__init__(source, run)
        self.height = height
        self.speed = 2 * math.pi * waves / run
        self.phase = source.uniform(0, 2 * math.pi)
        self.sd = sd

    def level(self, at: float) -> float:
        """The wave at a time."""
        return self.height * math.sin(self.speed * at + self.phase)

    def sample(self) -> float:
        self.skip(1)
        return self.level(self.now) + self.source.gauss(0, self.sd)

    def truth(self) -> float:
        return median(self.level(self.now * part / 2000) for part in range(2001))


Make = Callable[[random.Random, float], Process]

PROCESSES: dict[str, Make] = {
    "independent, 1%": lambda s, run: Independent(s, run, 0.01),
    "independent, 3%": lambda s, run: Independent(s, run, 0.03),
    "Student's t (3), 1%": lambda s, run: Independent(s, run, 0.01, freedom=3),
    "bimodal, 30:70": lambda s, run: TwoStates(s, run, 0.3, 0),
    "bimodal, 50:50": lambda s, run: TwoStates(s, run, 0.5, 0),
    "bimodal, 40:60, dwell 10": lambda s, run: TwoStates(s, run, 0.4, 10),
    "bimodal, 30:70, dwell 30": lambda s, run: TwoStates(s, run, 0.3, 30),
    "AR(1) 0.9, 1%": lambda s, run: Autoregressive(s, run, 0.9, 0.01),
    "AR(1) 0.99, 1%": lambda s, run: Autoregressive(s, run, 0.99, 0.01),
    "ARMA(1, 1) 0.95, 1%": lambda s, run: Noisy(s, run, 0.95, 0.01),
    "bursts": lambda s, run: TwoStates(s, run, 0.09, 10, distance=0.3),
    "drift, 3% a run": lambda s, run: Drift(s, run, 0.03, 0.01),
    "sine, 1%": lambda s, run: Sine(s, run, 0.01, 3.3, 0.01),
    "pages, 1%": lambda s, run: Pages(s, run, 0.01, 0.005),
    "pages, 1 set in 4 8% slower": lambda s, run: PageModes(s, run, 0.25, 0.08, 0.005),
    "warm-up of 10 samples, 5%": lambda s, run: WarmUp(s, run, 10, 0.05, 0.01, ramp=True),
    "in three steps": lambda s, run: Quantised(s, run, 0.01, 0.013),
}
"""Series that differ from figure to figure in their random numbers only, so that there is an oracle
of their spread."""


def _spells(source: random.Random, run: float) -> Process:
    process = Independent(source, run, source.uniform(0.002, 0.03))
    process.others = Others(source, source.uniform(0.2, 0.7), source.uniform(5, 300))
    return process


def _log_uniform(source: random.Random, low: float, high: float) -> float:
    return math.exp(source.uniform(math.log(low), math.log(high)))


FAMILIES: dict[str, Make] = {
    "independent": lambda s, run: Independent(
        s, run, _log_uniform(s, 0.001, 0.05), freedom=s.choice([0, 2, 3, 5])
    ),
    "lognormal": lambda s, run: Lognormal(s, run, _log_uniform(s, 0.005, 0.1)),
    "quantised": lambda s, run: Quantised(
        s, run, sd := _log_uniform(s, 0.002, 0.02), sd * s.uniform(0.5, 3)
    ),
    "autoregressive, memory up to a repetition": lambda s, run: Autoregressive(
        s, run, 1 - 1 / _log_uniform(s, 2, 15), _log_uniform(s, 0.003, 0.03)
    ),
    "autoregressive, memory up to a third of the run": lambda s, run: Autoregressive(
        s, run, 1 - 1 / _log_uniform(s, 15, run / 3), _log_uniform(s, 0.003, 0.03)
    ),
    "two modes in time": lambda s, run: TwoStates(
        s,
        run,
        s.uniform(0.1, 0.4),
        _log_uniform(s, 1, 100),
        -s.uniform(0.02, 0.1),
        _log_uniform(s, 0.002, 0.02),
    ),
    "sets of pages": lambda s, run: Pages(
        s, run, _log_uniform(s, 0.002, 0.03), _log_uniform(s, 0.002, 0.02)
    ),
    "two modes of pages": lambda s, run: PageModes(
        s, run, s.uniform(0.1, 0.4), s.uniform(0.02, 0.1), _log_uniform(s, 0.002, 0.02)
    ),
    "warm-up": lambda s, run: WarmUp(
        s,
        run,
        s.randint(2, 10),
        s.uniform(0.01, 0.1),
        _log_uniform(s, 0.002, 0.02),
        s.random() < 0.5,
    ),
    "others in spells": _spells,
}
"""Series whose parameters are drawn anew for each figure, too."""

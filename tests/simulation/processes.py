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


class Process:
    """A series that goes on while nobody looks."""

    def __init__(self, source: random.Random, run: float) -> None:
        """``run`` is the length of the whole run, in samples."""
        self.source = source
        self.run = run
        self.now = 0.0

    def repetition(self) -> None:
        """A repetition begins, with pages of its own."""

    @abstractmethod
    def sample(self) -> float:
        """Take a sample."""

    def skip(self, samples: float) -> None:
        """Let time pass."""
        self.now += samples

    def truth(self) -> float:
        """The median over the times until now."""
        return 0.0


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
        self.kept = 1 - 1 / stay / (1 - share) if stay else 0.0
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
        lower, upper = NormalDist(0, self.sd), NormalDist(self.distance, self.sd)
        low, high = -1.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            below = self.share * upper.cdf(middle) + (1 - self.share) * lower.cdf(middle)
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
    """Every repetition has a level of its own, as other pages give other figures."""

    def __init__(self, source: random.Random, run: float, between: float, sd: float) -> None:
        super().__init__(source, run)
        self.between = between
        self.sd = sd
        self.level = 0.0

    def repetition(self) -> None:
        self.level = self.source.gauss(0, self.between)

    def sample(self) -> float:
        return self.level + self.source.gauss(0, self.sd)


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
    "bimodal, 40:60, sticky": lambda s, run: TwoStates(s, run, 0.4, 10),
    "AR(1) 0.9, 1%": lambda s, run: Autoregressive(s, run, 0.9, 0.01),
    "AR(1) 0.9, 2%": lambda s, run: Autoregressive(s, run, 0.9, 0.02),
    "AR(1) 0.97, 1%": lambda s, run: Autoregressive(s, run, 0.97, 0.01),
    "AR(1) 0.97, 2%": lambda s, run: Autoregressive(s, run, 0.97, 0.02),
    "AR(1) 0.99, 1%": lambda s, run: Autoregressive(s, run, 0.99, 0.01),
    "AR(1) 0.99, 2%": lambda s, run: Autoregressive(s, run, 0.99, 0.02),
    "bursts": lambda s, run: TwoStates(s, run, 0.09, 10, distance=0.3),
    "drift, 3% a run": lambda s, run: Drift(s, run, 0.03, 0.01),
    "pages, 1%": lambda s, run: Pages(s, run, 0.01, 0.01),
}

FURTHER: dict[str, Make] = {
    "Student's t (3), 3%": lambda s, run: Independent(s, run, 0.03, freedom=3),
    "lognormal, 2%": lambda s, run: Lognormal(s, run, 0.02),
    "ARMA(1, 1) 0.95, 1%": lambda s, run: Noisy(s, run, 0.95, 0.01),
    "AR(1) 0.8, 3%": lambda s, run: Autoregressive(s, run, 0.8, 0.03),
    "two states, dwell 3": lambda s, run: TwoStates(s, run, 0.5, 3, distance=0.03),
    "two states, dwell 30": lambda s, run: TwoStates(s, run, 0.2, 30, distance=0.03),
    "sine, 1%": lambda s, run: Sine(s, run, 0.01, 3.3, 0.01),
    "drift, 1% a run": lambda s, run: Drift(s, run, 0.01, 0.01),
    "pages, 1.5%": lambda s, run: Pages(s, run, 0.015, 0.005),
}
"""Series that the procedure was not made with; the long simulation alone has them."""

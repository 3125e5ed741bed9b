"""Results of comparing two runs."""

from typing import Any, Literal

from tierscope.model.base import Model

Verdict = Literal["same", "faster", "slower", "undecided", "not comparable"]
"""undecided: it may have changed or not, for the noise is too large to tell."""

NotComparable = Literal[
    "only-base", "only-new", "not-measured", "no-ratio", "few-samples", "no-interval", "setting",
    "noisy",
]  # fmt: skip
"""Why two figures cannot be compared or told apart; setting: machine, link or settings differ."""


class Difference(Model):
    """One measurement in two runs, joined on its identity: kind, endpoints, pattern."""

    kind: str
    initiator: str
    target: str
    pattern: dict[str, Any]
    metric: str
    unit: str | None
    verdict: Verdict
    cause: NotComparable | None = None
    """Why it is not comparable, or undecided."""
    reason: str = ""
    """The same for people."""
    base: float | None = None
    new: float | None = None
    ratio: float | None = None
    """new / base; of a latency more than 1 is slower."""
    low: float | None = None
    high: float | None = None
    """Interval of the ratio that holds for all measurements of the comparison at once, with 95%."""
    detectable: float | None = None
    """Smallest change that would have been told from noise, as a share: 0.05 is 5%."""


class Comparison(Model):
    """Two runs compared."""

    base: str
    new: str
    tolerance: float
    """Change, as a share, up to which a measurement counts as the same."""
    obstacles: list[str]
    """Differences of machines or settings that make the runs incomparable."""
    remarks: list[str] = []
    """Differences that were allowed or do not matter."""
    wander: float
    """What the run-to-run variation of medians beyond their intervals is below with 90%: a standard
    deviation, as a share."""
    pairs: int | None = None
    """Repetitions of each side in turn that would decide what is undecided; None: nothing is."""
    pairs_s: float | None = None
    """Seconds that their samples take; None where the runs do not say."""
    differences: list[Difference]

    def count(self, verdict: Verdict) -> int:
        """How many differences have that verdict."""
        return sum(difference.verdict == verdict for difference in self.differences)

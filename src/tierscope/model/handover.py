"""Evidence of measurements of core-to-core latency."""

from tierscope.model.base import Model


class HandoverEvidence(Model):
    """What one CPU left in its caches and another one loaded, over all rows of the visits."""

    lines: int
    """Of each round."""
    rounds: int
    exchanges: int | None = None
    """Round trips of one line that both updated in turn, where they did."""

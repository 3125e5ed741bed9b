"""Counters that a machine or a user does not have."""

from tierscope.model.base import Model


class LackingCounters(Model):
    """Counters of one kind that cannot be read."""

    what: str
    reason: str
    remedy: str = ""
    """What would make them readable; empty where nothing does."""

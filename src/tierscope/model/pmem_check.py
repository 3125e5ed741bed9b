"""Results of ``tierscope pmem-check``: each interrupted writer and the state that it left."""

from typing import Literal

from tierscope.model.base import Count, Model

Writer = Literal["transactions", "no-transactions", "slots", "slots-no-flush", "slots-no-fence"]
"""``engine/pmem_check/commands.h`` lists them."""
Method = Literal["kill", "replay", "power-cut"]
Verdict = Literal["consistent", "inconsistent", "caught", "not caught", "skipped", "failed"]
"""``caught`` and ``not caught`` are said of writers that are broken on purpose."""

BROKEN: tuple[Writer, ...] = ("no-transactions", "slots-no-flush", "slots-no-fence")


class Survivor(Model):
    """State of a file after its writer was interrupted."""

    generation: Count
    problem: str
    """Inconsistency; empty: none."""


class ReplayedWriter(Model):
    """The states that a crash could leave of what a writer stored, flushed and fenced."""

    writer: Writer
    crash_points: Count
    sampled: Count
    """Crash points of which not all states were tried, since there are too many."""
    states: Count
    inconsistent: Count
    first: str
    """Inconsistency of the first such state."""


class ReplayedWriters(Model):
    """Output of ``tierscope-engine pmem-check replay``."""

    checks: list[ReplayedWriter]


class CrashCheck(Model):
    """One writer under one method."""

    method: Method
    writer: Writer
    broken: bool
    """On purpose: the method has to find it inconsistent."""
    tried: Count = 0
    """Kills, states or power cuts."""
    inconsistent: Count = 0
    first: str = ""
    """First inconsistency."""
    generations: Count | None = None
    """Updates that were acknowledged before the cuts, all together."""
    crash_points: Count | None = None
    sampled: Count | None = None
    """Crash points of which not all states were tried."""
    verdict: Verdict
    reason: str = ""
    """Why it was skipped or failed."""

    @property
    def passed(self) -> bool:
        """Whether neither the data nor the method failed."""
        return self.verdict in ("consistent", "caught", "skipped")


def verdict_of(writer: Writer, inconsistent: int) -> Verdict:
    """Judge a writer that was tried."""
    if writer in BROKEN:
        return "caught" if inconsistent else "not caught"
    return "inconsistent" if inconsistent else "consistent"


class CrashReport(Model):
    """All checks of a directory."""

    directory: str
    file_system: str
    dax: bool | None
    """Its files map the medium, and are made durable by cache flushes; else by msync."""
    seed: Count | None
    checks: list[CrashCheck]

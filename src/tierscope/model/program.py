"""What was observed of programs that were run under placements."""

from typing import Literal

from tierscope.model.base import Amount, Count, Model


class ProgramRun(Model):
    """What one run of a program gave."""

    values: dict[str, Amount]
    """By the name of the figure, in its metric's unit: ``run_time``, or as the user named it."""
    bytes_by_node: dict[str, Count] | None = None
    """Of the program and what it started, when most was seen in use, under tiering when about as
    much was last seen; None where it ended before anything was seen."""
    mechanism: Literal["kernel", "user"] | None = None
    """What its placement's policy was followed by: the kernel, or the preloaded library in user
    space; None without a policy."""
    weights: list[Count] | None = None
    """Of ``weighted``, the weights that applied, in the order of the placement's nodes."""
    migrated_bytes: Count | None = None
    """That the kernel moved between nodes of the whole machine meanwhile; None without tiering."""
    output: str | None = None
    """Where its output was saved, without ``.out`` and ``.err``."""


class ProgramEvidence(Model):
    """What was observed of a program in all of its runs."""

    runs: list[ProgramRun]
    """In the order of the rounds, so that runs of the same place belong to the same round."""

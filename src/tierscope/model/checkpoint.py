"""What was observed of checkpoints."""

from typing import Literal

from tierscope.model.base import Model


class Kills(Model):
    """Programs that were killed while they saved checkpoints (SIGKILL), one after the other. Each
    was started from the last good checkpoint, all of which was verified."""

    kills: int
    while_saving: int
    """Kills that came before the checkpoint that was being written was known to be durable,"""
    went_on: int
    """and of these, those after which it was the last good one all the same."""


class CheckpointEvidence(Model):
    """Checkpoints of a visit, and how durable they are."""

    medium: Literal["file", "mapped", "pool", "memory"]
    """mapped: a mapped file, with the evidence ``persistent``; pool: of libpmemobj; memory: shared
    memory of a node, which outlives the program and nothing else."""
    durable_by: str
    """What a checkpoint waits for before it counts as durable."""
    survives_power_loss: Literal["yes", "no", "unknown"] | None = None
    """Of a pool, whether the last good checkpoint would have survived."""
    why: str | None = None
    """In one sentence."""
    restarts: int
    """In each of them all of the state was read back and verified."""
    cached_bytes: int | None = None
    """Of a file, the most that the page cache still held before a restart, after it was asked to
    drop the file's pages; 0: all was read from the drive."""
    pages: dict[str, int] | None = None
    """Of memory, its pages by node, as read back."""
    set_up_s: float
    """Seconds of making the state and the target; inside no figure."""
    ways: dict[str, int] | None = None
    """Operations by the way that they took between storage and a GPU."""
    kills: Kills | None = None

"""What is observed of measurements of what persistence costs."""

from typing import Literal

from tierscope.model.base import Model


class PersistEvidence(Model):
    """How blocks were written, and what had them persist."""

    operation: str
    """The stores and what followed them: "16-byte stores, clwb of each line, sfence"."""
    cpu_has: list[str]
    """Instructions that write cache lines back, as the CPU names them."""
    durable: Literal["not-asked", "volatile-memory", "yes", "no", "unknown"]
    """Whether what an operation wrote survives a loss of power once it has ended. not-asked: of
    stores alone; volatile-memory: the memory forgets its contents; else as the target's evidence
    says."""

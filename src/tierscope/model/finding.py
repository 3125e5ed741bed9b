"""Findings of the doctor."""

from typing import Literal

from tierscope.model.base import Model


class Finding(Model):
    """One thing about the machine that spoils figures, or that is as it should be."""

    severity: Literal["good", "note", "problem"]
    """problem: figures will mislead or be lost; note: a reader of the figures should know."""
    subject: str
    """Subject: "frequency governor"."""
    found: str
    """Observed state."""
    meaning: str = ""
    """Effect on figures."""
    remedy: str = ""
    """Remedy, as a command where there is one."""

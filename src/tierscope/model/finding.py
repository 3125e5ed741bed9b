"""What the doctor finds."""

from typing import Literal

from tierscope.model.base import Model


class Finding(Model):
    """One thing about the machine that spoils figures, or that is as it should be."""

    severity: Literal["good", "note", "problem"]
    """problem: figures will mislead or be lost; note: a reader of the figures should know."""
    subject: str
    """What it is about: "frequency governor"."""
    found: str
    """What was found."""
    meaning: str = ""
    """What it does to figures."""
    remedy: str = ""
    """What to do about it, as a command where there is one."""

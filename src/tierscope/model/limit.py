"""The limit of a path; apart from the run file's types, so that reading a machine needs few."""

from tierscope.model.base import Model
from tierscope.model.metric import Unit


class Limit(Model):
    """Theoretical rate that an operation can have on a path, as its smallest link allows."""

    value: float
    """In bytes, or operations, that the program counts: links carry more of them or fewer."""
    unit: Unit
    link: str
    """The link that sets it: "PCIe 4.0 x8 at 0000:17:00.0"."""
    formula: str
    """How the value is computed, with its numbers."""
    source: str
    """Document or register that the formula and the numbers come from."""
    degraded: bool = False
    """Whether the link runs below what its device supports: fewer lanes, or a lower speed."""
    without_write_allocate: float | None = None
    """The same for a CPU that avoids every write-allocate, where ``value`` includes some."""

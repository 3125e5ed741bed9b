"""What an operation moves over a path in each direction: what its limit depends on."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Traffic:
    """Bytes that a path carries for each byte that the program counts."""

    name: str = ""
    """The operation: "copy", "67:33"; empty where one direction by itself is meant."""
    reads: float = 1.0
    """Towards the initiator, those that ordinary stores fetch first included."""
    writes: float = 0.0
    """Towards the target."""
    fetched: float = 0.0
    """Part of ``reads``: lines that ordinary stores fetch before they write them (write-allocate).
    """

    @property
    def both(self) -> float:
        """Bytes on a bus whose directions take turns."""
        return self.reads + self.writes

    @property
    def read_share(self) -> float:
        """Reads among all that a bus carries, from 0 to 1: 0.75 of 67:33 by ordinary stores."""
        return self.reads / self.both

    def without_fetched(self) -> "Traffic":
        """The same by a CPU that avoids write-allocate altogether."""
        return Traffic(self.name, self.reads - self.fetched, self.writes)


ONE_WAY = Traffic()
"""Reads alone: a full-duplex link's rate one way, and all that memory has."""

BOTH_WAYS = Traffic("both ways at once", reads=0.5, writes=0.5)
"""As much data each way, all of it counted."""


def of_operation(name: str, read: int, written: int, fetches: bool) -> Traffic:
    """Traffic of a loop over arrays; all that are read or written count as the program's bytes.

    ``fetches``: ordinary stores write lines that were not read.
    """
    counted = read + written
    fetched = written / counted if fetches else 0.0
    return Traffic(name, read / counted + fetched, written / counted, fetched)

"""MLC's types of traffic: ratios of reads to writes on the memory's bus.

A program's ordinary store fetches its line before it writes it (write-allocate), so a line written
is a read and a write on the bus. Of lines that a program reads (R) and writes (S), with R + S = 1:

- ordinary stores: R + S = 1 read and S writes on the bus, so r:w takes S = w / r. W2, 2:1, is a
  line read for each line written; W5, 1:1, is nothing but writes.
- non-temporal stores fetch nothing: R reads and S writes, so r:w takes S = w / (r + w).

The engine takes whole percent: 3:1 is 33 of 100 lines written, 3.03:1 on the bus.

Sources: what MLC's documents and scripts that call it name the types (W2 2:1, W3 3:1, W5 1:1, W12
4:1, W6 to W9 non-temporal), and Intel's release notes (W19: 90% reads).
"""

from dataclasses import dataclass
from typing import Literal

from tierscope.model.errors import UserError
from tierscope.model.stream import StreamPattern


@dataclass(frozen=True)
class Mix:
    """One type of traffic."""

    name: str
    """After ``-``: R, W5."""
    reads: int
    writes: int
    """Of the ratio on the bus."""
    stores: Literal["ordinary", "nt"] = "ordinary"
    two_buffers: bool = False
    """Reads alternate between two buffers, writes go to a third one, as in STREAM's Triad."""

    @property
    def percent(self) -> int:
        """Of 100 lines, those that the program writes."""
        every = self.reads + self.writes if self.stores == "nt" else self.reads
        return round(100 * self.writes / every)

    @property
    def bus_bytes(self) -> float:
        """On the bus for each byte that the program reads or writes."""
        return StreamPattern(writes=self.percent, stores=self.stores, size=1024).traffic().both

    @property
    def both(self) -> bool:
        """Whether the program reads and writes."""
        return 0 < self.percent < 100

    @property
    def words(self) -> str:
        """For help: ``3:1``, ``1:1 non-temporal``."""
        stores = " non-temporal" if self.stores == "nt" else ""
        return f"{self.reads}:{self.writes}{stores}{', two read buffers' * self.two_buffers}"


READS = Mix("R", 1, 0)
_WRITTEN = (
    Mix("W2", 2, 1),
    Mix("W3", 3, 1),
    Mix("W4", 3, 2),
    Mix("W5", 1, 1),
    Mix("W6", 0, 1, "nt"),
    Mix("W7", 2, 1, "nt"),
    Mix("W8", 1, 1, "nt"),
    Mix("W9", 3, 1, "nt"),
    Mix("W10", 2, 1, "nt", two_buffers=True),
    Mix("W11", 3, 1, two_buffers=True),
    Mix("W12", 4, 1),
    Mix("W19", 9, 1),
)
MIXES = {mix.name: mix for mix in (READS, *_WRITTEN)}
"""By name, in the order in which help lists them."""

TWO_NODES = {"W21": READS, "W23": MIXES["W3"], "W27": MIXES["W7"]}
"""Types of per-thread files whose buffer is on two nodes."""

PEAK = {
    "ALL Reads        :": READS,
    "3:1 Reads-Writes :": MIXES["W3"],
    "2:1 Reads-Writes :": MIXES["W2"],
    "1:1 Reads-Writes :": MIXES["W5"],
    "Stream-triad like:": MIXES["W10"],
}
"""Mixes of peak injection, by what their lines begin with."""


def mix_of(text: str) -> Mix:
    """Return the type of ``-W``: its number."""
    found = MIXES.get(f"W{text}")
    if found is None:
        known = ", ".join(name[1:] for name in MIXES if name != READS.name)
        raise UserError(f"'{text}' is no type of traffic; types: {known}")
    return found

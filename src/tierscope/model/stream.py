"""Streams: reads and writes in any mix over an array, at a held-back rate."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from tierscope.model.base import Model
from tierscope.model.persistent import OBJECTS
from tierscope.model.spec import CACHE_LINE, Bytes, ChosenPlacement, Isa, Pages
from tierscope.model.threads import Threads
from tierscope.model.traffic import Traffic, of_operation


class StreamPattern(Model):
    """Reads and writes of whole lines of one array, evenly mixed, at a held-back rate."""

    writes: Annotated[int, Field(ge=0, le=100)] = 0
    """Of 100 lines, as the program asks for them; the others are read."""
    stores: Literal["ordinary", "nt", "clwb", "clflushopt"] = "ordinary"
    """nt: non-temporal stores, which fetch no line before they write it; clwb, clflushopt: ordinary
    ones whose lines are written back after each access, kept or dropped, and waited for."""
    order: Literal["sequential", "random", "zipf"] = "sequential"
    zipf_alpha: Annotated[float, Field(gt=0, le=10)] = 0.9
    """How much hot blocks are preferred; of order zipf."""
    prefetch: Annotated[int, Field(ge=0, le=1 << 20, multiple_of=CACHE_LINE)] = 0
    """Bytes from a line to the one that a software prefetch asks for meanwhile; 0: none."""
    access_size: Bytes = 1024
    """Bytes that are touched without a pause."""
    delay_ns: Annotated[int, Field(ge=0, le=1_000_000_000)] = 0
    """Least time from one such access of a thread to its next; spent without touching memory."""
    size: Bytes
    """Bytes of the array, over all threads."""
    pages: Pages = "thp"
    isa: Isa = "auto"

    @model_validator(mode="after")
    def _check(self) -> "StreamPattern":
        if self.prefetch and self.order != "sequential":
            raise ValueError("a prefetch distance goes with order sequential only")
        return self

    @property
    def mix(self) -> str:
        """Reads to writes as the command line takes them: 67:33, 50:50nt."""
        stores = "" if self.stores == "ordinary" else self.stores
        return f"{100 - self.writes}:{self.writes}{stores}"

    def traffic(self) -> Traffic:
        """What it moves; all but non-temporal stores fetch their line first."""
        return of_operation(self.mix, 100 - self.writes, self.writes, fetches=self.stores != "nt")


class Stream(Threads):
    """CPUs that stream over an array of their own."""

    initiator: str
    """The endpoint as asked for; the engine goes by ``cpus``."""
    target: str
    """The endpoint as asked for; the engine goes by ``placement``."""
    placement: ChosenPlacement
    pattern: StreamPattern

    @model_validator(mode="after")
    def _check(self) -> "Stream":
        if self.pattern.size // self.pattern.access_size < self.thread_count:
            raise ValueError("size has fewer accesses than there are threads")
        persistent = self.placement.persistent
        if persistent and persistent.backing == "pool-objects":
            raise ValueError(OBJECTS)
        return self

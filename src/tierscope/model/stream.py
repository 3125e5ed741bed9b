"""Streams: reads and writes in any mix over an array, at a held-back rate."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tierscope.model.path import Traffic, of_operation
from tierscope.model.property import (
    ACCESS_SIZE,
    IN_BYTES,
    IN_NANOSECONDS,
    ISA,
    ORDER,
    PAGES,
    SIZE,
    SKEW,
    ZIPF_ALPHA,
    MadeBy,
    Property,
)
from tierscope.model.rules import Check, Differs, Prunes, Ruled, Ruling, refuses
from tierscope.model.spec import CACHE_LINE, Bytes, ChosenPlacement, Isa, Pages
from tierscope.model.threads import Threads

MAX_DELAY_NS = 1_000_000_000


class StreamPattern(Ruled):
    """Reads and writes of whole lines of one array, evenly mixed, at a held-back rate."""

    writes: Annotated[int, Field(ge=0, le=100)] = 0
    """Percent of lines that the program writes; the others are read."""
    stores: Literal["ordinary", "nt", "clwb", "clflushopt"] = "ordinary"
    """nt: non-temporal stores, which fetch no line before they write it; clwb, clflushopt: ordinary
    ones whose lines are written back after each access, kept or dropped, and waited for."""
    size: Annotated[
        Bytes, SIZE.but(help="Bytes of the array, over all threads, as in 64k..1g", label="size")
    ]
    pages: Annotated[Pages, PAGES] = "thp"
    order: Annotated[Literal["sequential", "random", "zipf"], ORDER] = "sequential"
    zipf_alpha: Annotated[float, Field(gt=0, le=10), SKEW] = ZIPF_ALPHA
    """How much hot blocks are preferred; of order zipf."""
    access_size: Annotated[Bytes, ACCESS_SIZE] = 1024
    prefetch: Annotated[
        int,
        IN_BYTES,
        Field(ge=0, le=1 << 20, multiple_of=CACHE_LINE),
        Property(
            "Bytes that a software prefetch runs ahead, at most 1m",
            words="prefetch {}",
            id="p{}",
            essential=False,
        ),
    ] = 0
    """Bytes from a line to the one that a software prefetch asks for meanwhile; 0: none."""
    delay_ns: Annotated[
        int,
        IN_NANOSECONDS,
        Field(ge=0, le=MAX_DELAY_NS),
        Property(
            "Minimum time from one access of a thread to its next, as in 100ns..1us",
            flag="delay",
            label="delay",
            words="delay {} ns",
            id="d{}",
            essential=False,
        ),
    ] = 0
    """Least time from one such access of a thread to its next; spent without touching memory."""
    isa: Annotated[Isa, ISA] = "auto"

    rules: ClassVar[tuple[Ruling, ...]] = (
        Prunes("zipf_alpha", unless={"order": "zipf"}),
        refuses(
            {"prefetch": Differs(0)},
            unless={"order": "sequential"},
            because="goes with order sequential",
        ),
    )

    @property
    def mix(self) -> str:
        """Reads to writes as the command line takes them: 67:33, 50:50nt."""
        stores = "" if self.stores == "ordinary" else self.stores
        return f"{100 - self.writes}:{self.writes}{stores}"

    def traffic(self) -> Traffic:
        """Its traffic; all but non-temporal stores fetch their line first."""
        return of_operation(self.mix, 100 - self.writes, self.writes, fetches=self.stores != "nt")


class Stream(Threads):
    """CPUs that stream over an array of their own."""

    initiator: str
    """The endpoint as asked for; the engine goes by ``cpus``."""
    target: str
    """The endpoint as asked for; the engine goes by ``placement``."""
    placement: Annotated[ChosenPlacement, MadeBy("to")]
    pattern: StreamPattern

    rules: ClassVar[tuple[Ruling, ...]] = (
        Check(
            "pattern.size",
            "has fewer accesses than there are threads",
            lambda one: one.pattern.size // one.pattern.access_size >= one.thread_count,
            ("pattern.access_size", "cpus"),
        ),
    )

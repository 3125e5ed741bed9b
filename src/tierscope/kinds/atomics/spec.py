"""The spec of atomic updates, contended or not."""

from typing import Any, ClassVar, Literal

from pydantic import model_validator

from tierscope.model.base import Model
from tierscope.model.spec import CACHE_LINE, Bytes, Cpus, MemorySpec, Pages, Region


class AtomicsPattern(Model):
    """Atomic updates of counters, one in each cache line, in random order."""

    operation: Literal["fetch-and-add", "compare-and-swap"]
    shared: bool = False
    """All threads update all counters, in place of each its own share; with a size of 64, all
    contend for one line."""
    size: Bytes
    pages: Pages = "thp"


class AtomicsSpec(MemorySpec):
    """Atomic updates a second."""

    metric: ClassVar[str] = "updates"
    recorded: ClassVar[tuple[str, ...]] = ("operation", "size", "threads")
    extra_properties: ClassVar[dict[str, type]] = {**MemorySpec.extra_properties, "threads": int}

    kind: Literal["atomics"] = "atomics"
    cpus: Cpus
    pattern: AtomicsPattern

    @model_validator(mode="after")
    def _check(self) -> "AtomicsSpec":
        if len(set(self.cpus)) != len(self.cpus):
            raise ValueError("a CPU is named twice")
        if not self.pattern.shared and self.pattern.size // CACHE_LINE < len(self.cpus):
            raise ValueError("size has fewer lines than there are threads")
        return self

    def thread_cpus(self) -> list[int]:
        """One thread a CPU."""
        return self.cpus

    def regions(self) -> list[Region]:
        """The counters."""
        return [Region(self.placement, self.pattern.pages, self.pattern.size)]

    def identity(self) -> dict[str, Any]:
        """The pattern and the number of threads."""
        pattern = self.pattern.model_dump(mode="json", exclude_none=True)
        return {**pattern, **self.placed_as(), "threads": len(self.cpus)}


SPEC = AtomicsSpec

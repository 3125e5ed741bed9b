"""Threads of a measurement: pinned one to a CPU each, or to sets of CPUs."""

from typing import Annotated, ClassVar

from pydantic import Field

from tierscope.model.endpoint import format_ranges
from tierscope.model.property import MadeBy
from tierscope.model.rules import Check, Ruled, Ruling
from tierscope.model.spec import EachCpu

CpuSets = Annotated[list[EachCpu], Field(min_length=1, max_length=4096)]


class Threads(Ruled):
    """Which CPUs threads run on."""

    extra_properties: ClassVar[dict[str, type]] = {"threads": int, "cpu_sets": str}

    cpus: Annotated[EachCpu, MadeBy("threads")]
    """One thread is pinned to each entry, in order; with ``cpu_sets``, these are all CPUs of the
    sets, ascending."""
    cpu_sets: CpuSets | None = None
    """One thread for each set, which may run on any CPU of it. Sets may be equal and may overlap,
    and there may be more of them than CPUs: then threads take turns, as the scheduler has it."""

    rules: ClassVar[tuple[Ruling, ...]] = (
        Check(
            "cpus",
            "are not all CPUs of cpu_sets, ascending",
            lambda one: (
                one.cpu_sets is None
                or one.cpus == sorted({cpu for each in one.cpu_sets for cpu in each})
            ),
            ("cpu_sets",),
        ),
    )

    def thread_cpus(self) -> list[int]:
        """One thread a CPU, or all CPUs of their sets."""
        return self.cpus

    @property
    def thread_count(self) -> int:
        """How many threads there are."""
        return len(self.cpus if self.cpu_sets is None else self.cpu_sets)

    def pinned_as(self) -> dict[str, str]:
        """The different sets as identities name them: ``0-15|16-31``; nothing of single CPUs."""
        if self.cpu_sets is None:
            return {}
        texts = (format_ranges(tuple(sorted(each))) for each in self.cpu_sets)
        return {"cpu_sets": "|".join(dict.fromkeys(texts))}

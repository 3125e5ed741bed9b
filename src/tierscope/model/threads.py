"""Threads of a measurement: pinned one to a CPU each, or to sets of CPUs."""

from typing import Annotated

from pydantic import Field, model_validator

from tierscope.model.base import Model
from tierscope.model.endpoint import format_ranges
from tierscope.model.spec import Cpus

CpuSets = Annotated[list[Cpus], Field(min_length=1, max_length=4096)]


class Threads(Model):
    """Which CPUs threads run on."""

    cpus: Cpus
    """One thread is pinned to each entry, in order; with ``cpu_sets``, these are all CPUs of the
    sets, ascending."""
    cpu_sets: CpuSets | None = None
    """One thread for each set, which may run on any CPU of it. Sets may be equal and may overlap,
    and there may be more of them than CPUs: then threads take turns, as the scheduler has it."""

    @model_validator(mode="after")
    def _check_threads(self) -> "Threads":
        if len(set(self.cpus)) != len(self.cpus):
            raise ValueError("a CPU is named twice")
        if self.cpu_sets is None:
            return self
        if any(len(set(each)) != len(each) for each in self.cpu_sets):
            raise ValueError("one of cpu_sets names a CPU twice")
        if self.cpus != sorted({cpu for each in self.cpu_sets for cpu in each}):
            raise ValueError("cpus are not all CPUs of cpu_sets, ascending")
        return self

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

"""The spec of watch: counters that are read at intervals."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from tierscope.model.base import Count, Model
from tierscope.model.endpoint import EndpointKind
from tierscope.model.spec import Cpus, MeasurementSpec, Region

if TYPE_CHECKING:
    from tierscope.model.limit import Limit
    from tierscope.model.path import Paths
    from tierscope.model.topology import Cache


class WatchPattern(Model):
    """How often."""

    interval_s: Annotated[float, Field(ge=0.1, le=3600)] = 1.0
    """Seconds from one reading to the next."""


class WatchSpec(MeasurementSpec):
    """Memory in use, its mean over the time, and whatever else counters say."""

    metric: ClassVar[str] = "memory_used"
    observes: ClassVar[bool] = True
    initiators: ClassVar[tuple[EndpointKind, ...]] = ()
    targets: ClassVar[tuple[EndpointKind, ...]] = ()
    recorded: ClassVar[tuple[str, ...]] = ("interval_s", "watched")
    extra_properties: ClassVar[dict[str, type]] = {"watched": str}

    kind: Literal["watch"] = "watch"
    cpus: Cpus
    """Of the machine."""
    pid: Count | None = None
    """The process whose memory is watched; None: the machine's."""
    cgroup: str = ""
    """Directory of the cgroup whose memory and pressure are watched; empty: the machine's."""
    pattern: WatchPattern = WatchPattern()

    def thread_cpus(self) -> list[int]:
        """The CPUs whose counters are read."""
        return self.cpus

    def regions(self) -> list[Region]:
        """None: it only looks."""
        return []

    def identity(self) -> dict[str, Any]:
        """How often, and what."""
        return {**self.pattern.model_dump(mode="json"), "watched": self.watched()}

    def watched(self) -> str:
        """What is watched: ``machine``, ``pid:12``, ``cgroup:/sys/fs/cgroup/batch``."""
        if self.pid is not None:
            return f"pid:{self.pid}"
        return f"cgroup:{self.cgroup}" if self.cgroup else "machine"

    def fits_caches(self, caches: Sequence["Cache"]) -> bool:  # noqa: ARG002
        """False: it goes over no memory."""
        return False

    def limit(self, paths: "Paths") -> "Limit | None":  # noqa: ARG002
        """None: others make the traffic."""
        return None


SPEC = WatchSpec

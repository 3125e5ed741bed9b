"""What the specs of all kinds of measurement share, and the questions that each answers."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from tierscope.model.base import Model
from tierscope.model.endpoint import EndpointKind
from tierscope.model.persistent import OBJECTS, Persistent
from tierscope.model.time_series import TimeSeries

if TYPE_CHECKING:
    from tierscope.model.event import Evidence
    from tierscope.model.fleet import FleetPlace
    from tierscope.model.limit import Limit
    from tierscope.model.path import Paths
    from tierscope.model.topology import Cache, Node
    from tierscope.model.traffic import Traffic

CACHE_LINE = 64
SLOWEST_BYTES_PER_S = 4e6
"""A tier slower than this is taken for a hang; emulated CXL memory moves 5 to 10 MB/s."""

Id = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9._:-]+$")]
Cpu = Annotated[int, Field(ge=0, le=65535)]
Cpus = Annotated[list[Cpu], Field(min_length=1, max_length=4096)]
Bytes = Annotated[int, Field(ge=CACHE_LINE, le=1 << 50, multiple_of=CACHE_LINE)]
Pages = Literal["base", "thp", "2m", "512m", "1g"]
"""base: the kernel's ordinary page; thp: transparent huge pages; the others: hugetlb pages."""
HUGETLB: dict[str, int] = {"2m": 2 << 20, "512m": 512 << 20, "1g": 1 << 30}
"""Bytes of hugetlb pages, which come out of pools; 512m: of Arm machines with 64 KiB pages."""

BoundBy = Literal["address-generation"]
"""What bounds a figure in place of the memory: making the addresses of its accesses."""

Isa = Literal["auto", "sse4", "avx2", "avx512", "neon", "sve"]


Prefetchers = Literal["as-found", "on", "off"]
"""Hardware prefetchers of the CPUs that measure: left alone, or switched for the visits."""


class Sampling(Model):
    """When a measurement has enough samples; see docs/method.md."""

    precision: Annotated[float, Field(gt=0, le=0.5)] = 0.01
    """Asked half-width of the 95% confidence interval, as a share of the estimate."""
    budget_s: Annotated[float, Field(gt=0, le=86400)] = 2.0
    """Wall-clock seconds after which sampling stops whatever the interval."""
    sample_s: Annotated[float, Field(gt=0, le=60)] = 0.01
    """Seconds that one sample lasts (bandwidth), or at least lasts (latency)."""


class NodeShare(Model):
    """One node of a placement and its weight."""

    node: Annotated[int, Field(ge=0, le=1023)]
    weight: Annotated[int, Field(ge=1, le=255)] = 1


class Placement(Model):
    """Where the pages of a memory region go."""

    policy: Literal["bind", "preferred", "interleave", "weighted", "partition", "first-touch"]
    """interleave: pages round robin; weighted: ``weight`` pages a node in turn; partition: one
    contiguous range a node, sized by weight; bind and preferred: one node; first-touch: each page
    on its thread's node; ``nodes`` are the threads', a weight is how many of them are there."""
    nodes: Annotated[list[NodeShare], Field(min_length=1, max_length=1024)]
    mechanism: Literal["user", "kernel"] = "user"
    """user: the engine touches each page under a policy of one node; kernel: the kernel's own
    policy (interleave since 2.6, weighted since 6.9)."""
    persistent: Persistent | None = None
    """With it, ``nodes`` say where the memory is as far as that is known, and bind nothing unless
    it is ``bound``."""

    @model_validator(mode="after")
    def _check(self) -> "Placement":
        numbers = [share.node for share in self.nodes]
        if len(set(numbers)) != len(numbers):
            raise ValueError("a node is named twice")
        if self.policy in ("bind", "preferred") and len(numbers) != 1:
            raise ValueError(f"policy {self.policy} takes exactly one node")
        if self.policy == "partition" and self.mechanism == "kernel":
            raise ValueError("policy partition is done in user space only")
        if self.persistent and self.policy != "bind":
            raise ValueError("persistent goes with policy bind")
        if self.policy == "first-touch" and self.mechanism == "kernel":
            raise ValueError("policy first-touch takes no mechanism")
        return self

    @property
    def round_pages(self) -> int:
        """Pages of one round of a policy that takes nodes in turn; 1 for other policies."""
        if self.policy == "interleave":
            return len(self.nodes)
        return sum(share.weight for share in self.nodes) if self.policy == "weighted" else 1


def _refuse_first_touch(placement: Placement) -> Placement:
    if placement.policy == "first-touch":
        raise ValueError("policy first-touch is for the arrays of bandwidth only")
    return placement


ChosenPlacement = Annotated[Placement, AfterValidator(_refuse_first_touch)]
"""A placement by the plan, not by which thread comes first."""


@dataclass(frozen=True)
class Region:
    """Host memory: so many arrays of so many bytes each, placed alike."""

    placement: Placement
    pages: str
    array_bytes: int
    arrays: int = 1

    @property
    def total_bytes(self) -> int:
        """Bytes of all its arrays."""
        return self.array_bytes * self.arrays

    def bytes_by_node(self) -> dict[int, int]:
        """Bytes that it takes of each node."""
        shares = self.placement.nodes
        whole = sum(share.weight for share in shares)
        return {share.node: -(-self.total_bytes * share.weight // whole) for share in shares}


class MeasurementSpec(Model):
    """One measurement of a plan; each kind extends it and answers for itself."""

    metric: ClassVar[str]
    """The headline's metric, of ``model.metric.METRICS``."""
    type_b: ClassVar[float] = 0.0
    """Type B share of the estimate, which is added to each side of intervals."""
    steady: ClassVar[bool] = False
    """Evidence says whether warm-up ended and its figures held still."""
    observes: ClassVar[bool] = False
    """Its rows are what others do: all are kept, in order, and figures are their means."""
    adds_up: ClassVar[bool] = False
    """Hosts of a fleet may share what it goes to, so that rates add up over them."""
    initiators: ClassVar[tuple[EndpointKind, ...]]
    """Kinds of initiators that it accepts."""
    targets: ClassVar[tuple[EndpointKind, ...]]
    """Kinds of targets that it accepts."""
    recorded: ClassVar[tuple[str, ...]] = ("size",)
    """Properties that every record of a figure has: tables and pictures rely on them."""
    extra_properties: ClassVar[dict[str, type]] = {}
    """What ``identity`` may have besides the pattern's own fields, and of which type."""

    kind: str
    id: Id
    """Names the measurement in events; unique in its plan."""
    initiator: str
    """The endpoint as asked for; the engine goes by CPUs and GPUs."""
    target: str
    """The endpoint as asked for; the engine goes by placements."""
    sampling: Sampling = Sampling()

    @classmethod
    def kind_name(cls) -> str:
        """The kind's name."""
        return str(cls.model_fields["kind"].default)

    def headline(self) -> str:
        """The metric of its main figure, where that depends on the pattern."""
        return self.metric

    @abstractmethod
    def thread_cpus(self) -> list[int]:
        """CPUs that its threads are pinned to, in the order of threads."""

    @abstractmethod
    def regions(self) -> list[Region]:
        """Host memory that the plan places; none where a driver places it."""

    def in_fleet(self, place: "FleetPlace") -> "MeasurementSpec":  # noqa: ARG002
        """Return it as a host of a fleet measures it together with the others."""
        return self

    def files(self) -> list[str]:
        """Files and devices that it reads or writes."""
        return []

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """The pattern as run files record it: flat, and what comparisons join on."""

    @abstractmethod
    def fits_caches(self, caches: Sequence["Cache"]) -> bool:
        """Whether caches may hold all that it goes over, so that its figure is not memory's.

        ``caches`` are the CPUs' as the system names them; a kind on GPUs knows those of GPUs.
        """

    def fits_memory_side_cache(self, nodes: Sequence["Node"]) -> bool:
        """Whether the cache in front of a node may hold all that it goes over of that node."""
        needed: Counter[int] = Counter()
        for region in self.regions():
            needed.update(region.bytes_by_node())
        return any(
            0 < needed[node.number] <= cache.size_bytes
            for node in nodes
            for cache in node.memory_side_caches
        )

    @abstractmethod
    def limit(self, paths: "Paths") -> "Limit | None":
        """Theoretical rate that bounds it; None where no link's rate is known, or none applies."""

    def bound_by(self, estimate: float, evidence: "Evidence") -> BoundBy | None:  # noqa: ARG002
        """What bounds its figure in place of what it measures; None: nothing known does."""
        return None

    def wanted_prefetchers(self) -> Prefetchers | None:
        """What hardware prefetchers of its CPUs are to do; None where CPUs do not measure."""
        return None

    def cufile_setting(self) -> str:
        """What cufile.json is to set in place of what it says, as ``key=value``; empty: nothing."""
        return ""

    def time_series(self) -> TimeSeries | None:
        """What its visits are rounds of; None: they may come in any order."""
        return None

    def rounds(self) -> int | None:
        """Visits that it gets, one in each round over all measurements of which this is known;
        None: as many as its time allows."""
        return None

    @property
    def scheduled_apart(self) -> bool:
        """Whether its visits come before those that share the run's time, and take none of it."""
        return self.time_series() is not None or self.rounds() is not None

    def overwrites(self) -> bool:
        """Whether it lays out or writes its regions, so that the next one has to set up anew."""
        return True

    @property
    def one_visit(self) -> bool:
        """Whether one visit takes all of its time, so that its threads never pause."""
        return False

    def host_bytes(self) -> int:
        """Bytes of all its regions."""
        return sum(region.total_bytes for region in self.regions())

    def set_up_s(self) -> float:
        """Seconds that its set-up may take; what takes longer is taken for a hang."""
        return 3 * self.host_bytes() / SLOWEST_BYTES_PER_S  # populate, write, verify


class MemorySpec(MeasurementSpec):
    """What the measurements of CPU-reached memory share."""

    initiators: ClassVar[tuple[EndpointKind, ...]] = (EndpointKind.NODE, EndpointKind.CPUS)
    targets: ClassVar[tuple[EndpointKind, ...]] = (
        EndpointKind.NODE,
        EndpointKind.PMEM,
        EndpointKind.DAX,
    )
    extra_properties: ClassVar[dict[str, type]] = {
        "policy": str,
        "mechanism": str,
        "prefetchers": str,
        "backing": str,
    }

    takes_objects: ClassVar[bool] = False
    """Some of its loops translate object ids of a pool."""

    placement: ChosenPlacement
    prefetchers: Prefetchers = "as-found"

    @model_validator(mode="after")
    def _check_persistent(self) -> "MemorySpec":
        persistent = self.placement.persistent
        if persistent and EndpointKind.PMEM not in self.targets:
            raise ValueError(f"{self.kind} measures the memory of nodes only")
        if persistent and persistent.backing == "pool-objects" and not self.walks_objects():
            raise PydanticCustomError("backing", OBJECTS)
        return self

    def walks_objects(self) -> bool:
        """Whether it has a loop that translates object ids of a pool."""
        return False

    def placed_as(self) -> dict[str, str]:
        """Policy, mechanism, prefetchers and backing as identities name them: where they tell
        something."""
        placement = self.placement
        switched: dict[str, str] = {}
        if self.prefetchers != "as-found":
            switched["prefetchers"] = self.prefetchers
        if placement.persistent:
            switched["backing"] = placement.persistent.backing
        if placement.mechanism == "user" and len(placement.nodes) == 1:
            return dict(switched)
        return {"policy": placement.policy, "mechanism": placement.mechanism, **switched}

    def files(self) -> list[str]:
        """The directory or device that holds its memory."""
        persistent = self.placement.persistent
        return [persistent.path] if persistent else []

    def wanted_prefetchers(self) -> Prefetchers | None:
        """As the spec says."""
        return self.prefetchers

    def fits_caches(self, caches: Sequence["Cache"]) -> bool:
        """Whether the last-level caches of its CPUs can hold its regions."""
        return bool(caches) and self.host_bytes() <= last_level_bytes(caches, self.thread_cpus())

    def limit(self, paths: "Paths") -> "Limit | None":  # noqa: ARG002
        """None: links have rates, and most kinds measure times."""
        return None

    def path_limit(self, paths: "Paths", traffic: "Traffic") -> "Limit | None":
        """What its path allows of an operation; none where caches may hold the regions."""
        if self.fits_caches(paths.topology.caches):
            return None
        return paths.limit(self.initiator, self.target, traffic)


def last_level_bytes(caches: Sequence["Cache"], cpus: Sequence[int]) -> int:
    """Sum of the bytes of all last-level caches that these CPUs use."""
    last = max((cache.level for cache in caches), default=0)
    wanted = set(cpus)
    return sum(
        cache.size_bytes
        for cache in caches
        if cache.level == last and not wanted.isdisjoint(cache.cpus)
    )

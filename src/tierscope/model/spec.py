"""The base of all kinds' specs: shared fields, and the questions that each kind answers."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from tierscope.model.base import Model
from tierscope.model.endpoint import EndpointKind
from tierscope.model.evidence import OwnEvidence
from tierscope.model.metric import COMPARED, METRICS
from tierscope.model.persistent import OBJECTS, SHARED, Persistent
from tierscope.model.property import IN_BYTES, MadeBy, remember
from tierscope.model.rules import (
    Check,
    Distinct,
    Elements,
    Given,
    Obeys,
    Prunes,
    Rule,
    Ruled,
    Ruling,
    refuses,
)
from tierscope.model.time_series import TimeSeries

if TYPE_CHECKING:
    from tierscope.model.event import Evidence
    from tierscope.model.fleet import FleetPlace
    from tierscope.model.path import Limit, Paths, Traffic
    from tierscope.model.topology import Cache, Node

CACHE_LINE = 64
SLOWEST_BYTES_PER_S = 4e6
"""A tier slower than this is taken for a hang; emulated CXL memory moves 5 to 10 MB/s."""

Id = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9._:-]+$")]
Cpu = Annotated[int, Field(ge=0, le=65535)]
Cpus = Annotated[list[Cpu], Field(min_length=1, max_length=4096)]
EachCpu = Annotated[Cpus, Distinct()]
"""No CPU twice."""
Bytes = Annotated[int, IN_BYTES, Field(ge=CACHE_LINE, le=1 << 50, multiple_of=CACHE_LINE)]
Pages = Literal["base", "thp", "2m", "512m", "1g"]
"""base: the kernel's ordinary page; thp: transparent huge pages; the others: hugetlb pages."""
HUGETLB: dict[str, int] = {"2m": 2 << 20, "512m": 512 << 20, "1g": 1 << 30}
"""Bytes of hugetlb pages, which come out of pools; 512m: of Arm machines with 64 KiB pages."""

BoundBy = Literal["address-generation", "not-the-device"]
"""A bound other than the memory: generating the addresses of accesses."""

Isa = Literal["auto", "sse4", "avx2", "avx512", "neon", "sve"]


Prefetchers = Literal["as-found", "on", "off"]
"""Hardware prefetchers of the CPUs that measure: left alone, or switched for the repetitions."""
_NO_OBJECTS = refuses({"persistent.backing": "pool-objects"}, because=OBJECTS)
_NOT_SHARED = refuses({"persistent.backing": "shared-file"}, because=SHARED)
_BY_PLAN = refuses(
    {"policy": "first-touch"}, because="first-touch is for the arrays of bandwidth only"
)


class Sampling(Model):
    """When a measurement has enough samples; see docs/method.md."""

    precision: Annotated[float, Field(gt=0, le=0.5)] = 0.01
    """Asked half-width of the 95% confidence interval, as a share of the estimate."""
    budget_s: Annotated[float, Field(ge=0.001, le=86400)] = 2.0
    """Wall-clock seconds after which sampling stops whatever the interval."""
    sample_s: Annotated[float, Field(ge=0.00001, le=60)] = 0.01
    """Seconds that one sample lasts (bandwidth), or at least lasts (latency); in shorter ones than
    10 us, starting the threads and reading the clock would count."""


class NodeShare(Model):
    """One node of a placement and its weight."""

    node: Annotated[int, Field(ge=0, le=1023)]
    weight: Annotated[int, Field(ge=1, le=255)] = 1


def _fill(ranges: Sequence[int], nodes: Sequence[NodeShare]) -> bool:
    """Whether the nodes are just those of the ranges, and alike in each."""
    left = iter(nodes)
    alike = [{share.weight for share in islice(left, count)} for count in ranges]
    return sum(ranges) == len(nodes) and all(len(weights) == 1 for weights in alike)


class Placement(Ruled):
    """Placement of the pages of a memory region."""

    policy: Literal["bind", "preferred", "interleave", "weighted", "partition", "first-touch"]
    """interleave: pages round robin; weighted: ``weight`` pages a node in turn; partition: one
    contiguous range a node, or each of ``ranges``, sized by weight; bind and preferred: one node;
    first-touch: each page on its thread's node; ``nodes`` are the threads', a weight is how many of
    them are there."""
    nodes: Annotated[list[NodeShare], Field(min_length=1, max_length=1024), Distinct("node")]
    mechanism: Literal["user", "kernel"] = "user"
    """user: the engine touches each page under a policy of one node; kernel: the kernel's own
    policy (interleave since 2.6, weighted since 6.9)."""
    ranges: Annotated[
        list[Annotated[int, Field(ge=1, le=1024)]] | None, Field(min_length=1, max_length=1024)
    ] = None
    """Nodes of each range of a partition, in their order: the kernel interleaves its pages over
    them. Absent, each node has a range of its own."""
    persistent: Persistent | None = None
    """With it, ``nodes`` say where the memory is as far as that is known, and bind nothing unless
    it is ``bound``."""

    rules: ClassVar[tuple[Ruling, ...]] = (
        Rule(
            "nodes",
            {"policy": ("bind", "preferred")},
            "policies bind and preferred take exactly one node",
            unless={"nodes": Elements(1)},
        ),
        refuses(
            {"mechanism": "kernel", "policy": "partition"},
            because="policy partition is done in user space only",
        ),
        refuses(
            {"mechanism": "kernel", "policy": "first-touch"},
            because="policy first-touch takes no mechanism",
        ),
        Prunes("persistent", unless={"policy": "bind"}),
        Prunes("ranges", unless={"policy": "partition"}),
        Check(
            "ranges",
            "count other nodes than there are, or nodes of different weights in one range",
            lambda placement: placement.ranges is None or _fill(placement.ranges, placement.nodes),
            ("nodes",),
        ),
    )

    @property
    def round_pages(self) -> int:
        """Pages of one round of a policy that takes nodes in turn; 1 for other policies."""
        if self.policy == "interleave":
            return len(self.nodes)
        return sum(share.weight for share in self.nodes) if self.policy == "weighted" else 1


ArrayPlacement = Annotated[Placement, Obeys((_NO_OBJECTS, _NOT_SHARED))]
"""A placement of memory that is reached by addresses."""
ChosenPlacement = Annotated[Placement, Obeys((_BY_PLAN, _NO_OBJECTS, _NOT_SHARED))]
"""The same, by the plan, not by which thread comes first."""
NodePlacement = Annotated[
    Placement,
    Obeys(
        (
            _BY_PLAN,
            refuses(
                {"persistent": Given()}, because="is not accepted here: this memory is on nodes"
            ),
        )
    ),
]
"""The same, in the memory of nodes."""


@dataclass(frozen=True)
class Region:
    """Arrays in host memory that are placed alike."""

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


class MeasurementSpec(Ruled):
    """One measurement of a plan; each kind extends it and answers for itself."""

    metric: ClassVar[str]
    """The headline's metric, of ``model.metric.METRICS``."""
    compared: ClassVar[tuple[str, ...]] = ()
    """Metrics of further figures that are compared between runs, beside parts of the headline's
    metric and ``model.metric.COMPARED``."""
    type_b: ClassVar[float] = 0.0
    """Type B share of the estimate, which is added to each side of intervals."""
    steady: ClassVar[bool] = False
    """Evidence says whether warm-up ended and its figures held still."""
    observes: ClassVar[bool] = False
    """Its rows are what others do: all are kept, in order, and figures are their means."""
    never_sleeps: ClassVar[bool] = False
    """Its threads run all the time, and what they do takes CPU time only: memory is accessed."""
    adds_up: ClassVar[bool] = False
    """Hosts of a fleet may share what it goes to, so that rates add up over them."""
    initiators: ClassVar[tuple[EndpointKind, ...]]
    """Kinds of initiators that it accepts."""
    targets: ClassVar[tuple[EndpointKind, ...]]
    """Kinds of targets that it accepts."""
    recorded: ClassVar[tuple[str, ...]] = ("size",)
    """Properties that every record of a figure has: tables and pictures rely on them."""
    own_evidence: ClassVar[type[OwnEvidence]] = OwnEvidence
    """Keys of evidence that only this kind has."""
    extra_properties: ClassVar[dict[str, type]] = {}
    """Types of the keys of ``identity`` besides the pattern's own fields; a class states its own,
    and has those of its bases."""

    kind: str
    id: Id
    """Names the measurement in events; unique in its plan."""
    initiator: str
    """The endpoint as asked for; the engine goes by CPUs and GPUs."""
    target: str
    """The endpoint as asked for; the engine goes by placements."""
    sampling: Sampling = Sampling()

    @classmethod
    def compares(cls, metric: str, headline: str) -> bool:
        """Whether figures of a metric are compared, beside a headline of that metric."""
        return metric in (headline, *cls.compared, *COMPARED)

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Collect what its bases record, and make the properties of a kind's specs known."""
        super().__pydantic_init_subclass__(**kwargs)
        stated = (base.__dict__.get("extra_properties", {}) for base in reversed(cls.__mro__))
        cls.extra_properties = {name: type_ for one in stated for name, type_ in one.items()}
        if isinstance(cls.model_fields["kind"].default, str):
            remember(cls.kind_name(), cls)

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

    def by_cpu_time(self) -> bool:
        """Whether its figures can be corrected by the CPU time of the thread that makes them."""
        return self.never_sleeps and len(self.thread_cpus()) == 1

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

    def least_populate_s(self) -> float:
        """Least seconds that new pages take, where the first repetition cannot tell: its memory may
        have been in the engine's pool."""
        return 0.0

    def fits_caches(self, caches: Sequence["Cache"]) -> bool:  # noqa: ARG002
        """Whether caches may hold all that it goes over, so that its figure is not memory's.

        ``caches`` are the CPUs' as the system names them; a kind on GPUs knows those of GPUs.
        False for kinds that do not measure memory.
        """
        return False

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

    def limit(self, paths: "Paths") -> "Limit | None":  # noqa: ARG002
        """Theoretical rate that bounds it; None where no link's rate is known, or none applies."""
        return None

    def bound_by(self, estimate: float, evidence: "Evidence") -> BoundBy | None:  # noqa: ARG002
        """What a figure is of, other than the measured memory or device; None: of that."""
        reads_back = any(METRICS[name].reads_back for name in self.compared)
        ways = (True,) if reads_back else ()
        return "not-the-device" if evidence.less_on_devices(*ways) else None

    def wanted_prefetchers(self) -> Prefetchers | None:
        """Wanted state of its CPUs' hardware prefetchers; None where CPUs do not measure."""
        return None

    def cufile_setting(self) -> str:
        """Setting that replaces one of cufile.json, as ``key=value``; empty: none."""
        return ""

    def time_series(self) -> TimeSeries | None:
        """The time series of its repetitions; None: they may come in any order."""
        return None

    def rounds(self) -> int | None:
        """Repetitions that it gets, one in each round over all measurements of which this is known;
        None: as many as its time allows."""
        return None

    @property
    def scheduled_apart(self) -> bool:
        """Whether its repetitions come before those that share the run's time, and take none of
        it."""
        return self.time_series() is not None or self.rounds() is not None

    def overwrites(self) -> bool:
        """Whether it lays out or writes its regions, so that the next one has to set up anew."""
        return True

    @property
    def one_repetition(self) -> bool:
        """Whether it is measured once, in all of its time or up to its own end."""
        return False

    def host_bytes(self) -> int:
        """Bytes of all its regions."""
        return sum(region.total_bytes for region in self.regions())

    def build_s(self) -> float:
        """Approximate seconds in which it builds what it measures, beside writing its regions."""
        return 0.0

    def set_up_s(self) -> float:
        """Seconds that its set-up may take; what takes longer is taken for a hang."""
        return 3 * self.host_bytes() / SLOWEST_BYTES_PER_S  # populate, write, verify


class MemorySpec(MeasurementSpec):
    """The base of measurements of memory that CPUs reach."""

    initiators: ClassVar[tuple[EndpointKind, ...]] = (EndpointKind.NODE, EndpointKind.CPUS)
    targets: ClassVar[tuple[EndpointKind, ...]] = (
        EndpointKind.NODE,
        EndpointKind.PMEM,
        EndpointKind.DAX,
    )
    own_evidence: ClassVar[type[OwnEvidence]] = OwnEvidence
    """Keys of evidence that only this kind has."""
    extra_properties: ClassVar[dict[str, type]] = {
        "policy": str,
        "mechanism": str,
        "prefetchers": str,
        "backing": str,
    }

    takes_objects: ClassVar[bool] = False
    """Some of its loops translate object ids of a pool."""
    takes_any_cpu: ClassVar[bool] = False
    """Its threads may be pinned to all CPUs of their initiator, each."""

    placement: Annotated[ChosenPlacement, MadeBy("to")]
    prefetchers: Prefetchers = "as-found"

    def placed_as(self) -> dict[str, str]:
        """Policy, mechanism, ranges (``2+1`` nodes), prefetchers and backing as identities name
        them: where they tell something."""
        placement = self.placement
        switched: dict[str, str] = {}
        if self.prefetchers != "as-found":
            switched["prefetchers"] = self.prefetchers
        if placement.persistent:
            switched["backing"] = placement.persistent.backing
        if placement.mechanism == "user" and len(placement.nodes) == 1:
            return dict(switched)
        ranges = {"ranges": "+".join(map(str, placement.ranges))} if placement.ranges else {}
        return {
            "policy": placement.policy,
            "mechanism": placement.mechanism,
            **ranges,
            **switched,
        }

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

    def path_limit(self, paths: "Paths", traffic: "Traffic") -> "Limit | None":
        """The limit of an operation by its path; none where caches may hold the regions."""
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

"""What ``tierscope gpu`` measures: from a naive copy to the best that a GPU's link gives.

The steps follow what a person tries by hand: ordinary memory and a few megabytes, then pinned
memory, then larger copies, more streams, other NUMA nodes, kernels instead of copy engines, both
directions at once; then the GPU's own memory, for comparison with the link.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tierscope.kinds.gpu_copy.request import LARGE, copy_spec
from tierscope.kinds.gpu_memory.spec import GpuMemoryPattern, GpuMemorySpec
from tierscope.kinds.plan import PLAN_VERSION, Plan, Spec
from tierscope.model.gpu import CopyEngine, HostPlace
from tierscope.model.spec import Sampling
from tierscope.model.text_enum import TextEnum
from tierscope.model.topology import Gpu, Topology
from tierscope.plans.gpu import (
    gpu_cpus,
    gpu_place,
    home_node,
    host_nodes,
    host_place,
    require_gpus,
    transfer,
)
from tierscope.plans.machine import GIB, MIB
from tierscope.recipes.registry import Prepared

SMALL = 4 * MIB
"""Bytes of the naive copy: a million 4-byte numbers, as first programs have them."""
STREAMS = 4
_SAMPLING = Sampling(budget_s=0.6, sample_s=0.01)


class Way(TextEnum):
    """Which direction a step's copies go."""

    TO_GPU = "to-gpu"
    TO_HOST = "to-host"
    NONE = ""
    """Both at once, or none: inside the GPU."""


@dataclass(frozen=True)
class Step:
    """One measurement of the tour, and what it stands for."""

    gpu: int
    name: str
    """``pageable``, ``large``, ``node1``: the steps of all GPUs have the same names."""
    label: str
    """The name for people: ``pinned, large``."""
    spec: Spec
    way: Way = Way.NONE
    plain: bool = False
    """It is the plain large copy, which the others are compared with."""
    naive: bool = False
    """It is the copy that a first program makes."""
    alternative: bool = False
    """It is another way to do what the plain large copy does."""


def tour(topology: Topology, gpus: Sequence[Gpu], trace: bool = False) -> list[Step]:
    """Return the steps for these GPUs; about 15 s for each where its figures are steady."""
    return [step for gpu in gpus for step in _Tour(topology, gpu, trace).steps()]


def plan_of(steps: Sequence[Step]) -> Plan:
    """Return the plan that measures these steps."""
    return Plan(version=PLAN_VERSION, measurements=[step.spec for step in steps])


def prepare(_name: str, topology: Topology, _thp: bool) -> Prepared:
    """Return the tour of all GPUs."""
    return Prepared(plan_of(tour(topology, require_gpus(topology))))


class _Tour:
    """The steps of one GPU."""

    def __init__(self, topology: Topology, gpu: Gpu, trace: bool) -> None:
        self._topology = topology
        self._gpu = gpu
        self._trace = trace
        self._own = gpu_place(gpu.index)
        self._home = host_place(home_node(topology, gpu))

    def steps(self) -> Iterator[Step]:
        near = home_node(self._topology, self._gpu)
        pageable = host_place(near, "pageable")
        yield from self._each_way("pageable", "naive (pageable)", pageable, SMALL, naive=True)
        yield from self._each_way("pinned", "pinned", self._home, SMALL)
        yield from self._each_way("large", "pinned, large", self._home, LARGE, plain=True)
        yield self._streams()
        for node in host_nodes(self._topology):
            if node != near:
                place = host_place(node)
                name, label = f"node{node}", f"node {node}"
                yield from self._each_way(name, label, place, LARGE, alternative=True)
        yield from self._each_way(
            "sm", "by a kernel", self._home, LARGE, engine="sm", alternative=True
        )
        yield self._both_ways()
        yield self._inside()
        yield self._triad()

    def _each_way(
        self,
        name: str,
        label: str,
        host: HostPlace,
        size: int,
        *,
        engine: CopyEngine = "ce",
        plain: bool = False,
        naive: bool = False,
        alternative: bool = False,
    ) -> Iterator[Step]:
        for way, source, destination in (
            (Way.TO_GPU, host, self._own),
            (Way.TO_HOST, self._own, host),
        ):
            spec = copy_spec(
                self._id(name, way),
                [transfer(source, destination, engine)],
                self._topology,
                size=size,
                sampling=_SAMPLING,
                trace=self._trace,
            )
            yield Step(self._gpu.index, name, label, spec, way, plain, naive, alternative)

    def _streams(self) -> Step:
        one = transfer(self._home, self._own, "ce", streams=STREAMS)
        spec = copy_spec(
            self._id("streams", Way.TO_GPU),
            [one],
            self._topology,
            sampling=_SAMPLING,
            trace=self._trace,
        )
        label = f"{STREAMS} streams"
        return Step(self._gpu.index, "streams", label, spec, Way.TO_GPU, alternative=True)

    def _both_ways(self) -> Step:
        transfers = [
            transfer(self._home, self._own, "ce"),
            transfer(self._own, self._home, "ce"),
        ]
        spec = copy_spec(
            self._id("both-ways"), transfers, self._topology, sampling=_SAMPLING, trace=self._trace
        )
        return Step(self._gpu.index, "both-ways", "both ways", spec)

    def _inside(self) -> Step:
        spec = copy_spec(
            self._id("local"),
            [transfer(self._own, self._own, "ce")],
            self._topology,
            sampling=_SAMPLING,
            trace=self._trace,
        )
        return Step(self._gpu.index, "local", "inside the GPU", spec)

    def _triad(self) -> Step:
        name = f"gpu:{self._gpu.index}"
        spec = GpuMemorySpec(
            id=self._id("triad"),
            initiator=name,
            target=name,
            cpus=gpu_cpus(self._topology, self._gpu),
            sampling=_SAMPLING,
            trace=self._trace,
            gpu=self._gpu.index,
            pattern=GpuMemoryPattern(operation="triad", size=_triad_size(self._gpu)),
        )
        return Step(self._gpu.index, "triad", "its memory, triad", spec)

    def _id(self, name: str, way: Way = Way.NONE) -> str:
        return ".".join(filter(None, (f"gpu{self._gpu.index}", name, way)))


def _triad_size(gpu: Gpu) -> int:
    """Bytes of each of three arrays: 1 GiB, or a sixteenth of a small GPU's memory."""
    most = (gpu.memory_bytes or 16 * GIB) // 16
    return min(GIB, most // MIB * MIB)

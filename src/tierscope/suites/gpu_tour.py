"""Measurements of ``tierscope gpu``: from a naive copy to the best that a GPU's link gives.

The steps follow what a person tries by hand: ordinary memory and a few megabytes, then pinned
memory, then larger copies, more streams, other NUMA nodes, kernels instead of copy engines, both
directions at once; then the GPU's own memory, for comparison with the link.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from tierscope.kinds.gpu_copy.show import copies_of, describe
from tierscope.kinds.gpu_copy.show import explain as explain_copy
from tierscope.kinds.gpu_copy.spec import copy_spec
from tierscope.kinds.gpu_memory.show import explain as explain_memory
from tierscope.kinds.gpu_memory.spec import GpuMemoryPattern, GpuMemorySpec
from tierscope.kinds.plan import PLAN_VERSION, Plan, Spec
from tierscope.machine.links import pcie_link, pcie_name, pcie_rate
from tierscope.machine.paths import MachinePaths
from tierscope.model.base import TextEnum
from tierscope.model.gpu import LARGE, CopyEngine, HostPlace
from tierscope.model.path import Hop
from tierscope.model.run import Measurement, Run
from tierscope.model.spec import Sampling
from tierscope.model.topology import Gpu, PcieLink, Topology
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
from tierscope.report import figures
from tierscope.report.evidence import show_traces, states_of
from tierscope.report.style import new_table, note, title
from tierscope.suites.suite import Prepared

SMALL = 4 * MIB
"""Bytes of the naive copy: a million 4-byte numbers, as first programs have them."""
STREAMS = 4
_SAMPLING = Sampling(budget_s=0.6, sample_s=0.005)
_AS_GOOD = 0.98
"""A figure this near to another is as good."""
_FULL = 0.80
"""Efficiency of a PCIe link that copies can be expected to reach."""


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


_WAYS = {Way.TO_GPU: "to GPU", Way.TO_HOST: "to host", Way.NONE: ""}


@dataclass(frozen=True)
class _Taken:
    """A step with its outcome."""

    step: Step
    entry: Measurement

    @property
    def rate(self) -> float:
        """bytes/s; 0 where it was not measured."""
        return self.entry.estimate or 0.0


def show_tour(console: Console, run: Run, steps: Sequence[Step]) -> None:
    """Print one table and its conclusions for each GPU."""
    found = {entry.id: entry for entry in run.measurements}
    taken = [_Taken(step, found[step.spec.id]) for step in steps if step.spec.id in found]
    for gpu in run.header.machine["gpus"]:
        own = [one for one in taken if one.step.gpu == gpu["index"]]
        if not own:
            continue
        title(console, f"gpu:{gpu['index']}, {gpu['name']}")
        _show_table(console, own, run)
        for line in _conclusions(own, run):
            console.print(Text(line))
        show_traces(console, [one.entry for one in own])


def _show_table(console: Console, own: list[_Taken], run: Run) -> None:
    table = new_table("what", "", "size", "GB/s", "of limit", "why", words=("what", "", "why"))
    last = ("", "")
    for one in own:
        entry, label = one.entry, one.step.label
        measured = entry.status == "measured"
        why = _explained(entry, run) if measured else entry.reason
        table.add_row(
            "" if label == last[0] else label,
            _WAYS[one.step.way],
            figures.size_text(entry.pattern["size"]),
            figures.with_interval(entry, 1e9) if measured else entry.status,
            figures.of_limit(entry) if measured else "",
            "" if (label, why) == last else why,
        )
        last = (label, why)
    console.print(table)
    limit = next((one.entry.limit for one in own if one.step.plain), None)
    if limit is not None:
        note(console, f"limit of copies with the host: {limit.link}: {limit.formula}")


def _explained(entry: Measurement, run: Run) -> str:
    (copy,) = copies_of([entry], run)
    if copy.transfers:
        return explain_copy(copy, run.header.topology)
    return explain_memory(entry, run.header.topology)


def _conclusions(own: list[_Taken], run: Run) -> list[str]:
    """Say what pinned memory and larger copies gain, and what is still to gain."""
    measured = [one for one in own if one.entry.status == "measured"]
    plain = {one.step.way: one for one in measured if one.step.plain}
    naive = {one.step.way: one for one in measured if one.step.naive}
    lines = [
        f"{_WAYS[way]}: pinned memory and large copies give {large.rate / 1e9:.1f} GB/s, "
        f"{large.rate / naive[way].rate:.1f} times the naive copy's {naive[way].rate / 1e9:.1f}"
        for way, large in plain.items()
        if way in naive
    ]
    return [*lines, _to_gain(measured, plain, run)] if plain else lines


def _to_gain(measured: list[_Taken], plain: dict[Way, _Taken], run: Run) -> str:
    """Compare the plain large copy with all else that was tried, its limit, and its link's best."""
    below = _below_best(plain, run.header.topology)
    left = [*below, *(_better(measured, plain, run) or _below_limit(plain))]
    if left:
        return f"Still to gain: {'; '.join(left)}."
    if all(one.entry.limit is None for one in plain.values()):
        return (
            "Still to gain: unknown, because no link's rate is known. Nothing else that was "
            "measured is faster."
        )
    return "Still to gain: none. Nothing else that was measured is faster."


def _better(measured: list[_Taken], plain: dict[Way, _Taken], run: Run) -> list[str]:
    """Say what is faster than the plain large copy."""
    better: list[str] = []
    for one in measured:
        base = plain.get(one.step.way)
        if base is None or not one.step.alternative:
            continue
        gain = one.rate / (base.rate or 1.0)
        if gain > 1 / _AS_GOOD:
            (copy,) = copies_of([one.entry], run)
            better.append(f"{describe(copy)} is {gain - 1:.0%} faster")
    return better


def _below_limit(plain: dict[Way, _Taken]) -> list[str]:
    """Say how far from its limit the plain large copy stays, and where to look."""
    low = [
        f"{_WAYS[way]} reaches {one.entry.efficiency:.0%} of its limit"
        for way, one in plain.items()
        if one.entry.efficiency is not None and one.entry.efficiency < _FULL
    ]
    advice = (
        "nothing that was tried is faster: see 'tierscope topo' for the link, and the settings of "
        "IOMMU and ACS in 'tierscope doctor'"
    )
    return [*low, advice] if low else []


def _below_best(plain: dict[Way, _Taken], topology: Topology | None) -> list[str]:
    """Say how the link ran where it supports more, and what that makes of the figures."""
    entry = next(iter(plain.values())).entry
    hops = _hops(entry, topology)
    best = _rate_at_best(hops)
    if best is None or entry.limit is None:
        return []
    slowest = min(
        (hop for hop in hops if hop.limit and hop.now and not hop.parallel),
        key=lambda hop: hop.limit.value if hop.limit else 0.0,
        default=None,
    )
    rate = entry.limit.value
    name = pcie_name(slowest.now) if slowest and slowest.now else entry.limit.link
    for link in _links_seen(entry):
        seen = pcie_rate(link)
        if seen is not None and seen < rate:
            rate, name = seen, pcie_name(link)
    if rate >= _AS_GOOD * best:  # The slot may still be less than the GPU supports.
        return [entry.limit.link] if entry.limit.degraded else []
    shares = [
        f"{_WAYS[way]} reaches {one.rate / best:.0%} of the link at its best"
        for way, one in plain.items()
        if one.entry.limit is not None and one.entry.limit.value < _AS_GOOD * best
    ]
    return [f"the link to the host runs at {name}, {rate / best:.0%} of what it supports", *shares]


def _hops(entry: Measurement, topology: Topology | None) -> list[Hop]:
    if topology is None:
        return []
    return MachinePaths(topology).path(entry.initiator, entry.target).hops


def _rate_at_best(hops: Sequence[Hop]) -> float | None:
    """Return bytes/s of the path, were each PCIe link as good as both its ends; None without."""
    if not any(hop.best for hop in hops):
        return None
    limits = [hop.limit.value for hop in hops if hop.limit and not hop.best]
    best = [pcie_rate(hop.best) for hop in hops if hop.best]
    return min([*limits, *(rate for rate in best if rate is not None)], default=None)


def _links_seen(entry: Measurement) -> list[PcieLink]:
    """Return the GPU's own link at its fastest while it was measured, as NVML saw it."""
    links = [
        pcie_link(int(state.pcie_generation[-1]), int(state.pcie_width[-1]))
        for state in states_of(entry)
        if state.pcie_generation and state.pcie_width
    ]
    return [link for link in links if link is not None]

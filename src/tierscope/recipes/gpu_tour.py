"""What ``tierscope gpu`` measures: from a naive copy to the best that a GPU's link gives.

The steps follow what a person tries by hand: ordinary memory and a few megabytes, then pinned
memory, then larger copies, more streams, other NUMA nodes, kernels instead of copy engines, both
directions at once; then the GPU's own memory, to have something to set the link beside.
"""

from tierscope.kinds.gpu_memory.spec import GpuMemoryPattern, GpuMemorySpec
from tierscope.kinds.plan import PLAN_VERSION, Plan, Spec
from tierscope.model.gpu import HostKind, HostPlace
from tierscope.model.spec import Sampling
from tierscope.model.topology import Gpu, Topology
from tierscope.plans.gpu_specs import (
    LARGE,
    copy_spec,
    gpu_cpus,
    gpu_place,
    home_node,
    host_nodes,
    host_place,
    transfer,
)
from tierscope.plans.machine import GIB, MIB

SMALL = 4 * MIB
"""Bytes of the naive copy: a million 4-byte numbers, as first programs have them."""
STREAMS = 4
_SAMPLING = Sampling(budget_s=0.6, sample_s=0.02)


def story(topology: Topology, gpus: list[Gpu], trace: bool = False) -> Plan:
    """Return the plan for these GPUs; some 15 s for each where nothing is unsteady."""
    specs: list[Spec] = []
    for gpu in gpus:
        specs += _of_gpu(topology, gpu, trace)
    return Plan(version=PLAN_VERSION, measurements=specs)


def _of_gpu(topology: Topology, gpu: Gpu, trace: bool) -> list[Spec]:
    home = home_node(topology, gpu)
    specs: list[Spec] = []
    for step, memory, size in (
        ("pageable", "pageable", SMALL),
        ("pinned", "pinned", SMALL),
        ("large", "pinned", LARGE),
    ):
        specs += _both_directions(topology, gpu, step, _host(home, memory), size, trace)
    specs.append(_streams(topology, gpu, home, trace))
    for node in host_nodes(topology):
        if node != home:
            specs += _both_directions(topology, gpu, f"node{node}", host_place(node), LARGE, trace)
    specs += _both_directions(topology, gpu, "sm", host_place(home), LARGE, trace, sm=True)
    specs.append(_both_ways(topology, gpu, home, trace))
    return specs + _own_memory(topology, gpu, trace)


def _host(node: int, memory: str) -> HostPlace:
    kinds: dict[str, HostKind] = {"pageable": "pageable", "pinned": "pinned"}
    return host_place(node, kinds[memory])


def _both_directions(
    topology: Topology,
    gpu: Gpu,
    step: str,
    host: HostPlace,
    size: int,
    trace: bool,
    sm: bool = False,
) -> list[Spec]:
    own = gpu_place(gpu.index)
    return [
        copy_spec(
            f"gpu{gpu.index}.{step}.{name}",
            [transfer(source, destination, "sm" if sm else "ce")],
            topology,
            size=size,
            sampling=_SAMPLING,
            trace=trace,
        )
        for name, source, destination in (("to-gpu", host, own), ("to-host", own, host))
    ]


def _streams(topology: Topology, gpu: Gpu, home: int, trace: bool) -> Spec:
    one = transfer(host_place(home), gpu_place(gpu.index), "ce", streams=STREAMS)
    return copy_spec(
        f"gpu{gpu.index}.streams.to-gpu", [one], topology, sampling=_SAMPLING, trace=trace
    )


def _both_ways(topology: Topology, gpu: Gpu, home: int, trace: bool) -> Spec:
    host, own = host_place(home), gpu_place(gpu.index)
    transfers = [transfer(host, own, "ce"), transfer(own, host, "ce")]
    return copy_spec(
        f"gpu{gpu.index}.both-ways", transfers, topology, sampling=_SAMPLING, trace=trace
    )


def _own_memory(topology: Topology, gpu: Gpu, trace: bool) -> list[Spec]:
    own = gpu_place(gpu.index)
    name = f"gpu:{gpu.index}"
    return [
        copy_spec(
            f"gpu{gpu.index}.local",
            [transfer(own, own, "ce")],
            topology,
            sampling=_SAMPLING,
            trace=trace,
        ),
        GpuMemorySpec(
            id=f"gpu{gpu.index}.triad",
            initiator=name,
            target=name,
            cpus=gpu_cpus(topology, gpu),
            sampling=_SAMPLING,
            trace=trace,
            gpu=gpu.index,
            pattern=GpuMemoryPattern(operation="triad", size=_triad_size(gpu)),
        ),
    ]


def _triad_size(gpu: Gpu) -> int:
    """Bytes of each of three arrays: 1 GiB, or a sixteenth of a small GPU's memory."""
    most = (gpu.memory_bytes or 16 * GIB) // 16
    return min(GIB, most // MIB * MIB)

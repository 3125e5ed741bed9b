"""Machines of many cores and what a matrix of cores measures on them, from a formula and a seed."""

import math
import random
from collections.abc import Callable

from synthetic import header, node, run
from tierscope.analysis.core_groups import Relations
from tierscope.kinds.core_latency.spec import CoreLatencyEvidence, Handovers
from tierscope.model.event import Evidence
from tierscope.model.run import Figure, Measurement, Run
from tierscope.model.spec import MeasurementSpec
from tierscope.model.topology import Cache, Package, Topology
from tierscope.suites.core_matrix import plan_of

NS = {
    "same core": 8.0,
    "same L2": 25.0,
    "same L3": 45.0,
    "same node": 110.0,
    "other package": 220.0,
}
"""Of modified lines."""
Latency = Callable[[int, int], float]


def machine_of(sockets: int, cores: int, in_l3: int, threads: int = 1) -> Topology:
    """Return a machine of so many cores each socket, of which so many share an L3."""
    count = sockets * cores
    siblings = [[core + count * thread for thread in range(threads)] for core in range(count)]

    def cpus(first: int, last: int) -> list[int]:
        return sorted(cpu for core in siblings[first:last] for cpu in core)

    own = [cpus(number * cores, (number + 1) * cores) for number in range(sockets)]
    distances = dict.fromkeys(range(sockets), 21)
    return Topology(
        host="test",
        source="a test",
        cpu_model="Test CPU",
        architecture="x86_64",
        packages=[Package(number=n, cpus=found, cores=cores) for n, found in enumerate(own)],
        cpus=list(range(count * threads)),
        siblings=siblings,
        nodes=[
            node(n, found, 64 << 30, distances={**distances, n: 10}) for n, found in enumerate(own)
        ],
        caches=[
            *(Cache(level=2, type="unified", size_bytes=1 << 20, cpus=core) for core in siblings),
            *(
                Cache(level=3, type="unified", size_bytes=32 << 20, cpus=cpus(n, n + in_l3))
                for n in range(0, count, in_l3)
            ),
        ],
        base_page_bytes=4096,
        thp_page_bytes=2 << 20,
    )


def as_topology_says(topology: Topology) -> Latency:
    """Return latencies by what two CPUs share."""
    relations = Relations(topology)
    return lambda reader, writer: NS[relations.of_pair((reader, writer))]


def measured(topology: Topology, latency: Latency, seed: int = 1, **given: str) -> Run:
    """Return the run of a matrix of cores on a machine; figures scatter by 2%."""
    source = random.Random(seed)
    specs = plan_of(given, topology, thp=True).measurements
    machine = {
        **header().machine,
        "usable_cpus": topology.cpus,
        "cores": len(topology.siblings),
        "cpus": len(topology.cpus),
        "packages": len(topology.packages),
        "nodes": [
            {"node": n.number, "kind": "DRAM", "inferred_from": "", "cpus": n.cpus,
             "total_bytes": n.total_bytes, "free_bytes": n.free_bytes}
            for n in topology.nodes
        ],
    }  # fmt: skip
    found = [_measurement(spec, latency, source) for spec in specs]
    return run(found, topology=topology, machine=machine)


def _measurement(spec: MeasurementSpec, latency: Latency, source: random.Random) -> Measurement:
    reader, writer = spec.thread_cpus()
    pattern = spec.identity()
    clean = pattern["state"] == "clean"
    value = latency(reader, writer) * (0.8 if clean else 1) * math.exp(source.gauss(0, 0.02))
    first = Figure(
        metric="latency", unit="ns", estimate=value, ci_low=0.99 * value, ci_high=1.01 * value
    )
    exchange = Figure(
        metric="exchange_latency", unit="ns", estimate=0.9 * value, ci_low=0.88 * value,
        ci_high=0.92 * value,
    )  # fmt: skip
    pages = {spec.target.removeprefix("node:"): 1}
    return Measurement(
        id=spec.id,
        kind=spec.kind,
        initiator=spec.initiator,
        target=spec.target,
        cpus=[reader, writer],
        pattern=pattern,
        status="measured",
        n=20,
        repetitions=5,
        stop="precision",
        samples=[0.99 * value] * 9 + [value] * 2 + [1.01 * value] * 9,
        figures=[first, *([] if clean else [exchange])],
        evidence=Evidence(
            pages=pages,
            cpus=[reader, writer],
            verified="20480 lines of 20 rounds, each as its writer left it in that round",
        ).with_own(CoreLatencyEvidence(handovers=Handovers(lines=1024, rounds=20))),
    )

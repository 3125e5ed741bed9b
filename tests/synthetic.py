"""Synthetic runs for tests of what is shown: every kind, from a formula and a seed."""

import math
import random
from collections import Counter
from typing import Any

from tierscope.analysis import distribution
from tierscope.kinds.registry import KINDS
from tierscope.model.cause import Cause
from tierscope.model.event import Evidence
from tierscope.model.histogram import bucket_of
from tierscope.model.metric import COMPARED
from tierscope.model.path import Limit
from tierscope.model.run import Figure, Footer, Header, Measurement, MergedDistribution, Run
from tierscope.model.spec import MeasurementSpec
from tierscope.model.topology import (
    Cache,
    Gpu,
    Node,
    NodeKind,
    Package,
    PciDevice,
    PcieLink,
    Topology,
)

DDR = Limit(
    value=307.2e9,
    unit="B/s",
    link="8 channels of DDR5-4800",
    formula="8 x 4.8 GT/s x 8 B",
    source="SMBIOS type 17",
)
PCIE = Limit(
    value=31.5e9,
    unit="B/s",
    link="PCIe 4.0 x16 at 0000:17:00.0",
    formula="16 x 16 GT/s x 128/130 / 8",
    source="PCIe 4.0 specification, 4.2",
)


def header(**changes: Any) -> Header:
    values: dict[str, Any] = {
        "name": "synthetic",
        "started": "2026-01-05T14:03:07+00:00",
        "host": "node017",
        "command": ["tierscope", "run", "--profile", "full"],
        "tierscope": "0.1.0",
        "git_commit": "0123456789abcdef0123456789abcdef01234567",
        "emulated": False,
        "engine": {"engine": "0.1.0", "compiler": "GNU 12.2.0"},
        "machine": {
            "product": "Example Systems R1",
            "cpu": "Example 9000",
            "architecture": "x86_64",
            "hypervisor": "",
            "packages": 2,
            "cores": 32,
            "cpus": 64,
            "usable_cpus": list(range(64)),
            "page_bytes": 4096,
            "nodes": [_node(0, "DRAM", range(32)), _node(1, "DRAM", range(32, 64)),
                      _node(2, "CXL", range(0))],
            "caches": [_cache(1, 48 << 10), _cache(2, 2 << 20), _cache(3, 60 << 20)],
            "gpus": [{"index": 0, "name": "Example A1"}, {"index": 1, "name": "Example A1"}],
        },
        "environment": {"kernel": "Linux 6.12.0", "governor": "performance", "thp": "madvise"},
        "plan": {"measurements": []},
        "topology": topology(),
    }  # fmt: skip
    return Header(**{**values, **changes})


def _node(number: int, kind: str, cpus: range) -> dict[str, Any]:
    return {"node": number, "kind": kind, "inferred_from": "", "cpus": list(cpus),
            "total_bytes": 256 << 30, "free_bytes": 250 << 30}  # fmt: skip


def _cache(level: int, size: int) -> dict[str, Any]:
    return {"level": level, "type": "data", "size_bytes": size, "cpus_each": 2, "count": 32}


def topology() -> Topology:
    gen4 = PcieLink(speed=16, width=16)
    return Topology(
        host="node017",
        source="synthetic",
        cpu_model="Example 9000",
        architecture="x86_64",
        packages=[
            Package(number=n, cpus=list(range(32 * n, 32 * n + 32)), cores=16) for n in (0, 1)
        ],
        cpus=list(range(64)),
        siblings=[[cpu] for cpu in range(64)],
        nodes=[
            Node(number=n, kind=NodeKind.DRAM, inferred_from="", total_bytes=256 << 30, package=n,
                 cpus=list(range(32 * n, 32 * n + 32)))
            for n in (0, 1)
        ]
        + [Node(number=2, kind=NodeKind.CXL, inferred_from="", total_bytes=128 << 30)],
        caches=[Cache(level=1, type="data", size_bytes=48 << 10, cpus=[0])],
        base_page_bytes=4096,
        pci=[
            PciDevice(address=f"0000:{bus}:00.0", parent=None, root=f"0000:{bus}",
                      class_code=0x0302, vendor=0x10DE, node=n, package=n, link=gen4,
                      link_max=gen4)
            for n, bus in enumerate(("17", "97"))
        ],
        gpus=[
            Gpu(index=n, name="Example A1", address=f"0000:{bus}:00.0", memory_bytes=24 << 30)
            for n, bus in enumerate(("17", "97"))
        ],
    )  # fmt: skip


class Maker:
    """Makes measurements with samples that scatter as told."""

    def __init__(self, seed: int = 1, noise: float = 0.004, n: int = 40) -> None:
        self.random = random.Random(seed)
        self.noise = noise
        self.n = n
        self.count = 0

    def make(
        self, kind: str, initiator: str, target: str, pattern: dict[str, Any], value: float,
        unit: str = "B/s", **more: Any,
    ) -> Measurement:  # fmt: skip
        self.count += 1
        samples = sorted(value * math.exp(self.random.gauss(0, self.noise)) for _ in range(self.n))
        estimate = samples[self.n // 2]
        cut = max(0, int(self.n / 2 - 0.98 * math.sqrt(self.n)))
        limit = more.pop("limit", None)
        headline = Figure(
            metric=more.pop("metric", "latency" if unit == "ns" else "bandwidth"),
            unit=unit,  # type: ignore[arg-type]
            estimate=estimate,
            ci_low=samples[cut],
            ci_high=samples[-1 - cut],
            limit=limit,
            efficiency=estimate / limit.value if limit else None,
        )
        return Measurement(
            id=more.pop("id", f"{kind}.{self.count}"),
            kind=kind,
            initiator=initiator,
            target=target,
            cpus=[0, 1],
            pattern=pattern,
            status="measured",
            figures=compared(kind, [headline, *more.pop("figures", [])]),
            n=self.n,
            stop="precision",
            samples=samples,
            evidence=Evidence(pages={"0": 262144}, page_bytes=4096, cpus=[0, 1], isa="avx512",
                              verified="all bytes"),
            **more,
        )  # fmt: skip


def compared(kind: str, figures: list[Figure]) -> list[Figure]:
    """Figures, the headline first, as a kind has them; compared ones, but for percentiles, have
    intervals."""
    spec = KINDS[kind].spec if kind in KINDS else MeasurementSpec
    found = []
    for one in figures:
        update: dict[str, Any] = {"compared": spec.compares(one.metric, figures[0].metric)}
        if update["compared"] and one.ci_low is None and one.metric not in COMPARED:
            update |= {"ci_low": 0.999 * one.estimate, "ci_high": 1.001 * one.estimate}
        found.append(one.model_copy(update=update))
    return found


def changed(measurement: Measurement, **update: Any) -> Measurement:
    """A measurement with another headline; what is not a field of a figure is the measurement's."""
    own = {key: update.pop(key) for key in [*update] if key in Figure.model_fields}
    first, *others = measurement.figures
    figures = [first.model_copy(update=own), *update.pop("figures", others)]
    return measurement.model_copy(update={**update, "figures": figures})


def memory_measurements(maker: Maker) -> list[Measurement]:
    found = []
    rate = {"node:0": 280e9, "node:1": 130e9, "node:2": 28e9}
    base = {"order": "sequential", "access_size": 64, "size": 1 << 30, "pages": "thp",
            "isa": "auto"}  # fmt: skip
    factor = {"read": 1.0, "write": 0.55, "write-nt": 0.85, "copy": 0.8, "triad": 0.83}
    for target, top in rate.items():
        for operation, share in factor.items():
            for threads in (1, 2, 4, 8, 16, 32):
                value = top * share * (1 - math.exp(-threads / 7))
                pattern = {"operation": operation, **base, "threads": threads}
                limit = DDR if target == "node:0" else None
                found.append(maker.make("bandwidth", "node:0", target, pattern, value, limit=limit))
    for size in (64, 128, 256, 512, 1024, 4096, 16384, 65536):
        for threads in (1, 2, 4, 8, 16, 24, 32):
            value = 280e9 * (1 - math.exp(-threads / 9)) * size / (size + 700)
            pattern = {"operation": "read", **base, "order": "random", "access_size": size,
                       "threads": threads}  # fmt: skip
            found.append(maker.make("bandwidth", "node:0", "node:0", pattern, value))
    for near, far in ((1, 0), (9, 1), (8, 2), (4, 1), (3, 1), (2, 1), (1, 1)):
        if far == 0:
            continue
        share = far / (near + far)
        value = min(280e9 / (1 - share), 28e9 / share)
        pattern = {"operation": "read", **base, "threads": 32, "policy": "weighted",
                   "mechanism": "user"}  # fmt: skip
        target = f"node:0,2@{near}:{far}"
        found.append(maker.make("bandwidth", "node:0", target, pattern, value))
    return found


def latency_measurements(maker: Maker) -> list[Measurement]:
    found = []
    for target, memory in (("node:0", 110.0), ("node:1", 190.0), ("node:2", 310.0)):
        for power in range(12, 31):
            size = 1 << power
            value = 1.4 if size <= 48 << 10 else 4.5 if size <= 2 << 20 else 24.0
            value = value if size <= 60 << 20 else memory
            pattern = {"order": "random", "stride": 256, "size": size, "pages": "thp"}
            found.append(maker.make("latency", "node:0", target, pattern, value, "ns",
                                    fits_caches=size <= 60 << 20))  # fmt: skip
    for pages, order, value in (("base", "random", 145.0), ("base", "page-random", 112.0)):
        pattern = {"order": order, "stride": 256, "size": 1 << 30, "pages": pages}
        found.append(maker.make("latency", "node:0", "node:0", pattern, value, "ns"))
    for mix, most in (("100:0", 270e9), ("67:33", 240e9), ("write-nt", 200e9)):
        for step in range(12):
            rate = most * (step + 0.2) / 11.5
            value = 110 + 60 * (rate / most) ** 2 / max(0.06, 1.02 - rate / most)
            pattern = {"mix": mix, "delay_ns": 11 - step, "size": 1 << 30, "pages": "thp",
                       "order": "random", "stride": 256, "load_from": "node:0",
                       "load_to": "node:0", "load_order": "sequential", "load_threads": 31,
                       "load_access_size": 64, "load_size": 1 << 26}  # fmt: skip
            side = [Figure(metric="bandwidth", unit="B/s", estimate=rate)]
            found.append(
                maker.make("loaded-latency", "node:0", "node:0", pattern, value, "ns", figures=side)
            )
    return found


def pattern_measurements(maker: Maker) -> list[Measurement]:
    """Streams alone and concurrent, atomics, mapping, orders and strides."""
    found = []
    base = {"order": "sequential", "zipf_alpha": 0.9, "access_size": 1024, "prefetch": 0,
            "delay_ns": 0, "size": 1 << 30, "pages": "thp", "isa": "auto"}  # fmt: skip
    for mix, writes, share in (("100:0", 0, 1.0), ("67:33", 33, 0.8), ("67:33nt", 33, 0.75)):
        for threads in (8, 32):
            rate = 270e9 * share * (1 - math.exp(-threads / 9))
            pattern = {"writes": writes, "stores": "nt" if "nt" in mix else "ordinary", **base,
                       "threads": threads, "mix": mix}  # fmt: skip
            bus = Figure(metric="bandwidth_with_write_allocate", unit="B/s",
                         estimate=rate * (1 + writes / 100))  # fmt: skip
            figures = [bus] if mix == "67:33" else []
            found.append(maker.make("traffic", "node:0", "node:0", pattern, rate, figures=figures))
    for prefetch in (0, 512, 1024, 4096):
        pattern = {"writes": 0, "stores": "ordinary", **base, "prefetch": prefetch, "threads": 1,
                   "mix": "100:0"}  # fmt: skip
        found.append(maker.make("traffic", "node:0", "node:0", pattern, 12e9 + prefetch * 1e6))
    pattern = {"writes": 0, "stores": "ordinary", **base, "threads": 16, "mix": "100:0",
               "beside": "stream2: node:0 → node:2, 0:100nt by 16, sequential"}  # fmt: skip
    others = [Figure(metric="bandwidth", part="stream2", unit="B/s", estimate=20e9),
              Figure(metric="total_bandwidth", unit="B/s", estimate=250e9)]  # fmt: skip
    found.append(maker.make("traffic", "node:0", "node:0", pattern, 230e9, figures=others))
    for operation, cost in (("fetch-and-add", 1.0), ("compare-and-swap", 1.6)):
        for shared in (False, True):
            for threads in (1, 2, 4, 8):
                pattern = {"operation": operation, "shared": shared,
                           "size": 64 if shared else 1 << 30, "pages": "thp",
                           "threads": threads}  # fmt: skip
                rate = (2e8 / threads if shared else 2e7 * threads) / cost
                found.append(maker.make("atomics", "node:0", "node:0", pattern, rate, "1/s",
                                        metric="updates"))  # fmt: skip
    for pages, populate, unmap in (("base", 350.0, 60.0), ("thp", 90e3, 4e3)):
        pattern = {"sharing": "private", "size": 64 << 20, "pages": pages}
        parts = [Figure(metric="map", unit="ns", estimate=6000.0),
                 Figure(metric="populate_per_page", unit="ns", estimate=populate),
                 Figure(metric="unmap_per_page", unit="ns", estimate=unmap)]  # fmt: skip
        found.append(maker.make("mapping", "node:0", "node:0", pattern, populate + unmap, "ns",
                                metric="time_per_page", figures=parts))  # fmt: skip
    for stride in (128, 512, 2048, 8192):
        pattern = {"operation": "read", "order": "strided", "access_size": 64, "stride": stride,
                   "size": 1 << 30, "pages": "thp", "isa": "auto", "threads": 32}  # fmt: skip
        found.append(maker.make("bandwidth", "node:0", "node:0", pattern, 8e12 / stride))
    return found


def gpu_measurements(maker: Maker) -> list[Measurement]:
    found = []
    for size in (1 << power for power in range(10, 31, 2)):
        for memory, top in (("pinned", 26.2e9), ("pageable", 11e9)):
            value = top * size / (size + 300e3)
            pattern = {"size": size, "engine": "ce", "memory": memory}
            found.append(maker.make("gpu-copy", "node:0", "gpu:0", pattern, value, limit=PCIE))
    ends = ("node:0", "node:1", "gpu:0", "gpu:1")
    for source in ends:
        for destination in ends:
            if "gpu" not in source + destination:
                continue
            value = 900e9 if source == destination else 250e9 if "n" not in source + destination \
                else 26e9 if source[-1] == destination[-1] else 21e9  # fmt: skip
            pattern = {"size": 1 << 30, "engine": "sm", "memory": "pinned"}
            limit = PCIE if "node" in source + destination else None
            found.append(maker.make("gpu-copy", source, destination, pattern, value, limit=limit))
    for operation, value in (("read", 1.9e12), ("copy", 1.7e12), ("triad", 1.75e12)):
        pattern = {"operation": operation, "size": 1 << 30}
        found.append(maker.make("gpu-memory", "gpu:0", "gpu:0", pattern, value))
    for power in range(14, 31):
        size = 1 << power
        value = 32.0 if size <= 128 << 10 else 210.0 if size <= 40 << 20 else 570.0
        found.append(
            maker.make("gpu-latency", "gpu:0", "gpu:0", {"size": size, "stride": 128}, value, "ns")
        )
    return found


def timed_operations(seed: int = 1, slower: float = 1.0) -> list[Measurement]:
    """Of a kind that no registry has: reads whose single operations were timed, at depths 1..64.

    ``slower`` makes the slowest operations of all depths take longer.
    """
    maker = Maker(seed)
    found = []
    for depth in (1, 2, 4, 8, 16, 32, 64):
        repetitions = [
            [_histogram(_times(maker.random, depth, slower)) for _ in range(10)] for _ in range(8)
        ]
        named = [
            Figure(metric=f"io_latency_{name}", unit="ns", estimate=one.value, ci_low=one.low,
                   ci_high=one.high, no_interval=one.no_interval)
            for name, one in distribution.estimates(repetitions, apart=True)
        ]  # fmt: skip
        whole = MergedDistribution(metric="io_latency", histogram=distribution.merged(repetitions))
        pattern = {"operation": "read", "order": "random", "block_size": 4096, "depth": depth}
        found.append(
            maker.make("operations", "node:0", "file:/data/x", pattern, 1e9 * depth / (8e4 + depth),
                       "1/s", metric="updates", figures=named, distributions=[whole])
        )  # fmt: skip
    return found


def _times(source: random.Random, depth: int, slower: float) -> list[int]:
    """80 µs and, of one in 200, some ms; queues make both longer."""
    usual = [source.lognormvariate(math.log(8e4 + 3e3 * depth), 0.12) for _ in range(1990)]
    slow = [source.lognormvariate(math.log(2e6 * slower), 0.4) for _ in range(10)]
    return [int(ns) for ns in usual + slow]


def _histogram(times: list[int]) -> list[int]:
    counts = Counter(map(bucket_of, times))
    return [number for item in sorted(counts.items()) for number in item]


def figure(metric: str, unit: Any, estimate: float, part: str = "") -> Figure:
    return Figure(metric=metric, part=part, unit=unit, estimate=estimate)


def run(*measurements: list[Measurement], finished: bool = True, **changes: Any) -> Run:
    members = [m for group in measurements for m in group]
    statuses = [m.status for m in members]
    footer = Footer(
        finished="2026-01-05T14:09:00+00:00",
        interrupted=False,
        measured=statuses.count("measured"),
        skipped=statuses.count("skipped"),
        failed=statuses.count("failed"),
    )
    plan = {"measurements": [{"id": m.id} for m in members]}
    return Run(
        header=header(**{"plan": plan, **changes}),
        measurements=members,
        footer=footer if finished else None,
    )


def full(seed: int = 1) -> Run:
    """Every kind on a machine of two sockets, CXL memory and two GPUs."""
    maker = Maker(seed)
    skipped = Measurement(
        id="gpu-copy.tma", kind="gpu-copy", initiator="gpu:0", target="gpu:1", cpus=[0],
        pattern={"size": 1 << 30, "engine": "tma"}, status="skipped",
        cause=Cause.GPU_FEATURE, reason="the GPU has no bulk copy unit",
        remedy="Hopper or newer has one",
    )  # fmt: skip
    failed = Measurement(
        id="bandwidth.read.node:3", kind="bandwidth", initiator="node:0", target="node:3", cpus=[0],
        pattern={"operation": "read"}, status="failed", cause=Cause.PLACEMENT,
        reason="pages went to node 0",
    )  # fmt: skip
    return run(
        memory_measurements(maker),
        latency_measurements(maker),
        pattern_measurements(maker),
        gpu_measurements(maker),
        [skipped, failed],
    )


def write(run_: Run, path: Any) -> Any:
    """Write a run as a run file."""
    records = [run_.header, *run_.measurements, *([run_.footer] if run_.footer else [])]
    path.write_text("".join(record.model_dump_json() + "\n" for record in records))
    return path


def node(number: int, cpus: list[int], total: int, **more: object) -> Node:
    """One NUMA node; DRAM where it has CPUs, else CXL memory."""
    values = {
        "number": number,
        "kind": NodeKind.DRAM if cpus else NodeKind.CXL,
        "inferred_from": "a test says so",
        "cpus": cpus,
        "total_bytes": total,
        "free_bytes": total,
        **more,
    }
    return Node.model_validate(values)


def storage_measurement(maker: Maker, rate: float, us: float = 90.0, **changes: Any) -> Measurement:
    """One measurement of storage: ``rate`` is its headline, ``us`` its median latency."""
    pattern = {"operation": "read", "order": "random", "block_size": 4096, "backend": "io_uring",
               "direct": True, "depth": 1, "threads": 1, "memory": "node:0", "size": 1 << 30,
               "shared": True}  # fmt: skip
    target = changes.pop("target", "file:/data")
    more = {key: changes.pop(key) for key in ("limit", "id", "evidence") if key in changes}
    pattern = {key: value for key, value in (pattern | changes).items() if value is not None}
    small = pattern["block_size"] < 512 << 10
    other = figure(
        "bandwidth" if small else "iops",
        "B/s" if small else "1/s",
        rate * pattern["block_size"] if small else rate / pattern["block_size"],
    )
    times = [
        figure(f"io_latency_{name}", "ns", us * factor * 1e3)
        for name, factor in (("mean", 1.1), ("p50", 1.0), ("p99", 3.0), ("p99.9", 9.0))
    ]
    made = maker.make(
        "io", "node:0", target, pattern, rate, "1/s" if small else "B/s",
        metric="iops" if small else "bandwidth",
        figures=[other, figure("cpu_per_operation", "ns", 4000.0), *times],
        fits_caches=not pattern["direct"],
        limit=more.get("limit"), **({"id": more["id"]} if "id" in more else {}),
    )  # fmt: skip
    return made.model_copy(update={"evidence": more["evidence"]}) if "evidence" in more else made


def storage_measurements(maker: Maker) -> list[Measurement]:
    """Queue depths, block sizes, a map of both, the page cache, a mix, threads."""
    found = []
    for operation, most in (("read", 400e3), ("write", 150e3)):
        for power in range(9):
            depth = 1 << power
            rate = most * depth / (depth + 30)
            found.append(storage_measurement(maker, rate, 1e6 * depth / rate, depth=depth,
                                             operation=operation))  # fmt: skip
        for power in range(12, 25, 2):
            size = 1 << power
            rate = (3e9 if operation == "read" else 2e9) * size / (size + 60e3)
            value = rate if size >= 512 << 10 else rate / size
            found.append(storage_measurement(maker, value, operation=operation, depth=8,
                                             block_size=size, order="sequential"))  # fmt: skip
    for size in (16 << 10, 64 << 10, 256 << 10):
        for depth in (1, 4, 16, 64):
            rate = 3e9 * size * depth / (size * depth + 300e3) / size
            found.append(storage_measurement(maker, rate, depth=depth, block_size=size))
    found.append(storage_measurement(maker, 30e3, 30.0, direct=False, backend="posix"))
    found.append(storage_measurement(maker, 11e3, backend="posix"))
    found.append(storage_measurement(maker, 20e3, threads=2))
    mix = storage_measurement(maker, 60e3, operation="mix", read_percent=70, depth=16)
    parts = [figure("iops", "1/s", 42e3, "read"), figure("iops", "1/s", 18e3, "write")]
    found.append(mix.model_copy(update={"figures": [*mix.figures, *parts]}))
    return found

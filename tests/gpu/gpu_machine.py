"""A synthetic machine with GPUs, and synthetic figures for whatever a plan measures on it."""

from datetime import datetime

from tierscope.kinds.plan import Plan, Spec
from tierscope.machine.paths import MachinePaths
from tierscope.model.capability import Capabilities
from tierscope.model.event import Column, Evidence, Failed, GpuState, Repetition, Series, Skipped
from tierscope.model.run import Footer, Measurement, Run
from tierscope.model.topology import (
    Gpu,
    Node,
    NodeKind,
    NvLink,
    Package,
    PciDevice,
    PcieLink,
    Topology,
)
from tierscope.plans.expand import expand
from tierscope.plans.request import Request
from tierscope.runs.record import Bounds, make_header, measurement_of

GIB = 1 << 30


LINK = PcieLink(speed=32.0, width=16)


def machine(gpus: int = 2, nodes: int = 2, cxl: bool = False) -> Topology:
    """Two sockets with GPUs, each GPU on the socket of its number's parity, joined by NVLink."""
    numa = [_node(number, list(range(4 * number, 4 * number + 4))) for number in range(nodes)]
    if cxl:
        numa.append(_node(nodes, []))
    cpus = [cpu for node in numa for cpu in node.cpus]
    return Topology(
        host="synthetic",
        source="a test",
        cpu_model="none",
        architecture="x86_64",
        packages=[
            Package(number=node.number, cpus=node.cpus, cores=4) for node in numa if node.cpus
        ],
        cpus=cpus,
        siblings=[[cpu] for cpu in cpus],
        nodes=numa,
        caches=[],
        base_page_bytes=4096,
        pci=[_pci_device(index, index % nodes) for index in range(gpus)],
        gpus=[_gpu(index, nvlink=gpus > 1) for index in range(gpus)],
    )


def _node(number: int, cpus: list[int]) -> Node:
    """A node of DRAM, or of CXL memory where it has no CPUs."""
    return Node(
        number=number,
        kind=NodeKind.DRAM if cpus else NodeKind.CXL,
        inferred_from="it has CPUs" if cpus else "a CXL region",
        cpus=cpus,
        total_bytes=64 * GIB,
        free_bytes=60 * GIB,
        package=number if cpus else None,
    )


def _pci_device(index: int, node: int) -> PciDevice:
    return PciDevice(
        address=_address(index),
        parent=None,
        root=f"0000:{index:02x}",
        class_code=0x0302,
        node=node,
        package=node,
        link=LINK,
        link_max=LINK,
        max_payload=256,
    )


def _gpu(index: int, nvlink: bool) -> Gpu:
    return Gpu(
        index=index,
        name="NVIDIA H100 80GB HBM3",
        address=_address(index),
        uuid=f"GPU-{index}",
        memory_bytes=80 * GIB,
        memory_clock_hz=2619e6,
        memory_bus_bits=5120,
        link_max=LINK,
        nvlinks=[NvLink(version=4, links=18, peer="switch")] if nvlink else [],
    )


def _address(index: int) -> str:
    return f"0000:{index + 16:02x}:00.0"


STATE = GpuState(
    gpu=0,
    name="NVIDIA H100 80GB HBM3",
    samples=3,
    sm_clock_hz=[1980e6, 1980e6],
    memory_clock_hz=[2619e6, 2619e6],
    pcie_generation=[5.0, 5.0],
    pcie_width=[16.0, 16.0],
    throttle=[],
)


def repetition_of(spec: Spec, value: float) -> Repetition:
    """A repetition of three rows, with a column for each of several transfers."""
    transfers = getattr(spec, "transfers", [])
    reported = sum(transfer.reported for transfer in transfers) or 1
    parts = {transfer.name: value / reported for transfer in transfers if len(transfers) > 1}
    scatter = (0.99, 1.0, 1.02)
    columns = [Column(metric=spec.metric, values=[value * share for share in scatter])]
    columns += [
        Column(metric="bandwidth", part=name, values=[rate * share for share in scatter])
        for name, rate in parts.items()
    ]
    series = Series(name="rows", starts=[0.0, 0.1, 0.2], durations=[0.1, 0.1, 0.1], columns=columns)
    evidence = Evidence(verified="all of it", gpus=[STATE])
    return Repetition(
        id=spec.id, seconds=0.3, fresh=False, interrupted=False, series=[series], evidence=evidence
    )


def measured(spec: Spec, topology: Topology, estimate: float = 50e9) -> Measurement:
    """A synthetic figure for any spec: ``estimate``, or 800 ns, with a narrow interval."""
    value = 800.0 if spec.metric == "latency" else estimate
    bounds = Bounds.of(spec, MachinePaths(topology))
    entry = measurement_of(spec, [repetition_of(spec, value)], None, bounds)
    samples = [value * 0.99, value, value * 1.02]
    efficiency = value / entry.limit.value if entry.limit else None
    headline = entry.figures[0].model_copy(
        update={
            "estimate": value,
            "ci_low": value * 0.997,
            "ci_high": value * 1.003,
            "efficiency": efficiency,
        }
    )
    others = [
        figure.model_copy(update={"estimate": column.values[1]})
        for figure in entry.figures[1:]
        for column in repetition_of(spec, value).series[0].columns
        if column.part == figure.part
    ]
    return entry.model_copy(
        update={
            "n": len(samples),
            "samples": samples,
            "stop": "precision",
            "figures": [headline, *others],
        }
    )


def missing(spec: Spec, event: Skipped | Failed) -> Measurement:
    """The record of a measurement without a figure."""
    return measurement_of(spec, [], event, Bounds())


def plan_of(kind: str, topology: Topology, **options: str) -> Plan:
    """The plan of one request; an option from_ is ``from``, access_size is ``access-size``."""
    named = {name.rstrip("_").replace("_", "-"): text for name, text in options.items()}
    return expand([Request(kind=kind, options=named)], topology, thp=False)


def run_with(plan: Plan, topology: Topology, measurements: list[Measurement]) -> Run:
    """A run that ended with these records."""
    engine = Capabilities(
        engine="0", plan_version=2, git_commit="0", compiler="none", isas=[], capabilities=[]
    )
    header = make_header(
        "synthetic", datetime(2026, 1, 5).astimezone(), ["test"], plan, topology, {}, engine
    )
    count = len(measurements)
    footer = Footer(finished="", interrupted=False, measured=count, skipped=0, failed=0)
    return Run(header=header, measurements=measurements, footer=footer)


def run_of(plan: Plan, topology: Topology) -> Run:
    """A run in which every measurement of a plan has its synthetic figure."""
    return run_with(plan, topology, [measured(spec, topology) for spec in plan.measurements])

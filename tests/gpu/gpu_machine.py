"""A machine with GPUs that no test needs to have: the real one's CPUs, made-up PCI and GPUs."""

from datetime import datetime

from tierscope.plans.limits import limit_of

from tierscope.kinds.plan import Plan, Spec
from tierscope.model.event import Capabilities, Evidence, Figure, GpuState, Result
from tierscope.model.run import Footer, Run
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
from tierscope.plans.request import Kind, Request
from tierscope.runs.record import make_header, measurement_of

GIB = 1 << 30


def machine(gpus: int = 2, nodes: int = 2, cxl: bool = False) -> Topology:
    """Two sockets with GPUs, each GPU on the socket of its number's parity, joined by NVLink."""
    link = PcieLink(speed=32.0, width=16)
    numa = [
        Node(
            number=number,
            kind=NodeKind.DRAM,
            inferred_from="it has CPUs",
            cpus=list(range(4 * number, 4 * number + 4)),
            total_bytes=64 * GIB,
            free_bytes=60 * GIB,
            package=number,
        )
        for number in range(nodes)
    ]
    if cxl:
        numa.append(
            Node(
                number=nodes,
                kind=NodeKind.CXL,
                inferred_from="a CXL region",
                total_bytes=64 * GIB,
                free_bytes=60 * GIB,
            )
        )
    cpus = [cpu for node in numa for cpu in node.cpus]
    return Topology(
        host="made-up",
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
        pci=[
            PciDevice(
                address=_address(index),
                parent=None,
                root=f"0000:{index:02x}",
                class_code=0x0302,
                node=index % nodes,
                package=index % nodes,
                link=link,
                link_max=link,
                max_payload=256,
            )
            for index in range(gpus)
        ],
        gpus=[
            Gpu(
                index=index,
                name="NVIDIA H100 80GB HBM3",
                address=_address(index),
                uuid=f"GPU-{index}",
                memory_bytes=80 * GIB,
                memory_clock_hz=2619e6,
                memory_bus_bits=5120,
                link_max=link,
                nvlinks=[NvLink(version=4, links=18, peer="switch")] if gpus > 1 else [],
            )
            for index in range(gpus)
        ],
    )


def _address(index: int) -> str:
    return f"0000:{index + 16:02x}:00.0"


def result_of(spec: Spec, estimate: float = 50e9) -> Result:
    """A made-up result for any kind of spec, with a figure for each of several transfers."""
    latency = spec.kind == "gpu-latency"
    transfers = getattr(spec, "transfers", [])
    value = 800.0 if latency else estimate
    reported = sum(transfer.reported for transfer in transfers) or 1
    figures = [
        Figure(metric=f"bandwidth {transfer.name}", unit="B/s", estimate=value / reported)
        for transfer in transfers
        if len(transfers) > 1
    ]
    state = GpuState(
        gpu=0,
        name="NVIDIA H100 80GB HBM3",
        samples=3,
        sm_clock_hz=[1980e6, 1980e6],
        memory_clock_hz=[2619e6, 2619e6],
        pcie_generation=[5.0, 5.0],
        pcie_width=[16.0, 16.0],
        throttle=[],
    )
    return Result(
        id=spec.id,
        metric="latency" if latency else "bandwidth",
        unit="ns" if latency else "B/s",
        estimate=value,
        ci_low=value * 0.997,
        ci_high=value * 1.003,
        n=3,
        stop="precision",
        samples=[value * 0.99, value, value * 1.02],
        figures=figures,
        evidence=Evidence(verified="all of it", gpus=[state]),
    )


def plan_of(kind: Kind, topology: Topology, **options: str) -> Plan:
    """The plan of one request; an option from_ is ``from``, access_size is ``access-size``."""
    named = {name.rstrip("_").replace("_", "-"): text for name, text in options.items()}
    return expand([Request(kind=kind, options=named)], topology, thp=False)


def run_of(plan: Plan, topology: Topology) -> Run:
    """A run in which every measurement of a plan has its made-up result."""
    engine = Capabilities(
        engine="0", plan_version=1, git_commit="0", compiler="none", isas=[], capabilities=[]
    )
    header = make_header(
        "made-up", datetime(2026, 1, 5).astimezone(), ["test"], plan, topology, {}, engine
    )
    measurements = [
        measurement_of(spec, result_of(spec), limit_of(topology, spec))
        for spec in plan.measurements
    ]
    footer = Footer(finished="", interrupted=False, measured=len(measurements), skipped=0, failed=0)
    return Run(header=header, measurements=measurements, footer=footer)

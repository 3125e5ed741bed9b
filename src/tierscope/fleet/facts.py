"""What may make one host slower than others: its settings, hardware and neighbours, by name.

All of it is what its run file says; what that does not say is absent.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tierscope.model.run import Header, Run
from tierscope.model.topology import Topology

_VARYING = ("load", "memory-limit", "hugetlb-")
"""Settings that are never alike on two hosts."""
_GIB = 1 << 30
_BRIDGE = 0x06
"""Base class of PCI bridges."""
_DISPLAY = 0x03
"""Base class of GPUs, whose links are slow while they idle."""


def model_of(header: Header) -> str:
    """Return the machine model: hosts of one are to be alike.

    Memory and the number of GPUs and cores are no part of it: a host that lacks some is a defect.
    """
    machine = header.machine
    gpus = sorted({str(gpu["name"]) for gpu in machine.get("gpus", [])})
    packages = f"{machine.get('packages', 0)} x {machine.get('cpu', '')}".strip()
    parts = [machine.get("product"), packages, *gpus, machine.get("hypervisor")]
    return ", ".join(str(part) for part in parts if part)


def facts_of(run: Run) -> dict[str, str]:
    """Return settings and hardware by name."""
    header = run.header
    found = {
        name: value for name, value in header.environment.items() if not name.startswith(_VARYING)
    }
    nodes = header.machine.get("nodes", [])
    found |= {f"memory of node:{one['node']}": _memory(one) for one in nodes}
    found |= {key: str(header.machine[key]) for key in ("cores", "cpus") if key in header.machine}
    gpus = header.machine.get("gpus", [])
    found |= {"GPUs": str(len(gpus))} if gpus else {}
    if header.topology:
        found |= dict(_hardware(header.topology))
    return found | dict(_of_gpus(run))


def _memory(node: Mapping[str, Any]) -> str:
    """In whole GiB, since firmware reserves varying amounts."""
    return f"{node['kind']} {round(node['total_bytes'] / _GIB)} GiB"


def _hardware(topology: Topology) -> Iterator[tuple[str, str]]:
    modules = Counter(
        f"{dimm.size_bytes / _GIB:g} GiB {dimm.type}"
        + (f" at {dimm.speed / 1e6:g} MT/s" if dimm.speed else "")
        for dimm in topology.dimms
    )
    if modules:
        yield "DIMMs", ", ".join(f"{count} x {what}" for what, count in sorted(modules.items()))
    for device in topology.pci:
        if device.bridge or device.class_code >> 8 == _BRIDGE or device.link is None:
            continue
        lanes = f"x{device.link.width}"
        if device.class_code >> 8 == _DISPLAY:
            yield f"PCIe lanes of {device.address}", lanes
        else:
            yield f"PCIe link of {device.address}", f"{device.link.speed:g} GT/s {lanes}"
    for gpu in topology.gpus:
        if gpu.power_limit_w is not None:
            yield f"power cap of gpu:{gpu.index}", f"{gpu.power_limit_w:g} W"
        if gpu.mig is not None:
            yield f"MIG of gpu:{gpu.index}", "on" if gpu.mig else "off"
    for port in topology.ports:
        if port.kind != "virtual":
            speed = f"{port.speed / 1e9:g} Gbit/s" if port.speed else "no speed"
            yield f"port {port.name}", f"{speed} {port.state}".strip()


def _of_gpus(run: Run) -> Iterator[tuple[str, str]]:
    """Yield what GPUs did while they were measured."""
    links: dict[int, tuple[float, float]] = {}
    throttled: dict[int, set[str]] = {}
    replays: Counter[int] = Counter()
    for m in run.measurements:
        for state in (m.evidence.gpus if m.evidence else None) or ():
            if state.pcie_generation and state.pcie_width:
                seen = max(state.pcie_generation), max(state.pcie_width)
                links[state.gpu] = max(seen, links.get(state.gpu, seen))
            throttled.setdefault(state.gpu, set()).update(state.throttle or ())
            replays[state.gpu] += state.pcie_replays or 0
    for gpu, (generation, width) in links.items():
        yield f"PCIe link of gpu:{gpu} in use", f"generation {generation:g} x{width:g}"
    for gpu, reasons in throttled.items():
        yield f"throttling of gpu:{gpu}", ", ".join(sorted(reasons)) or "none"
        yield f"PCIe replays of gpu:{gpu}", "some" if replays[gpu] else "none"


def neighbours_of(run: Run) -> dict[str, float | None]:
    """Return what others took of the host: shares of rows and of time, 0..1, and load a CPU."""
    rows = disturbed = 0
    stolen: list[float] = []
    watched = False
    for m in run.measurements:
        if m.evidence is None:
            continue
        if m.evidence.disturbed is not None:
            watched = True
            replaced = m.evidence.replaced or 0
            disturbed += m.evidence.disturbed + replaced
            rows += m.n + replaced
        if m.evidence.steal_share is not None:
            stolen.append(m.evidence.steal_share)
    load = run.header.environment.get("load", "")
    cpus = run.header.machine.get("cpus", 0)
    try:
        known = float(load) / cpus if load and cpus else None
    except ValueError:
        known = None
    return {
        "disturbed": disturbed / rows if watched and rows else None,
        "stolen": sum(stolen) / len(stolen) if stolen else None,
        "load": known,
    }

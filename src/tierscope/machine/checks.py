"""Checks of links, GPUs and attached memory for `tierscope doctor`."""

from collections.abc import Callable, Iterator

from tierscope.machine.affinity import Tree, advice, array_switches
from tierscope.machine.files import Files
from tierscope.machine.links import pcie_name, socket_link_limit
from tierscope.machine.memory import memory_limit, unused_statements
from tierscope.machine.pci import is_gpu
from tierscope.machine.pcie import best_link, has_link, shortfall, sleeps
from tierscope.model.endpoint import format_ranges
from tierscope.model.finding import Finding
from tierscope.model.topology import Gpu, NodeKind, PciDevice, Topology

_ROUNDING_W = 1.0
"""Watts by which caps may differ and mean the same."""
_DOMAINS = {
    "cpu_cache": "stores survive power loss without being flushed (eADR)",
    "memory_controller": "stores survive power loss once they are flushed and fenced (ADR)",
}
_NAMED = 4
"""Devices that one finding names before it only counts."""


def gpu_findings(topology: Topology, _files: Files) -> Iterator[Finding]:
    """Yield a finding for each GPU whose cap is below what its board allows or begins with."""
    known = [gpu for gpu in topology.gpus if gpu.power_limit_w is not None]
    capped = [finding for gpu in known if (finding := _cap(gpu)) is not None]
    yield from capped
    if known and not capped:
        caps = dict.fromkeys(f"{gpu.power_limit_w:.0f} W" for gpu in known)
        yield Finding(
            severity="good", subject="GPU power caps", found=f"{', '.join(caps)}, the most there is"
        )


def _cap(gpu: Gpu) -> Finding | None:
    """A cap below the board's default is a choice of somebody; one below its most is as shipped."""
    limit, most = gpu.power_limit_w or 0.0, gpu.power_max_w or 0.0
    default = gpu.power_default_w or 0.0
    if limit >= max(most, default) - _ROUNDING_W:
        return None
    target = max(most, default)
    lowered = limit < default - _ROUNDING_W
    wanted = default if lowered else most
    by_default = f", {default:.0f} W by default" if default else ""
    return Finding(
        severity="problem" if lowered else "note",
        subject=f"power cap of gpu:{gpu.index}",
        found=f"{limit:.0f} W of {target:.0f} W ({limit / target:.0%}){by_default}",
        meaning="where its work would take more, the GPU lowers its clocks: up to "
        f"{1 - limit / target:.0%} less power for kernels; the evidence of a measurement names the "
        "power cap where it did",
        remedy=f"sudo nvidia-smi -i {gpu.address or gpu.index} -pl {wanted:.0f}"
        + (f" (its default; {most:.0f} is the most)" if most > wanted else ""),
    )


def _persistent(topology: Topology, _files: Files) -> Iterator[Finding]:
    """Findings about persistent namespaces: limits of measurements, and survival of power loss."""
    for space in topology.namespaces:
        subject = f"{space.name} of {space.region or 'unknown region'}"
        if space.bad_blocks:
            yield Finding(
                severity="problem",
                subject=subject,
                found=f"{space.bad_blocks} blocks of 512 bytes are bad",
                meaning="a load from one of them kills the program",
                remedy="as root: ndctl clear-errors, after the data was saved",
            )
        if space.mode not in ("fsdax", "devdax"):
            yield Finding(
                severity="note",
                subject=subject,
                found=f"mode {space.mode or 'unknown'}, without loads and stores (DAX)",
                meaning="programs reach it through the page cache only",
                remedy="if nothing on it is needed, as root: ndctl create-namespace -f -m fsdax "
                f"-e {space.name}",
            )
        yield _domain(subject, space.persistence_domain)


def _domain(subject: str, domain: str) -> Finding:
    if meaning := _DOMAINS.get(domain):
        return Finding(
            severity="good", subject=subject, found=f"persistence domain {domain}", meaning=meaning
        )
    return Finding(
        severity="note",
        subject=subject,
        found="the kernel names no persistence domain",
        meaning="nobody can tell whether stores survive power loss",
    )


def link_findings(topology: Topology, root: str = "/") -> list[Finding]:
    """Everything about links and attached memory that distorts figures, below ``root``."""
    files = Files(root)
    checks: list[Callable[[Topology, Files], Iterator[Finding]]] = [
        _slow_links,
        _idle_links,
        _replays,
        _errors,
        _ordering,
        _aspm,
        _acs,
        _iommu,
        _drives_across,
        _arrays_across,
        _dax,
        _persistent,
        _tiers,
        _bandwidth_limits,
        _peer_to_peer,
        gpu_findings,
    ]
    return [finding for check in checks for finding in check(topology, files)]


def _slow_links(topology: Topology, _files: Files) -> Iterator[Finding]:
    tree = Tree(topology.pci)
    checked = 0
    for device in topology.pci:
        if device.link is None or device.link_max is None or not has_link(tree, device):
            continue
        if not _matters(topology, device.address):
            continue
        checked += 1
        lost = shortfall(tree, device)
        if lost:
            best = best_link(tree, device) or device.link_max
            yield Finding(
                severity="problem",
                subject=f"link of {_name(topology, device.address)}",
                found=f"{pcie_name(device.link)}{lost}",
                meaning="no path through it can be faster than this",
                remedy=f"reseat it, or move it to a slot that gives {pcie_name(device.link_max)}"
                if best.width < device.link_max.width or best.speed < device.link_max.speed
                else "reseat it and look for errors: dmesg | grep -i aer",
            )
    if checked:
        yield Finding(
            severity="good", subject="PCIe links", found=f"{checked} checked against their best"
        )


def _matters(topology: Topology, address: str) -> bool:
    return address in (
        *(gpu.address for gpu in topology.gpus),
        *(block.address for block in topology.blocks if block.kind == "nvme"),
        *(port.address for port in topology.ports),
        *(memory.address for memory in topology.cxl_memories),
    )


def _name(topology: Topology, address: str) -> str:
    names = [f"gpu:{gpu.index}" for gpu in topology.gpus if gpu.address == address]
    names += [block.name for block in topology.blocks if block.address == address]
    names += [port.rdma or port.name for port in topology.ports if port.address == address]
    names += [card.name for card in topology.cxl_memories if card.address == address]
    return f"{names[0]} at {address}" if names else address


def _idle_links(topology: Topology, _files: Files) -> Iterator[Finding]:
    tree = Tree(topology.pci)
    idle = [
        _name(topology, device.address)
        for device in topology.pci
        if device.link and sleeps(device, device.link, best_link(tree, device))
    ]
    if idle:
        yield Finding(
            severity="note",
            subject="idle GPU links",
            found=f"{_some(idle)} below their best speed at the moment",
            meaning="normal while idle; a measurement's evidence shows the speed under load",
        )


def _replays(topology: Topology, _files: Files) -> Iterator[Finding]:
    for gpu in topology.gpus:
        if gpu.pcie_replays:
            yield Finding(
                severity="note",
                subject=f"PCIe replays of gpu:{gpu.index}",
                found=f"{gpu.pcie_replays} since the driver was loaded",
                meaning="packets were sent again; many per second indicate a bad contact",
                remedy="watch column pci of nvidia-smi dmon -s e; reseat the card where it grows",
            )


def _errors(topology: Topology, _files: Files) -> Iterator[Finding]:
    """Errors of functions that matter and of the ports above them: each end counts its own."""
    on_paths = _on_paths(topology)
    for device in topology.pci:
        if device.address not in on_paths:
            continue
        counted = {name: count for name, count in device.errors.items() if count}
        seen = [name for name in device.error_bits if name not in counted]
        numbers = ", ".join(f"{count} {name}" for name, count in counted.items())
        found = [f"{numbers} since the kernel started (AER)"] if numbers else []
        found += [f"{', '.join(seen)} in Device Status"] if seen else []
        if found:
            lost = {"non-fatal", "fatal"} & {*counted, *seen}
            yield Finding(
                severity="problem" if lost else "note",
                subject=f"PCIe errors of {_name(topology, device.address)}",
                found="; ".join(found),
                meaning="transfers failed" if lost else
                "corrected packets were sent again; the bits of Device Status may be old: they "
                "stay set until they are cleared",
                remedy="dmesg | grep -i aer names them; reseat the card where they grow",
            )  # fmt: skip


def _on_paths(topology: Topology) -> set[str]:
    """Return the addresses of functions that matter and of the ports above them."""
    tree = Tree(topology.pci)
    mattering = [pci.address for pci in topology.pci if _matters(topology, pci.address)]
    ports = (bridge.address for address in mattering for bridge in tree.bridges(address))
    return {*mattering, *ports}


def _ordering(topology: Topology, _files: Files) -> Iterator[Finding]:
    yield from _set(
        topology,
        [device.address for device in topology.pci if device.relaxed_ordering is False],
        "relaxed ordering",
        "off at",
        "their writes wait for each other on the way to memory; some CPUs lose bandwidth by that",
        "turn it on in firmware, or in the driver; setpci -s DEVICE CAP_EXP+8.w shows bit 4",
    )


def _aspm(topology: Topology, _files: Files) -> Iterator[Finding]:
    yield from _set(
        topology,
        [device.address for device in topology.pci if device.aspm not in (None, "none")],
        "PCIe ASPM",
        "links may sleep at",
        "the first transfers after a pause wait until the link is awake",
        "boot with pcie_aspm=off, or pcie_aspm.policy=performance",
    )


def _set(
    topology: Topology, addresses: list[str], subject: str, found: str, meaning: str, remedy: str
) -> Iterator[Finding]:
    """Yield a note on a setting of those functions that matter."""
    named = [_name(topology, address) for address in addresses if _matters(topology, address)]
    if named:
        yield Finding(
            severity="note",
            subject=subject,
            found=f"{found} {_some(named)}",
            meaning=meaning,
            remedy=remedy,
        )


def _acs(topology: Topology, _files: Files) -> Iterator[Finding]:
    """ACS on ports above two devices that would exchange data directly."""
    ports = [port.address for port in switch_ports(topology) if port.acs_redirect]
    if topology.gpus and ports:
        yield acs_redirects(ports)


def switch_ports(topology: Topology) -> list[PciDevice]:
    """Switches' downstream ports above GPUs, NVMe drives and RDMA devices, by address."""
    tree = Tree(topology.pci)
    talkers = [gpu.address for gpu in topology.gpus]
    talkers += [block.address or "" for block in topology.blocks if block.kind == "nvme"]
    talkers += [port.address or "" for port in topology.ports if port.rdma]
    ports = {
        bridge.address: bridge
        for address in talkers
        for bridge in tree.bridges(address)
        if any(map(tree.is_switch, tree.bridges(bridge.address)))
    }
    return [ports[address] for address in sorted(ports)]


def acs_redirects(ports: list[str]) -> Finding:
    """ACS that sends peer traffic of these ports up to the root complex."""
    return Finding(
        severity="problem",
        subject="PCIe ACS",
        found=f"redirects peer traffic at {_some(ports)}",
        meaning="GPU-to-drive and GPU-to-GPU traffic detours through the CPU",
        remedy="disable it in firmware, or as root: setpci -s PORT ECAP_ACS+0x6.w=0000",
    )


def _iommu(topology: Topology, _files: Files) -> Iterator[Finding]:
    types = sorted({device.iommu_type for device in topology.pci if device.iommu_type})
    if not topology.gpus or not types:
        return
    translated = [name for name in types if name.startswith("DMA")]
    if translated and "Grace" not in topology.cpu_model and "Neoverse" not in topology.cpu_model:
        yield Finding(
            severity="problem",
            subject="IOMMU",
            found=f"translates DMA ({', '.join(translated)})",
            meaning="peer traffic goes through the root complex; GPUDirect Storage may fail",
            remedy="boot with iommu=pt, or turn the IOMMU off in firmware",
        )
    else:
        yield Finding(severity="good", subject="IOMMU", found=", ".join(types))


def _drives_across(topology: Topology, _files: Files) -> Iterator[Finding]:
    far = [
        entry.gpu
        for entry in advice(topology)
        if entry.nvme is not None and str(entry.nvme.level) == "SYS"
    ]
    if far:
        yield Finding(
            severity="note",
            subject="drives and GPUs",
            found=f"{_some(far)} have no NVMe drive on their own NUMA node",
            meaning="what they read crosses the interconnect between packages",
            remedy="move a drive to a slot of that package, or use the GPUs that have one",
        )


def _arrays_across(topology: Topology, _files: Files) -> Iterator[Finding]:
    for name, switches in array_switches(topology).items():
        if len(switches) > 1:
            parts = [f"{', '.join(drives)} below {top}" for top, drives in switches.items()]
            yield Finding(
                severity="note",
                subject=f"array {name}",
                found=f"members are on {len(switches)} switches or ports: {'; '.join(parts)}",
                meaning="a GPU is near only some of its members",
                remedy="for one GPU's data, make an array of the drives on its own switch",
            )


def _dax(topology: Topology, _files: Files) -> Iterator[Finding]:
    for device in topology.dax:
        if device.mode != "system-ram" and not device.parent.startswith("ndbus"):
            yield Finding(
                severity="note",
                subject=f"{device.name} of {device.parent or 'unknown origin'}",
                found=f"{device.size_bytes >> 20} MiB in {device.mode} mode, on no node",
                meaning="nothing can be placed on it by NUMA policy",
                remedy=f"as root: daxctl reconfigure-device --mode=system-ram {device.name}",
            )
    in_use = {name for region in topology.cxl_regions for name in region.memories}
    in_use |= {name for node in topology.nodes for name in node.backed_by}
    for memory in topology.cxl_memories:
        has_region = bool(topology.cxl_regions) or memory.name in in_use
        if memory.ram_bytes and memory.name not in in_use and not has_region:
            yield Finding(
                severity="note",
                subject=f"CXL memory {memory.name}",
                found=f"{memory.ram_bytes >> 20} MiB that no region uses",
                meaning="it belongs to no node",
                remedy=f"as root: cxl create-region -t ram -m {memory.name}",
            )


def _tiers(topology: Topology, _files: Files) -> Iterator[Finding]:
    with_memory = [node for node in topology.nodes if node.total_bytes]
    tiers = {node.tier for node in with_memory if node.tier is not None}
    kinds = {node.kind for node in with_memory}
    several = len(kinds - {NodeKind.UNKNOWN}) > 1 or any(not node.cpus for node in with_memory)
    if several and len(tiers) == 1:
        yield Finding(
            severity="problem",
            subject="memory tiers",
            found=f"all nodes are in tier {tiers.pop()}, though their kinds differ",
            meaning="the kernel will neither demote nor promote between them",
            remedy="firmware has to describe them in HMAT; check dmesg for hmat and CDAT errors",
        )
    elif len(tiers) > 1:
        by_tier = "; ".join(
            f"tier {tier}: node {', '.join(str(n.number) for n in with_memory if n.tier == tier)}"
            for tier in sorted(tiers)
        )
        yield Finding(severity="good", subject="memory tiers", found=by_tier)


def _bandwidth_limits(topology: Topology, _files: Files) -> Iterator[Finding]:
    for line in unused_statements(topology):
        yield Finding(severity="note", subject="stated memory", found=line)
    for node in topology.nodes:
        limit, _ = memory_limit(topology, node, [])
        if limit and limit.stated:
            found = f"{limit.link} ({limit.value / 1e9:.1f} GB/s)"
            yield _stated("stated memory", found, "--memory")
    if topology.stated_socket_link:
        limit = socket_link_limit(topology.stated_socket_link)
        found = f"{limit.link} ({limit.value / 1e9:.1f} GB/s each way)"
        yield _stated("stated socket links", found, "--socket-link")
    unknown = [
        (node, why)
        for node in topology.nodes
        if node.kind is NodeKind.DRAM and (why := memory_limit(topology, node, [])[1])
    ]
    if unknown and not topology.emulated:
        numbers = format_ranges(tuple(node.number for node, _ in unknown))
        yield Finding(
            severity="note",
            subject="bandwidth limit of memory",
            found=f"not known of node {numbers}: {unknown[0][1]}",
            meaning="figures of memory are not compared with what its modules allow",
            remedy="state what each node has, if you know: tierscope topo --memory 8xDDR5-4800",
        )


def _stated(subject: str, found: str, option: str) -> Finding:
    return Finding(
        severity="note",
        subject=subject,
        found=found,
        meaning="limits rest on what the user states; the system reports nothing",
        remedy=f"'tierscope topo {option} none' forgets it",
    )


def _peer_to_peer(topology: Topology, files: Files) -> Iterator[Finding]:
    drives = [block for block in topology.blocks if block.kind == "nvme"]
    nvidia = [
        device
        for device in topology.pci
        if device.vendor == 0x10DE and is_gpu(device.class_code, device.vendor)
    ]
    if not nvidia or not drives:
        return
    if version := nvidia_fs(files):
        yield Finding(severity="good", subject="GPUDirect Storage", found=f"nvidia-fs {version}")
    elif any(files.exists(f"/sys/bus/pci/devices/{gpu.address}/p2pmem") for gpu in nvidia):
        yield Finding(
            severity="note",
            subject="GPUDirect Storage",
            found="no nvidia-fs; a GPU offers kernel P2PDMA",
            meaning="cuFile may use P2PDMA where its configuration allows it",
            remedy='set "use_pci_p2pdma": true in /etc/cufile.json (CUDA 12.8 or newer)',
        )
    else:
        yield Finding(
            severity="note",
            subject="GPUDirect Storage",
            found="neither nvidia-fs nor P2PDMA",
            meaning="reads into a GPU go through the CPU's memory",
            remedy="install nvidia-fs (modprobe nvidia-fs), or CUDA 12.8, an open GPU kernel "
            "module and Linux 6.2 or newer for P2PDMA",
        )


def nvidia_fs(files: Files) -> str:
    """Version of the kernel module nvidia-fs; empty where it is not loaded."""
    text = files.text("/proc/driver/nvidia-fs/version") or files.text(
        "/sys/module/nvidia_fs/version"
    )
    if text is None:
        return "unknown version" if files.exists("/sys/module/nvidia_fs") else ""
    return text.removeprefix("version:").strip() or "unknown version"


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return shown if len(names) <= _NAMED else f"{shown} and {len(names) - _NAMED} more"

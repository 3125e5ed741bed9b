"""A machine, its links and paths, as text and as JSON."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tierscope.machine.affinity import Tree, advice, devices, matrix
from tierscope.machine.assignment import assign
from tierscope.machine.firmware import firmware_rows
from tierscope.machine.links import pcie_name, pcie_payload, socket_link_limit
from tierscope.machine.memory import memory_limit, unused_statements
from tierscope.machine.pcie import pcie_hop
from tierscope.machine.uplinks import by_top_switch, io_devices, possible_arrays
from tierscope.model.affinity import (
    LEGEND,
    Advice,
    Assignment,
    Device,
    IoDevice,
    Level,
    Nearest,
    Stream,
    Uplink,
)
from tierscope.model.endpoint import format_ranges
from tierscope.model.errors import counted
from tierscope.model.path import Hop, Path
from tierscope.model.persistent import Namespace
from tierscope.model.topology import Package, PciDevice, Topology, emulated_parts
from tierscope.report.figures import size_text
from tierscope.report.style import SafeTable, new_grid, new_table, note, title
from tierscope.report.topology_outline import (
    Item,
    limit_text,
    memory_words,
    outline,
    rate_text,
    side_cache_words,
)

_STORAGE, _NETWORK, _DISPLAY, _BRIDGE, _ACCELERATOR = 0x01, 0x02, 0x03, 0x06, 0x12
_NAMES = {  # PCI Code and ID Assignment Specification: base classes
    _STORAGE: "storage controller",
    _NETWORK: "network controller",
    _DISPLAY: "display controller",
    _ACCELERATOR: "accelerator",
}
_NUMBERS_WIDTH = 20
"""Columns that a list of CPUs takes before it folds."""
_HEADS = {"gpu": "GPU", "drive": "drive", "nic": "NIC"}
_STYLES = {
    "group": "bold",
    "gpu": "bold green",
    "nvswitch": "green",
    "drive": "magenta",
    "port": "blue",
    "cxl": "yellow",
    "node": "cyan",
}
_LEVEL_STYLES = {
    Level.SELF: "dim",
    Level.NVLINK: "bold green",
    Level.PIX: "green",
    Level.PXB: "cyan",
    Level.PHB: "yellow",
    Level.NODE: "yellow",
    Level.SYS: "red",
    Level.UNKNOWN: "dim",
}


def left_out_line(topology: Topology, items: Sequence[Item]) -> str:
    """Count the functions that hold no drive, port, GPU or memory; empty where there is none."""
    shown = {item.address for item in _all(items)}
    counts = Counter(
        _NAMES.get(device.class_code >> 8, "other function")
        for device in topology.pci
        if not device.bridge and device.class_code >> 8 != _BRIDGE and device.address not in shown
    )
    names = [*_NAMES.values(), "other function"]
    words = [counted(counts[name], name) for name in names if counts[name]]
    if not words:
        return ""
    return (
        f"PCI functions not in the tree: {', '.join(words)}; no drive, port, GPU or CXL memory is "
        "known on them (--json has all)"
    )


def _all(items: Sequence[Item]) -> Iterator[Item]:
    for item in items:
        yield item
        yield from _all(item.children)


def show_packages(console: Console, topology: Topology) -> None:
    """Cores and caches of each package."""
    title(console, "Cores and caches")
    kinds = sorted({(cache.level, cache.type) for cache in topology.caches})
    letters = {"data": "d", "instruction": "i"}
    caches = (f"L{level}{letters.get(kind, '')}" for level, kind in kinds)
    table = new_table("package", "cores", "CPUs", "CPU numbers", *caches, words=("CPU numbers",))
    table.columns[3].max_width = _NUMBERS_WIDTH
    for package in topology.packages:
        table.add_row(
            str(package.number),
            str(package.cores),
            str(len(package.cpus)),
            _numbers(package.cpus),
            *(_caches(topology, package, level, kind) for level, kind in kinds),
        )
    console.print(table)
    if not kinds:
        note(console, "caches unknown: the source names none")


def _numbers(cpus: list[int]) -> str:
    """``0-3, 8``, which folds at spaces; ``0-76 by 4`` of every fourth CPU."""
    steps = {after - before for before, after in pairwise(cpus)}
    if len(cpus) > 2 and len(steps) == 1 and steps != {1}:
        return f"{cpus[0]}-{cpus[-1]} by {steps.pop()}"
    return format_ranges(tuple(cpus)).replace(",", ", ") or "none"


def _caches(topology: Topology, package: Package, level: int, kind: str) -> str:
    """``20 x 1 MiB``, each size once."""
    counts = Counter(
        cache.size_bytes
        for cache in topology.caches
        if (cache.level, cache.type) == (level, kind) and set(cache.cpus) & set(package.cpus)
    )
    return ", ".join(f"{count} x {size_text(size)}" for size, count in counts.items()) or "-"


def show_nodes(console: Console, topology: Topology) -> None:
    """What each node's memory is, and its limit."""
    title(console, "NUMA nodes")
    cached = any(node.memory_side_caches for node in topology.nodes)
    columns = ["node", "kind", "CPUs", "total", "free", "tier", "limit", "kind known from"]
    if cached:
        columns.insert(4, "cache")
    table = new_table(*columns, words=("kind", "CPUs", "kind known from"))
    table.columns[2].max_width = _NUMBERS_WIDTH
    for node in topology.nodes:
        limit, _ = memory_limit(topology, node, [])
        cells = {
            "node": str(node.number),
            "kind": str(node.kind),
            "CPUs": _numbers(node.cpus),
            "total": size_text(node.total_bytes) if node.total_bytes else "-",
            "cache": "+".join(size_text(c.size_bytes) for c in node.memory_side_caches) or "-",
            "free": size_text(node.free_bytes) if node.free_bytes is not None else "-",
            "tier": str(node.tier) if node.tier is not None else "-",
            "limit": limit_text(limit) if limit else "-",
            "kind known from": node.inferred_from,
        }
        table.add_row(*(cells[name] for name in columns))
    console.print(table)
    notes = {note_ for node in topology.nodes if (note_ := memory_limit(topology, node, [])[1])}
    for line in sorted(notes):
        note(console, f"limit unknown: {line}")
    for line in _stated_lines(topology):
        note(console, line)
    for line in _side_cache_lines(topology):
        note(console, line)


def _stated_lines(topology: Topology) -> list[str]:
    """Limits that come from what the user states, and statements that are not used."""
    limits = [limit for node in topology.nodes if (limit := memory_limit(topology, node, [])[0])]
    if topology.stated_socket_link:
        limits.append(socket_link_limit(topology.stated_socket_link))
    used = [f"{one.link}: {one.formula}, {one.source}" for one in limits if one.stated]
    return [*used, *unused_statements(topology)]


def _side_cache_lines(topology: Topology) -> list[str]:
    """What the memory-side caches are, nodes with the same ones together."""
    alike: dict[str, list[int]] = {}
    for node in topology.nodes:
        if node.memory_side_caches:
            words = "; ".join(side_cache_words(cache) for cache in node.memory_side_caches)
            alike.setdefault(words, []).append(node.number)
    lines = [
        f"memory-side cache of node{'s' * (len(numbers) > 1)} {format_ranges(tuple(numbers))}: "
        f"{words}"
        for words, numbers in alike.items()
    ]
    if lines:
        lines.append("the limit of such a node is its cache's; what misses the cache is slower")
    return lines


def show_distances(console: Console, topology: Topology) -> None:
    """The SLIT: distances as firmware gives them, 10 within a node."""
    nodes = [node for node in topology.nodes if node.distances]
    if len(topology.nodes) < 2:
        return
    title(console, "NUMA distances (SLIT): from the row's node to the column's")
    if not nodes:
        note(console, "none: the source has no distances")
        return
    targets = sorted({number for node in nodes for number in node.distances})
    cells = {(n.number, to): str(distance) for n in nodes for to, distance in n.distances.items()}
    first = 4
    longest = max(len(text) for text in [*cells.values(), *map(str, targets)])
    width = longest + (2 if first + len(targets) * (longest + 2) <= console.width else 1)
    parts = column_parts(targets, [width] * len(targets), console.width - first)
    for part in parts:
        if part is not parts[0]:
            console.print()
        head = "node" + "".join(str(to).rjust(width) for to in part)
        console.print(Text(head, style="bold"), no_wrap=True)
        for node in nodes:
            line = Text(str(node.number).rjust(first), style="bold")
            for to in part:
                line.append(cells.get((node.number, to), "-").rjust(width), style="none")
            console.print(line, no_wrap=True)


def column_parts(wanted: list[int], widths: list[int], room: int) -> list[list[int]]:
    """Columns in as many parts as the screen's width takes."""
    parts: list[list[int]] = [[]]
    used = 0
    for index, width in zip(wanted, widths, strict=True):
        if used + width > room and parts[-1]:
            parts.append([])
            used = 0
        parts[-1].append(index)
        used += width
    return parts


def show_pcie(console: Console, topology: Topology) -> None:
    """Slots, packet sizes, and limits each way and both ways, where any of the first is known."""
    rows = _devices(topology)
    if not any(device.slot or device.max_payload or device.max_read_request for _, device in rows):
        return
    title(console, "PCIe devices: slots, packets, and limits in GB/s")
    tree = Tree(topology.pci)
    words = ("device", "slot", "link")
    numbers = ("MaxPayload", "MaxReadReq", "each way", "both ways", "data each way")
    table = new_table(*words, *numbers, words=words)
    for name, device in rows:
        cxl = any(card.address == device.address for card in topology.cxl_memories)
        hop = pcie_hop(tree, device, name, cxl=cxl)
        rate = hop.limit.value if hop.limit else None
        data = None
        if device.link is not None and device.max_payload and rate is not None and not cxl:
            data = pcie_payload(device.link, device.max_payload)
        table.add_row(
            name,
            device.slot or "-",
            pcie_name(device.link).removeprefix("PCIe ") if device.link else "-",
            _payload(device),
            _bytes(device.max_read_request),
            *(_rate(value) for value in (rate, rate and 2 * rate, data)),
        )
    console.print(table)
    note(
        console,
        "Each direction has wires of its own. Data each way: what packet headers leave at "
        "MaxPayload, as the link runs now",
    )


def show_pcie_state(console: Console, topology: Topology) -> None:
    """Power, ordering, sleep and errors of each device's link, where any of it is known."""
    rows = [
        (name, device)
        for name, device in _devices(topology)
        if device.aspm is not None or device.errors
    ]
    if not rows:
        return
    title(console, "PCIe devices: slot power, ordering, sleep, errors")
    words = ("device", "relaxed ordering", "ASPM", "Device Status")
    counts = ("correctable", "non-fatal", "fatal")
    table = new_table("device", "slot power, W", *words[1:], *counts, words=words)
    for name, device in rows:
        known = device.aspm is not None
        ordering = {True: "on", False: "off", None: "-"}[device.relaxed_ordering]
        table.add_row(
            name,
            "-" if device.slot_power_w is None else f"{device.slot_power_w:g}",
            ordering,
            device.aspm or "-",
            (", ".join(device.error_bits) or "no error") if known else "-",
            *(_bytes(device.errors.get(kind)) for kind in counts),
        )
    console.print(table)
    note(console, "Errors by kind: as the kernel counted them since it started (AER)")


def _devices(topology: Topology) -> list[tuple[str, PciDevice]]:
    """GPUs, drives and NICs, then CXL memory, each address once."""
    named = [(device.name, device.address) for device in io_devices(topology)]
    named += [(card.name, card.address or "") for card in topology.cxl_memories]
    known = {device.address: device for device in topology.pci}
    found: dict[str, tuple[list[str], PciDevice]] = {}
    for name, address in named:
        if address in known:
            found.setdefault(address, ([], known[address]))[0].append(name)
    return [(" ".join(names), device) for names, device in found.values()]


def _payload(device: PciDevice) -> str:
    """``256 of 512``: what is negotiated of what the device supports."""
    if device.max_payload is None:
        return "-"
    able = device.max_payload_able
    return f"{device.max_payload}" + (f" of {able}" if able and able > device.max_payload else "")


def _bytes(value: int | None) -> str:
    return "-" if value is None else str(value)


def _rate(value: float | None) -> str:
    return "-" if value is None else f"{value / 1e9:.2f}"


def _table_of_words(*headings: str) -> SafeTable:
    return new_table(*headings, words=headings)


def show_firmware(console: Console, topology: Topology) -> None:
    """Models and versions of firmware, for papers and bug reports."""
    rows = list(firmware_rows(topology))
    if not rows and not topology.gpu_driver:
        return
    title(console, "Models and firmware")
    table = _table_of_words("part", "model", "firmware")
    for row in rows:
        table.add_row(*row)
    if topology.gpu_driver:
        table.add_row("NVIDIA's driver", "", topology.gpu_driver)
    console.print(table)
    for gpu in topology.gpus:
        if gpu.uuid:
            note(console, f"gpu:{gpu.index} is {gpu.uuid}")


def show_io(console: Console, topology: Topology) -> None:
    """Each GPU, drive and NIC with its link and uplinks, then those below one switch."""
    devices = io_devices(topology)
    title(console, "GPUs, drives and NICs")
    if not devices:
        note(console, "none with a PCI address is known")
        return
    named = ["what"] if any(device.product for device in devices) else []
    words = ("device", *named, "PCI", "link", "uplinks from the CPU on")
    table = new_table(*words[:-1], "limit", "node", words[-1], words=words)
    short = _shortening(devices)
    for device in devices:
        table.add_row(
            device.name,
            *([device.product] if named else []),
            short(device.address),
            device.link.removeprefix("PCIe ") or "-",
            rate_text(device.limit) if device.limit else "-",
            "?" if device.node is None else str(device.node),
            " > ".join(short(link.name) for link in _switches(device)) or "-",
        )
    console.print(table)
    show_shared_switches(console, devices)
    show_possible_arrays(console, topology)


def _shortening(devices: Sequence[IoDevice]) -> Callable[[str], str]:
    """Leave out the domain of addresses where all have the same, as lspci does."""
    domains = {device.address.partition(":")[0] for device in devices}
    prefix = f"{domains.pop()}:" if len(domains) == 1 else ""
    return lambda address: address.removeprefix(prefix)


def _switches(device: IoDevice) -> list[Uplink]:
    """Return the uplinks inside its package, from the CPU down."""
    return [link for link in reversed(device.uplinks) if link.role != "interconnect"]


def show_shared_switches(console: Console, devices: Sequence[IoDevice]) -> None:
    """Groups of devices below one switch, with their PCI buses; nothing where there are none."""
    groups = {
        name: members
        for name, members in by_top_switch(devices).items()
        if len({device.kind for device in members}) > 1
    }
    if not groups:
        return
    title(console, "Devices below one switch, whose data need not pass the CPU")
    kinds = [kind for kind in _HEADS if any(d.kind == kind for m in groups.values() for d in m)]
    heads = [name for kind in kinds for name in (_HEADS[kind], f"{_HEADS[kind]} PCIe")]
    table = _table_of_words("switch", *heads)
    for name, members in groups.items():
        cells = [name]
        for kind in kinds:
            some = [device for device in members if device.kind == kind]
            cells += [_names(some), ", ".join(_bus(device.address) for device in some)]
        table.add_row(*(cell or "-" for cell in cells))
    console.print(table)


def show_possible_arrays(console: Console, topology: Topology) -> None:
    """Arrays whose data has one way to the GPUs beside it; nothing where none is possible."""
    found = possible_arrays(topology)
    if not found:
        return
    title(console, "Possible arrays: unused drives below one switch with GPUs")
    table = _table_of_words("for", "made by")
    for drives, gpus in found:
        files = " ".join(f"/dev/{drive}" for drive in drives)
        table.add_row(
            ", ".join(gpus),
            f"mdadm --create /dev/md/NAME --level=0 --raid-devices={len(drives)} {files}",
        )
    console.print(table)
    note(
        console,
        "Unused: no partition, mount or other device is on them. mdadm overwrites what else they "
        "hold: look first, as in wipefs --no-act DEVICE",
    )


def _names(devices: Sequence[IoDevice]) -> str:
    return ", ".join(device.name.removeprefix("gpu:") for device in devices)


def _bus(address: str) -> str:
    """Return the bus as NVIDIA's tables have it, with what tells functions of one bus apart."""
    _, bus, function = address.rsplit(":", 2)
    return f"0x{bus}" + ("" if function == "00.0" else f":{function}")


def show_assignment(console: Console, topology: Topology) -> None:
    """A drive and a NIC for each GPU, and what their streams share."""
    title(console, "A drive and a NIC for each GPU")
    if not topology.gpus:
        note(console, "this machine has no GPU that could be assigned one")
        return
    found = assign(topology)
    if not found.drives and not found.nics:
        note(console, "no GPU, or no drive and NIC, has a PCI address that is known")
        return
    drives = {stream.gpu: stream for stream in found.drives}
    nics = {stream.gpu: stream for stream in found.nics}
    table = _table_of_words("GPU", "drive", "NIC", "uplinks that their data crosses")
    given = [f"gpu:{gpu.index}" for gpu in topology.gpus if _has(gpu.index, found)]
    for gpu in given:
        own = [stream for stream in (drives.get(gpu), nics.get(gpu)) if stream is not None]
        links = dict.fromkeys(name for stream in own for name in stream.uplinks)
        table.add_row(gpu, _cell(drives.get(gpu)), _cell(nics.get(gpu)), ", ".join(links) or "none")
    console.print(table)
    for line in assignment_lines(topology, found):
        note(console, f"{line[0].upper()}{line[1:]}", style="")
    note(console, LEGEND)


def _has(index: int, found: Assignment) -> bool:
    return any(stream.gpu == f"gpu:{index}" for stream in (*found.drives, *found.nics))


def _cell(stream: Stream | None) -> str:
    return "-" if stream is None else f"{stream.device} ({stream.affinity})"


def assignment_lines(topology: Topology, found: Assignment) -> list[str]:
    """Say which uplinks are shared by whom, and who is left without."""
    lines = [f"{link} is shared by {_told(streams)}." for link, streams in found.shared.items()]
    if not found.shared:
        lines.append("No uplink is shared.")
    without = [f"gpu:{gpu.index}" for gpu in topology.gpus if not _has(gpu.index, found)]
    if without:
        lines.append(
            f"Without a drive or NIC of their own, since there are too few: {', '.join(without)}."
        )
    if found.left_out:
        lines.append(f"Not assigned: {'; '.join(found.left_out)}.")
    if not found.proven:
        lines.append("There may be a better assignment: the search stopped at its limit of steps.")
    return lines


def _told(streams: Iterable[Stream]) -> str:
    return ", ".join(f"{stream.gpu} with {stream.device}" for stream in streams)


def show_machine(console: Console, topology: Topology, *, nvlink: bool) -> None:
    """The whole machine: tree, nodes, matrix, pairing."""
    _show_head(console, topology)
    _show_tree(console, topology)
    show_packages(console, topology)
    show_nodes(console, topology)
    show_distances(console, topology)
    _show_matrix(console, topology, nvlink=nvlink)
    _show_advice(console, advice(topology))
    show_shared_switches(console, io_devices(topology))
    show_possible_arrays(console, topology)
    show_pcie(console, topology)
    show_pcie_state(console, topology)
    show_firmware(console, topology)
    if topology.unreadable:
        title(console, "Left out, or not readable")
        for line in topology.unreadable:
            note(console, line)


def _show_head(console: Console, topology: Topology) -> None:
    console.print(Text(topology.host, style="bold").append(f"  {topology.product}", style="none"))
    cores = sum(package.cores for package in topology.packages)
    here = topology.source == "this machine"
    usable = len(topology.cpus)
    allowed = f", {f'this process may use {usable}' if here else f'{usable} of them allowed'}"
    total = sum(len(package.cpus) for package in topology.packages)
    cpus = counted(total, "CPU") + (allowed if len(topology.cpus) != total else "")
    model = topology.cpu_model or "unnamed CPU"
    words = [
        f"{len(topology.packages)} x {model}",
        f"{counted(cores, 'core')}, {cpus}",
        memory_words(topology),
    ]
    unseen = f"{model}; packages, cores, CPUs and nodes are not visible"
    note(console, "; ".join(words) if topology.packages else unseen)
    if topology.emulated:
        parts = emulated_parts(topology.virtual)
        note(console, f"{parts} are emulated in software: no figure of this machine means anything")
    elif topology.virtual:
        note(console, f"a virtual machine ({topology.virtual}): what the host hides is not shown")


def _show_tree(console: Console, topology: Topology) -> None:
    title(console, "Tree, with each link's limit one way")
    table = new_grid()
    table.add_column(no_wrap=True, overflow="ellipsis")
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, justify="right")
    table.add_column(overflow="fold")
    items = outline(topology)
    for position, item in enumerate(items):
        _add_rows(table, item, "", last=position == len(items) - 1)
    console.print(table)
    for line in filter(None, (*_arrays(topology), left_out_line(topology, items))):
        note(console, line)


def _add_rows(table: Table, item: Item, indent: str, *, last: bool) -> None:
    branch = Text(indent + ("└─ " if last else "├─ "), style="dim")
    branch.append(item.name, style=_STYLES.get(item.kind, "none"))
    if item.address:
        branch.append(f" {item.address}", style="dim")
    if item.detail:
        branch.append(f"  {item.detail}", style="none")
    link, rate, remark = link_cells(item.hop)
    if item.remark:
        remark = Text(item.remark).append("; " if remark else "").append_text(remark)
    table.add_row(branch, link, rate, remark)
    for position, child in enumerate(item.children):
        inner = indent + ("   " if last else "│  ")
        _add_rows(table, child, inner, last=position == len(item.children) - 1)


def link_cells(hop: Hop | None) -> tuple[str, str, Text]:
    """Link as it runs, its limit in GB/s, and what is to be said of it."""
    if hop is None:
        return "", "", Text()
    rate = limit_text(hop.limit) if hop.limit is not None else ""
    link = pcie_name(hop.now) if hop.now is not None else ""
    if hop.shortfall:
        return link, rate, Text(hop.shortfall, style="yellow")
    best = ""
    if hop.now is not None and hop.best is not None and hop.now != hop.best:
        best = f"best {pcie_name(hop.best)}"
    return link, rate, Text(best, style="dim")


def _arrays(topology: Topology) -> list[str]:
    """What lies over several devices, or over none on the PCI bus."""
    lines: list[str] = []
    for region in topology.cxl_regions:
        node = f"node {region.node}" if region.node is not None else "no node"
        size, over = size_text(region.size_bytes), ", ".join(region.memories)
        lines.append(f"{region.name}: {region.mode} {size} over {over}, {node}")
    for device in topology.dax:
        use = "in use as system RAM" if device.mode == "system-ram" else "not system RAM"
        where = f", node {device.node}" if device.node is not None else ""
        size = size_text(device.size_bytes)
        lines.append(f"{device.name}: {size} from {device.parent or 'unknown'}{where}, {use}")
    lines += [_namespace(space) for space in topology.namespaces]
    for block in topology.blocks:
        places = [mount.path for mount in topology.mounts if mount.block == block.name]
        where = f", on {', '.join(places[:3])}" if places else ""
        if block.kind == "pmem":
            lines.append(
                f"{block.name}: persistent memory {size_text(block.size_bytes or 0)}{where}"
            )
        if block.kind == "md" or (block.kind == "dm" and block.members):
            level = f"{block.level} " if block.level else ""
            lines.append(f"{block.name}: {level}of {', '.join(block.members)}{where}")
    return lines


def _namespace(space: Namespace) -> str:
    parts = [f"{space.name}: {space.mode or 'no mode'} {size_text(space.size_bytes)}"]
    parts += [f"as {space.device}"] if space.device else ["no driver took it"]
    parts += [f"node {space.node}"] if space.node is not None else []
    parts += [f"{space.region}, persistence domain {space.persistence_domain or 'not stated'}"]
    if space.bad_blocks is not None:
        parts.append(counted(space.bad_blocks, "bad block"))
    return ", ".join(parts)


def _show_matrix(console: Console, topology: Topology, *, nvlink: bool) -> None:
    rows = devices(topology)
    if len(rows) < 2:
        return
    title(console, "Affinity" if nvlink else "Affinity over PCIe alone")
    pairs = matrix(topology, nvlink=nvlink)
    # GPUs and nodes are what people look things up for; without GPUs every column counts.
    wanted = [
        index for index, row in enumerate(rows) if row.kind in ("gpu", "node") or not topology.gpus
    ]
    first = max(len(row.name) for row in rows) + 1
    # gpu:12 heads its column as 12 below "gpu": 16 GPUs and their nodes fit 100 columns.
    heads = [_head(row) for row in rows]
    widths = [max(len(heads[index][1]), 4) + 1 for index in wanted]
    for part in column_parts(wanted, widths, console.width - first):
        for line in _matrix_head(part, heads, first):
            console.print(line, no_wrap=True)
        for row, name in zip(pairs, (row.name for row in rows), strict=True):
            line = Text(name.ljust(first), style="bold")
            for index in part:
                width = max(len(heads[index][1]), 4) + 1
                pair = row[index]
                line.append(str(pair).ljust(width), style=_LEVEL_STYLES[pair.level])
            console.print(line, no_wrap=True)
        console.print()
    note(console, LEGEND)


def _head(row: Device) -> tuple[str, str]:
    """Group and name of a column."""
    if row.kind in ("gpu", "node"):
        kind, _, number = row.name.partition(":")
        return kind, number
    return "", row.name


def _matrix_head(part: list[int], heads: list[tuple[str, str]], first: int) -> list[Text]:
    groups, names, before = " " * first, " " * first, ""
    for index in part:
        group, name = heads[index]
        width = max(len(name), 4) + 1
        groups += (group if group != before else "").ljust(width)
        names += name.ljust(width)
        before = group
    return [Text(line, style="bold") for line in (groups, names) if line.strip()]


def _show_advice(console: Console, found: list[Advice]) -> None:
    if not any(entry.nvme or entry.nics or entry.arrays for entry in found):
        return
    title(console, "Nearest to each GPU")
    table = _table_of_words("GPU", "NVMe", "arrays", "NICs")
    for entry in found:
        table.add_row(
            entry.gpu, *(_nearest(part) for part in (entry.nvme, entry.arrays, entry.nics))
        )
    console.print(table)


def _nearest(found: Nearest | None) -> str:
    if found is None:
        return "-"
    return f"{', '.join(found.names)} ({found.level})"


def show_path(console: Console, path: Path) -> None:
    """A path hop by hop, then its limit with formula and source."""
    console.print(Text(f"{path.initiator} to {path.target}", style="bold"))
    words = ("hop", "now", "best", "remark")
    table = new_table(*words[:-1], "limit", words[-1], words=words)
    for hop in path.hops:
        smallest = path.limit is not None and hop.limit == path.limit
        table.add_row(
            ("  " if hop.parallel else "") + hop.name,
            pcie_name(hop.now) if hop.now else "-",
            pcie_name(hop.best) if hop.best else "-",
            f"{hop.limit.value / 1e9:.2f} GB/s" if hop.limit else "unknown",
            hop.note or ("the smallest" if smallest else ""),
            style="bold" if smallest else None,
        )
    console.print(table)
    if path.limit is None:
        console.print(Padding(Text(f"limit unknown: {path.note}"), (0, 0, 0, 2)))
        return
    limit = path.limit
    turns = any(hop.half_duplex and hop.limit == limit for hop in path.hops)
    ways = "reads and writes together" if turns else "each way"
    if not turns and path.both_ways is not None:
        ways += f", {path.both_ways / 1e9:.2f} GB/s both ways at once"
    line = Text("limit ", style="bold").append(f"{limit.value / 1e9:.2f} GB/s {ways}: ")
    console.print(Padding(line.append(limit.link), (0, 0, 0, 2)))
    note(console, limit.formula)
    note(console, f"source: {limit.source}")
    if path.note:
        note(console, f"an upper bound, since not every hop is known: {path.note}")


def machine_json(topology: Topology) -> dict[str, object]:
    """The machine, every pair of devices, what to pair with each GPU, and what devices share."""
    return {
        "topology": topology.model_dump(mode="json"),
        "devices": [device.model_dump(mode="json") for device in devices(topology)],
        "affinity": [
            [pair.model_dump(mode="json") | {"label": str(pair)} for pair in row]
            for row in matrix(topology)
        ],
        "pcie_affinity": [[str(pair) for pair in row] for row in matrix(topology, nvlink=False)],
        "nearest": [entry.model_dump(mode="json") for entry in advice(topology)],
        "io_devices": [device.model_dump(mode="json") for device in io_devices(topology)],
        "assignment": assign(topology).model_dump(mode="json"),
        "possible_arrays": [
            {"drives": drives, "gpus": gpus} for drives, gpus in possible_arrays(topology)
        ],
    }

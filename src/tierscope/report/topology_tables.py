"""The topology on a terminal: tree, nodes, affinity matrix, what to pair, a path's hops."""

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tierscope.model.affinity import Advice, Affinity, Device, Level, Nearest
from tierscope.model.errors import counted
from tierscope.model.path import Hop, Path
from tierscope.model.persistent import Namespace
from tierscope.model.topology import Topology, emulated_parts
from tierscope.report.affinity_words import LEGEND
from tierscope.report.style import new_grid, new_table, note, title
from tierscope.report.topology_devices import show_firmware, show_pcie
from tierscope.report.topology_drives import show_shared_switches
from tierscope.report.topology_left_out import left_out_line
from tierscope.report.topology_nodes import column_parts, show_distances, show_nodes, show_packages
from tierscope.report.topology_outline import (
    Item,
    count_of,
    human_bytes,
    memory_words,
    outline,
    rate_text,
)
from tierscope.topology.affinity import advice, devices, matrix
from tierscope.topology.links import pcie_name
from tierscope.topology.uplinks import io_devices

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
    show_pcie(console, topology)
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
    cpus = count_of(total, "CPU") + (allowed if len(topology.cpus) != total else "")
    model = topology.cpu_model or "unnamed CPU"
    words = [
        f"{len(topology.packages)} x {model}",
        f"{count_of(cores, 'core')}, {cpus}",
        memory_words(topology),
    ]
    unseen = f"{model}; packages, cores, CPUs and nodes are not visible"
    note(console, "; ".join(words) if topology.packages else unseen)
    if topology.emulated:
        parts = emulated_parts(topology.virtual)
        note(console, f"{parts} are emulated in software: no figure of this machine means anything")
    elif topology.virtual:
        note(console, f"a virtual machine ({topology.virtual}): what the host hides is missing")


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
    rate = rate_text(hop.limit.value) if hop.limit is not None else ""
    link = pcie_name(hop.now) if hop.now is not None else ""
    remark = ""
    if hop.shortfall:
        return link, rate, Text(hop.shortfall, style="yellow")
    if hop.now is not None and hop.best is not None and hop.now != hop.best:
        remark = f"best {pcie_name(hop.best)}"
    return link, rate, Text(remark, style="dim")


def _arrays(topology: Topology) -> list[str]:
    """What lies over several devices, or over none on the PCI bus."""
    lines: list[str] = []
    for region in topology.cxl_regions:
        node = f"node {region.node}" if region.node is not None else "no node"
        size, over = human_bytes(region.size_bytes), ", ".join(region.memories)
        lines.append(f"{region.name}: {region.mode} {size} over {over}, {node}")
    for device in topology.dax:
        use = "in use as system RAM" if device.mode == "system-ram" else "not system RAM"
        where = f", node {device.node}" if device.node is not None else ""
        size = human_bytes(device.size_bytes)
        lines.append(f"{device.name}: {size} from {device.parent or 'unknown'}{where}, {use}")
    lines += [_namespace(space) for space in topology.namespaces]
    for block in topology.blocks:
        places = [mount.path for mount in topology.mounts if mount.block == block.name]
        where = f", on {', '.join(places[:3])}" if places else ""
        if block.kind == "pmem":
            lines.append(
                f"{block.name}: persistent memory {human_bytes(block.size_bytes or 0)}{where}"
            )
        if block.kind == "md" or (block.kind == "dm" and block.members):
            level = f"{block.level} " if block.level else ""
            lines.append(f"{block.name}: {level}of {', '.join(block.members)}{where}")
    return lines


def _namespace(space: Namespace) -> str:
    parts = [f"{space.name}: {space.mode or 'no mode'} {human_bytes(space.size_bytes)}"]
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
                line.append_text(_cell(row[index], max(len(heads[index][1]), 4) + 1))
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


def _cell(pair: Affinity, width: int) -> Text:
    return Text(str(pair).ljust(width), style=_LEVEL_STYLES[pair.level])


def _show_advice(console: Console, found: list[Advice]) -> None:
    if not any(entry.nvme or entry.nics or entry.arrays for entry in found):
        return
    title(console, "Nearest to each GPU")
    table = new_table()
    for name in ("GPU", "NVMe", "arrays", "NICs"):
        table.add_column(name, overflow="fold")
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
    table = new_table()
    for name in ("hop", "now", "best", "limit", "remark"):
        right = name == "limit"
        table.add_column(name, justify="right" if right else "left", overflow="fold")
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
    note(console, f"{limit.formula}")
    note(console, f"source: {limit.source}")
    if path.note:
        note(console, f"an upper bound, since not every hop is known: {path.note}")

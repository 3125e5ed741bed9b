"""GPUs, drives and NICs on a terminal: their links, what they share, and who is assigned whom."""

from collections.abc import Callable, Iterable, Sequence

from rich.console import Console
from rich.text import Text

from tierscope.model.affinity import Assignment, IoDevice, Stream, Uplink
from tierscope.model.topology import Topology
from tierscope.report.affinity_words import LEGEND
from tierscope.report.style import new_table, note, title
from tierscope.report.topology_outline import rate_text
from tierscope.topology.assignment import assign
from tierscope.topology.uplinks import by_top_switch, io_devices

_HEADS = {"gpu": "GPU", "drive": "drive", "nic": "NIC"}


def show_io(console: Console, topology: Topology) -> None:
    """Each GPU, drive and NIC with its link and uplinks, then those below one switch."""
    devices = io_devices(topology)
    title(console, "GPUs, drives and NICs")
    if not devices:
        note(console, "none with a PCI address is known")
        return
    table = new_table()
    named = any(device.product for device in devices)
    for name in ("device", *(["what"] if named else []), "PCI", "link", "limit", "node"):
        table.add_column(name, justify="right" if name in ("limit", "node") else "left",
                         no_wrap=name != "what")  # fmt: skip
    table.add_column("uplinks from the CPU on", overflow="fold")
    short = _shortening(devices)
    for device in devices:
        table.add_row(
            device.name,
            *([Text(device.product)] if named else []),
            short(device.address),
            device.link.removeprefix("PCIe ") or "-",
            rate_text(device.limit) if device.limit else "-",
            "?" if device.node is None else str(device.node),
            " > ".join(short(link.name) for link in _switches(device)) or "-",
        )
    console.print(table)
    show_shared_switches(console, devices)


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
    table = new_table()
    table.add_column("switch", no_wrap=True)
    kinds = [kind for kind in _HEADS if any(d.kind == kind for m in groups.values() for d in m)]
    for kind in kinds:
        table.add_column(_HEADS[kind], overflow="fold")
        table.add_column(f"{_HEADS[kind]} PCIe", overflow="fold")
    for name, members in groups.items():
        cells = [name]
        for kind in kinds:
            some = [device for device in members if device.kind == kind]
            cells += [_names(some), ", ".join(_bus(device.address) for device in some)]
        table.add_row(*(cell or "-" for cell in cells))
    console.print(table)


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
    table = new_table()
    for name in ("GPU", "drive", "NIC", "uplinks that their data crosses"):
        table.add_column(name, overflow="fold")
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
        lines.append("There may be a better assignment: the search was ended before its time.")
    return lines


def _told(streams: Iterable[Stream]) -> str:
    return ", ".join(f"{stream.gpu} with {stream.device}" for stream in streams)

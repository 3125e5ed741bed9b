"""One drive, from sysfs: model, queue settings, link, temperature."""

import re
from collections.abc import Iterator

from tierscope.machine.affinity import Tree
from tierscope.machine.files import Files
from tierscope.machine.pci import read_device
from tierscope.machine.pcie import best_link
from tierscope.machine.storage import stand_in
from tierscope.model.storage import DriveFacts, DriveKind, DriveState
from tierscope.model.topology import Block, PciDevice, PcieLink

_BLOCK = "/sys/class/block"
_QUEUE = (
    *("scheduler", "nr_requests", "max_sectors_kb", "read_ahead_kb", "nomerges", "rq_affinity"),
    *("io_poll", "wbt_lat_usec", "fua", "dax"),
)
"""Settings that change what a drive's figures mean: the kernel's Documentation/ABI/stable/
sysfs-block says what each does."""
_TRANSPORTS = (
    ("/virtio", "virtio"), ("/vbd-", "xen"), ("/VMBUS", "hyper-v"), ("/usb", "usb"),
    ("/ata", "sata"), ("/end_device-", "sas"), ("/rport-", "fc"), ("/session", "iscsi"),
    ("/mmc_host", "mmc"),
)  # fmt: skip
"""Part of a device's place in sysfs, and the transport that it tells."""
_HYPERVISORS = frozenset({"virtio", "xen", "hyper-v"})
_VIRTUAL_MODELS = (
    *("QEMU", "VMware", "VBOX", "Virtual Disk", "Virtual_Disk", "PersistentDisk", "nvme_card-pd"),
    "Amazon Elastic Block Store",
)
_KINDS: dict[str, DriveKind] = {"nvme": "nvme", "pmem": "pmem"}
_MILLI = 1000


def drive_facts(files: Files, block: Block) -> DriveFacts:
    """All of a drive that is known now, with its state."""
    directory = f"{_BLOCK}/{block.name}"
    device = f"{directory}/device"
    transport = _transport(files, block)
    named = f"{files.text(f'{device}/vendor') or ''} {block.product}"
    virtual = transport in _HYPERVISORS or any(part in named for part in _VIRTUAL_MODELS)
    kind = _kind(block, virtual)
    pci = read_device(files, block.address) if block.address else None
    node = pci.node if pci is not None else None
    if node is None:
        node = files.number(f"{device}/numa_node")
    return DriveFacts(
        name=block.name,
        kind=kind,
        model=block.product,
        serial=_serial(files, directory),
        firmware=block.firmware,
        transport=transport,
        server=block.server,
        interfaces=block.interfaces,
        size_bytes=block.size_bytes,
        rotational=_flag(files, f"{directory}/queue/rotational"),
        logical_block_bytes=files.number(f"{directory}/queue/logical_block_size"),
        physical_block_bytes=files.number(f"{directory}/queue/physical_block_size"),
        write_cache=files.text(f"{directory}/queue/write_cache") or "",
        queue=_queue(files, directory),
        node=node if node is not None and node >= 0 else None,
        address=block.address,
        link_best=_best(files, pci),
        warning_c=_celsius(files, block, "temp1_max"),
        backing_file=files.text(f"{directory}/loop/backing_file") or "",
        backing_direct=_flag(files, f"{directory}/loop/dio"),
        note=_note(block, kind),
        states=[drive_state(files, block)],
    )


def drive_state(files: Files, block: Block) -> DriveState:
    """Return the state of a drive, as it is now."""
    alarms = (_flag(files, f"{sensor}/temp1_alarm") for sensor in _sensors(files, block))
    return DriveState(
        temperature_c=_celsius(files, block, "temp1_input"),
        hot=next(alarms, None),
        link=read_device(files, block.address).link if block.address else None,
    )


def _kind(block: Block, virtual: bool) -> DriveKind:
    if (other_thing := stand_in(block.name)) is not None:
        return other_thing.kind
    if virtual:
        return "virtual"
    return _KINDS.get(block.kind, "disk")


def _note(block: Block, kind: DriveKind) -> str:
    other_thing = stand_in(block.name)
    if other_thing is not None:
        return other_thing.note
    return "virtual disk: the host may cache" if kind == "virtual" else ""


def _transport(files: Files, block: Block) -> str:
    told = files.text(f"{_BLOCK}/{block.name}/device/transport")
    if told or block.controller:
        return told or files.text(f"/sys/class/nvme/{block.controller}/transport") or ""
    place = files.target(f"{_BLOCK}/{block.name}")
    return next((name for part, name in _TRANSPORTS if part in place), "")


def _serial(files: Files, directory: str) -> str:
    told = _first(files, f"{directory}/device/serial", f"{directory}/serial")
    # SCSI's page of the unit serial number, after a header of four bytes (SPC-4, 7.8.16)
    page = b"" if told else files.data(f"{directory}/device/vpd_pg80", 256)[4:]
    return told or page.decode("ascii", "replace").strip(" \0")


def _queue(files: Files, directory: str) -> dict[str, str]:
    found = {name: files.text(f"{directory}/queue/{name}") for name in _QUEUE}
    settings = {name: text for name, text in found.items() if text}
    chosen = re.search(r"\[(.+?)\]", settings.get("scheduler", ""))
    return settings | ({"scheduler": chosen[1]} if chosen else {})


def _best(files: Files, device: PciDevice | None) -> PcieLink | None:
    if device is None:
        return None
    above = [read_device(files, device.parent)] if device.parent else []
    return best_link(Tree([*above, device]), device)


def _sensors(files: Files, block: Block) -> Iterator[str]:
    """Directories of a drive's sensors: of NVMe, or of drivetemp."""
    places = [f"{_BLOCK}/{block.name}/device"]
    if block.controller:
        places.append(f"/sys/class/nvme/{block.controller}")
    for place in [*places, *(f"{place}/device" for place in places)]:
        for name in files.names(place, "hwmon"):
            inner = files.names(f"{place}/{name}", "hwmon") if name == "hwmon" else []
            yield from (f"{place}/{name}/{entry}" for entry in inner)
            if name != "hwmon":
                yield f"{place}/{name}"


def _celsius(files: Files, block: Block, name: str) -> float | None:
    values = (files.number(f"{sensor}/{name}") for sensor in _sensors(files, block))
    milli = next((value for value in values if value is not None), None)
    return None if milli is None else milli / _MILLI


def _flag(files: Files, path: str) -> bool | None:
    value = files.number(path)
    return None if value is None else bool(value)


def _first(files: Files, *paths: str) -> str:
    return next((text for path in paths if (text := files.text(path))), "")

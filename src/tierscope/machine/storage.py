"""Block devices of this machine and what is mounted: /sys/class/block, /proc/self/mountinfo."""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from tierscope.machine.files import Files, unescape
from tierscope.machine.network import carriers, nfs_facts
from tierscope.model.storage import MountFacts
from tierscope.model.topology import Block, Mount

_BLOCK = "/sys/class/block"
_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_SECTOR = 512  # sysfs counts these whatever the drive's own size
_CONTROLLER = re.compile(r"nvme\d+")
_PSEUDO = frozenset(
    {"autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts"}
    | {"devtmpfs", "efivarfs", "fusectl", "mqueue", "proc", "pstore", "rpc_pipefs", "securityfs"}
    | {"sysfs", "tracefs"}
)

Kind = Literal["nvme", "disk", "md", "dm", "partition", "pmem", "virtual"]
_IN_MEMORY = "held in memory, not on a drive"


def read_blocks(files: Files) -> list[Block]:
    """Every block device of a size above zero; loop and RAM disks are left out."""
    blocks: list[Block] = []
    for name in files.names(_BLOCK):
        if re.fullmatch(r"(loop|ram|zram|sr|fd|nbd)\d+|nvme\d+c\d+n\d+", name):
            continue  # the last is one path of a multipath namespace, which has its own entry
        block = read_block(files, name)
        if block.size_bytes:
            blocks.append(block)
    return blocks


def blocks_below(files: Files, name: str) -> list[Block]:
    """A block device and all that its data lies on, from above to below; loops and RAM disks too.

    Its last ones without members are the drives.
    """
    found: dict[str, Block] = {}
    pending = [name]
    while pending:
        current = pending.pop(0)
        if current not in found:
            found[current] = read_block(files, current)
            pending.extend(found[current].members)
    return list(found.values())


def name_of_number(files: Files, number: str) -> str:
    """Return the kernel's name of the block device major:minor; empty where there is none."""
    return files.link_name(f"/sys/dev/block/{number}")


def read_block(files: Files, name: str) -> Block:
    """One block device by the kernel's name."""
    directory = f"{_BLOCK}/{name}"
    place = files.target(directory)
    addresses = [part for part in place.split("/") if _ADDRESS.fullmatch(part)]
    controllers = [part for part in place.split("/") if _CONTROLLER.fullmatch(part)]
    if "nvme-subsystem" in place and not addresses:
        # A multipath namespace hangs off its subsystem; its controllers are the subsystem's links.
        controllers = [
            entry
            for entry in files.names(place.rpartition("/")[0], "nvme")
            if _CONTROLLER.fullmatch(entry)
        ]
        devices = [files.target(f"/sys/class/nvme/{entry}").split("/") for entry in controllers]
        addresses = [part for path in devices for part in path if _ADDRESS.fullmatch(part)][-1:]
    members = files.names(f"{directory}/slaves")
    sectors = files.number(f"{directory}/size")
    servers = _servers(files, controllers)
    if files.exists(f"{directory}/partition"):
        members = [place.split("/")[-2]]
    return Block(
        name=name,
        kind=_kind(files, name, directory, place),
        size_bytes=sectors * _SECTOR if sectors else None,
        address=addresses[-1] if addresses else None,
        members=members,
        level=files.text(f"{directory}/md/level") or "",
        product=" ".join((files.text(f"{directory}/device/model") or "").split()),
        firmware=_firmware(files, f"{directory}/device"),
        controller=controllers[0] if controllers else "",
        server=servers[0] if servers else "",
        interfaces=list(dict.fromkeys(name for one in servers for name in carriers(files, one))),
        number=files.text(f"{directory}/dev") or "",
    )


def _firmware(files: Files, device: str) -> str:
    """Of NVMe, and of SCSI disks."""
    return files.text(f"{device}/firmware_rev") or files.text(f"{device}/rev") or ""


def _servers(files: Files, controllers: Sequence[str]) -> list[str]:
    """Addresses that NVMe controllers are connected to: traddr=10.0.0.1,trsvcid=4420,..."""
    found = [files.text(f"/sys/class/nvme/{name}/address") or "" for name in controllers]
    named = [word.removeprefix("traddr=") for text in found for word in text.split(",")
             if word.startswith("traddr=")]  # fmt: skip
    return list(dict.fromkeys(named))


def _kind(files: Files, name: str, directory: str, place: str) -> Kind:
    if files.exists(f"{directory}/partition"):
        return "partition"
    prefixes: list[tuple[str, Kind]] = [
        ("md", "md"),
        ("dm-", "dm"),
        ("pmem", "pmem"),
        ("nvme", "nvme"),
    ]
    for prefix, kind in prefixes:
        if name.startswith(prefix):
            return kind
    return "virtual" if "/virtual/" in place or "/virtio" in place else "disk"


class StandIn(NamedTuple):
    """A block device that is not a drive."""

    kind: Literal["memory", "loop", "none"]
    note: str
    """Remark for readers of its figures."""


_STAND_INS = {
    "ram": StandIn("memory", _IN_MEMORY),
    "zram": StandIn("memory", _IN_MEMORY),
    "loop": StandIn("loop", "a file as a device: what holds the file decides"),
    "nullb": StandIn("none", "null_blk: no drive; figures are of the kernel's own work"),
}


def stand_in(name: str) -> StandIn | None:
    """Return the kind of a block device that is not a drive, by its name; None for drives."""
    return _STAND_INS.get(name.rstrip("0123456789"))


def no_drive(file_system: str) -> str:
    """Why a file system of that type is on no drive of this machine."""
    if file_system in ("tmpfs", "ramfs", "devtmpfs"):
        return _IN_MEMORY
    if file_system == "overlay":
        return "an overlay, as in containers: the drive below it is not visible from inside"
    return "not on a drive of this machine"


def read_mounts(files: Files, blocks: Sequence[Block]) -> list[Mount]:
    """Return mounts, without the kernel's pseudo file systems."""
    by_number = {block.number: block.name for block in blocks}
    by_path = {f"/dev/{block.name}": block.name for block in blocks}
    mounts: list[Mount] = []
    for line in (files.text("/proc/self/mountinfo") or "").splitlines():
        before, _, after = line.partition(" - ")
        fields, source = before.split(), after.split()
        if len(fields) < 5 or len(source) < 2 or source[0] in _PSEUDO:
            continue
        # btrfs and its like mount under a number of their own, so the source names the device.
        block = by_number.get(fields[2]) or by_path.get(source[1])
        # Options of the file system follow its source; those of NFS have the server's address.
        options = ",".join(source[2:])
        facts = MountFacts(id=0, point="", type=source[0], source=source[1], options=options)
        nfs = nfs_facts(files, facts)
        mounts.append(
            Mount(
                path=unescape(fields[4]),
                type=source[0],
                block=block,
                dax=not {"dax", "dax=always"}.isdisjoint(options.split(",")),
                server=nfs.server if nfs else "",
                interfaces=nfs.ports if nfs else [],
            )
        )
    return mounts


def drives(name: str, blocks: Sequence[Block]) -> list[Block]:
    """The drives that a device's data lies on: itself, or those below its md, dm and partitions."""
    by_name = {block.name: block for block in blocks}
    found: dict[str, Block] = {}
    pending, seen = [name], set()
    while pending:
        current = pending.pop(0)
        block = by_name.get(current)
        if block is None or current in seen:
            continue
        seen.add(current)
        if block.members:
            pending.extend(block.members)
        else:
            found[current] = block
    return list(found.values())

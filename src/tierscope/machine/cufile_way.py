"""Which way cuFile would take between a file and a GPU, and what speaks for and against each.

File systems are those of the support matrix in NVIDIA's release notes of GPUDirect Storage 1.19.
Only a measurement shows the way that data took: `tierscope io --from gpu:0 --require gpudirect`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tierscope.machine.checks import nvidia_fs
from tierscope.machine.cufile_audit import Config
from tierscope.machine.storage_checks import (
    Machine,
    has_static_bar1,
    kernel_has_p2pdma,
    multipath,
)
from tierscope.model.cufile import Way
from tierscope.model.finding import Finding
from tierscope.model.storage import DriveFacts, MountFacts, StorageFacts

_LOCAL = ("ext4", "xfs")
_NFS = ("nfs", "nfs4")
_BY_NVFS = ("lustre", "beegfs", "scatefs", "panfs", "virtiofs")
"""Their clients hand GPU memory on to nvidia-fs."""
_BY_OWN_RDMA = ("wekafs", "gpfs", "mmfs")
"""Their clients do RDMA by themselves, from user space."""
_HOST_ONLY = ("zfs", "btrfs")
_IN_MEMORY = ("tmpfs", "ramfs", "overlay")
_UDEV = "/run/udev/data"
_ALLOW = "properties.allow_compat_mode"
_Answer = tuple[Literal["p2p", "nvfs", "compatibility", "refused", "unknown"], str]


@dataclass(frozen=True)
class Place:
    """A path, the machine it is on, and what cuFile is told there."""

    facts: StorageFacts
    machine: Machine
    config: Config

    @property
    def mount(self) -> MountFacts:
        """Source that the path is mounted from; empty where unknown."""
        empty = MountFacts(id=0, point="", type="", source="", options="")
        return self.facts.path.mount or empty

    @property
    def on_nvme(self) -> bool:
        """Whether all drives below are NVMe drives of this machine or of a fabric."""
        drives = self.facts.drives
        return bool(drives) and all(drive.kind == "nvme" for drive in drives)

    @property
    def local_device(self) -> bool:
        """Whether a block device is below."""
        return not self.facts.path.device.startswith("0:")


def place_findings(place: Place) -> list[Finding]:
    """Findings about the path's file system, its drives and udev's entry."""
    return [*_missing(place), *_file_system(place), *_udev(place)]


def way_of(place: Place) -> Way:
    """The way that data of a file at this place would take."""
    way, why = _way(place)
    if not any(gpu.address for gpu in place.machine.topology.gpus):
        why += " (and there is no GPU)"
    return Way(path=place.facts.path.path, way=way, why=why)


def _way(place: Place) -> _Answer:
    config, kind = place.config, place.mount.type
    if kind in _IN_MEMORY:
        return _fall_back(place, f"{kind} has no direct way, and cuFile before 1.16 refuses it")
    if _udev_missing(place):
        return "refused", f"udev's database does not know the volume {place.facts.path.device}"
    if config.effective("properties.force_compat_mode") is True:
        return "compatibility", "properties.force_compat_mode is true"
    if denied := _denied(place):
        return _fall_back(place, denied)
    if kind in _BY_OWN_RDMA:
        return "unknown", f"{kind} does RDMA by its own client; --require gpudirect tells"
    reasons = [*_against_p2p(place)]
    if not reasons:
        return "p2p", f"{_asked_by(place)} is true, and {kind}, drive, kernel and GPU go along"
    against = [*_against_nvfs(place)]
    if not against:
        return "nvfs", f"nvidia-fs is loaded and takes {kind}"
    # What PCI P2PDMA lacks is of interest only to those who asked for it.
    asked = [f"no P2PDMA: {reasons[0]}"] if _asked_by(place) else []
    return _fall_back(place, "; ".join([*asked, f"no nvidia-fs: {against[0]}"]))


def _fall_back(place: Place, why: str) -> _Answer:
    if place.config.effective(_ALLOW) is False:
        return "refused", f"{why}; allow_compat_mode is false"
    unset = place.config.given(_ALLOW) is None
    return "compatibility", f"{why}; allow_compat_mode is not set" if unset else why


def _denied(place: Place) -> str:
    """Return the entry of the deny list that holds for this place."""
    mount, facts = place.mount, place.facts
    devices = {
        name for block in facts.chain for name in (block, f"/dev/{block}") if place.local_device
    }
    drivers = {drive.kind for drive in facts.drives} | {
        f"nvme-{drive.transport}" for drive in facts.drives if _over_fabric(drive)
    }
    held = {
        "filesystems": {mount.type},
        "mounts": {mount.point},
        "devices": devices | {mount.source},
        "drivers": drivers,
    }
    for section, here in held.items():
        for entry in place.config.given(f"denylist.{section}") or []:
            plain = entry.rstrip("/") or "/" if section == "mounts" else entry
            if plain in here:
                return f"denylist.{section} names {entry}"
    return ""


def _over_fabric(drive: DriveFacts) -> bool:
    return drive.kind == "nvme" and drive.transport not in ("", "pcie")


def _keys_of_p2p(place: Place) -> list[str]:
    """Keys that ask for P2PDMA of this place: all storage's, the file system's, the drive's."""
    level, kind = place.facts.level, place.mount.type
    block = {"raid0": "raid", "raid1": "raid1", "raid10": "raid10"}.get(level, "nvme")
    if any(map(_over_fabric, place.facts.drives)):
        block = "nvmeof"
    file_system = "nfs" if kind in _NFS else kind
    return [
        "properties.use_pci_p2pdma",
        f"block.{block}.use_pci_p2pdma" if place.on_nvme else f"fs.{file_system}.use_pci_p2pdma",
    ]


def _asked_by(place: Place) -> str:
    """Return the key that asks for P2PDMA; empty where none does."""
    config = place.config
    asking = (name for name in _keys_of_p2p(place) if config.is_true(name))
    return next(asking, "")


def _against_p2p(place: Place) -> Iterator[str]:
    machine, kind = place.machine, place.mount.type
    if not _asked_by(place):
        yield "use_pci_p2pdma is not true"
    if kind == "virtiofs":
        return
    if kind not in _LOCAL:
        yield f"{kind or 'this file system'} is not supported"
    if not place.on_nvme:
        yield "the file is not on NVMe drives"
    if place.facts.level not in ("", "raid0", "raid1", "raid10"):
        yield f"an array of level {place.facts.level} is not supported"
    if not kernel_has_p2pdma(machine.topology.kernel):
        yield f"Linux {machine.topology.kernel} is older than 6.2"
    if multipath(machine.files):
        yield "NVMe multipath is on"
    if not has_static_bar1(machine):
        yield "no GPU has a static BAR1"
    if kind == "ext4" and not _ordered(place.mount):
        yield "ext4 is mounted without data=ordered"


def _against_nvfs(place: Place) -> Iterator[str]:
    kind = place.mount.type
    if not nvidia_fs(place.machine.files):
        yield "the module is not loaded"
    if kind in _LOCAL:
        if not place.on_nvme:
            yield "the file is not on NVMe drives"
        if kind == "ext4" and not _ordered(place.mount):
            yield "ext4 is mounted without data=ordered"
    elif kind in _NFS:
        if not _by_rdma(place.mount):
            yield "NFS is mounted without proto=rdma"
    elif kind not in _BY_NVFS:
        yield f"{kind or 'this file system'} is not supported"


def _ordered(mount: MountFacts) -> bool:
    return "data=ordered" in mount.options.split(",")


def _by_rdma(mount: MountFacts) -> bool:
    return bool({"proto=rdma", "rdma"} & set(mount.options.split(",")))


def _file_system(place: Place) -> Iterator[Finding]:
    lacks = [*_lacks(place)]
    mount, names = place.mount, ", ".join(drive.name for drive in place.facts.drives)
    subject = f"file system {mount.type or 'unknown'} at {mount.point or '?'}"
    for found, meaning, remedy in lacks:
        yield Finding(
            severity="problem", subject=subject, found=found, meaning=meaning, remedy=remedy
        )
    if not lacks:
        where = f", on {names}" if names else ""
        yield Finding(severity="good", subject=subject, found=f"supported{where}")


def _lacks(place: Place) -> Iterator[tuple[str, str, str]]:
    """Yield what a file system lacks for a direct way, what it means, and what to do."""
    mount, facts = place.mount, place.facts
    kind, names = mount.type, ", ".join(drive.name for drive in facts.drives)
    if kind in _LOCAL and not place.on_nvme:
        where = names or facts.note or "no drive that is known"
        meaning = "direct ways lead to NVMe drives only"
        yield f"on {where}", meaning, "use a file system on NVMe drives"
    if kind == "ext4" and not _ordered(mount):
        yield (
            "mounted without data=ordered",
            "cuFile takes ext4 directly only where the mount's options say so",
            "as root: mount with -o data=ordered; the root file system by rootflags=data=ordered",
        )
    if kind in _NFS and not _by_rdma(mount):
        yield (
            "mounted without RDMA",
            "data goes through host memory",
            "mount with -o proto=rdma,port=20049, where server and NICs have RDMA",
        )
    if kind not in (*_LOCAL, *_NFS, *_BY_NVFS, *_BY_OWN_RDMA):
        yield (
            "no direct way" if kind in (*_HOST_ONLY, *_IN_MEMORY) else "not known to cuFile",
            "data goes through host memory, where cuFile takes it at all",
            "use ext4 or xfs on NVMe drives",
        )


def _missing(place: Place) -> Iterator[Finding]:
    path = place.facts.path
    if path.kind == "missing" and place.machine.files.live:
        yield Finding(
            severity="note",
            subject=path.path,
            found="does not exist",
            meaning=f"what follows is about {path.real}, the nearest folder above",
        )


def _udev_missing(place: Place) -> bool:
    files = place.machine.files
    if not place.local_device or not (files.live or files.exists("/run")):
        return False  # A copy without /run says nothing about udev.
    entry = files.text(f"{_UDEV}/b{place.facts.path.device}") or ""
    return "ID_FS_USAGE=" not in entry


def _udev(place: Place) -> Iterator[Finding]:
    if not place.local_device:
        return
    device, files = place.facts.path.device, place.machine.files
    entry = f"{_UDEV}/b{device}"
    if not _udev_missing(place):
        if not files.exists(entry):
            return
        yield Finding(severity="good", subject="udev", found=f"{entry} knows the volume")
        return
    no_database = not files.names(_UDEV)
    kind = place.mount.type
    yield Finding(
        severity="problem",
        subject="udev",
        found=f"no database in {_UDEV}, as in containers"
        if no_database
        else f"{entry} has no ID_FS_USAGE",
        meaning="cuFile refuses every file of the volume (error 5027)",
        remedy=f"give the container -v /run/udev:/run/udev:ro; or as root: mkdir -p {_UDEV}; "
        f"printf 'I:1\\nE:ID_FS_USAGE=filesystem\\nE:ID_FS_TYPE={kind}\\n' > {entry}"
        if no_database
        else "as root: udevadm trigger --action=change --subsystem-match=block",
    )

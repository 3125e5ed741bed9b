"""CXL memory, DAX devices and namespaces of persistent memory, from /sys/bus/{cxl,dax,nd}."""

import re

from tierscope.machine.files import Files
from tierscope.model.persistent import Namespace
from tierscope.model.topology import CxlMemory, CxlRegion, Dax

_ND = "/sys/bus/nd/devices"
_MODES = {"memory": "fsdax", "dax": "devdax", "safe": "sector"}
"""ndctl's words for what the kernel writes; raw is the same in both."""
_HOLDER = re.compile(r"(?:pfn|dax|btt)\d+\.\d+")
_CXL = "/sys/bus/cxl/devices"
_DAX = "/sys/bus/dax/devices"
_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


def read_namespaces(files: Files) -> list[Namespace]:
    """Every namespace that has a size; regions keep an empty one for the next to be made."""
    found = []
    for name in files.names(_ND, "namespace"):
        directory = f"{_ND}/{name}"
        size = files.number(f"{directory}/size")
        if not size:
            continue
        region = _region(files.target(directory))
        region_directory = f"{_ND}/{region}"
        mode = files.text(f"{directory}/mode") or ""
        found.append(
            Namespace(
                name=name,
                mode=_MODES.get(mode, mode),
                size_bytes=size,
                device=_device(files, directory),
                region=region,
                persistence_domain=files.text(f"{region_directory}/persistence_domain") or "",
                bad_blocks=_bad_blocks(files, directory, region_directory),
                node=_node(files, directory, region_directory),
                uuid=files.text(f"{directory}/uuid") or "",
            )
        )
    return found


def _region(place: str) -> str:
    """region0 of /sys/devices/.../ndbus0/region0/namespace0.0."""
    return next((part for part in place.split("/") if re.fullmatch(r"region\d+", part)), "")


def _device(files: Files, directory: str) -> str:
    """The block device or device of DAX, below the namespace itself or below its holder."""
    holder = files.text(f"{directory}/holder") or ""
    places = [directory, *([f"{_ND}/{holder}"] if _HOLDER.fullmatch(holder) else [])]
    for place in places:
        names = [*files.names(f"{place}/block", "pmem"), *files.names(f"{place}/dax", "dax")]
        names += [name for name in files.names(place, "dax") if re.fullmatch(r"dax\d+\.\d+", name)]
        if names:
            return names[0]
    return ""


def _node(files: Files, *directories: str) -> int | None:
    """target_node, else numa_node, of the first that has one."""
    for name in ("target_node", "numa_node"):
        for directory in directories:
            node = files.number(f"{directory}/{name}")
            if node is not None and node >= 0:
                return node
    return None


def _bad_blocks(files: Files, directory: str, region: str) -> int | None:
    """Sum of the lengths in the kernel's list, "first length" on each line."""
    device = _device(files, directory)
    lists = (files.text(f"/sys/block/{device}/badblocks"), files.text(f"{region}/badblocks"))
    text = next((found for found in lists if found is not None), None)
    if text is None:
        return None
    lengths = (line.split()[1:] for line in text.splitlines())
    return sum(int(length[0]) for length in lengths if length and length[0].isdigit())


def read_cxl_memories(files: Files) -> list[CxlMemory]:
    """Every CXL memory device that its driver took."""
    memories: list[CxlMemory] = []
    for _, directory in files.numbered(_CXL, "mem"):
        place = files.target(directory).split("/")
        addresses = [part for part in place if _ADDRESS.fullmatch(part)]
        node = files.number(f"{directory}/numa_node")
        memories.append(
            CxlMemory(
                name=directory.rpartition("/")[2],
                address=addresses[-1] if addresses else None,
                ram_bytes=files.number(f"{directory}/ram/size") or 0,
                pmem_bytes=files.number(f"{directory}/pmem/size") or 0,
                node=node if node is not None and node >= 0 else None,
                serial=files.text(f"{directory}/serial") or "",
                firmware=files.text(f"{directory}/firmware_version") or "",
            )
        )
    return memories


def read_cxl_regions(files: Files, dax: list[Dax]) -> list[CxlRegion]:
    """Every CXL region with the memory devices behind it."""
    regions: list[CxlRegion] = []
    for _, directory in files.numbered(_CXL, "region"):
        name = directory.rpartition("/")[2]
        size = files.number(f"{directory}/size")
        if not size:
            continue  # a region that was created and never given a size
        ways = files.number(f"{directory}/interleave_ways") or 0
        decoders = [files.text(f"{directory}/target{index}") or "" for index in range(ways)]
        nodes = [device.node for device in dax if device.parent == name]
        regions.append(
            CxlRegion(
                name=name,
                mode=files.text(f"{directory}/mode") or "",
                size_bytes=size,
                memories=[_memory_behind(files, decoder) for decoder in decoders if decoder],
                granularity=files.number(f"{directory}/interleave_granularity"),
                node=nodes[0] if nodes else None,
            )
        )
    return regions


def _memory_behind(files: Files, decoder: str) -> str:
    """decoder2.0 belongs to endpoint2, whose ``uport`` is the memory device."""
    endpoint = files.target(f"{_CXL}/{decoder}").rpartition("/")[0]
    return files.target(f"{endpoint}/uport").rpartition("/")[2] or decoder


def read_dax(files: Files) -> list[Dax]:
    """Every device-dax instance, and whether it is in use as system RAM."""
    devices: list[Dax] = []
    for name in files.names(_DAX, "dax"):
        directory = f"{_DAX}/{name}"
        size = files.number(f"{directory}/size")
        if not size:
            continue  # the seed of a region that is wholly taken
        node = files.number(f"{directory}/target_node")
        driver = files.target(f"{directory}/driver").rpartition("/")[2]
        devices.append(
            Dax(
                name=name,
                size_bytes=size,
                node=node if node is not None and node >= 0 else None,
                mode="system-ram" if driver == "kmem" else "devdax" if driver else "unknown",
                parent=dax_parent(files.target(directory)),
            )
        )
    return devices


def dax_parent(place: str) -> str:
    """Return the parent of a dax device, from sysfs: region0, hmem.1, or ndbus0/region5."""
    parts = place.split("/")
    for index, part in enumerate(parts):
        if re.fullmatch(r"ndbus\d+", part):
            return "/".join(parts[index : index + 2])
        if re.fullmatch(r"hmem\.\d+|region\d+", part):
            return part
    return ""

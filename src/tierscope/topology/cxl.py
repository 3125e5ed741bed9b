"""CXL memory and device-dax of this machine: memdevs, regions, which node their memory is."""

import re

from tierscope.model.topology import CxlMemory, CxlRegion, Dax
from tierscope.topology.files import Files

_CXL = "/sys/bus/cxl/devices"
_DAX = "/sys/bus/dax/devices"
_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


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
    """What provides a dax device, from its place in sysfs: region0, hmem.1, or ndbus0/region5."""
    parts = place.split("/")
    for index, part in enumerate(parts):
        if re.fullmatch(r"ndbus\d+", part):
            return "/".join(parts[index : index + 2])
        if re.fullmatch(r"hmem\.\d+|region\d+", part):
            return part
    return ""

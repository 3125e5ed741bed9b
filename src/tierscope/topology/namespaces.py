"""Namespaces of persistent memory, from /sys/bus/nd (Linux, driver-api/nvdimm)."""

import re

from tierscope.model.persistent import Namespace
from tierscope.topology.files import Files

_ND = "/sys/bus/nd/devices"
_MODES = {"memory": "fsdax", "dax": "devdax", "safe": "sector"}
"""ndctl's words for what the kernel writes; raw is the same in both."""
_HOLDER = re.compile(r"(?:pfn|dax|btt)\d+\.\d+")


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

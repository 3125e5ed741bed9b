"""NVLinks of an hwloc file: its matrix of bandwidths between GPUs, switches and packages."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tierscope.model.topology import Gpu, NvLink
from tierscope.topology.hwloc_file import Element, integer
from tierscope.topology.links import nvlink_version


@dataclass
class Ends:
    """What the matrix's rows stand for, by hwloc's type and gp_index: ``OSDev:332``."""

    addresses: dict[str, str] = field(default_factory=dict)
    """PCI addresses of GPUs and switches."""
    packages: dict[str, int | None] = field(default_factory=dict)
    """Numbers of packages."""


def with_nvlinks(gpus: Sequence[Gpu], root: Element, ends: Ends) -> list[Gpu]:
    """The GPUs with their NVLinks by the matrix NVLinkBandwidth (MB/s), where there is one."""
    found = list(gpus)
    for matrix in [*root.iterfind("distances2hetero"), *root.iterfind("distances2")]:
        if matrix.get("name") != "NVLinkBandwidth":
            continue
        names = " ".join(part.text or "" for part in matrix.iterfind("indexes")).split()
        if matrix.tag == "distances2":  # all rows are of one type, which stands apart
            names = [f"{matrix.get('type')}:{name}" for name in names]
        words = " ".join(part.text or "" for part in matrix.iterfind("u64values")).split()
        values = [integer(word) or 0 for word in words]
        if len(values) == len(names) ** 2:
            found = [_with_links(gpu, names, values, ends) for gpu in found]
    return found


def _with_links(gpu: Gpu, names: list[str], values: list[int], ends: Ends) -> Gpu:
    row = next(
        (
            i
            for i, name in enumerate(names)
            if gpu.address and ends.addresses.get(name) == gpu.address
        ),
        None,
    )
    known = nvlink_version(gpu.name)
    if row is None or known is None:
        return gpu
    version, rate = known
    links: list[NvLink] = []
    for column, name in enumerate(names):
        value = values[row * len(names) + column]
        if column == row or not value:
            continue
        kind = name.partition(":")[0]
        links.append(
            NvLink(
                version=version,
                links=max(1, round(value * 1e6 / rate)),
                peer="gpu" if kind == "OSDev" else "switch" if kind == "PCIDev" else "cpu",
                peer_address=ends.addresses.get(name) or None,
                peer_package=ends.packages.get(name),
            )
        )
    return gpu.model_copy(update={"nvlinks": links})

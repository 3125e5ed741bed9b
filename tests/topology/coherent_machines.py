"""Synthetic machines whose GPU memory is NUMA nodes, as lstopo writes them: GH200 and GB200.

Sizes, CPUs and nodes as NVIDIA's documents of these machines have them; nobody measured on them.
"""

from pathlib import Path

_PAGES = (64 << 10, 2 << 20, 512 << 20, 16 << 30)
"""Of an Arm kernel with base pages of 64 KiB."""
MIB = 1 << 20
GIB = 1 << 30


def gh200(folder: Path) -> Path:
    """One superchip: 72 cores, node 0 with 480 GB of LPDDR5X, node 1 with 96 GB of HBM3."""
    chip = _superchip(0, dram=(0, 478 * GIB), gpus=[(1, 95 * GIB)], name="NVIDIA GH200 480GB")
    return _machine(folder / "gh200.xml", "GH200", chip, nodes=2)


def two_gh200(folder: Path) -> Path:
    """Two superchips, whose GPUs' memory are nodes 2 and 10: the driver keeps eight for each."""
    chips = [
        _superchip(number, dram=(number, 478 * GIB), gpus=[(2 + 8 * number, 95 * GIB)],
                   name="NVIDIA GH200 480GB")
        for number in (0, 1)
    ]  # fmt: skip
    return _machine(folder / "two-gh200.xml", "two GH200", "".join(chips), nodes=18)


def gb200(folder: Path) -> Path:
    """A compute tray of two GB200 superchips: two CPUs and four GPUs, of 184 GiB each."""
    chips = [
        _superchip(number, dram=(number, 478 * GIB), name="NVIDIA GB200",
                   gpus=[(2 + 8 * (2 * number + place), 184 * GIB) for place in (0, 1)])
        for number in (0, 1)
    ]  # fmt: skip
    return _machine(folder / "gb200.xml", "GB200 tray", "".join(chips), nodes=34)


def _superchip(
    number: int, dram: tuple[int, int], gpus: list[tuple[int, int]], name: str, cores: int = 72
) -> str:
    cpus = range(cores * number, cores * (number + 1))
    own = _mask(cpus)
    objects = [_node(dram[0], own, dram[1])]
    for place, (node, size) in enumerate(gpus):
        index = number * len(gpus) + place
        address = f"{9 + 16 * index:04x}:01:00.0"
        objects.append(_node(node, own, size, "GPUMemory", _info("PCIBusID", address)))
        objects.append(_gpu(index, address, name, size))
    l3 = f'<object type="L3Cache" cpuset="{own}" cache_size="{114 * MIB}" depth="3"'
    objects.append(f'{l3} cache_linesize="64" cache_type="0">{"".join(map(_core, cpus))}</object>')
    about = _info("CPUModel", "Neoverse-V2")
    head = f'<object type="Package" os_index="{number}" cpuset="{own}">'
    return f"{head}{about}{''.join(objects)}</object>"


def _core(cpu: int) -> str:
    own = _mask([cpu])
    caches = [("L2Cache", 2, 0, MIB), ("L1Cache", 1, 1, 64 << 10)]
    inner = f'<object type="PU" os_index="{cpu}" cpuset="{own}"/>'
    inner = f'<object type="Core" os_index="{cpu}" cpuset="{own}">{inner}</object>'
    for kind, depth, cache_type, size in reversed(caches):
        inner = (
            f'<object type="{kind}" cpuset="{own}" cache_size="{size}" depth="{depth}"'
            f' cache_linesize="64" cache_type="{cache_type}">{inner}</object>'
        )
    return inner


def _node(number: int, cpuset: str, size: int, subtype: str = "", inner: str = "") -> str:
    marked = f' subtype="{subtype}"' if subtype else ""
    pages = "".join(f'<page_type size="{page}" count="0"/>' for page in _PAGES)
    return (
        f'<object type="NUMANode" os_index="{number}" cpuset="{cpuset}" gp_index="{900 + number}"'
        f' local_memory="{size}"{marked}>{pages}{inner}</object>'
    )


def _gpu(index: int, address: str, name: str, size: int) -> str:
    memory = _info("CUDAGlobalMemorySize", str(size >> 10))
    about = f"{_info('GPUModel', name)}{memory}"
    device = f'<object type="OSDev" name="cuda{index}" osdev_type="5">{about}</object>'
    function = (
        f'<object type="PCIDev" pci_busid="{address}" pci_type="0302 [10de:2342] [10de:16eb] a1"'
        f' pci_link_speed="3.938462" gp_index="{2000 + index}">{device}</object>'
    )
    domain = address.partition(":")[0]
    bridge = f'<object type="Bridge" bridge_type="0-1" bridge_pci="{domain}:[00-01]"'
    return f'{bridge} gp_index="{3000 + index}">{function}</object>'


def _machine(path: Path, host: str, packages: str, nodes: int) -> Path:
    """Write a machine; ``nodes``: those that the kernel knows, most of them without memory."""
    about = _info("HostName", host) + _info("Architecture", "aarch64") + _info("OSName", "Linux")
    about += _info("DMIProductName", f"{host}, synthetic")
    path.write_text(
        '<?xml version="1.0"?><!DOCTYPE topology SYSTEM "hwloc2.dtd"><topology version="2.0">'
        f'<object type="Machine" complete_nodeset="{_mask(range(nodes))}">{about}{packages}'
        "</object></topology>"
    )
    return path


def _mask(numbers: "range | list[int]") -> str:
    value = sum(1 << number for number in numbers)
    words = [value >> shift & 0xFFFFFFFF for shift in range(0, max(1, value.bit_length()), 32)]
    return ",".join(f"0x{word:08x}" for word in reversed(words))


def _info(name: str, value: str) -> str:
    return f'<info name="{name}" value="{value}"/>'

"""PCI functions that the tree leaves out, in a line."""

from collections import Counter
from collections.abc import Iterator, Sequence

from tierscope.model.topology import Topology
from tierscope.report.topology_outline import Item, count_of

_STORAGE, _NETWORK, _DISPLAY, _BRIDGE, _ACCELERATOR = 0x01, 0x02, 0x03, 0x06, 0x12
_NAMES = {  # PCI Code and ID Assignment Specification: base classes
    _STORAGE: "storage controller",
    _NETWORK: "network controller",
    _DISPLAY: "display controller",
    _ACCELERATOR: "accelerator",
}


def left_out_line(topology: Topology, items: Sequence[Item]) -> str:
    """Count the functions that hold no drive, port, GPU or memory; empty where there is none."""
    shown = {item.address for item in _all(items)}
    counts = Counter(
        _NAMES.get(device.class_code >> 8, "other function")
        for device in topology.pci
        if not device.bridge and device.class_code >> 8 != _BRIDGE and device.address not in shown
    )
    names = [*_NAMES.values(), "other function"]
    words = [count_of(counts[name], name) for name in names if counts[name]]
    if not words:
        return ""
    return (
        f"PCI functions not in the tree: {', '.join(words)}; no drive, port, GPU or CXL memory is "
        "known on them (--json has all)"
    )


def _all(items: Sequence[Item]) -> Iterator[Item]:
    for item in items:
        yield item
        yield from _all(item.children)

"""Measured values as hwloc memory attributes, so that other software can use them."""

from collections.abc import Iterable, Iterator
from xml.etree import ElementTree

from tierscope.analysis.best import idle_latencies
from tierscope.model.endpoint import EndpointKind, parse_endpoint
from tierscope.model.run import Measurement, Run
from tierscope.suites.matrix import peak_bandwidths

_HIGHER_FIRST, _LOWER_FIRST, _NEED_INITIATOR = 1, 2, 4  # hwloc_memattr_flag_e
_MIB = 1 << 20
_WORD_BITS = 32

_ATTRIBUTES = {
    "Bandwidth": ("read", _HIGHER_FIRST),
    "ReadBandwidth": ("read", _HIGHER_FIRST),
    "WriteBandwidth": ("write", _HIGHER_FIRST),
    "Latency": ("latency", _LOWER_FIRST),
    "ReadLatency": ("latency", _LOWER_FIRST),
}
"""hwloc's attributes: what is measured for them, and which end of their scale is better."""
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n'


def with_measured(machine: str, run: Run) -> str:
    """Return a machine's hwloc XML with the values that a run measured for its nodes."""
    root = ElementTree.fromstring(machine)  # noqa: S314 - our own engine wrote it
    nodes = {
        int(element.get("os_index", "-1")): element
        for element in root.iter("object")
        if element.get("type") == "NUMANode"
    }
    found = {
        "latency": idle_latencies(run.measurements, in_caches=True),
        "read": peak_bandwidths(run, "read"),
        "write": peak_bandwidths(run, "write"),
    }
    for name, (source, order) in _ATTRIBUTES.items():
        values = list(_values(found[source].values(), nodes))
        if not values:
            continue
        for old in root.findall(f"memattr[@name='{name}']"):
            root.remove(old)
        attribute = ElementTree.SubElement(
            root, "memattr", name=name, flags=str(order | _NEED_INITIATOR)
        )
        attribute.extend(values)
    machine_object = root.find("object")
    if machine_object is not None:
        origin = f"measured by tierscope {run.header.tierscope}, run {run.header.name}"
        info = ElementTree.Element("info", name="MemoryAttributes", value=origin)
        machine_object.insert(0, info)
    return _HEAD + ElementTree.tostring(root, encoding="unicode") + "\n"


def _values(
    measurements: Iterable[Measurement], nodes: dict[int, ElementTree.Element]
) -> Iterator[ElementTree.Element]:
    for m in measurements:
        target = parse_endpoint(m.target)
        initiator = parse_endpoint(m.initiator)
        if target.kind is not EndpointKind.NODE or len(target.numbers) != 1:
            continue
        node = nodes.get(target.numbers[0])
        cpus = _cpuset(initiator.kind, initiator.numbers, nodes)
        if node is None or not cpus or m.estimate is None:
            continue
        value = m.estimate if m.unit == "ns" else m.estimate / _MIB
        yield ElementTree.Element(
            "memattr_value",
            target_obj_gp_index=node.get("gp_index", ""),
            target_obj_type="NUMANode",
            value=str(round(value)),
            initiator_cpuset=cpus,
        )


def _cpuset(
    kind: EndpointKind, numbers: tuple[int, ...], nodes: dict[int, ElementTree.Element]
) -> str:
    """Return an initiator's CPUs as hwloc writes them: 32-bit words, the highest first."""
    if kind is EndpointKind.NODE:
        node = nodes.get(numbers[0]) if len(numbers) == 1 else None
        return node.get("cpuset", "") if node is not None else ""
    mask = sum(1 << cpu for cpu in numbers)
    words = []
    while mask:
        words.append(f"0x{mask & 0xFFFFFFFF:08x}")
        mask >>= _WORD_BITS
    return ",".join(reversed(words))

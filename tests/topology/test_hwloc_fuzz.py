"""Damaged hwloc files: read and shown, or refused in one line."""

from xml.etree import ElementTree

from hwloc_files import device, host_bridge, info, node, package, pci
from hypothesis import given
from hypothesis import strategies as st
from topology_tables_text import shown

from tierscope.machine.hwloc import parse_hwloc
from tierscope.model.errors import UserError
from tierscope.report.drawing import draw
from tierscope.report.topology import machine_json

_VALUES = st.one_of(
    st.sampled_from(
        ["", "-1", "0", "1", "3", "0x0", "0xf...f", "0xffffffff,0xffffffff", "4294967296", "1e9",
         "99999999999999999999999", "NUMANode", "PU", "MemCache", "OSDev", "PCIDev", "Package",
         "nvml0", "cuda1", "0000:04:00.0", "0302 [10de:1094]", "GPUMemory", "MemorySideCache"]
    ),
    st.text(max_size=8),
)  # fmt: skip


def _machine() -> str:
    """Two packages with all that is read: caches on both sides, GPUs, ports, drives, CXL."""
    packages = ""
    for number, cpus in ((0, "0x3"), (1, "0xc")):
        gpu = device(f"nvml{number}", 1, info("GPUModel", "Tesla P100-SXM2-16GB"), 30 + number)
        card = (
            '<object type="OSDev" name="mem0" subtype="CXLMem" osdev_type="0">'
            + info("CXLRAMSize", "262144")
            + "</object>"
        )
        bus = host_bridge(
            f"000{number}:[00-04]",
            pci(f"000{number}:01:00.0", "0302 [10de:15f9]", gpu, 15.753846)
            + pci(f"000{number}:02:00.0", "0207 [15b3:1013]", device("ib0", 2) + device("mlx5", 3))
            + pci(f"000{number}:03:00.0", "0108 [144d:a808]", device("nvme0n1", 0))
            + pci(f"000{number}:04:00.0", "0502 [8086:0d93]", card),
        )
        memory = (
            f'<object type="MemCache" cpuset="{cpus}" cache_size="1073741824" depth="1"'
            f' cache_linesize="64" cache_associativity="1">{node(number, cpus, 64)}</object>'
            f'<object type="L3Cache" cpuset="{cpus}" cache_size="33554432" depth="3"'
            ' cache_type="0"/>'
        )
        packages += package(number, cpus, memory + bus).replace(
            "<object ", f'<object gp_index="{40 + number}" ', 1
        )
    return (
        f'<topology version="2.0"><object type="Machine" cpuset="0xf">{packages}</object>'
        '<distances2 type="NUMANode" nbobjs="2" kind="5" indexing="os"><indexes>0 1</indexes>'
        "<u64values>10 21 21 10</u64values></distances2>"
        '<distances2hetero nbobjs="4" kind="25" name="NVLinkBandwidth">'
        "<indexes>OSDev:30 OSDev:31 Package:40 Package:41</indexes><u64values>1000000 0 40000 0 0 "
        "1000000 0 40000 40000 0 1000000 0 0 40000 0 1000000</u64values></distances2hetero>"
        '<memattr name="Bandwidth" flags="5"><memattr_value target_obj_type="NUMANode"'
        ' target_obj_gp_index="900" value="100000" initiator_cpuset="0x3"/></memattr></topology>'
    )


_MACHINE = _machine()


def _damage(root: ElementTree.Element, data: st.DataObject) -> None:
    element = data.draw(st.sampled_from(list(root.iter())))
    how = data.draw(st.sampled_from(["set", "drop", "text", "remove", "repeat"]))
    if how in ("set", "drop") and element.attrib:
        name = data.draw(st.sampled_from(sorted(element.attrib)))
        element.attrib.pop(name)
        if how == "set":
            element.set(name, data.draw(_VALUES))
    elif how == "text":
        element.text = data.draw(_VALUES)
    elif len(element):
        child = data.draw(st.sampled_from(list(element)))
        if how == "remove":
            element.remove(child)
        else:
            element.append(child)


@given(st.data())
def test_damaged_files_are_shown_whole_or_refused_in_one_line(data: st.DataObject) -> None:
    root = ElementTree.fromstring(_MACHINE)
    for _ in range(data.draw(st.integers(1, 5))):
        _damage(root, data)
    text = ElementTree.tostring(root, encoding="utf-8")
    refused = ""
    try:
        found = parse_hwloc(text, "damaged.xml")
        assert shown(found)
        assert draw(found)
        assert machine_json(found)
    except UserError as error:
        refused = str(error)
    assert "\n" not in refused
    assert refused.startswith("damaged.xml: ") or not refused


def test_the_undamaged_file_is_read_whole() -> None:
    found = parse_hwloc(_MACHINE.encode(), "whole.xml")
    assert len(found.gpus) == len(found.blocks) == len(found.cxl_memories) == 2
    assert [len(entry.memory_side_caches) for entry in found.nodes] == [1, 1]
    assert all(gpu.nvlinks for gpu in found.gpus)

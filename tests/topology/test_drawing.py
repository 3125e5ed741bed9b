"""The drawing and the tables: everything is there, nothing overlaps, nothing is too wide."""

import io
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest
import topology_machines as machines

from tierscope.machine.hwloc import read_hwloc
from tierscope.model.topology import Topology
from tierscope.report.drawing import Place, draw, lay_out
from tierscope.report.style import make_console
from tierscope.report.topology import rate_text, show_machine
from tierscope.report.topology_outline import Item, outline

XML = Path(__file__).parent / "xml"


def machine(name: str) -> Topology:
    if name.endswith(".xml"):
        return read_hwloc(XML / name)
    return machines.discovered(getattr(machines, name))


@pytest.fixture(params=["nvidia-dgx2.xml", "cxl-memory-dax.xml", "dgx2", "dgx_a100"])
def topology(request: pytest.FixtureRequest) -> Topology:
    return machine(request.param)


def items(found: list[Item]) -> list[Item]:
    return found + [item for entry in found for item in items(entry.children)]


def places(found: list[Place]) -> list[Place]:
    return found + [place for entry in found for place in places(entry.children)]


def test_outline_holds_every_gpu_node_and_drive_once(topology: Topology) -> None:
    names = [item.name for item in items(outline(topology))]
    wanted = [f"gpu:{gpu.index}" for gpu in topology.gpus]
    wanted += [f"node {node.number}" for node in topology.nodes]
    wanted += [block.name for block in topology.blocks if block.kind == "nvme"]
    assert {name: names.count(name) for name in wanted} == dict.fromkeys(wanted, 1)


def test_boxes_beside_each_other_do_not_overlap(topology: Topology) -> None:
    drawing = lay_out(outline(topology), 100)
    boxes = [place for place in places(drawing.groups) if place.item.kind != "node"]
    overlapping = [
        (one.item.name, other.item.name)
        for one, other in combinations(boxes, 2)
        if one.x < other.x + other.width
        and other.x < one.x + one.width
        and one.y < other.y + other.height
        and other.y < one.y + one.height
    ]
    assert overlapping == []


def test_all_boxes_lie_inside_the_drawing(topology: Topology) -> None:
    drawing = lay_out(outline(topology), 100)
    for place in places(drawing.groups):
        assert 0 <= place.x <= drawing.width - place.width
        assert place.y + place.height <= drawing.height


def test_drawing_is_xml_and_names_every_gpu(topology: Topology) -> None:
    root = ElementTree.fromstring(draw(topology))
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert {f"gpu:{gpu.index}" for gpu in topology.gpus} <= set(texts)


def test_drawing_escapes_what_the_machine_calls_itself(topology: Topology) -> None:
    odd = topology.model_copy(update={"host": '<b>&"', "product": "a < b"})
    ElementTree.fromstring(draw(odd))


def test_drawing_loads_nothing_from_elsewhere(topology: Topology) -> None:
    text = draw(topology).replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert "http" not in text
    assert "<script" not in text


def test_tables_fit_100_columns(topology: Topology) -> None:
    out = io.StringIO()
    show_machine(make_console(out), topology, nvlink=True)
    assert max(len(line.rstrip()) for line in out.getvalue().splitlines()) <= 100


def test_small_limits_are_not_shown_as_zero() -> None:
    assert [rate_text(rate) for rate in (1e7, 1.234e8, 15.75e9, 307.2e9)] == [
        "0.01 GB/s", "0.12 GB/s", "15.8 GB/s", "307.2 GB/s",
    ]  # fmt: skip

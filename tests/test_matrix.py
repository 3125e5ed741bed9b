"""Matrices: what is measured for them, what firmware says, and hwloc's memory attributes."""

import io
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.console import Console
from tests import synthetic

from tierscope.kinds.views import VIEWS
from tierscope.model.errors import UserError
from tierscope.model.run import Figure, Measurement, Run
from tierscope.plans.machine import memory_nodes
from tierscope.suites.hwloc_xml import with_measured
from tierscope.suites.matrix import (
    firmware_lines,
    idle_latencies,
    peak_bandwidths,
    requests,
    show_matrix,
)

MACHINE = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x0000000f" complete_cpuset="0x0000000f"
          allowed_cpuset="0x0000000f" nodeset="0x00000007" complete_nodeset="0x00000007"
          allowed_nodeset="0x00000007" gp_index="1">
    <object type="NUMANode" os_index="2" cpuset="0x0000000f" complete_cpuset="0x0000000f"
            nodeset="0x00000004" complete_nodeset="0x00000004" gp_index="9"
            local_memory="1073741824"/>
    <object type="Package" os_index="0" cpuset="0x00000003" complete_cpuset="0x00000003"
            nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="2">
      <object type="NUMANode" os_index="0" cpuset="0x00000003" complete_cpuset="0x00000003"
              nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="7"
              local_memory="1073741824"/>
      <object type="PU" os_index="0" cpuset="0x00000001" complete_cpuset="0x00000001"
              nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="3"/>
      <object type="PU" os_index="1" cpuset="0x00000002" complete_cpuset="0x00000002"
              nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="4"/>
    </object>
    <object type="Package" os_index="1" cpuset="0x0000000c" complete_cpuset="0x0000000c"
            nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="11">
      <object type="NUMANode" os_index="1" cpuset="0x0000000c" complete_cpuset="0x0000000c"
              nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="8"
              local_memory="1073741824"/>
      <object type="PU" os_index="2" cpuset="0x00000004" complete_cpuset="0x00000004"
              nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="5"/>
      <object type="PU" os_index="3" cpuset="0x00000008" complete_cpuset="0x00000008"
              nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="6"/>
    </object>
  </object>
  <memattr name="Latency" flags="6">
    <memattr_value target_obj_gp_index="7" target_obj_type="NUMANode" value="55"
                   initiator_cpuset="0x00000003"/>
  </memattr>
</topology>
"""


def measured(
    kind: str, initiator: str, target: str, estimate: float, **pattern: Any
) -> Measurement:
    name = "".join(str(value) for value in pattern.values())
    return Measurement(
        id=f"{kind}.{initiator}.{target}.{name}",
        kind=kind,
        initiator=initiator,
        target=target,
        cpus=[0],
        pattern=pattern,
        status="measured",
        figures=[
            Figure(
                metric=kind,
                unit="ns" if kind == "latency" else "B/s",
                estimate=estimate,
                ci_low=estimate,
                ci_high=estimate,
            )
        ],
        n=20,
        stop="precision",
    )


def synthetic_run(nodes: list[dict[str, Any]] | None = None) -> Run:
    header = synthetic.header()
    if nodes:
        known = header.machine["nodes"]
        nodes = [one | told for one, told in zip(known, nodes, strict=False)]
        header = synthetic.header(machine={**header.machine, "nodes": nodes})
    measurements = []
    for initiator, target, ns, rate in (
        (0, 0, 90.0, 50e9),
        (0, 2, 410.0, 20e9),
        (1, 0, 150.0, 30e9),
    ):
        ends = (f"node:{initiator}", f"node:{target}")
        measurements += [
            measured("latency", *ends, 2.0, size=4096),
            measured("latency", *ends, ns, size=1 << 30),
            measured("bandwidth", *ends, rate / 2, operation="read", threads=1),
            measured("bandwidth", *ends, rate, operation="read", threads=8),
            measured("bandwidth", *ends, rate * 0.9, operation="read", threads=16),
            measured("bandwidth", *ends, rate * 0.5, operation="write", threads=4),
        ]
    return Run(header=header, measurements=measurements, footer=None)


def test_latency_is_that_of_memory_and_not_of_a_cache() -> None:
    assert idle_latencies(synthetic_run().measurements)["node:0", "node:2"].estimate == 410.0


def test_the_best_thread_count_is_found() -> None:
    best = peak_bandwidths(synthetic_run(), "read")["node:0", "node:2"]
    assert (best.estimate, best.pattern["threads"]) == (20e9, 8)


def test_firmware_s_claims_are_compared_with_what_was_measured() -> None:
    claim = {"initiators": [0], "read_latency_ns": 250.0, "read_bandwidth": 40e9}
    nodes = [
        {"node": 0, "distances": {"0": 10, "2": 14}, "performance": []},
        {"node": 2, "distances": {"0": 14, "2": 10}, "performance": [claim]},
    ]
    lines = firmware_lines(synthetic_run(nodes))
    assert lines == [
        "node:0 → node:2: firmware (HMAT) says 250 ns, measured 410 (1.64 times that)",
        "node:0 → node:2: firmware (HMAT) says 40 GB/s read, measured 20.0 (0.5 times that)",
        (
            "node:0 → node:2: SLIT distance says 1.4 times the local latency, "
            "measured 4.6 times, which differs"
        ),
    ]


def test_nothing_is_said_where_firmware_says_nothing() -> None:
    assert firmware_lines(synthetic_run([{"node": 0}, {"node": 1}, {"node": 2}])) == []


def values_of(xml: str, name: str) -> dict[tuple[str, str], int]:
    root = ElementTree.fromstring(xml)
    (attribute,) = root.findall(f"memattr[@name='{name}']")
    return {
        (value.get("target_obj_gp_index", ""), value.get("initiator_cpuset", "")): int(
            value.get("value", "0")
        )
        for value in attribute
    }


def test_hwloc_gets_nanoseconds_and_mebibytes_by_initiator_and_target() -> None:
    xml = with_measured(MACHINE, synthetic_run())
    assert values_of(xml, "Latency") == {
        ("7", "0x00000003"): 90,  # in place of firmware's 55
        ("9", "0x00000003"): 410,
        ("7", "0x0000000c"): 150,
    }
    assert values_of(xml, "WriteBandwidth")["9", "0x00000003"] == round(10e9 / (1 << 20))


def test_hwloc_reads_the_measured_values_back(tmp_path: Path) -> None:
    file = tmp_path / "machine.xml"
    file.write_text(with_measured(MACHINE, synthetic_run()))
    answer = subprocess.run(
        ["lstopo-no-graphics", "--input", str(file), "--memattrs"],
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=60,
    )
    assert "= 410 from cpuset 0x00000003" in answer.stdout
    assert "= 19073 from cpuset 0x00000003" in answer.stdout
    assert "= 55 " not in answer.stdout


def test_a_matrix_asks_for_every_pair() -> None:
    latency, bandwidth = requests({"budget": "1"})
    assert latency.options == {"from": "node:*", "to": "node:*", "budget": "1"}
    assert bandwidth.options["threads"] == "1..all*2"


def test_a_bandwidth_asks_for_the_latency_under_that_load() -> None:
    *_, loaded = requests({"at": "10,2.5", "mix": "50:50", "op": "read"})
    assert loaded.kind == "loaded-latency"
    assert loaded.options == {
        "from": "node:*",
        "to": "node:*",
        "mix": "50:50",
        "at": "10,2.5",
        "points": "16",
    }
    with pytest.raises(UserError, match="--mix: the mix of a load goes with --at"):
        requests({"mix": "50:50"})
    with pytest.raises(UserError, match="--mix: a matrix takes one mix"):
        requests({"mix": "50:50,100:0", "at": "10"})


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_machine_of_one_node_is_told_what_more_takes(nodes: int) -> None:
    machine = synthetic.topology()
    kept = memory_nodes(machine)[:nodes]
    machine = machine.model_copy(update={"nodes": kept})
    cell = measured("latency", "node:0", "node:0", 95.0, size=1 << 30)
    run = synthetic.run([cell], topology=machine)
    text = io.StringIO()
    show_matrix(Console(file=text, width=100), run, [])
    of_ops = VIEWS["ops"].notes([], run)
    for said in (" ".join(text.getvalue().split()), " ".join(of_ops)):
        assert ("'tierscope whatif --tier 250ns,30GB/s'" in said) == (nodes == 1)
        assert ("has one node with memory, node 0;" in said) == (nodes == 1)

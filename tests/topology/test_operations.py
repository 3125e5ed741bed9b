"""Limits of operations: each direction of a full-duplex link, both on a half-duplex bus."""

from pathlib import Path
from typing import Any, get_args

import pytest
import topology_machines as machines
from hypothesis import given
from hypothesis import strategies as st
from topology_machines import FakeNvml, Sysfs, fake_gpu

from tierscope.kinds.bandwidth.spec import BandwidthSpec, Operation
from tierscope.kinds.traffic.spec import TrafficSpec
from tierscope.machine.discover import discover
from tierscope.machine.paths import MachinePaths, limit_of
from tierscope.model.path import ONE_WAY, Hop, Limit, Traffic, of_operation
from tierscope.model.topology import Dimm, NodeKind, Topology

RATE = 32e9
BUS = {"read": 1, "write": 2, "write-nt": 1, "copy": 1.5, "copy-nt": 1, "scale": 1.5, "rmw": 1} | {
    "add": 4 / 3,
    "triad": 4 / 3,
    "scale-nt": 1,
    "add-nt": 1,
    "triad-nt": 1,
    "memset": 1,
    "memcpy": 1,
}
"""Bytes on the bus for each byte counted, as engine/access/kernel.h has them; of
the C library's operations the least that they can move."""


def hop(half_duplex: bool) -> Hop:
    rate = Limit(value=RATE, unit="B/s", link="a link", formula="32 GB/s", source="a test")
    return Hop(name="a hop", limit=rate, half_duplex=half_duplex)


def allowed(half_duplex: bool, traffic: Traffic) -> Limit:
    found = limit_of(hop(half_duplex), traffic)
    assert found is not None
    return found


traffics: st.SearchStrategy[Traffic] = st.one_of(
    st.builds(
        of_operation,
        st.just("op"),
        st.integers(0, 4),
        st.integers(1, 3),
        st.booleans(),
    ),
    st.builds(
        lambda writes, fetches: Traffic(
            "mix", 1 - writes + fetches * writes, writes, fetches * writes
        ),
        st.floats(0, 1),
        st.booleans(),
    ),
)


@given(traffics)
def test_no_operation_exceeds_what_the_wires_carry(traffic: Traffic) -> None:
    for half_duplex, wires in ((True, RATE), (False, 2 * RATE)):
        found = allowed(half_duplex, traffic)
        assert found.value * traffic.both <= wires * (1 + 1e-9)
        assert found.value <= wires * (1 + 1e-9)
        assert found.without_write_allocate is None or (
            found.value <= found.without_write_allocate <= wires * (1 + 1e-9)
        )


@given(traffics)
def test_two_directions_allow_no_less_than_one_bus(traffic: Traffic) -> None:
    assert allowed(False, traffic).value >= allowed(True, traffic).value


@given(st.floats(0, 1))
def test_a_mix_is_bounded_by_its_busier_direction(writes: float) -> None:
    traffic = Traffic("mix", 1 - writes, writes)
    assert allowed(False, traffic).value == pytest.approx(RATE / max(writes, 1 - writes))


@pytest.mark.parametrize("half_duplex", [True, False])
def test_reads_alone_have_the_rate_of_one_way(half_duplex: bool) -> None:
    assert allowed(half_duplex, ONE_WAY) == hop(half_duplex).limit
    assert allowed(half_duplex, of_operation("read", 1, 0, False)).value == RATE


def test_a_copy_uses_both_directions() -> None:
    plain = allowed(False, of_operation("copy", 1, 1, fetches=True))
    direct = allowed(False, of_operation("copy-nt", 1, 1, fetches=False))
    assert (plain.value, direct.value) == (RATE, 2 * RATE)
    assert plain.without_write_allocate == 2 * RATE
    assert direct.without_write_allocate is None
    assert plain.formula == (
        "32 GB/s each way; copy has 1 B (write-allocate included) in the direction of reads for"
        " each byte counted"
    )
    assert direct.formula == (
        "32 GB/s each way; copy-nt has 0.5 B in each direction for each byte counted: / 0.5"
        " = 64.00 GB/s"
    )


def test_a_copy_on_a_bus_has_its_fetched_lines_too() -> None:
    found = allowed(True, of_operation("copy", 1, 1, fetches=True))
    assert found.value == pytest.approx(RATE / 1.5)
    assert found.formula == (
        "32 GB/s; copy has 1.5 B (write-allocate included) on the bus for each byte counted: / 1.5"
        " = 21.33 GB/s"
    )


def spec_of(operation: str, target: str = "node:0", **more: Any) -> BandwidthSpec:
    return BandwidthSpec.model_validate(
        {
            "id": "x",
            "initiator": "node:0",
            "target": target,
            "cpus": [0],
            "placement": {"policy": "bind", "nodes": [{"node": 0}]},
            "pattern": {"operation": operation, "size": 1 << 30},
            **more,
        }
    )


def stream_of(writes: int, stores: str, target: str) -> TrafficSpec:
    fields = spec_of("read", target).model_dump(exclude={"kind", "pattern"}, exclude_none=True)
    pattern = {"writes": writes, "stores": stores, "size": 1 << 30}
    return TrafficSpec.model_validate({**fields, "pattern": pattern})


@pytest.mark.parametrize("operation", get_args(Operation))
def test_every_operation_knows_its_bytes_on_the_bus(operation: str) -> None:
    assert spec_of(operation).traffic().both == pytest.approx(BUS[operation])


@pytest.fixture
def machine(tmp_path: Path) -> Topology:
    """DRAM with eight channels of DDR5-4800, and a CXL device on PCIe 5.0 x8 as node 2."""
    tree = Sysfs(tmp_path)
    tree.cpus([[0, 1], [2, 3]], "Intel(R) Xeon(R) Platinum 8480+")
    tree.node(0, [0, 1], 1000, "10 21 24")
    tree.node(1, [2, 3], 1000, "21 10 14")
    place = "0000:0c/0000:0c:00.0/0000:0d:00.0"
    tree.pci(place, machines.CXL_CLASS, 0x8086, node=0, now=(32.0, 8), best=(32.0, 8))
    tree.node(2, [], 512, "24 14 10")
    tree.claim(2, 0, 200, 29_000)
    topology = discover(tree.root)
    backed = topology.nodes[2].model_copy(
        update={"kind": NodeKind.CXL, "backed_by": ["0000:0d:00.0"]}
    )
    dimms = [
        Dimm(slot=f"CPU0_DIMM_{c}1", type="DDR5", size_bytes=1, speed=4.8e9, bits=64, package=0)
        for c in "ABCDEFGH"
    ]
    return topology.model_copy(update={"nodes": [*topology.nodes[:2], backed], "dimms": dimms})


DRAM = 307.2e9
CLAIMED = 29e9


@pytest.mark.parametrize(
    ("operation", "target", "value"),
    [
        ("read", "node:0", DRAM),
        ("copy", "node:0", DRAM / 1.5),
        ("copy-nt", "node:0", DRAM),
        ("triad", "node:0", DRAM * 3 / 4),
        ("write", "node:0", DRAM / 2),
        ("rmw", "node:0", DRAM),
        ("read", "node:2", CLAIMED),
        ("copy", "node:2", CLAIMED),
        ("copy-nt", "node:2", 2 * CLAIMED),
        ("triad", "node:2", CLAIMED),
        ("write", "node:2", CLAIMED),
        ("write-nt", "node:2", CLAIMED),
        # A quarter of the pages is on node 2, whose link each byte read reaches one way.
        ("read", "node:0,2@3:1", 4 * CLAIMED),
        ("copy-nt", "node:0,2@3:1", 8 * CLAIMED),
        ("copy", "node:0,2@15:1", DRAM / 1.5 * 16 / 15),
    ],
)
def test_operations_on_a_machine(
    machine: Topology, operation: str, target: str, value: float
) -> None:
    found = spec_of(operation, target).limit(MachinePaths(machine))
    assert found is not None
    assert found.value == pytest.approx(value, rel=1e-3)
    assert ("write-allocate" in found.formula) == (operation in ("copy", "triad", "write"))
    assert (found.without_write_allocate is not None) == (operation in ("copy", "triad", "write"))


@pytest.mark.parametrize(
    ("writes", "stores", "target", "value"),
    [
        (0, "ordinary", "node:2", CLAIMED),
        (33, "ordinary", "node:2", CLAIMED),
        (33, "nt", "node:2", CLAIMED / 0.67),
        (50, "nt", "node:2", 2 * CLAIMED),
        (100, "nt", "node:2", CLAIMED),
        (33, "ordinary", "node:0", DRAM / 1.33),
        (33, "clwb", "node:0", DRAM / 1.33),
        (33, "nt", "node:0", DRAM),
    ],
)
def test_mixes_on_a_machine(
    machine: Topology, writes: int, stores: str, target: str, value: float
) -> None:
    found = stream_of(writes, stores, target).limit(MachinePaths(machine))
    assert found is not None
    assert found.value == pytest.approx(value, rel=1e-3)


def test_a_coherent_gpus_link_carries_both_directions(tmp_path: Path) -> None:
    tree = Sysfs(tmp_path)
    tree.cpus([[0, 1]], "Grace")
    tree.node(0, [0, 1], 1000, "10 40")
    tree.node(1, [], 96_000, "40 10")
    fields = {"C2C_LINK_COUNT": 2.0, "C2C_LINK_GET_MAX_BW": 225_000.0}
    topology = discover(tree.root, FakeNvml([fake_gpu("17", NumaNodeId=1)], [fields]))
    paths = MachinePaths(topology)
    for operation, value in {"read": 450e9, "copy": 450e9, "copy-nt": 900e9}.items():
        found = spec_of(operation, "node:1").limit(paths)
        assert found is not None
        assert found.value == value

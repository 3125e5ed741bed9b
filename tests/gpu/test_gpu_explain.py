"""Why a figure is what it is: each reason only where it can be the reason."""

import pytest
from gpu_machine import machine, plan_of, run_of
from tierscope.report.gpu_explain import explain

from tierscope.model.topology import PcieLink


def with_gpu(topology, **update):
    """The machine with its first GPU changed."""
    changed = topology.gpus[0].model_copy(update=update)
    return topology.model_copy(update={"gpus": [changed, *topology.gpus[1:]]})


def with_node(topology, number, **update):
    nodes = [
        node.model_copy(update=update) if node.number == number else node for node in topology.nodes
    ]
    return topology.model_copy(update={"nodes": nodes})


def first(topology, kind="gpu-copy", efficiency=None, **given):
    entry = run_of(plan_of(kind, topology, **given), topology).measurements[0]
    return entry if efficiency is None else entry.model_copy(update={"efficiency": efficiency})


FASTER_CARD = {"link_max": PcieLink(speed=64.0, width=16)}


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        ("gpu-copy", {"from_": "node:0", "to": "gpu:0"}, True),
        ("gpu-copy", {"from_": "gpu:0", "to": "gpu:0"}, False),
        ("gpu-copy", {"from_": "gpu:0", "to": "gpu:1"}, False),
        ("gpu-memory", {"op": "triad", "size": "1g"}, False),
    ],
)
def test_the_pcie_link_is_the_reason_only_on_the_way_over_it(kind, given, said):
    topology = with_gpu(machine(gpus=2), **FASTER_CARD)
    assert ("the link ran at Gen5" in explain(first(topology, kind, **given), topology)) == said


def test_gpus_without_nvlink_go_over_pcie():
    topology = machine(gpus=2, nodes=1)
    topology = with_gpu(topology, nvlinks=[], **FASTER_CARD)
    assert "the link ran at Gen5" in explain(first(topology, from_="gpu:1", to="gpu:0"), topology)


@pytest.mark.parametrize(
    ("package", "said"), [(1, "the sockets' interconnect"), (0, "their package's mesh")]
)
def test_another_node_of_the_same_package_is_not_over_the_interconnect(package, said):
    topology = with_node(machine(gpus=1, nodes=2), 1, package=package)
    assert explain(first(topology, from_="node:1", to="gpu:0"), topology).endswith(said)


def test_memory_without_cpus_beside_the_gpus_own_node_is_as_near():
    topology = with_node(machine(gpus=1, nodes=2), 1, cpus=[], package=0)
    assert "node 1" not in explain(first(topology, from_="node:1", to="gpu:0"), topology)


@pytest.mark.parametrize(("size", "cached"), [("16m", True), ("1g", False)])
@pytest.mark.parametrize(
    ("update", "why"),
    [({"memory_clock_hz": None}, "NVML, which did not report them"), ({"mig": True}, "MIG")],
)
def test_only_small_arrays_may_come_out_of_the_l2(size, cached, update, why):
    topology = with_gpu(machine(gpus=1), **update)
    text = explain(first(topology, "gpu-memory", op="triad", size=size), topology)
    assert ("L2" in text) == cached
    assert (why in text) != cached


@pytest.mark.parametrize(("size", "cached"), [("16m", True), ("1g", False)])
def test_only_small_copies_inside_a_gpu_may_stay_in_the_l2(size, cached):
    topology = machine(gpus=1)
    text = explain(first(topology, from_="gpu:0", to="gpu:0", size=size), topology)
    assert ("L2" in text) == cached


@pytest.mark.parametrize(
    ("size", "efficiency", "said"),
    [("64k", 0.2, True), ("64k", 0.0, False), ("4m", 0.5, False), ("64k", 0.85, False)],
)
def test_starting_a_copy_is_blamed_for_small_ones_below_their_limit(size, efficiency, said):
    topology = machine(gpus=1)
    entry = first(topology, efficiency=efficiency, from_="node:0", to="gpu:0", size=size)
    assert ("time to start one" in explain(entry, topology)) == said


def test_transfers_of_another_kind_are_left_unexplained():
    entry = first(machine(gpus=1), from_="node:0", to="gpu:0")
    (one,) = entry.pattern["transfers"]
    pattern = {**entry.pattern, "transfers": [{**one, "engine": "teleport"}]}
    assert explain(entry.model_copy(update={"pattern": pattern}), machine(gpus=1)) == ""

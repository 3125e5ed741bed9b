"""Why a figure is what it is: each reason only where it can be the reason."""

import pytest
from gpu_machine import machine, plan_of, run_of
from tests import synthetic

from tierscope.kinds.gpu_copy import show as copies
from tierscope.kinds.gpu_copy.show import copies_of, describe
from tierscope.kinds.gpu_memory import show as memory
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


def why(topology, kind="gpu-copy", efficiency=None, **given):
    """What is said of the first measurement of a request."""
    run = run_of(plan_of(kind, topology, **given), topology)
    entry = run.measurements[0]
    if efficiency is not None:
        entry = synthetic.changed(entry, efficiency=efficiency)
    if kind == "gpu-memory":
        return memory.explain(entry, topology)
    (copy,) = copies_of([entry], run)
    return copies.explain(copy, topology)


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
    assert ("the link ran at Gen5" in why(topology, kind, **given)) == said


def test_gpus_without_nvlink_go_over_pcie():
    topology = machine(gpus=2, nodes=1)
    topology = with_gpu(topology, nvlinks=[], **FASTER_CARD)
    assert "the link ran at Gen5" in why(topology, from_="gpu:1", to="gpu:0")


@pytest.mark.parametrize(
    ("package", "said"), [(1, "the sockets' interconnect"), (0, "their package's mesh")]
)
def test_another_node_of_the_same_package_is_not_over_the_interconnect(package, said):
    topology = with_node(machine(gpus=1, nodes=2), 1, package=package)
    assert why(topology, from_="node:1", to="gpu:0").endswith(said)


def test_memory_without_cpus_beside_the_gpus_own_node_is_as_near():
    topology = with_node(machine(gpus=1, nodes=2), 1, cpus=[], package=0)
    assert "node 1" not in why(topology, from_="node:1", to="gpu:0")


@pytest.mark.parametrize(("size", "cached"), [("16m", True), ("1g", False)])
@pytest.mark.parametrize(
    ("update", "said"),
    [({"memory_clock_hz": None}, "NVML, which did not report them"), ({"mig": True}, "MIG")],
)
def test_only_small_arrays_may_come_out_of_the_l2(size, cached, update, said):
    topology = with_gpu(machine(gpus=1), **update)
    text = why(topology, "gpu-memory", op="triad", size=size)
    assert ("L2" in text) == cached
    assert (said in text) != cached


@pytest.mark.parametrize(("size", "cached"), [("16m", True), ("1g", False)])
def test_only_small_copies_inside_a_gpu_may_stay_in_the_l2(size, cached):
    topology = machine(gpus=1)
    text = why(topology, from_="gpu:0", to="gpu:0", size=size)
    assert ("L2" in text) == cached


@pytest.mark.parametrize(
    ("size", "efficiency", "said"),
    [("64k", 0.2, True), ("64k", 0.0, False), ("4m", 0.5, False), ("64k", 0.85, False)],
)
def test_starting_a_copy_is_blamed_for_small_ones_below_their_limit(size, efficiency, said):
    text = why(machine(gpus=1), efficiency=efficiency, from_="node:0", to="gpu:0", size=size)
    assert ("starting the copy takes" in text) == said


def test_copies_without_a_plan_of_this_version_are_left_unexplained():
    topology = machine(gpus=1)
    run = run_of(plan_of("gpu-copy", topology, from_="node:0", to="gpu:0"), topology)
    (planned,) = run.header.plan["measurements"]
    (one,) = planned["transfers"]
    plan = {"measurements": [{**planned, "transfers": [{**one, "engine": "teleport"}]}]}
    for given in (plan, {"measurements": []}):
        header = run.header.model_copy(update={"plan": given})
        (copy,) = copies_of(run.measurements, run.model_copy(update={"header": header}))
        assert copies.explain(copy, topology) == ""
        assert describe(copy) == "node:0 -> gpu:0, ce, pinned memory, 1 stream"

"""Requests for GPUs, on synthetic machines: which copies there are, and who makes them."""

import itertools

import pytest
from gpu_machine import machine, plan_of
from hypothesis import given
from hypothesis import strategies as st

from tierscope.kinds.gpu_copy.spec import GpuCopySpec
from tierscope.kinds.gpu_latency.spec import GpuLatencySpec
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.gpu import HostPlace
from tierscope.plans.axes import identity
from tierscope.plans.expand import expand
from tierscope.plans.gpu import home_node, require_gpus
from tierscope.plans.yaml_plan import parse_plan
from tierscope.suites.registry import SUITES


def copies(topology, **given):
    plan = plan_of("gpu-copy", topology, **given)
    return [spec for spec in plan.measurements if isinstance(spec, GpuCopySpec)]


def test_host_threads_are_pinned_to_the_gpus_own_socket():
    topology = machine(gpus=2, nodes=2)
    for spec in copies(topology, **{"from": "all", "to": "all"}):
        node = topology.node(spec.transfers[0].gpu % 2)
        assert node is not None
        assert set(spec.cpus) <= set(node.cpus)


def without_memory(topology, number):
    return topology.model_copy(
        update={
            "nodes": [
                node.model_copy(update={"total_bytes": 0} if node.number == number else {})
                for node in topology.nodes
            ]
        }
    )


@pytest.mark.parametrize(
    "topology",
    [
        without_memory(machine(gpus=2, nodes=2), 1),
        machine(gpus=2, nodes=2).model_copy(update={"memory_nodes": [0]}),
    ],
    ids=["one socket populated", "cpuset"],
)
def test_a_gpu_whose_node_has_no_usable_memory_copies_with_another_node_s(topology):
    assert [home_node(topology, gpu) for gpu in topology.gpus] == [0, 0]
    specs = copies(topology, **{"from": "all", "to": "gpu:1"})
    assert {spec.transfers[0].name.partition(" ")[0] for spec in specs} == {
        "node:0",
        "gpu:0",
        "gpu:1",
    }
    with pytest.raises(UserError, match="nodes with host memory, node:0"):
        copies(topology, **{"from": "node:1"})


def test_no_usable_memory_at_all_is_said():
    topology = machine(gpus=1).model_copy(update={"memory_nodes": [7]})
    with pytest.raises(UserError, match="that this process may use") as caught:
        home_node(topology, topology.gpus[0])
    assert caught.value.exit_code is ExitCode.NOTHING_MEASURED


def test_the_matrix_of_eight_gpus_is_complete():
    topology = machine(gpus=8)
    specs = copies(topology, **{"from": "all", "to": "all"})
    names = {spec.transfers[0].name for spec in specs}
    gpus = [f"gpu:{index}" for index in range(8)]
    nodes = ["node:0", "node:1"]
    wanted = {f"{a} -> {b}" for a, b in itertools.product(gpus, gpus)}
    wanted |= {f"{a} -> {b}" for a, b in itertools.product(nodes, gpus)}
    wanted |= {f"{a} -> {b}" for a, b in itertools.product(gpus, nodes)}
    assert names == wanted
    assert len(specs) == len(wanted)


def test_between_gpus_the_destination_reads_and_the_source_writes():
    topology = machine(gpus=2)
    read, write = copies(topology, **{"from": "gpu:0", "to": "gpu:1", "side": "read,write"})
    assert read.transfers[0].gpu == 1
    assert write.transfers[0].gpu == 0
    assert (read.initiator, read.target) == (write.initiator, write.target) == ("gpu:0", "gpu:1")
    assert (read.identity()["issued"], write.identity()["issued"]) == ("by a read", "by a write")


def test_endpoints_are_where_bytes_come_from_and_go_to():
    topology = machine(gpus=4, nodes=1)
    (to_all,) = plan_of("gpu-together", topology, set="host-to-all").measurements
    assert (to_all.initiator, to_all.target) == ("node:0", "gpu:0-3")
    assert to_all.identity()["transfers"].startswith("sum of node:0 → gpu:0, ")
    (both,) = copies(topology, both_ways="yes", **{"from": "node:0", "to": "gpu:2"})
    assert (both.initiator, both.target) == ("node:0", "gpu:2")
    assert both.identity()["way"] == "both ways summed"


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"size": "1m"}, True),
        ({"size": "2m"}, False),
        ({"size": "4k", "streams": "2"}, False),
        ({"size": "4k", "memory": "pageable"}, True),
        ({"size": "4k", "memory": "managed-prefetch"}, False),
        ({"size": "4k", "both_ways": "yes"}, False),
        ({"size": "4k", "trace": "yes"}, False),
    ],
)
def test_calls_are_timed_where_they_matter(options, wanted):
    (spec,) = copies(machine(gpus=1), **{"from": "node:0", "to": "gpu:0"}, **options)
    assert spec.call_latency == wanted


def test_both_ways_contends_with_the_opposite_direction_and_counts_it():
    topology = machine(gpus=1)
    (spec,) = copies(topology, both_ways="yes", **{"from": "node:0", "to": "gpu:0"})
    there, back = spec.transfers
    assert (there.source, there.destination) == (back.destination, back.source)
    assert there.reported
    assert back.reported


def test_a_sweep_is_one_copy_for_each_size_memory_and_engine():
    topology = machine(gpus=1)
    specs = copies(
        topology,
        **{
            "from": "node:0",
            "size": "4..256k*16",
            "memory": "pinned,registered",
            "engine": "ce,sm",
        },
    )
    assert len(specs) == 5 * 2 * 2
    assert len({spec.id for spec in specs}) == len(specs)


def test_pages_multiply_only_memory_that_has_a_choice_of_them():
    topology = machine(gpus=1)
    specs = copies(
        topology, **{"from": "node:0", "memory": "pinned,registered", "pages": "base,thp"}
    )
    kinds = [
        (spec.transfers[0].source.memory, spec.transfers[0].source.pages)
        for spec in specs
        if isinstance(spec.transfers[0].source, HostPlace)
    ]
    assert kinds == [("pinned", "base"), ("registered", "base"), ("registered", "thp")]


def test_rows_are_whole_and_count_their_padding_as_memory():
    topology = machine(gpus=1)
    (spec,) = copies(topology, **{"from": "node:0", "size": "1m", "rows": "3000:4096"})
    assert spec.pattern.size % 3000 == 0
    assert spec.host_bytes() == spec.pattern.size // 3000 * 4096


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"from": "gpu:9"}, "--from: there is no GPU 9; this machine's GPUs are 0, 1"),
        ({"from": "node:7"}, "--from: 'node:7' is not among the nodes with host memory, node:0"),
        ({"from": "cpus:0"}, "--from: 'cpus:0' is a set of CPUs; gpu-copy accepts initiators of"),
        ({"from": "node:0@2"}, "--from: 'node:0@2' has weights"),
        ({"from": "gpu:0", "to": "node:0,1@2:1"}, "--to: 'node:0,1@2:1' has weights"),
        ({"from": "node:0", "to": "node:1"}, "no copy that a GPU takes part in"),
        ({"engine": "cee"}, "--engine: 'cee' is not one of ce, sm, tma; did you mean 'ce'?"),
        ({"size": "3q"}, "--size: "),
        ({"streams": "0"}, "--streams: "),
        ({"streams": "65"}, "--streams: "),
        ({"rows": "4k"}, "--rows: '4k' is not ROW:PITCH"),
        ({"rows": "8k:4k"}, "--rows: '8k:4k': pitch is smaller than row_bytes"),
        ({"rows": "4k:8k", "engine": "sm"}, "of rows are copied by engine ce only"),
        ({"pages": "thp"}, "--pages: only pageable and registered"),
        ({"memory": "pageable", "streams": "2"}, "one transfer, one stream"),
        ({"precision": "80%"}, "--precision: "),
    ],
)
def test_a_wrong_request_is_refused_by_its_option(options, said):
    with pytest.raises(UserError) as caught:
        copies(machine(gpus=2), **options)
    assert said in str(caught.value)
    assert caught.value.exit_code is ExitCode.REQUEST_WRONG


def test_pageable_memory_is_refused_both_ways():
    with pytest.raises(UserError, match="one transfer"):
        copies(machine(gpus=1), both_ways="yes", memory="pageable")


def test_a_machine_without_gpus_measures_nothing():
    with pytest.raises(UserError) as caught:
        require_gpus(machine(gpus=0))
    assert caught.value.exit_code is ExitCode.NOTHING_MEASURED


def test_every_set_of_transfers_takes_all_gpus():
    topology = machine(gpus=4)
    plan = plan_of("gpu-together", topology)
    sizes = {
        spec.id.split(".")[1]: len(spec.transfers)
        for spec in plan.measurements
        if isinstance(spec, GpuCopySpec)
    }
    assert sizes == {
        "host-to-all": 4,
        "all-to-host": 4,
        "all-and-host": 8,
        "one-to-all": 3,
        "all-to-one": 3,
        "all-to-all": 12,
    }


def test_all_to_all_starts_with_another_destination_on_each_gpu():
    plan = plan_of("gpu-together", machine(gpus=4), set="all-to-all")
    (spec,) = plan.measurements
    assert isinstance(spec, GpuCopySpec)
    ways = [(transfer.source.gpu, transfer.destination.gpu) for transfer in spec.transfers]
    for turn in range(3):
        assert sorted(destination for _, destination in ways[turn::3]) == [0, 1, 2, 3]


# YAML plans


YAML = """\
measurements:
  - name: link
    kind: gpu-copy
    args: {from: node:0, to: gpu:0}
    matrix: {size: [4k, 1m], engine: [ce, sm]}
  - kind: gpu-together
    args: {set: all-to-host}
  - kind: gpu-memory
    matrix: {op: [read, triad]}
  - kind: gpu-latency
    args: {from: gpu:0, to: gpu:1, order: linear, every-sm: yes}
"""


def planned(text, topology):
    return expand(parse_plan(text, "plan.yaml"), topology, thp=False).measurements


def test_a_yaml_plan_takes_the_kinds_of_gpus():
    specs = planned(YAML, machine(gpus=2))
    assert [spec.kind for spec in specs] == [
        *["gpu-copy"] * 5,
        *["gpu-memory"] * 4,
        "gpu-latency",
    ]
    assert all(spec.id.startswith("link.") for spec in specs[:4])
    assert len({spec.id for spec in specs}) == len(specs)
    last = specs[-1]
    assert isinstance(last, GpuLatencySpec)
    assert last.every_sm
    assert last.pattern.order == "linear"


def test_gpus_and_cpus_go_in_one_plan():
    text = "measurements: [{kind: latency, args: {size: 4k}}, {kind: gpu-copy}]"
    kinds = {spec.kind for spec in planned(text, machine(gpus=1))}
    assert kinds == {"latency", "gpu-copy"}


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{kind: gpu-copy, args: {engine: cee}}", "plan.yaml:1: key 'engine': 'cee' is not one of"),
        ("{kind: gpu-copy, args: {both-ways: maybe}}", "key 'both-ways': 'maybe' is not one of"),
        ("{kind: gpu-copy, args: {to: gpu:9}}", "key 'to': there is no GPU 9"),
        (
            "{kind: gpu-memory, args: {from: node:0}}",
            "key 'from': 'node:0' is a NUMA node",
        ),
        ("{kind: gpu-memory, args: {streams: 4}}", "streams"),
        ("{kind: gpu-latency, args: {engine: tma, stride: 8}}", "key 'stride'"),
        ("{kind: gpu-copie}", "did you mean 'gpu-copy'?"),
    ],
)
def test_a_wrong_key_of_a_yaml_plan_is_named_with_its_line(entry, said):
    with pytest.raises(UserError) as caught:
        planned(f"measurements: [{entry}]", machine(gpus=2))
    assert said in str(caught.value)


@pytest.mark.parametrize(("name", "some"), [("quick", False), ("standard", True), ("full", True)])
@pytest.mark.parametrize("gpus", [0, 1, 2])
def test_longer_profiles_measure_gpus_where_there_are_any(name, some, gpus):
    topology = machine(gpus=gpus)
    specs = SUITES[name].prepare(topology, thp=False).plan.measurements
    kinds = {spec.kind for spec in specs if spec.kind.startswith("gpu")}
    wanted = {"gpu-copy", "gpu-memory", "gpu-latency"} if some and gpus else set()
    assert kinds == wanted


@given(parts=st.lists(st.sampled_from(["gpu0", "node:0", "sm", "x" * 30, "512m"]), min_size=1))
def test_ids_stay_short_and_apart(parts):
    assert len(identity(parts)) <= 64
    assert identity(parts) != identity([*parts, "more"])

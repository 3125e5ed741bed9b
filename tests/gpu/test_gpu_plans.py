"""Plans for GPUs, on made-up machines: which copies there are, who makes them, their limits."""

import itertools

import pytest
from gpu_machine import machine, plan_of, result_of
from hypothesis import given
from hypothesis import strategies as st
from tierscope.model.needs import host_bytes
from tierscope.plans.gpu_nvbandwidth import Settings, make_cells, waived
from tierscope.plans.gpu_nvbandwidth_tests import TESTS
from tierscope.plans.gpu_specs import (
    copy_spec,
    gpu_place,
    home_node,
    host_place,
    identity,
    require_gpus,
    transfer,
)
from tierscope.plans.gpu_story import story
from tierscope.plans.limits import limit_of
from tierscope.plans.profiles import profile_named, profile_requests

from tierscope.kinds.gpu_copy.spec import GpuCopySpec
from tierscope.kinds.gpu_latency.spec import GpuLatencySpec
from tierscope.kinds.plan import Plan
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.gpu import GpuPlace, HostPlace
from tierscope.model.topology import NvLink, PciDevice, PcieLink, Performance
from tierscope.plans.expand import expand
from tierscope.plans.yaml_plan import parse_plan
from tierscope.topology.paths import path_limit


def copies(topology, **given):
    plan = plan_of("gpu-copy", topology, **given)
    return [spec for spec in plan.measurements if isinstance(spec, GpuCopySpec)]


def test_the_story_has_every_node_both_engines_and_both_directions():
    topology = machine(gpus=1, nodes=2, cxl=True)
    ids = [spec.id for spec in story(topology, topology.gpus).measurements]
    for step in ("pageable", "pinned", "large", "node1", "node2", "sm"):
        assert f"gpu0.{step}.to-gpu" in ids
        assert f"gpu0.{step}.to-host" in ids
    assert {"gpu0.both-ways", "gpu0.local", "gpu0.triad", "gpu0.streams.to-gpu"} <= set(ids)


def test_the_story_fits_half_a_minute_for_each_gpu():
    topology = machine(gpus=1)
    budgets = [spec.sampling.budget_s for spec in story(topology, topology.gpus).measurements]
    assert sum(budgets) < 15  # the other half is for set-up


def test_host_threads_are_pinned_to_the_gpus_own_socket():
    topology = machine(gpus=2, nodes=2)
    for spec in story(topology, topology.gpus).measurements:
        node = topology.node(int(spec.initiator[-1]) % 2)
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
    assert (read.initiator, read.target) == ("gpu:1", "gpu:0")


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
    assert host_bytes(spec) == spec.pattern.size // 3000 * 4096


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"from": "gpu:9"}, "--from: there is no GPU 9; this machine's GPUs are 0, 1"),
        ({"from": "node:7"}, "--from: 'node:7' is neither a GPU nor one of the nodes"),
        ({"from": "cpus:0"}, "--from: 'cpus:0' is neither"),
        ({"from": "node:0", "to": "node:1"}, "no copy that a GPU takes part in"),
        ({"engine": "cee"}, "--engine: 'cee' is not one of ce, sm, tma; did you mean 'ce'?"),
        ({"size": "3q"}, "--size: "),
        ({"streams": "0"}, "--streams: "),
        ({"streams": "65"}, "--streams: "),
        ({"rows": "4k"}, "--rows: '4k' is not ROW:PITCH"),
        ({"rows": "8k:4k"}, "--size: pitch is smaller than row_bytes"),
        ({"rows": "4k:8k", "engine": "sm"}, "rows are copied by engine ce only"),
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
        spec.id.split(".")[0]: len(spec.transfers)
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


def limit(topology, transfers):
    found = limit_of(topology, copy_spec("x", transfers, topology))
    assert found is not None
    return found.value


def test_the_limit_of_a_copy_is_its_paths():
    topology = machine(gpus=1)
    one = transfer(host_place(0), gpu_place(0), "ce")
    assert limit(topology, [one]) == pytest.approx(32e9 * 16 * 128 / 130 / 8)


def test_both_ways_have_twice_the_limit_of_one():
    topology = machine(gpus=1)
    there = transfer(host_place(0), gpu_place(0), "ce")
    back = transfer(gpu_place(0), host_place(0), "ce")
    assert limit(topology, [there, back]) == pytest.approx(2 * limit(topology, [there]))


def test_of_many_links_a_slow_one_is_named():
    topology = machine(gpus=4)
    third = topology.pci_device(topology.gpus[2].address)
    narrow = third.model_copy(update={"link": PcieLink(speed=32.0, width=8)})
    devices = [narrow if device is third else device for device in topology.pci]
    topology = topology.model_copy(update={"pci": devices})
    to_host = [transfer(gpu_place(gpu), host_place(0), "ce") for gpu in range(4)]
    found = limit_of(topology, copy_spec("x", to_host, topology))
    assert found.link.startswith(f"PCIe 5.0 x8 at {third.address}")
    assert found.link.endswith("and 3 more links")


def test_all_gpus_to_host_have_all_their_links():
    topology = machine(gpus=4)
    transfers = [transfer(gpu_place(gpu), host_place(0), "ce") for gpu in range(4)]
    assert limit(topology, transfers) == pytest.approx(4 * limit(topology, transfers[:1]))


def test_all_to_one_is_limited_by_the_one():
    topology = machine(gpus=4)
    into = [transfer(gpu_place(gpu), gpu_place(0), "ce", writes=True) for gpu in (1, 2, 3)]
    out = [transfer(gpu_place(0), gpu_place(gpu), "ce", writes=True) for gpu in (1, 2, 3)]
    assert limit(topology, into) == pytest.approx(limit(topology, into[:1]))
    assert limit(topology, out) == pytest.approx(limit(topology, out[:1]))


def meshed():
    """Four GPUs, each with four NVLinks straight to each other one."""
    topology = machine(gpus=4)
    gpus = [
        gpu.model_copy(
            update={
                "nvlinks": [
                    NvLink(version=3, links=4, peer="gpu", peer_address=peer.address)
                    for peer in topology.gpus
                    if peer is not gpu
                ]
            }
        )
        for gpu in topology.gpus
    ]
    return topology.model_copy(update={"gpus": gpus})


@pytest.mark.parametrize(
    ("name", "gigabytes"), [("one-to-all", 300), ("all-to-one", 300), ("all-to-all", 1200)]
)
def test_straight_nvlinks_to_several_peers_add_up(name, gigabytes):
    topology = meshed()
    for spec in plan_of("gpu-together", topology, set=name).measurements:
        found = limit_of(topology, spec)
        assert found is not None
        assert found.value == gigabytes * 1e9


def below_one_switch(topology):
    """The same GPUs below a PCIe switch whose own link is as wide as each of theirs."""
    link = topology.pci[0].link
    port, switch, *down = (
        PciDevice(address=address, parent=parent, root="0000:00", class_code=0x0604, bridge=True)
        for address, parent in [
            ("0000:00:01.0", None),
            ("0000:01:00.0", "0000:00:01.0"),
            *((f"0000:02:{gpu.index:02x}.0", "0000:01:00.0") for gpu in topology.gpus),
        ]
    )
    switch = switch.model_copy(update={"link": link, "link_max": link})
    gpus = [
        device.model_copy(update={"parent": above.address, "root": "0000:00"})
        for device, above in zip(topology.pci, down, strict=True)
    ]
    return topology.model_copy(update={"pci": [port, switch, *down, *gpus]})


@pytest.mark.parametrize(("virtual", "links"), [("", 1), ("kvm", 2)])
def test_gpus_below_one_switch_share_its_link(virtual, links):
    topology = below_one_switch(machine(gpus=2, nodes=1)).model_copy(update={"virtual": virtual})
    (one_way,) = plan_of("gpu-together", topology, set="host-to-all").measurements
    (both_ways,) = plan_of("gpu-together", topology, set="all-and-host").measurements
    one_link = 32e9 * 16 * 128 / 130 / 8
    found = limit_of(topology, one_way)
    assert found is not None
    assert found.value == pytest.approx(links * one_link)
    assert ("0000:01:00.0" in found.link) == (links == 1)
    assert limit_of(topology, both_ways).value == pytest.approx(2 * links * one_link)


def test_gpus_share_the_host_memory_that_they_copy_to():
    topology = machine(gpus=4, nodes=1)
    claim = Performance(initiators=[0], read_bandwidth=100e9)
    nodes = [topology.nodes[0].model_copy(update={"performance": [claim]})]
    topology = topology.model_copy(update={"nodes": nodes})
    for name in ("all-to-host", "all-and-host"):
        (spec,) = plan_of("gpu-together", topology, set=name).measurements
        found = limit_of(topology, spec)
        assert found is not None
        assert found.value == pytest.approx(100e9)
        assert "node 0" in found.link


def test_small_copies_inside_a_gpu_have_no_limit_since_they_may_be_in_the_l2():
    topology = machine(gpus=1)
    small, large = copies(topology, **{"from": "gpu:0", "to": "gpu:0", "size": "16m,512m"})
    assert limit_of(topology, small) is None
    assert limit_of(topology, large) is not None


def test_a_copy_inside_a_gpu_has_half_its_memorys_rate():
    topology = machine(gpus=1)
    own = gpu_place(0)
    from tierscope.model.endpoint import parse_endpoint

    memory = path_limit(topology, parse_endpoint("gpu:0"), parse_endpoint("gpu:0"))
    assert memory is not None
    assert limit(topology, [transfer(own, own, "ce")]) == pytest.approx(memory.value / 2)


def test_small_arrays_have_no_limit_since_they_may_be_in_the_l2():
    topology = machine(gpus=1)
    plan = plan_of("gpu-memory", topology, op="read", size="16m,1g")
    small, large = (limit_of(topology, spec) for spec in plan.measurements)
    assert small is None
    assert large is not None


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
        ("{kind: gpu-memory, args: {from: node:0}}", "key 'from': name GPUs"),
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
    requests = profile_requests(profile_named(name), topology)
    specs = expand(requests, topology, thp=False).measurements
    kinds = {spec.kind for spec in specs if spec.kind.startswith("gpu")}
    wanted = {"gpu-copy", "gpu-memory", "gpu-latency"} if some and gpus else set()
    assert kinds == wanted


@given(parts=st.lists(st.sampled_from(["gpu0", "node:0", "sm", "x" * 30, "512m"]), min_size=1))
def test_ids_stay_short_and_apart(parts):
    text = ".".join(parts)
    assert len(identity(text)) <= 64
    assert (identity(text) == identity(text + ".more")) is False


# nvbandwidth


V08 = (
    "host_to_device_memcpy_ce",
    "device_to_host_memcpy_ce",
    "host_to_device_bidirectional_memcpy_ce",
    "device_to_host_bidirectional_memcpy_ce",
    "device_to_device_memcpy_read_ce",
    "device_to_device_memcpy_write_ce",
    "device_to_device_bidirectional_memcpy_read_ce",
    "device_to_device_bidirectional_memcpy_write_ce",
    "all_to_host_memcpy_ce",
    "all_to_host_bidirectional_memcpy_ce",
    "host_to_all_memcpy_ce",
    "host_to_all_bidirectional_memcpy_ce",
    "all_to_one_write_ce",
    "all_to_one_read_ce",
    "one_to_all_write_ce",
    "one_to_all_read_ce",
)
NEW = (
    "device_to_device_memcpy_read_tma",
    "device_to_device_memcpy_write_tma",
    "device_to_device_bidirectional_memcpy_read_tma",
    "device_to_device_bidirectional_memcpy_write_tma",
    "device_local_copy_sm",
    "device_local_read_sm",
    "device_local_write_sm",
    "device_to_device_latency_tma",
    "device_local_copy_tma",
)


def test_names_and_indices_are_nvbandwidths():
    names = [test.name for test in TESTS]
    assert names[:16] == list(V08)
    assert names[16:32] == [name.replace("_ce", "_sm") for name in V08]
    assert names[32:35] == [
        "host_device_latency_sm",
        "device_to_device_latency_sm",
        "device_local_copy",
    ]
    assert sorted(names[35:]) == sorted(NEW)


def test_on_one_gpu_seventeen_of_thirty_five_are_waived_with_the_reason():
    topology = machine(gpus=1)
    settings = Settings(topology=topology, gpus=topology.gpus)
    reasons = [waived(test, settings) for test in TESTS[:35]]
    assert sum(map(bool, reasons)) == 17
    assert set(filter(None, reasons)) == {"takes 2 GPUs, and there is 1"}


@pytest.mark.parametrize("gpus", [1, 2, 8])
def test_cells_fill_their_matrices(gpus):
    topology = machine(gpus=gpus)
    settings = Settings(topology=topology, gpus=topology.gpus)
    specs = []
    for test in TESTS:
        if waived(test, settings):
            continue
        cells = make_cells(test, settings)
        specs += [cell.spec for cell in cells]
        wanted = gpus * (gpus - 1) if test.square else gpus
        assert len(cells) == wanted, test.name
        assert len({(cell.row, cell.column) for cell in cells}) == wanted
    Plan(version=1, measurements=specs)  # ids are unique, and every spec is valid


def named(name):
    return next(test for test in TESTS if test.name == name)


def cell(name, row, column, gpus=4):
    topology = machine(gpus=gpus)
    cells = make_cells(named(name), Settings(topology=topology, gpus=topology.gpus))
    return next(entry.spec for entry in cells if (entry.row, entry.column) == (row, column))


def ends(one):
    def index(place):
        return place.gpu if isinstance(place, GpuPlace) else "host"

    return index(one.source), index(one.destination), one.gpu


def test_read_and_write_go_the_way_that_nvbandwidths_rows_and_columns_say():
    assert [ends(t) for t in cell("device_to_device_memcpy_read_ce", 1, 2).transfers] == [(2, 1, 1)]
    assert [ends(t) for t in cell("device_to_device_memcpy_write_ce", 1, 2).transfers] == [
        (1, 2, 1)
    ]


def test_reads_of_the_one_and_all_family_are_reads_the_way_that_nvbandwidths_bytes_go():
    for one in cell("all_to_one_read_sm", 0, 1).transfers:
        source, destination, worker = ends(one)
        assert source == 1
        assert worker == destination
    for one in cell("one_to_all_read_sm", 0, 1).transfers:
        assert ends(one)[1:] == (1, 1)


@pytest.mark.parametrize(("side", "worker"), [("read", 1), ("write", 2)])
def test_both_ways_between_gpus_begin_with_the_way_to_the_row(side, worker):
    spec = cell(f"device_to_device_bidirectional_memcpy_{side}_ce", 1, 2)
    assert ends(spec.transfers[0]) == (2, 1, worker)
    assert ends(spec.transfers[1])[:2] == (1, 2)


def test_latency_is_chased_as_nvbandwidth_does():
    spec = cell("host_device_latency_sm", 0, 0)
    assert spec.pattern.order == "linear"
    assert spec.every_sm
    assert (spec.pattern.size, spec.pattern.stride) == (2 << 20, 128)


def test_host_tests_report_one_gpu_and_let_the_others_contend():
    spec = cell("host_to_all_bidirectional_memcpy_ce", 0, 2)
    assert [ends(t)[:2] for t in spec.transfers if t.reported] == [("host", 2)]
    assert len(spec.transfers) == 8


def test_a_result_can_be_made_for_every_kind():
    assert result_of(cell("device_to_device_latency_tma", 0, 1)).unit == "ns"

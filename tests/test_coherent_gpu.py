"""The study of coherent GPUs: on synthetic machines it plans every figure of the published one."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.topology.coherent_machines import GIB, gb200, gh200, two_gh200

from forked import tierscope
from tierscope.machine.hwloc import read_hwloc
from tierscope.machine.paths import MachinePaths
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.topology import NodeKind, Topology
from tierscope.plans.fit import check_memory
from tierscope.suites.coherent_gpu import pairs_of, region_sizes
from tierscope.suites.registry import SUITES
from tierscope.suites.suite import Prepared

RECIPE = SUITES["coherent-gpu"]
OPERATIONS = ("read", "write")
ORDERS = ("sequential", "random")
THREADS = [1, *range(4, 73, 4)]
"""The columns of the study's maps."""
ACCESS_SIZES = [64 << power for power in range(11)]
"""Their rows: 64 B to 64 KiB."""


@pytest.fixture(scope="module")
def grace_hopper(tmp_path_factory: pytest.TempPathFactory) -> Topology:
    return read_hwloc(gh200(tmp_path_factory.mktemp("gh200")))


@pytest.fixture(scope="module")
def prepared(grace_hopper: Topology) -> Prepared:
    return RECIPE.prepare(grace_hopper, thp=True)


def specs(prepared: Prepared, kind: str) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield the identity and the spec of all measurements of a kind."""
    for spec in prepared.plan.measurements:
        if spec.kind == kind:
            yield spec.identity(), spec


def test_bandwidth_is_planned_over_threads_and_access_sizes(prepared: Prepared) -> None:
    planned = {
        (spec.target, one["operation"], one["order"], one["access_size"], one["threads"])
        for one, spec in specs(prepared, "bandwidth")
        if one["size"] == 10 * GIB
    }
    for target in ("node:0", "node:1"):
        for operation in OPERATIONS:
            for order in ORDERS:
                found = {key[3:] for key in planned if key[:3] == (target, operation, order)}
                assert found == {(size, count) for size in ACCESS_SIZES for count in THREADS}


def test_threads_are_swept_over_regions_of_10_to_90_gib(prepared: Prepared) -> None:
    planned = {
        (spec.target, one["operation"], one["order"], one["size"] // GIB, one["threads"])
        for one, spec in specs(prepared, "bandwidth")
        if one["access_size"] == 64 and "policy" not in one
    }
    wanted = {
        (target, operation, order, size, count)
        for target in ("node:0", "node:1")
        for operation in OPERATIONS
        for order in ORDERS
        for size in range(10, 91, 10)
        for count in THREADS
    }
    assert wanted <= planned


def test_latency_is_planned_idle_and_over_0_to_71_load_threads(prepared: Prepared) -> None:
    assert {spec.target for _, spec in specs(prepared, "latency")} == {"node:0", "node:1"}
    curves: dict[tuple[str, str, str], list[int]] = {}
    for one, spec in specs(prepared, "loaded-latency"):
        assert spec.load.target == spec.target
        assert spec.load.pattern.access_size == 64
        key = (spec.target, one["mix"], one["load_order"])
        curves.setdefault(key, []).append(one["load_threads"])
    assert len(curves) == 2 * 2 * 2
    idle = [counts.pop(0) for counts in curves.values() if 0 in counts]
    assert idle == [0, 0], "each memory once: what would load makes no difference"
    assert all(counts == list(range(1, 72)) for counts in curves.values())


def test_pages_are_spread_from_80_to_1_to_1_to_80(prepared: Prepared) -> None:
    ratios: dict[tuple[str, str, str], set[tuple[int, ...]]] = {}
    for one, spec in specs(prepared, "traffic"):
        assert (one["access_size"], one["size"]) == (64, 90 * GIB)
        if spec.placement.policy == "weighted":
            assert len(spec.cpus) == 72
            weights = tuple(share.weight for share in spec.placement.nodes)
            ratios.setdefault((spec.pattern.mix, one["order"], one["pages"]), set()).add(weights)
    expected = {(near, 1) for near in (80, 20, 8, 4, 2, 1)}
    expected |= {(1, far) for far in (80, 20, 8, 4, 2)}
    assert set(ratios) == {
        (mix, order, pages)
        for mix in ("100:0", "0:100")
        for order in ORDERS
        for pages in ("base", "thp", "2m")
    }
    assert all(found == expected for found in ratios.values())


def test_arrays_are_partitioned_from_0_to_100_percent_in_all_pages(prepared: Prepared) -> None:
    shares: dict[tuple[str, str, str], set[float]] = {}
    for one, spec in specs(prepared, "bandwidth"):
        if one["size"] != 90 * GIB or one["threads"] != 72 or one["access_size"] != 64:
            continue
        weights = {share.node: share.weight for share in spec.placement.nodes}
        share = weights.get(0, 0) / sum(weights.values())
        shares.setdefault((one["operation"], one["order"], one["pages"]), set()).add(share)
    for operation in OPERATIONS:
        for order in ORDERS:
            for pages in ("base", "2m", "512m"):
                found = shares[operation, order, pages]
                assert found == {percent / 100 for percent in range(0, 101, 10)}


def test_what_the_gpu_initiates_is_planned(prepared: Prepared) -> None:
    copies = {
        (spec.initiator, spec.target, one.get("engine"), one.get("memory"))
        for one, spec in specs(prepared, "gpu-copy")
    }
    assert len(copies) == 8
    targets = {spec.target for _, spec in specs(prepared, "gpu-latency")}
    assert targets == {"gpu:0", "node:0"}


def test_every_figure_over_the_link_has_its_limit(
    prepared: Prepared, grace_hopper: Topology
) -> None:
    paths = MachinePaths(grace_hopper)
    limits = {
        one["operation"]: limit
        for one, spec in specs(prepared, "bandwidth")
        if spec.target == "node:1" and (limit := spec.limit(paths))
    }
    assert {operation: limit.value for operation, limit in limits.items()} == {
        "read": 450e9,
        "write": 450e9,
    }
    assert all("NVLink-C2C" in limit.link for limit in limits.values())
    # The memory behind the link is faster, and bounds what the GPU itself does.
    path = paths.path("node:0", "node:1")
    assert [hop.limit and hop.limit.value for hop in path.hops] == [450e9, 4e12]


def test_the_plan_fits_the_machine(prepared: Prepared, grace_hopper: Topology) -> None:
    check_memory(prepared.plan, grace_hopper)
    assert prepared.notes == () or all("database" in note for note in prepared.notes)


def test_a_second_superchip_is_measured_in_short_and_its_nodes_are_a_set(tmp_path: Path) -> None:
    topology = read_hwloc(two_gh200(tmp_path))
    pairs = [(pair.near.number, pair.far.number) for pair in pairs_of(topology)]
    assert pairs == [(0, 2), (1, 10), (0, 10), (1, 2)]
    prepared = RECIPE.prepare(topology, thp=True)
    check_memory(prepared.plan, topology)
    paths = {(spec.initiator, spec.target) for _, spec in specs(prepared, "bandwidth")}
    assert {(f"node:{near}", f"node:{far}") for near, far in pairs} <= paths
    partitioned = {
        spec.target: [(share.node, share.weight) for share in spec.placement.nodes]
        for _, spec in specs(prepared, "bandwidth")
        if spec.placement.policy == "partition"
    }
    assert partitioned["node:0,1@1:1"] == [(0, 1), (1, 1)]  # 100%
    assert partitioned["node:2,10@1:1"] == [(2, 1), (10, 1)]  # 0%
    assert partitioned["node:0,1,2,10@3:3:7:7"] == [(0, 3), (1, 3), (2, 7), (10, 7)]


def test_a_tray_of_gb200_has_four_memories_of_gpus(tmp_path: Path) -> None:
    topology = read_hwloc(gb200(tmp_path))
    far = [node for node in topology.nodes if node.kind is NodeKind.GPU]
    assert [node.number for node in far] == [2, 10, 18, 26]
    assert [(pair.near.number, pair.far.number) for pair in pairs_of(topology)][:4] == [
        (0, 2), (0, 10), (1, 18), (1, 26),
    ]  # fmt: skip
    prepared = RECIPE.prepare(topology, thp=True)
    check_memory(prepared.plan, topology)
    limit = MachinePaths(topology).limit("node:1", "node:26")
    assert limit is not None
    assert limit.value == 450e9


def test_a_cpu_less_node_stands_in_for_a_gpu_s(machine: Topology) -> None:
    prepared = RECIPE.prepare(machine, thp=True)
    assert any("node 2 (" in note and "stands in" in note for note in prepared.notes)
    assert any("no GPU was found" in note for note in prepared.notes)
    assert any(spec.kind == "gpu-copy" for spec in prepared.plan.measurements)
    sizes = region_sizes(machine, [node for node in machine.nodes if node.number in (0, 2)])
    assert len(sizes) == 9
    assert sizes[-1] <= 8 * GIB


def test_a_machine_without_such_a_node_is_refused(machine: Topology) -> None:
    alone = machine.model_copy(update={"nodes": machine.nodes[:2]})
    with pytest.raises(UserError, match="this machine has no CPU-less node") as refused:
        RECIPE.prepare(alone, thp=True)
    assert refused.value.exit_code is ExitCode.NOTHING_MEASURED


def test_the_command_plans_for_another_machine(tmp_path: Path) -> None:
    words = ["run", "--profile", "coherent-gpu", "--dry-run", "--topology", str(gh200(tmp_path))]
    done = tierscope(*words, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found["plan"]["measurements"]) > 4000
    assert found["estimate"]["peak_bytes"] == 90 * GIB


@pytest.mark.parametrize("words", [["--profile", "quick"], ["plan.yaml", "--dry-run"]])
def test_another_machine_is_planned_for_only(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "plan.yaml").write_text("measurements: [{kind: latency}]")
    done = tierscope("run", *words, "--topology", str(gh200(tmp_path)), folder=tmp_path)
    assert done.returncode == 2
    assert "--topology plans a profile for another machine" in done.stderr
    assert done.stderr.count("\n") == 1


def test_topo_shows_a_gpu_s_memory_and_its_link(tmp_path: Path) -> None:
    done = tierscope("topo", "--input", str(gh200(tmp_path)))
    line = next(line for line in done.stdout.splitlines() if " node 1 " in line)
    assert "GPU 95 GiB, CPU-less, of gpu:0 over NVLink-C2C, 450 GB/s" in " ".join(line.split())


def test_operations_of_databases_have_their_parts_on_both_memories(prepared: Prepared) -> None:
    found = {
        (one["operation"], one["threads"], one["on_inner"], one["on_leaves"])
        for one, _ in specs(prepared, "ops")
        if (one["inner_node"], one["leaf_node"]) == (2048, 1024)
    }
    nodes = ("node:0", "node:1")
    wanted = itertools.product(("lookup", "update"), (1, *range(4, 73, 4)), nodes, nodes)
    assert found == set(wanted)

"""The study of coherent GPUs: its plan on synthetic GH200 and GB200, and on stand-ins for them."""

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.topology.coherent_machines import GIB, gb200, gh200, two_gh200

from forked import tierscope
from tierscope.kinds.plan import Spec
from tierscope.machine.hwloc import read_hwloc
from tierscope.machine.paths import MachinePaths
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.topology import NodeKind, Topology
from tierscope.peers.cxlbench.placing import Means
from tierscope.peers.cxlbench.plan import prepare
from tierscope.peers.cxlbench.workload import parse_workload
from tierscope.plans.expand import expand
from tierscope.plans.fit import check_memory
from tierscope.suites.coherent_gpu import gib_here, pairs_of, study
from tierscope.suites.registry import SUITES
from tierscope.suites.suite import Prepared

RECIPE = SUITES["coherent-gpu"]
NODES = ("node:0", "node:1")

ORDERS = [("sequential", "read"), ("sequential", "write"), ("random", "read"), ("random", "write")]
EVERY = [1, *range(4, 73, 4)]
ALL = "numa_task_nodes: [0], number_partitions: 1, run_time: 10"
WEIGHTS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 16, 20, 40, 80]
RATIOS = [*([1, far] for far in reversed(WEIGHTS)), *([near, 1] for near in WEIGHTS[1:])]
TREE = "m0_r_2048,m0_r_2048,m1_r_1024"


def _footprints(node: int) -> str:
    """As the folders bw_gh200_local and bw_gh200_gpumem, which are alike but for the node."""
    threads = [1, 4, *range(8, 73, 8)]
    sizes = ", ".join(f"{number}G" for number in range(10, 91, 10))
    return "".join(
        f"{order}_{operation}:\n"
        f"  matrix: {{number_threads: {threads}, memory_region_size: [{sizes}]}}\n"
        f"  args: {{exec_mode: {order}, operation: {operation}, numa_memory_nodes: [{node}],\n"
        f"         access_size: 64, {ALL}}}\n"
        for order, operation in ORDERS
    )


def _expansion() -> str:
    """As the folder bw_gh200_expansion."""
    return "".join(
        f"{order}_{operation}:\n"
        f"  matrix: {{numa_memory_node_weights: {RATIOS}}}\n"
        f"  args: {{exec_mode: {order}, operation: {operation}, numa_memory_nodes: [0, 1],\n"
        f"         number_threads: 72, access_size: 64, memory_region_size: 90G, {ALL}}}\n"
        for order, operation in ORDERS
    )


def _maps(node: int) -> str:
    """As the settings beside the published results of the maps of threads by access size."""
    sizes = [64 << power for power in range(11)]
    return "".join(
        f"{order}_{operation}:\n"
        f"  matrix: {{number_threads: {EVERY}, access_size: {sizes}}}\n"
        f"  args: {{exec_mode: {order}, operation: {operation}, numa_memory_nodes: [{node}],\n"
        f"         memory_region_size: 7G, {ALL}}}\n"
        for order, operation in ORDERS
    )


def _tree() -> str:
    """As the settings beside the published results of the tree."""
    update = f"{TREE},m1_w_64_none_512,m1_w_64_none_-512,m1_w_64_none"
    return "".join(
        f"tree_index_{name}:\n"
        f"  matrix: {{number_threads: {EVERY}, custom_operations: ['{chain}'],\n"
        "           numa_memory_nodes: [[0], [1]], secondary_numa_memory_nodes: [[0], [1]]}\n"
        "  args: {exec_mode: custom, memory_region_size: 5G, secondary_memory_region_size: 8G,\n"
        "         numa_task_nodes: [0], number_operations: 100000000}\n"
        for name, chain in (("lookup", TREE), ("update", update))
    )


PUBLISHED = {
    "footprints of local memory": _footprints(0),
    "footprints of GPU memory": _footprints(1),
    "expansion": _expansion(),
    "maps of local memory": _maps(0),
    "maps of GPU memory": _maps(1),
    "tree": _tree(),
}
"""What the study measured, in its benchmark's words, restated."""


def measured_by(spec: Spec) -> str:
    """All that a measurement is, but its name and how long it is sampled."""
    return repr(spec.model_dump(exclude={"id", "sampling"}))


@pytest.fixture(scope="module")
def grace_hopper(tmp_path_factory: pytest.TempPathFactory) -> Topology:
    return read_hwloc(gh200(tmp_path_factory.mktemp("gh200")))


@pytest.fixture(scope="module")
def prepared(grace_hopper: Topology) -> Prepared:
    return RECIPE.prepare(grace_hopper, thp=True)


@pytest.fixture(scope="module")
def studied(grace_hopper: Topology) -> set[str]:
    """The profile's measurements that are the study's own."""
    requests = list(study(grace_hopper, pairs_of(grace_hopper)[0]))
    return set(map(measured_by, expand(requests, grace_hopper, thp=True).measurements))


def imported(text: str, machine: Topology) -> set[str]:
    """The measurements that a published file becomes, all of them."""
    found = prepare(parse_workload(text, "published.yaml"), Means(machine))
    assert not [case.refused for case in found.cases if case.refused]
    return set(map(measured_by, found.specs))


def specs(prepared: Prepared, kind: str) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield the identity and the spec of all measurements of a kind."""
    for spec in prepared.plan.measurements:
        if spec.kind == kind:
            yield spec.identity(), spec


def test_the_profile_measures_what_the_published_files_do(
    studied: set[str], prepared: Prepared, grace_hopper: Topology
) -> None:
    parts = [imported(text, grace_hopper) for text in PUBLISHED.values()]
    assert sum(map(len, parts)) == 2 * 4 * 11 * 9 + 4 * 29 + 2 * 4 * 19 * 11 + 2 * 4 * 19
    assert studied == functools.reduce(set.union, parts)
    assert studied <= set(map(measured_by, prepared.plan.measurements))


@pytest.mark.parametrize(
    ("part", "published", "planted"),
    [
        ("expansion", "number_partitions: 1", "number_partitions: 0"),
        ("expansion", "run_time: 10", "transparent_huge_pages: true"),
        ("expansion", "[80, 1]", "[81, 1]"),
        ("expansion", "memory_region_size: 90G", "memory_region_size: 80G"),
        ("expansion", "number_threads: 72", "number_threads: 71"),
        ("expansion", "access_size: 64", "access_size: 128"),
        ("expansion", "exec_mode: random", "exec_mode: sequential_desc"),
        ("expansion", "run_time: 10", "thread_pin_mode: single-numa"),
        ("tree", "m1_r_1024", "m1_r_512"),
        ("tree", "w_64_none_512", "w_64_nocache_512"),
        ("tree", "secondary_memory_region_size: 8G", "secondary_memory_region_size: 7G"),
    ],
)
def test_a_planted_difference_is_found(
    studied: set[str], grace_hopper: Topology, part: str, published: str, planted: str
) -> None:
    assert published in PUBLISHED[part]
    assert imported(PUBLISHED[part].replace(published, planted), grace_hopper) - studied


def test_latency_is_planned_idle_and_over_0_to_71_load_threads(prepared: Prepared) -> None:
    idle = {(spec.target, one["pages"]) for one, spec in specs(prepared, "latency")}
    assert idle == {(node, pages) for node in NODES for pages in ("base", "thp")}
    curves: dict[tuple[str, str, str], list[int]] = {}
    for one, spec in specs(prepared, "loaded-latency"):
        assert spec.load.target == spec.target
        assert spec.load.pattern.access_size == 64
        key = (spec.target, one["mix"], one["load_order"])
        curves.setdefault(key, []).append(one["load_threads"])
    assert len(curves) == 2 * 2 * 2
    idle_points = [counts.pop(0) for counts in curves.values() if 0 in counts]
    assert idle_points == [0, 0], "each memory once: what would load makes no difference"
    assert all(counts == [*range(4, 69, 4), 71] for counts in curves.values())


def test_arrays_are_partitioned_from_10_to_90_percent(prepared: Prepared) -> None:
    shares: dict[tuple[str, str], set[float]] = {}
    for one, spec in specs(prepared, "bandwidth"):
        if spec.placement.policy == "partition":
            assert (one["size"], one["threads"], one["pages"]) == (90 * GIB, 72, "base")
            weights = {share.node: share.weight for share in spec.placement.nodes}
            share = weights[0] / sum(weights.values())
            shares.setdefault((one["order"], one["operation"]), set()).add(share)
    assert set(shares) == set(ORDERS)
    assert all(found == {percent / 100 for percent in range(10, 91, 10)}
               for found in shares.values())  # fmt: skip


def test_large_pages_stand_beside_the_study_s_base_pages(prepared: Prepared) -> None:
    found = {
        (spec.target, one["order"], one["operation"], one["size"] // GIB)
        for one, spec in specs(prepared, "bandwidth")
        if one["pages"] == "thp"
    }
    assert found == {(node, *what, size) for node in NODES for what in ORDERS for size in (7, 90)}


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
    assert prepared.notes == ()


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
    unit = gib_here(machine, [node for node in machine.nodes if node.number in (0, 2)])
    assert 90 * unit <= 8 * GIB
    assert any("smaller than the study's" in note for note in prepared.notes)
    check_memory(prepared.plan, machine)


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
    assert len(found["plan"]["measurements"]) > 2732
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
    }
    operations = ("lookup", "update")
    assert found == {(one, 72, inner, leaves)
                     for one in operations for inner in NODES for leaves in NODES}  # fmt: skip

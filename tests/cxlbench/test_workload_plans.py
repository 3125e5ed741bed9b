"""What CXL-Bench's cases become on a machine: kinds, threads, places, sizes, and refusals."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.kinds.plan import Spec
from tierscope.machine.hwloc import read_hwloc
from tierscope.model.errors import UserError
from tierscope.model.persistent import Dax
from tierscope.model.run import Case
from tierscope.model.topology import Topology
from tierscope.peers.cxlbench.placing import Means, parse_mapping
from tierscope.peers.cxlbench.plan import Prepared, prepare
from tierscope.peers.cxlbench.workload import CACHE, MODES, OPERATIONS, expand, parse_workload

WORKLOADS = Path(__file__).parent / "workloads"
GIB = 1 << 30
MIB = 1 << 20
MACHINE = read_hwloc(Path(__file__).parent.parent / "topology/xml/xeon-cluster-on-die.xml")
WHERE = "numa_memory_nodes: [0], numa_task_nodes: [0], memory_region_size: 1G"


def prepared(text: str, machine: Topology, **means: Any) -> Prepared:
    return prepare(parse_workload(text, "w.yaml"), Means(machine, **means))


def of_file(name: str, machine: Topology, **means: Any) -> Prepared:
    return prepare(parse_workload((WORKLOADS / name).read_text(), name), Means(machine, **means))


def one(args: str, machine: Topology, **means: Any) -> tuple[Spec, Case]:
    """The spec of a single case."""
    found = prepared(f"a: {{args: {{{args}}}}}", machine, **means)
    (case,) = found.cases
    assert not case.refused, case.refused
    (spec,) = found.specs
    assert case.measurements == [spec.id]
    return spec, case


def refused(args: str, machine: Topology, **means: Any) -> str:
    found = prepared(f"a: {{args: {{{args}}}}}", machine, **means)
    (case,) = found.cases
    assert case.measurements == []
    assert found.specs == []
    return case.refused


@pytest.mark.parametrize(
    ("args", "kind", "pattern"),
    [
        ("operation: read", "bandwidth", {"operation": "read", "order": "sequential"}),
        ("exec_mode: sequential_desc", "bandwidth", {"operation": "read", "order": "reverse"}),
        ("operation: write, flush_instruction: nocache", "bandwidth", {"operation": "write-nt"}),
        ("operation: stream-write", "bandwidth", {"operation": "write-nt"}),
        ("operation: write, cache_instruction: stream", "bandwidth", {"operation": "write-nt"}),
        # The first branch leaves flush instructions out where nothing is written.
        ("operation: read, flush_instruction: nocache", "bandwidth", {"operation": "read"}),
        (
            "operation: write, exec_mode: random, access_size: 4k",
            "bandwidth",
            {
                "operation": "write",
                "order": "random",
                "access_size": 4096,
                "sharing": "partitioned",
            },
        ),
        (
            "exec_mode: random, number_threads: 4",
            "bandwidth",
            {"order": "random", "sharing": "shared", "access_size": 256},
        ),
        (
            "exec_mode: random, number_threads: 4, number_partitions: 0",
            "bandwidth",
            {"order": "random", "sharing": "partitioned"},
        ),
        (
            "exec_mode: random, random_distribution: zipf, zipf_alpha: 0.5",
            "bandwidth",
            {"order": "zipf", "zipf_alpha": 0.5},
        ),
        (
            "operation: write, cache_instruction: write-back",
            "traffic",
            {"writes": 100, "stores": "clwb", "order": "sequential", "access_size": 256},
        ),
        (
            "operation: write, flush_instruction: cache, exec_mode: random",
            "traffic",
            {"writes": 100, "stores": "clwb", "order": "random"},
        ),
        (
            "exec_mode: dependent_reads, access_size: 64",
            "latency",
            {"order": "random", "stride": 64, "size": GIB},
        ),
        ("exec_mode: dependent_reads, access_size: 4k", "chain", {"linked": True}),
        ("exec_mode: custom, custom_operations: r_64", "chain", {"linked": False}),
        (
            "exec_mode: latency, operation: memory-unmap-shared",
            "mapping",
            {"sharing": "shared", "size": GIB, "pages": "base", "populate": "call"},
        ),
    ],
)
def test_a_case_becomes_the_kind_that_makes_its_accesses(
    args: str, kind: str, pattern: dict[str, Any], machine: Topology
) -> None:
    spec, _ = one(f"{WHERE}, {args}", machine)
    found = spec.model_dump(mode="json")
    assert found["kind"] == kind
    assert {key: found["pattern"][key] for key in pattern} == pattern


@pytest.mark.parametrize(
    ("args", "chain", "linked", "every"),
    [
        ("exec_mode: random, access_size: 8", "r_8", False, 1),
        ("exec_mode: random, access_size: 8, operation: write", "w_8_none", False, 1),
        (
            "exec_mode: random, access_size: 64, cache_instruction: flush-opt",
            "r_64_flush-opt",
            False,
            1,
        ),
        ("exec_mode: random, access_size: 64, operation: stream-read", "nt-load", False, 1),
        ("exec_mode: random, operation: fetch-and-add", "faa", False, 1),
        (
            "exec_mode: random_latency, access_size: 64, latency_sample_frequency: 1000",
            "read",
            True,
            1000,
        ),
        (
            "exec_mode: random_latency, operation: w, flush_instruction: cache, access_size: 64",
            "r_8,mfence,w_64_cache,mfence",
            True,
            1,
        ),
        # Its cache and nocache have an SFENCE behind each write; none has not.
        (
            "exec_mode: custom, custom_operations: 'r_64,w_64_cache,w_64_nocache_64,w_64_none'",
            "r_64,w_64_cache,sfence,w_64_nocache_64,sfence,w_64_none",
            False,
            1,
        ),
        (
            "exec_mode: random, access_size: 8, operation: write, flush_instruction: cache",
            "w_8_cache,sfence",
            False,
            1,
        ),
        ("exec_mode: latency, operation: compare-and-swap, access_size: 8", "cas", True, 1),
        (
            "exec_mode: custom, custom_operations: 'r_2048,m0_w_64_none_512,w_64_none_-512'",
            "r_2048,w_64_none_512,w_64_none_-512",
            False,
            1,
        ),
    ],
)
def test_single_accesses_become_chains(
    args: str, chain: str, linked: bool, every: int, machine: Topology
) -> None:
    spec, _ = one(f"{WHERE}, {args}", machine)
    pattern = spec.model_dump(mode="json")["pattern"]
    assert spec.identity()["chain"] == chain
    assert (pattern["linked"], pattern["sample_every"]) == (linked, every)


def test_threads_run_where_the_file_says(machine: Topology) -> None:
    node = sorted(machine.nodes[0].cpus)
    floating, _ = one(f"{WHERE}, number_threads: 3", machine)
    assert floating.model_dump()["cpu_sets"] == [node] * 3
    assert floating.model_dump()["cpus"] == node
    many, _ = one(f"{WHERE}, number_threads: 20", machine)
    assert len(many.model_dump()["cpu_sets"]) == 20
    fitted, case = one(f"{WHERE}, number_threads: 20", machine, fit=True)
    assert len(fitted.model_dump()["cpu_sets"]) == 8
    assert "8 threads for 20" in case.notes
    pinned, _ = one(f"{WHERE}, number_threads: 3, thread_pin_mode: single-numa", machine)
    assert (pinned.model_dump()["cpus"], pinned.model_dump()["cpu_sets"]) == (node[:3], None)
    where = "numa_memory_nodes: [0], thread_pin_mode: single-fixed"
    fixed, _ = one(f"{where}, thread_cores: [9, 2], number_threads: 2", machine)
    assert fixed.model_dump()["cpus"] == [9, 2]
    assert fixed.initiator == "cpus:2,9"
    twice, _ = one(f"{where}, thread_cores: [3, 3], number_threads: 2", machine)
    assert twice.model_dump()["cpu_sets"] == [[3], [3]]
    other, case = one(f"{where}, thread_cores: [25]", machine, fit=True)
    assert other.model_dump()["cpus"] == [0]
    assert "CPU 25 is CPU 0" in case.notes


def test_weights_and_partitions_become_placements(machine: Topology) -> None:
    where = "numa_memory_nodes: [0, 2], numa_task_nodes: [0], memory_region_size: 1G"
    both, _ = one(where, machine)
    assert (both.target, both.regions()[0].placement.policy) == ("node:0,2", "interleave")
    weighted, _ = one(f"{where}, numa_memory_node_weights: [80, 1]", machine)
    assert weighted.target == "node:0,2@80:1"
    assert weighted.regions()[0].placement.policy == "weighted"
    split, _ = one(f"{where}, percentage_pages_first_partition: 95", machine)
    assert split.target == "node:0,2@19:1"
    assert split.regions()[0].placement.policy == "partition"
    whole, _ = one(f"{where}, percentage_pages_first_partition: 0", machine)
    assert (whole.target, whole.regions()[0].placement.policy) == ("node:2", "bind")
    alone, case = one(f"{where}, numa_memory_node_weights: [0, 5]", machine)
    assert alone.target == "node:2"
    assert case.notes == ["nodes of weight 0 get no pages"]
    several, case = one(
        "numa_memory_nodes: [0, 1, 2], numa_task_nodes: [0], memory_region_size: 1G, "
        "percentage_pages_first_partition: 50, node_count_first_partition: 2",
        machine,
    )
    assert (several.target, case.notes) == ("node:0,1,2@1:1:2", [])
    assert several.regions()[0].placement.ranges == [2, 1]
    assert several.identity()["ranges"] == "2+1"


@pytest.mark.parametrize(
    ("percent", "first", "nodes", "becomes"),
    [
        (95, 2, "[0, 1, 2, 3]", ("partition", [19, 19, 1, 1], [2, 2])),
        (33, 3, "[0, 1, 2, 3]", ("partition", [11, 11, 11, 67], [3, 1])),
        (100, 2, "[0, 1, 2]", ("interleave", [1, 1], None)),
        (0, 1, "[0, 1, 2]", ("interleave", [1, 1], None)),
        (50, 1, "[0, 2]", ("partition", [1, 1], None)),
    ],
)
def test_each_partition_takes_its_nodes_in_turn(
    percent: int, first: int, nodes: str, becomes: object
) -> None:
    spec, case = one(
        f"numa_memory_nodes: {nodes}, numa_task_nodes: [0], memory_region_size: 1G, "
        f"percentage_pages_first_partition: {percent}, node_count_first_partition: {first}",
        MACHINE,
    )
    found = spec.regions()[0].placement
    assert (found.policy, [share.weight for share in found.nodes], found.ranges) == becomes
    assert case.notes == []


def test_partitions_whose_nodes_are_mapped_together(machine: Topology) -> None:
    args = (
        "numa_memory_nodes: [0, 1, 2, 3], numa_task_nodes: [0], memory_region_size: 1G, "
        "percentage_pages_first_partition: 50, node_count_first_partition: 2"
    )
    two, case = one(args, machine, nodes={"1": 0, "3": 2})
    assert (two.target, two.regions()[0].placement.ranges) == ("node:0,2@1:1", None)
    assert not any("one range" in note for note in case.notes)
    odd, case = one(args, machine, nodes={"3": 0})
    assert odd.target == "node:0,1,2@2:1:1"
    assert any("each node's share of pages is one range" in note for note in case.notes)


def test_a_random_write_is_timed_without_the_read_that_finds_its_address(
    machine: Topology,
) -> None:
    for operation, chain in (
        ("operation: write, cache_instruction: write-back", "r_8,mfence,w_64_cache,mfence"),
        ("operation: stream-write", "r_8,mfence,w_64_nocache,mfence"),
    ):
        spec, case = one(
            f"{WHERE}, exec_mode: random_latency, {operation}, access_size: 64", machine
        )
        found = spec.identity()
        assert (found["chain"], found["timed_from"], case.notes) == (chain, 2, [])
    spec, _ = one(f"{WHERE}, exec_mode: random_latency, access_size: 64", machine)
    assert "timed_from" not in spec.identity()


def test_mapped_nodes_take_the_place_of_others(machine: Topology) -> None:
    args = "numa_memory_nodes: [4, 8], numa_task_nodes: [7], numa_memory_node_weights: [1, 3]"
    assert "there is no node 7; --map-nodes 7=N" in refused(args, machine)
    nodes = parse_mapping(["8=2,4=node:0", "7=1"], "--map-nodes")
    spec, case = one(f"{args}, memory_region_size: 1G", machine, nodes=nodes)
    assert (spec.initiator, spec.target) == ("node:1", "node:0,2@1:3")
    assert {"node 4 is node 0", "node 8 is node 2", "node 7 is node 1"} <= set(case.notes)
    same = parse_mapping(["4=0,8=0,7=0"], "--map-nodes")
    spec, _ = one(f"{args}, memory_region_size: 1G", machine, nodes=same)
    assert spec.target == "node:0"


@pytest.mark.parametrize("words", ["8", "8=", "=4", "x=1", "8=a", "8=1,8=2", "8=-1"])
def test_a_wrong_mapping_is_refused(words: str) -> None:
    with pytest.raises(UserError, match="--map-nodes: "):
        parse_mapping([words], "--map-nodes")


def test_fitted_regions_have_half_of_what_is_free(machine: Topology) -> None:
    far = "numa_memory_nodes: [2], numa_task_nodes: [0], memory_region_size: 90G, run_time: 10"
    assert "--fit makes it smaller" in refused(far, machine)
    spec, case = one(far, machine, fit=True)
    assert spec.host_bytes() == 4 * GIB
    assert case.notes == ["4 GiB for 90 GiB", "at most 2 s for 10 s"]
    asked, _ = one(f"{WHERE}, run_time: 10", machine)
    assert (asked.host_bytes(), asked.sampling.budget_s) == (GIB, 10)
    emulated = machine.model_copy(update={"emulated": True})
    spec, _ = one(far, emulated, fit=True)
    assert (spec.host_bytes(), spec.sampling.budget_s) == (2 * MIB, 0.3)


def test_a_device_is_measured_with_consent_only(machine: Topology) -> None:
    text = (
        "device_path: /dev/dax2.0, numa_task_nodes: [1], memory_region_size: 16G, "
        "region_offset: 512G"
    )
    assert "there is none here; --map-nodes dax2.0=N" in refused(text, machine)
    dax = Dax(name="dax2.0", size_bytes=768 * GIB, node=2, mode="devdax")
    with_it = machine.model_copy(update={"dax": [dax]})
    assert "--destroy-data dax2.0" in refused(text, with_it)
    spec, _ = one(text, with_it, destroy=frozenset({"dax2.0"}))
    placed = spec.regions()[0].placement.persistent
    assert placed is not None
    assert (placed.path, placed.offset, placed.destroy) == ("/dev/dax2.0", 512 * GIB, "dax2.0")
    assert spec.target == "dax:/dev/dax2.0"
    small = machine.model_copy(update={"dax": [dax.model_copy(update={"size_bytes": 64 * GIB})]})
    consent = frozenset({"dax2.0"})
    assert "--fit makes the region smaller" in refused(text, small, destroy=consent)
    spec, case = one(text, small, destroy=consent, fit=True)
    assert spec.host_bytes() == 16 * GIB
    assert "16 GiB of the device from 0 B on" in case.notes
    mapped, case = one(text, machine, nodes={"dax2.0": 0})
    assert mapped.target == "node:0"
    assert "/dev/dax2.0 is node 0" in case.notes


def test_two_parts_become_streams_side_by_side(machine: Topology) -> None:
    found = of_file("together.yaml", machine)
    assert len(found.cases) == len(found.specs) == 6
    first = found.specs[0].model_dump(mode="json")
    assert (first["kind"], first["pattern"]["writes"], first["target"]) == ("traffic", 0, "node:0")
    (beside,) = first["beside"]
    assert (beside["name"], beside["pattern"]["writes"], beside["pattern"]["order"]) == (
        "writer", 100, "random",
    )  # fmt: skip
    assert (first["pattern"]["size"], beside["pattern"]["size"]) == (2 * GIB, GIB)
    assert list(found.cases[0].config) == ["reader", "writer"]
    assert found.cases[-1].matrix == {
        "reader": {"number_threads": 3},
        "writer": {"number_threads": 4},
    }
    assert [case.notes for case in found.cases] == [
        ["each thread of writer goes over a part of its own"]
    ] * 6


def test_parts_that_share_cpus_are_fitted_together(machine: Topology) -> None:
    x, y = (f"{{args: {{{WHERE}, number_threads: {count}}}}}" for count in (30, 10))
    text = f"a: {{parallel_benchmark: {{x: {x}, y: {y}}}}}"
    (spec,) = prepared(text, machine, fit=True).specs
    found = spec.model_dump(mode="json")
    assert [len(found["cpu_sets"]), len(found["beside"][0]["cpu_sets"])] == [6, 2]


def test_chains_have_two_regions_of_their_own_sizes(machine: Topology) -> None:
    found = of_file("chains.yaml", machine)
    lookup, update = found.specs[0], found.specs[1]
    assert [region.array_bytes for region in lookup.regions()] == [GIB, 2 * GIB]
    assert lookup.regions()[1].placement.nodes[0].node == 2
    assert update.identity()["chain"] == ("r_1024,m1_r_512,w_64_none_256,w_64_none_-256,w_64_none")
    assert found.cases[0].config["custom_operations"] == "m0_r_1024,m0_r_1024,m1_r_512"
    assert lookup.model_dump()["pattern"]["sample_every"] == 5000


@pytest.mark.parametrize("size", [8, 16, 32])
@pytest.mark.parametrize("operation", ["read", "write"])
def test_narrow_accesses_in_order_are_bandwidth_s(
    machine: Topology, size: int, operation: str
) -> None:
    text = f"a: {{args: {{{WHERE}, access_size: {size}, operation: {operation}}}}}"
    (spec,) = prepared(text, machine, fit=True).specs
    found = spec.model_dump(mode="json")
    assert (found["kind"], found["pattern"]["order"]) == ("bandwidth", "sequential")
    assert found["pattern"]["access_size"] == size


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ("access_size: 4", "accesses of 4 B in address order"),
        ("access_size: 8, exec_mode: sequential_desc", "accesses of 8 B in address order"),
        ("access_size: 8, operation: stream-write", "accesses of 8 B in address order"),
        ("exec_mode: random, access_size: 4", "an access of 4 B"),
        ("exec_mode: custom, custom_operations: r_4", "an operation of 4 B"),
        ("exec_mode: custom, custom_operations: 'r_64,m1_w_64_none'", "which is m0"),
        ("exec_mode: custom", "custom_operations, which are missing"),
        ("exec_mode: custom, custom_operations: m1_r_64", "secondary_memory_region_size"),
        ("exec_mode: sequential_latency, access_size: 8", "random_latency is measured"),
        ("exec_mode: latency, operation: read", "exec_mode latency goes with compare-and-swap"),
        ("operation: stream-read", "cache instruction non-temporal"),
        ("operation: read, cache_instruction: flush", "cache instruction flush"),
        ("operation: write, cache_instruction: flush", "no way of writing lines"),
        ("operation: memory-map-shared", "goes with exec_mode latency"),
        ("operation: fetch-and-add", "goes with exec_mode random or latency"),
        ("number_threads: 0", "number_threads is 0"),
        ("number_threads: 20, thread_pin_mode: single-numa", "--fit takes as many threads"),
        ("thread_pin_mode: single-fixed, thread_cores: [99]", "CPU 99 is not among those"),
        ("thread_pin_mode: single-fixed", "thread_cores names 0 CPUs for 1 thread"),
        ("percentage_pages_first_partition: 50", "goes with node_count_first_partition"),
        ("numa_memory_node_weights: [1, 2]", "2 weights for 1 nodes"),
        ("explicit_hugepages_size: 16M", "pages have 2M, 512M or 1G"),
        ("exec_mode: random, number_threads: 4, number_partitions: 2", "number_partitions 2"),
    ],
)
def test_what_no_kind_does_is_refused_with_the_reason(
    args: str, says: str, machine: Topology
) -> None:
    assert says in refused(f"{WHERE}, {args}", machine)


def test_nothing_to_measure_is_an_error(machine: Topology) -> None:
    found = prepared("a: {args: {numa_memory_nodes: [0]}}", machine)
    with pytest.raises(UserError, match="none of 1 case can be measured here; the first: numa_t"):
        _ = found.plan


def test_alike_cases_share_a_measurement(machine: Topology) -> None:
    found = of_file("older.yaml", machine, fit=True)
    scans = found.cases[:6]
    assert [case.matrix["number_threads"] for case in scans] == [1, 1, 2, 2, 64, 64]
    assert len({case.measurements[0] for case in scans}) == 6
    text = f"a: {{matrix: {{number_threads: [30, 40]}}, args: {{{WHERE}}}}}"
    shared = prepared(text, machine, fit=True)
    assert len(shared.specs) == 1
    assert shared.cases[0].measurements == shared.cases[1].measurements


def test_cases_keep_the_words_of_their_branch(machine: Topology) -> None:
    older = of_file("older.yaml", machine).cases
    assert older[0].config == {
        "m0_explicit_hugepages_size": 0, "m0_region_size": 7 * GIB, "m0_numa_nodes": [0],
        "m0_transparent_huge_pages": False,
        "m0_percentage_pages_first_partition": 18446744073709551615,
        "m0_node_count_first_partition": 18446744073709551615, "m0_numa_node_weights": [],
        "m1_explicit_hugepages_size": 0, "m1_region_size": 0, "m1_numa_nodes": [],
        "m1_transparent_huge_pages": False,
        "m1_percentage_pages_first_partition": 18446744073709551615,
        "m1_node_count_first_partition": 18446744073709551615, "m1_numa_node_weights": [],
        "exec_mode": "sequential", "min_io_chunk_size": 32 << 20, "number_threads": 1,
        "thread_pin_mode": "all-numa", "numa_task_nodes": [0], "thread_cores": [],
        "number_partitions": 1, "access_size": 64, "operation": "read", "run_time": 10,
    }  # fmt: skip
    assert older[6].config["flush_instruction"] == "none"
    assert older[6].config["m0_numa_node_weights"] == [3, 1]
    newer = of_file("newer.yaml", machine).cases
    assert newer[0].config["m0_device_path"] == "/dev/dax2.0"
    assert newer[0].config["cache_instruction"] == "none"
    assert "number_partitions" not in newer[0].config
    assert newer[4].config["latency_sample_frequency"] == 1000


def test_what_is_done_in_another_way_is_said_once(machine: Topology) -> None:
    said = of_file("newer.yaml", machine).remarks
    assert [remark.partition(":")[0].removesuffix(" is not used") for remark in said] == [
        "latency_sample_frequency", "number_operations", "min_io_chunk_size",
        "generate_read_data", "replications",
    ]  # fmt: skip


ARGS = st.fixed_dictionaries(
    {
        "exec_mode": st.sampled_from(MODES),
        "operation": st.sampled_from(list(OPERATIONS)),
        "cache_instruction": st.sampled_from(CACHE),
        "access_size": st.sampled_from(["4", "8", "64", "100", "4k", "64k", "1M"]),
        "number_threads": st.integers(0, 40),
        "number_partitions": st.integers(0, 3),
        "memory_region_size": st.sampled_from(["0", "64", "2M", "1G", "90G", "9999999G"]),
        "numa_memory_nodes": st.lists(st.integers(0, 4), max_size=3),
        "numa_task_nodes": st.lists(st.integers(0, 4), max_size=2),
        "random_distribution": st.sampled_from(["uniform", "zipf"]),
        "thread_pin_mode": st.sampled_from(["all-numa", "single-numa"]),
        "run_time": st.sampled_from([0, 1, 10**9]),
        "latency_sample_frequency": st.sampled_from([0, 1, 10**9]),
    },
    optional={
        "percentage_pages_first_partition": st.integers(0, 101),
        "node_count_first_partition": st.integers(0, 3),
        "numa_memory_node_weights": st.lists(st.integers(0, 300), max_size=3),
        "custom_operations": st.sampled_from(["r_64", "'r_8,w_8_none'", "m1_r_64", "r_3"]),
    },
)


@given(ARGS, st.booleans())
def test_any_case_is_planned_or_refused(args: dict[str, Any], fit: bool) -> None:
    text = f"a: {{args: {{{', '.join(f'{key}: {value}' for key, value in args.items())}}}}}"
    found = prepare(parse_workload(text, "w"), Means(MACHINE, fit=fit))
    (case,) = found.cases
    assert bool(case.measurements) is not bool(case.refused)
    assert len(found.specs) == len(case.measurements)
    for spec in found.specs:
        assert spec.host_bytes() <= 300 * GIB


def test_the_product_of_both_matrices_is_the_number_of_cases() -> None:
    found = parse_workload((WORKLOADS / "together.yaml").read_text(), "t")
    cases = list(expand(found.benchmarks))
    threads = [(c.parts[0]["number_threads"], c.parts[1]["number_threads"]) for c in cases]
    assert threads == [(1, 2), (2, 2), (3, 2), (1, 4), (2, 4), (3, 4)]

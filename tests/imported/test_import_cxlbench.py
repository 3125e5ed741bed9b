"""CXL-Bench's result files as runs, and back. The files here were written for these tests."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forked import tierscope
from tierscope.model.errors import UserError
from tierscope.model.run import Measurement, Run
from tierscope.peers.cxlbench import importer
from tierscope.peers.cxlbench.output import results_of
from tierscope.peers.importing import Source, run_of

UNSET = 18446744073709551615
GIB = 1 << 30
ABOUT = {
    "bm_type": "single", "compiler": "gcc 12.3", "git_hash": "0123456789abcdef",
    "hostname": "alpha", "nt_stores_instruction_set": "none",
}  # fmt: skip


def regions(number: int, nodes: Sequence[int], size: int) -> dict[str, Any]:
    m = f"m{number}_"
    return {
        f"{m}explicit_hugepages_size": 0, f"{m}node_count_first_partition": UNSET,
        f"{m}numa_nodes": list(nodes), f"{m}percentage_pages_first_partition": UNSET,
        f"{m}region_size": size, f"{m}transparent_huge_pages": True,
    }  # fmt: skip


def config(**more: Any) -> dict[str, Any]:
    return {
        **regions(0, [1], GIB), **regions(1, [], 0), "access_size": 64, "exec_mode": "sequential",
        "min_io_chunk_size": 64 << 20, "numa_task_nodes": [0], "number_partitions": 1,
        "number_threads": 2, "operation": "read", "run_time": 10, "thread_cores": [],
        "thread_pin_mode": "all-numa", **more,
    }  # fmt: skip


def moved(gib: float, latency: float = 7.0) -> dict[str, Any]:
    return {
        "accessed_bytes": int(gib * GIB), "bandwidth": gib, "execution_time": 1.0,
        "thread_bandwidth_avg": gib / 2, "thread_bandwidth_std_dev": 0.0,
        "thread_op_latency_avg": latency, "thread_op_latency_std_dev": 0.0, "threads": [],
    }  # fmt: skip


def entry(name: str, *cases: tuple[Any, Any], varied: Any = ("number_threads",)) -> dict[str, Any]:
    both = [{"config": one, "results": results} for one, results in cases]
    matrix = varied if isinstance(varied, dict) else list(varied)
    return {**ABOUT, "bm_name": name, "matrix_args": matrix, "benchmarks": both}


CHASE = config(exec_mode="dependent_reads", number_threads=1, access_size=128)
LOAD = config(number_threads=3, operation="write", flush_instruction="nocache",
              thread_cores=[1, 2, 3], numa_task_nodes=[])  # fmt: skip
CUSTOM = {
    **regions(0, [0], GIB), **regions(1, [1], 2 * GIB), "exec_mode": "custom",
    "custom_operations": "m0_r_256,m1_r_64", "number_operations": 1000, "number_partitions": 1,
    "number_threads": 4, "numa_task_nodes": [0], "thread_cores": [], "latency_sample_frequency": 8,
}  # fmt: skip
OPERATIONS = {
    "execution_time": 1.0, "num_operations": 1000, "ops_per_second": 1000.0,
    "thread_ops_per_second_avg": 250.0, "thread_ops_per_second_std_dev": 0.0, "threads": [],
    "latency": {"min": 80, "avg": 110.0, "max": 900, "std_dev": 1.0, "median": 100,
                "lower_quartile": 90, "upper_quartile": 120, "percentile_90": 200,
                "percentile_95": 250, "percentile_99": 300, "percentile_999": 400,
                "percentile_9999": 500},
}  # fmt: skip
TIMED = {**OPERATIONS, "latencies": [[100, 200, 300], [150, 250]]}
OLD = {
    "access_size": 64, "exec_mode": "random", "explicit_hugepages_size": 0,
    "flush_instruction": "cache", "memory_region_size": GIB, "numa_memory_nodes": [8],
    "numa_task_nodes": [0], "number_partitions": 1, "number_threads": 1, "operation": "write",
    "percentage_pages_first_node": -1, "random_distribution": "uniform",
    "transparent_huge_pages": False,
}  # fmt: skip
PARALLEL = {
    **entry("loaded", ({"chase": CHASE, "load": LOAD},
                       {"chase": {"results": moved(0.5, 250.0)}, "load": {"results": moved(40)}}),
            varied={"chase": [], "load": ["number_threads"]}),
    "bm_type": "parallel", "sub_bm_names": ["chase", "load"],
}  # fmt: skip
BESIDE = {
    **entry("both", ({"a": config(), "b": LOAD},
                     {"a": {"results": moved(10)}, "b": {"results": moved(5)}}), varied={}),
    "bm_type": "parallel", "sub_bm_names": ["a", "b"],
}  # fmt: skip
DOCUMENT = [
    entry("sequential_reads", (config(), moved(20)), (config(number_threads=4), moved(30))),
    entry("old", (OLD, moved(3))),
    entry("idle", (CHASE, moved(1, 96.0))),
    entry("tree", (CUSTOM, OPERATIONS)),
    entry("lat_x", (config(exec_mode="random_latency", operation="read"), TIMED)),
    PARALLEL,
    BESIDE,
    entry("maps", (config(operation="memory-map-private"), moved(9))),
]


def source(document: Any) -> Source:
    return Source("results.json", json.dumps(document).encode())


def run(document: Any = DOCUMENT) -> Run:
    made = source(document)
    return run_of("cxlbench", importer.read([made]), [made], ["import"], "test")


def named(name: str) -> list[Measurement]:
    return [m for m in run().measurements if m.id.startswith(name)]


def test_bandwidths_are_gib_and_paths_and_patterns_ours() -> None:
    first, second = named("sequential_reads")
    assert (first.kind, first.initiator, first.target) == ("bandwidth", "node:0", "node:1")
    assert (first.estimate, first.unit, first.status) == (20 * GIB, "B/s", "imported")
    assert (first.ci_low, first.no_interval, first.evidence, first.limit) == (
        None, "imported", None, None,
    )  # fmt: skip
    assert first.pattern["operation"] == "read"
    assert first.pattern["pages"] == "thp"
    assert [first.pattern["threads"], second.pattern["threads"]] == [2, 4]


def test_keys_of_2024_are_read_too() -> None:
    (old,) = named("old")
    assert old.target == "node:8"
    assert old.pattern["operation"] == "write-clwb"
    assert (old.pattern["order"], old.pattern["size"], old.pattern["pages"]) == (
        "random", GIB, "base",
    )  # fmt: skip


def test_a_chase_is_a_latency_and_beside_a_load_one_under_load() -> None:
    (idle,), (loaded,) = named("idle"), named("loaded")
    assert (idle.kind, idle.estimate, idle.pattern["stride"]) == ("latency", 96.0, 128)
    assert (loaded.kind, loaded.estimate) == ("loaded-latency", 250.0)
    assert loaded.figures[1].estimate == 40 * GIB
    assert loaded.pattern["mix"] == "0:100nt"
    assert (loaded.pattern["load_threads"], loaded.pattern["delay_ns"]) == (3, 0)
    assert loaded.cpus == [1, 2, 3]


def test_custom_operations_are_chains_with_their_percentiles() -> None:
    (tree,) = named("tree")
    assert (tree.kind, tree.metric, tree.estimate) == ("chain", "operations", 1000.0)
    assert tree.pattern["chain"] == "r_256,m1_r_64"
    assert (tree.pattern["second"], tree.pattern["linked"]) == ("node:1", False)
    assert {f.metric: f.estimate for f in tree.figures}["chain_latency_p99.9"] == 400.0


def test_times_of_single_accesses_give_a_median() -> None:
    (timed,) = named("lat_x")
    assert (timed.kind, timed.estimate, timed.pattern["order"]) == ("latency", 200.0, "random")
    assert timed.ci_low is None


def test_two_that_move_data_at_once_are_measurements_beside_each_other() -> None:
    a, b = named("both")
    assert a.kind == b.kind == "traffic"
    assert "write-nt" not in a.pattern["beside"]
    assert a.pattern["beside"] == "b: listed CPUs → node:1, 0:100nt by 3, sequential"
    assert (b.initiator, b.estimate) == ("listed CPUs", 5 * GIB)


def test_what_nothing_here_is_like_has_no_figure_and_says_so() -> None:
    assert named("maps") == []
    case = (run().header.cases or [])[-1]
    assert case.refused.startswith("memory-map-private")


def test_cases_name_what_varied_and_the_notes_where_a_chase_stays_in_chunks() -> None:
    cases = run().header.cases or []
    assert cases[0].matrix == {"number_threads": 2}
    chase = next(case for case in cases if case.benchmark == "idle")
    assert "67108864 bytes at a time" in chase.notes[0]


def test_an_export_gives_back_what_was_imported() -> None:
    assert results_of(run()) == DOCUMENT


def test_weights_and_partitions_are_placements() -> None:
    weighted = config(m0_numa_nodes=[0, 1], m0_numa_node_weights=[3, 1])
    split = config(m0_numa_nodes=[0, 1], m0_percentage_pages_first_partition=25,
                   m0_node_count_first_partition=1)  # fmt: skip
    whole = config(m0_numa_nodes=[0, 1])
    found = run([entry("x", (weighted, moved(1)), (split, moved(1)), (whole, moved(1)))])
    told = [(m.target, m.pattern["policy"]) for m in found.measurements]
    assert told == [
        ("node:0,1@3:1", "weighted"), ("node:0,1@25:75", "partition"), ("node:0,1", "interleave"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"bandwidth": "fast"}, "[0].benchmarks[0].results.bandwidth: not a number"),
        ({"bandwidth": 0}, "[0].benchmarks[0].results.bandwidth: 0 is not a number above 0"),
        ({"bandwidth": None}, "[0].benchmarks[0].results.bandwidth: missing"),
    ],
)
def test_errors_name_file_and_key(change: dict[str, Any], said: str) -> None:
    broken = entry("x", (config(), {**moved(1), **change}))
    with pytest.raises(UserError) as refused:
        importer.read([source([broken])])
    assert str(refused.value) == f"results.json: {said}"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(["bm_name", "benchmarks", "config", "results", "bandwidth", "exec_mode",
                         "operation", "number_threads", "access_size", "m0_numa_nodes", "bm_type",
                         "latencies", "latency", "custom_operations", "ops_per_second"]),
        inner, max_size=6,
    ),
    max_leaves=20,
)  # fmt: skip


@given(st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_give_a_run_or_an_error_of_one_line(content: bytes) -> None:
    _read_or_refuse(content)


@given(st.sampled_from(range(len(DOCUMENT))), st.data())
def test_any_damage_gives_a_run_or_an_error_of_one_line(which: int, data: st.DataObject) -> None:
    document = json.loads(json.dumps(DOCUMENT[which]))
    at: Any = document
    while isinstance(at, dict | list) and at:
        key = data.draw(st.sampled_from(list(at) if isinstance(at, dict) else range(len(at))))
        if not isinstance(at[key], dict | list) or not at[key] or data.draw(st.booleans()):
            at[key] = data.draw(JSON)
            break
        at = at[key]
    _read_or_refuse(json.dumps([document]).encode())


def _read_or_refuse(content: bytes) -> None:
    made = Source("results.json", content)
    said = "results.json"
    try:
        results_of(run_of("cxlbench", importer.read([made]), [made], [], "test"))
    except UserError as error:
        said = str(error)
    assert said.startswith("results.json")
    assert len(said.splitlines()) == 1


def test_the_command_imports_shows_marks_and_exports(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text(json.dumps(DOCUMENT))
    file = tmp_path / "run.jsonl"
    done = tierscope("import", "cxlbench", tmp_path / "in.json", "--out", file)
    assert done.returncode == 0, done.stderr
    assert "Bandwidth, GB/s (imported, not measured by tierscope)" in done.stdout
    assert "21.5 (imported)" in done.stdout
    assert "9 imported, 0 measured, 0 skipped, 0 failed" in done.stdout
    again = tierscope("export", file, "--cxlbench", tmp_path / "out.json")
    assert again.returncode == 0, again.stderr
    assert json.loads((tmp_path / "out.json").read_text()) == DOCUMENT
    twice = tierscope("import", "cxlbench", tmp_path / "in.json", "--out", file)
    assert (twice.returncode, "is there already" in twice.stderr) == (2, True)


def test_a_heat_map_without_intervals_claims_none(tmp_path: Path) -> None:
    sizes = [64 << power for power in range(11)]
    cases = [
        (
            config(exec_mode="random", number_threads=threads, access_size=size),
            moved(threads + 0.25),
        )
        for threads in (1, 2, 4, 8, 16, 32, 64, 72)
        for size in sizes
    ]
    path = tmp_path / "map.json"
    path.write_text(json.dumps([entry("random_reads", *cases)]))
    done = tierscope("import", "cxlbench", path, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "no intervals: imported" in done.stdout
    assert "±" not in done.stdout

"""CXL-Bench's workload files as they are written, in every branch's words."""

import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tierscope.model.errors import UserError
from tierscope.peers.cxlbench.workload import KEYS, expand, is_workload, parse_workload, read_folder

WORKLOADS = Path(__file__).parent / "workloads"
GIB = 1 << 30


def parsed(name: str) -> list[dict[str, object]]:
    """Arguments of each benchmark's first part."""
    found = parse_workload((WORKLOADS / name).read_text(), name)
    return [benchmark.parts[0].args for benchmark in found.benchmarks]


def test_both_dialects_give_the_same_keys() -> None:
    scan, spread, chase = parsed("older.yaml")
    assert (scan["memory_region_size"], scan["min_io_chunk_size"]) == (7 * GIB, 32 << 20)
    assert (spread["numa_memory_nodes"], chase["exec_mode"]) == ((0, 1), "dependent_reads")
    device, atomics, maps = parsed("newer.yaml")
    assert (device["region_offset"], device["generate_read_data"]) == (512 * GIB, False)
    assert (atomics["min_io_chunk_size"], atomics["thread_cores"]) == (GIB, (25,))
    assert maps["replications"] == 3


def test_short_words_stand_for_operations() -> None:
    text = "a: {matrix: {operation: [r, w, sr, sw]}, args: {flush_instruction: nocache}}"
    (benchmark,) = parse_workload(text, "w").benchmarks
    words = ["read", "write", "stream-read", "stream-write"]
    assert benchmark.parts[0].matrix == {"operation": words}
    assert benchmark.parts[0].args == {"cache_instruction": "nocache"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "w.yaml:1: the file is empty"),
        ("- 1", "w.yaml:1: a workload has to be a mapping"),
        ("a: [", "w.yaml:1: not valid YAML"),
        ("a: 1", "w.yaml:1: benchmark 'a' has to be a mapping with matrix, args"),
        ("mesurements: [{}]", "a plan of tierscope's has the key 'measurements'"),
        ("measurements: []", "w.yaml:1: a plan of tierscope's"),
        ("a:\n  arg: {}", "w.yaml:2: unknown key 'arg' in benchmark 'a'; did you mean 'args'"),
        (
            "a:\n  args:\n    acess_size: 64",
            "w.yaml:3: unknown key 'acess_size' in 'args'; did you mean 'access_size'",
        ),
        (
            "a:\n  matrix:\n    number_thread: [1]",
            "w.yaml:3: unknown key 'number_thread' in 'matrix'; did you mean 'number_threads'",
        ),
        (
            "a:\n  args:\n    run_time: 1\n    run_time: 2",
            "w.yaml:4: key 'run_time' is given in line 3 already",
        ),
        (
            "a:\n  args:\n    min_io_chunk_size: 1M\n    min_io_batch_size: 2M",
            "w.yaml:4: key 'min_io_batch_size' is given in line 3 already",
        ),
        ("a:\n  matrix:\n    run_time: 1", "w.yaml:3: key 'run_time' of a matrix has to be a list"),
        ("a:\n  matrix:\n    run_time: []", "w.yaml:3: key 'run_time' of a matrix has to be a"),
        ("a:\n  matrix:\n    run_time:", "w.yaml:3: key 'run_time' of a matrix has to be a list"),
        ("a: {args: {access_size: 1.5k}}", "w.yaml:1: key 'access_size': '1.5k' is not a size"),
        ("a: {args: {access_size: 64T}}", "'64T' is not a size"),
        ("a: {args: {number_threads: -1}}", "'-1' is not a whole number"),
        ("a: {args: {numa_task_nodes: 0}}", "key 'numa_task_nodes' has to be a list, as in"),
        ("a: {args: {transparent_huge_pages: maybe}}", "'maybe' is neither true nor false"),
        ("a: {args: {exec_mode: randon}}", "'randon' is not one of.*did you mean 'random'"),
        ("a: {args: {cache_instruction: clwb}}", "'clwb' is not one of none, cache"),
        ("a: {args: {custom_operations: r_64;w}}", "'r_64;w' is not an operation such as r_64"),
        ("a: {args: {zipf_alpha: 0}}", "'0' is not a number above 0"),
        ("a: {args: {run_time: }}", "w.yaml:1: key 'run_time' has no value"),
        ("a:\n  parallel_benchmark:\n    b: {args: {}}", "w.yaml:3: benchmark 'a': parallel_"),
        ("a: {parallel_benchmark: {b: {args: {}}, b: {args: {}}}}", "2 parts; it takes two, named"),
        ("a: {parallel_benchmark: {b: {}, c: {}}, args: {}}", "stand inside parallel_benchmark"),
        ("[" * 2000, "w.yaml:1: not valid YAML: exceeded maximum nesting depth"),
    ],
)
def test_a_wrong_file_says_where_and_what(text: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        parse_workload(text, "w.yaml")


def test_a_matrix_key_given_twice_counts_as_in_cxl_bench_and_is_said() -> None:
    found = parse_workload((WORKLOADS / "twice.yaml").read_text(), "twice.yaml")
    (benchmark,) = found.benchmarks
    assert benchmark.parts[0].matrix == {"access_size": [256, 512, 1024]}
    (remark,) = found.remarks
    assert remark.startswith(
        "twice.yaml:4: key 'access_size' of the matrix is given in line 3, too"
    )


def test_a_benchmark_given_twice_runs_twice_and_a_section_once() -> None:
    found = parse_workload("a: {args: {run_time: 1}, args: {run_time: 2}}\na: {args: {}}", "w")
    assert [benchmark.parts[0].args for benchmark in found.benchmarks] == [{"run_time": 1}, {}]
    assert [remark.partition(": ")[0] for remark in found.remarks] == ["w:1", "w:2"]


def test_a_folder_has_all_files_below_it(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"has no \*\.yaml"):
        read_folder(tmp_path)
    for name in ("b.yaml", "a/c.yaml", "a/d.yml", "e.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("one: {args: {run_time: 1}}")
    files = [Path(one.file).name for one in read_folder(tmp_path).benchmarks]
    assert files == ["c.yaml", "d.yml", "b.yaml"]
    assert is_workload(None, tmp_path)


@pytest.mark.parametrize(
    ("text", "theirs"),
    [("measurements: []", False), ("a: {args: {}}", True), ("", False), ("- 1", False)],
)
def test_the_top_of_a_file_says_whose_it_is(text: str, theirs: bool) -> None:
    assert is_workload(text, Path("p.yaml")) is theirs


WORD = st.sampled_from(
    [*KEYS, "args", "matrix", "parallel_benchmark", "0", "64", "4k", "[0, 1]", "[[0], [1, 2]]",
     "random", "custom", "r_64,w_64_none", "true", "null", "~", "&a", "*a", "!!int x", "\t", "🙂"]
)  # fmt: skip
LINE = st.builds(
    lambda indent, key, value: f"{'  ' * indent}{key}: {value}",
    st.integers(0, 4),
    st.one_of(WORD, st.text(max_size=8)),
    st.one_of(st.just(""), WORD, st.text(max_size=12)),
)


@given(st.one_of(st.text(), st.lists(LINE).map("\n".join)))
@example("a: &x {args: *x}")
@example("a: {matrix: {run_time: [1]}}")
def test_any_text_gives_cases_or_an_error_with_file_and_line(text: str) -> None:
    said, cases = "", []
    try:
        cases = list(expand(parse_workload(text, "w.yaml").benchmarks))
    except UserError as error:
        said = str(error)
    assert bool(cases) is not bool(re.match(r"w\.yaml:\d+: .", said)), said
    for case in cases:
        assert set(case.matrix) <= set(KEYS) | {part.name for part in case.parts}


def test_more_cases_than_plans_hold_are_refused_before_they_are_made() -> None:
    values = ", ".join(map(str, range(1, 400)))
    text = f"a:\n  matrix: {{number_threads: [{values}], run_time: [{values}]}}\n"
    with pytest.raises(UserError, match=r"w\.yaml:1: 'a' makes more than 100000 cases"):
        list(expand(parse_workload(text, "w.yaml").benchmarks))

"""Times of single operations in the JSON of CXL-Bench's results."""

import json
import statistics
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from forked import tierscope
from tierscope.model.histogram import bucket_of
from tierscope.peers.cxlbench.times import Times

NAMED = {
    "min", "avg", "max", "std_dev", "median", "lower_quartile", "upper_quartile", "percentile_90",
    "percentile_95", "percentile_99", "percentile_999", "percentile_9999",
}  # fmt: skip
WORKLOAD = """\
writes:
  args: {exec_mode: random_latency, operation: write, access_size: 64,
         latency_sample_frequency: 1, memory_region_size: 8M, numa_memory_nodes: [0],
         numa_task_nodes: [0], cache_instruction: none}
maps:
  matrix: {operation: [memory-map-private, memory-unmap-private]}
  args: {exec_mode: latency, memory_region_size: 16M, numa_memory_nodes: [0],
         numa_task_nodes: [0], latency_sample_frequency: 1}
chains:
  args: {exec_mode: custom, custom_operations: "r_64,w_64_none", memory_region_size: 8M,
         numa_memory_nodes: [0], numa_task_nodes: [0], latency_sample_frequency: 10}
"""


def times_of(values: list[int]) -> Times:
    """Times below 256 ns, which have a bucket each."""
    counts = sorted({value: values.count(value) for value in values}.items())
    up_to = [sum(count for other, count in counts if other <= value) for value, _ in counts]
    assert all(bucket_of(value) == value for value in values)
    return Times([float(value) for value, _ in counts], up_to)


@given(st.lists(st.integers(1, 255), min_size=1, max_size=200))
def test_few_times_come_back_as_they_are(values: list[int]) -> None:
    times = times_of(values)
    assert times.spread() == sorted(values)
    named = times.named()
    assert set(named) == NAMED
    assert abs(named["avg"] - statistics.fmean(values)) < 1e-9
    assert abs(named["std_dev"] - statistics.pstdev(values)) < 1e-6
    assert (named["min"], named["max"]) == (min(values), max(values))
    assert named["median"] == sorted(values)[(len(values) + 1) // 2 - 1]


def test_many_times_are_quantiles() -> None:
    times = Times([1.0, 2.0, 3.0], [500_000, 900_000, 1_000_000])
    found = times.spread()
    assert len(found) == 10_000
    assert [found.count(ns) for ns in (1.0, 2.0, 3.0)] == [5000, 4000, 1000]


def test_latency_modes_have_their_times_and_chains_all_percentiles(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(WORKLOAD)
    options = ("--fit", "--format", "cxlbench", "--time-limit", "3s", "--out", tmp_path)
    done = tierscope("run", path, *options, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    writes, maps, chains = json.loads(done.stdout)
    both = [benchmark["results"] for benchmark in maps["benchmarks"]]
    for results in (writes["benchmarks"][0]["results"], *both):
        (times,) = results["latencies"]
        assert times == sorted(times)
        assert 0 < len(times) <= min(10_000, results["num_operations"])
    assert both[0]["latencies"] != both[1]["latencies"], "each has the times of its own phase"
    assert set(chains["benchmarks"][0]["results"]["latency"]) == NAMED

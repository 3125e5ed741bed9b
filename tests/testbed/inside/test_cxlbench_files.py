"""CXL-Bench's workload files over two sockets and CXL: pages are where the file says."""

import json
from pathlib import Path
from typing import Any

import pytest

from forked import tierscope

pytestmark = pytest.mark.testbed

PAGES = (2 << 20) // 4096
"""Of a region as --fit makes it here."""
WORKLOAD = """\
sequential_reads:
  matrix:
    numa_memory_nodes: [ [ 0 ], [ 4 ] ]
  args:
    number_threads: 64
    memory_region_size: 7G
    numa_task_nodes: [ 0, 1 ]
    operation: read
    run_time: 10
split_memory_random_writes:
  args:
    exec_mode: random
    percentage_pages_first_partition: 75
    memory_region_size: 7G
    numa_memory_nodes: [ 1, 4 ]
    numa_task_nodes: [ 1 ]
    access_size: 4096
    operation: write
    number_operations: 110000000
tree_index_update:
  args:
    exec_mode: custom
    custom_operations: "m0_r_1024,m1_r_512,m1_w_64_none_256,m1_w_64_none_-256,m1_w_64_none"
    memory_region_size: 4G
    numa_memory_nodes: [ 0 ]
    secondary_memory_region_size: 7G
    secondary_numa_memory_nodes: [ 8 ]
    numa_task_nodes: [ 0 ]
split_memory_in_turn:
  args:
    percentage_pages_first_partition: 75
    node_count_first_partition: 2
    memory_region_size: 7G
    numa_memory_nodes: [ 0, 1, 4 ]
    numa_task_nodes: [ 1 ]
seq_reads_local_device:
  parallel_benchmark:
    local: {args: {memory_region_size: 5G, numa_memory_nodes: [ 1 ], numa_task_nodes: [ 1 ]}}
    device: {args: {device_path: /dev/dax0.0, memory_region_size: 16G, numa_task_nodes: [ 0 ]}}
"""


def test_a_workload_file_runs_over_sockets_and_cxl(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(WORKLOAD)
    options = ("--fit", "--map-nodes", "8=4,dax0.0=4", "--json", "--out", tmp_path)
    answer = tierscope("run", path, *options)
    assert answer.stdout, answer.stderr
    document: dict[str, Any] = json.loads(answer.stdout)
    found = {one["id"]: one for one in document["results"]}
    cases = document["run"]["cases"]
    assert [case["refused"] for case in cases] == [""] * 6
    near, far, split, tree, turns, both = (found[case["measurements"][0]] for case in cases)
    assert [one["status"] for one in found.values()] == ["measured"] * 6, found
    assert turns["evidence"]["pages"] == {"0": PAGES * 3 // 8, "1": PAGES * 3 // 8, "4": PAGES // 4}
    assert near["evidence"]["pages"] == {"0": PAGES}
    assert far["evidence"]["pages"] == {"4": PAGES}
    assert far["pattern"]["threads"] == 4, "as many as both nodes have CPUs"
    assert split["evidence"]["pages"] == {"1": PAGES * 3 // 4, "4": PAGES // 4}
    assert (split["pattern"]["policy"], split["target"]) == ("partition", "node:1,4@3:1")
    assert tree["evidence"]["arrays"] == {"m0": {"0": PAGES}, "m1": {"4": PAGES}}
    assert tree["figures"][0]["metric"] == "operations"
    assert both["evidence"]["pages"] == {"1": PAGES}
    assert both["evidence"]["workloads"]["device"]["pages"] == {"4": PAGES}
    assert "node 8 is node 4" in cases[3]["notes"]
    assert "2 MiB for 7 GiB" in cases[0]["notes"]

"""nvbandwidth's test cases: names and indices of v0.8, then what v0.10 adds.

v0.10 numbers them differently from 34 on: there ``device_local_copy`` is 38, and 34 to 37 are 35 to
38 here.
"""

from typing import Any

from tierscope.model.gpu import CopyEngine
from tierscope.recipes.nvbandwidth import multinode
from tierscope.recipes.nvbandwidth.cells import (
    Cells,
    Test,
    host_latency,
    local,
    local_memory,
    one_and_all,
    peer_latency,
    peers,
    peers_both_ways,
    with_host,
)

_ENGINES: dict[str, CopyEngine] = {"ce": "ce", "sm": "sm", "tma": "tma"}
_MULTICAST = "takes multicast memory of NVSwitch, which tierscope does not use"
_ENGINE_NAMES = {"ce": "a copy engine", "sm": "a kernel", "tma": "the bulk copy unit"}


def _tests_of(suffix: str) -> list[Test]:
    """The sixteen test cases that copy engines and kernels have in common, in their order."""
    return [
        *_host_tests(suffix),
        *_peer_tests(suffix),
        *_crowded_host_tests(suffix),
        *_one_and_all_tests(suffix),
    ]


def _host_test(suffix: str, name: str, description: str, arrow: str, cells: Cells) -> Test:
    title = f"memcpy {suffix.upper()} CPU(row) {arrow} GPU(column) bandwidth (GB/s)"
    said = f"{description}, by {_ENGINE_NAMES[suffix]}"
    return Test(f"{name}_memcpy_{suffix}", said, cells, _ENGINES[suffix], title)


def _host_tests(suffix: str) -> list[Test]:
    """One GPU and the host, alone or against the other direction."""
    to_gpu, to_host = "host_to_device", "device_to_host"
    busy = "while the other direction is as busy"
    rows = (
        (to_gpu, "Host to each GPU", "->", with_host(True, False, False)),
        (to_host, "Each GPU to host", "<-", with_host(False, False, False)),
        (
            f"{to_gpu}_bidirectional",
            f"Host to each GPU {busy}",
            "<->",
            with_host(True, True, False),
        ),
        (
            f"{to_host}_bidirectional",
            f"Each GPU to host {busy}",
            "<->",
            with_host(False, True, False),
        ),
    )
    return [_host_test(suffix, *row) for row in rows]


def _crowded_host_tests(suffix: str) -> list[Test]:
    """One GPU and the host, while all other GPUs do the same."""
    same, busy = (
        "while all others do the same",
        "while all others and all opposite directions are busy",
    )
    both = "_bidirectional"
    rows = (
        ("all_to_host", f"Each GPU to host {same}", "<-", with_host(False, False, True)),
        (f"all_to_host{both}", f"Each GPU to host {busy}", "<->", with_host(False, True, True)),
        ("host_to_all", f"Host to each GPU {same}", "->", with_host(True, False, True)),
        (f"host_to_all{both}", f"Host to each GPU {busy}", "<->", with_host(True, True, True)),
    )
    return [_host_test(suffix, *row) for row in rows]


def _one_and_all_tests(suffix: str) -> list[Test]:
    """One GPU and all others, together; the figure is their sum."""
    rows = (
        ("all_to_one_write", "All GPUs write to one", "<-", True, True),
        ("all_to_one_read", "All others read from one GPU", "->", False, False),
        ("one_to_all_write", "One GPU writes to all", "->", False, True),
        ("one_to_all_read", "One GPU reads from all others", "<-", True, False),
    )
    return [
        Test(
            f"{name}_{suffix}",
            f"{description}, by {_ENGINE_NAMES[suffix]}; all together",
            one_and_all(to_one),
            _ENGINES[suffix],
            f"memcpy {suffix.upper()} GPU(row) {arrow} GPU(column) bandwidth (GB/s)",
            writes=writes,
            least_gpus=2,
        )
        for name, description, arrow, to_one, writes in rows
    ]


def _peer_tests(suffix: str) -> list[Test]:
    """GPU to GPU: one way and both ways, read and written."""
    tests = []
    for way in ("", "bidirectional_"):
        for side, arrow in (("read", "->"), ("write", "<-")):
            head = f"memcpy {suffix.upper()}"
            title = f"{head} GPU(row) {arrow} GPU(column) bandwidth (GB/s)"
            part = side.capitalize()
            if way:
                title = f"{head} GPU(row) <-> GPU(column) {{}} bandwidth (GB/s)"
            tests.append(
                Test(
                    f"device_to_device_{way}memcpy_{side}_{suffix}",
                    f"Each GPU and each other, {'both ways at once, ' if way else ''}"
                    f"{side} by {_ENGINE_NAMES[suffix]}",
                    peers_both_ways if way else peers,
                    _ENGINES[suffix],
                    title,
                    square=True,
                    parts=(f"{part}1", f"{part}2", "Total") if way else (),
                    writes=side == "write",
                    least_gpus=2,
                )
            )
    return tests


def _multinode_tests() -> list[Test]:
    """GPUs of MPI ranks, in the order of nvbandwidth's documentation."""
    return [
        *_rank_pair_tests("ce"),
        *_rank_pair_tests("sm"),
        _rank_test(
            "device_to_device_all_to_one_write_sm",
            "All ranks' GPUs write to one, by a kernel; all together",
            multinode.rank_and_all(True),
            "memcpy SM All Gpus -> GPU(column) total bandwidth (GB/s)",
            writes=True,
        ),
        _rank_test(
            "device_to_device_all_from_one_read_sm",
            "All other ranks' GPUs read from one, by a kernel; all together",
            multinode.rank_and_all(False),
            "memcpy SM All Gpus <- GPU(column) total bandwidth (GB/s)",
        ),
        _rank_test(
            "device_to_device_broadcast_one_to_all_sm",
            "One rank's GPU writes to the multicast memory of all",
            multinode.none,
            "multicast SM GPU(column) -> All Gpus total bandwidth (GB/s)",
            never=_MULTICAST,
        ),
        _rank_test(
            "device_to_device_broadcast_all_to_all_sm",
            "All ranks' GPUs write to the multicast memory of all",
            multinode.none,
            "multicast SM All -> All Gpus total bandwidth (GB/s)",
            never=_MULTICAST,
        ),
        _rank_test(
            "bisect_write_ce",
            "Each rank's GPU writes to its partner in the other half, by a copy engine, at once",
            multinode.bisection,
            "Bisect benchmarking, simultaneous write CE BW",
            engine="ce",
            writes=True,
            row_a_transfer=True,
        ),
    ]


def _rank_pair_tests(suffix: str) -> list[Test]:
    """One rank's GPU and another one's: one way and both ways, read and written."""
    tests = []
    for both_ways in (False, True):
        for side, arrow in (("read", "->"), ("write", "<-")):
            way, sign = ("bidirectional_", "<->") if both_ways else ("", arrow)
            tests.append(
                _rank_test(
                    f"device_to_device_{way}memcpy_{side}_{suffix}",
                    f"Each rank's GPU and each other, {'both ways at once, ' if way else ''}"
                    f"{side} by {_ENGINE_NAMES[suffix]}",
                    multinode.rank_pairs(both_ways),
                    f"memcpy {suffix.upper()} GPU(row) {sign} GPU(column) bandwidth (GB/s)",
                    engine=_ENGINES[suffix],
                    square=True,
                    writes=side == "write",
                )
            )
    return tests


def _rank_test(
    name: str, description: str, cells: Cells, title: str, engine: CopyEngine = "sm", **more: Any
) -> Test:
    return Test(f"multinode_{name}", description, cells, engine, title, over_ranks=True, **more)


TESTS: tuple[Test, ...] = (
    *_tests_of("ce"),
    *_tests_of("sm"),
    Test(
        "host_device_latency_sm",
        "A GPU's dependent loads from host memory",
        host_latency,
        "sm",
        "memory latency SM CPU(row) <-> GPU(column) (ns)",
        latency=True,
    ),
    Test(
        "device_to_device_latency_sm",
        "A GPU's dependent loads from another's memory",
        peer_latency,
        "sm",
        "Device to Device Latency SM GPU(row) <-> GPU(column) (ns)",
        square=True,
        latency=True,
        least_gpus=2,
    ),
    Test(
        "device_local_copy",
        "A copy inside one GPU; bytes count once",
        local,
        "ce",
        "memcpy local GPU(column) bandwidth (GB/s)",
    ),
    *_peer_tests("tma"),
    Test(
        "device_local_copy_sm",
        "A copy inside one GPU by a kernel; bytes count once",
        local,
        "sm",
        "memcpy SM local GPU(column) bandwidth (GB/s)",
    ),
    Test(
        "device_local_read_sm",
        "Reads of a GPU's own memory by a kernel",
        local_memory("read"),
        "sm",
        "read SM local GPU(column) bandwidth (GB/s)",
    ),
    Test(
        "device_local_write_sm",
        "Writes of a GPU's own memory by a kernel",
        local_memory("write"),
        "sm",
        "write SM local GPU(column) bandwidth (GB/s)",
    ),
    Test(
        "device_to_device_latency_tma",
        "A bulk copy of one line from another GPU's memory",
        peer_latency,
        "tma",
        "Device to Device Latency TMA GPU(row) <-> GPU(column) (ns)",
        square=True,
        latency=True,
        least_gpus=2,
    ),
    Test(
        "device_local_copy_tma",
        "A copy inside one GPU by the bulk copy unit; bytes count once",
        local,
        "tma",
        "memcpy TMA local GPU(column) bandwidth (GB/s)",
    ),
    *_multinode_tests(),
)
"""In index order; the first 35 are v0.8's, the last 13 those of MPI ranks."""

"""nvbandwidth's test cases: those of v0.9 with their indices, then those that v0.10 adds."""

from itertools import product
from typing import Any

from tierscope.model.gpu import CopyEngine
from tierscope.peers.nvbandwidth.cells import (
    Cells,
    Test,
    bisection,
    host_latency,
    local,
    local_memory,
    one_and_all,
    peer_latency,
    peers,
    peers_both_ways,
    with_host,
)

_ENGINE_NAMES: dict[CopyEngine, str] = {
    "ce": "a copy engine",
    "sm": "a kernel",
    "tma": "the bulk copy unit",
}
_COPY = "A copy inside one GPU{}; bytes count once"


def _tests_of(engine: CopyEngine) -> list[Test]:
    """The sixteen test cases of both copy engines and kernels, in order."""
    alone = ((True, False), (False, False), (True, True), (False, True))
    crowded = ((False, False), (False, True), (True, False), (True, True))
    return [
        *(_host_test(engine, *ways, others=False) for ways in alone),
        *_peer_tests(engine),
        *(_host_test(engine, *ways, others=True) for ways in crowded),
        *_one_and_all_tests(engine),
    ]


def _host_test(engine: CopyEngine, to_gpu: bool, both: bool, others: bool) -> Test:
    """A GPU and the host, in one or both directions, alone or with all others."""
    gpu, more = "all" if others else "device", "_bidirectional" if both else ""
    name = f"host_to_{gpu}" if to_gpu else f"{gpu}_to_host"
    load = {
        (False, False): "",
        (True, False): " while the other direction is as busy",
        (False, True): " while all others do the same",
        (True, True): " while all others and all opposite directions are busy",
    }[both, others]
    arrow = "<->" if both else "->" if to_gpu else "<-"
    return Test(
        f"{name}{more}_memcpy_{engine}",
        f"{'Host to each GPU' if to_gpu else 'Each GPU to host'}{load}, by {_ENGINE_NAMES[engine]}",
        with_host(to_gpu, both, others),
        engine,
        f"memcpy {engine.upper()} CPU(row) {arrow} GPU(column) bandwidth (GB/s)",
    )


def _one_and_all_tests(engine: CopyEngine) -> list[Test]:
    """One GPU and all others, together; the figure is their sum."""
    rows = (
        ("all_to_one_write", "All GPUs write to one", "<-", True, True),
        ("all_to_one_read", "All others read from one GPU", "->", False, False),
        ("one_to_all_write", "One GPU writes to all", "->", False, True),
        ("one_to_all_read", "One GPU reads from all others", "<-", True, False),
    )
    return [
        Test(
            f"{name}_{engine}",
            f"{description}, by {_ENGINE_NAMES[engine]}; all together",
            one_and_all(to_one),
            engine,
            f"memcpy {engine.upper()} GPU(row) {arrow} GPU(column) bandwidth (GB/s)",
            writes=writes,
            least_gpus=2,
        )
        for name, description, arrow, to_one, writes in rows
    ]


def _peer_tests(engine: CopyEngine, over_ranks: bool = False) -> list[Test]:
    """GPU to GPU, of one host or of MPI ranks: one way and both ways, read and written."""
    tests = []
    for both_ways, side in product((False, True), ("read", "write")):
        arrow = "<->" if both_ways else "->" if side == "read" else "<-"
        part = side.capitalize()
        parts = (f"{part}1", f"{part}2", "Total") if both_ways and not over_ranks else ()
        gpu = "rank's GPU" if over_ranks else "GPU"
        how = f"{'both ways at once, ' if both_ways else ''}{side} by {_ENGINE_NAMES[engine]}"
        tests.append(
            Test(
                f"{'multinode_' if over_ranks else ''}device_to_device_"
                f"{'bidirectional_' if both_ways else ''}memcpy_{side}_{engine}",
                f"Each {gpu} and each other, {how}",
                peers_both_ways if both_ways else peers,
                engine,
                f"memcpy {engine.upper()} GPU(row) {arrow} GPU(column) {'{} ' if parts else ''}"
                "bandwidth (GB/s)",
                square=True,
                parts=parts,
                writes=side == "write",
                least_gpus=1 if over_ranks else 2,
                over_ranks=over_ranks,
            )
        )
    return tests


def _multinode_tests() -> list[Test]:
    """GPUs of MPI ranks, in the order of nvbandwidth's documentation."""
    return [
        *_peer_tests("ce", over_ranks=True),
        *_peer_tests("sm", over_ranks=True),
        _rank_test(
            "device_to_device_all_to_one_write_sm",
            "All ranks' GPUs write to one, by a kernel; all together",
            one_and_all(True),
            "memcpy SM All Gpus -> GPU(column) total bandwidth (GB/s)",
            writes=True,
        ),
        _rank_test(
            "device_to_device_all_from_one_read_sm",
            "All other ranks' GPUs read from one, by a kernel; all together",
            one_and_all(False),
            "memcpy SM All Gpus <- GPU(column) total bandwidth (GB/s)",
        ),
        _rank_test(
            "device_to_device_broadcast_one_to_all_sm",
            "One rank's GPU writes to the multicast memory of all",
            None,
            "multicast SM GPU(column) -> All Gpus total bandwidth (GB/s)",
        ),
        _rank_test(
            "device_to_device_broadcast_all_to_all_sm",
            "All ranks' GPUs write to the multicast memory of all",
            None,
            "multicast SM All -> All Gpus total bandwidth (GB/s)",
        ),
        _rank_test(
            "bisect_write_ce",
            "Each rank's GPU writes to its partner in the other half, by a copy engine, at once",
            bisection,
            "Bisect benchmarking, simultaneous write CE BW",
            engine="ce",
            writes=True,
            row_a_transfer=True,
        ),
    ]


def _rank_test(
    name: str,
    description: str,
    cells: Cells | None,
    title: str,
    engine: CopyEngine = "sm",
    **more: Any,
) -> Test:
    return Test(f"multinode_{name}", description, cells, engine, title, over_ranks=True, **more)


def _latency_test(engine: CopyEngine, description: str) -> Test:
    return Test(
        f"device_to_device_latency_{engine}",
        description,
        peer_latency,
        engine,
        f"Device to Device Latency {engine.upper()} GPU(row) <-> GPU(column) (ns)",
        square=True,
        latency=True,
        least_gpus=2,
    )


def _local_test(name: str, description: str, cells: Cells, engine: CopyEngine, what: str) -> Test:
    title = f"{what} local GPU(column) bandwidth (GB/s)"
    return Test(f"device_local_{name}", description, cells, engine, title)


OF_V09: tuple[Test, ...] = (
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
    _latency_test("sm", "A GPU's dependent loads from another's memory"),
    _local_test("copy", _COPY.format(""), local, "ce", "memcpy"),
    *_multinode_tests(),
)
"""In index order; the last 13 are those of MPI ranks."""

_OF_V010 = (
    *_peer_tests("tma"),
    _local_test("copy_sm", _COPY.format(" by a kernel"), local, "sm", "memcpy SM"),
    _local_test(
        "read_sm",
        "Reads of a GPU's own memory by a kernel",
        local_memory("read"),
        "sm",
        "read SM",
    ),
    _local_test(
        "write_sm",
        "Writes of a GPU's own memory by a kernel",
        local_memory("write"),
        "sm",
        "write SM",
    ),
    _latency_test("tma", "A bulk copy of one line from another GPU's memory"),
    _local_test("copy_tma", _COPY.format(" by the bulk copy unit"), local, "tma", "memcpy TMA"),
)

TESTS: tuple[Test, ...] = (*OF_V09, *_OF_V010)
"""All, in index order."""

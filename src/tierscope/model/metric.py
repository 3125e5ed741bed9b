"""The metrics: what each figure is, its unit, and which direction is better.

The engine names metrics in the columns of its rows, run files and ``--json`` in their figures; the
unit stands here only.
"""

from dataclasses import dataclass
from typing import Literal

Unit = Literal["B/s", "ns", "1/s", "B", "count", "ratio", "W", "J/bit"]
Better = Literal["higher", "lower"]


@dataclass(frozen=True)
class Metric:
    """One kind of figure."""

    unit: Unit
    better: Better


_RATE = Metric("B/s", "higher")
_TIME = Metric("ns", "lower")
_BYTES = Metric("B", "lower")
_SHARE = Metric("ratio", "lower")

METRICS: dict[str, Metric] = {
    "bandwidth": _RATE,
    "bandwidth_with_write_allocate": _RATE,
    "total_bandwidth": _RATE,
    "thread_bandwidth": _RATE,
    "latency": _TIME,
    "latency_p50": _TIME,
    "latency_p90": _TIME,
    "latency_p99": _TIME,
    "latency_p99.9": _TIME,
    "call_latency": _TIME,
    "first_copy_bandwidth": _RATE,
    "sm_latency_min": _TIME,
    "sm_latency_p5": _TIME,
    "sm_latency_p50": _TIME,
    "sm_latency_p95": _TIME,
    "sm_latency_max": _TIME,
    "updates": Metric("1/s", "higher"),
    "time_per_update": _TIME,
    "exchange_latency": _TIME,
    "tries_per_update": Metric("ratio", "lower"),
    "time_per_load": _TIME,
    "time_per_page": _TIME,
    "map": _TIME,
    "populate_per_page": _TIME,
    "unmap_per_page": _TIME,
    "iops": Metric("1/s", "higher"),
    "cpu_per_operation": _TIME,
    "time_per_operation": _TIME,
    "operations": Metric("1/s", "higher"),
    "throughput": _RATE,
    "read_throughput": _RATE,
    "write_throughput": _RATE,
    "receive_throughput": _RATE,
    "send_throughput": _RATE,
    "read_iops": Metric("1/s", "higher"),
    "write_iops": Metric("1/s", "higher"),
    "memory_used": _BYTES,
    "memory_anonymous": _BYTES,
    "memory_file": _BYTES,
    "memory_free": Metric("B", "higher"),
    "stalled": _SHARE,
    "busy": _SHARE,
    "memory_busy": _SHARE,
    "pages_migrated": Metric("1/s", "lower"),
    "page_events": Metric("1/s", "lower"),
    "checkpoint_time": _TIME,
    "restart_time": _TIME,
    "restart_bandwidth": _RATE,
    "run_time": _TIME,
    "gc_time": _TIME,
    "power": Metric("W", "lower"),
    "power_above_idle": Metric("W", "lower"),
    "energy_per_bit": Metric("J/bit", "lower"),
    "reported_time": _TIME,
    "reported_rate": Metric("1/s", "higher"),
    "reported_bandwidth": _RATE,
    "reported_bytes": Metric("B", "lower"),
    "reported_higher": Metric("count", "higher"),
    "reported_lower": Metric("count", "lower"),
}
"""A kind that gives a new figure adds its row here. ``reported``: a number that a program printed,
whose name is the figure's part."""

OF_ENERGY = ("power", "power_above_idle", "energy_per_bit")
"""Figures that measurements of any kind have where energy was measured beside them."""

DISTRIBUTIONS = (
    "io_latency",
    "submission_latency",
    "completion_latency",
    "sync_latency",
    "gc_pause",
    "persist_latency",
    "chain_latency",
    "operation_latency",
)
"""Times of single operations whose distributions rows may hold; a kind that gives a new one adds
its name here. io: from before it is submitted until its end is seen; submission: the time that
submitting takes; completion: from then on; sync: of fsync and fdatasync; gc_pause: the time that a
garbage collector stops a program; persist: of writing a block, until it persists; chain: of a chain
of reads and writes; operation: of a database's, or of a group of interleaved ones."""
WHOLE_OPERATIONS = ("io_latency", "persist_latency", "chain_latency", "operation_latency")
"""Those that are times of whole operations, and no parts of them."""
PERCENTILES = {
    "p50": 0.5,
    "p90": 0.1,
    "p99": 0.01,
    "p99.9": 0.001,
    "p99.99": 0.0001,
    "p99.999": 0.00001,
}
"""Of a distribution, with the share of operations that take longer."""
METRICS |= {
    f"{name}_{figure}": _TIME for name in DISTRIBUTIONS for figure in ("mean", *PERCENTILES, "max")
}
COMPARED = tuple(
    f"{whole}_{name}" for whole in WHOLE_OPERATIONS for name in ("p50", "p99", "p99.9")
)
"""Percentiles that are compared between runs, beside the headlines."""

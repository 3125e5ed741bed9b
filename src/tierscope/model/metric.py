"""The metrics: what each figure is, its unit, and which direction is better.

The engine names metrics in the columns of its rows, run files and ``--json`` in their figures; the
unit stands here only.
"""

from dataclasses import dataclass
from typing import Literal

Unit = Literal["B/s", "ns", "1/s", "B", "count", "ratio", "W", "J/bit", "°C"]
Better = Literal["higher", "lower"]
OF_ENERGY = ("power", "power_above_idle", "energy_per_bit")
"""Figures that measurements of any kind have where energy was measured beside them."""
DISTRIBUTIONS = (
    "latency",
    "io_latency",
    "submission_latency",
    "completion_latency",
    "sync_latency",
    "gc_pause",
    "persist_latency",
    "chain_latency",
    "operation_latency",
    "map_latency",
    "unmap_latency",
)
"""Times of single operations whose distributions rows may hold; a kind that gives a new one adds
its name here. latency: of single dependent loads; io: from before it is submitted until its end is
seen; submission: the time that submitting takes; completion: from then on; sync: of fsync
and fdatasync; gc_pause: the time that a garbage collector stops a program; persist: of writing a
block, until it persists; chain: of a chain of reads and writes; operation: of a database's, or of a
group of interleaved ones; map: of mapping and populating memory; unmap: of unmapping it."""
WHOLE_OPERATIONS = (
    "latency", "io_latency", "persist_latency", "chain_latency", "operation_latency"
)  # fmt: skip
"""Those that are times of whole operations, and no parts of them."""
PERCENTILES = {
    "p50": 0.5,
    "p90": 0.1,
    "p99": 0.01,
    "p99.9": 0.001,
    "p99.99": 0.0001,
    "p99.999": 0.00001,
}
"""Percentiles of a distribution, with the share of operations that take longer."""
COMPARED = tuple(
    f"{whole}_{name}" for whole in WHOLE_OPERATIONS for name in ("p50", "p99", "p99.9")
)
"""Percentiles that are compared between runs, beside the headlines."""


@dataclass(frozen=True)
class Metric:
    """One kind of figure."""

    unit: Unit
    better: Better
    heading: str = ""
    """What a column of it is called; the metric's name in words where empty."""
    reads_back: bool = False
    """It is of reading what the headline is of writing."""


_RATE = Metric("B/s", "higher")
_TIME = Metric("ns", "lower")
_BYTES = Metric("B", "lower")
_SHARE = Metric("ratio", "lower")


class _Metrics(dict[str, Metric]):
    """Metrics by name; one of a later version, in a run file, is a plain number."""

    def __missing__(self, name: str) -> Metric:
        return Metric("count", "higher", name.replace("_", " "))


METRICS: dict[str, Metric] = _Metrics(
    {
        "bandwidth": _RATE,
        "bandwidth_with_write_allocate": Metric("B/s", "higher", "on the bus"),
        "total_bandwidth": Metric("B/s", "higher", "all streams"),
        "thread_bandwidth": _RATE,
        "latency": _TIME,
        "call_latency": Metric("ns", "lower", "a call"),
        "first_copy_bandwidth": Metric("B/s", "higher", "first copy"),
        "sm_latency_min": _TIME,
        "sm_latency_p5": _TIME,
        "sm_latency_p50": _TIME,
        "sm_latency_p95": _TIME,
        "sm_latency_max": _TIME,
        "updates": Metric("1/s", "higher"),
        "time_per_update": _TIME,
        "handover_time": Metric("ns", "lower", "hand-over"),
        "exchange_latency": Metric("ns", "lower", "exchange"),
        "tries_per_update": Metric("ratio", "lower"),
        "time_per_load": _TIME,
        "time_per_page": _TIME,
        "map": Metric("ns", "lower", "map, all pages"),
        "populate_per_page": _TIME,
        "unmap_per_page": _TIME,
        "iops": Metric("1/s", "higher", "IOPS"),
        "cpu_per_operation": Metric("ns", "lower", "CPU per operation"),
        "time_per_operation": _TIME,
        "operations": Metric("1/s", "higher"),
        "throughput": Metric("B/s", "higher", "traffic"),
        "read_throughput": Metric("B/s", "higher", "read"),
        "write_throughput": Metric("B/s", "higher", "written"),
        "receive_throughput": Metric("B/s", "higher", "received"),
        "send_throughput": Metric("B/s", "higher", "sent"),
        "read_iops": Metric("1/s", "higher", "reads/s"),
        "write_iops": Metric("1/s", "higher", "writes/s"),
        "memory_used": Metric("B", "lower", "used"),
        "memory_anonymous": Metric("B", "lower", "anonymous"),
        "memory_file": Metric("B", "lower", "files"),
        "memory_free": Metric("B", "higher", "free"),
        "stalled": _SHARE,
        "busy": _SHARE,
        "memory_busy": _SHARE,
        "crossing_root_ports": Metric("ratio", "lower", "crossing root ports"),
        "peer_dma": Metric("1/s", "higher", "peer DMA/s"),
        "iowait": _SHARE,
        "steal": _SHARE,
        "read_await": Metric("ns", "lower", "a read"),
        "write_await": Metric("ns", "lower", "a write"),
        "read_request_size": Metric("B", "higher", "bytes a read"),
        "write_request_size": Metric("B", "higher", "bytes a write"),
        "receive_packets": Metric("1/s", "higher", "packets received/s"),
        "send_packets": Metric("1/s", "higher", "packets sent/s"),
        "bar1_used": Metric("B", "lower", "BAR1 used"),
        "temperature": Metric("°C", "lower", "°C"),
        "sm_clock": Metric("1/s", "higher", "SM clock, Hz"),
        "memory_clock": Metric("1/s", "higher", "memory clock, Hz"),
        "pages_migrated": Metric("1/s", "lower"),
        "page_events": Metric("1/s", "lower"),
        "checkpoint_time": Metric("ns", "lower", "time to durable"),
        "restart_time": Metric("ns", "lower", "time to restart", reads_back=True),
        "restart_bandwidth": Metric("B/s", "higher", "restart", reads_back=True),
        "transfer_time": _TIME,
        "samples": Metric("1/s", "higher"),
        "utilisation": Metric("ratio", "higher"),
        "accelerators_fed": Metric("count", "higher", "could feed"),
        "reading": Metric("ratio", "lower", "readers reading"),
        "run_time": _TIME,
        "gc_time": Metric("ns", "lower", "GC pauses"),
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
)
"""A kind that gives a new figure adds its row here. ``reported``: a number that a program printed,
whose name is the figure's part."""


METRICS |= {
    f"{name}_{figure}": Metric("ns", "lower", figure if name in WHOLE_OPERATIONS else "")
    for name in DISTRIBUTIONS
    for figure in ("mean", *PERCENTILES, "max")
}
METRICS["gc_pause_max"] = Metric("ns", "lower", "longest GC pause")
METRICS["gc_concurrent"] = Metric("ns", "lower", "concurrent GC")


def heading_of(metric: str) -> str:
    """Return what a column of a metric is called."""
    known = METRICS.get(metric)
    return (known and known.heading) or metric.replace("_", " ")

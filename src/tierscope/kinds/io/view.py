"""How storage is shown."""

from tierscope.kinds.io.pictures import PICTURES
from tierscope.kinds.io.points import cached
from tierscope.kinds.io.table import show_table
from tierscope.kinds.io.words import idle_latency, key_figure, summary_of
from tierscope.report.view import View

VIEW = View(
    title="Storage",
    method="Pinned threads keep operations in flight without a pause; rows are cut out of them by "
    "time. Latency counts from before an operation is submitted, at a given rate from when it was "
    "due, to when its end is seen. Medians of rows and their 95% intervals.",
    headings={
        "operation": "op",
        "block_size": "block",
        "cpu_per_operation": "CPU ns/op",
        "io_latency_p50": "p50 ns",
        "io_latency_p99": "p99 ns",
        "io_latency_p99.9": "p99.9 ns",
    },
    table=show_table,
    pictures=PICTURES,
    summary=summary_of,
    access=lambda m: None if cached(m) or "together" in m.pattern else (m.initiator, m.target),
    latency=idle_latency,
    key_figure=key_figure,
)

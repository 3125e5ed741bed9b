"""How input and output is shown."""

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
)

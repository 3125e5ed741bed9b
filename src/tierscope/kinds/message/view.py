"""How messages are shown."""

from tierscope.report.view import View

VIEW = View(
    title="Messages",
    method="Two ranks of an MPI program exchange messages. Latency: half the time from sending a "
    "message to its answer of the same size. Bandwidth: a window of messages is under way at once, "
    "and the destination answers each window with one byte. Medians and their 95% intervals.",
    endpoints=("source", "destination"),
    represents_path=False,
)

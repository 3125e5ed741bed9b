"""How messages are shown."""

from tierscope.kinds.message.table import show_table, summary_of
from tierscope.report.view import View

VIEW = View(
    title="Messages",
    method="Two ranks of an MPI program exchange messages. Latency: half the time from sending a "
    "message to its answer of the same size. Bandwidth: a window of messages is under way at once, "
    "and the destination answers each window with one byte. Medians and their 95% intervals.",
    endpoints=("source", "destination"),
    table=show_table,
    represents_path=False,
    summary=summary_of,
)

"""How idle latency is shown."""

from tierscope.kinds.latency import pictures
from tierscope.kinds.latency.table import show_table
from tierscope.report.pictures.working_set import over_working_set
from tierscope.report.view import View

VIEW = View(
    title="Idle latency",
    method="One pinned thread follows one random cycle of dependent loads through the whole "
    "working set, nothing else running; time per load; median and its 95% interval. Several chases "
    "at once enter the cycle at evenly spaced lines, and their loads overlap.",
    headings={"time_per_load": "ns per load"},
    table=show_table,
    pictures=(pictures.matrix, over_working_set, pictures.parallelism, pictures.variants),
)

"""How a watch is shown."""

from tierscope.kinds.watch.pictures import over_time, without_rows
from tierscope.kinds.watch.table import show_table, summary_of
from tierscope.report.view import View

VIEW = View(
    title="Watch",
    method="Counters of the kernel and of drivers are read at intervals; rates are differences "
    "over the counters' own time. Means over the time and the largest interval, of the machine "
    "and whatever ran on it.",
    table=show_table,
    pictures=(over_time, without_rows),
    represents_path=False,
    summary=summary_of,
)

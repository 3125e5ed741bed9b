"""How GPU copies are shown."""

from tierscope.kinds.gpu_copy.table import show_table
from tierscope.report.view import View

VIEW = View(
    title="GPU copies",
    method="Copies queued behind a gate on the device and timed by its events, data verified "
    "afterwards; n bytes copied count n; n½ is the size that reaches half the peak.",
    endpoints=("source", "destination"),
    table=show_table,
)

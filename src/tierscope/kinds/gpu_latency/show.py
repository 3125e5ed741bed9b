"""How latencies from GPUs are shown."""

from tierscope.report.pictures.generic import bars, matrices
from tierscope.report.pictures.working_set import over_working_set
from tierscope.report.view import View

VIEW = View(
    title="Latency from a GPU",
    method="One warp follows one random cycle of dependent loads through the whole working set; "
    "time per load; median and its 95% interval.",
    pictures=(matrices, over_working_set, bars),
)

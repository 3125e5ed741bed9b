"""How the bandwidth of GPUs' own memory is shown."""

from tierscope.kinds.gpu_memory.table import show_table
from tierscope.report.pictures.generic import bars, size_sweeps
from tierscope.report.view import View

VIEW = View(
    title="GPU memory",
    method="A kernel over arrays in the GPU's memory, timed by the device's events; bytes as "
    "STREAM counts them; median and its 95% interval.",
    table=show_table,
    pictures=(size_sweeps, bars),
)

"""How traffic, streams of mixed reads and writes, is shown."""

from tierscope.kinds.streams import pictures
from tierscope.report.view import View

VIEW = View(
    title="Streams",
    method="Threads of all streams pass one gate and stop together; reads and writes are mixed "
    "line by line; bytes are those the program asked to move; medians with 95% intervals.",
    headings={
        "beside": "concurrent with",
        "bandwidth_with_write_allocate": "on the bus",
        "total_bandwidth": "all streams",
    },
    hidden=("writes", "stores"),
    separate=("order", "beside"),
    unsaid={"zipf_alpha": 0.9},
    pictures=(pictures.mixes, pictures.over_threads, pictures.sweeps, pictures.concurrent),
)

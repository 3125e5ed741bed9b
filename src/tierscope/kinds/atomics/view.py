"""How atomic updates are shown."""

from tierscope.kinds.atomics.pictures import updates
from tierscope.report.view import View

VIEW = View(
    title="Atomic updates",
    method="Pinned threads update 64-bit counters, one a cache line, in random order; the "
    "counters' sum has to be the number of updates; median and its 95% interval.",
    headings={
        "operation": "update",
        "time_per_update": "ns each",
        "tries_per_update": "tries",
    },
    pictures=(updates,),
)

"""How bandwidth is shown."""

from tierscope.kinds.bandwidth import patterns, pictures, working_set
from tierscope.kinds.bandwidth.table import show_table
from tierscope.report.view import View

VIEW = View(
    title="Bandwidth",
    method="Pinned threads pass one gate and run one loop over arrays whose pages were read back; "
    "bytes are those the program asked to move, as STREAM counts; median and its 95% interval.",
    table=show_table,
    pictures=(
        pictures.matrix,
        pictures.operations,
        pictures.over_threads,
        working_set.over_working_set,
        pictures.maps,
        pictures.access_sizes,
        pictures.expansion,
        patterns.orders,
        patterns.strides,
    ),
)

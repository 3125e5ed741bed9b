"""How latency under load is shown."""

from tierscope.kinds.loaded_latency.by_threads import over_threads
from tierscope.kinds.loaded_latency.family_pictures import beside, families
from tierscope.kinds.loaded_latency.metrics import more, summaries
from tierscope.kinds.loaded_latency.pictures import curves
from tierscope.kinds.loaded_latency.table import show_table
from tierscope.kinds.loaded_latency.words import key_figure, summary_of
from tierscope.report.view import View

VIEW = View(
    title="Latency under load",
    method="A pointer chase on its own CPU while other threads load the memory at a set rate; "
    "bandwidth is what ran during the chase; medians with 95% intervals.",
    table=show_table,
    pictures=(families, curves, over_threads),
    more=more,
    summaries=summaries,
    beside=beside,
    represents_path=False,
    summary=summary_of,
    key_figure=key_figure,
)

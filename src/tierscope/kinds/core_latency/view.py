"""How core-to-core latency is shown."""

from tierscope.kinds.core_latency.pictures import heat_maps
from tierscope.kinds.core_latency.table import show_table
from tierscope.kinds.core_latency.words import more_of, summary_of
from tierscope.report.view import View

VIEW = View(
    title="Core-to-core latency",
    method="One CPU stores to lines that its L2 cache can hold, or has all caches drop them and "
    "loads them; another one loads them in a random order, each address out of the line before; "
    "time per line, every line verified to be of its round. Exchange: half the round trip of one "
    "line that both update in turn. Medians and their 95% intervals.",
    headings={"exchange_latency": "exchange"},
    endpoints=("reader", "home"),
    table=show_table,
    pictures=(heat_maps,),
    more=more_of,
    represents_path=False,
    summary=summary_of,
)

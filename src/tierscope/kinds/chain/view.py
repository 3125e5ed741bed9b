"""How chains are shown."""

from tierscope.kinds.chain.pictures import PICTURES
from tierscope.kinds.chain.table import show_table
from tierscope.model.run import Measurement
from tierscope.report import figures
from tierscope.report.naming import path_of
from tierscope.report.view import View


def summary_of(measured: list[Measurement]) -> str:
    """Return the first chain's time, or its rate."""
    first = measured[0]
    unit, factor = figures.scale_of(first.unit or "ns", [first.estimate or 0.0])
    each = "takes" if first.pattern["linked"] else "ends"
    return (
        f"chains: {path_of(first)}, {first.pattern['chain']} {each} "
        f"{figures.with_interval(first, factor)} {unit}"
    )


VIEW = View(
    title="Chains",
    method="Pinned threads make one chain of reads, writes and fences after the other, each read "
    "at an address that the data read before decides; percentiles of chains timed one by one; "
    "every walk is made again over the known contents. Medians and their 95% intervals.",
    headings={"interleave": "walks", "sample_every": "timed 1 in", "second": "m1"},
    table=show_table,
    pictures=PICTURES,
    represents_path=False,
    summary=summary_of,
)

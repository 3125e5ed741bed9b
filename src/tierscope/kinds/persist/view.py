"""How the cost of persistence is shown."""

from tierscope.kinds.persist.cost import cheapest, cost
from tierscope.kinds.persist.pictures import PICTURES
from tierscope.kinds.persist.table import show_table
from tierscope.model.run import Measurement
from tierscope.report import figures
from tierscope.report.naming import described, path_of
from tierscope.report.view import View


def summary_of(measured: list[Measurement]) -> str:
    """Return what the cheapest method costs, or the first figure where no stores stand beside."""
    found = cheapest(measured)
    if found is None:
        return f"persistence: {described(measured[0])}"
    best, base = found
    unit, factor = figures.scale_of("ns", [best.estimate or 0.0])
    return (
        f"persistence: {path_of(best)}, {figures.size_text(best.pattern['block_size'])} persist by "
        f"{best.pattern['method']} in {figures.with_interval(best, factor)} {unit}, "
        f"{figures.with_interval(cost(best, base), 1.0)} times the stores alone"
    )


VIEW = View(
    title="Persistence",
    method="Pinned threads write one block after the other and have each persist before the next; "
    "time for a block and bandwidth without a clock between blocks, percentiles of blocks timed "
    "one by one; every block written is compared. Medians and their 95% intervals.",
    headline="ns a block",
    headings={"block_size": "block"},
    table=show_table,
    pictures=PICTURES,
    represents_path=False,
    summary=summary_of,
)

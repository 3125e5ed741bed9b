"""How operations of databases are shown."""

from tierscope.kinds.ops.pictures import PICTURES
from tierscope.kinds.ops.slowdown import sentences
from tierscope.kinds.ops.table import show_table
from tierscope.model.run import Measurement
from tierscope.report.best import best_of
from tierscope.report.naming import described
from tierscope.report.view import View


def summary_of(measured: list[Measurement]) -> str:
    """Return what moving parts costs, or the best figure where nothing was moved."""
    said = next(sentences(measured), None)
    return f"database operations: {said or described(best_of(measured))}"


VIEW = View(
    title="Database operations",
    method="Pinned threads work on a data structure whose parts were placed one by one; operations "
    "a second without a clock between operations, percentiles of operations timed one by one; what "
    "was found and written is compared with the keys in order. Medians and their 95% intervals.",
    headline="operations",
    headings={"time_per_operation": "ns each"},
    table=show_table,
    pictures=PICTURES,
    represents_path=False,
    summary=summary_of,
)

"""How small files are shown."""

from tierscope.kinds.files.pictures import PICTURES
from tierscope.kinds.files.table import show_table
from tierscope.model.run import Measurement
from tierscope.report.naming import described
from tierscope.report.view import View


def summary_of(measured: list[Measurement]) -> str:
    """Return how fast files are created, or the first operation that was measured."""
    created = [m for m in measured if m.pattern["operation"] == "create"]
    return f"small files: {described((created or measured)[0])}"


VIEW = View(
    title="Small files",
    method="Pinned threads repeat one operation, each time on the next of the files that were made "
    "for it; a rate is the operations of all threads over their time. The kernel has names, inodes "
    "and data in its caches. Medians of rows and their 95% intervals.",
    headings={"operation": "op", "file_size": "file size"},
    table=show_table,
    pictures=PICTURES,
    represents_path=False,
    summary=summary_of,
)

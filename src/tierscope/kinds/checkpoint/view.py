"""How checkpoints are shown."""

from tierscope.kinds.checkpoint.pictures import PICTURES
from tierscope.kinds.checkpoint.table import show_table
from tierscope.kinds.checkpoint.words import SAVED, time_text
from tierscope.model.run import Measurement
from tierscope.report.best import best_of
from tierscope.report.figures import side_figure, size_text
from tierscope.report.view import View


def summary_of(measured: list[Measurement]) -> str:
    """Return how long the best target takes."""
    best = best_of(measured)
    saved = time_text(side_figure(best, SAVED))
    size = size_text(best.pattern["size"])
    return f"a checkpoint of {size} is durable on {best.target} after {saved}" if saved else ""


VIEW = View(
    title="Checkpoints",
    method="Pinned threads write a state to one of two slots of the target, wait until it is "
    "durable, and write the slot's header; the time ends when that is durable, too. A restart "
    "opens the target, reads the last good checkpoint and verifies every cell of it. Medians of "
    "rows and their 95% intervals.",
    headings={
        "checkpoint_time": "time to durable",
        "restart_time": "time to restart",
        "restart_bandwidth": "restart",
    },
    table=show_table,
    pictures=PICTURES,
    represents_path=False,
    summary=summary_of,
)

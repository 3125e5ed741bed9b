"""How traffic, streams of mixed reads and writes, is shown."""

from dataclasses import replace

from rich.console import Console

from tierscope.kinds.streams import pictures, spread_pictures
from tierscope.kinds.streams.spread_table import show_spreads, spreads_json
from tierscope.kinds.streams.spreads import studies_of
from tierscope.model.run import Measurement, Run
from tierscope.report.table import show_table
from tierscope.report.view import View

_PLAIN = View(
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
    pictures=(
        spread_pictures.gains,
        pictures.mixes,
        pictures.over_threads,
        pictures.sweeps,
        pictures.concurrent,
    ),
)


def _show(console: Console, measured: list[Measurement], run: Run) -> None:
    """Print what studies of spread pages came to, and all else in the generic way."""
    shown = {m.id for study in studies_of(run) for t in study.threads for m in study.at(t).values()}
    if rest := [m for m in measured if m.id not in shown]:
        show_table(console, rest, _PLAIN)
    show_spreads(console, run)


def _more(run: Run) -> dict[str, object]:
    found = spreads_json(run)
    return {"spread": found} if found else {}


VIEW = replace(_PLAIN, table=_show, more=_more)

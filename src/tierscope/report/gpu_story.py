"""``tierscope gpu``: from the naive copy to the best one, and what is left on the table."""

from rich.console import Console
from rich.text import Text

from tierscope.model.run import Measurement, Run
from tierscope.report import figures
from tierscope.report.gpu_explain import explain
from tierscope.report.gpu_tables import describe, efficiency_text, show_traces
from tierscope.report.style import new_table, note, title

_STEPS = {
    "pageable": "naive (pageable)",
    "pinned": "pinned",
    "large": "pinned, large",
    "streams": "4 streams",
    "sm": "by a kernel",
    "both-ways": "both ways",
    "local": "inside the GPU",
    "triad": "its memory, triad",
}
_WAYS = {"to-gpu": "to GPU", "to-host": "to host"}
_AS_GOOD = 0.98
"""A figure this near to another is as good."""
_FULL = 0.80
"""Efficiency of a PCIe link that copies can be expected to reach."""


def show_story(console: Console, run: Run) -> None:
    """Print one table and one conclusion for each GPU."""
    for gpu in run.header.machine["gpus"]:
        own = [entry for entry in run.measurements if entry.id.startswith(f"gpu{gpu['index']}.")]
        if not own:
            continue
        title(console, f"gpu:{gpu['index']}, {gpu['name']}")
        _show_table(console, own, run)
        for line in _conclusions(own):
            console.print(Text(line))
        show_traces(console, own)


def _show_table(console: Console, own: list[Measurement], run: Run) -> None:
    table = new_table()
    table.add_column("what", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("size", justify="right", no_wrap=True)
    table.add_column("GB/s", justify="right", no_wrap=True)
    table.add_column("of limit", justify="right", no_wrap=True)
    table.add_column("why", overflow="fold")
    last = ("", "")
    for entry in own:
        step, way = _step_of(entry)
        what = _STEPS.get(step, step.replace("node", "node "))
        measured = entry.status == "measured"
        why = explain(entry, run.header.topology) if measured else entry.reason
        table.add_row(
            "" if what == last[0] else what,
            _WAYS.get(way, ""),
            figures.size_text(entry.pattern["size"]),
            figures.with_interval(entry, 1e9) if measured else entry.status,
            efficiency_text(entry) if measured else "",
            Text("" if (what, why) == last else why),
        )
        last = (what, why)
    console.print(table)
    limit = next((entry.limit for entry in own if _step_of(entry)[0] == "large"), None)
    if limit is not None:
        note(console, f"limit of host copies: {limit.link}: {limit.formula}")


def _step_of(entry: Measurement) -> tuple[str, str]:
    parts = entry.id.split(".")
    return parts[1], parts[2] if len(parts) > 2 else ""


def _conclusions(own: list[Measurement]) -> list[str]:
    """What pinning and size bring, which way is best, and what is left."""
    rates = {_step_of(entry): entry.estimate for entry in own if entry.status == "measured"}
    lines = []
    for way, name in _WAYS.items():
        naive, large = rates.get(("pageable", way)), rates.get(("large", way))
        if naive and large:
            lines.append(
                f"{name}: pinned memory and large copies bring {large / 1e9:.1f} GB/s, "
                f"{large / naive:.1f} times the naive copy's {naive / 1e9:.1f}"
            )
    return [*lines, _left_on_the_table(own)]


def _left_on_the_table(own: list[Measurement]) -> str:
    """Compare the plain large copy with everything else that was tried, and with the limit."""
    plain = {_step_of(e)[1]: e for e in own if _step_of(e)[0] == "large" and e.status == "measured"}
    better: list[str] = []
    for entry in own:
        step, way = _step_of(entry)
        base = plain.get(way)
        tried = step in ("streams", "sm") or step.startswith("node")
        if base is None or not tried or entry.status != "measured":
            continue
        gain = (entry.estimate or 0.0) / (base.estimate or 1.0)
        if gain > 1 / _AS_GOOD:
            better.append(f"{describe(entry)} is {gain - 1:.0%} faster")
    if better:
        return "Left on the table: " + "; ".join(better)
    low = [
        f"{_WAYS[way]} reaches {entry.efficiency:.0%} of its limit"
        for way, entry in plain.items()
        if entry.efficiency is not None and entry.efficiency < _FULL
    ]
    if low:
        return (
            f"Left on the table: {'; '.join(low)}, and nothing that was tried does better: see "
            "'tierscope topo' for the link, and the IOMMU's and ACS settings in 'tierscope doctor'"
        )
    if not plain:
        return ""
    return "Left on the table: nothing. Streams, kernels and other nodes do no better than this."

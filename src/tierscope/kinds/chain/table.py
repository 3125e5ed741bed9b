"""The table of chains: time or rate of each, percentiles of chains timed by themselves."""

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from tierscope.model.errors import counted
from tierscope.model.run import Measurement, Run
from tierscope.report import figures
from tierscope.report.evidence import evidence_line, warnings
from tierscope.report.naming import path_of
from tierscope.report.pictures.picture import groups_by, label_of, value_of
from tierscope.report.style import new_table, note, title

PERCENTILES = ("p50", "p99", "p99.9", "p99.99")
_COLUMNS = ("path", "second", "interleave", "sample_every", "threads", "cpu_sets", "size",
            "size_second", "pages", "policy", "backing", "prefetchers")  # fmt: skip
"""Properties that the line above a table has, and the table where they differ."""
_SHORT = {"interleave": "walks", "sample_every": "timed 1 in", "second": "m1",
          "size_second": "m1 size", "cpu_sets": "CPUs"}  # fmt: skip
_LONGEST = 30


def show_table(console: Console, measured: list[Measurement], _run: Run) -> None:
    """Print the measured results: linked chains by their time, others by their rate."""
    for (linked,), group in groups_by(measured, "linked").items():
        _show(console, group, bool(linked))
    for line in dict.fromkeys((*_said(measured), *warnings(measured), evidence_line(measured))):
        if line:
            note(console, line)


def _show(console: Console, measured: list[Measurement], linked: bool) -> None:
    title(console, f"Chains, {'linked: the time of each' if linked else 'not linked: how many'}")
    varying = [key for key in _COLUMNS if len({value_of(m, key) for m in measured}) > 1]
    console.print(Text(", ".join(_same(measured[0], varying))))
    table = new_table()
    for key in varying:
        table.add_column(_SHORT.get(key, key), no_wrap=key != "path", overflow="fold")
    table.add_column("chain", overflow="fold", max_width=_LONGEST)
    heads = ("ns a chain", "M/s") if linked else ("M/s",)
    for name in (*heads, "GB/s", *PERCENTILES):
        table.add_column(name, justify="right", no_wrap=True)
    for m in measured:
        table.add_row(*map(Text, (*_names(m, varying), *_figures(m, linked))))
    console.print(table)


def _same(measurement: Measurement, varying: list[str]) -> Iterator[str]:
    """Say what all rows have in common, where it is not the usual."""
    pattern = measurement.pattern
    said = {
        "path": path_of(measurement),
        "second": f"m1 on {pattern.get('second')}",
        "interleave": f"{pattern.get('interleave')} walks a thread",
        "sample_every": f"one chain in {pattern.get('sample_every')} timed by itself",
        "threads": counted(pattern["threads"], "thread"),
        "cpu_sets": f"on any of CPUs {pattern.get('cpu_sets')}",
        "size": f"over {figures.size_text(pattern['size'])}",
        "size_second": f"m1 over {figures.size_text(pattern.get('size_second', 0))}",
    }
    for key in _COLUMNS:
        value = value_of(measurement, key)
        if key not in varying and value:
            yield said.get(key) or label_of(key, value)


def _names(measurement: Measurement, varying: list[str]) -> list[str]:
    found = [value_of(measurement, key) for key in varying]
    said = [
        figures.size_text(value)
        if key in ("size", "size_second") and value
        else str(value or (1 if key in ("interleave", "sample_every") else ""))
        for key, value in zip(varying, found, strict=True)
    ]
    return [*said, str(measurement.pattern["chain"])]


def _figures(measurement: Measurement, linked: bool) -> list[str]:
    rate = figures.side_figure(measurement, "bandwidth")
    times = [figures.side_figure(measurement, f"chain_latency_{p}") for p in PERCENTILES]
    head = [_with_interval(measurement, 1.0 if linked else 1e6)]
    if linked:
        count = figures.side_figure(measurement, "operations")
        head.append(figures.plain(count, 1e6, 3) if count else "")
    return [
        *head,
        figures.plain(rate, 1e9, 3) if rate else "",
        *(figures.plain(time, 1.0, 3) if time else "" for time in times),
    ]


def _with_interval(measurement: Measurement, factor: float) -> str:
    known = figures.has_interval(measurement)
    text = figures.with_interval if known else figures.plain
    return text(measurement, factor)


def _said(measured: list[Measurement]) -> list[str]:
    """Say what the columns stand for, and what is inside the figures."""
    found = [m.evidence for m in measured if m.evidence]
    timers = [one.timer_ns for one in found if one.timer_ns]
    timer = f"; {figures.significant(max(timers), 2)} ns of each is the timer" if timers else ""
    lines = [f"p50 and so on: ns of chains timed one by one{timer}"]
    addresses = [
        m.evidence.address_ns
        for m in measured
        if m.evidence and m.evidence.address_ns and m.pattern["linked"]
    ]
    if addresses:
        lines.append(
            f"inside the time of linked chains: {figures.significant(max(addresses), 2)} ns that "
            "making each address takes; the rest compares with tierscope latency"
        )
    return lines

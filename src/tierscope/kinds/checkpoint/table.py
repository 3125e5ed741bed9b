"""The table of checkpoints: time to durable and to restart, by target."""

from collections.abc import Callable

from rich.console import Console
from rich.text import Text

from tierscope.kinds.checkpoint.words import HELD, RESTARTED, SAVED, sentences, survives
from tierscope.model.errors import counted
from tierscope.model.run import Figure, Measurement, Run
from tierscope.report import figures
from tierscope.report.evidence import warnings
from tierscope.report.storage_text import targets_text
from tierscope.report.style import new_table, note, title

Words = Callable[[Measurement], str]


def _said(key: str, text: str) -> Words:
    return lambda m: text.format(m.pattern[key]) if key in m.pattern else ""


_SAID: dict[str, Words] = {
    "from": lambda m: f"a state on {m.pattern.get('memory', m.initiator)}",
    "target": lambda m: f"to {m.target}",
    "state": lambda m: f"{figures.size_text(m.pattern['size'])}",
    "threads": lambda m: counted(m.pattern["threads"], "thread"),
    "by": lambda m: "by copying" if "backend" not in m.pattern else f"by {m.pattern['backend']}",
    "cache": lambda m: (
        ""
        if "direct" not in m.pattern
        else "direct"
        if m.pattern["direct"]
        else "through the page cache"
    ),
    "depth": lambda m: f"depth {m.pattern['depth']}" if m.pattern.get("depth", 1) > 1 else "",
    "blocks": lambda m: f"{figures.size_text(m.pattern['block_size'])} blocks",
    "pages": _said("pages", "{} pages"),
}
"""Each property in words, as the line above the table has it."""
_CELLS: dict[str, Words] = {
    "from": lambda m: str(m.pattern.get("memory", m.initiator)),
    "target": lambda m: m.target,
    "threads": lambda m: str(m.pattern["threads"]),
    "by": lambda m: str(
        m.pattern.get("backend") or HELD.get(m.pattern.get("backing", ""), "copying")
    ),
    "cache": lambda m: _SAID["cache"](m).removeprefix("through the "),
    "depth": lambda m: str(m.pattern.get("depth", "")),
    "blocks": lambda m: figures.size_text(m.pattern["block_size"]),
    "pages": lambda m: str(m.pattern.get("pages", "")),
}
"""The same in a column, where that is shorter."""
_NUMBERS = ("state", "threads", "depth", "blocks")
_IN_FILES = ("cache", "depth")
"""What files alone have: how memory differs from them needs no column."""


def show_table(console: Console, measured: list[Measurement], _run: Run) -> None:
    """Print the measured results of checkpoints."""
    title(console, "Checkpoints")
    where = dict.fromkeys(targets_text(m.evidence) for m in measured if m.evidence)
    for text in filter(None, where):
        console.print(Text(text))
    _show_rows(console, measured)
    for line in (*sentences(measured), *warnings(measured)):
        note(console, line)


def _varying(measured: list[Measurement]) -> list[str]:
    """Return the properties that need a column."""
    files = [m for m in measured if "backend" in m.pattern] or measured
    return [
        name
        for name, said in _SAID.items()
        if len({said(m) for m in (files if name in _IN_FILES else measured)}) > 1
    ]


def _show_rows(console: Console, measured: list[Measurement]) -> None:
    """Print what all have in common, and a row for each."""
    varying = _varying(measured)
    first = next((m for m in measured if "backend" in m.pattern), measured[0])
    same = (said(first) for name, said in _SAID.items() if name not in varying)
    console.print(Text(", ".join(filter(None, same))))
    table = new_table()
    for name in varying:
        right = "right" if name in _NUMBERS else "left"
        table.add_column(name, justify=right, no_wrap=name != "target")  # type: ignore[arg-type]
    saved_unit, saved_factor = _scale(measured, SAVED)
    unit, factor = _scale(measured, RESTARTED)
    limited = any(m.efficiency is not None for m in measured)
    rate, rate_factor = figures.scale_of("B/s", [m.estimate or 0.0 for m in measured])
    for name in (f"durable {saved_unit}", rate, *(["of limit"] if limited else []),
                 f"restart {unit}", rate):  # fmt: skip
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("outlives")
    for m in measured:
        cells = [_CELLS.get(name, _SAID[name])(m) for name in varying]
        cells += [
            _time(m, SAVED, saved_factor),
            figures.plain(m, rate_factor),
            *([figures.of_limit(m)] if limited else []),
            _time(m, RESTARTED, factor),
            _plain(figures.side_figure(m, "restart_bandwidth"), rate_factor),
            survives(m),
        ]
        table.add_row(*map(Text, cells))
    console.print(table)


def _scale(measured: list[Measurement], metric: str) -> tuple[str, float]:
    """Return the unit in which a time is shown, and what to divide by."""
    found = (figures.side_figure(m, metric) for m in measured)
    return figures.scale_of("ns", [one.estimate or 0.0 for one in found if one])


def _time(m: Measurement, metric: str, factor: float) -> str:
    found = figures.side_figure(m, metric)
    return figures.with_interval(found, factor) if found else ""


def _plain(found: Figure | None, factor: float) -> str:
    return figures.plain(found, factor) if found else ""

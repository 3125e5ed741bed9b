"""The table of storage: IOPS, bandwidth, latency and CPU time of each pattern."""

from collections.abc import Callable, Collection

from rich.console import Console
from rich.text import Text

from tierscope.kinds.io.devices import busiest_devices, show_devices
from tierscope.kinds.io.network import network_lines
from tierscope.kinds.io.points import LATENCY, PERCENTILES, action, cached, latency, rate, target
from tierscope.kinds.io.remarks import remarks
from tierscope.kinds.io.together import together_remarks
from tierscope.kinds.io.words import passes, series_lines
from tierscope.model.run import Measurement, Round, Run
from tierscope.report import figures
from tierscope.report.evidence import warnings
from tierscope.report.figures import Figured
from tierscope.report.naming import path_name
from tierscope.report.pictures.picture import label_of
from tierscope.report.style import new_table, note, title

_US = 1e3
Cell = Callable[[Measurement], str]
Column = Callable[[Measurement, str], str]
"""Writes a figure of a measurement, or of a part of it."""


def _count(name: str, one: str, many: str) -> Cell:
    def text(m: Measurement) -> str:
        number = m.pattern.get(name, 1)
        return f"{number} {one if number == 1 else many}"

    return text


_SAID: dict[str, Cell] = {
    "path": path_name,
    "order": lambda m: str(m.pattern.get("order", "")),
    "op": action,
    "block": lambda m: (
        label_of("blocks of", m.pattern["blocks"])
        if m.pattern.get("blocks")
        else f"{figures.size_text(m.pattern['block_size'])} blocks"
    ),
    "by": lambda m: str(m.pattern.get("backend", "")),
    "cache": lambda m: "through the page cache" if cached(m) else "direct",
    "depth": lambda m: f"depth {m.pattern.get('depth', 1)}",
    "threads": _count("threads", "thread", "threads"),
    "buffers": lambda m: (
        f"buffers on {memory}" if (memory := m.pattern.get("memory", "")) != m.initiator else ""
    ),
}
"""Each property in words, as the line above the table has it."""
_CELLS: dict[str, Cell] = {
    "path": lambda m: f"{m.initiator} → {target(m)}",
    "block": lambda m: _SAID["block"](m).removesuffix(" blocks"),
    "cache": lambda m: "cached" if cached(m) else "direct",
    "depth": lambda m: str(m.pattern.get("depth", 1)),
    "threads": lambda m: str(m.pattern.get("threads", 1)),
    "buffers": lambda m: str(m.pattern.get("memory", "")),
}
"""The same in a column, where that is shorter."""
_SETTING = "cufile.json"
_ROWS = ("op", "block", "depth", "threads", _SETTING)
"""What rows of one table may differ in, where a run has many."""
_DIRECTIONS = ("read", "write")
"""Parts of a mix; the others are targets or jobs."""
_BYTES = ("range", "align", "offset", "misalign", "amount")
_TOLD = ("operation", "read_percent", "order", "block_size", "blocks", "backend", "direct",
         "depth", "threads", "memory", "preconditioning", "write_saturation", "purged",
         "together")  # fmt: skip
_CURVE_ROWS = 12
"""Most rounds of a curve that the table shows."""


def show_table(console: Console, measured: list[Measurement], _run: Run) -> None:
    """Print the measured results of storage, a table for each way of reading or writing."""
    title(console, "Storage")
    told = common(measured)
    console.print(Text(common_words(measured)))
    said = {**_SAID, **_more(measured)}
    groups: dict[tuple[str, ...], list[Measurement]] = {}
    for m in measured:
        apart = tuple(cell(m) for name, cell in said.items() if name not in _ROWS)
        groups.setdefault(apart, []).append(m)
    alone = [m for members in groups.values() if len(members) == 1 for m in members]
    for members in (alone, *(group for group in groups.values() if len(group) > 1)):
        if members:
            show_rows(console, members, told)
    for m in measured:
        if m.rounds and m.pattern.get("write_saturation"):
            _show_curve(console, m, m.rounds)
    if (busiest := busiest_devices(measured)) is not None:
        show_devices(console, busiest)
    for line in network_lines(measured):
        console.print(Text(line))
    lines = (*series_lines(measured), *remarks(measured), *together_remarks(measured))
    for line in (*lines, *warnings(measured)):
        note(console, line)


def _show_curve(console: Console, m: Measurement, rounds: list[Round]) -> None:
    """Print a write-saturation curve: the first round, the last one, and some of those between."""
    unit, factor = ("IOPS", 1.0) if m.metric == "iops" else ("GB/s", 1e9)
    table = new_table()
    for name in ("round", "time", "written / size", unit, "of the first"):
        table.add_column(name, justify="right", no_wrap=True)
    step = max(1.0, (len(rounds) - 1) / (_CURVE_ROWS - 1))
    numbers = {round(step * row) for row in range(_CURVE_ROWS)} & set(range(len(rounds)))
    for number in sorted(numbers):
        one = rounds[number]
        share = one.value / rounds[0].value if rounds[0].value else 0.0
        table.add_row(
            str(number + 1),
            figures.seconds_text(one.end_s),
            f"{passes(m, one):.2f}",
            figures.significant(one.value / factor, 3),
            figures.share_text(share),
        )
    console.print(table)


def show_rows(console: Console, measured: list[Measurement], told: Collection[str] = ()) -> None:
    """Print what all have in common, unless it is told already, and a row for each."""
    said = {**_SAID, **_more(measured)}
    varying = [name for name, cell in said.items() if len({cell(m) for m in measured}) > 1]
    if words := common_words(measured, told):
        console.print(Text(words))
    table = new_table()
    parted = not varying and any(_parts(m) for m in measured)
    if parted:
        table.add_column("")
    for name in varying:
        number = name in ("depth", "threads", "block")
        table.add_column(
            name, justify="right" if number else "left", no_wrap=name not in ("path", _SETTING)
        )
    columns = _figures(measured)
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for m in measured:
        cells = ["all"] if parted else [_CELLS.get(name, said[name])(m) for name in varying]
        table.add_row(*cells, *(cell(m, "") for cell in columns.values()))
        for part in _parts(m):
            empty = [""] * (len(varying) - 1)
            name = f"of it {part}s" if part in _DIRECTIONS else part
            below = (f"  {name}", *empty, *(cell(m, part) for cell in columns.values()))
            table.add_row(*(Text(cell, style="dim") for cell in below))
    console.print(table)


def common_words(measured: list[Measurement], told: Collection[str] = ()) -> str:
    """Say what all of these have in common, apart from what ``told`` names."""
    names = common(measured)
    said = {**_SAID, **_more(measured)}
    return ", ".join(filter(None, (said[name](measured[0]) for name in names if name not in told)))


def common(measured: list[Measurement]) -> list[str]:
    """Return the names of the properties that all of these have in common."""
    said = {**_SAID, **_more(measured)}
    return [name for name, cell in said.items() if len({cell(m) for m in measured}) == 1]


def _more(measured: list[Measurement]) -> dict[str, Cell]:
    """Return what else the patterns of these measurements have, worth saying."""
    keys = dict.fromkeys(key for m in measured for key in m.pattern if key not in _TOLD)
    names = {key: _SETTING if key == "cufile" else key.replace("_", " ") for key in keys}
    return {name: _property(key) for key, name in names.items()}


def _property(key: str) -> Cell:
    def text(m: Measurement) -> str:
        value = m.pattern.get(key)
        if key == "cufile":
            return str(value or "as it is")
        if value in (None, False, "", 0):
            return ""
        if key == "shared" or (key == "jobs" and "together" in m.pattern):
            return ""  # as the words on files, or on targets, say
        if value is True:
            return key.replace("_", " ")
        if key == "size":
            one = m.pattern.get("shared") or m.pattern.get("threads") == 1
            return f"{'one file' if one else 'files'} of {figures.size_text(value)}"
        if key in _BYTES:
            return f"{key.replace('_', ' ')} {figures.size_text(value)}"
        return label_of(key, value)

    return text


def _figures(measured: list[Measurement]) -> dict[str, Column]:
    """Return the columns of figures: the headline has its interval."""
    rates = [found.estimate or 0.0 for m in measured if (found := rate(m, "bandwidth"))]
    unit, factor = figures.scale_of("B/s", rates)
    columns: dict[str, Column] = {
        "IOPS": lambda m, part: _text(m, rate(m, "iops", part), 1.0),
        unit: lambda m, part: _text(m, rate(m, "bandwidth", part), factor),
    }
    for name in PERCENTILES:
        if any(latency(m, name) for m in measured):
            columns[f"{name} µs"] = _side(f"{LATENCY}_{name}")
    if any(figures.side_figure(m, "cpu_per_operation") for m in measured):
        columns["CPU µs/op"] = _side("cpu_per_operation")
    if any(m.efficiency is not None for m in measured):
        columns["of limit"] = lambda m, part: "" if part else figures.of_limit(m)
    return columns


def _side(metric: str) -> Column:
    return lambda m, part: _text(m, figures.side_figure(m, metric, part), _US)


def _text(measurement: Measurement, found: Figured | None, factor: float) -> str:
    if found is None:
        return ""
    if found is measurement and figures.has_interval(measurement):
        return figures.with_interval(measurement, factor)
    return figures.plain(found, factor, 3)


def _parts(measurement: Measurement) -> list[str]:
    """Return reads and writes of a mix, and each target or job of several together."""
    return list(dict.fromkeys(figure.part for figure in measurement.figures if figure.part))

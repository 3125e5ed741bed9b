"""The table of small files: operations a second and the time of one."""

from collections.abc import Callable

from rich.console import Console
from rich.text import Text

from tierscope.model.errors import counted
from tierscope.model.run import Measurement, Run
from tierscope.report import figures
from tierscope.report.evidence import warnings
from tierscope.report.storage_text import targets_text
from tierscope.report.style import new_table, note, title

_US = 1e3
_PERCENTILES = ("p50", "p99", "p99.9")
_SYNCED = {"no": "no fsync", "file": "fsync of each file", "directory": "fsync of directories, too"}
Words = Callable[[Measurement], str]
_SAID: dict[str, Words] = {
    "path": lambda m: f"{m.initiator} → {m.target}",
    "op": lambda m: str(m.pattern["operation"]),
    "file size": lambda m: f"files of {size_text(m)}",
    "files": lambda m: f"{m.pattern.get('files')} in each directory",
    "threads": lambda m: counted(m.pattern["threads"], "thread"),
    "directories": lambda m: (
        ""
        if m.pattern["threads"] == 1
        else "one directory for all"
        if m.pattern.get("directories") == "shared"
        else "a directory for each"
    ),
    "fsync": lambda m: _SYNCED.get(str(m.pattern.get("fsync")), ""),
}
"""Each property in words, as the line above the table has it."""
_CELLS: dict[str, Words] = {
    "file size": lambda m: size_text(m),
    "files": lambda m: str(m.pattern.get("files")),
    "threads": lambda m: str(m.pattern["threads"]),
    "directories": lambda m: str(m.pattern.get("directories", "")),
    "fsync": lambda m: str(m.pattern.get("fsync", "")),
}
"""The same in a column, where that is shorter."""


def size_text(measurement: Measurement) -> str:
    """Return the size of its files: ``4 KiB``, ``0 B``."""
    size = measurement.pattern["file_size"]
    return figures.size_text(size) if size else "0 B"


def show_table(console: Console, measured: list[Measurement], _run: Run) -> None:
    """Print the measured results of small files."""
    title(console, "Small files")
    where = dict.fromkeys(targets_text(m.evidence) for m in measured if m.evidence)
    for text in filter(None, where):
        console.print(Text(text))
    show_rows(console, measured)
    note(console, CACHES)
    for line in warnings(measured):
        note(console, line)


CACHES = (
    "Files were made just before: the kernel had their names, inodes and data in its caches, which "
    "tierscope never drops."
)
"""What figures of small files stand for."""


def show_rows(console: Console, measured: list[Measurement]) -> None:
    """Print what all have in common, and a row for each."""
    varying = [name for name, said in _SAID.items() if len({said(m) for m in measured}) > 1]
    same = (said(measured[0]) for name, said in _SAID.items() if name not in varying)
    console.print(Text(", ".join(filter(None, same))))
    table = new_table()
    for name in varying:
        number = name in ("file size", "files", "threads")
        table.add_column(name, justify="right" if number else "left", no_wrap=name != "path")
    table.add_column("operations/s", justify="right", no_wrap=True)
    shown = [name for name in _PERCENTILES if any(_time(m, name) for m in measured)]
    for name in shown:
        table.add_column(f"{name} µs", justify="right", no_wrap=True)
    for m in measured:
        cells = [_CELLS.get(name, _SAID[name])(m) for name in varying]
        times = [_time(m, name) for name in shown]
        table.add_row(*map(Text, (*cells, figures.with_interval(m, 1.0), *times)))
    console.print(table)


def _time(measurement: Measurement, percentile: str) -> str:
    found = figures.side_figure(measurement, f"io_latency_{percentile}")
    return figures.plain(found, _US, 3) if found else ""

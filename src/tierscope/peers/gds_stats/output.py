"""``tierscope gds-stats``: statistics of cuFile as tables and as JSON."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console

from tierscope.cli.output import Output
from tierscope.peers.gds_stats.stats import (
    GpuStats,
    Number,
    Stats,
    key_of,
    stats_of_run,
    stats_of_tool,
)
from tierscope.report.style import new_table, note, title


def show(pid: int, level: int, output: Output) -> None:
    """Print the statistics of a process; UserError where there are none."""
    output.check()
    stats = stats_of_run(pid, level) or stats_of_tool(pid, level)
    output.emit(stats_json(stats), lambda console: show_stats(console, stats), indent=2)


def stats_json(stats: Stats) -> dict[str, Any]:
    """Return the statistics for JSON, with uniform keys."""
    found = asdict(stats)
    found["totals"] = {key_of(name): value for name, value in stats.totals.items()}
    return {key: value for key, value in found.items() if value not in ("", [], {})}


def show_stats(console: Console, stats: Stats) -> None:
    """Print all levels; ranges and GPUs without operations are left out."""
    title(console, f"cuFile statistics: {stats.source}")
    _table(console, ("total", ""), stats.totals.items(), left=1)
    if stats.sizes:
        title(console, "Operations by size")
        used = [(row.range, row.reads, row.writes) for row in stats.sizes if row.reads + row.writes]
        _table(console, ("KiB", "reads", "writes"), used)
    if stats.gpus:
        _show_gpus(console, stats.gpus)
    pools = {
        "Bounce buffers in GPU memory": stats.pools,
        "Bounce buffers in host memory (used/all)": stats.posix_pools,
    }
    for heading, rows in pools.items():
        if rows:
            names = list(dict.fromkeys(name for row in rows for name in row))
            title(console, heading)
            _table(console, names, ([row.get(name, "") for name in names] for row in rows))
    if stats.rdma:
        title(console, "RDMA")
    for line in (*stats.rdma, *stats.notes):
        note(console, line)


def _show_gpus(console: Console, gpus: list[GpuStats]) -> None:
    title(console, "By GPU")
    busy = [gpu for gpu in gpus if any(any(group.values()) for group in gpu.groups.values())]
    if not busy:
        note(console, f"none of {len(gpus)} GPUs has any operations")
        return
    counters = dict.fromkeys((group, name) for gpu in busy for group in gpu.groups
                             for name in gpu.groups[group])  # fmt: skip
    rows = (
        (f"{group} {name}", *(gpu.groups.get(group, {}).get(name, 0) for gpu in busy))
        for group, name in counters
    )
    headings = ("counter", *(f"gpu:{gpu.gpu}" for gpu in busy))
    _table(console, headings, (row for row in rows if any(row[1:])), left=1)


def _table(
    console: Console,
    headings: Sequence[str],
    rows: Iterable[Sequence[str | Number]],
    left: int = 0,
) -> None:
    """Print a table, its first columns aligned left; a note where it has no rows."""
    table = new_table(*headings, words=headings[:left])
    for row in rows:
        table.add_row(*(f"{one:g}" if isinstance(one, float) else str(one) for one in row))
    if table.row_count:
        console.print(table)
    else:
        note(console, "none yet")

"""``tierscope gds-stats``: statistics of cuFile as tables and as JSON."""

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
    table = new_table()
    table.add_column("total")
    table.add_column("", justify="right")
    for name, value in stats.totals.items():
        table.add_row(name, _text(value))
    console.print(table)
    _show_sizes(console, stats)
    _show_gpus(console, stats)
    _show_pools(console, "Bounce buffers in GPU memory", stats.pools)
    _show_pools(console, "Bounce buffers in host memory (used/all)", stats.posix_pools)
    if stats.rdma:
        title(console, "RDMA")
        for line in stats.rdma:
            note(console, line)
    for line in stats.notes:
        note(console, line)


def _show_sizes(console: Console, stats: Stats) -> None:
    if not stats.sizes:
        return
    title(console, "Operations by size")
    table = new_table()
    for heading in ("KiB", "reads", "writes"):
        table.add_column(heading, justify="right")
    for row in stats.sizes:
        if row.reads or row.writes:
            table.add_row(row.range, str(row.reads), str(row.writes))
    if table.row_count:
        console.print(table)
    else:
        note(console, "none yet")


def _show_gpus(console: Console, stats: Stats) -> None:
    if not stats.gpus:
        return
    busy = [gpu for gpu in stats.gpus if any(any(group.values()) for group in gpu.groups.values())]
    title(console, "By GPU")
    if not busy:
        note(console, f"none of {len(stats.gpus)} GPUs has any operations")
        return
    table = new_table()
    table.add_column("counter")
    for gpu in busy:
        table.add_column(f"gpu:{gpu.gpu}", justify="right")
    for group, name in _counters(busy):
        values = [gpu.groups.get(group, {}).get(name, 0) for gpu in busy]
        if any(values):
            table.add_row(f"{group} {name}", *map(_text, values))
    console.print(table)


def _counters(gpus: list[GpuStats]) -> list[tuple[str, str]]:
    found = [(group, name) for gpu in gpus for group in gpu.groups for name in gpu.groups[group]]
    return list(dict.fromkeys(found))


def _show_pools(console: Console, heading: str, pools: list[dict[str, str]]) -> None:
    if not pools:
        return
    names = list(dict.fromkeys(name for pool in pools for name in pool))
    title(console, heading)
    table = new_table()
    for name in names:
        table.add_column(name, justify="right")
    for pool in pools:
        table.add_row(*(pool.get(name, "") for name in names))
    console.print(table)


def _text(value: Number) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)

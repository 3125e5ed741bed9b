"""What is accessed: working set over time, a heat map of addresses and time, what may be slow."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from tierscope.analysis.cold_share import OnSlow
from tierscope.placement.damon.footprint import Observed
from tierscope.report.console import bar
from tierscope.report.figures import share_text, size_text
from tierscope.report.style import new_table, note, title

_ROWS, _COLUMNS = 16, 60
_MAPS = 4
_BAR = 40
_SHADES = " ·▏▌█"
"""Of the share of samples: none, up to 5%, 20%, 50%, more."""


def show_footprint(
    console: Console, what: str, seconds: Sequence[float], found: Sequence[Observed]
) -> None:
    """Print the working set over time, and a heat map of each process or node."""
    title(console, f"Accesses of {what} by DAMON's samples, for {seconds[-1]:.0f} s")
    sizes = working_sets(found)
    table = new_table()
    for heading in ("after", "working set"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", min_width=_BAR)
    for place in _spread(len(sizes), 12):
        table.add_row(
            f"{seconds[place]:.0f} s", size_text(sizes[place]),
            Text(bar(sizes[place], max(*sizes, 1.0), _BAR)),
        )  # fmt: skip
    console.print(table)
    resident = sum(one.bytes for one in found)
    note(
        console,
        f"Accessed within {_interval()}: {size_text(min(sizes))} to {size_text(max(sizes))} "
        f"of {size_text(resident)}.",
    )
    for one in largest(found):
        _show_map(console, one, seconds)


def working_sets(found: Sequence[Observed]) -> list[float]:
    """Return the bytes that all of them accessed, at each look."""
    return [sum(sets) for sets in zip(*(one.working_sets() for one in found), strict=True)]


def largest(found: Sequence[Observed]) -> list[Observed]:
    """Return the processes or nodes that get a heat map, the largest first."""
    return sorted(found, key=lambda one: -one.bytes)[:_MAPS]


def _interval() -> str:
    from tierscope.placement.damon.footprint import MONITORING

    return f"{MONITORING.aggr_us // 1000} ms"


def _show_map(console: Console, one: Observed, seconds: Sequence[float]) -> None:
    title(console, f"{one.name}: addresses (down) over time (across)")
    columns = _spread(len(one.heat), _COLUMNS)
    for rows in groups_of(one, _ROWS):
        start, size = one.pieces[rows[0]].start, sum(one.pieces[row].bytes for row in rows)
        line = "".join(_shade(max(one.heat[at][row] for row in rows)) for at in columns)
        console.print(Text(f"{start:>14x}  {size_text(size):>8}  {line}"))
    note(
        console,
        f"0 to {seconds[-1]:.0f} s; hottest part of each row: · up to 5% of samples, "
        "▏ 20%, ▌ 50%, █ more.",
    )


def groups_of(one: Observed, count: int) -> list[list[int]]:
    """Return numbers of pieces, in groups of about the same resident bytes."""
    groups: list[list[int]] = [[]]
    size = 0.0
    for place, piece in enumerate(one.pieces):
        if groups[-1] and size >= one.bytes * len(groups) / count:
            groups.append([])
        groups[-1].append(place)
        size += piece.bytes
    return [group for group in groups if group]


def _shade(share: float) -> str:
    edges = (0, 0.05, 0.2, 0.5)
    return _SHADES[sum(share > edge for edge in edges)]


def _spread(number: int, most: int) -> list[int]:
    """Numbers from 0 on, at most so many, the last one among them."""
    if number <= most:
        return [*range(number)]
    return sorted({round(place * (number - 1) / (most - 1)) for place in range(most)})


def show_on_slow(console: Console, rows: Sequence[OnSlow], nodes: str) -> None:
    """Print how much could be on a slow node."""
    title(console, "What could be on a slow node")
    if not rows:
        note(console, "DAMON's samples saw no access, so there is nothing to say; look for longer.")
        return
    table = new_table()
    table.add_column("accesses to it, at most", justify="right")
    table.add_column("bytes", justify="right")
    known = rows[0].latency_ns is not None
    for heading in ("mean latency", "change") if known else ():
        table.add_column(heading, justify="right")
    for row in rows:
        cells = [share_text(row.share), size_text(row.bytes)]
        if row.latency_ns is not None and row.slowdown is not None:
            cells += [f"{row.latency_ns:.1f} ns", f"+{share_text(row.slowdown)}"]
        table.add_row(*cells)
    console.print(table)
    if known:
        note(console, f"By the measured latencies of {nodes}, as if each access were waited for.")
    else:
        note(console, "What that costs takes latencies: --run RUN --pair FAST:SLOW.")


def footprint_json(
    what: str, seconds: Sequence[float], found: Sequence[Observed], rows: Sequence[OnSlow]
) -> dict[str, Any]:
    """Return everything as JSON."""
    return {
        "target": what,
        "seconds": [round(second, 3) for second in seconds],
        "observed": [
            {
                "name": one.name,
                "resident_bytes": round(one.bytes),
                "working_set_bytes": [round(size) for size in one.working_sets()],
                "pieces": [
                    {"start": piece.start, "end": piece.end, "resident_bytes": round(piece.bytes)}
                    for piece in one.pieces
                ],
                "access_share": [[round(share, 3) for share in shares] for shares in one.heat],
            }
            for one in found
        ],
        "on_slow": [
            {
                "access_share": row.share,
                "bytes": round(row.bytes),
                "latency_ns": row.latency_ns,
                "slowdown": row.slowdown,
            }
            for row in rows
        ],
    }

"""The machine's CPUs and NUMA nodes as tables: cores and caches, memory, distances."""

from collections import Counter
from itertools import pairwise

from rich.console import Console
from rich.text import Text

from tierscope.model.endpoint import format_ranges
from tierscope.model.topology import Package, Topology
from tierscope.report.style import new_table, note, title
from tierscope.report.topology_outline import human_bytes, rate_text, side_cache_words
from tierscope.topology.memory import memory_limit

_NUMBERS_WIDTH = 20
"""Columns that a list of CPUs takes before it folds."""


def show_packages(console: Console, topology: Topology) -> None:
    """Cores and caches of each package."""
    title(console, "Cores and caches")
    kinds = sorted({(cache.level, cache.type) for cache in topology.caches})
    table = new_table()
    for name in ("package", "cores", "CPUs"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("CPU numbers", overflow="fold", max_width=_NUMBERS_WIDTH)
    for level, kind in kinds:
        letter = {"data": "d", "instruction": "i"}.get(kind, "")
        table.add_column(f"L{level}{letter}", justify="right")
    for package in topology.packages:
        table.add_row(
            str(package.number),
            str(package.cores),
            str(len(package.cpus)),
            _numbers(package.cpus),
            *(_caches(topology, package, level, kind) for level, kind in kinds),
        )
    console.print(table)
    if not kinds:
        note(console, "caches unknown: the source names none")


def _numbers(cpus: list[int]) -> str:
    """``0-3, 8``, which folds at spaces; ``0-76 by 4`` of every fourth CPU."""
    steps = {after - before for before, after in pairwise(cpus)}
    if len(cpus) > 2 and len(steps) == 1 and steps != {1}:
        return f"{cpus[0]}-{cpus[-1]} by {steps.pop()}"
    return format_ranges(tuple(cpus)).replace(",", ", ") or "none"


def _caches(topology: Topology, package: Package, level: int, kind: str) -> str:
    """``20 x 1 MiB``, each size once."""
    counts = Counter(
        cache.size_bytes
        for cache in topology.caches
        if (cache.level, cache.type) == (level, kind) and set(cache.cpus) & set(package.cpus)
    )
    return ", ".join(f"{count} x {human_bytes(size)}" for size, count in counts.items()) or "-"


def show_nodes(console: Console, topology: Topology) -> None:
    """What each node's memory is, and its limit."""
    title(console, "NUMA nodes")
    cached = any(node.memory_side_caches for node in topology.nodes)
    columns = ["node", "kind", "CPUs", "total", "free", "tier", "limit", "kind known from"]
    if cached:
        columns.insert(4, "cache")
    table = new_table()
    for name in columns:
        fold = name in ("CPUs", "kind known from")
        table.add_column(
            name,
            justify="right" if name in _RIGHT else "left",
            overflow="fold",
            no_wrap=not fold,
            max_width=_NUMBERS_WIDTH if name == "CPUs" else None,
        )
    for node in topology.nodes:
        limit, _ = memory_limit(topology, node, [])
        cells = {
            "node": str(node.number),
            "kind": str(node.kind),
            "CPUs": _numbers(node.cpus),
            "total": human_bytes(node.total_bytes) if node.total_bytes else "-",
            "cache": "+".join(human_bytes(c.size_bytes) for c in node.memory_side_caches) or "-",
            "free": human_bytes(node.free_bytes) if node.free_bytes is not None else "-",
            "tier": str(node.tier) if node.tier is not None else "-",
            "limit": rate_text(limit.value) if limit else "-",
            "kind known from": node.inferred_from,
        }
        table.add_row(*(cells[name] for name in columns))
    console.print(table)
    notes = {note_ for node in topology.nodes if (note_ := memory_limit(topology, node, [])[1])}
    for line in sorted(notes):
        note(console, f"limit unknown: {line}")
    for line in _side_cache_lines(topology):
        note(console, line)


_RIGHT = ("node", "total", "cache", "free", "tier", "limit")


def _side_cache_lines(topology: Topology) -> list[str]:
    """What the memory-side caches are, nodes with the same ones together."""
    alike: dict[str, list[int]] = {}
    for node in topology.nodes:
        if node.memory_side_caches:
            words = "; ".join(side_cache_words(cache) for cache in node.memory_side_caches)
            alike.setdefault(words, []).append(node.number)
    lines = [
        f"memory-side cache of node{'s' * (len(numbers) > 1)} {format_ranges(tuple(numbers))}: "
        f"{words}"
        for words, numbers in alike.items()
    ]
    if lines:
        lines.append("the limit of such a node is its cache's; what misses the cache is slower")
    return lines


def show_distances(console: Console, topology: Topology) -> None:
    """The SLIT: distances as firmware gives them, 10 within a node."""
    nodes = [node for node in topology.nodes if node.distances]
    if len(topology.nodes) < 2:
        return
    title(console, "NUMA distances (SLIT): from the row's node to the column's")
    if not nodes:
        note(console, "none: the source has no distances")
        return
    targets = sorted({number for node in nodes for number in node.distances})
    cells = {(n.number, to): str(distance) for n in nodes for to, distance in n.distances.items()}
    first = 4
    longest = max(len(text) for text in [*cells.values(), *map(str, targets)])
    width = longest + (2 if first + len(targets) * (longest + 2) <= console.width else 1)
    parts = column_parts(targets, [width] * len(targets), console.width - first)
    for part in parts:
        if part is not parts[0]:
            console.print()
        head = "node" + "".join(str(to).rjust(width) for to in part)
        console.print(Text(head, style="bold"), no_wrap=True)
        for node in nodes:
            line = Text(str(node.number).rjust(first), style="bold")
            for to in part:
                line.append(cells.get((node.number, to), "-").rjust(width), style="none")
            console.print(line, no_wrap=True)


def column_parts(wanted: list[int], widths: list[int], room: int) -> list[list[int]]:
    """Columns in as many parts as the screen's width takes."""
    parts: list[list[int]] = [[]]
    used = 0
    for index, width in zip(wanted, widths, strict=True):
        if used + width > room and parts[-1]:
            parts.append([])
            used = 0
        parts[-1].append(index)
        used += width
    return parts

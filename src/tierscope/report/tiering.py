"""Accesses to memory: working set over time, heat maps, what could be on a slow node, tiering."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.text import Text

from tierscope.analysis.cost import OnSlow
from tierscope.model.endpoint import format_ranges
from tierscope.place.damon.follow import MemoryEvent
from tierscope.place.damon.footprint import Observed
from tierscope.place.damon.status import Region
from tierscope.place.tier_look import Heat, Look, Move, clock, fast_nodes, hit_share
from tierscope.report.figures import seconds_text, share_text, size_text
from tierscope.report.style import bar, new_table, note, title

_ROWS, _COLUMNS = 16, 60
_MAPS = 4
_BAR = 40
_SHADES = " ·▏▌█"
"""Of the share of samples: none, up to 5%, 20%, 50%, more."""
_TIERING_BAR = 20
_EVENTS = 5
"""That are shown, the last ones."""


def show_footprint(
    console: Console, what: str, seconds: Sequence[float], found: Sequence[Observed]
) -> None:
    """Print the working set over time, and a heat map of each process or node."""
    title(console, f"Accesses of {what} by DAMON's samples, for {seconds[-1]:.0f} s")
    sizes = working_sets(found)
    table = new_table("after", "working set")
    table.add_column("", min_width=_BAR)
    for place in _spread(len(sizes), 12):
        length = bar(sizes[place], max(*sizes, 1.0), _BAR)
        table.add_row(f"{seconds[place]:.0f} s", size_text(sizes[place]), length)
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
    from tierscope.place.damon.footprint import MONITORING

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
        note(console, "DAMON's samples saw no access; observe for longer.")
        return
    known = rows[0].latency_ns is not None
    costs = ("mean latency", "change") if known else ()
    table = new_table("accesses to it, at most", "bytes", *costs)
    for row in rows:
        cells = [share_text(row.share), size_text(row.bytes)]
        if row.latency_ns is not None and row.slowdown is not None:
            cells += [f"{row.latency_ns:.1f} ns", f"+{share_text(row.slowdown)}"]
        table.add_row(*cells)
    console.print(table)
    if known:
        note(
            console,
            f"From the measured latencies of {nodes}, assuming that accesses do not overlap.",
        )
    else:
        note(console, "To estimate the cost, give measured latencies: --run RUN --pair FAST:SLOW.")


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


def show_look(console: Console, look: Look) -> None:
    """Print a look."""
    session = look.session
    name = session.title()
    title(console, f"{name[0].upper()}{name[1:]}, for {seconds_text(round(look.seconds))}")
    if look.moves:
        _show_moves(console, look.moves)
    else:
        console.print(
            f"Since boot, NUMA balancing has promoted {size_text(look.promoted_bytes)} and reclaim "
            f"has demoted {size_text(look.demoted_bytes)}."
        )
    _show_pages(console, look)
    if look.heat:
        _show_heat(console, look)
    for event in session.events[-_EVENTS:]:
        note(console, f"{clock(event.time)} {event_text(event)}.")
    for doubt in look.doubts:
        note(console, doubt, "yellow" if look.moves else "dim")
    for move in look.moves:
        for reason in move.reasons:
            note(console, f"{_name(move)} moves nothing: {reason}", "yellow")


def _show_moves(console: Console, moves: Sequence[Move]) -> None:
    passed = any(move.status and move.status.passed_bytes is not None for move in moves)
    words = ("rule", "from", "to")
    headings = ["tried", *(["passed filters"] if passed else []), "applied", "quota reached"]
    table = new_table(*words, *headings, words=words)
    for move in moves:
        now = move.status
        cells = ["off", *[""] * (len(headings) - 1)]
        if now:
            cells = [size_text(now.tried_bytes)]
            cells += [size_text(now.passed_bytes or 0)] if passed else []
            cells += [size_text(now.applied_bytes), f"{now.quota_exceeded} times"]
        table.add_row(
            _word(move),
            _nodes(move.source) or "anywhere",
            _nodes(move.scheme.destinations()),
            *cells,
        )
    console.print(table)


def _show_pages(console: Console, look: Look) -> None:
    when = "now"
    if look.pages_seconds < look.seconds:
        when = f"{seconds_text(round(look.seconds - look.pages_seconds, 1))} before the end"
    table = new_table("pages on", "when it began", when, "change", words=("pages on",))
    for node in sorted({*look.pages, *look.session.before}):
        before, now = look.session.before.get(node, 0), look.pages.get(node, 0)
        sign = "+" if now > before else "-" if now < before else ""
        table.add_row(
            f"node {node}",
            size_text(before),
            size_text(now),
            f"{sign}{size_text(abs(now - before))}",
        )
    console.print(table)
    note(console, f"The kernel has migrated {size_text(look.migrated_bytes)} since it began.")


def event_text(event: MemoryEvent) -> str:
    """Say which memory blocks of a node went online or offline."""
    parts = [
        f"{size_text(len(blocks) * event.block_bytes)} went {where} "
        f"(memory {'block' if len(blocks) == 1 else 'blocks'} {format_ranges(blocks)})"
        for where, blocks in (("online", event.online), ("offline", event.offline))
        if blocks
    ]
    left = event.left * event.block_bytes
    rest = f"it has {size_text(left)}" if left else "it has no memory any more"
    return f"node {event.node}: {', '.join(parts)}; {rest}"


def _show_heat(console: Console, look: Look) -> None:
    table = new_table("accessed in", words=("accessed in",))
    most = max(_total(one.regions) for one in look.heat)
    for one in look.heat:
        table.add_column(f"node {one.node}", justify="right", no_wrap=True)
        table.add_column("", min_width=_TIERING_BAR, no_wrap=True)
    columns = [temperature(one) for one in look.heat]
    for row, (label, _) in enumerate(columns[0]):
        cells: list[str] = []
        for column in columns:
            size = column[row][1]
            cells += [size_text(size) if size else "–", bar(size, most, _TIERING_BAR)]
        table.add_row(label, *cells)
    console.print(table)
    share = hit_share(look.heat, fast_nodes(look.moves))
    said = "By DAMON's samples of all memory of these nodes"
    if share is not None:
        said += f"; {share_text(share)} of the accesses hit node {_nodes(fast_nodes(look.moves))}"
    note(console, said + ".")


def temperature(heat: Heat) -> list[tuple[str, int]]:
    """Return bytes by the share of samples that found them accessed, the hottest first."""
    edges = ((50, 101, "50% or more"), (20, 50, "20% to 50%"), (5, 20, "5% to 20%"),
             (0, 5, "up to 5%"))  # fmt: skip
    shares = [(100 * one.accesses / max(1, heat.samples), one) for one in heat.regions]
    found = [
        (
            f"{label} of samples",
            sum(one.bytes for share, one in shares if one.accesses and low <= share < high),
        )
        for low, high, label in edges
    ]
    return [*found, ("no sample", sum(one.bytes for one in heat.regions if not one.accesses))]


def look_json(look: Look) -> dict[str, Any]:
    """Return a look as JSON."""
    return {
        "label": look.session.label,
        "scope": look.session.scope(),
        "seconds": round(look.seconds, 3),
        "rules": [
            {
                "action": move.scheme.action,
                "from": list(move.source),
                "to": list(move.scheme.destinations()),
                "counters": asdict(move.status) if move.status else None,
                "reasons": list(move.reasons),
            }
            for move in look.moves
        ],
        "bytes_by_node": {
            "before": {str(node): size for node, size in look.session.before.items()},
            "now": {str(node): size for node, size in look.pages.items()},
        },
        "pages_seconds": round(look.pages_seconds, 3),
        "migrated_bytes": look.migrated_bytes,
        "promoted_bytes_since_boot": look.promoted_bytes,
        "demoted_bytes_since_boot": look.demoted_bytes,
        "hit_share": hit_share(look.heat, fast_nodes(look.moves)),
        "temperature": {str(one.node): dict(temperature(one)) for one in look.heat},
        "events": [
            {
                "time": one.time,
                "node": one.node,
                "online_blocks": list(one.online),
                "offline_blocks": list(one.offline),
                "block_bytes": one.block_bytes,
                "bytes_left": one.left * one.block_bytes,
            }
            for one in look.session.events
        ],
        "doubts": list(look.doubts),
    }


def _total(regions: Sequence[Region]) -> int:
    return max(1, sum(one.bytes for one in regions))


def _word(move: Move) -> str:
    return "demote cold" if move.scheme.action == "migrate_cold" else "promote hot"


def _name(move: Move) -> str:
    source = f" from node {_nodes(move.source)}" if move.source else ""
    return f"'{_word(move)}'{source}"


def _nodes(nodes: Sequence[int]) -> str:
    return ", ".join(map(str, nodes))

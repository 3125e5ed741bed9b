"""A look at tiering: what its rules did, where the pages are, how often they are accessed."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.text import Text

from tierscope.placement.damon.status import Region
from tierscope.placement.tier_look import Heat, Look, Move, fast_nodes, hit_share
from tierscope.report.console import bar
from tierscope.report.figures import seconds_text, share_text, size_text
from tierscope.report.style import new_table, note, title

_BAR = 20


def show_look(console: Console, look: Look) -> None:
    """Print a look."""
    session = look.session
    title(
        console,
        f"Tiering of {session.scope()} by {session.label}, for {seconds_text(round(look.seconds))}",
    )
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
    for doubt in look.doubts:
        note(console, doubt, "yellow" if look.moves else "dim")
    for move in look.moves:
        for reason in move.reasons:
            note(console, f"{_name(move)} moves nothing: {reason}", "yellow")


def _show_moves(console: Console, moves: Sequence[Move]) -> None:
    table = new_table()
    for heading in ("rule", "from", "to"):
        table.add_column(heading)
    passed = any(move.status and move.status.passed_bytes is not None for move in moves)
    headings = ["tried", *(["passed filters"] if passed else []), "applied", "quota reached"]
    for heading in headings:
        table.add_column(heading, justify="right")
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
    table = new_table()
    table.add_column("pages on")
    for heading in ("when it began", "now", "change"):
        table.add_column(heading, justify="right")
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


def _show_heat(console: Console, look: Look) -> None:
    table = new_table()
    table.add_column("accessed in")
    most = max(_total(one.regions) for one in look.heat)
    for one in look.heat:
        table.add_column(f"node {one.node}", justify="right", no_wrap=True)
        table.add_column("", min_width=_BAR, no_wrap=True)
    columns = [temperature(one) for one in look.heat]
    for row, (label, _) in enumerate(columns[0]):
        cells: list[Text | str] = []
        for column in columns:
            size = column[row][1]
            cells += [size_text(size) if size else "–", Text(bar(size, most, _BAR))]
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
        "migrated_bytes": look.migrated_bytes,
        "promoted_bytes_since_boot": look.promoted_bytes,
        "demoted_bytes_since_boot": look.demoted_bytes,
        "hit_share": hit_share(look.heat, fast_nodes(look.moves)),
        "temperature": {str(one.node): dict(temperature(one)) for one in look.heat},
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

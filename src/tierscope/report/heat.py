"""Heat of a program's call sites, and which of them belong in slow memory."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console

from tierscope.place.damon.footprint import MONITORING
from tierscope.place.heat import OTHER, Found, SiteHeat
from tierscope.report.figures import seconds_text, share_text, size_text
from tierscope.report.style import new_table, note, title


def show_heat(
    console: Console, command: str, seconds: float, found: Found, slow: Sequence[SiteHeat]
) -> None:
    """Print a row for each function, hottest first, then of other memory."""
    title(console, f"Heat of call sites of {command}, for {seconds_text(round(seconds))}")
    words = ("call site", "belongs in")
    table = new_table(
        "call site", "memory", "accesses", "heat", "working set", "belongs in", words=words
    )
    for one in (*found.sites, *([found.other] if found.other.bytes else [])):
        where = "" if one.name == OTHER else "slow memory" if one in slow else "fast memory"
        table.add_row(
            one.name or "other memory",
            size_text(one.bytes),
            share_text(found.share(one)),
            share_text(one.rate),
            share_text(one.working),
            where,
        )
    console.print(table)
    note(
        console,
        "memory: at the look that found most. accesses: its share of all. heat: the samples that "
        "found it accessed; working set: the part that was accessed within "
        f"{MONITORING.aggr_us // 1000} ms; both on average of {found.looks} looks.",
    )
    if not found.sites:
        note(
            console,
            "No function's memory was seen: it takes 1 MiB from malloc, and half a second.",
            "yellow",
        )
    elif not any(one.accessed for one in (*found.sites, found.other)):
        note(console, "DAMON's samples saw no access; observe for longer.", "yellow")


def heat_json(
    command: Sequence[str], seconds: float, found: Found, slow: Sequence[SiteHeat], rules: str
) -> dict[str, Any]:
    """Return everything as JSON; ``rules`` is a file of rules, empty where none was asked for."""

    def row(one: SiteHeat) -> dict[str, Any]:
        return {
            "bytes": round(one.bytes),
            "access_share": round(found.share(one), 5),
            "heat": round(one.rate, 5),
            "working_set_share": round(one.working, 5),
        }

    return {
        "command": list(command),
        "seconds": round(seconds, 3),
        "looks": found.looks,
        "processes": found.processes,
        "call_sites": [
            {"call_site": one.name, **row(one), "memory": "slow" if one in slow else "fast"}
            for one in found.sites
        ],
        "other_memory": row(found.other),
        "rules": rules or None,
    }

"""Placement of pages: a live line while a program runs, tables and JSON when it ends."""

import contextlib
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rich.console import Console

from tierscope.analysis.effect import Landing, Watched, landing
from tierscope.model.errors import counted, shown
from tierscope.place.look import Look
from tierscope.place.pages import Moved
from tierscope.place.policy import Policy
from tierscope.report.figures import size_text
from tierscope.report.style import new_table, note, title
from tierscope.report.topology_outline import rate_text

_CLEAR = "\r\x1b[K"
_LINES_S = 2.0
"""Time between lines among those of the program."""


@contextlib.contextmanager
def live_looks() -> Iterator[Callable[[Look], None]]:
    """Give a function that shows a look on a terminal's stderr.

    Over the one before; where the program prints on the terminal, too, in lines now and then.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    shared = sys.stdout.isatty()
    due = _LINES_S

    def show(look: Look) -> None:
        nonlocal due
        line = _line(look)[: shutil.get_terminal_size().columns - 1]
        if shared and look.time_s < due:
            return
        due = look.time_s + _LINES_S
        sys.stderr.write(f"{line}\n" if shared else f"{_CLEAR}{line}")
        sys.stderr.flush()

    try:
        yield show
    finally:
        if not shared:
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()


def _line(look: Look) -> str:
    nodes = "  ".join(
        f"node {node} {size_text(count)} {_percent(count / (look.total_bytes or 1))}"
        for node, count in look.bytes_by_node.items()
    )
    return f"{look.time_s:.1f} s  {nodes}"


def show_watched(console: Console, watched: Watched) -> None:
    """Print what landed where."""
    look = watched.largest
    if look is None:
        note(console, "The program ended before its pages could be looked at.")
        return
    judged = landing(watched)
    title(console, f"Pages of '{watched.command[0]}', {watched.policy or 'no policy of its own'}")
    table = new_table("node", "memory", "share", "asked", "files")
    total = look.total_bytes or 1
    asked = (judged and judged.asked) or {}
    for node in sorted({*look.bytes_by_node, *look.file_bytes_by_node, *asked}):
        held = look.bytes_by_node.get(node, 0)
        wanted = _percent(asked.get(node, 0.0)) if asked else ""
        files = size_text(look.file_bytes_by_node.get(node, 0))
        table.add_row(str(node), size_text(held), _percent(held / total), wanted, files)
    console.print(table)
    note(
        console,
        f"At its largest, {look.time_s:.1f} s after it began: {look.processes} "
        f"process{'' if look.processes == 1 else 'es'}, "
        f"{counted(look.threads, 'thread')}. Memory: anonymous (heap, stacks) and shared.",
    )
    if judged:
        note(console, verdict(judged))
        for line in judged.approximated:
            note(console, f"Approximated: {line}.")


def verdict(judged: Landing) -> str:
    """Say in a sentence whether memory is where it was asked for."""
    if judged.as_asked is None:
        return f"{_percent(1 - judged.off_nodes)} of its memory is on the nodes asked for."
    rounding = f"the rounding tolerance of {_percent(judged.tolerance)}"
    if judged.as_asked:
        within = f", within {rounding}" if judged.tolerance else ""
        return f"All of it is where it was asked for{within}."
    most = max(
        abs(judged.share.get(node, 0.0) - (judged.asked or {}).get(node, 0.0))
        for node in {*judged.share, *(judged.asked or {})}
    )
    beyond = f", more than {rounding}" if judged.tolerance else ""
    return f"Shares differ from what was asked by up to {_percent(most)}{beyond}."


def watched_json(watched: Watched) -> dict[str, Any]:
    """Return everything that was seen, in bytes and seconds."""
    policy, judged = watched.policy, landing(watched)
    return {
        "command": list(watched.command),
        "exit_status": watched.exit_status,
        "policy": policy and {
            "mode": policy.mode,
            "nodes": list(policy.nodes),
            "weights": list(watched.weights),
            "balancing": policy.balancing,
            "mechanism": watched.mechanism,
        },
        "looks": [_look_json(look) for look in watched.looks],
        "landed": judged and {
            "time_s": judged.look.time_s,
            "share": _keys(judged.share),
            "asked_share": judged.asked and _keys(judged.asked),
            "tolerance": judged.tolerance,
            "as_asked": judged.as_asked,
            "share_on_other_nodes": judged.off_nodes,
            "approximated": list(judged.approximated),
        },
    }  # fmt: skip


def _look_json(look: Look) -> dict[str, Any]:
    return {
        "time_s": look.time_s,
        "bytes_by_node": _keys(look.bytes_by_node),
        "file_bytes_by_node": _keys(look.file_bytes_by_node),
        "huge_bytes": look.huge_bytes,
        "processes": look.processes,
        "threads": look.threads,
    }


def _keys(by_node: dict[int, Any]) -> dict[str, Any]:
    return {str(node): value for node, value in by_node.items()}


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def moved_line(moved: Moved, whole: int) -> str:
    """Say how far moving has come, in one line."""
    rate = moved.moved_bytes / moved.seconds if moved.seconds else 0.0
    return f"{size_text(moved.moved_bytes)} of {size_text(whole)} moved, {rate_text(rate)}"


def show_moved(console: Console, pid: int, moved: Moved) -> None:
    """Print what was moved, where to, and what stayed and why."""
    if not moved.found_bytes and not moved.stayed:
        note(console, f"Process {pid} has no memory on these nodes.")
        return
    nodes = ", ".join(
        f"{size_text(count)} to node {node}" for node, count in sorted(moved.to_bytes.items())
    )
    rate = moved.moved_bytes / moved.seconds if moved.seconds else 0.0
    line = f"Moved {size_text(moved.moved_bytes)} of process {pid} in {moved.seconds:.1f} s"
    note(console, f"{line} ({rate_text(rate)}): {nodes}." if nodes else f"{line}.")
    for why, count in moved.stayed.most_common():
        note(console, f"{size_text(count)} stayed: {why}.")
    if moved.ended:
        note(console, "The process ended before all was tried.")


def moved_json(pid: int, moved: Moved) -> dict[str, Any]:
    """Return what was moved, in bytes and seconds."""
    return {
        "pid": pid,
        "found_bytes": moved.found_bytes,
        "moved_bytes": moved.moved_bytes,
        "to_bytes": _keys(dict(sorted(moved.to_bytes.items()))),
        "stayed": [{"reason": why, "bytes": count} for why, count in moved.stayed.most_common()],
        "ended": moved.ended,
        "seconds": moved.seconds,
    }


def show_file(console: Console, path: Path, policy: Policy, found: dict[int, int]) -> None:
    """Print a file's policy and where its pages are."""
    nodes = ", ".join(f"{size_text(count)} on node {node}" for node, count in found.items())
    note(console, f"'{shown(path)}' has the policy {policy}. Pages that it has: {nodes or 'none'}.")


def file_json(path: Path, policy: Policy, found: dict[int, int]) -> dict[str, Any]:
    """Return a file's policy and its bytes by node."""
    return {
        "file": shown(path),
        "policy": {
            "mode": policy.mode,
            "nodes": list(policy.nodes),
            "weights": list(policy.weights),
        },
        "bytes_by_node": _keys(found),
    }

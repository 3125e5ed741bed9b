"""From a process and nodes to pages that moved, printed."""

import json
import os
import sys

from tierscope.cli.forms import Forms, emit
from tierscope.model.errors import ExitCode, UserError
from tierscope.placement.move import Moved, move
from tierscope.placement.nodes import check_nodes, format_list, select_nodes
from tierscope.plans.grammar import parse_size
from tierscope.report.console import make_console
from tierscope.report.placement import moved_json, moved_line, show_moved


def move_process(
    pid: int, source: str, to: str, rate: str | None, shared: bool, forms: Forms
) -> int:
    """Move, print what came of it, and return the exit status."""
    forms.check()
    sources, target = select_nodes(source), select_nodes(to)
    check_nodes(sources.nodes)
    check_nodes(target.nodes)
    if sources.weights:
        raise UserError(f"--from {source}: only --to takes weights")
    stays = set(sources.nodes) & set(target.nodes)
    if stays and not target.weights and len(target.nodes) == 1:
        raise UserError(
            f"node {format_list(tuple(stays))} is in --from and is all of --to: nothing to move"
        )
    if not os.path.exists(f"/proc/{pid}"):  # noqa: PTH110
        raise UserError(f"there is no process {pid}")
    bytes_a_second = parse_size(rate) if rate else 0
    moved = move(pid, sources.nodes, target, bytes_a_second, shared, _progress)
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
    emit(
        forms,
        lambda: json.dumps(moved_json(pid, moved), indent=2),
        lambda: show_moved(make_console(), pid, moved),
    )
    return ExitCode.SOMETHING_FAILED if moved.stayed or moved.ended else ExitCode.ALL_MEASURED


def _progress(moved: Moved, whole: int) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{moved_line(moved, whole)}")
        sys.stderr.flush()

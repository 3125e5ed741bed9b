"""From a file in memory to its policy, and where its pages are then."""

import json
from pathlib import Path

from tierscope.cli.forms import Forms, emit
from tierscope.model.errors import UserError
from tierscope.placement.memory_file import place_file, place_segment
from tierscope.placement.policy import make_policy
from tierscope.placement.shared_segment import is_segment
from tierscope.plans.grammar import parse_size
from tierscope.report.console import make_console
from tierscope.report.placement import file_json, show_file


def place(
    path: Path, mode: str | None, to: str | None, size: str | None, shared: bool, forms: Forms
) -> None:
    """Give the policy and print where the file's pages are."""
    forms.check()
    if not mode and not to:
        raise UserError("say where its pages are to go, as in --to node:0, or --policy local")
    policy = make_policy(mode, to)
    if is_segment(str(path)):
        if size:
            raise UserError("a segment of shared memory has its size; leave --size out")
        found = place_segment(str(path), policy, shared)
    else:
        found = place_file(path, policy, parse_size(size) if size else 0, shared)
    emit(
        forms,
        lambda: json.dumps(file_json(path, policy, found), indent=2),
        lambda: show_file(make_console(), path, policy, found),
    )

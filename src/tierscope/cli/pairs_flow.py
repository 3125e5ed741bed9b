"""``tierscope compare --pairs``: two sides measured in turn."""

import json
from collections.abc import Sequence
from pathlib import Path

from tierscope.cli.flow import planned, restore_prefetchers
from tierscope.cli.forms import Forms, emit
from tierscope.model.errors import ExitCode, UserError
from tierscope.plans.grammar import parse_number
from tierscope.plans.yaml_plan import read_plan
from tierscope.runs.pairs import Paired, take_pairs
from tierscope.topology.discover import discover

_MAX_PAIRS = 10_000


def compare_pairs(plans: Sequence[str], pairs: str, engines: Sequence[Path], forms: Forms) -> int:
    """Measure two plans, or one plan by two engines, in turn; returns the exit status."""
    try:
        count = int(parse_number(pairs, 0, _MAX_PAIRS))
    except UserError as error:
        raise UserError(f"--pairs: {error}") from None
    if engines and len(engines) != 2:
        raise UserError("--engine: name two engines, the base first")
    if len(plans) != 2 and not (engines and len(plans) == 1):
        raise UserError("compare --pairs takes two plans, or one plan and two --engine")
    topology = discover()
    base, new = (planned(read_plan(Path(plan)), topology) for plan in (plans[0], plans[-1]))
    restore_prefetchers()
    found, interrupted = take_pairs(base, new, count, engines or (None, None))

    def in_json() -> str:
        from tierscope.report.pairs import pairs_json

        return json.dumps({"paired": pairs_json(found)})

    def tables() -> None:
        from tierscope.report.console import make_console
        from tierscope.report.pairs import show_pairs

        show_pairs(make_console(), found)

    emit(forms, in_json, tables)
    return int(ExitCode.INTERRUPTED if interrupted else _exit_code(found))


def _exit_code(found: Sequence[Paired]) -> ExitCode:
    if not any(one.pairs for one in found):
        return ExitCode.NOTHING_MEASURED
    failed = any(one.reason for one in found)
    return ExitCode.SOMETHING_FAILED if failed else ExitCode.ALL_MEASURED

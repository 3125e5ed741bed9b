"""``tierscope pmdk``: a pool and plain memory, measured in turn."""

import json
from collections.abc import Sequence

from tierscope.cli.flow import print_plan, restore_prefetchers
from tierscope.cli.forms import emit
from tierscope.cli.options import Output
from tierscope.cli.waiting import say_start
from tierscope.model.errors import ExitCode
from tierscope.recipes.pmdk import Cost, costs, pair_count, sides
from tierscope.runs.pairs import take_pairs
from tierscope.topology.discover import discover


def compare_pools(given: dict[str, str], output: Output) -> int:
    """Measure both sides and show the ratios; returns the exit status."""
    output.forms.check()
    count = pair_count(given)
    plain, pools = sides(given, discover())
    if output.dry_run:
        both = [*plain.measurements, *pools.measurements]
        print_plan(plain.model_copy(update={"measurements": both}), 0.0, output.forms)
        return 0
    restore_prefetchers()
    say_start(output.start_at)
    paired, interrupted = take_pairs(plain, pools, count, start_at=output.start_at)
    found = costs(paired)

    def in_json() -> str:
        from tierscope.recipes.pmdk_table import costs_json

        return json.dumps({"pmdk": costs_json(found)})

    def tables() -> None:
        from tierscope.recipes.pmdk_table import show_costs
        from tierscope.report.console import make_console

        show_costs(make_console(), found)

    def in_csv() -> str:
        from tierscope.recipes.pmdk_table import costs_csv

        return costs_csv(found)

    emit(output.forms, in_json, tables, in_csv)
    return int(ExitCode.INTERRUPTED if interrupted else _exit_code(found))


def _exit_code(found: Sequence[Cost]) -> ExitCode:
    measured = [one for one in found if one.ratio]
    if not measured:
        return ExitCode.NOTHING_MEASURED
    return ExitCode.ALL_MEASURED if len(measured) == len(found) else ExitCode.SOMETHING_FAILED

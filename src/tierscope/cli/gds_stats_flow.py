"""From a process to its statistics of cuFile, printed."""

import json

from tierscope.cli.forms import Forms, emit
from tierscope.recipes.gds_stats.own import stats_of_run
from tierscope.recipes.gds_stats.show import show_stats, stats_json
from tierscope.recipes.gds_stats.tool import stats_of_tool
from tierscope.report.console import make_console


def show(pid: int, level: int, forms: Forms) -> None:
    """Print what is known of a process; UserError where that is nothing."""
    forms.check()
    stats = stats_of_run(pid, level) or stats_of_tool(pid, level)
    emit(
        forms,
        lambda: json.dumps(stats_json(stats), indent=2),
        lambda: show_stats(make_console(), stats),
    )

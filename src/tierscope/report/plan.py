"""An expanded plan in the terminal, for ``--dry-run``."""

from rich.console import Console
from rich.text import Text

from tierscope.kinds.plan import Plan
from tierscope.model.endpoint import format_ranges
from tierscope.plans.fit import longest_seconds
from tierscope.report.figures import size_text
from tierscope.report.style import new_table


def show_plan(console: Console, plan: Plan, seconds: float, peak: int) -> None:
    """Print every measurement of a plan, and what the whole takes at most."""
    table = new_table()
    table.add_column("measurement", overflow="fold")
    table.add_column("CPUs")
    table.add_column("memory", justify="right", no_wrap=True)
    table.add_column("at most", justify="right", no_wrap=True)
    for spec, longest in zip(plan.measurements, longest_seconds(plan), strict=True):
        table.add_row(
            Text(spec.id),
            format_ranges(tuple(sorted(spec.thread_cpus()))),
            size_text(spec.host_bytes()),
            f"{longest:.2f} s",
        )
    console.print(table)
    console.print(
        f"{len(plan.measurements)} measurements, at most about {seconds:.0f} s, "
        f"up to {size_text(peak)} of memory at a time; nothing was measured"
    )

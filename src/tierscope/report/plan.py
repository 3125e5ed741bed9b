"""An expanded plan in the terminal, for ``--dry-run``."""

from collections.abc import Sequence

from rich.console import Console

from tierscope.model.endpoint import format_ranges
from tierscope.model.errors import counted
from tierscope.model.spec import MeasurementSpec
from tierscope.report.figures import size_text
from tierscope.report.style import new_table


def show_plan(
    console: Console, specs: Sequence[MeasurementSpec], seconds: Sequence[float | None], peak: int
) -> None:
    """Print every measurement of a plan, and what the whole takes at most.

    ``seconds`` are upper bounds of each, None where there is none; ``peak`` is the largest amount
    of memory at a time, in bytes.
    """
    table = new_table("measurement", "CPUs", "memory", "at most", words=("measurement", "CPUs"))
    for spec, longest in zip(specs, seconds, strict=True):
        table.add_row(
            spec.id,
            format_ranges(tuple(sorted(spec.thread_cpus()))),
            size_text(spec.host_bytes()),
            f"{longest:.2f} s" if longest is not None else _until(spec),
        )
    console.print(table)
    known = sum(one for one in seconds if one is not None)
    unknown = dict.fromkeys(
        "the time of the runs" if spec.rounds() else "the time to precondition the device"
        for spec, longest in zip(specs, seconds, strict=True)
        if longest is None
    )
    more = "".join(f" and {what}" for what in unknown)
    console.print(
        f"{counted(len(specs), 'measurement')}, at most about {known:.0f} s{more}, "
        f"up to {size_text(peak)} of memory at a time; nothing was measured"
    )


def _until(spec: MeasurementSpec) -> str:
    """Say when a measurement without an upper bound of its time ends."""
    rounds = spec.rounds()
    return "until written" if rounds is None else counted(rounds, "run")

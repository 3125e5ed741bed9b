"""Live progress on a terminal's stderr; nothing where stderr goes elsewhere."""

import contextlib
import sys
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from tierscope.kinds.plan import Plan
from tierscope.model.event import Event, Failed, Progress, Result, Skipped, Started
from tierscope.report.figures import scale_of


@contextlib.contextmanager
def live_progress(plan: Plan, seconds: Callable[[str], float]) -> Iterator[Callable[[Event], None]]:
    """Give a function to call with each event; ``seconds`` is how long an id may take."""
    if not sys.stderr.isatty():
        yield lambda _event: None
        return
    console = Console(stderr=True)
    bar = Bar(
        TextColumn("{task.fields[counter]}"),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[now]}", markup=False),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        refresh_per_second=4,
    )
    total = sum(seconds(spec.id) for spec in plan.measurements)
    known = {spec.id for spec in plan.measurements}
    task = bar.add_task("", total=total, counter=f"0/{len(plan.measurements)}", now="starting")
    done_seconds = 0.0
    done = 0
    units = {
        spec.id: "ns" if spec.kind.endswith("latency") else "B/s" for spec in plan.measurements
    }

    def watch(event: Event) -> None:
        nonlocal done, done_seconds, total
        if isinstance(event, Started):
            if event.id not in known:  # a point that refines a curve
                known.add(event.id)
                total += seconds(event.id)
            bar.update(task, now=event.id, total=total)
        elif isinstance(event, Progress):
            share = min(event.elapsed_s, seconds(event.id))
            unit = units.get(event.id, "ns")
            now = f"{event.id}  {_estimate(unit, event.estimate)}"
            bar.update(task, completed=done_seconds + share, now=now)
        elif isinstance(event, Result | Skipped | Failed):
            done += 1
            done_seconds += seconds(event.id)
            counter = f"{done}/{len(known)}"
            bar.update(task, completed=done_seconds, counter=counter)

    with bar:
        yield watch


def _estimate(unit: str, value: float) -> str:
    name, factor = scale_of(unit, [value])
    return f"{value / factor:.3g} {name}"

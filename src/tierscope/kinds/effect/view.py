"""How programs under placements are shown."""

from typing import Any

from tierscope.analysis.effect import by_program, effects
from tierscope.kinds.effect.pictures import PICTURES
from tierscope.kinds.effect.table import show_table
from tierscope.kinds.effect.words import called, change_text
from tierscope.model.run import Measurement, Run
from tierscope.report.view import View


def summary_of(measured: list[Measurement]) -> str:
    """Return the largest effect on a headline that was found, or that there was none."""
    groups = by_program(measured)
    firsts = {f.figure for group in groups for f in effects(group)[:1]}
    found = [one for group in groups for one in effects(group) if one.figure in firsts]
    decided = [one for one in found if one.verdict != "undecided" and one.ratio]
    if not found:
        return "programs: one placement, so nothing to compare"
    if not decided:
        return "programs: no difference between placements was found"
    most = max(decided, key=lambda one: abs((one.ratio or 1) - 1))
    return (
        f"programs: {called(most.figure)} {change_text(most.ratio)} "
        f"under {most.placement}, which is {most.verdict} than {most.base}"
    )


def more_of(run: Run) -> dict[str, Any]:
    """Return ``effects``: what each placement does to each figure."""
    measured = [m for m in run.measurements if m.kind == "effect" and m.status == "measured"]
    return {"effects": [one.model_dump(mode="json") for one in effects(measured)]}


VIEW = View(
    title="Programs under placements",
    method="In each round the program runs once under each placement, in random order; its time is "
    "from its start to its end. Medians and their 95% intervals; placements are compared by the "
    "ratios of the same round.",
    headline="time or rate",
    headings={"run_time": "run time", "gc_time": "GC pauses"},
    table=show_table,
    pictures=PICTURES,
    represents_path=False,
    summary=summary_of,
    more=more_of,
)

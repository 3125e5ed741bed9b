"""The views of the kinds that runs hold, for the reports that show them."""

from collections.abc import Iterable

from tierscope.kinds.registry import KINDS
from tierscope.model.run import Run
from tierscope.report.view import View


def views_of(runs: Iterable[Run]) -> dict[str, View]:
    """Return the views of the kinds in these runs, in the registry's order; no others load."""
    present = {measurement.kind for run in runs for measurement in run.measurements}
    return {name: kind.view for name, kind in KINDS.items() if name in present}

"""Runs whose GPU copies name source and destination, as people do."""

from tierscope.analysis.concurrent import is_sum, shared
from tierscope.model.run import Run
from tierscope.runs.version1_copies import flat

__all__ = ["flat", "flat_run", "is_sum", "shared"]


def flat_run(run: Run) -> Run:
    """Return a run whose measurements are all flat."""
    return run.model_copy(update={"measurements": [flat(m) for m in run.measurements]})

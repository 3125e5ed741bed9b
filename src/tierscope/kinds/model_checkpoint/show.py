"""How checkpoints of large models are shown."""

from collections.abc import Iterator, Sequence

from tierscope.kinds.model_checkpoint.models import models
from tierscope.kinds.model_checkpoint.spec import ModelCheckpointEvidence
from tierscope.model.errors import counted
from tierscope.model.event import Evidence
from tierscope.model.run import Measurement
from tierscope.report.evidence import drives_text
from tierscope.report.figures import side_figure, size_text
from tierscope.report.figures import text as figure_text
from tierscope.report.view import View


def sentences(measured: Sequence[Measurement]) -> Iterator[str]:
    """Yield which share of a model's checkpoint was written, and where reads came from."""
    for m in measured:
        seen = m.evidence.own(ModelCheckpointEvidence).rank_files if m.evidence else None
        if seen is None or m.evidence is None:
            continue
        name, ranks = m.pattern["model"], m.pattern["ranks"]
        model = models().get(name)
        of = f" of {model.ranks}" if model else ""
        scaled = m.pattern.get("scale") or 1.0
        yield (
            f"{name}: {ranks}{of} ranks wrote {counted(seen.files, 'file')}, "
            f"{size_text(seen.bytes)} a checkpoint"
            f"{'' if scaled == 1 else f', each file scaled by {scaled:g}'}; "
            f"{_came_from(m.evidence)}."
        )


def _came_from(evidence: Evidence) -> str:
    """Say where the bytes that were read came from."""
    kept = evidence.storage_io.cached_bytes if evidence.storage_io else None
    if kept:
        return f"the page cache kept {size_text(kept)} of a checkpoint before it was read"
    before = "the page cache held none of a checkpoint before it was read"
    return drives_text(evidence) or before


def summary_of(measured: list[Measurement]) -> str:
    """Return how fast the first one is written and read."""
    m = measured[0]
    read = side_figure(m, "restart_bandwidth")
    text = f"checkpoints of {m.pattern['model']} are written at {figure_text(m, 1e9, 'GB/s')}"
    return f"{text} and read at {figure_text(read, 1e9, 'GB/s')}" if read else text


VIEW = View(
    title="Checkpoints of models",
    method="Ranks write their files at the same time, each its own in order, with fsync behind "
    "each file; then the page cache drops them and the ranks read them. A rate is all bytes over "
    "the time of the last rank; medians and their 95% intervals.",
    notes=lambda measured, _run: sentences(measured),
    represents_path=False,
    summary=summary_of,
    more_by="--count",
)

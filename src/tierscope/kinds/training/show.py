"""How training is shown: which accelerators storage feeds, and what they wait for."""

from collections.abc import Iterator, Sequence

from tierscope.kinds.training.spec import TrainingEvidence, TrainingSeen
from tierscope.model.event import Evidence
from tierscope.model.run import Measurement, Run
from tierscope.report.evidence import drives_text
from tierscope.report.figures import figure_of, seconds_text, size_text
from tierscope.report.view import Column, View

_MOST = 0.9
"""Share of the time from which on something is the bottleneck."""
_LONG_EPOCH = 100
"""Steps in which the wait for the first batch counts little."""
_TIMES_MEMORY = 5.0
"""MLPerf's: a dataset so much larger than the memory is not served by the page cache."""


def seen_of(m: Measurement) -> TrainingSeen | None:
    """Return what was observed of a measurement's dataset."""
    return m.evidence.own(TrainingEvidence).training if m.evidence else None


def met(m: Measurement) -> str:
    """Return the share of the accelerators' need that is met."""
    utilisation, needed = figure_of(m, "utilisation"), m.pattern.get("needed")
    return f"{utilisation / needed:.0%}" if utilisation is not None and needed else ""


def waits_for(m: Measurement) -> str:
    """Return what accelerators wait for: nothing, the drive, readers, or batches read ahead."""
    utilisation, reading = figure_of(m, "utilisation"), figure_of(m, "reading")
    if utilisation is None or reading is None:
        return ""
    if utilisation >= m.pattern.get("needed", 1.0):
        return "nothing"
    if (figure_of(m, "busy") or 0) >= _MOST:
        return "the drive"
    return "readers" if reading >= _MOST else "the first batch"


def columns(_measured: list[Measurement], _run: Run) -> list[Column]:
    """Return the share of the need, and what accelerators wait for."""
    return [
        Column("of the need", met),
        Column("waits for", waits_for, number=False),
    ]


def sentences(measured: Sequence[Measurement]) -> Iterator[str]:
    """Yield where the bytes came from, and what the figures leave open."""
    seen = [(m, one) for m in measured if (one := seen_of(m))]
    for m, one in seen:
        if m.evidence is not None:
            yield f"{m.pattern['workload']} on {m.target}: {_came_from(m.evidence, one)}."
    short = [one for _, one in seen if one.steps < _LONG_EPOCH]
    if short:
        steps = min(one.steps for one in short)
        wait = max(one.first_wait_s for one in short)
        yield (
            f"An epoch has {steps} steps, of which the first one waits for its batch, "
            f"{seconds_text(wait)} at most; a larger --size makes that count less."
        )
    waited = {waits_for(m) for m in measured}
    if "readers" in waited:
        yield (
            "Where accelerators wait for readers, these read all the time and the drive is not "
            "busy all the time: more --readers would ask for more at once."
        )
    if any(figure_of(m, "accelerators_fed") is not None for m in measured):
        yield (
            "'Could feed' is how many accelerators these readers would keep at the needed "
            "utilisation if they never had to wait for room: rate / share of reading / need."
        )
    yield "Samples are read, not decoded: a real loader needs CPU time on top."


def _came_from(evidence: Evidence, seen: TrainingSeen) -> str:
    """Say how much of what was read came from drives."""
    kept = evidence.storage_io.cached_bytes if evidence.storage_io else None
    if not kept:
        before_each = f"the page cache held none of {size_text(seen.bytes)} before each epoch"
        return drives_text(evidence) or before_each
    times = seen.bytes / max(seen.memory_bytes, 1)
    text = f"the page cache kept {size_text(kept)} of {size_text(seen.bytes)}"
    if times >= _TIMES_MEMORY:
        return f"{text}; the dataset is {times:.0f} times the free memory"
    return f"{text}: figures are not the drive's"


def summary_of(measured: list[Measurement]) -> str:
    """Return how busy the first measurement's accelerators are."""
    m = measured[0]
    used = figure_of(m, "utilisation")
    name = m.pattern["workload"]
    return f"accelerators that train {name} compute {used:.0%} of the time" if used else ""


VIEW = View(
    title="Training",
    method="Readers hand batches to threads that sleep for a step's time; before each epoch the "
    "page cache drops the dataset. Utilisation is the time of all steps over the epoch's, its "
    "first wait included. Medians of epochs and their 95% intervals.",
    columns=columns,
    notes=lambda measured, _run: sentences(measured),
    hidden=("dataset", "needed"),
    percentiles=("p99",),
    represents_path=False,
    summary=summary_of,
    more_by="--epochs",
)

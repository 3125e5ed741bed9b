"""What checkpoints survive, and what was observed of them, in words."""

from collections.abc import Iterator, Sequence

from tierscope.analysis.best import best_of, conservative_rank
from tierscope.kinds.checkpoint.spec import CheckpointEvidence, Checkpoints
from tierscope.model.run import Figure, Measurement
from tierscope.report import figures
from tierscope.report.figures import side_figure, size_text
from tierscope.report.naming import path_name
from tierscope.report.pictures import generic, shapes
from tierscope.report.pictures.generic import Axes, curves_over
from tierscope.report.pictures.picture import (
    Picture,
    PictureInput,
    constants,
    distinct,
    scale_of,
    slug,
    varying,
    words_of,
)
from tierscope.report.view import Column, View

_IN_MEMORY = ("tmpfs", "ramfs")
SAVED = "checkpoint_time"
RESTARTED = "restart_time"
HELD = {"file": "mapped file", "pool": "pool"}
"""What holds persistent memory, by its backing."""
PROGRAM, POWER = "the program", "power loss"
"""Whose end a checkpoint survives."""
_ANSWERS = {"yes": POWER, "no": PROGRAM, "unknown": f"perhaps {POWER}"}
_TITLES = {
    SAVED: "Time until a checkpoint is durable",
    RESTARTED: "Time to restart from a checkpoint",
}
_MIN_POINTS = 3
_MAX_BARS = 24


def observed(m: Measurement) -> Checkpoints | None:
    """Return the evidence of a measurement's checkpoints."""
    return m.evidence.own(CheckpointEvidence).checkpoint if m.evidence else None


def survives(m: Measurement) -> str:
    """Return what its checkpoints outlive; empty where that is not known."""
    seen = observed(m)
    if seen is None:
        return ""
    if seen.medium == "file":
        return PROGRAM if _is_memory(m) else POWER
    survival, _ = _survival(m)
    return _ANSWERS.get(survival, survival)


def _survival(m: Measurement) -> tuple[str, str]:
    """Return whether memory keeps a checkpoint when power is lost, and why."""
    seen, persistent = observed(m), m.evidence.persistent if m.evidence else None
    if persistent is not None:
        return persistent.survives_power_loss, persistent.why
    if seen is not None and seen.survives_power_loss:
        return seen.survives_power_loss, seen.why or ""
    return "no", ""


def _is_memory(m: Measurement) -> bool:
    """Whether its file lies in memory."""
    mounts = [facts.path.mount for facts in (m.evidence.storage if m.evidence else None) or []]
    return any(mount is not None and mount.type in _IN_MEMORY for mount in mounts)


def time_text(found: Figure | None) -> str:
    """Return a time with its unit and interval: ``12.3 ±0.1 ms``."""
    if found is None:
        return ""
    unit, factor = figures.scale_of(found.unit, [found.estimate])
    return f"{figures.text(found, factor, unit)}"


def sentences(measured: Sequence[Measurement]) -> Iterator[str]:
    """Yield what the table says, and what figures leave open."""
    yield from _fastest(measured)
    yield from _kills(measured)
    yield from _caches(measured)
    whys = dict.fromkeys((m.target, why) for m in measured if (why := _survival(m)[1]))
    yield from (f"{target}: {why}" for target, why in whys)
    if any(survives(m) == PROGRAM for m in measured):
        yield (
            f"What outlives {PROGRAM} only is in memory: it is gone after a restart of the machine "
            "or a power loss."
        )
    if any((seen := observed(m)) and seen.medium == "file" and not _is_memory(m) for m in measured):
        yield (
            "A checkpoint in a file counts as durable once fdatasync of its header has returned; "
            "the drive or the server then answers for it."
        )


def _fastest(measured: Sequence[Measurement]) -> Iterator[str]:
    """Yield the target with the shortest time to durable among those that outlive a loss of power,
    for the largest state, where there are several."""
    largest = max((m.pattern.get("size", 0) for m in measured), default=0)
    safe = [m for m in measured if survives(m) == POWER and m.pattern.get("size") == largest]
    if len({m.target for m in safe}) < 2:
        return
    best = max(safe, key=conservative_rank)
    saved, restarted = side_figure(best, SAVED), side_figure(best, RESTARTED)
    others = [m for m in safe if m.target != best.target]
    clear = all((best.ci_low or 0.0) > (m.ci_high or m.estimate or 0.0) for m in others)
    yield (
        f"Of the targets that outlive {POWER}, {best.target} "
        f"{'is' if clear else 'may be'} the fastest: {size_text(largest)} are durable after "
        f"{time_text(saved)}, and a program runs on from them after {time_text(restarted)}."
    )


def _kills(measured: Sequence[Measurement]) -> Iterator[str]:
    found = [seen.kills for m in measured if (seen := observed(m)) and seen.kills]
    if not found:
        return
    kills, cut = sum(one.kills for one in found), sum(one.while_saving for one in found)
    yield (
        f"Programs were killed {kills} times, {cut} of these while a checkpoint was being written; "
        "each time the last good one was found, and every cell of it was right. A kill keeps what "
        "was stored before it: it proves the order of the steps, not that data reached the medium."
    )


def _caches(measured: Sequence[Measurement]) -> Iterator[str]:
    files = {m.target: m for m in measured if (seen := observed(m)) and seen.medium == "file"}
    kept: dict[str, int] = {}
    for m in measured:
        asked = m.evidence.storage_io if m.evidence else None
        if asked and asked.cached_bytes and m.target in files:
            kept[m.target] = max(kept.get(m.target, 0), asked.cached_bytes)
    for target, cached in kept.items():
        why = "it lies in memory" if _is_memory(files[target]) else "its pages were in use"
        yield f"{target}: before a restart the page cache kept {size_text(cached)}, since {why}."
    if len(files) > len(kept):
        rest = "the other files" if kept else "files" if len(files) > 1 else "the file"
        yield f"Before each restart the page cache dropped all pages of {rest}."


def times(given: PictureInput) -> Iterator[Picture]:
    """Each time over the state's size, or as bars where there are few sizes."""
    for metric, heading in _TITLES.items():
        timed = [_of(m, metric) for m in given.measured]
        shown = [m for m in timed if m is not None]
        if len(shown) == len(given.measured):
            yield _picture(metric, heading, shown)
        elif metric == SAVED:
            yield from generic.bars(given)


def _of(m: Measurement, metric: str) -> Measurement | None:
    """Return a measurement with one of its figures as its headline."""
    found = figures.side_figure(m, metric)
    return m.model_copy(update={"figures": [found]}) if found else None


def _picture(metric: str, title: str, measured: list[Measurement]) -> Picture:
    sizes = distinct(measured, "size")
    swept = len(sizes) >= _MIN_POINTS
    names = _telling(measured, swept)
    ordered = sorted(measured, key=lambda m: m.estimate or 0.0)
    unit, factor = scale_of(ordered)
    best, worst = ordered[0], ordered[-1]

    def name(m: Measurement) -> str:
        path = m.target if len({m.initiator for m in measured}) == 1 else path_name(m)
        held = HELD.get(m.pattern.get("backing", ""), "")
        return ", ".join(filter(None, (path, held, words_of(m, names))))

    alt = (
        f"The shortest is {figures.text(best, factor, unit)}: {name(best)}; the longest "
        f"is {figures.text(worst, factor, unit)}: {name(worst)}."
    )
    if swept:
        return curves_over(
            measured,
            "size",
            names,
            key=f"checkpoint {metric}",
            title=title,
            called=lambda m, _names: name(m),
            subtitle=constants(measured, "size"),
            alt=alt,
            axes=Axes(
                x=shapes.size_axis("state", sizes),
                y={**shapes.from_zero(unit), "scale": {"type": "log"}},
            ),
        )
    return Picture(
        key=slug(f"checkpoint {metric}"),
        title=title,
        subtitle=constants(measured),
        alt=alt,
        spec=shapes.bars(ordered[:_MAX_BARS], name),
        measurements=measured,
    )


def _telling(measured: list[Measurement], swept: bool) -> list[str]:
    """Return the properties that tell these apart, beside their paths and what holds them: of those
    that files alone have, the ones in which files differ."""
    files = [m for m in measured if "backend" in m.pattern]
    of_files = varying(files, "path") if files else []
    return [
        key
        for key in varying(measured, "path", "backing", *(["size"] if swept else []))
        if key in of_files or key not in ("backend", "direct", "depth")
    ]


def summary_of(measured: list[Measurement]) -> str:
    """Return how long the best target takes."""
    best = best_of(measured)
    saved = time_text(side_figure(best, SAVED))
    size = size_text(best.pattern["size"])
    return f"a checkpoint of {size} is durable on {best.target} after {saved}" if saved else ""


VIEW = View(
    title="Checkpoints",
    method="Pinned threads write a state to one of two slots of the target, wait until it is "
    "durable, and write the slot's header; the time ends when that is durable, too. A restart "
    "opens the target, reads the last good checkpoint and verifies every cell of it. Medians of "
    "samples and their 95% intervals.",
    columns=lambda _measured, _run: [Column("outlives", survives, number=False)],
    notes=lambda measured, _run: sentences(measured),
    pictures=(times,),
    represents_path=False,
    summary=summary_of,
)

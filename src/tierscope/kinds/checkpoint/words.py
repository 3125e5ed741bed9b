"""What checkpoints survive, and what was observed of them, in words."""

from collections.abc import Iterator, Sequence

from tierscope.model.checkpoint import CheckpointEvidence
from tierscope.model.run import Figure, Measurement
from tierscope.report import figures
from tierscope.report.figures import side_figure, size_text

_IN_MEMORY = ("tmpfs", "ramfs")
SAVED = "checkpoint_time"
RESTARTED = "restart_time"
HELD = {"file": "mapped file", "pool": "pool"}
"""What holds persistent memory, by its backing."""
PROGRAM, POWER = "the program", "power loss"
"""Whose end a checkpoint survives."""
_ANSWERS = {"yes": POWER, "no": PROGRAM, "unknown": f"perhaps {POWER}"}


def observed(m: Measurement) -> CheckpointEvidence | None:
    """Return what was observed of its checkpoints."""
    return m.evidence.checkpoint if m.evidence else None


def survives(m: Measurement) -> str:
    """Return what its checkpoints outlive; empty where nobody knows."""
    seen = observed(m)
    if seen is None:
        return ""
    if seen.medium == "file":
        return PROGRAM if _is_memory(m) else POWER
    return _ANSWERS[_survival(m)[0]]


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
    return f"{figures.with_interval(found, factor)} {unit}"


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
    best = max(safe, key=figures.conservative_rank)
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
        seen = observed(m)
        if seen and seen.cached_bytes:
            kept[m.target] = max(kept.get(m.target, 0), seen.cached_bytes)
    for target, cached in kept.items():
        why = "it lies in memory" if _is_memory(files[target]) else "its pages were in use"
        yield f"{target}: before a restart the page cache kept {size_text(cached)}, since {why}."
    if len(files) > len(kept):
        rest = "the other files" if kept else "files" if len(files) > 1 else "the file"
        yield f"Before each restart the page cache dropped all pages of {rest}."

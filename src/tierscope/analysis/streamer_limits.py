"""A study's figures beside limits: one Optane module, and the loss of far memory by its causes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tierscope.analysis.streamer import FAR, OPERATIONS, Study, Way
from tierscope.analysis.streamer_words import Finding, counted, gb

OPTANE_READ, OPTANE_WRITE = 6.6e9, 2.3e9
"""Bytes/s of one Optane DC module."""
OPTANE_SOURCE = "Izraelevitz et al., arXiv:1903.05714, 2019"


@dataclass(frozen=True)
class MemoryLimit:
    """Theoretical rates in bytes/s of a memory, to split a loss by."""

    media: float | None
    """Of what holds the data."""
    link: float | None = None
    """Of the link to it; None where there is none or its rate is not known."""
    source: str = ""


Limits = Mapping[tuple[int, ...], MemoryLimit]
"""By a memory's nodes."""


def against_optane(study: Study) -> Iterator[Finding]:
    """Persistent memory of no socket against one Optane module."""
    for one in study:
        if not one.memory.persistent or len(one.sockets) > 1 or one.relation() != FAR:
            continue
        last = one.threads()[-1]
        rates = {name: points[last].value for name, points in one.points.items() if last in points}
        parts = [
            f"{name.title()} {rate / OPTANE_READ:.1f} and {rate / OPTANE_WRITE:.1f}"
            for name, rate in rates.items()
        ]
        text = (
            f"{one.group}, {one.words}, {counted(last)}: this many times the reads and the writes "
            f"of one Optane module (baseline, {OPTANE_READ / 1e9:g} and {OPTANE_WRITE / 1e9:g} "
            f"GB/s, {OPTANE_SOURCE}): {', '.join(parts)}."
        )
        values = {name: rate / OPTANE_READ for name, rate in rates.items()}
        yield Finding("reference", study.machine, text, "one Optane module, read", last, values)


def split_losses(study: Study, limits: Limits) -> Iterator[Finding]:
    """Split what far memory loses against local memory into its media's part and the rest.

    Were the media all that differs, bandwidth would go down as their limits do; what is lost
    beyond that is put down to the link, its controllers and protocol.
    """
    for persistent in (True, False):
        for socket in study.sockets():
            own = study.own_memory(socket, persistent)
            for far in (m for m in study.memories(persistent) if m.socket is None):
                if own is not None and own.backing == far.backing:
                    yield from _split_of(study, Way((socket,), own), Way((socket,), far), limits)


def _split_of(study: Study, base: Way, other: Way, limits: Limits) -> Iterator[Finding]:
    threads = study.common(base, other)
    if not threads:
        return
    last = threads[-1]
    near, far = (
        limits.get(way.memory.numbers) if way.memory.of_node else None for way in (base, other)
    )
    head = (
        f"Socket {base.socket_words}, {counted(last)}: {other.memory.words} against "
        f"{base.memory.words} (baseline)"
    )
    if near is None or far is None or not near.media or not far.media:
        unknown = base if near is None or not near.media else other
        text = (
            f"{head}: the loss cannot be split into media and link, because the limit of "
            f"{unknown.memory.name}'s media is not known."
        )
        yield Finding("split", study.machine, text, base.words, last)
        return
    share = min(1.0, far.media / near.media)
    parts, values = [], {}
    for name in OPERATIONS:
        first, second = study.points(base, name).get(last), study.points(other, name).get(last)
        if first and second:
            lost = first.value - second.value
            values[name] = lost - first.value * (1 - share)
            parts.append(f"{name.title()} {_shares(lost, values[name])}")
    link_limit = f"; the link allows {gb(far.link)}" if far.link else ""
    text = (
        f"{head}: an estimate of the loss by the limits of both media, {gb(far.media)} and "
        f"{gb(near.media)} ({far.source}{link_limit}): {', '.join(parts)}."
    )
    yield Finding("split", study.machine, text, base.words, last, values)


def _shares(lost: float, link: float) -> str:
    """Say what of a loss in bytes/s is the link's and what the media's."""
    if lost <= 0:
        return "no loss"
    if link <= 0:
        return f"all {gb(lost)} by the media"
    if link >= lost:
        return f"all {gb(lost)} by the link"
    return f"{gb(lost - link)} by the media and {gb(link)} by the link"

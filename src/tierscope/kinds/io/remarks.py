"""What a reader of storage figures has to know of where the data really was."""

from collections.abc import Sequence

from tierscope.analysis.steady_state import steady_state
from tierscope.kinds.io.points import cached, observed, row_seconds
from tierscope.kinds.io.tuning import setting_lines
from tierscope.model.run import Measurement
from tierscope.report.figures import share_text

_MOVED = 0.5
"""Share of the bytes asked for below which the drives moved far less: a cache served the rest."""
_WARM = 0.99
"""Share of the files in the page cache from which on it holds them all."""
_IN_CACHE = 0.01
"""Share of the files in the page cache from which on a direct read found some there."""


def remarks(measured: Sequence[Measurement]) -> list[str]:
    """Return these, each once, with how many measurements it is about."""
    found = [
        f"{count} of {len(measured)}: {text}"
        for applies, text in _CHECKS
        if (count := sum(map(applies, measured)))
    ]
    return [
        *found,
        *_partly_warm(measured),
        *_unsteady(measured),
        *setting_lines(measured),
    ]


def _partly_warm(measured: Sequence[Measurement]) -> list[str]:
    """Say which reads through the page cache began with files that it held a part of."""
    held = [
        io.cached_before
        for m in measured
        if (io := observed(m)) is not None
        and io.bytes_read > 0
        and cached(m)
        and m.pattern.get("cache") in (None, "warm")
        and io.cached_before is not None
        and io.cached_before < _WARM
        and not _is_dax(m)
    ]
    if not held:
        return []
    shares = " to ".join(dict.fromkeys(share_text(part) for part in (min(held), max(held))))
    text = (
        f"the page cache held {shares} of what is read when a visit began: memory has no room for "
        "more, or reading it took too long"
    )
    return [f"{len(held)} of {len(measured)}: {text}"]


def _unsteady(measured: Sequence[Measurement]) -> list[str]:
    """Say how many did not come to a steady state, and how long rounds were."""
    short = [m for m in measured if not m.rounds]
    known = [state for m in short if (state := steady_state(m.samples, row_seconds(m)))]
    left = [state.round_s for state in known if not state.reached]
    if not left:
        return []
    rounds = f"{1e3 * min(left):.3g} to {1e3 * max(left):.3g} ms"
    return [
        f"{len(left)} of {len(known)}: no steady state by the five-round rule, rounds of {rounds}"
    ]


def _is_dax(m: Measurement) -> bool:
    return any(facts.path.dax for facts in (m.evidence and m.evidence.storage) or [])


def _moved_less(m: Measurement) -> bool:
    io, moved = observed(m), m.evidence.device_bytes_read if m.evidence else None
    return io is not None and moved is not None and not cached(m) and moved < _MOVED * io.bytes_read


def _was_cached(m: Measurement) -> bool:
    io = observed(m)
    reads = io is not None and io.bytes_read > 0
    return reads and not cached(m) and bool(io and (io.cached_before or 0.0) >= _IN_CACHE)


def _has_holes(m: Measurement) -> bool:
    io = observed(m)
    return io is not None and io.bytes_read > 0 and bool(io.unwritten_bytes)


_CHECKS = (
    (
        _moved_less,
        "direct reads of which the drive moved less than half: a cache in between served the rest",
    ),
    (_was_cached, "direct reads of files that were partly in the page cache before"),
    (_has_holes, "reads of files with holes or unwritten parts, which no drive has to read"),
)

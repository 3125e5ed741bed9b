"""What a reader of storage figures has to know of where the data really was."""

from collections.abc import Sequence

from tierscope.analysis.steady_state import steady_state
from tierscope.kinds.io.points import cached, observed, row_seconds
from tierscope.model.run import Measurement

_MOVED = 0.5
"""Share of the bytes asked for below which the drives moved far less: a cache served the rest."""
_IN_CACHE = 0.01
"""Share of the files in the page cache from which on a direct read found some there."""


def remarks(measured: Sequence[Measurement]) -> list[str]:
    """Return these, each once, with how many measurements it is about."""
    found = [
        f"{count} of {len(measured)}: {text}"
        for applies, text in _CHECKS
        if (count := sum(map(applies, measured)))
    ]
    return [*found, *_unsteady(measured)]


def _unsteady(measured: Sequence[Measurement]) -> list[str]:
    """Say how many did not come to a steady state, and how long rounds were."""
    known = [state for m in measured if (state := steady_state(m.samples, row_seconds(m)))]
    left = [state.round_s for state in known if not state.reached]
    if not left:
        return []
    rounds = f"{1e3 * min(left):.3g} to {1e3 * max(left):.3g} ms"
    return [
        f"{len(left)} of {len(known)}: no steady state by the five-round rule, rounds of {rounds}"
    ]


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

"""Figures of programs and their changes in words."""

_CALLED = {
    "run_time": "run time",
    "gc_time": "GC pauses",
    "gc_pause_max": "longest GC pause",
}


def called(figure: str) -> str:
    """Return what people call a figure."""
    return _CALLED.get(figure, figure)


def change_text(ratio: float | None) -> str:
    """Return a ratio as a change: ``+12.3%``, ``-4.0%``; a large one as ``x2.5``."""
    if ratio is None:
        return "–"
    return f"x{ratio:.3g}" if ratio >= 2 else f"{100 * (ratio - 1):+.1f}%"


def interval_text(low: float, high: float) -> str:
    """Return the interval of a ratio as changes: ``-1.5..+2.0%``, ``+80%..x2.5``."""
    first = change_text(low)
    return f"{first.removesuffix('%') if high < 2 else first}..{change_text(high)}"

"""A finding of a study: a sentence and its figures; how figures are written in sentences."""

from dataclasses import dataclass, field

from tierscope.analysis.streamer import Ratios


@dataclass(frozen=True)
class Finding:
    """One sentence, and the figures that it says."""

    topic: str
    """saturation, remote, far, sockets, pmdk, backing, close, meet, reference, split, machines,
    paper."""
    machine: str
    text: str
    baseline: str = ""
    threads: int | None = None
    values: dict[str, float] = field(default_factory=dict)
    """By operation: ratios to the baseline; of saturation and split bytes/s, of meet threads."""


def percent(change: float) -> str:
    """Return a change as a signed percentage, with a decimal below 10%."""
    if abs(change) < 0.0005:
        return "0.0%"
    return f"{change:+.1%}" if abs(change) < 0.0995 else f"{change:+.0%}"


def changes(ratios: Ratios) -> str:
    """Return the change of each operation: "Copy -9.5%, Scale -12%"."""
    return ", ".join(
        f"{name.title()} {percent(one.value - 1)}"
        + ("" if one.decided else " (within the intervals)")
        for name, one in ratios.items()
    )


def values_of(ratios: Ratios) -> dict[str, float]:
    """Return the ratios without their intervals."""
    return {name: one.value for name, one in ratios.items()}


def counted(threads: int) -> str:
    """Return "1 thread" or "10 threads"."""
    return f"{threads} thread{'' if threads == 1 else 's'}"


def gb(value: float) -> str:
    """Return bytes/s as GB/s, or MB/s where it is little, with three digits."""
    if abs(value) < 1e8:
        return f"{value / 1e6:.3g} MB/s"
    return f"{f'{value / 1e9:#.3g}'.rstrip('.')} GB/s"

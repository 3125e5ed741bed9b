"""What the arrays and drives below the targets did: the kernel's counts, in a table."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from tierscope.kinds.io.points import on, operation
from tierscope.model.run import Measurement
from tierscope.model.storage import BlockCounts, DriveFacts, StorageFacts
from tierscope.report import figures
from tierscope.report.naming import path_name
from tierscope.report.style import new_table

_AGREE = 0.02
"""Share by which an array's members together may differ from what the array counts itself."""


def busiest_devices(measured: Sequence[Measurement]) -> Measurement | None:
    """Return the measurement whose devices moved most; None where none had several devices."""
    found = [m for m in measured if len(_devices(m)) > 1]
    return max(found, key=_rate, default=None)


def show_devices(console: Console, measurement: Measurement) -> None:
    """Print a row for each array and drive of a measurement."""
    devices = _devices(measurement)
    size = figures.size_text(measurement.pattern["block_size"])
    console.print(
        Text(f"Devices, {operation(measurement)} of {size}, {path_name(measurement)}:"),
    )
    unit, factor = figures.scale_of("B/s", [one.bytes / one.seconds for one in devices])
    table = new_table()
    table.add_column("device", no_wrap=True)
    for name in ("requests/s", "mean size", unit, "await ms", "in flight", "busy"):
        table.add_column(name, justify="right", no_wrap=True)
    about = {drive.name: drive for facts in on(measurement) for drive in facts.drives}
    if any(drive.firmware for drive in about.values()):
        table.add_column("firmware", no_wrap=True)
    if any(drive.wear for drive in about.values()):
        table.add_column("wear", justify="right", no_wrap=True)
    for one in devices:
        table.add_row(
            one.name,
            f"{one.requests_per_s:.0f}",
            f"{one.mean_bytes / 1024:.4g} KiB",
            f"{one.bytes / one.seconds / factor:.3g}",
            f"{one.await_ms:.3g}",
            f"{one.in_flight:.3g}",
            f"{one.utilization:.0%}",
            *_about(about.get(one.name), list(about.values())),
        )
    console.print(table)
    for line in array_lines(measurement):
        console.print(Text(line))


def _about(drive: DriveFacts | None, drives: Sequence[DriveFacts]) -> list[str]:
    """Return firmware and wear, where a drive of the table has them."""
    cells = []
    if any(other.firmware for other in drives):
        cells.append(drive.firmware if drive else "")
    if any(other.wear for other in drives):
        cells.append(f"{drive.wear.used_percent}%" if drive and drive.wear else "")
    return cells


def array_lines(measurement: Measurement) -> list[str]:
    """Say of each array how its members' counts compare with its own."""
    counts = {one.name: one for one in _devices(measurement)}
    lines: list[str] = []
    for facts in on(measurement):
        members = [counts[d.name] for d in facts.drives if d.name in counts]
        array = next((counts[name] for name in facts.chain if name in counts), None)
        if array is None or array in members or len(members) < len(facts.drives):
            continue
        lines += filter(None, (_sums(facts, array, members), _split(array, members)))
    return list(dict.fromkeys(lines))


def _sums(facts: StorageFacts, array: BlockCounts, members: Sequence[BlockCounts]) -> str:
    """ "md0 (raid1) wrote 1 GiB, its 2 members together 2 times as much"."""
    parts = []
    for word, name in (("read", "bytes_read"), ("wrote", "bytes_written")):
        own, theirs = getattr(array, name), sum(getattr(one, name) for one in members)
        if not own:
            continue
        same = abs(theirs - own) <= _AGREE * own
        times = "as much" if same else f"{theirs / own:.3g} times as much"
        parts.append(
            f"{word} {figures.size_text(own)}, its {len(members)} members together {times}"
        )
    level = f" ({facts.level})" if facts.level else ""
    return f"{array.name}{level} {'; '.join(parts)}." if parts else ""


def _split(array: BlockCounts, members: Sequence[BlockCounts]) -> str:
    """Say where an array's requests came to its members in smaller pieces."""
    requests = sum(one.requests for one in members)
    mean = sum(one.bytes for one in members) / requests if requests else 0.0
    if not mean or mean >= (1 - _AGREE) * array.mean_bytes:
        return ""
    return (
        f"{array.name} splits requests of {array.mean_bytes / 1024:.4g} KiB into "
        f"{mean / 1024:.4g} KiB for its members."
    )


def _devices(measurement: Measurement) -> list[BlockCounts]:
    found = measurement.evidence.devices if measurement.evidence else None
    return [one for one in found or [] if one.seconds > 0]


def _rate(measurement: Measurement) -> float:
    return sum(one.bytes / one.seconds for one in _devices(measurement))

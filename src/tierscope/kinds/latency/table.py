"""The latency tables: working-set sweeps with the cache levels found in them."""

from rich.console import Console
from rich.text import Text

from tierscope.analysis.plateaus import LevelCheck, Plateau, check_levels, plateaus
from tierscope.kinds.latency.parallelism import chases_of, compared, others, show_parallelism
from tierscope.model.run import Measurement, Run
from tierscope.report import figures
from tierscope.report.console import bar
from tierscope.report.evidence import evidence_line, warnings
from tierscope.report.grid import Axis
from tierscope.report.machine_caches import side_caches
from tierscope.report.style import new_table, note, title

_WIDEST_BAR = 24
_WITHOUT_BAR = 68
"""Columns that the table takes without its bars."""
_MIN_SWEEP = 4
_IMPRECISE = 0.1
"""Half-width, as a share, from which on a figure is too imprecise to find levels by."""
_MIN_PRECISE = 0.6
"""Share of a sweep's sizes that has to be precise for levels to be found."""
_PATH = Axis("path")


def show_table(console: Console, measured: list[Measurement], run: Run) -> None:
    """Print, for each path, latency by working set; sweeps first."""
    title(console, "Idle latency, one thread, dependent loads")
    groups = compared(measured)
    paths: dict[str | int, list[Measurement]] = {}
    for measurement in others(measured):
        paths.setdefault(_PATH.of(measurement), []).append(measurement)
    sweeps = {
        path: group
        for path, group in paths.items()
        if len(group) >= _MIN_SWEEP and all("size" in m.pattern for m in group)
    }
    for path, group in sweeps.items():
        _show_sweep(console, str(path), group, run)
    told = {m.id for group in groups for m in group}
    rest = [
        m for path, group in paths.items() if path not in sweeps for m in group if m.id not in told
    ]
    if rest:
        _show_list(console, rest)
    tables: dict[str, list[list[Measurement]]] = {}
    for group in groups:
        caption = f"{_PATH.of(group[0])}, {_variant(group[0])}"
        tables.setdefault(caption, []).append(group)
    for caption, members in tables.items():
        show_parallelism(console, caption, members)
    for line in filter(None, (*warnings(measured), evidence_line(measured))):
        note(console, line)


def _variant(measurement: Measurement) -> str:
    """Say what a chase was, apart from its working set and path."""
    pattern = measurement.pattern
    parts = [f"{pattern['pages']} pages"] if "pages" in pattern else []
    if pattern.get("order") not in (None, "random"):
        parts.append("within pages" if pattern.get("order") == "page-random" else pattern["order"])
    if pattern.get("stride") not in (None, 256):
        parts.append(f"stride {figures.size_text(pattern['stride'])}")
    parts += [str(pattern[key]) for key in ("policy", "backing") if key in pattern]
    if chases_of(measurement) > 1:
        parts.append(f"{chases_of(measurement)} chases")
    return ", ".join(parts)


def _show_sweep(console: Console, path: str, group: list[Measurement], run: Run) -> None:
    variants: dict[str, list[Measurement]] = {}
    for measurement in group:
        variants.setdefault(_variant(measurement), []).append(measurement)
    for variant, members in variants.items():
        if len(members) >= _MIN_SWEEP:
            console.print(Text(f"{path}, {variant}", style="bold"))
            _show_curve(console, sorted(members, key=lambda m: int(m.pattern["size"])), run)
    rest = [m for members in variants.values() if len(members) < _MIN_SWEEP for m in members]
    if rest:
        _show_list(console, rest)


def _show_curve(console: Console, curve: list[Measurement], run: Run) -> None:
    points = [(int(m.pattern["size"]), m.estimate or 0.0) for m in curve]
    precise = [
        point
        for point, measurement in zip(points, curve, strict=True)
        if figures.relative_half(measurement) <= _IMPRECISE
    ]
    found = plateaus(precise) if len(precise) >= _MIN_PRECISE * len(curve) else []
    ends = {plateau.last_size: plateau for plateau in found}
    most = max(latency for _, latency in points)
    target = curve[0].target
    last = _last_level(run, target, points[-1][0])
    table = new_table()
    table.add_column("working set", justify="right", no_wrap=True)
    table.add_column("ns", justify="right", no_wrap=True)
    width = max(4, min(_WIDEST_BAR, console.width - _WITHOUT_BAR))
    table.add_column("", width=width, no_wrap=True)
    table.add_column("level found", no_wrap=True)
    for measurement, (size, latency) in zip(curve, points, strict=True):
        plateau = ends.get(size)
        label = (
            f"{_name(found, plateau, last)}: {figures.significant(plateau.latency, 3)} ns"
            if plateau
            else ""
        )
        table.add_row(
            figures.size_text(size),
            figures.with_interval(measurement, 1.0),
            Text(bar(latency, most, width), style="cyan"),
            label,
        )
    console.print(table)
    for line in _level_lines(found, points[-1][0], run, target) if found else []:
        note(console, line)
    left_out = len(curve) - len(precise)
    if left_out:
        what = "left out of the levels" if found else "too many to find cache levels"
        note(
            console,
            f"{left_out} of {len(curve)} intervals are wider than ±{_IMPRECISE:.0%}: {what}",
        )


def _last_level(run: Run, target: str, largest: int) -> str:
    """What the largest working set lies in: memory, unless a cache in front of it may hold it."""
    held = any(largest <= size for size in side_caches(run, target))
    return "memory-side cache" if held else "memory"


def _name(found: list[Plateau], plateau: Plateau, last: str) -> str:
    if plateau.ends_by is None:
        return last if len(found) > 1 else "flat"
    return f"level {found.index(plateau) + 1}, to {_between(plateau)}"


def _between(plateau: Plateau) -> str:
    if plateau.ends_by is None:
        return f"{figures.size_text(plateau.last_size)} or more"
    return f"{figures.size_text(plateau.last_size)}–{figures.size_text(plateau.ends_by)}"


def _level_lines(found: list[Plateau], largest: int, run: Run, target: str) -> list[str]:
    """Compare the caches that the system reports with the levels found."""
    sizes = sorted({(int(c["level"]), int(c["size_bytes"])) for c in run.header.machine["caches"]})
    caches = [(f"L{level}", size) for level, size in sizes]
    in_front = [(f"memory-side cache of {target}", size) for size in side_caches(run, target)]
    checks = check_levels(found, largest, caches + in_front)
    taken = [check.plateau for check in checks]
    last = _last_level(run, target, largest)
    lines = [_level_line(check, largest) for check in checks]
    for plateau in found[:-1]:
        if plateau not in taken:
            name = _name(found, plateau, last)
            latency = figures.significant(plateau.latency, 3)
            lines.append(f"{name}: {latency} ns, matches no cache that the system reports")
    return lines


def _level_line(check: LevelCheck, largest: int) -> str:
    named = f"{check.name}: the system reports {figures.size_text(check.size_bytes)}"
    if check.plateau:
        latency = f"{figures.significant(check.plateau.latency, 3)} ns"
        return f"{named}; measured: {latency} up to {_between(check.plateau)}, which agrees"
    if check.verdict == "beyond":
        return f"{named}; the sweep ends at {figures.size_text(largest)}, too early to find it"
    return (
        f"{named}, but no level of that size shows in the latencies: a virtual machine may report "
        "a cache that its cores do not have, or other programs use it"
    )


def _show_list(console: Console, measurements: list[Measurement]) -> None:
    table = new_table()
    for name in ("path", "working set", "chase"):
        table.add_column(name, no_wrap=True)
    table.add_column("ns", justify="right", no_wrap=True)
    for measurement in measurements:
        table.add_row(
            str(_PATH.of(measurement)),
            figures.size_text(size) if (size := measurement.pattern.get("size")) else "unknown",
            _variant(measurement),
            figures.with_interval(measurement, 1.0),
        )
    console.print(table)

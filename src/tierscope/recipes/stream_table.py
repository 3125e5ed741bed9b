"""The tables of STREAM: a row for each function, or for each thread count of a sweep."""

from collections.abc import Callable
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.text import Text

from tierscope.model.errors import counted
from tierscope.model.run import Measurement, Run
from tierscope.recipes.stream import FUNCTIONS, MEMCPY, STORES, Function
from tierscope.recipes.stream_figures import BINARIES, Setting, best_of, settings_of
from tierscope.recipes.stream_rules import rule_text
from tierscope.report import figures
from tierscope.report.evidence import evidence_line, warnings
from tierscope.report.run import show_end, show_machine, show_missing
from tierscope.report.style import new_table, note, title

_GB = 1e9
_ON_BUS = "bandwidth_with_write_allocate"


def show_stream(console: Console, run: Run, path: Path, size_asked: bool) -> None:
    """Print a run of STREAM; ``size_asked``: an option named the arrays' size."""
    show_machine(console, run)
    title(console, "STREAM, GB/s (10⁹ bytes that the function counts, a second)")
    swept: dict[str, list[Setting]] = {}
    for setting in settings_of(run):
        swept.setdefault(_place(setting), []).append(setting)
    for place, settings in swept.items():
        if len({setting.threads for setting in settings}) > 1:
            _show_sweep(console, place, settings)
        else:
            for setting in settings:
                _show_one(console, place, setting)
    measured = [m for m in run.measurements if m.status == "measured"]
    for line in _rules(run, size_asked):
        note(console, line)
    for line in _explained(measured):
        note(console, line)
    for line in filter(None, (*warnings(measured), evidence_line(measured))):
        note(console, line)
    show_missing(console, run)
    show_end(console, run, path)


def _place(setting: Setting) -> str:
    """Say who goes over which arrays: ``node:0 to node:1``, ``node:0 to a, b node:0, c node:2``."""
    by_place: dict[str, list[str]] = {}
    for array, place in setting.where.items():
        by_place.setdefault(place, []).append(array)
    one = len(by_place) == 1
    where = "; ".join(
        place if one else f"{', '.join(arrays)} on {place}" for place, arrays in by_place.items()
    )
    pattern = setting.first.pattern
    touched = ", first touch" if pattern.get("policy") == "first-touch" else ""
    backing = f" ({pattern['backing']})" if "backing" in pattern else ""
    return (
        f"{setting.first.initiator} to {where}{backing}{touched}, arrays of "
        f"{figures.size_text(setting.size)}, {pattern['pages']} pages"
    )


def _rows(setting: Setting) -> list[tuple[Function, str, Measurement]]:
    """Functions in STREAM's order, each with the kinds of stores that were measured."""
    found = []
    for function in FUNCTIONS:
        for stores in STORES:
            if stores == MEMCPY and function.operation != "copy":
                continue
            measurement = setting.get(function, stores)
            if measurement is not None and measurement.status == "measured":
                found.append((function, stores, measurement))
    return found


def _show_one(console: Console, place: str, setting: Setting) -> None:
    rows = _rows(setting)
    if not rows:
        return
    console.print(Text(f"{counted(setting.threads, 'thread')}, {place}", style="bold"))
    columns: tuple[tuple[str, Callable[[Measurement], str]], ...] = (
        ("median", lambda m: figures.with_interval(m, _GB)),
        ("best", lambda m: figures.significant(best_of(m) / _GB, 3)),
        ("samples", lambda m: str(m.n)),
        ("on the bus", _on_bus),
        ("limit", lambda m: figures.significant(m.limit.value / _GB, 3) if m.limit else "unknown"),
        ("of limit", figures.of_limit),
    )
    table = new_table()
    table.add_column("function", no_wrap=True)
    table.add_column("stores", no_wrap=True)
    for name, _ in columns:
        table.add_column(name, justify="right", no_wrap=True)
    before = None
    for function, stores, measurement in rows:
        name = function.name if function is not before else ""
        table.add_row(Text(name), Text(stores), *(Text(make(measurement)) for _, make in columns))
        before = function
    console.print(table)


def _on_bus(measurement: Measurement) -> str:
    figure = figures.side_figure(measurement, _ON_BUS)
    if figure is not None:
        return figures.plain(figure, _GB, 3)
    operation = measurement.pattern["operation"]
    if operation == "memcpy":
        return "unknown"
    return figures.plain(measurement, _GB, 3) if operation.endswith("-nt") else "in cache"


def _show_sweep(console: Console, place: str, settings: list[Setting]) -> None:
    """Print thread counts by functions, a table for each kind of stores."""
    for stores in STORES:
        functions = [
            f for f in FUNCTIONS if stores != MEMCPY or f.operation_with(MEMCPY) == "memcpy"
        ]
        if not any(setting.get(f, stores) for setting in settings for f in functions):
            continue
        console.print(Text(f"{stores} stores, {place}", style="bold"))
        table = new_table()
        table.add_column("threads", justify="right", no_wrap=True)
        for function in functions:
            table.add_column(function.name, justify="right", no_wrap=True)
        for setting in sorted(settings, key=lambda one: one.threads):
            cells = [setting.get(function, stores) for function in functions]
            table.add_row(
                str(setting.threads),
                *(Text(figures.with_interval(m, _GB) if m and m.estimate else "·") for m in cells),
            )
        console.print(table)


def _rules(run: Run, size_asked: bool) -> list[str]:
    """Say whether STREAM's rule is kept, once for each case."""
    topology = run.header.topology
    if topology is None:
        return []
    return list(
        dict.fromkeys(
            rule_text(topology, setting.first.cpus, setting.size, size_asked)
            for setting in settings_of(run)
        )
    )


def _explained(measured: list[Measurement]) -> list[str]:
    """Say what the columns are, and which binary each kind of stores compares with."""
    if not measured:
        return []
    durations = [m.evidence.sample_ns for m in measured if m.evidence and m.evidence.sample_ns]
    each = f" of {median(durations) / 1e6:.3g} ms" if durations else ""
    operations = {m.pattern["operation"] for m in measured}
    kinds = [
        ("memcpy" in operations, MEMCPY),
        (any(o in ("copy", "scale", "add", "triad") for o in operations), "ordinary"),
        (any(o.endswith("-nt") for o in operations), "non-temporal"),
    ]
    return [
        f"median: of all samples{each}, with its interval of 95%; best: the highest sample",
        *(f"{stores} compares with {BINARIES[stores]}" for shown, stores in kinds if shown),
    ]

"""CXL-Bench's cases in the terminal: what each became, and what it gave."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from tierscope.kinds.plan import Spec
from tierscope.model.case import Case
from tierscope.model.errors import counted
from tierscope.model.run import Figure, Measurement, Run
from tierscope.report.figures import mark, parts, scale_of, size_text
from tierscope.report.run import show_end, show_machine, show_missing
from tierscope.report.sentences import sentences
from tierscope.report.style import new_table, note, title
from tierscope.report.view import Views

Cells = Callable[[Case], tuple[str, str]]
"""What stands behind the values of a case: two cells."""
_ACCESSES = ("operation", "mix", "chain", "sharing", "order")
_MAX_REASONS = 20


def show_planned(console: Console, cases: Sequence[Case], specs: Sequence[Spec]) -> None:
    """Print what each case became, and why some became nothing."""
    by_id = {spec.id: spec for spec in specs}

    def cells(case: Case) -> tuple[str, str]:
        notes = "; ".join(case.notes)
        return "; ".join(described(by_id[name]) for name in case.measurements), notes

    for name, group in _benchmarks(cases):
        title(console, name)
        _show_group(console, group, ("becomes", "fitted to this machine"), cells)
    _show_refused(console, cases)
    planned = sum(bool(case.measurements) for case in cases)
    console.print()
    console.print(
        Text(
            f"{counted(len(cases), 'case')}: {planned} planned as "
            f"{counted(len(specs), 'measurement')}, {len(cases) - planned} refused"
        )
    )


def described(spec: Spec) -> str:
    """Say in short what a spec measures: kind, accesses, threads, places, size."""
    found = spec.identity()
    accesses = [str(found[key]) for key in _ACCESSES if key in found]
    accesses = [word for word in accesses if word != "private"]
    threads = found.get("threads", len(spec.thread_cpus()))
    where = f"{counted(threads, 'thread')} of {spec.initiator} to {spec.target}"
    size = size_text(found["size"]) if "size" in found else ""
    beside = f"beside {found['beside']}" if "beside" in found else ""
    return ", ".join(filter(None, (f"{spec.kind} {' '.join(accesses)}", where, size, beside)))


def show_cases(console: Console, run: Run, path: Path, views: Views) -> None:
    """Print a run of workload files: a table for each benchmark, then what was not measured."""
    show_machine(console, run)
    cases = run.header.cases or []
    by_id = {one.id: one for one in run.measurements}

    def cells(case: Case) -> tuple[str, str]:
        found = [by_id[name] for name in case.measurements if name in by_id]
        figures = "; ".join(text for one in found for text in figures_of(one))
        return figures or "not measured", "; ".join(case.notes)

    for name, group in _benchmarks(cases):
        title(console, name)
        _show_group(console, group, ("figure", "fitted to this machine"), cells)
    _show_refused(console, cases)
    show_missing(console, run)
    title(console, "Summary")
    for sentence in sentences(run, views):
        note(console, sentence, style="")
    show_end(console, run, path)


def figures_of(measurement: Measurement) -> Iterator[str]:
    """Yield the main figure with its interval, and those of what ran beside it."""
    if measurement.status != "measured":
        yield measurement.status
        return
    yield _figure(measurement) + mark(measurement)
    for figure in measurement.figures:
        if figure.metric == measurement.metric and figure.part and figure.part != "timed":
            yield f"{figure.part} {_figure(figure)}"


def _figure(figure: Measurement | Figure) -> str:
    unit, factor = scale_of(figure.unit or "", [figure.estimate or 0.0])
    estimate, interval = parts(figure, factor)
    what = "" if figure.unit == "B/s" else f"{(figure.metric or '').replace('_', ' ')} "
    return f"{what}{estimate} {unit} {interval}".rstrip()


def _benchmarks(cases: Sequence[Case]) -> Iterator[tuple[str, list[Case]]]:
    several = len({case.file for case in cases}) > 1
    for (file, name), group in groupby(cases, key=lambda case: (case.file, case.benchmark)):
        yield f"{name} ({file})" if several else name, list(group)


def _show_group(
    console: Console, cases: Sequence[Case], heads: tuple[str, str], cells: Cells
) -> None:
    """Print a benchmark: a column for each key that its matrix varies, then two cells."""
    varied = [dict(_flat(case.matrix)) for case in cases]
    keys = [
        key
        for key in dict.fromkeys(key for values in varied for key in values)
        if len(cases) == 1 or len({values.get(key) for values in varied}) > 1
    ]
    table = new_table()
    for key in keys:
        table.add_column(key, overflow="fold")
    table.add_column(heads[0], overflow="fold")
    rows = [
        (values, *cells(case))
        for case, values in zip(cases, varied, strict=True)
        if case.measurements
    ]
    noted = any(notes for _, _, notes in rows)
    if noted:
        table.add_column(heads[1], overflow="fold")
    for values, text, notes in rows:
        row = [*(values.get(key, "") for key in keys), text, *([notes] if noted else [])]
        table.add_row(*map(Text, row))
    if rows:
        console.print(table)
    if len(rows) < len(cases):
        note(console, f"{counted(len(cases) - len(rows), 'case')} refused, see below")


def _flat(matrix: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in matrix.items():
        if isinstance(value, dict):
            yield from ((f"{key} {name}", text) for name, text in _flat(value))
        else:
            yield key, _text(key, value)


def _text(key: str, value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return size_text(value) if key.endswith("_size") else str(value)


def _show_refused(console: Console, cases: Sequence[Case]) -> None:
    reasons = Counter(case.refused for case in cases if case.refused)
    if not reasons:
        return
    title(console, "Refused")
    table = new_table()
    table.add_column("cases", justify="right")
    table.add_column("why, and what to do", overflow="fold")
    for reason, count in reasons.most_common(_MAX_REASONS):
        table.add_row(str(count), Text(reason))
    console.print(table)
    if len(reasons) > _MAX_REASONS:
        note(console, f"and {len(reasons) - _MAX_REASONS} more reasons in --json")

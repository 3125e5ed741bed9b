"""CXL-Bench's cases in the terminal, and as the JSON of its results."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from rich.console import Console
from rich.text import Text

from tierscope.kinds.plan import Spec
from tierscope.kinds.registry import KINDS
from tierscope.kinds.views import VIEWS
from tierscope.model.errors import UserError, counted, shown
from tierscope.model.run import Case, Figure, Measurement, Run
from tierscope.peers.cxlbench.times import Times
from tierscope.peers.cxlbench.workload import CHASES, TIMED
from tierscope.plans.machine import GIB
from tierscope.report.figures import figure_of, mark, parts, scale_of, side_figure, size_text
from tierscope.report.run import show_between
from tierscope.report.run_view import RunView
from tierscope.report.style import new_table, note, title
from tierscope.runs.output import write_output

Cells = Callable[[Case], tuple[str, str]]
"""The two cells after the values of a case."""
_ACCESSES = ("operation", "mix", "chain", "sharing", "order")
_MAX_REASONS = 20
_WRITES = ("write", "stream-write")


def show_planned(console: Console, cases: Sequence[Case], specs: Sequence[Spec]) -> None:
    """Print the measurement of each case, and the reasons of refused ones."""
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
    """Return kind, accesses, threads, places and size of a spec in a line."""
    found = spec.identity()
    accesses = [str(found[key]) for key in _ACCESSES if key in found]
    accesses = [word for word in accesses if word != "private"]
    threads = found.get("threads", len(spec.thread_cpus()))
    where = f"{counted(threads, 'thread')} of {spec.initiator} to {spec.target}"
    size = size_text(found["size"]) if "size" in found else ""
    beside = f"beside {found['beside']}" if "beside" in found else ""
    return ", ".join(filter(None, (f"{spec.kind} {' '.join(accesses)}", where, size, beside)))


def run_view(run: Run) -> RunView:
    """Return the view of a run of workload files."""
    return RunView(
        lambda console, path: show_between(
            console, run, path, lambda: _show_cases(console, run), VIEWS, concludes=True
        )
    )


def _show_cases(console: Console, run: Run) -> None:
    """Print a table per benchmark, then what was refused."""
    cases = run.header.cases or []
    by_id = {one.id: one for one in run.measurements}

    def cells(case: Case) -> tuple[str, str]:
        found = [by_id[name] for name in case.measurements if name in by_id]
        figures = "; ".join(text for one in found for text in figures_of(one, case.config))
        return figures or "not measured", "; ".join(case.notes)

    for name, group in _benchmarks(cases):
        title(console, name)
        _show_group(console, group, ("figure", "fitted to this machine"), cells)
    _show_refused(console, cases)


def figures_of(measurement: Measurement, config: dict[str, Any]) -> Iterator[str]:
    """Yield the main figure with its interval, and those of concurrent streams."""
    if measurement.status != "measured":
        yield measurement.status
        return
    if figure := _of_mapping(measurement, config):
        yield _figure(figure)
        return
    yield _figure(measurement) + mark(measurement)
    for figure in measurement.figures:
        if figure.metric == measurement.metric and figure.part and figure.part != "timed":
            yield f"{figure.part} {_figure(figure)}"


def _of_mapping(measurement: Measurement, config: dict[str, Any]) -> Figure | None:
    """Return the figure of mapping or of unmapping, all pages; None of other operations."""
    operation = str(config.get("operation", ""))
    if operation.startswith("memory-map-"):
        return side_figure(measurement, "map")
    evidence = measurement.evidence
    each = side_figure(measurement, "unmap_per_page")
    if not operation.startswith("memory-unmap-") or not (each and evidence and evidence.page_bytes):
        return None
    pages = measurement.pattern["size"] / evidence.page_bytes
    of_all = {
        name: value * pages
        for name in ("estimate", "ci_low", "ci_high")
        if (value := getattr(each, name)) is not None
    }
    return each.model_copy(update={**of_all, "metric": "unmap"})


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
    rows = [
        (values, *cells(case))
        for case, values in zip(cases, varied, strict=True)
        if case.measurements
    ]
    noted = any(notes for _, _, notes in rows)
    headings = [*keys, *heads[: 1 + noted]]
    table = new_table(*headings, words=headings)
    for values, *last in rows:
        table.add_row(*(values.get(key, "") for key in keys), *last[: 1 + noted])
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
    why = "why, and what to do"
    table = new_table("cases", why, words=(why,))
    for reason, count in reasons.most_common(_MAX_REASONS):
        table.add_row(str(count), reason)
    console.print(table)
    if len(reasons) > _MAX_REASONS:
        note(console, f"and {len(reasons) - _MAX_REASONS} more reasons in --json")


def export(run: Run, path: Path, target: Path) -> tuple[str, dict[str, object]]:
    """Write a run's cases into a file; return what was written, as said and as JSON has it.

    Raises UserError where the run has none.
    """
    entries = results_of(run)
    if not entries:
        raise UserError(
            f"--cxlbench: run '{shown(path.stem)}' has no figures of CXL-Bench's cases; such runs "
            "come from 'tierscope run WORKLOAD.yaml' and 'tierscope import cxlbench'"
        )
    cases = sum(len(entry["benchmarks"]) for entry in entries)
    write_output(target, json.dumps(entries, indent=2, sort_keys=True) + "\n", "--cxlbench")
    return counted(cases, "case"), {"file": shown(target), "cases": cases}


def results_of(run: Run) -> list[dict[str, Any]]:
    """Return CXL-Bench's array of benchmarks; cases without a figure are left out."""
    measured = {m.id: m for m in run.measurements if m.has_figure}
    entries: list[dict[str, Any]] = []
    keys: list[object] = []
    for case in run.header.cases or []:
        members = [measured[name] for name in case.measurements if name in measured]
        results = case.reported.results if case.reported else _results(case, members, run)
        if results is None:
            continue
        key = (case.file, case.benchmark, case.reported.entry if case.reported else None)
        if not keys or keys[-1] != key:
            keys.append(key)
            about = case.reported.about if case.reported else _about(case, members, run)
            entries.append({**about, "benchmarks": []})
        entries[-1]["benchmarks"].append({"config": case.config, "results": results})
    return entries


def _parts(case: Case) -> list[str]:
    """Return the names of concurrent parts, writers last; none for a single benchmark."""
    if "exec_mode" in case.config:
        return []
    return sorted(case.config, key=lambda part: case.config[part].get("operation") in _WRITES)


def _about(case: Case, members: Sequence[Measurement], run: Run) -> dict[str, Any]:
    parts = _parts(case)
    ran = {m.evidence.isa for m in members if m.evidence and m.evidence.isa}
    vectors = {"avx512": "avx-512", "avx2": "avx-2"}
    return {
        "bm_name": case.benchmark,
        "bm_type": "parallel" if parts else "single",
        **({"sub_bm_names": parts} if parts else {}),
        "matrix_args": {part: list(case.matrix.get(part, {})) for part in parts}
        if parts
        else list(case.matrix),
        "nt_stores_instruction_set": next((vectors[isa] for isa in ran if isa in vectors), "none"),
        "git_hash": run.header.git_commit,
        "compiler": str(run.header.engine.get("compiler", "")),
        "hostname": run.header.host,
    }


def _results(case: Case, members: Sequence[Measurement], run: Run) -> dict[str, Any] | None:
    """Return the results of a case; None where a part of it has no figure."""
    parts = _parts(case)
    if not members:
        return None
    if not parts:
        return _single(case.config, members[0], _seconds(members[0], run))
    found = {}
    named = list(case.config)
    for part, config in case.config.items():
        number = named.index(part)
        own = members[number] if len(members) == len(named) else members[0]
        seconds = _seconds(own, run)
        if len(members) == len(named) or config.get("exec_mode") in (*CHASES, *TIMED):
            results = _single(config, own, seconds)
        else:
            rate = figure_of(own, "bandwidth", part)
            if rate is None:  # the load of a chase, or the stream that others run beside
                rate = figure_of(own, "bandwidth") or (
                    own.estimate if own.metric == "bandwidth" else None
                )
            results = None if rate is None else _bandwidth(config, rate, [], seconds)
        if results is None:
            return None
        found[part] = {"results": results}
    return found


def _seconds(measurement: Measurement, run: Run) -> float:
    """Return the duration of all samples, from their minimum."""
    planned = run.planned(measurement.id, KINDS[measurement.kind].spec)
    return max(1, measurement.n) * (planned.sampling.sample_s if planned else 0.01)


def _single(config: dict[str, Any], own: Measurement, seconds: float) -> dict[str, Any] | None:
    value = own.estimate
    if value is None:
        return None
    if config.get("exec_mode") == "custom":
        rate = value if own.metric == "operations" else figure_of(own, "operations")
        return None if rate is None else _custom(config, own, rate, seconds)
    if config.get("exec_mode") in TIMED and (times := _timed(config, own)):
        return _latencies(config, own, times)
    if own.metric == "latency":
        return _chase(config, value, seconds)
    threads = own.evidence.threads if own.evidence else None
    return _bandwidth(config, value, threads or [], seconds) if own.unit == "B/s" else None


def _bandwidth(
    config: dict[str, Any], rate: float, threads: Sequence[float], seconds: float
) -> dict[str, Any]:
    """Return results in CXL-Bench's keys; ``rate`` and ``threads`` are bytes/s."""
    count = int(config["number_threads"])
    own = list(threads) if len(threads) == count else [rate / count] if count == 1 else []
    size = int(config["access_size"])
    times = [size / one * 1e9 for one in own if one > 0] or [count * size / rate * 1e9]
    return {
        "bandwidth": rate / GIB,
        "execution_time": seconds,
        "accessed_bytes": round(rate * seconds),
        "thread_bandwidth_avg": rate / count / GIB,
        "thread_bandwidth_std_dev": stdev(own) / GIB if len(own) > 1 else 0.0,
        "thread_op_latency_avg": fmean(times),
        "thread_op_latency_std_dev": stdev(times) if len(times) > 1 else 0.0,
        "threads": [
            {
                "bandwidth": one / GIB,
                "execution_time": seconds,
                "accessed_bytes": round(one * seconds),
            }
            for one in own
        ],
    }


def _chase(config: dict[str, Any], latency: float, seconds: float) -> dict[str, Any]:
    """Return results of dependent loads, whose time of an access is a latency, in ns."""
    size = int(config["access_size"])
    found = _bandwidth({**config, "number_threads": 1}, size / latency * 1e9, [], seconds)
    return {**found, "thread_op_latency_avg": latency}


def _timed(config: dict[str, Any], own: Measurement) -> Times | None:
    """Return the times of single operations, None where they are not known."""
    operation = str(config.get("operation", ""))
    metric = "chain_latency"
    if operation.startswith("memory-"):
        metric = "unmap_latency" if operation.startswith("memory-unmap-") else "map_latency"
    return Times.of(own, metric)


def _latencies(config: dict[str, Any], own: Measurement, times: Times) -> dict[str, Any]:
    """Return results of operations that are timed one by one, in ns."""
    rate = figure_of(own, "operations") or 1e9 / times.mean
    untimed = {**config, "latency_sample_frequency": 0}
    return {
        **_custom(untimed, own, rate, times.total / rate),
        "latencies": [times.spread()],
    }


def _custom(
    config: dict[str, Any], own: Measurement, rate: float, seconds: float
) -> dict[str, Any]:
    count = int(config["number_threads"])
    timed = Times.of(own, "chain_latency") if config.get("latency_sample_frequency") else None
    each = [{"execution_time": seconds, "num_operations": round(rate * seconds),
             "ops_per_second": rate}] if count == 1 else []  # fmt: skip
    return {
        "execution_time": seconds,
        "num_operations": round(rate * seconds),
        "ops_per_second": rate,
        "thread_ops_per_second_avg": rate / count,
        "thread_ops_per_second_std_dev": 0.0,
        "threads": each,
        **({"latency": timed.named()} if timed else {}),
    }

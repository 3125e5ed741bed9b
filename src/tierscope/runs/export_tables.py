"""Runs as Parquet or CSV tables, and as a Prometheus text file."""

import os
import re
import tempfile
from collections import Counter
from datetime import datetime
from pathlib import Path

from tierscope.model.errors import UserError
from tierscope.model.run import Measurement, Run
from tierscope.runs.query import open_runs
from tierscope.runs.replace import replace_file

_SUFFIX = {"B/s": "bytes_per_second", "ns": "seconds", "1/s": "per_second", "B": "bytes",
           "count": "count", "ratio": "ratio"}  # fmt: skip
_JOINED = "REPLACE (array_to_string(samples, ' ') AS samples, array_to_string(cpus, ' ') AS cpus)"
"""What CSV has no lists for."""
_FACTOR = {"ns": 1e-9}
"""Prometheus counts in base units."""


def export_table(paths: list[Path], target: Path, form: str) -> tuple[int, list[str]]:
    """Write all measurements of these runs, a row each with its run's columns beside it.

    ``form`` is parquet or csv. Returns the number of rows and why runs were left out; raises
    UserError where the file cannot be written.
    """
    import duckdb

    database, problems = open_runs(paths)
    lists = "" if form == "parquet" else _JOINED
    database.execute(
        f"CREATE VIEW exported AS SELECT m.* {lists}, r.host, r.started, r.cpu, r.kernel, "  # noqa: S608
        "r.governor, r.emulated, r.complete, r.tierscope "
        "FROM measurements m JOIN runs r ON m.run = r.name ORDER BY r.started, m.run, m.number"
    )
    options = "FORMAT parquet, COMPRESSION zstd" if form == "parquet" else "FORMAT csv, HEADER"
    quoted = str(target).replace("'", "''")
    try:
        database.execute(f"COPY exported TO '{quoted}' ({options})")
    except duckdb.Error as error:
        raise UserError(f"{target} cannot be written: {_cause(error)}") from None
    count = database.execute("SELECT count(*) FROM exported").fetchone()
    return int(count[0]) if count else 0, problems


def table_bytes(paths: list[Path], form: str) -> tuple[bytes, int, list[str]]:
    """Return what ``export_table`` would write, and what it returns."""
    with tempfile.TemporaryDirectory(prefix="tierscope-") as folder:
        file = Path(folder) / "table"
        count, problems = export_table(paths, file, form)
        return file.read_bytes(), count, problems


def _cause(error: Exception) -> str:
    """What the system said, where DuckDB passes its number on; else DuckDB's own words."""
    number = re.search(r'"errno":"(\d+)"', str(error))
    return os.strerror(int(number[1])) if number else " ".join(str(error).split())


def write_prometheus(run: Run, target: Path) -> int:
    """Write a run's figures for node_exporter's textfile collector; return how many.

    The file is replaced at once, since the collector may read it at any time. Raises UserError
    where it cannot be written.
    """
    text = prometheus_text(run)
    try:
        replace_file(target, text)
    except OSError as error:
        raise UserError(f"{target} cannot be written: {error.strerror}") from None
    return sum(m.status == "measured" for m in run.measurements)


def prometheus_text(run: Run) -> str:
    """Return a run in Prometheus' text format, one metric a kind of figure, in base units."""
    families: dict[str, list[str]] = {}
    seen: Counter[str] = Counter()
    for m in run.measurements:
        if m.status != "measured" or m.estimate is None:
            continue
        labels = _labels(m)
        seen[f"{m.metric} {labels}"] += 1
        # The collector takes no file in which two series have the same labels.
        repeat = seen[f"{m.metric} {labels}"]
        labels = labels if repeat == 1 else f'{labels[:-1]},repeat="{repeat}"}}'
        factor = _FACTOR.get(m.unit or "", 1.0)
        for part, value in (("", m.estimate), ("_ci_low", m.ci_low), ("_ci_high", m.ci_high)):
            if value is not None:
                name = _name(m, part)
                families.setdefault(name, []).append(f"{name}{labels} {value * factor!r}")
        if m.efficiency is not None:
            families.setdefault("tierscope_efficiency_ratio", []).append(
                f"tierscope_efficiency_ratio{labels} {m.efficiency!r}"
            )
    started = datetime.fromisoformat(run.header.started).timestamp()
    families["tierscope_run_start_time_seconds"] = [f"tierscope_run_start_time_seconds {started!r}"]
    complete = int(run.footer is not None and not run.footer.interrupted)
    families["tierscope_run_complete"] = [f"tierscope_run_complete {complete}"]
    about = {"run": run.header.name, "version": run.header.tierscope}
    families["tierscope_run_info"] = [f"tierscope_run_info{_braced(about)} 1"]
    lines = []
    for name, samples in families.items():
        lines += [f"# HELP {name} {_help(name)}", f"# TYPE {name} gauge", *samples]
    return "\n".join(lines) + "\n"


def _help(name: str) -> str:
    known = {
        "tierscope_efficiency_ratio": "Estimate over the path's theoretical limit.",
        "tierscope_run_start_time_seconds": "When the run began, Unix time.",
        "tierscope_run_complete": "1 where the run came to its end, 0 where it was cut.",
        "tierscope_run_info": "Always 1; which run this is, by which version of tierscope.",
    }
    bound = "_ci_low_" in name or "_ci_high_" in name
    said = "Bound of the 95% confidence interval of the median." if bound else "Median of samples."
    return known.get(name, said)


def _name(m: Measurement, part: str) -> str:
    """Return a metric's name; its unit stands last, as Prometheus asks."""
    metric = re.sub(r"[^a-z0-9_]+", "_", (m.metric or "figure").lower())
    return f"tierscope_{metric}{part}_{_SUFFIX[m.unit or 'count']}"


def _labels(m: Measurement) -> str:
    values = {"kind": m.kind, "initiator": m.initiator, "target": m.target}
    for key, value in m.pattern.items():
        if value not in (None, ""):  # an empty label is the same as none
            values[re.sub(r"[^a-zA-Z0-9_]", "_", f"pattern_{key}")] = str(value)
    return _braced(values)


def _braced(values: dict[str, str]) -> str:
    return "{" + ",".join(f'{key}="{_escaped(value)}"' for key, value in values.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

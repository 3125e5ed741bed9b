"""Runs as Parquet or CSV tables, and as a Prometheus text file."""

import re
import tempfile
from collections import Counter
from datetime import datetime
from pathlib import Path

from tierscope.model.errors import UserError
from tierscope.model.imported import Imported
from tierscope.model.run import Measurement, Run
from tierscope.runs.query import open_runs, system_cause

_SUFFIX = {"B/s": "bytes_per_second", "ns": "seconds", "1/s": "per_second", "B": "bytes",
           "count": "count", "ratio": "ratio", "W": "watts", "J/bit": "joules_per_bit"}  # fmt: skip
_JOINED = "REPLACE (array_to_string(samples, ' ') AS samples, array_to_string(cpus, ' ') AS cpus)"
"""What CSV has no lists for."""
_FORMATS = {"parquet": "FORMAT parquet, COMPRESSION zstd", "csv": "FORMAT csv, HEADER"}
_FACTOR = {"ns": 1e-9}
"""Prometheus counts in base units."""


def table_bytes(paths: list[Path], form: str) -> tuple[bytes, int, list[str]]:
    """Return all measurements of these runs, a row each with its run's columns beside it.

    ``form`` is parquet or csv. Returns the file's content, the number of rows, and why runs were
    left out. Raises UserError where there is no room for temporary files.
    """
    import duckdb

    database, problems = open_runs(paths)
    try:
        with tempfile.TemporaryDirectory(prefix="tierscope-") as folder:
            file = Path(folder, "table")
            quoted = str(file).replace("'", "''")
            database.execute(f"COPY ({_exported(form)}) TO '{quoted}' ({_FORMATS[form]})")
            content = file.read_bytes()
    except (duckdb.Error, OSError) as error:
        raise UserError(
            f"a table cannot be made in {tempfile.gettempdir()}: {system_cause(error)}; "
            "make room, or name another directory with TMPDIR"
        ) from None
    count = database.execute("SELECT count(*) FROM measurements").fetchone()
    return content, int(count[0]) if count else 0, problems


def _exported(form: str) -> str:
    """Return the query that a table has the rows of."""
    lists = "" if form == "parquet" else _JOINED
    return (
        f"SELECT m.* {lists}, r.host, r.started, r.cpu, r.kernel, "  # noqa: S608
        "r.governor, r.emulated, r.imported, r.complete, r.tierscope "
        "FROM measurements m JOIN runs r ON m.run = r.name ORDER BY r.started, m.run, m.number"
    )


def prometheus_text(run: Run) -> str:
    """Return a run for node_exporter's textfile collector: Prometheus' text format, one metric a
    kind of figure, in base units."""
    families: dict[str, list[str]] = {}
    seen: Counter[str] = Counter()
    for m in run.measurements:
        if not m.has_figure or m.estimate is None:
            continue
        labels = _labels(m, run.header.imported)
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


def _labels(m: Measurement, imported: Imported | None) -> str:
    values = {"kind": m.kind, "initiator": m.initiator, "target": m.target}
    if imported:
        values["imported"] = imported.program
    for key, value in m.pattern.items():
        if value not in (None, ""):  # an empty label is the same as none
            values[re.sub(r"[^a-zA-Z0-9_]", "_", f"pattern_{key}")] = str(value)
    return _braced(values)


def _braced(values: dict[str, str]) -> str:
    return "{" + ",".join(f'{key}="{_escaped(value)}"' for key, value in values.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

"""Runs as Parquet or CSV tables, and as a Prometheus text file."""

import csv
import io
import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from tierscope.model.errors import ExitCode, UserError
from tierscope.model.run import Figure, Imported, Measurement, Run, is_unreliable
from tierscope.model.text import csv_text, printable
from tierscope.runs.query import open_runs, system_cause

_SUFFIX = {"B/s": "bytes_per_second", "ns": "seconds", "1/s": "per_second", "B": "bytes",
           "count": "count", "ratio": "ratio", "W": "watts", "J/bit": "joules_per_bit",
           "°C": "celsius"}  # fmt: skip
_JOINED = "REPLACE (array_to_string(samples, ' ') AS samples, array_to_string(cpus, ' ') AS cpus)"
"""Lists as text, since CSV has none."""
_FORMATS = {"parquet": "FORMAT parquet, COMPRESSION zstd", "csv": "FORMAT csv, HEADER"}
_FACTOR = {"ns": 1e-9}
"""Prometheus counts in base units."""
_RESULT_KEYS = (
    "id", "kind", "initiator", "target", "cpus", "pattern", "figures", "samples", "rounds",
    "series", "repetitions", "n", "stop", "status", "cause", "reason", "remedy", "evidence",
    "distributions", "fits_caches", "fits_memory_side_cache", "bound_by",
)  # fmt: skip
_CSV_PATTERN = (
    "operation", "order", "access_size", "stride", "size", "pages", "isa", "threads", "policy",
    "mechanism", "mix", "load_from", "load_to", "load_threads", "delay_ns",
)  # fmt: skip
_CSV_FIGURE = (
    "metric", "part", "unit", "estimate", "ci_low", "ci_high", "no_interval", "compared",
    "efficiency",
)  # fmt: skip
_CSV_KEYS = ("n", "stop", "status", "reason")


def table_bytes(paths: list[Path], form: str) -> tuple[bytes, int, list[str]]:
    """Return all figures of these runs, a row each with its run's columns beside it.

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
            if form == "csv":
                content = csv_text(csv.reader(io.StringIO(content.decode(), newline=""))).encode()
    except (duckdb.Error, OSError) as error:
        raise UserError(
            f"a table cannot be made in {tempfile.gettempdir()}: {system_cause(error)}; "
            "make room, or name another directory with TMPDIR",
            ExitCode.COMMAND_FAILED,
        ) from None
    ((count,),) = database.execute("SELECT count(*) FROM figures").fetchall()
    return content, count, problems


def _exported(form: str) -> str:
    """Return the query that a table has the rows of."""
    lists = "" if form == "parquet" else _JOINED
    return (
        f"SELECT m.* {lists}, r.host, r.started, r.cpu, r.kernel, "  # noqa: S608
        "r.governor, r.emulated, r.imported, r.complete, r.tierscope "
        "FROM figures m JOIN runs r ON m.run = r.name "
        "ORDER BY r.started, m.run, m.number, m.figure"
    )


def prometheus_text(run: Run) -> str:
    """Return a run for node_exporter's textfile collector: Prometheus' text format, one metric a
    kind of figure, in base units."""
    families: dict[str, list[str]] = {}
    seen: Counter[str] = Counter()
    for m in run.measurements:
        for figure in m.figures:
            labels = _labels(m, figure.part, run.header.imported)
            seen[f"{figure.metric} {labels}"] += 1
            # The collector takes no file in which two series have the same labels.
            repeat = seen[f"{figure.metric} {labels}"]
            labels = labels if repeat == 1 else f'{labels[:-1]},repeat="{repeat}"}}'
            for name, value in _series(figure):
                families.setdefault(name, []).append(f"{name}{labels} {value!r}")
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


def _series(figure: Figure) -> Iterator[tuple[str, float]]:
    """Yield a figure's values by their names, at whose end Prometheus asks for the unit."""
    metric = re.sub(r"[^a-z0-9_]+", "_", figure.metric.lower())
    ends = (("", figure.estimate), ("_ci_low", figure.ci_low), ("_ci_high", figure.ci_high))
    for end, value in ends:
        if value is not None:
            unit = _SUFFIX.get(figure.unit) or re.sub(r"[^a-z0-9]+", "_", figure.unit.lower())
            name = f"tierscope_{metric}{end}_{unit}"
            yield name, value * _FACTOR.get(figure.unit, 1.0)
    if figure.efficiency is not None:
        yield "tierscope_efficiency_ratio", figure.efficiency


def _labels(m: Measurement, part: str, imported: Imported | None) -> str:
    values = {"kind": m.kind, "initiator": m.initiator, "target": m.target}
    if part:
        values["part"] = part
    if imported:
        values["imported"] = imported.program
    for key, value in m.pattern.items():
        if value not in (None, ""):  # an empty label is the same as none
            values[re.sub(r"[^a-zA-Z0-9_]", "_", f"pattern_{key}")] = str(value)
    return _braced(values)


def _braced(values: dict[str, str]) -> str:
    return "{" + ",".join(f'{key}="{_escaped(value)}"' for key, value in values.items()) + "}"


def _escaped(text: str) -> str:
    text = printable(text, keep="\n")
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def to_json(run: Run, more: Mapping[str, Any] | None = None) -> str:
    """Return ``{"run": {...}, "results": [...]}``, bytes/s and ns; see docs/file-formats.md.

    ``more`` are further keys of the object.
    """
    header = run.header.model_dump(mode="json", exclude={"record", "refinement"})
    footer = run.footer.model_dump(mode="json", exclude={"record"}) if run.footer else None
    return json.dumps(
        {
            "run": {**header, "complete": footer is not None, "footer": footer},
            "results": [_result(measurement) for measurement in run.measurements],
            **(more or {}),
        }
    )


def _result(measurement: Measurement) -> dict[str, Any]:
    values = measurement.model_dump(mode="json")
    if measurement.evidence:
        values["evidence"] = measurement.evidence.model_dump(mode="json", exclude_none=True)
    for figure, written in zip(measurement.figures, values["figures"], strict=True):
        written["unreliable"] = is_unreliable(figure)
    known = {key: values[key] for key in _RESULT_KEYS}
    return known | {key: values[key] for key in measurement.model_extra or ()}


def csv_records(run: Run) -> Iterator[list[Any]]:
    """Yield a record a figure, the heading first; without samples and evidence."""
    identity = ("id", "kind", "initiator", "target")
    yield [*identity, *_CSV_PATTERN, *_CSV_FIGURE, *_CSV_KEYS]
    for m in run.measurements:
        for figure in m.figures or (None,):
            values = [getattr(figure, key) if figure else None for key in _CSV_FIGURE]
            values += [getattr(m, key) for key in _CSV_KEYS]
            yield [
                *(getattr(m, key) for key in identity),
                *(m.pattern.get(key, "") for key in _CSV_PATTERN),
                *("" if value is None else value for value in values),
            ]

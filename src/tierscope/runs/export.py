"""A run as one JSON object, and as records that a page shows."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tierscope.model.run import Measurement, Run, is_unreliable

_RESULT_KEYS = (
    "id", "kind", "initiator", "target", "cpus", "pattern", "metric", "unit", "estimate", "ci_low",
    "ci_high", "no_interval", "unreliable", "samples", "rounds", "series",
    "visits", "n", "stop", "status",
    "cause", "reason", "remedy", "evidence", "figures", "distributions", "limit", "efficiency",
    "fits_caches", "fits_memory_side_cache", "bound_by",
)  # fmt: skip
_CSV_PATTERN = (
    "operation", "order", "access_size", "stride", "size", "pages", "isa", "threads", "policy",
    "mechanism", "mix", "load_from", "load_to", "load_threads", "delay_ns",
)  # fmt: skip
_CSV_KEYS = (
    "metric", "unit", "estimate", "ci_low", "ci_high", "n", "stop", "status", "reason", "efficiency"
)  # fmt: skip


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
    values["unreliable"] = is_unreliable(measurement)
    for figure, written in zip(measurement.figures, values["figures"], strict=True):
        written["unreliable"] = is_unreliable(figure)
    return {key: values[key] for key in _RESULT_KEYS}


def csv_records(run: Run) -> Iterator[list[Any]]:
    """Yield a record a measurement, the heading first; without samples and evidence."""
    identity = ("id", "kind", "initiator", "target")
    yield [*identity, *_CSV_PATTERN, *_CSV_KEYS]
    for m in run.measurements:
        values = [getattr(m, key) for key in _CSV_KEYS]
        yield [
            *(getattr(m, key) for key in identity),
            *(m.pattern.get(key, "") for key in _CSV_PATTERN),
            *("" if value is None else value for value in values),
        ]

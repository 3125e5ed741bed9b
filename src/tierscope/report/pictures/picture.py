"""A picture: what is drawn, how it was measured, and the measurements that it shows."""

from dataclasses import dataclass
from typing import Any

from tierscope.model.run import Measurement, Run
from tierscope.report import figures
from tierscope.report.naming import path_of

Spec = dict[str, Any]
"""A Vega-Lite specification without its data's theme; see ``draw``."""


@dataclass(frozen=True)
class Picture:
    """One picture of a report, before it is drawn."""

    key: str
    """Short and of letters, digits and hyphens; the file's name with --png and --svg."""
    title: str
    subtitle: str
    """What is the same in all that it shows: path, pages, working set."""
    alt: str
    """What a reader who cannot see it must know: its main figures in a sentence or two."""
    spec: Spec
    measurements: list[Measurement]


@dataclass(frozen=True)
class Gathered:
    """The measured results of one kind in a run, as the picture functions get them."""

    kind: str
    title: str
    """What people call the kind: "GPU copies"."""
    measured: list[Measurement]
    run: Run
    endpoints: tuple[str, str] = ("initiator", "target")
    """What the two ends of its paths are called."""


def groups_by(
    measurements: list[Measurement], *keys: str
) -> dict[tuple[Any, ...], list[Measurement]]:
    """Group by ``path``, ``initiator``, ``target`` or keys of the pattern; order of appearance."""
    groups: dict[tuple[Any, ...], list[Measurement]] = {}
    for measurement in measurements:
        groups.setdefault(tuple(value_of(measurement, key) for key in keys), []).append(measurement)
    return groups


def value_of(measurement: Measurement, key: str) -> Any:
    """Return what a measurement has under a key of ``groups_by``; lists and dicts as text."""
    if key == "path":
        return path_of(measurement)
    if key in ("initiator", "target", "metric", "unit"):
        return getattr(measurement, key)
    value = measurement.pattern.get(key)
    return str(value) if isinstance(value, list | dict) else value


def distinct(measurements: list[Measurement], key: str) -> list[Any]:
    """Return the different values under a key, numbers ascending, others as they appear."""
    values = list(dict.fromkeys(value_of(measurement, key) for measurement in measurements))
    if all(isinstance(value, int | float) for value in values):
        return sorted(values)
    return values


def row_of(measurement: Measurement, factor: float, unit: str, **more: Any) -> dict[str, Any]:
    """Return a row of a picture's data: value and interval in the unit shown, and its tip."""
    value, _ = figures.value_and_half(measurement)
    low = value if measurement.ci_low is None else measurement.ci_low
    high = value if measurement.ci_high is None else measurement.ci_high
    what = more.pop("what", measurement.id)
    bound = f", {figures.BOUND_BY[measurement.bound_by]}" if measurement.bound_by else ""
    return {
        "value": value / factor,
        "low": low / factor,
        "high": high / factor,
        "doubtful": figures.is_doubtful(measurement),
        "tip": f"{what}: {figures.with_interval(measurement, factor)} {unit}{bound}",
        "mark": figures.mark(measurement),
        **more,
    }


def scale_of(measurements: list[Measurement]) -> tuple[str, float]:
    """Return the unit to show a group of one metric in, and what to divide its values by."""
    return figures.scale_of(
        measurements[0].unit or "count", [m.estimate or 0.0 for m in measurements]
    )


_WORDS = {
    "pages": "{} pages",
    "size": "{}",
    "access_size": "{} accesses",
    "stride": "stride {}",
    "threads": "{} threads",
    "chases": "{} chases",
    "streams": "{} streams",
    "mix": "{} read:write",
    "beside": "concurrent with {}",
    "file_size": "files of {}",
    "files": "{} files a directory",
    "directories": "{} directories",
    "fsync": "fsync {}",
}
_LONGEST = 60
_MAX_NAMED = 30
"""Characters from which on concurrent transfers are only counted."""
_SIZES = ("size", "access_size", "stride", "chunk", "block_size", "file_size")
_OF_PATH = ("together",)
"""Properties that the path says."""
_UNSAID = {
    ("order", "sequential"),
    ("isa", "auto"),
    ("access_size", 64),
    ("stride", 256),
    ("streams", 1),
    ("directories", "own"),
    ("fsync", "no"),
}


def label_of(key: str, value: Any) -> str:
    """Return one property of a pattern in words: "thp pages", "1 GiB"."""
    if key in _SIZES and isinstance(value, int | float):
        return _WORDS.get(key, key.replace("_", " ") + " {}").format(figures.size_text(value))
    if key == "metric":
        return metric_name(value)
    if value == 1 and key in ("threads", "streams"):
        return f"1 {key[:-1]}"
    if key == "mix" and ":" not in str(value):
        return str(value)
    if key == "transfers" and len(str(value)) > _MAX_NAMED:
        return f"{str(value).partition(' ')[0]} {str(value).count('→')} copies at once"
    if key in _WORDS:
        return _WORDS[key].format(value)
    if isinstance(value, bool):
        return key.replace("_", " ") if value else f"not {key.replace('_', ' ')}"
    if isinstance(value, int | float):
        return f"{key.replace('_', ' ')} {value}"
    text = str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def constants(measurements: list[Measurement], *without: str) -> str:
    """Say what all of these have in common, in the order of their patterns."""
    parts = []
    for key in measurements[0].pattern:
        values = {str(m.pattern.get(key)) for m in measurements}
        value = measurements[0].pattern[key]
        if key in (*_OF_PATH, *without) or len(values) > 1 or value in (None, "", False, [], {}):
            continue
        if isinstance(value, list | dict):
            continue
        if isinstance(value, str | int) and (key, value) in _UNSAID:
            continue
        parts.append(label_of(key, value))
    return ", ".join(parts)


def varying(measurements: list[Measurement], *without: str) -> list[str]:
    """Return the keys of the patterns whose values differ, and ``path`` where it does."""
    keys = dict.fromkeys(key for m in measurements for key in m.pattern)
    found = [
        key
        for key in keys
        if key not in (*_OF_PATH, *without)
        and len({str(m.pattern.get(key)) for m in measurements}) > 1
    ]
    if "path" not in without and len({path_of(m) for m in measurements}) > 1:
        found.insert(0, "path")
    return found


def words_of(measurement: Measurement, keys: list[str]) -> str:
    """Return these properties of a measurement in words."""
    return ", ".join(
        label_of(key, value_of(measurement, key))
        for key in keys
        if value_of(measurement, key) not in (None, "")
        and not isinstance(measurement.pattern.get(key), list | dict)
    )


def metric_name(metric: str | None) -> str:
    """Return a metric's name in words: "time per page"."""
    return "IOPS" if metric == "iops" else str(metric).replace("_", " ")


def slug(text: str) -> str:
    """Return text as part of a file's name."""
    kept = "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in text.lower())
    return "-".join(filter(None, kept.split("-")))[:60]

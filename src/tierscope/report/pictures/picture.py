"""A picture: what is drawn, how it was measured, and the measurements that it shows."""

from dataclasses import dataclass
from typing import Any

from tierscope.model.property import Declared, properties_of
from tierscope.model.run import Measurement, Run
from tierscope.plans.grammar import format_size
from tierscope.report import figures
from tierscope.report.naming import path_of

_LONGEST = 60
"""Characters of a value beyond which it is cut."""
_MAX_NAMED = 30
"""Characters from which on concurrent transfers are only counted."""
OF_PATH = ("together",)
"""Properties that the path says."""
_ENDS = {"path": "{}", "initiator": "from {}", "target": "{}"}

Spec = dict[str, Any]
"""A Vega-Lite specification without its data's theme; see ``draw``."""
scale_of = figures.common_scale
"""Returns the unit to show measurements of one metric in, and what to divide their values by."""


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
class PictureInput:
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
    bound = f", {figures.bound_words(measurement.bound_by)}" if measurement.bound_by else ""
    return {
        "value": value / factor,
        "low": low / factor,
        "high": high / factor,
        "doubtful": figures.is_doubtful(measurement),
        "tip": f"{what}: {figures.text(measurement, factor, unit)}{bound}",
        "mark": figures.mark(measurement),
        **more,
    }


def label_of(key: str, value: Any, kind: str) -> str:
    """Return one property of a kind's pattern in words: "thp pages", "1 GiB"."""
    if key in _ENDS:
        return _ENDS[key].format(value)
    if key == "metric":
        return metric_name(value)
    if key == "mix" and ":" not in str(value):
        return str(value)
    if key == "transfers" and len(str(value)) > _MAX_NAMED:
        return f"{str(value).partition(' ')[0]} {str(value).count('→')} copies at once"
    one = properties_of(kind).get(key)
    label = one.label if one else key.replace("_", " ")
    if isinstance(value, bool):
        yes, _, no = one.about.words.partition("|") if one else ("", "", "")
        return (yes or label) if value else (no or f"not {label}")
    text = written(one, value)
    if one is None and isinstance(value, str):
        return f"{label} {text}"
    if one and one.about.words:
        words = one.about.words.format(text)
        return words.removesuffix("s") if value == 1 else words
    if isinstance(value, int | float):
        return f"{label} {text}"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def name_of(kind: str, key: str) -> str:
    """Return what people call a property of a kind."""
    one = properties_of(kind).get(key)
    return one.label if one else key.replace("_", " ")


def value_text(measurement: Measurement, key: str) -> str:
    """Write a property of a measurement by itself; empty where it has none."""
    value = value_of(measurement, key)
    one = properties_of(measurement.kind).get(key)
    if value is None and one is not None and one.grammar == "counts":
        value = one.own_default  # of a number that is not recorded: one chase
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return written(one, value)


def written(one: Declared | None, value: Any) -> str:
    """Write a value of a property in the unit of its kind: bytes as 4 KiB."""
    if one is None or not isinstance(value, int | float):
        return str(value)
    if one.grammar == "sizes":
        return figures.size_text(value)
    if one.grammar == "counts" and one.about.metavar == "SIZES":
        return format_size(int(value))
    if one.grammar == "numbers" and (one.low, one.high) == (0, 1):
        return f"{value * 100:.4g}%"
    return str(value)


def is_usual(key: str, value: Any, kind: str) -> bool:
    """Return whether a value needs no word where all have it: a property's default, none of
    something."""
    one = properties_of(kind).get(key)
    if one is None:
        return value is False or value == 0
    if one.about.id_always or "|" in one.about.words:
        return False
    return bool(value == one.own_default)


def constants(measurements: list[Measurement], *without: str) -> str:
    """Say what all of these have in common, in the order of their patterns."""
    first = measurements[0]
    return ", ".join(
        label_of(key, value, first.kind)
        for key, value in first.pattern.items()
        if key not in (*OF_PATH, *without)
        and value not in (None, "", False)
        and not isinstance(value, list | dict)
        and not is_usual(key, value, first.kind)
        and len({str(m.pattern.get(key)) for m in measurements}) == 1
    )


def varying(measurements: list[Measurement], *without: str) -> list[str]:
    """Return the keys of the patterns whose values differ, and ``path`` where it does."""
    keys = dict.fromkeys(key for m in measurements for key in m.pattern)
    found = [
        key
        for key in keys
        if key not in (*OF_PATH, *without)
        and len({str(m.pattern.get(key)) for m in measurements}) > 1
    ]
    if "path" not in without and len({path_of(m) for m in measurements}) > 1:
        found.insert(0, "path")
    return found


def words_of(measurement: Measurement, keys: list[str]) -> str:
    """Return these properties of a measurement in words."""
    return ", ".join(
        label_of(key, value_of(measurement, key), measurement.kind)
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

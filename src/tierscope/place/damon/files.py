"""damo's files of DAMON rules, read and written as YAML or JSON."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from tierscope.model.errors import UserError
from tierscope.place.damon import rules as damon
from tierscope.place.damon.rules import MOST, Range
from tierscope.plans.yaml_file import Place, compose, mapping, scalar

_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?", re.ASCII)
_WITH_UNIT = re.compile(r"(-?\d[\d,]*(?:\.\d+)?)\s*([A-Za-zµ]*)", re.ASCII)
_BYTES = {
    name + tail: 1 << 10 * power
    for power, name in enumerate(("", "K", "M", "G", "T", "P", "E"))
    for tail in (("", "B", "iB") if name else ("", "B"))
}
_NS = {"ns": 1, "us": 1000, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9,
       "d": 86400 * 10**9}  # fmt: skip
_ACTIONS: tuple[str, ...] = damon.Action.__args__  # type: ignore[attr-defined]
_IGNORED = {
    "kdamond": ("state", "pid"),
    "context": ("ops_attrs",),
    "quotas": ("effective_sz_bytes",),
    "scheme": ("stats", "tried_regions", "tried_bytes"),
    "region": ("nr_accesses", "age", "sz_filter_passed"),
}
Value = TypeVar("Value")


def number(text: str) -> int:
    """Parse a whole number; raises ValueError."""
    if text == "max":
        return MOST
    if text == "min":
        return 0
    return whole(_plain(text), "a whole number")


def size(text: str) -> int:
    """Parse bytes, with a unit of powers of 1024 or none; raises ValueError."""
    if text in ("max", "min"):
        return number(text)
    return whole(_with_unit(text, _BYTES, 1), "a whole number of bytes")


def time(text: str, unit: str) -> int:
    """Parse a time, as in ``1 m 40 s``, into whole units, which a bare number is in."""
    if text in ("max", "min"):
        return number(text)
    parts = re.findall(r"-?[\d,.]+\s*[A-Za-z]*", text)
    if "".join(parts).replace(" ", "") != text.replace(" ", ""):
        raise ValueError(f"'{text}' is not a time such as 100 ms or 1 m 40 s")
    total = sum(_with_unit(part.strip(), _NS, _NS[unit]) for part in parts)
    return min(MOST, whole(total / _NS[unit], f"whole {unit}"))


def share(text: str, whole_share: int, most: float = MOST) -> float:
    """Parse a share: with a % sign, 100% being ``whole_share``; without one, as it is."""
    if text == "max":
        return most
    if text == "min":
        return 0
    if text.endswith("%"):
        return round(_plain(text[:-1].strip()) * whole_share / 100, 6)
    return _plain(text)


def whole(value: float, what: str) -> int:
    """Return a number as a whole one from 0 on; raises ValueError where it is none."""
    if abs(value - round(value)) > 1e-6 * max(1.0, abs(value) * 1e-9) or value < 0:
        raise ValueError(f"it has to be {what} from 0 on")
    return min(MOST, round(value))


def format_number(value: int) -> str:
    """``10,000``."""
    return f"{value:,}"


def format_size(value: int) -> str:
    """``4.000 KiB`` where that is exact, else bytes."""
    if value >= MOST:
        return "max"
    for power, name in (
        (60, "EiB"),
        (50, "PiB"),
        (40, "TiB"),
        (30, "GiB"),
        (20, "MiB"),
        (10, "KiB"),
    ):
        text = f"{value / (1 << power):.3f}"
        if value >= 1 << power and float(text) * (1 << power) == value:
            return f"{text} {name}"
    return f"{value} B"


def format_time(value: int, unit: str) -> str:
    """``1 m 40 s``, ``max``; exact."""
    if value >= MOST:
        return "max"
    left, parts = value * _NS[unit], []
    for name, ns in reversed(_NS.items()):
        count, left = divmod(left, ns)
        if count:
            parts.append(f"{count:,} {name}")
    return " ".join(parts) or "0 ns"


def format_share(value: float, whole_share: int) -> str:
    """``0.5 %``."""
    percent = value * 100 / whole_share
    return f"{percent:.6f}".rstrip("0").rstrip(".") + " %"


def _plain(text: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"'{text}' is not a number")
    digits = text.replace(",", "")
    return int(digits) if "." not in digits else float(digits)


def _with_unit(text: str, units: Mapping[str, int], bare: int) -> float:
    match = _WITH_UNIT.fullmatch(text)
    if not match or (match[2] and match[2] not in units):
        allowed = ", ".join(filter(None, units))
        raise ValueError(f"'{text}' is not a number with one of the units {allowed}")
    return _plain(match[1]) * (units[match[2]] if match[2] else bare)


def damo_json(rules: damon.Rules) -> str:
    """Return rules as JSON that damo reads."""
    return json.dumps(content(rules), indent=4)


def damo_yaml(rules: damon.Rules) -> str:
    """Return rules as YAML that damo reads."""
    import yaml

    return yaml.safe_dump(content(rules), sort_keys=False, width=100)


def content(rules: damon.Rules) -> dict[str, Any]:
    """Return rules as damo's own keys and values."""
    return {
        "kdamonds": [
            {
                "state": None,
                "pid": None,
                "refresh_ms": one.refresh_ms,
                "contexts": [_context(context) for context in one.contexts],
            }
            for one in rules.kdamonds
        ]
    }


def _context(context: damon.Context) -> dict[str, Any]:
    monitoring, goal = context.monitoring, context.monitoring.goal
    return {
        "ops": context.operations,
        "targets": [
            {"pid": target.pid, "regions": [_region(region) for region in target.regions]}
            for target in context.targets
        ],
        "intervals": {
            "sample_us": format_time(monitoring.sample_us, "us"),
            "aggr_us": format_time(monitoring.aggr_us, "us"),
            "ops_update_us": format_time(monitoring.update_us, "us"),
            "intervals_goal": {
                "access_bp": format_share(goal.access_bp, 10_000),
                "aggrs": format_number(goal.aggrs),
                "min_sample_us": format_time(goal.min_sample_us, "us"),
                "max_sample_us": format_time(goal.max_sample_us, "us"),
            },
        },
        "nr_regions": {
            "min": format_number(monitoring.min_regions),
            "max": format_number(monitoring.max_regions),
        },
        "schemes": [_scheme(scheme) for scheme in context.schemes],
    }


def _region(region: tuple[int, int]) -> dict[str, str]:
    return {"start": format_number(region[0]), "end": format_number(region[1])}


def _scheme(scheme: damon.Scheme) -> dict[str, Any]:
    found: dict[str, Any] = {
        "action": scheme.action,
        "dests": [{"id": node, "weight": weight} for node, weight in scheme.dests],
    }
    if scheme.moves:
        found["target_nid"] = scheme.target_nid
    return found | {
        "access_pattern": {
            "sz_bytes": {
                "min": format_size(int(scheme.sizes.low)),
                "max": format_size(int(scheme.sizes.high)),
            },
            "nr_accesses": _accesses(scheme),
            "age": _age(scheme),
        },
        "apply_interval_us": format_time(scheme.apply_interval_us, "us"),
        "quotas": _quota(scheme.quota),
        "watermarks": {
            "metric": scheme.watermarks.metric,
            "interval_us": format_time(scheme.watermarks.interval_us, "us"),
            "high_permil": format_share(scheme.watermarks.high, 1000),
            "mid_permil": format_share(scheme.watermarks.mid, 1000),
            "low_permil": format_share(scheme.watermarks.low, 1000),
        },
        "filters": [_filter(one) for one in scheme.filters],
    }


def _accesses(scheme: damon.Scheme) -> dict[str, str]:
    if scheme.access_unit == "percent":
        return {end: format_share(value, 100) for end, value in _ends(scheme.accesses)}
    return {end: f"{_count(value)} samples" for end, value in _ends(scheme.accesses)}


def _age(scheme: damon.Scheme) -> dict[str, str]:
    if scheme.age_unit == "usec":
        return {end: format_time(int(value), "us") for end, value in _ends(scheme.age)}
    return {end: f"{_count(value)} aggr_intervals" for end, value in _ends(scheme.age)}


def _ends(limits: Range) -> list[tuple[str, float]]:
    return [("min", limits.low), ("max", limits.high)]


def _count(value: float) -> str:
    return "max" if value >= MOST else format_number(int(value))


def _quota(quota: damon.Quota) -> dict[str, Any]:
    size, accesses, age = quota.weights
    return {
        "time_ms": format_time(quota.ms, "ms"),
        "sz_bytes": format_size(quota.bytes),
        "reset_interval_ms": format_time(quota.reset_interval_ms, "ms"),
        "goals": [_goal(goal) for goal in quota.goals],
        "effective_sz_bytes": "0 B",
        "weights": {
            "sz_permil": format_share(size, 1000),
            "nr_accesses_permil": format_share(accesses, 1000),
            "age_permil": format_share(age, 1000),
        },
    }


def _goal(goal: damon.Goal) -> dict[str, Any]:
    found: dict[str, Any] = {
        "metric": goal.metric,
        "nid": None if goal.nid is None else format_number(goal.nid),
        "target_value": format_number(goal.target),
        "current_value": format_number(goal.current),
    }
    return found if goal.path is None else found | {"memcg_path": goal.path}


def _filter(one: damon.Filter) -> dict[str, Any]:
    return {
        "filter_type": one.type,
        "matching": one.matching,
        "allow": one.allow,
        "memcg_path": one.memcg_path,
        "address_range": None if one.addresses is None else _region(one.addresses),
        "damon_target_idx": None if one.target is None else format_number(one.target),
        "hugepage_size": None
        if one.sizes is None
        else [format_size(int(size)) for size in one.sizes],
    }


def is_damo(root: Any) -> bool:
    """Whether a file's root node is damo's: a mapping with the key kdamonds."""
    return bool(getattr(root, "value", None)) and any(
        getattr(key, "value", "") == "kdamonds"
        for key, *_ in (pair for pair in root.value if isinstance(pair, tuple))
    )


def parse_damo(text: str, path: str) -> damon.Rules:
    """Parse a file's text; raises UserError."""
    root = compose(text, path)
    if root is None:
        raise UserError(f"{path}:1: there is nothing in it; damo's files begin with 'kdamonds'")
    return rules_of(Place(path), root)


def rules_of(place: Place, root: Any) -> damon.Rules:
    """Return the rules of a file's root node; raises UserError."""
    top = _Node(place, root, "the file", ("kdamonds",))
    return damon.Rules(
        tuple(map(_kdamond, top.each("kdamonds", "kdamond", ("refresh_ms", "contexts"))))
    )


class _Node:
    """A mapping of a file, whose values are read by key."""

    def __init__(self, place: Place, node: Any, what: str, keys: tuple[str, ...]) -> None:
        self.place, self.node, self.what = place, node, what
        self.found = mapping(place, node, what, (*keys, *_IGNORED.get(what, ())))

    def get(self, key: str, read: Callable[[str], Value], default: Value) -> Value:
        """A value; the default where the key is absent or null."""
        node = self.found.get(key)
        if node is None or _is_null(node):
            return default
        try:
            return read(scalar(self.place, node, key))
        except ValueError as error:
            raise self.place.error(node, f"key '{key}': {error}") from None

    def part(self, key: str, what: str, keys: tuple[str, ...]) -> "_Node | None":
        """A mapping below a key."""
        node = self.found.get(key)
        return None if node is None or _is_null(node) else _Node(self.place, node, what, keys)

    def each(self, key: str, what: str, keys: tuple[str, ...]) -> "list[_Node]":
        """The mappings of a list, which may be empty or absent."""
        return [_Node(self.place, item, what, keys) for item in self.items(key)]

    def items(self, key: str) -> list[Any]:
        """The nodes of a list, which may be empty or absent."""
        from yaml import SequenceNode

        node = self.found.get(key)
        if node is None or _is_null(node):
            return []
        if not isinstance(node, SequenceNode):
            raise self.place.error(node, f"key '{key}' has to be a list")
        return list(node.value)

    def range(self, key: str, read: Callable[[str], float], default: Range) -> Range:
        """A mapping of min and max."""
        part = self.part(key, key, ("min", "max"))
        if part is None:
            return default
        low, high = (
            part.get(end, read, edge) for end, edge in zip(("min", "max"), default, strict=True)
        )
        if low > high:
            raise self.place.error(part.node, f"key '{key}': min is above max")
        return Range(low, high)


def _is_null(node: Any) -> bool:
    return getattr(node, "value", None) in ("", "null", "~", None) and not getattr(
        node, "style", ""
    )


def _kdamond(node: _Node) -> damon.Kdamond:
    keys = ("ops", "targets", "intervals", "nr_regions", "schemes")
    return damon.Kdamond(
        tuple(map(_damo_file_context, node.each("contexts", "context", keys))),
        node.get("refresh_ms", _time("ms"), 0),
    )


def _damo_file_context(node: _Node) -> damon.Context:
    keys = (
        "action", "dests", "target_nid", "access_pattern", "apply_interval_us", "quotas",
        "watermarks", "filters",
    )  # fmt: skip
    return damon.Context(
        node.get("ops", _word(damon.OPERATIONS), "paddr"),
        tuple(map(_target, node.each("targets", "target", ("pid", "regions")))),
        _monitoring(node),
        tuple(map(_damo_file_scheme, node.each("schemes", "scheme", keys))),
    )


def _target(node: _Node) -> damon.Target:
    regions = node.each("regions", "region", ("start", "end"))
    return damon.Target(node.get("pid", number, None), tuple(map(_damo_file_region, regions)))


def _damo_file_region(node: _Node) -> tuple[int, int]:
    start, end = (node.get(key, size, 0) for key in ("start", "end"))
    if start >= end:
        raise node.place.error(node.node, f"region: start {start} is not below end {end}")
    return start, end


def _monitoring(node: _Node) -> damon.Monitoring:
    us = _time("us")
    default = damon.Monitoring()
    intervals = node.part(
        "intervals", "intervals", ("sample_us", "aggr_us", "ops_update_us", "intervals_goal")
    )
    sample, aggr, update = default.sample_us, default.aggr_us, default.update_us
    goal = default.goal
    if intervals is not None:
        sample = intervals.get("sample_us", us, sample)
        aggr = intervals.get("aggr_us", us, aggr)
        update = intervals.get("ops_update_us", us, update)
        keys = ("access_bp", "aggrs", "min_sample_us", "max_sample_us")
        part = intervals.part("intervals_goal", "intervals_goal", keys)
        if part is not None:
            goal = damon.IntervalsGoal(
                part.get("access_bp", _share(10_000), 0),
                part.get("aggrs", number, 0),
                part.get("min_sample_us", us, 0),
                part.get("max_sample_us", us, 0),
            )
        if not 0 < sample <= aggr:
            raise node.place.error(
                intervals.node, "intervals: sample_us has to be above 0 and at most aggr_us"
            )
    limits = Range(default.min_regions, default.max_regions)
    regions = node.range("nr_regions", number, limits)
    return damon.Monitoring(sample, aggr, update, goal, int(regions.low), int(regions.high))


def _damo_file_scheme(node: _Node) -> damon.Scheme:
    pattern = node.part("access_pattern", "access_pattern", ("sz_bytes", "nr_accesses", "age"))
    sizes, (accesses, access_unit), (age, age_unit) = (
        damon.EVERY, (Range(0, 100), "percent"), (damon.EVERY, "usec"),
    )  # fmt: skip
    if pattern is not None:
        sizes = pattern.range("sz_bytes", size, sizes)
        accesses, access_unit = _damo_file_with_unit(
            pattern,
            "nr_accesses",
            "samples",
            lambda text: share(text, 100, 100.0),
            Range(0, 100),
        )
        age, age_unit = _damo_file_with_unit(
            pattern, "age", "aggr_intervals", _time("us"), damon.EVERY
        )
    dests = node.each("dests", "dest", ("id", "weight"))
    filters = node.each(
        "filters", "filter",
        ("filter_type", "matching", "allow", "filter_pass", "memcg_path", "address_range",
         "damon_target_idx", "hugepage_size"),
    )  # fmt: skip
    return damon.Scheme(
        action=node.get("action", _word(_ACTIONS), "stat"),  # type: ignore[arg-type]
        target_nid=node.get("target_nid", number, None),
        dests=tuple((d.get("id", number, 0), d.get("weight", number, 0)) for d in dests),
        sizes=sizes,
        accesses=accesses,
        access_unit="percent" if access_unit == "percent" else "samples",
        age=age,
        age_unit="usec" if age_unit == "usec" else "aggr_intervals",
        apply_interval_us=node.get("apply_interval_us", _time("us"), 0),
        quota=_damo_file_quota(node),
        watermarks=_watermarks(node),
        filters=tuple(map(_damo_file_filter, filters)),
    )


def _damo_file_with_unit(
    node: _Node, key: str, counted: str, read: Callable[[str], float], default: Range
) -> tuple[Range, str]:
    """A range in its ordinary unit, or in the one that ends both texts."""
    part = node.part(key, key, ("min", "max"))
    if part is None:
        return default, "percent" if counted == "samples" else "usec"
    texts = [part.get(end, str, "min" if end == "min" else "max") for end in ("min", "max")]
    if any(text.endswith(counted) for text in texts):
        return node.range(
            key, lambda text: number(text.removesuffix(counted).strip()), damon.EVERY
        ), counted
    return node.range(key, read, default), "percent" if counted == "samples" else "usec"


def _damo_file_quota(node: _Node) -> damon.Quota:
    part = node.part(
        "quotas", "quotas", ("time_ms", "sz_bytes", "reset_interval_ms", "goals", "weights")
    )
    if part is None:
        return damon.Quota(reset_interval_ms=MOST)
    names = ("sz_permil", "nr_accesses_permil", "age_permil")
    weights = part.part("weights", "weights", names)
    shares = tuple(weights.get(name, _share(1000), 0) if weights else 0 for name in names)
    goals = part.each(
        "goals", "goal", ("metric", "nid", "memcg_path", "target_value", "current_value")
    )
    return damon.Quota(
        part.get("time_ms", _time("ms"), 0),
        part.get("sz_bytes", size, 0),
        part.get("reset_interval_ms", _time("ms"), MOST),
        (shares[0], shares[1], shares[2]),
        tuple(map(_damo_file_goal, goals)),
    )


def _damo_file_goal(node: _Node) -> damon.Goal:
    metric = node.get("metric", _word(damon.METRICS), "user_input")
    read: Callable[[str], int] = number
    if metric.endswith("_bp"):
        read = _share(10_000)
    if metric.endswith("_us"):
        read = _time("us")
    nid = node.get("nid", number, None)
    if (nid is None) == (metric in (*damon.NODE_METRICS, *damon.MEMCG_METRICS)):
        word = "needs" if nid is None else "has no"
        raise node.place.error(node.node, f"goal {metric} {word} 'nid'")
    return damon.Goal(
        metric,
        node.get("target_value", read, 0),
        node.get("current_value", number, 0),
        nid,
        node.get("memcg_path", str, None),
    )


def _watermarks(node: _Node) -> damon.Watermarks:
    keys = ("metric", "interval_us", "high_permil", "mid_permil", "low_permil")
    part = node.part("watermarks", "watermarks", keys)
    if part is None:
        return damon.Watermarks()
    return damon.Watermarks(
        part.get("metric", _word(("none", "free_mem_rate")), "none"),
        part.get("interval_us", _time("us"), 0),
        *(part.get(key, _share(1000), 0) for key in keys[2:]),
    )


def _damo_file_filter(node: _Node) -> damon.Filter:
    region = node.part("address_range", "region", ("start", "end"))
    sizes = [_sized(node, item, "hugepage_size") for item in node.items("hugepage_size")]
    if len(sizes) not in (0, 2):
        raise node.place.error(node.node, "key 'hugepage_size' has to be a list of two sizes")
    return damon.Filter(
        node.get("filter_type", _word(damon.FILTERS), "anon"),
        node.get("matching", _flag, True),
        node.get("allow", _flag, node.get("filter_pass", _flag, False)),
        node.get("memcg_path", str, None) or None,
        _damo_file_region(region) if region else None,
        node.get("damon_target_idx", number, None),
        Range(*sizes) if sizes else None,
    )


def _sized(node: _Node, item: Any, key: str) -> int:
    try:
        return size(scalar(node.place, item, key))
    except ValueError as error:
        raise node.place.error(item, f"key '{key}': {error}") from None


def _word(allowed: tuple[str, ...]) -> Callable[[str], str]:
    from tierscope.plans.grammar import parse_choice

    def read(text: str) -> str:
        try:
            return parse_choice(text, allowed)
        except UserError as error:
            raise ValueError(str(error)) from None

    return read


def _flag(text: str) -> bool:
    word = text.lower()
    if word not in ("y", "yes", "true", "n", "no", "false"):
        raise ValueError(f"'{text}' is not one of true, false")
    return word in ("y", "yes", "true")


def _time(unit: str) -> Callable[[str], int]:
    return lambda text: time(text, unit)


def _share(whole_share: int) -> Callable[[str], int]:
    return lambda text: whole(share(text, whole_share), f"whole {whole_share}ths")

"""Rules in damo's own files, YAML or JSON: read with line numbers, written as damo writes them.

Source: damo's src/_damon.py, what ``damo args damon`` writes and ``damo start FILE`` reads. Keys of
a running DAMON (state, pid, stats, tried regions) are read over; all others have to be known.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from tierscope.model.errors import UserError
from tierscope.placement.damon import rules as damon
from tierscope.placement.damon.rules import MOST, Range
from tierscope.plans import damo_values as values
from tierscope.plans.yaml_file import Place, compose, mapping, read_text, scalar

_ACTIONS: tuple[str, ...] = damon.Action.__args__  # type: ignore[attr-defined]
_IGNORED = {
    "kdamond": ("state", "pid"),
    "context": ("ops_attrs",),
    "quotas": ("effective_sz_bytes",),
    "scheme": ("stats", "tried_regions", "tried_bytes"),
    "region": ("nr_accesses", "age", "sz_filter_passed"),
}
Value = TypeVar("Value")


def read_damo(path: Path) -> damon.Rules:
    """Read a file; raises UserError that names file, line and key."""
    return parse_damo(read_text(path, "file of damo's"), str(path))


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
        from ruamel.yaml.nodes import SequenceNode

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
        tuple(map(_context, node.each("contexts", "context", keys))),
        node.get("refresh_ms", _time("ms"), 0),
    )


def _context(node: _Node) -> damon.Context:
    keys = (
        "action", "dests", "target_nid", "access_pattern", "apply_interval_us", "quotas",
        "watermarks", "filters",
    )  # fmt: skip
    return damon.Context(
        node.get("ops", _word(damon.OPERATIONS), "paddr"),
        tuple(map(_target, node.each("targets", "target", ("pid", "regions")))),
        _monitoring(node),
        tuple(map(_scheme, node.each("schemes", "scheme", keys))),
    )


def _target(node: _Node) -> damon.Target:
    regions = node.each("regions", "region", ("start", "end"))
    return damon.Target(node.get("pid", values.number, None), tuple(map(_region, regions)))


def _region(node: _Node) -> tuple[int, int]:
    start, end = (node.get(key, values.size, 0) for key in ("start", "end"))
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
                part.get("aggrs", values.number, 0),
                part.get("min_sample_us", us, 0),
                part.get("max_sample_us", us, 0),
            )
        if not 0 < sample <= aggr:
            raise node.place.error(
                intervals.node, "intervals: sample_us has to be above 0 and at most aggr_us"
            )
    limits = Range(default.min_regions, default.max_regions)
    regions = node.range("nr_regions", values.number, limits)
    return damon.Monitoring(sample, aggr, update, goal, int(regions.low), int(regions.high))


def _scheme(node: _Node) -> damon.Scheme:
    pattern = node.part("access_pattern", "access_pattern", ("sz_bytes", "nr_accesses", "age"))
    sizes, (accesses, access_unit), (age, age_unit) = (
        damon.EVERY, (Range(0, 100), "percent"), (damon.EVERY, "usec"),
    )  # fmt: skip
    if pattern is not None:
        sizes = pattern.range("sz_bytes", values.size, sizes)
        accesses, access_unit = _with_unit(
            pattern,
            "nr_accesses",
            "samples",
            lambda text: values.share(text, 100, 100.0),
            Range(0, 100),
        )
        age, age_unit = _with_unit(pattern, "age", "aggr_intervals", _time("us"), damon.EVERY)
    dests = node.each("dests", "dest", ("id", "weight"))
    filters = node.each(
        "filters", "filter",
        ("filter_type", "matching", "allow", "filter_pass", "memcg_path", "address_range",
         "damon_target_idx", "hugepage_size"),
    )  # fmt: skip
    return damon.Scheme(
        action=node.get("action", _word(_ACTIONS), "stat"),  # type: ignore[arg-type]
        target_nid=node.get("target_nid", values.number, None),
        dests=tuple(
            (d.get("id", values.number, 0), d.get("weight", values.number, 0)) for d in dests
        ),
        sizes=sizes,
        accesses=accesses,
        access_unit="percent" if access_unit == "percent" else "samples",
        age=age,
        age_unit="usec" if age_unit == "usec" else "aggr_intervals",
        apply_interval_us=node.get("apply_interval_us", _time("us"), 0),
        quota=_quota(node),
        watermarks=_watermarks(node),
        filters=tuple(map(_filter, filters)),
    )


def _with_unit(
    node: _Node, key: str, counted: str, read: Callable[[str], float], default: Range
) -> tuple[Range, str]:
    """A range in its ordinary unit, or in the one that ends both texts."""
    part = node.part(key, key, ("min", "max"))
    if part is None:
        return default, "percent" if counted == "samples" else "usec"
    texts = [part.get(end, str, "min" if end == "min" else "max") for end in ("min", "max")]
    if any(text.endswith(counted) for text in texts):
        return node.range(
            key, lambda text: values.number(text.removesuffix(counted).strip()), damon.EVERY
        ), counted
    return node.range(key, read, default), "percent" if counted == "samples" else "usec"


def _quota(node: _Node) -> damon.Quota:
    part = node.part(
        "quotas", "quotas", ("time_ms", "sz_bytes", "reset_interval_ms", "goals", "weights")
    )
    if part is None:
        return damon.Quota(reset_interval_ms=MOST)
    names = ("sz_permil", "nr_accesses_permil", "age_permil")
    weights = part.part("weights", "weights", names)
    size, accesses, age = (weights.get(name, _share(1000), 0) if weights else 0 for name in names)
    goals = part.each(
        "goals", "goal", ("metric", "nid", "memcg_path", "target_value", "current_value")
    )
    return damon.Quota(
        part.get("time_ms", _time("ms"), 0),
        part.get("sz_bytes", values.size, 0),
        part.get("reset_interval_ms", _time("ms"), MOST),
        (size, accesses, age),
        tuple(map(_goal, goals)),
    )


def _goal(node: _Node) -> damon.Goal:
    metric = node.get("metric", _word(damon.METRICS), "user_input")
    read: Callable[[str], int] = values.number
    if metric.endswith("_bp"):
        read = _share(10_000)
    if metric.endswith("_us"):
        read = _time("us")
    nid = node.get("nid", values.number, None)
    if (nid is None) == (metric in (*damon.NODE_METRICS, *damon.MEMCG_METRICS)):
        word = "needs" if nid is None else "has no"
        raise node.place.error(node.node, f"goal {metric} {word} 'nid'")
    return damon.Goal(
        metric,
        node.get("target_value", read, 0),
        node.get("current_value", values.number, 0),
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


def _filter(node: _Node) -> damon.Filter:
    region = node.part("address_range", "region", ("start", "end"))
    sizes = [_sized(node, item, "hugepage_size") for item in node.items("hugepage_size")]
    if len(sizes) not in (0, 2):
        raise node.place.error(node.node, "key 'hugepage_size' has to be a list of two sizes")
    return damon.Filter(
        node.get("filter_type", _word(damon.FILTERS), "anon"),
        node.get("matching", _flag, True),
        node.get("allow", _flag, node.get("filter_pass", _flag, False)),
        node.get("memcg_path", str, None) or None,
        _region(region) if region else None,
        node.get("damon_target_idx", values.number, None),
        Range(*sizes) if sizes else None,
    )


def _sized(node: _Node, item: Any, key: str) -> int:
    try:
        return values.size(scalar(node.place, item, key))
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
    return lambda text: values.time(text, unit)


def _share(whole_share: int) -> Callable[[str], int]:
    return lambda text: values.whole(values.share(text, whole_share), f"whole {whole_share}ths")

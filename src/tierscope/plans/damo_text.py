"""Rules as damo's files have them, in its words and order of keys."""

import io
import json
from typing import Any

from tierscope.placement.damon import rules as damon
from tierscope.placement.damon.rules import MOST, Range
from tierscope.plans.damo_values import format_number, format_share, format_size, format_time


def damo_json(rules: damon.Rules) -> str:
    """Return rules as JSON that damo reads."""
    return json.dumps(content(rules), indent=4)


def damo_yaml(rules: damon.Rules) -> str:
    """Return rules as YAML that damo reads."""
    from ruamel.yaml import YAML

    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    yaml.width = 100
    stream = io.StringIO()
    yaml.dump(content(rules), stream)
    return stream.getvalue()


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

"""Rules of a tiering: from a preset, from a user's YAML file, or from damo's.

A file has ``rules``, and may say how often memory is sampled::

    intervals: {sample: 100ms, aggregate: 2s, update: 20s}
    regions: 100..10000
    rules:
      - move: cold
        from: 0
        to: 2
        accesses: 0%
        age: 30s..
        quota: {bytes: 50g, time: 1s, per: 20s}

``docs/tiering.md`` describes each key. A file of damo's is read, too.
"""

import json
import math
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from tierscope.model.endpoint import format_ranges
from tierscope.model.errors import UserError
from tierscope.place import cgroups, tiering
from tierscope.place.damon import rules as damon
from tierscope.place.damon import tree
from tierscope.place.damon.files import content, is_damo, rules_of
from tierscope.place.damon.footprint import family
from tierscope.place.damon.presets import (
    PRESETS,
    Pair,
    Ranges,
    between,
    limited,
    monitored,
    of_processes,
    watched,
)
from tierscope.place.damon.rules import EVERY, MOST, Range, Rules, Scheme
from tierscope.place.kernel import Kernel
from tierscope.place.nodes import nodes_with_memory
from tierscope.place.tiering import Session, Tiering
from tierscope.plans.grammar import (
    parse_choice,
    parse_count,
    parse_duration,
    parse_number,
    parse_size,
)
from tierscope.plans.yaml_file import Place, compose, mapping, read_text, scalar, sequence

_TOP = ("intervals", "regions", "rules")
_INTERVALS = ("sample", "aggregate", "update", "tune")
_TUNE = ("accesses", "every", "sample")
_RULE = (
    "move", "from", "to", "accesses", "age", "size", "every", "quota", "goal", "watermarks",
    "confirm",
)  # fmt: skip
_QUOTA = ("bytes", "time", "per")
_WATERMARKS = ("high", "mid", "low", "every")
_LONGEST_S = 30 * 86400
Value = TypeVar("Value")
Default = TypeVar("Default")
BALANCING = "numa-balancing"
"""The preset that leaves it to the kernel."""


def read_rules(path: Path, ranges: Ranges, memcg: str | None) -> damon.Rules:
    """Read a file of rules, ours or damo's; raises UserError that names file, line and key.

    ``ranges`` gives the address ranges of a node, ``memcg`` the cgroup that rules are limited to.
    """
    text = read_text(path, "file of rules", trusted=True)
    return parse_rules(text, str(path), ranges, memcg)


def parse_rules(text: str, path: str, ranges: Ranges, memcg: str | None) -> damon.Rules:
    """Parse a file's text; raises UserError."""
    root = compose(text, path)
    place = Place(path)
    if root is None:
        raise UserError(f"{path}:1: there are no rules in it; allowed: {', '.join(_TOP)}")
    if is_damo(root):
        found = rules_of(place, root)
        return found if memcg is None else _all_limited(found, memcg)
    top = _Keys(place, root, "the file", _TOP)
    if "rules" not in top.found:
        raise place.error(root, "key 'rules' is missing")
    monitoring = _monitoring(top)
    schemes: dict[int, list[Scheme]] = {}
    for node in sequence(place, top.found["rules"], "rules"):
        source, scheme = _rule(_Keys(place, node, "a rule", _RULE))
        schemes.setdefault(source, []).append(limited(scheme, memcg))
    return damon.Rules(
        tuple(monitored(ranges(source), monitoring, tuple(own)) for source, own in schemes.items())
    )


def _all_limited(rules: damon.Rules, memcg: str) -> damon.Rules:
    return damon.Rules(
        tuple(
            replace(
                one,
                contexts=tuple(
                    replace(context, schemes=tuple(limited(s, memcg) for s in context.schemes))
                    for context in one.contexts
                ),
            )
            for one in rules.kdamonds
        )
    )


class _Keys:
    """A mapping of the file, whose values are parsed by key."""

    def __init__(self, place: Place, node: Any, what: str, keys: tuple[str, ...]) -> None:
        self.place, self.node = place, node
        self.found = mapping(place, node, what, keys)

    def get(self, key: str, parse: Callable[[str], Value], default: Default) -> Value | Default:
        """A value, or the default where the key is absent."""
        node = self.found.get(key)
        if node is None:
            return default
        try:
            return parse(scalar(self.place, node, key))
        except UserError as error:
            if str(error).startswith(f"{self.place.path}:"):
                raise
            raise self.place.error(node, f"key '{key}': {error}") from None

    def need(self, key: str, parse: Callable[[str], Value]) -> Value:
        """A value that has to be there."""
        if key not in self.found:
            raise self.place.error(self.node, f"key '{key}' is missing")
        found = self.get(key, parse, None)
        assert found is not None
        return found

    def part(self, key: str, keys: tuple[str, ...]) -> "_Keys | None":
        """A mapping below a key."""
        node = self.found.get(key)
        return None if node is None else _Keys(self.place, node, f"'{key}'", keys)


def _monitoring(top: _Keys) -> damon.Monitoring:
    default = damon.Monitoring()
    sample, aggr, update = default.sample_us, default.aggr_us, default.update_us
    goal = default.goal
    part = top.part("intervals", _INTERVALS)
    if part:
        sample = part.get("sample", _us, sample)
        aggr = part.get("aggregate", _us, max(aggr, 20 * sample))
        update = part.get("update", _us, max(update, 10 * aggr))
        if sample > aggr:
            raise part.place.error(part.node, "'sample' has to be at most 'aggregate'")
        tune = part.part("tune", _TUNE)
        if tune:
            shortest, longest = tune.get("sample", _range(_us), Range(5_000, 10_000_000))
            goal = damon.IntervalsGoal(
                tune.get("accesses", _share(10_000), 400),
                tune.get("every", parse_count, 3),
                int(shortest),
                int(longest),
            )
    low, high = top.get(
        "regions", _range(parse_count), Range(default.min_regions, default.max_regions)
    )
    return damon.Monitoring(sample, aggr, update, goal, int(low), int(high))


def _rule(rule: _Keys) -> tuple[int, Scheme]:
    move = rule.need("move", lambda text: parse_choice(text, ("cold", "hot")))
    cold = move == "cold"
    source = rule.need("from", _node)
    target = rule.need("to", _node)
    if source == target:
        raise rule.place.error(rule.node, f"'from' and 'to' are both node {source}")
    confirmed = rule.get("confirm", lambda text: parse_choice(text, ("yes", "no")), "yes") == "yes"
    fast = source if cold else target
    return source, Scheme(
        "migrate_cold" if cold else "migrate_hot",
        target,
        sizes=rule.get("size", _range(parse_size), Range(4096, MOST)),
        accesses=rule.get("accesses", _percents, Range(0, 0) if cold else Range(5, 100)),
        age=rule.get("age", _range(_us), Range(30_000_000, MOST) if cold else EVERY),
        apply_interval_us=rule.get("every", _us, 0),
        quota=_quota(rule, fast),
        watermarks=_watermarks(rule),
        filters=(damon.Filter("young", matching=cold),) if confirmed else (),
    )


def _quota(rule: _Keys, fast: int) -> damon.Quota:
    part = rule.part("quota", _QUOTA)
    goal = rule.get("goal", lambda text: _goal(text, fast), None)
    goals = () if goal is None else (goal,)
    if part is None:
        return damon.Quota(goals=goals, reset_interval_ms=1000)
    return damon.Quota(
        part.get("time", _us, 0) // 1000,
        part.get("bytes", parse_size, 0),
        part.get("per", _us, 1_000_000) // 1000,
        (0, 0, 10),
        goals,
    )


def _watermarks(rule: _Keys) -> damon.Watermarks:
    part = rule.part("watermarks", _WATERMARKS)
    if part is None:
        return damon.Watermarks()
    high, mid, low = (part.need(key, _share(1000)) for key in ("high", "mid", "low"))
    if not high >= mid >= low:
        raise part.place.error(part.node, "watermarks: high >= mid >= low")
    return damon.Watermarks("free_mem_rate", part.get("every", _us, 5_000_000), high, mid, low)


def _goal(text: str, fast: int) -> damon.Goal:
    word, _, share = text.partition(" ")
    metric = f"node_mem_{parse_choice(word, ('free', 'used'))}_bp"
    return damon.Goal(metric, _share(10_000)(share), nid=fast)


def _node(text: str) -> int:
    return parse_count(text.strip().removeprefix("node:"), minimum=0)


def _us(text: str) -> int:
    seconds = parse_duration(text, -1e-9, _LONGEST_S)
    if not math.isclose(seconds * 1e6, round(seconds * 1e6), abs_tol=1e-3):
        raise UserError(f"'{text}' is not whole microseconds")
    return round(seconds * 1e6)


def _share(of: int) -> Callable[[str], int]:
    return lambda text: round(parse_number(text, -1e-9, 1) * of)


def _percents(text: str) -> Range:
    return _range(lambda word: parse_number(word, -1e-9, 1) * 100, 100)(text)


def _range(parse: Callable[[str], float], most: float = MOST) -> Callable[[str], Range]:
    """Parse ``A..B``, ``A..`` (no upper end) or ``A`` (that alone)."""

    def read(text: str) -> Range:
        first, dots, last = text.partition("..")
        low = parse(first) if first.strip() else 0
        high = (parse(last) if last.strip() else most) if dots else low
        if low > high:
            raise UserError(f"range '{text}' runs backwards")
        return Range(low, high)

    return read


class Asked(NamedTuple):
    """By which rules pages move."""

    pairs: tuple[str, ...] = ()
    preset: str | None = None
    rules: Path | None = None
    cgroup: str | None = None
    pid: int | None = None


def label_and_rules(kernel: Kernel, asked: Asked, memcg: str | None) -> tuple[str, Rules | None]:
    """Return what to call the rules, and them; None for NUMA balancing. Raises UserError."""
    if asked.rules is not None:
        if asked.preset or asked.pairs:
            raise UserError("--rules has nodes of its own; leave --preset and --pair out")
        if asked.pid is not None:
            raise UserError("--pid goes with --preset and --pair, not with --rules")
        found = read_rules(asked.rules, lambda node: tree.ranges(kernel, node), memcg)
        for node in sorted({node for *_, s in found.schemes() for node in s.destinations()}):
            tree.check(kernel, node)
        return asked.rules.name, found
    name = parse_choice(asked.preset or "hmsdk", (*PRESETS, BALANCING))
    if name == BALANCING:
        if asked.pairs or memcg or asked.pid is not None:
            raise UserError(
                f"{BALANCING} is for the whole machine and all its nodes; leave --pair, --pid, "
                "--cgroup and -- CMD out"
            )
        return name, None
    nodes = format_ranges(tuple(nodes_with_memory(kernel)))
    if not asked.pairs:
        raise UserError(
            f"name a fast and a slow node, as in --pair 0:2; nodes with memory: {nodes}"
        )
    pairs = [_pair(kernel, text) for text in asked.pairs]
    preset = PRESETS[name]
    if asked.pid is not None:
        if len(pairs) > 1 or memcg:
            raise UserError("--pid goes with one --pair, and without --cgroup and -- CMD")
        pids = family(kernel, asked.pid)
        if not pids:
            raise UserError(f"there is no process {asked.pid}")
        return name, of_processes(preset, pairs[0], pids)
    return name, between(preset, pairs, lambda node: tree.ranges(kernel, node), memcg)


def _pair(kernel: Kernel, text: str) -> Pair:
    fast, colon, slow = text.partition(":")
    if not colon:
        raise UserError(f"--pair '{text}' is not FAST:SLOW, such as 0:2")
    nodes = (parse_count(fast, minimum=0), parse_count(slow, minimum=0))
    for node in nodes:
        tree.check(kernel, node)
    return nodes


def begin(kernel: Kernel, asked: Asked, own_cgroup: bool) -> Tiering:
    """Begin tiering, with a new cgroup for a program where DAMON is to move only its pages.

    It ends with this process, unless that has it kept. Raises UserError, with nothing changed.
    """
    by_damon = asked.preset != BALANCING
    cgroup = cgroups.find(kernel, asked.cgroup) if asked.cgroup else None
    with tiering.starting(kernel, damon=by_damon) as started:
        started.begin("", cgroup, asked.pid or 0)
        if own_cgroup and by_damon:
            cgroup = started.make_cgroup(f"tierscope-{os.getpid()}")
        label, rules = label_and_rules(kernel, asked, cgroup.path if cgroup else None)
        started.name(label)
        if rules is None:
            for path, value in tiering.SETTINGS:
                started.set(path, value)
        else:
            full = watched(rules)
            started.run(full, content(full))
    return started


def rules_in(session: Session) -> Rules | None:
    """Return the rules of tiering that is on; None of NUMA balancing."""
    if session.rules is None:
        return None
    return rules_of(Place("rules"), compose(json.dumps(session.rules), "rules"))

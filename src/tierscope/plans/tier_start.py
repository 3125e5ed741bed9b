"""Tiering as people ask for it: a preset between nodes, or rules of a file; made, and begun."""

import json
import os
from pathlib import Path
from typing import NamedTuple

from tierscope.model.endpoint import format_ranges
from tierscope.model.errors import UserError
from tierscope.placement import balancing, cgroups, tiering
from tierscope.placement.damon import memory
from tierscope.placement.damon.footprint import family
from tierscope.placement.damon.presets import PRESETS, Pair, between, of_processes, watched
from tierscope.placement.damon.rules import Rules
from tierscope.placement.kernel import Kernel
from tierscope.placement.nodes import nodes_with_memory
from tierscope.placement.tiering import Session
from tierscope.plans.damo_file import rules_of
from tierscope.plans.damo_text import content
from tierscope.plans.grammar import parse_choice, parse_count
from tierscope.plans.tier_rules import read_rules
from tierscope.plans.yaml_file import Place, compose

BALANCING = "numa-balancing"
"""The preset that leaves it to the kernel."""


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
        found = read_rules(asked.rules, lambda node: memory.ranges(kernel, node), memcg)
        for node in sorted({node for *_, s in found.schemes() for node in s.destinations()}):
            memory.check(kernel, node)
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
    return name, between(preset, pairs, lambda node: memory.ranges(kernel, node), memcg)


def _pair(kernel: Kernel, text: str) -> Pair:
    fast, colon, slow = text.partition(":")
    if not colon:
        raise UserError(f"--pair '{text}' is not FAST:SLOW, such as 0:2")
    nodes = (parse_count(fast, 0, 0), parse_count(slow, 0, 0))
    for node in nodes:
        memory.check(kernel, node)
    return nodes


def begin(kernel: Kernel, asked: Asked, own_cgroup: bool) -> Session:
    """Begin tiering, with a new cgroup for a program where DAMON is to move only its pages.

    ``tiering.stop`` ends it. Raises UserError, with nothing changed.
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
            for path, value in balancing.SETTINGS:
                started.set(path, value)
        else:
            full = watched(rules)
            started.run(full, content(full))
    return started.session


def rules_in(session: Session) -> Rules | None:
    """Return the rules of tiering that is on; None of NUMA balancing."""
    if session.rules is None:
        return None
    return rules_of(Place("rules"), compose(json.dumps(session.rules), "rules"))

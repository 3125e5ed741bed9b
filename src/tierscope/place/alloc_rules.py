"""Rules of the preloaded allocator for what ``tierscope alloc exec`` was asked."""

import re
from typing import NamedTuple

from tierscope.model.errors import UserError
from tierscope.place.allocator import rules_file
from tierscope.place.nodes import check_nodes, format_list, select_nodes
from tierscope.plans.grammar import parse_size


class Asked(NamedTuple):
    """The options, as they were given."""

    rules: str | None = None
    to: str | None = None
    above: str | None = None
    capacity: str | None = None
    full: str | None = None
    ratio: str | None = None
    nodes: str | None = None


def rules_of(asked: Asked) -> str:
    """Return the path of a file of rules, or rules with ; between them. Raises UserError."""
    ways = {"--rules": asked.rules, "--to": asked.to, "--ratio": asked.ratio}
    given = [name for name, value in ways.items() if value]
    if len(given) != 1:
        raise UserError(
            f"{' and '.join(given)} exclude each other; a file of rules can have both"
            if given
            else "say which memory goes where: --to node:2 --above 1m, --ratio 2:1 --nodes 0,2, or "
            "--rules FILE"
        )
    _check_goes_with(asked, given[0])
    if asked.rules:
        return rules_file(asked.rules)
    return _by_size(asked, asked.to) if asked.to else _by_ratio(asked)


def _check_goes_with(asked: Asked, way: str) -> None:
    belongs = {"above": "--to", "capacity": "--to", "full": "--to", "nodes": "--ratio"}
    for name, other in belongs.items():
        if getattr(asked, name) and other != way:
            raise UserError(f"--{name} goes with {other}, not with {way}")


def _by_size(asked: Asked, to: str) -> str:
    arena = f"arena tier {nodes_of(to)}"
    if asked.capacity:
        arena += f" capacity={parse_size(asked.capacity)}"
    if asked.full:
        arena += f" full={asked.full}"
    return f"{arena};size >= {parse_size(asked.above or '0')} -> tier"


def _by_ratio(asked: Asked) -> str:
    if not re.fullmatch(r"\d{1,5}:\d{1,5}", asked.ratio or ""):
        raise UserError(f"--ratio '{asked.ratio}' is not two shares, as in 2:1")
    nodes = select_nodes(asked.nodes or "") if asked.nodes else None
    if not nodes or len(nodes.nodes) != 2 or nodes.weights:
        raise UserError("--ratio needs two nodes, as in --nodes 0,2")
    check_nodes(nodes.nodes)
    first, second = nodes.nodes
    return f"arena first {first};arena second {second};ratio first:second {asked.ratio}"


def nodes_of(text: str) -> str:
    """Nodes as the library writes them: ``0,2``, or ``0@2,2@1`` with weights."""
    nodes = select_nodes(text)
    check_nodes(nodes.nodes)
    if not nodes.weights:
        return format_list(nodes.nodes)
    return ",".join(f"{node}@{weight}" for node, weight in zip(*nodes, strict=True))

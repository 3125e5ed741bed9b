"""Memory modules that the user states, for machines whose system reports none: ``--memory``.

A statement is kept for each host in a file of the data directory, as it was written.
"""

import re
from pathlib import Path

from tierscope.machine.data_directory import data_directory
from tierscope.model.endpoint import format_ranges
from tierscope.model.errors import UserError, shown
from tierscope.model.topology import StatedMemory, Topology

FORGET = "none"
"""Statement that the user takes back what was stated."""
MOST_CHANNELS = 64
SPEEDS = range(800, 12801)
"""MT/s from the slowest DDR3 to the fastest modules of DDR5 (MRDIMM)."""
_ALLOWED = (
    "CHANNELSxTYPE-SPEED, as in 8xDDR5-4800 for each node of DRAM, or node:0=8xDDR5-4800 for one"
)
_MODULES = re.compile(
    r"(?:node:(?P<node>[0-9]{1,4})=)?(?:(?P<channels>[0-9]{1,6})x)?"
    r"(?P<type>[A-Z][A-Z0-9]*)-(?P<speed>[0-9]{1,6})",
    re.IGNORECASE | re.ASCII,
)
_TYPES = ("DDR3", "DDR4", "DDR5")
"""Types whose channels all have 64 data bits; how wide those of LPDDR and HBM are differs."""


def parse_stated(text: str) -> list[StatedMemory]:
    """Return what a statement has, nothing for ``none``; raises UserError.

    >>> [found] = parse_stated("node:2=2xDDR4-3200")
    >>> (found.node, found.channels, found.type, found.speed)
    (2, 2, 'DDR4', 3200000000.0)
    """
    if text.strip().lower() == FORGET:
        return []
    text = " ".join(shown(text).split())
    found = [_modules(part.strip()) for part in text.split(",")]
    nodes = [one.node for one in found]
    if None in nodes and len(nodes) > 1:
        raise UserError(
            f"'{text}': state each node, as in node:0=8xDDR5-4800,node:1=8xDDR5-4800, or all of "
            "them at once, as in 8xDDR5-4800"
        )
    twice = next((node for node in nodes if nodes.count(node) > 1), None)
    if twice is not None:
        raise UserError(f"'{text}': node {twice} is stated twice")
    return found


def _modules(text: str) -> StatedMemory:
    match = _MODULES.fullmatch(text)
    if match is None:
        raise UserError(f"'{text}' is not {_ALLOWED}; 'none' forgets")
    kind, speed = match["type"].upper(), int(match["speed"])
    if kind not in _TYPES:
        raise UserError(f"'{text}': type {kind} is not one of {', '.join(_TYPES)}")
    if match["channels"] is None:
        raise UserError(
            f"'{text}' lacks the number of populated channels of a node, as in 8x{text}"
            if match["node"] is None
            else f"'{text}' lacks the number of populated channels, as in node:0=8xDDR5-4800"
        )
    channels = int(match["channels"])
    if not 1 <= channels <= MOST_CHANNELS:
        raise UserError(f"'{text}': a node has from 1 to {MOST_CHANNELS} channels")
    if speed not in SPEEDS:
        raise UserError(f"'{text}': the speed is in MT/s, from {SPEEDS.start} to {SPEEDS.stop - 1}")
    node = None if match["node"] is None else int(match["node"])
    return StatedMemory(node=node, type=kind, speed=speed * 1e6, channels=channels)


def check_nodes(topology: Topology, stated: list[StatedMemory]) -> None:
    """Raise UserError where a node is stated that the machine does not have."""
    for one in stated:
        if one.node is not None and topology.node(one.node) is None:
            known = format_ranges(tuple(sorted(node.number for node in topology.nodes))) or "none"
            raise UserError(
                f"there is no node {one.node} on {topology.host}; its nodes are {known}"
            )


def stated_path(host: str) -> Path:
    """Return the file that keeps what is stated of a host; raises UserError without a home."""
    return data_directory() / "memory" / re.sub(r"[^A-Za-z0-9._-]+", "-", host or "this-machine")


def with_stated(topology: Topology) -> Topology:
    """Return this machine with what is stated of its memory, or with a line that the file which
    keeps it is damaged."""
    try:
        path = stated_path(topology.host)
        text = path.read_text(encoding="utf-8", errors="replace").strip()
    except (OSError, UserError):
        return topology
    try:
        return topology.model_copy(update={"stated_memory": parse_stated(text)})
    except UserError as error:
        line = f"stated memory, {path}: {error}; state it again by --memory"
        return topology.model_copy(update={"unreadable": [*topology.unreadable, line]})

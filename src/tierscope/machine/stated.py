"""What the user states of a machine because its system does not report it: modules of memory
(``--memory``), links between sockets (``--socket-link``).

A statement is kept for each host in a file of the data directory, as it was written.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tierscope.machine.data_directory import data_directory
from tierscope.model.endpoint import format_ranges
from tierscope.model.errors import UserError, shown
from tierscope.model.topology import StatedMemory, StatedSocketLink, Topology

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
_SOCKET_LINK = re.compile(
    r"(?P<links>[0-9]{1,4})x(?:(?P<lanes>[0-9]{1,4})x(?P<speed>[0-9]{1,4}(?:\.[0-9]{1,6})?)GT/s"
    r"|(?P<rate>[0-9]{1,4}(?:\.[0-9]{1,6})?)GB/s)",
    re.IGNORECASE | re.ASCII,
)
_SOCKET_LINK_ALLOWED = (
    "the links between each pair of sockets, as in 3x20.8GB/s (each way), or with lanes and their "
    "speed, as in 4x16x32GT/s"
)
_MOST_LINKS, _MOST_LANES, _MOST_RATE = 16, 64, 1000


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


def parse_socket_link(text: str) -> StatedSocketLink | None:
    """Return what a statement has, None for ``none``; raises UserError.

    >>> parse_socket_link("4x16x32GT/s")
    StatedSocketLink(links=4, rate=64000000000.0, lanes=16)
    """
    text = " ".join(shown(text).split())
    if text.lower() == FORGET:
        return None
    match = _SOCKET_LINK.fullmatch(text)
    if match is None:
        raise UserError(f"'{text}' is not {_SOCKET_LINK_ALLOWED}; 'none' forgets")
    links, lanes = int(match["links"]), int(match["lanes"] or 1)
    if not (1 <= links <= _MOST_LINKS and 1 <= lanes <= _MOST_LANES):
        raise UserError(
            f"'{text}': from 1 to {_MOST_LINKS} links of 1 to {_MOST_LANES} lanes join two sockets"
        )
    number = float(match["speed"] or match["rate"])
    if not 1 <= number <= _MOST_RATE:
        raise UserError(f"'{text}': the speed is from 1 to {_MOST_RATE}")
    if match["lanes"] is None:
        return StatedSocketLink(links=links, rate=number * 1e9)
    return StatedSocketLink(links=links, rate=lanes * number * 1e9 / 8, lanes=lanes)


class Statement(NamedTuple):
    """One sort of what is stated."""

    field: str
    """Of the topology."""
    parse: Callable[[str], Any]
    """Its value is false where nothing is stated."""


STATEMENTS = {
    "memory": Statement("stated_memory", parse_stated),
    "socket-link": Statement("stated_socket_link", parse_socket_link),
}
"""By option, key of plans, and folder of the data directory."""


def check_stated(topology: Topology) -> None:
    """Raise UserError where something is stated of what the machine does not have."""
    if topology.stated_socket_link and len(topology.packages) < 2:
        raise UserError(f"{topology.host} has one socket, so no link between sockets")
    for one in topology.stated_memory:
        if one.node is not None and topology.node(one.node) is None:
            known = format_ranges(tuple(sorted(node.number for node in topology.nodes))) or "none"
            raise UserError(
                f"there is no node {one.node} on {topology.host}; its nodes are {known}"
            )


def stated_path(host: str, name: str) -> Path:
    """Return the file that keeps a statement of a host; raises UserError without a home."""
    return data_directory() / name / re.sub(r"[^A-Za-z0-9._-]+", "-", host or "this-machine")


def with_stated(topology: Topology) -> Topology:
    """Return this machine with what is stated of it, or with lines that the files which keep it
    are damaged."""
    for name, statement in STATEMENTS.items():
        try:
            path = stated_path(topology.host, name)
            text = path.read_text(encoding="utf-8", errors="replace").strip()
        except (OSError, UserError):
            continue
        try:
            topology = topology.model_copy(update={statement.field: statement.parse(text)})
        except UserError as error:
            line = f"stated {name}, {path}: {error}; state it again by --{name}"
            topology = topology.model_copy(update={"unreadable": [*topology.unreadable, line]})
    return topology

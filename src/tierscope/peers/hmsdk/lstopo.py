"""What lstopo writes of a machine: XML, or the text of ``lstopo-no-graphics -p``."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from tierscope.machine.hwloc import read_hwloc
from tierscope.model.errors import UserError, shown
from tierscope.model.given_file import open_given
from tierscope.model.topology import Node, NodeKind, Package, Topology

_MAX_BYTES = 1 << 24
_OBJECT = re.compile(r"\b(Package|NUMANode|PU) P#(\d+)")
_MEMORY = re.compile(r"NUMANode P#\d+ \([^)]*?(\d+)(KB|MB|GB|TB)")
_FACTOR = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_HOW = "`lstopo-no-graphics -p` writes the text, `lstopo --of xml FILE` the XML"


def read_lstopo(path: Path) -> Topology:
    """Return the packages and nodes of lstopo's text, or the machine of its XML; raises
    UserError."""
    try:
        with open_given(path) as file:
            text = file.read(_MAX_BYTES).decode("utf-8", "replace")
    except OSError as error:
        raise UserError(f"{shown(path)} cannot be read: {error.strerror}") from None
    if text.lstrip().startswith("<"):
        return read_hwloc(path)
    return parse_lstopo(text, shown(path))


@dataclass
class _Line:
    """A line that others are indented below."""

    indent: int
    package: int | None
    """Of it, or that it is in."""
    nodes: list[tuple[int, int]] = field(default_factory=list)
    """Numbers and bytes of the nodes right below it."""
    cpus: list[int] = field(default_factory=list)
    """In it and below it."""


def parse_lstopo(text: str, source: str) -> Topology:
    """Return what the text says of packages, nodes and CPUs; raises UserError.

    The first of the nodes right below a line is that of the CPUs there which no node further down
    has; the other ones, such as CXL memory, have none.
    """
    lines = [_Line(-1, None)]
    above = [*lines]
    for text_line in text.splitlines():
        indent = len(text_line) - len(text_line.lstrip(" "))
        while above[-1].indent >= max(indent, 0):
            above.pop()
        line = _Line(indent, above[-1].package)
        for name, digits in _OBJECT.findall(text_line):
            if name == "Package":
                line.package = int(digits)
            elif name == "NUMANode":
                above[-1].nodes.append((int(digits), _bytes(text_line)))
            else:
                for one in (*above, line):
                    one.cpus.append(int(digits))
        above.append(line)
        lines.append(line)
    nodes: list[Node] = []
    taken: set[int] = set()
    for line in sorted(lines, key=lambda line: line.indent, reverse=True):
        nodes += _nodes(line, taken)
        taken |= {*line.cpus} if line.nodes else set()
    if not nodes:
        raise UserError(f"{source}: no line has a node, as in 'NUMANode P#0 (31GB)'; {_HOW}")
    numbers = [node.number for node in nodes]
    twice = next((number for number in numbers if numbers.count(number) > 1), None)
    if twice is not None:
        raise UserError(f"{source}: there are two nodes {twice}; {_HOW}")
    packages = sorted({node.package for node in nodes if node.package is not None})
    return Topology(
        host="", source=source, cpu_model="", architecture="", cpus=sorted({*lines[0].cpus}),
        packages=[Package(number=number, cpus=[], cores=0) for number in packages],
        siblings=[], nodes=sorted(nodes, key=lambda node: node.number), caches=[],
        base_page_bytes=4096,
    )  # fmt: skip


def _bytes(line: str) -> int:
    found = _MEMORY.search(line)
    return int(found[1]) * _FACTOR[found[2]] if found else 0


def _nodes(line: _Line, taken: set[int]) -> list[Node]:
    own = [cpu for cpu in line.cpus if cpu not in taken]
    return [
        Node(
            number=number, kind=NodeKind.UNKNOWN, inferred_from="", total_bytes=total,
            cpus=own if place == 0 else [], package=line.package,
        )
        for place, (number, total) in enumerate(line.nodes)
    ]  # fmt: skip

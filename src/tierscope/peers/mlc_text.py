"""The text that Intel's Memory Latency Checker prints: its sections, and the grids in them.

From public outputs of versions 3.1 to 3.11. A part of an output is read, too: a section begins
with its title or, where that was cut off, with the first line that only it has.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tierscope.model.errors import UserError
from tierscope.plans.grammar import as_float

MB = 1e6
Line = tuple[int, str]
"""A line with its number, from 1."""
Matrix = dict[int, dict[int, float]]
"""Figures by the node of the row and the node of the column."""

BANDWIDTHS, LATENCIES = "bandwidths between nodes", "idle latencies"
MIXES, LOADED, CACHES = "bandwidths of mixes", "loaded latencies", "cache to cache"
IDLE = "idle latency"
_TITLES = (
    (re.compile(r"Measuring Memory Bandwidths between nodes"), BANDWIDTHS),
    (re.compile(r"Measuring idle latencies"), LATENCIES),
    (re.compile(r"Measuring (?:Peak Injection|Maximum) Memory Bandwidths"), MIXES),
    (re.compile(r"Measuring Loaded Latencies"), LOADED),
    (re.compile(r"Measuring cache-to-cache"), CACHES),
    (re.compile(r"Measuring "), "other"),
)
_CUT = (
    (re.compile(r"ALL Reads\b"), MIXES),
    (re.compile(r"Inject\s+Latency"), LOADED),
    (re.compile(r"(?:Local|Remote) Socket L2->L2"), CACHES),
)
"""First lines of sections whose titles were cut off."""
_ITERATION = re.compile(r"Each iteration took\b")
HEAD = "Numa node"
_ONE = {"bandwidths": "bandwidth in MB/s", "latencies": "latency in ns"}
_MAX = 1e30
_HOW = "write it by 'mlc --bandwidth_matrix'"


@dataclass
class Section:
    """One measurement of MLC's: its title and the lines up to the next one's."""

    what: str
    title: str
    first: int
    """Number of its first line."""
    lines: list[Line] = field(default_factory=list)
    """Lines after its title; without a title, the line that identifies it."""


def sections_of(text: str) -> tuple[list[Line], list[Section]]:
    """Return the lines before the first section, and the sections."""
    before: list[Line] = []
    found: list[Section] = []
    for number, line in enumerate(text.splitlines(), start=1):
        plain = line.strip()
        title = next((what for form, what in _TITLES if form.match(plain)), None)
        cut = next((what for form, what in _CUT if form.match(plain)), None)
        if title:
            found.append(Section(title, plain, number))
        elif _ITERATION.match(plain):
            found.append(Section(IDLE, "", number, [(number, line)]))
        elif cut and (not found or found[-1].what != cut):
            found.append(Section(cut, "", number, [(number, line)]))
        elif found:
            found[-1].lines.append((number, line))
        else:
            before.append((number, line))
    return before, found


def grid(lines: Sequence[Line], name: str, what: str, head: str = HEAD) -> Matrix:
    """Return the grid that begins with ``head`` and the columns' nodes; empty where there is none.

    A blank line behind its rows ends it. ``-`` is what MLC could not measure, and 0. Raises
    UserError, with the line, for other text; ``what`` is the figures' name.
    """
    columns: list[int] = []
    found: Matrix = {}
    for number, line in lines:
        plain, where = line.strip(), f"{name}:{number}"
        if found and not plain:
            break
        if plain.startswith(head):
            columns = _columns(plain, where, head)
        elif columns and plain:
            row, values = _row(plain, columns, where, what)
            if row in found:
                raise UserError(f"{where}: a second row of node {row}")
            found[row] = values
    return found


def _columns(line: str, where: str, head: str) -> list[int]:
    words = line.removeprefix(head).split()
    if head == HEAD and not words and line == HEAD:
        return []  # the heading above the columns' nodes
    if not words or not all(map(_is_node, words)) or len(set(words)) < len(words):
        raise UserError(f"{where}: '{head}' is not followed by the numbers of different nodes")
    return list(map(int, words))


def _row(line: str, columns: list[int], where: str, what: str) -> tuple[int, dict[int, float]]:
    first, *words = line.split()
    if not _is_node(first):
        raise UserError(f"{where}: '{first[:20]}' is not the number of a node")
    if len(words) != len(columns):
        raise UserError(
            f"{where}: node {first} has {len(words)} {what}, not {len(columns)}, one for each "
            "node of the heading"
        )
    values = {to: figure(word, where, what) for to, word in zip(columns, words, strict=True)}
    return int(first), values


def _is_node(word: str) -> bool:
    return bool(re.fullmatch(r"[0-9]{1,4}", word))


def figure(word: str, where: str, what: str) -> float:
    """Return a figure as printed; ``-`` and 0 stand for what MLC could not measure."""
    if word == "-":
        return 0.0
    value = as_float(word)
    if not 0 <= value * MB < _MAX or not re.fullmatch(r"[0-9.]+", word):
        raise UserError(f"{where}: '{word[:20]}' is not a {_ONE[what]}")
    return value


def cells(matrix: Matrix) -> Iterator[tuple[int, int, float]]:
    """Yield row, column and figure of what was measured."""
    for row, values in matrix.items():
        for column, value in values.items():
            if value:
                yield row, column, value


def parse_matrix(text: str, name: str) -> Matrix:
    """Return MLC's matrix of bandwidths, bytes/s by the node of CPUs and the node of memory.

    ``name`` stands for the text in errors. Raises UserError, with the line, without a matrix.
    """
    found = [one for one in sections_of(text)[1] if one.what == BANDWIDTHS]
    if not found:
        raise UserError(
            f"{name}: no line begins with 'Measuring Memory Bandwidths between nodes'; {_HOW}"
        )
    if len(found) > 1:
        raise UserError(f"{name}:{found[1].first}: a second matrix of bandwidths; leave one")
    matrix = grid(found[0].lines, name, "bandwidths")
    if not matrix:
        raise UserError(f"{name}: the matrix of bandwidths has no rows; {_HOW}")
    return {row: {to: rate * MB for to, rate in rates.items()} for row, rates in matrix.items()}

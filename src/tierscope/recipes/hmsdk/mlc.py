"""Read the bandwidth matrix that Intel's Memory Latency Checker prints (``--bandwidth_matrix``)."""

import math
import re

from tierscope.model.errors import UserError

_TITLE = "Measuring Memory Bandwidths between nodes"
_OTHER = "Measuring "
_HEAD = "Numa node"
_MB = 1e6
_MAX = 1e30
_HOW = "write it by 'mlc --bandwidth_matrix'"

Matrix = dict[int, dict[int, float]]
"""Bytes a second by the node of the CPUs and the node of the memory."""


def parse_matrix(text: str, name: str) -> Matrix:
    """Return the matrix in MLC's output, alone or among what else it measured.

    ``name`` is what errors call the text. Raises UserError, with the line, for what is no matrix.
    """
    lines = text.splitlines()
    titles = [number for number, line in enumerate(lines) if line.startswith(_TITLE)]
    if not titles:
        raise UserError(f"{name}: no line begins with '{_TITLE}'; {_HOW}")
    if len(titles) > 1:
        raise UserError(f"{name}:{titles[1] + 1}: a second matrix of bandwidths; leave one")
    targets: list[int] = []
    found: Matrix = {}
    for number in range(titles[0] + 1, len(lines)):
        line, where = lines[number], f"{name}:{number + 1}"
        if line.startswith(_OTHER) or (found and not line.strip()):
            break
        if line.startswith(_HEAD):
            targets = _targets(line, where)
        elif targets and line.strip():
            initiator, rates = _row(line, targets, where)
            if initiator in found:
                raise UserError(f"{where}: a second row of node {initiator}")
            found[initiator] = rates
    if not found:
        raise UserError(f"{name}: the matrix of bandwidths has no rows; {_HOW}")
    return found


def _targets(line: str, where: str) -> list[int]:
    words = line.removeprefix(_HEAD).split()
    if not words or not all(map(_is_node, words)) or len(set(words)) < len(words):
        raise UserError(f"{where}: '{_HEAD}' is not followed by the numbers of different nodes")
    return list(map(int, words))


def _row(line: str, targets: list[int], where: str) -> tuple[int, dict[int, float]]:
    first, *words = line.split()
    if not _is_node(first):
        raise UserError(f"{where}: '{first[:20]}' is not the number of a node")
    if len(words) != len(targets):
        raise UserError(
            f"{where}: node {first} has {len(words)} bandwidths, not {len(targets)}, one for each "
            "node of the heading"
        )
    return int(first), {to: _rate(word, where) for to, word in zip(targets, words, strict=True)}


def _is_node(word: str) -> bool:
    return bool(re.fullmatch(r"[0-9]{1,4}", word))


def _rate(word: str, where: str) -> float:
    """Return bytes a second; ``-`` stands for what MLC could not measure."""
    if word == "-":
        return 0.0
    try:
        rate = float(word) * _MB
    except ValueError:
        rate = math.nan
    if not 0 <= rate < _MAX or not re.fullmatch(r"[0-9.]+", word):
        raise UserError(f"{where}: '{word[:20]}' is no bandwidth in MB/s")
    return rate

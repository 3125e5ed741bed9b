"""MLC's per-thread files (``-o``): a line for each CPU or range of CPUs with its traffic.

    CPUS R|Wn seq|rand SIZE dram NODE
    CPUS W21|W23|W27 seq SIZE dram NODE dram NODE PERCENT

SIZE is that of each thread's buffer, in KiB or with k, m or g. The second form has its buffer on
two nodes, PERCENT of it on the second. Empty lines and those that begin with # count for nothing.
"""

from dataclasses import dataclass

from tierscope.model.endpoint import EndpointKind, parse_initiator
from tierscope.model.errors import UserError, did_you_mean
from tierscope.model.spec import Placement
from tierscope.peers.drop_in import errors_at, read_job_text, whole
from tierscope.peers.mlc.options import MIXES, TWO_NODES, Mix, buffer_bytes
from tierscope.peers.mlc.settings import bound, shared_by

_ORDERS = {"seq": "sequential", "rand": "random"}
_RANDOM = ("R", "W2", "W5", "W6")
"""Types that MLC moves in random order."""
_ONE, _TWO = 6, 9
"""Words of a line with one node, and with two."""


@dataclass(frozen=True)
class Threads:
    """The threads of one line."""

    place: str
    """``FILE:LINE``, which errors begin with."""
    cpus: tuple[int, ...]
    mix: Mix
    order: str
    size: int
    """Bytes of each thread's buffer."""
    placement: Placement


def read_threads(name: str) -> list[Threads]:
    """Read a per-thread file; UserError names file and line."""
    return parse_threads(read_job_text(name), name)


def parse_threads(text: str, name: str) -> list[Threads]:
    """Parse a per-thread file's text; ``name`` is what errors call it."""
    found: list[Threads] = []
    seen: dict[int, str] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        place = f"{name}:{number}"
        with errors_at(place):
            threads = _threads(words, place)
        for cpu in threads.cpus:
            if cpu in seen:
                raise UserError(f"{place}: CPU {cpu} has a thread already, by {seen[cpu]}")
            seen[cpu] = place
        found.append(threads)
    if not found:
        raise UserError(f"{name}: no line says what a thread does; see 'tierscope mlc --help'")
    return found


def _threads(words: list[str], place: str) -> Threads:
    if len(words) not in (_ONE, _TWO):
        raise UserError(
            f"{len(words)} words, not {_ONE} (CPUS TYPE seq|rand SIZE dram NODE) or {_TWO}, "
            "with a second node and its percent"
        )
    two = len(words) == _TWO
    mix = _mix(words[1], TWO_NODES if two else MIXES)
    if words[2] not in _ORDERS:
        raise UserError(f"'{words[2]}' is neither seq nor rand")
    if words[2] == "rand" and words[1] not in _RANDOM:
        raise UserError(f"rand goes with {', '.join(_RANDOM)}, not with {words[1]}")
    cpus = parse_initiator(f"cpus:{words[0]}", (EndpointKind.CPUS,)).numbers
    placement = _on_two(words[4:]) if two else bound(_node(words[4], words[5]))
    return Threads(place, cpus, mix, _ORDERS[words[2]], buffer_bytes(words[3]), placement)


def _mix(word: str, known: dict[str, Mix]) -> Mix:
    found = known.get(word)
    if found is None:
        names = tuple(known)
        raise UserError(f"'{word}' is not one of {', '.join(names)}{did_you_mean(word, names)}")
    return found


def _node(memory: str, text: str) -> int:
    if memory != "dram":
        raise UserError(
            f"'{memory}' is not dram; persistent memory is measured by "
            "'tierscope traffic --to pmem:PATH'"
        )
    try:
        return whole(0, 1023)(text)
    except UserError:
        raise UserError(f"'{text}' is not the number of a node") from None


def _on_two(words: list[str]) -> Placement:
    """Return pages in turn by weight, so that a thread goes to both nodes all of the time; ranges
    of the buffer by node would make it go to one after the other."""
    nodes = [_node(words[0], words[1]), _node(words[2], words[3])]
    percent = whole(0, 100)(words[4].removesuffix("%"))
    if nodes[0] == nodes[1]:
        raise UserError(f"node {nodes[0]} is named twice; name two")
    shares = dict(zip(nodes, (100 - percent, percent), strict=True))
    if percent in (0, 100):
        return bound(nodes[percent // 100])
    return shared_by("weighted", shares)

"""HMSDK's gen_migpol: a damo file that demotes and promotes between nodes.

Source: HMSDK's tools/gen_migpol.py. Where that starts damo to learn where nodes' memory is, this
reads sysfs, so it needs neither damo nor root.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tierscope.cli.output import Output
from tierscope.cli.tier import kernel_here
from tierscope.model.errors import UserError
from tierscope.place.damon import presets, tree
from tierscope.place.damon.files import damo_json, damo_yaml
from tierscope.place.damon.presets import PRESETS, Ranges
from tierscope.place.damon.rules import Kdamond, Rules, Scheme
from tierscope.plans.grammar import parse_size
from tierscope.runs.output import write_output

MEMCG = "/hmsdk"
"""The cgroup that rules are limited to, unless they are global."""
Way = tuple[int, int]
"""A source and a destination."""


class Ways(NamedTuple):
    """Directions of pages between nodes."""

    demotions: Sequence[Way]
    promotions: Sequence[Way]
    both: Sequence[Way]
    """Pairs of a fast and a slow node."""


def policy(asked: Ways, memcg: str | None, most: int | None, ranges: Ranges) -> Rules:
    """Return rules, demotions first.

    Regions of more than ``most`` bytes are cut, and each piece gets a kdamond. Raises UserError.
    """
    preset = PRESETS["hmsdk"]
    ways: list[tuple[Way, Scheme]] = []
    for source, target in (*asked.demotions, *asked.both):
        ways.append(((source, target), preset.make(source, target)[0]))
    for source, target in (*asked.promotions, *((slow, fast) for fast, slow in asked.both)):
        ways.append(((source, target), preset.make(target, source)[1]))
    if not ways:
        raise UserError("name nodes: -d SRC DEST, -p SRC DEST or -m FAST_TIER SLOW_TIER")
    found: list[Kdamond] = []
    seen: set[int] = set()
    for (source, target), scheme in ways:
        if source == target:
            raise UserError(f"node {source} is both SRC and DEST")
        if source in seen:
            raise UserError(f"node {source} is SRC more than once; a node's pages go one way")
        seen.add(source)
        schemes = (presets.limited(scheme, memcg),)
        found += [
            presets.monitored(regions, preset.monitoring, schemes)
            for regions in _cut(ranges(source), most)
        ]
    return Rules(tuple(found))


def _cut(regions: tuple[Way, ...], most: int | None) -> list[tuple[Way, ...]]:
    """Cut regions larger than ``most`` bytes into separate pieces; the others stay together."""
    if most is None:
        return [regions]
    pieces: list[tuple[Way, ...]] = []
    for start, end in regions:
        if end - start > most:
            pieces += [((at, min(at + most, end)),) for at in range(start, end, most)]
    whole = tuple((start, end) for start, end in regions if end - start <= most)
    return [*pieces, whole] if whole else pieces


def write_policy(
    ways: Ways, everything: bool, most: str | None, out: Path | None, output: Output
) -> None:
    """Print the policy, or write it to a file.

    Rules are for all processes if ``everything``, else for those of the cgroup. ``most`` is the
    size of the largest region.
    """
    output = output.beside({"-o": out})
    output.check()
    kernel = kernel_here()

    def ranges(node: int) -> tuple[Way, ...]:
        tree.check(kernel, node)
        return tree.ranges(kernel, node)

    for _, target in (*ways.demotions, *ways.promotions, *ways.both):
        tree.check(kernel, target)
    size = None if most is None else parse_size(most)
    if size is not None and size <= 0:
        raise UserError("--region-max-size has to be above 0")
    memcg = None if everything else MEMCG
    rules = policy(ways, memcg, size, ranges)
    text = damo_yaml(rules) + "\n"  # HMSDK's ends with an empty line, too
    if out is not None:
        write_output(out, text, "-o")
    output.emit(lambda: damo_json(rules), None if out else text)

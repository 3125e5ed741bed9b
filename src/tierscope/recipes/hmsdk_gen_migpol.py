"""HMSDK's gen_migpol: a file of damo's that demotes and promotes between nodes.

Source: HMSDK's tools/gen_migpol.py. Where that starts damo to learn where nodes' memory is, this
reads sysfs, so it needs neither damo nor root.
"""

from collections.abc import Sequence

from tierscope.model.errors import UserError
from tierscope.placement.damon import presets
from tierscope.placement.damon.presets import PRESETS, Ranges
from tierscope.placement.damon.rules import Kdamond, Rules, Scheme

MEMCG = "/hmsdk"
"""The cgroup that rules are limited to, unless they are global."""
Way = tuple[int, int]
"""A source and a destination."""


def policy(
    demotions: Sequence[Way],
    promotions: Sequence[Way],
    both: Sequence[Way],
    memcg: str | None,
    most: int | None,
    ranges: Ranges,
) -> Rules:
    """Return rules, demotions first; ``both`` are pairs of a fast and a slow node.

    Regions of more than ``most`` bytes are cut, and each piece gets a kdamond. Raises UserError.
    """
    preset = PRESETS["hmsdk"]
    ways: list[tuple[Way, Scheme]] = []
    for source, target in (*demotions, *both):
        ways.append(((source, target), preset.make(source, target)[0]))
    for source, target in (*promotions, *((slow, fast) for fast, slow in both)):
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
    """Cut what is larger than ``most`` into pieces of their own; the others stay together."""
    if most is None:
        return [regions]
    pieces: list[tuple[Way, ...]] = []
    for start, end in regions:
        if end - start > most:
            pieces += [((at, min(at + most, end)),) for at in range(start, end, most)]
    whole = tuple((start, end) for start, end in regions if end - start <= most)
    return [*pieces, whole] if whole else pieces

"""The matrix of storage: who reads which target how fast, with the affinity beside each figure."""

from collections.abc import Iterator
from dataclasses import replace

from tierscope.kinds.io.points import cached, on, operation
from tierscope.model.run import Measurement
from tierscope.report import figures
from tierscope.report.best import best_of
from tierscope.report.pictures.matrix import matrix_of
from tierscope.report.pictures.picture import Gathered, Picture, groups_by
from tierscope.topology.reach import reach

_ALIKE = ("operation", "read_percent", "order", "block_size", "depth", "threads")
_MIN_PATHS = 3
"""Paths from which on a matrix shows more than two bars would."""


def across(gathered: Gathered) -> Iterator[Picture]:
    """Initiator by target, a picture for each access pattern; the best backend counts."""

    def level(m: Measurement) -> str:
        targets, topology = on(m), gathered.run.header.topology
        if topology is None or not any(one.drives or one.nfs for one in targets):
            return ""
        return str(reach(topology, m.initiator, targets))

    direct = [m for m in gathered.measured if not cached(m) and m.pattern.get("jobs", 1) == 1]
    for group in groups_by(direct, *_ALIKE).values():
        best = [best_of(path) for path in groups_by(group, "path").values()]
        if len(best) >= _MIN_PATHS and len({m.initiator for m in best}) > 1:
            first = best[0].pattern
            size = figures.size_text(first["block_size"])
            what = f"{operation(best[0])}, {size}, depth {first['depth']}"
            picture = matrix_of(best, what, gathered.endpoints, level)
            yield replace(picture, subtitle=f"{picture.subtitle}; beside each figure its affinity")

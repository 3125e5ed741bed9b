"""Pictures of idle latency: ways of access, all paths."""

from tierscope.report import figures
from tierscope.report.pictures import shapes
from tierscope.report.pictures.matrix import matrix_of
from tierscope.report.pictures.picture import (
    Gathered,
    Picture,
    constants,
    groups_by,
    path_of,
    scale_of,
    slug,
    varying,
    words_of,
)


def variants(gathered: Gathered) -> list[Picture]:
    """Bars of one working set measured in several ways: page sizes, orders."""
    pictures: list[Picture] = []
    for (path, size), group in groups_by(gathered.measured, "path", "size").items():
        names = varying(group)
        if len(group) < 2 or not names:
            continue
        unit, factor = scale_of(group)
        pictures.append(
            Picture(
                key=slug(f"variants {path} {size}"),
                title=f"Latency by kind of access, {path}",
                subtitle=constants(group),
                alt="; ".join(
                    f"{words_of(m, names)} {figures.with_interval(m, factor)} {unit}" for m in group
                ),
                spec=shapes.bars(group, lambda m, names=names: words_of(m, names)),  # type: ignore[misc]
                measurements=group,
            )
        )
    return pictures


def matrix(gathered: Gathered) -> list[Picture]:
    """Initiator by target at the largest working set that all paths share."""
    pictures: list[Picture] = []
    paths = len({path_of(m) for m in gathered.measured})
    if paths < 2:
        return []
    groups = groups_by(gathered.measured, *varying(gathered.measured, "path", "size"))
    for members in groups.values():
        largest = [
            max(group, key=lambda m: m.pattern.get("size", 0))
            for group in groups_by(members, "path").values()
        ]
        if len(largest) == paths:
            pictures.append(matrix_of(largest, constants(largest) or "largest working set"))
    return pictures

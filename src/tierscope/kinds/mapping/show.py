"""The picture of what mapping memory costs."""

from typing import Any

from tierscope.model.run import Measurement
from tierscope.model.spec import HUGETLB
from tierscope.report import figures
from tierscope.report.pictures.generic import stacked
from tierscope.report.pictures.picture import (
    Picture,
    PictureInput,
    constants,
    groups_by,
    slug,
    varying,
    words_of,
)
from tierscope.report.view import View

_MIB = 1 << 20


def mapping(given: PictureInput) -> list[Picture]:
    """What a MiB costs to map, populate and unmap, by kind of pages; parts of one bar."""
    pictures: list[Picture] = []
    machine = given.run.header.machine
    page_bytes = {
        "base": machine.get("page_bytes") or 4096,
        "thp": machine.get("thp_page_bytes") or 2 << 20,  # as older run files took it to be
        **HUGETLB,
    }
    for (path,), group in groups_by(given.measured, "path").items():
        names = varying(group, "path") or ["pages"]
        rows = [row for m in group for row in _phases(m, words_of(m, names), page_bytes)]
        if not rows:
            continue
        pictures.append(
            Picture(
                key=slug(f"mapping {path}"),
                title=f"Cost of mapping memory, {path}",
                subtitle=constants(group),
                alt="; ".join(
                    f"{words_of(m, names)} {figures.text(m, 1.0, 'ns')} a page" for m in group
                ),
                spec=stacked(rows, "µs a MiB"),
                measurements=group,
            )
        )
    return pictures


def _phases(
    measurement: Measurement, name: str, page_bytes: dict[str, int]
) -> list[dict[str, Any]]:
    """Return the parts of a bar in µs a MiB, from figures in ns in all and ns a page; nothing for
    pages of a size that is not known."""
    found = {figure.metric: figure.estimate for figure in measurement.figures}
    size_of_page = page_bytes.get(str(measurement.pattern.get("pages")))
    mib = measurement.pattern["size"] / _MIB
    if not size_of_page or not mib:
        return []
    pages = _MIB / size_of_page
    parts = {
        "map": found.get("map", 0.0) / mib,
        "populate": found.get("populate_per_page", 0.0) * pages,
        "unmap": found.get("unmap_per_page", 0.0) * pages,
    }
    whole = figures.significant(sum(parts.values()) / 1e3, 3)
    return [
        {"name": name, "series": part, "value": ns / 1e3, "text": whole,
         "tip": f"{name}, {part}: {figures.significant(ns / 1e3, 3)} µs a MiB"}
        for part, ns in parts.items()
    ]  # fmt: skip


VIEW = View(
    title="Mapping",
    method="One thread maps, writes to each page and unmaps, each timed by itself; the pages' "
    "nodes are read back before they go; medians of the parts, scaled to a MiB.",
    pictures=(mapping,),
)

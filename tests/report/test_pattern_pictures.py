"""Pictures of streams, atomics, mapping, orders and strides."""

import pytest
from tests import synthetic

from tierscope.kinds.views import VIEWS
from tierscope.report.pictures.of_run import pictures_of
from tierscope.report.pictures.picture import Picture
from tierscope.report.view import kinds_in


@pytest.fixture(scope="module")
def pictures() -> list[Picture]:
    run = synthetic.run(synthetic.pattern_measurements(synthetic.Maker()),
                      synthetic.memory_measurements(synthetic.Maker()))  # fmt: skip
    return [picture for kind in kinds_in(run, VIEWS) for picture in pictures_of(run, kind, VIEWS)]


@pytest.mark.parametrize(
    "title",
    [
        "Bandwidth by mix of reads and writes, node:0 → node:0",
        "Bandwidth of streams over threads, node:0 → node:0",
        "Bandwidth of streams over prefetch distance, node:0 → node:0",
        "Concurrent streams, node:0 → node:0 and others",
        "Atomic updates of all threads, node:0 → node:0",
        "Cost of mapping memory, node:0 → node:0",
        "Read bandwidth by order of access, node:0 → node:0",
        "Bandwidth over stride, node:0 → node:0",
    ],
)
def test_each_has_one_picture_of_its_own(pictures: list[Picture], title: str) -> None:
    assert sum(picture.title == title for picture in pictures) == 1


def test_what_mapping_costs_is_the_sum_of_its_parts(pictures: list[Picture]) -> None:
    picture = next(p for p in pictures if p.title.startswith("Cost of mapping memory"))
    rows = picture.spec["data"]["values"]
    base = {row["series"]: row["value"] for row in rows if row["name"] == "base pages"}
    # 64 MiB mapped in 6 us; 256 pages a MiB.
    assert base == pytest.approx({"map": 6 / 64, "populate": 0.35 * 256, "unmap": 0.06 * 256})
    huge = {row["series"]: row["value"] for row in rows if row["name"] == "thp pages"}
    assert huge == pytest.approx({"map": 6 / 64, "populate": 45.0, "unmap": 2.0})


def test_huge_pages_of_a_mapping_are_as_large_as_the_machine_s() -> None:
    run = synthetic.run(synthetic.pattern_measurements(synthetic.Maker()))
    run.header.machine["thp_page_bytes"] = 512 << 20
    of_mapping = pictures_of(run, "mapping", VIEWS)
    (picture,) = [p for p in of_mapping if p.title.startswith("Cost of mapping memory")]
    rows = picture.spec["data"]["values"]
    huge = {row["series"]: row["value"] for row in rows if row["name"] == "thp pages"}
    assert huge == pytest.approx({"map": 6 / 64, "populate": 90 / 512, "unmap": 4 / 512})


def test_a_mix_s_bar_ends_at_what_the_bus_carries(pictures: list[Picture]) -> None:
    picture = next(p for p in pictures if p.title.startswith("Bandwidth by mix"))
    found: dict[str, list[float]] = {}
    for row in picture.spec["data"]["values"]:
        found.setdefault(row["name"], []).append(row["value"])
    ordinary = found["67:33 read:write"]
    assert sum(ordinary) / ordinary[0] == pytest.approx(1.33, rel=0.01)
    assert len(found["67:33nt read:write"]) == len(found["100:0 read:write"]) == 1


def test_threads_by_size_is_a_map_in_every_order_and_no_bundle_of_curves() -> None:
    maker = synthetic.Maker()
    measured = [
        maker.make("bandwidth", "node:0", "node:1",
                   {"operation": operation, "order": order, "access_size": 64, "size": size << 30,
                    "pages": "thp", "isa": "auto", "threads": threads},
                   threads * 9e9)
        for operation in ("read", "write")
        for order in ("sequential", "random")
        for size in (10, 20, 30, 40)
        for threads in (1, 4, 8)
    ]  # fmt: skip
    drawn = pictures_of(synthetic.run(measured), "bandwidth", VIEWS)
    maps = [one for one in drawn if "by threads and size of the arrays" in one.title]
    assert len(maps) == 4
    assert len({one.key for one in maps}) == 4
    rows = maps[0].spec["data"]["values"]
    assert {row["row"] for row in rows} == {"10 GiB", "20 GiB", "30 GiB", "40 GiB"}
    assert {row["column"] for row in rows} == {"1", "4", "8"}
    bundles = ("Bandwidth over threads", "Bandwidth over working set")
    assert not [one for one in drawn if one.title.startswith(bundles)]

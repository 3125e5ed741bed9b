"""Pictures of storage."""

import pytest
from tests import synthetic

from tierscope.kinds.views import VIEWS
from tierscope.report.pictures.draw import svg_for_file
from tierscope.report.pictures.of_run import pictures_of
from tierscope.report.pictures.picture import Picture


@pytest.fixture(scope="module")
def pictures() -> dict[str, Picture]:
    run = synthetic.run(synthetic.storage_measurements(synthetic.Maker()))
    return {picture.key: picture for picture in pictures_of(run, "io", VIEWS)}


def rows_of(picture: Picture) -> list[dict[str, object]]:
    rows = picture.spec["data"]["values"]
    assert isinstance(rows, list)
    return rows


def of(pictures: dict[str, Picture], start: str) -> Picture:
    (found,) = [picture for key, picture in pictures.items() if key.startswith(start)]
    return found


def test_each_question_has_a_picture(pictures: dict[str, Picture]) -> None:
    starts = [key.partition("-")[0] for key in pictures]
    assert {"depth", "latency", "blocks", "map", "time"} <= set(starts)
    assert starts.count("latency") == 2, "one for each operation, so that none is crowded"


def test_depths_are_drawn_with_all_operations(pictures: dict[str, Picture]) -> None:
    drawn = rows_of(of(pictures, "depth-"))
    assert {row["series"] for row in drawn} == {"random read", "random write"}
    assert sorted({row["x"] for row in drawn}) == [1 << power for power in range(9)]


def test_latency_is_drawn_over_the_rate_with_its_percentiles(pictures: dict[str, Picture]) -> None:
    drawn = rows_of(of(pictures, "latency-node-0-file-data-random-read"))
    assert {row["series"] for row in drawn} == {"p50", "p99", "p99.9"}
    assert len(drawn) == 27


def test_a_map_has_no_holes(pictures: dict[str, Picture]) -> None:
    drawn = rows_of(of(pictures, "map-"))
    cells = {(row["row"], row["column"]) for row in drawn}
    lines, columns = {line for line, _ in cells}, {column for _, column in cells}
    assert lines == {"4 KiB", "16 KiB", "64 KiB", "256 KiB"}
    assert columns == {"1", "4", "16", "64"}
    assert len(cells) == len(drawn) == 16


def test_every_picture_can_be_drawn_and_says_what_it_shows(pictures: dict[str, Picture]) -> None:
    for picture in pictures.values():
        assert svg_for_file(picture).startswith(b"<svg")
        assert picture.alt.endswith(".")
        assert "steady" in of(pictures, "time-node-0-file-data-iops").alt


def test_a_run_without_sweeps_gets_bars() -> None:
    maker = synthetic.Maker()
    measured = [synthetic.storage_measurement(maker, 1e4, backend=b) for b in ("posix", "mmap")]
    keys = [picture.key for picture in pictures_of(synthetic.run(measured), "io", VIEWS)]
    assert any(key.startswith("io-iops") for key in keys)

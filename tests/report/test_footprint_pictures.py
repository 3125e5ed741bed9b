"""Pictures of what is accessed: each cell where and when it was, and lines of the working set."""

from pathlib import Path
from typing import Any

from tierscope.place.damon.footprint import Observed, Piece
from tierscope.report.pictures.draw import svg_for_file
from tierscope.report.pictures.footprint import footprint_pictures

MIB = 1 << 20


def observed(name: str, heat: list[list[float]]) -> Observed:
    """Two pieces of 10 MiB with a gap between them."""
    pieces = [Piece(start, start + 10 * MIB, 10 * MIB) for start in (0x1000_0000, 0x7000_0000)]
    return Observed(name, pieces, heat)


def cells(spec: dict[str, Any]) -> list[tuple[float, ...]]:
    (layer,) = [one for one in spec["layer"] if "color" in one["encoding"]]
    names = ("x", "x2", "y", "y2", "share")
    return [tuple(row[name] for name in names) for row in layer["data"]["values"]]


def test_a_heat_map_has_each_access_at_its_address_and_time() -> None:
    one = observed("7 x", [[0.5, 0.0], [0.5, 0.0], [0.02, 1.0]])
    _, picture = footprint_pictures("process 7", [1.0, 2.0, 4.0], [one])
    assert cells(picture.spec) == [(0, 2, 0, 1, 0.5), (2, 4, 0, 1, 0.05), (2, 4, 1, 2, 1.0)]
    assert picture.key == "heat-7-x"
    assert picture.alt.startswith("Of 20 MiB resident, 20 MiB were accessed")
    drawn = svg_for_file(picture).decode()
    assert ">10000000<" in drawn
    assert ">70000000<" in drawn


def test_working_sets_of_several_are_lines_and_their_sum() -> None:
    found = [observed("7 x", [[0.5, 0.0], [0.5, 1.0]]), observed("8 y", [[0.0, 0.0], [0.0, 0.1]])]
    first, *maps = footprint_pictures("process 7", [1.0, 2.0], found)
    rows = first.spec["data"]["values"]
    assert [(row["series"], row["value"]) for row in rows] == [
        ("all", 10), ("all", 30), ("7 x", 10), ("7 x", 20), ("8 y", 0), ("8 y", 10),
    ]  # fmt: skip
    assert len(maps) == 2


def test_maps_are_of_the_four_largest() -> None:
    found = [observed(f"{number} x", [[0.0, 0.0]]) for number in range(6)]
    assert len([*footprint_pictures("process 7", [1.0], found)]) == 5


def test_lines_without_points_have_a_legend_that_shows_them(tmp_path: Path) -> None:
    looks = 70
    found = [observed(name, [[0.5, 0.0]] * looks) for name in ("7 x", "8 y")]
    first, *_ = footprint_pictures("process 7", [float(at + 1) for at in range(looks)], found)
    legend = svg_for_file(first).decode().partition("role-legend-symbol")[2]
    assert 'stroke="#0072b2" stroke-width="2"' in legend[:400]

"""The forms of pictures: what they leave out they say, and nothing is drawn that cannot be seen."""

import json

import pytest
from tests import synthetic

from tierscope.analysis.compare import compare
from tierscope.model.comparison import Difference
from tierscope.model.path import Limit
from tierscope.report.compare import by_path, reasons_for
from tierscope.report.pictures import shapes
from tierscope.report.pictures.changes import changes_picture, trend_picture
from tierscope.report.pictures.draw import svg_for_file
from tierscope.report.pictures.picture import Picture, Spec


def drawn(spec: Spec) -> str:
    return svg_for_file(Picture("key", "title", "subtitle", "alt", spec, [])).decode()


def rows_of(columns: int, low: float = 1.0, high: float = 2.0) -> list[dict[str, object]]:
    step = (high - low) / max(1, columns - 1)
    return [
        {
            "row": "read",
            "column": f"{n}",
            "value": low + n * step,
            "text": f"cell{n}",
            "tip": f"{n}",
        }
        for n in range(columns)
    ]


def test_a_small_map_has_its_figures_in_its_cells() -> None:
    assert "cell3" in drawn(shapes.heatmap(rows_of(8), "threads", "operation", "GB/s", "high"))


def test_a_map_without_room_has_a_legend_instead() -> None:
    svg = drawn(shapes.heatmap(rows_of(40), "threads", "operation", "GB/s", "high"))
    assert "cell3" not in svg
    assert "GB/s" in svg


@pytest.mark.parametrize(("high", "kind"), [(2.0, "linear"), (500.0, "log")])
def test_colours_of_a_wide_range_are_logarithmic(high: float, kind: str) -> None:
    spec = shapes.heatmap(rows_of(8, 1.0, high), "threads", "operation", "GB/s", "high")
    assert spec["layer"][0]["encoding"]["color"]["scale"]["type"] == kind


def test_small_differences_have_like_colours() -> None:
    spec = shapes.heatmap(rows_of(4, 50.0, 52.0), "to", "from", "GB/s", "high")
    assert spec["layer"][0]["encoding"]["color"]["scale"]["domain"] == [26.0, 52.0]


@pytest.mark.parametrize(("value", "said"), [(30e9, False), (900e9, True)])
def test_a_limit_far_beyond_the_bars_is_told_not_drawn(value: float, said: bool) -> None:
    limit = Limit(value=value, unit="B/s", link="link", formula="f", source="s")
    maker = synthetic.Maker()
    made = [maker.make("bandwidth", "node:0", "node:0", {"operation": name}, 20e9, limit=limit)
            for name in ("read", "write")]  # fmt: skip
    spec = shapes.bars(made, lambda m: str(m.pattern["operation"]))
    assert ("limit 900 GB/s, beyond this axis" in drawn(spec)) is said


@pytest.mark.parametrize(("number", "said"), [(12, False), (14, True)])
def test_curves_that_are_left_out_are_counted(number: int, said: bool) -> None:
    rows = [
        {"x": x, "value": 1.0 + n, "low": 0.9 + n, "high": 1.1 + n, "series": f"s{n}", "tip": "t"}
        for n in range(number)
        for x in (1, 2)
    ]
    y = {"field": "value", "type": "quantitative", "title": "GB/s"}
    svg = drawn(shapes.curves(rows, shapes.count_axis("threads", [1, 2]), y))
    assert ("2 more curves are in the CSV" in svg) is said
    assert "s11" in svg


def lost(ratio: float, verdict: str = "slower", **more: object) -> Difference:
    return Difference(
        kind="bandwidth", initiator="node:0", target="node:1", pattern={"operation": "read"},
        metric="bandwidth", unit="B/s", verdict=verdict, ratio=ratio, low=0.98 * ratio,
        high=1.02 * ratio, base=1e10, new=ratio * 1e10, **more,
    )  # type: ignore[arg-type]  # fmt: skip


@pytest.mark.parametrize(("ratios", "label"), [((0.95, 0.96), "\u22124%"), ((0.5, 3.0), "\u00d72")])
def test_small_changes_are_in_percent_and_large_ones_are_factors(
    ratios: tuple[float, float], label: str
) -> None:
    assert label in svg_for_file(changes_picture([lost(r) for r in ratios])).decode()


def test_a_trend_draws_each_run_s_interval_and_says_the_verdict() -> None:
    maker = synthetic.Maker(noise=0.05)
    runs = [maker.make("bandwidth", "node:0", "node:1", {}, value) for value in (1e10, 9.5e9, 9e9)]
    picture = trend_picture(lost(0.9), [runs[0], None, runs[2]], ["a", "b", "c"])
    data = json.dumps(picture.spec)
    assert '"low"' in data
    assert '"high"' in data
    assert picture.alt.endswith("-10.0% (-11.8 to -8.2), slower.")
    assert "–" in picture.alt


def test_what_changed_is_said_by_path() -> None:
    base = synthetic.run(synthetic.memory_measurements(synthetic.Maker()))
    slow = [
        synthetic.changed(m, estimate=(m.estimate or 0) * 0.9, ci_low=(m.ci_low or 0) * 0.9,
                          ci_high=(m.ci_high or 0) * 0.9, samples=[s * 0.9 for s in m.samples])
        if m.target == "node:1" else m
        for m in base.measurements
    ]  # fmt: skip
    found = compare(("base", base), ("new", base.model_copy(update={"measurements": slow})), 0.02)
    assert by_path(found) == ["node:0 → node:1 bandwidth: 30 of 30 slower, -10.0%"]


def test_noise_is_one_reason_whatever_its_size() -> None:
    base = synthetic.run(synthetic.memory_measurements(synthetic.Maker()))
    found = compare(("base", base), ("new", base), 0.02)
    noisy = [
        lost(
            1.0,
            "not comparable",
            cause="noisy",
            reason=f"too noisy: no change of less than {n}% would show",
        )
        for n in (30, 30, 40)
    ]  # fmt: skip
    assert reasons_for("not comparable", found.model_copy(update={"differences": noisy})) == [
        ("too noisy: no change of less than 30% would show (and 1 similar)", 3)
    ]

"""Latency over load threads: its plan, its table and its picture."""

import math
from io import StringIO
from typing import Any

import pytest
from rich.console import Console
from tests import synthetic

from tierscope.kinds.loaded_latency.show import (
    curves_of,
    key_figure,
    load_threads,
    over_threads,
    show_table,
    summary_of,
    thread_curves,
)
from tierscope.kinds.loaded_latency.spec import REQUEST, LoadedLatencySpec
from tierscope.model.errors import UserError
from tierscope.model.run import Figure, Measurement, Refinement
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.request import Request
from tierscope.report.pictures.draw import svg_for_file
from tierscope.report.pictures.picture import PictureInput
from tierscope.runs.measure import further_points, further_seconds


def ask(machine: Topology, **options: str) -> list[LoadedLatencySpec]:
    named = {name.replace("_", "-"): value for name, value in options.items()}
    request = Request(kind="loaded-latency", options=named)
    plan = expand([request], machine, thp=True)
    return [spec for spec in plan.measurements if isinstance(spec, LoadedLatencySpec)]


def test_one_command_goes_over_threads_loads_and_tiers(machine: Topology) -> None:
    specs = ask(machine, to="node:0,node:2", load_threads="0,1,2..6+2",
                mix="100:0,0:100", load_order="sequential,random")  # fmt: skip
    assert len(specs) == len({spec.id for spec in specs}) == 2 * (4 * 4 + 1)
    assert sum(spec.load.idle for spec in specs) == 2, "the chase alone is the same for each load"
    some = [spec for spec in specs if spec.target == "node:2" and spec.load.pattern.writes == 100
            and spec.load.pattern.order == "random"]  # fmt: skip
    assert [spec.identity()["load_threads"] for spec in some] == [1, 2, 4, 6]
    assert all(spec.load.pattern.delay_ns == 0 for spec in some)
    # All points of a curve have the same load, but for the threads that share it.
    assert len({spec.load.pattern.size for spec in some}) == 1
    assert some[-1].load.cpus == [1, 2, 3, 9, 10, 11]
    assert some[1].load.cpus == [1, 2]


def test_the_load_may_touch_more_or_less_at_once(machine: Topology) -> None:
    specs = ask(machine, load_threads="0,2", load_access_size="64,1k", load_order="random")
    assert {spec.load.pattern.access_size for spec in specs} == {64, 1024}
    assert len({spec.id for spec in specs}) == 3


def test_curves_over_threads_are_not_refined(machine: Topology) -> None:
    options = {"load-threads": "0,1,4"}
    assert REQUEST.refinement is not None
    assert REQUEST.refinement(Request(kind="loaded-latency", options=options)) == Refinement(
        points=0
    )
    specs = ask(machine, load_threads="0,1,4")
    measured = [with_rate(outcome(spec.identity(), 100.0), 1e9) for spec in specs]
    found = [m.model_copy(update={"id": s.id}) for m, s in zip(measured, specs, strict=True)]
    # Another request of the same run may ask for further points, of its own curves.
    how = Refinement(points=12)
    assert further_points(specs, how, found) == []
    assert further_seconds(specs, how) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"load_threads": "0"}, "--load-threads: 0 alone loads nothing"),
        ({"load_threads": "1..7"}, "--load-threads: 7, but node:0 can load with 6"),
        ({"load_threads": "0,1,x"}, "--load-threads: 'x' is neither a count"),
        ({"load_threads": "0,4", "points": "9"}, "--points: goes with loads of a set rate"),
        ({"load_threads": "1..4", "at": "5"}, "--at: goes with loads of a set rate"),
    ],
)
def test_what_cannot_be_over_threads_is_refused(
    machine: Topology, options: dict[str, str], message: str
) -> None:
    with pytest.raises(UserError) as refused:
        ask(machine, **options)
    assert str(refused.value).startswith(message)


_MAKER = synthetic.Maker(noise=0.01)
_CHASE = {"order": "random", "stride": 256, "size": 1 << 30, "pages": "thp",
          "load_from": "node:0", "load_access_size": 1024, "load_size": 1 << 30}  # fmt: skip


def outcome(pattern: dict[str, Any], latency: float, target: str = "node:0") -> Measurement:
    return _MAKER.make("loaded-latency", "node:0", target, pattern, latency, "ns")


def with_rate(measurement: Measurement, rate: float) -> Measurement:
    return synthetic.changed(
        measurement, figures=[Figure(metric="bandwidth", unit="B/s", estimate=rate)]
    )


def swept(counts: tuple[int, ...] = (0, 1, 4, 8, 16, 31)) -> list[Measurement]:
    """Two tiers under four kinds of load, that get slower as more threads load them."""
    found = []
    for target, idle, peak in (("node:0", 110.0, 200e9), ("node:2", 280.0, 25e9)):
        for mix, order in (("100:0", "sequential"), ("0:100", "sequential"),
                           ("100:0", "random"), ("0:100", "random")):  # fmt: skip
            for count in counts:
                rate = peak * (1 - math.exp(-count / 8)) * (0.6 if order == "random" else 1)
                pattern = {**_CHASE, "load_to": target, "mix": mix, "load_order": order,
                           "load_threads": count, "delay_ns": 0 if count else None}  # fmt: skip
                slower = 1 + (2 if mix == "0:100" else 1.2) * rate / peak
                made = outcome(pattern, idle * slower, target)
                found.append(with_rate(made, rate) if count else made)
    return found


def test_points_of_threads_make_no_curve_over_bandwidth() -> None:
    measured = swept()
    assert len(thread_curves(measured)) == 8
    assert curves_of(measured) == []
    rates = [m for m in measured if m.pattern["load_threads"] in (0, 31)]
    other = [m.model_copy(update={"id": f"{m.id}.slow", "pattern": {**m.pattern, "delay_ns": 400}})
             for m in rates if m.pattern["load_threads"]]  # fmt: skip
    # Of threads that load at two rates, the curve is one over bandwidth.
    assert thread_curves([*rates, *other]) == []
    assert len(curves_of([*rates, *other])) == 8


def test_the_table_has_a_row_for_each_count_and_fits() -> None:
    text = StringIO()
    run = synthetic.run(swept())
    show_table(Console(file=text, width=100), run.measurements, run)
    lines = text.getvalue().splitlines()
    assert all(len(line) <= 100 for line in lines)
    rows = [line.split() for line in lines if line.startswith((" 100:0", " 0:100"))]
    for count in ("0", "1", "4", "8", "16", "31"):
        assert sum(row[2] == count for row in rows) == 8  # four loads of each tier
    assert "random writes: 28" in " ".join(text.getvalue().split())


def test_the_picture_has_a_panel_for_each_tier() -> None:
    run = synthetic.run(swept())
    (picture,) = over_threads(
        PictureInput("loaded-latency", "Latency under load", run.measurements, run)
    )
    panels = picture.spec["concat"]
    assert [panel["title"]["text"] for panel in panels] == ["node:0", "node:2"]
    series = {row["series"] for panel in panels for row in panel["data"]["values"]}
    assert series == {f"{order} {what}" for order in ("sequential", "random")
                      for what in ("reads", "writes")}  # fmt: skip
    domains = [
        layer["encoding"]["y"]["scale"]["domain"]
        for panel in panels
        for layer in panel["layer"]
        if "y" in layer.get("encoding", {}) and "scale" in layer["encoding"]["y"]
    ]
    assert all(domain == domains[0] for domain in domains)
    assert "node:2, random writes" in picture.alt
    assert svg_for_file(picture).startswith(b"<svg")


def test_the_summary_names_the_slowest_load() -> None:
    measured = swept()
    assert "node:2 under sequential writes is" in summary_of(measured)
    figure = key_figure(measured)
    assert figure is not None
    assert "31 load threads of sequential writes" in str(figure)


def test_curves_share_the_idle_point_of_their_chase(machine: Topology) -> None:
    specs = ask(machine, to="node:0,node:2", load_threads="0,1,4", mix="100:0,0:100")
    measured = [
        with_rate(outcome(spec.identity(), 100.0, spec.target), 1e9).model_copy(
            update={"id": spec.id}
        )
        for spec in specs
    ]
    curves = thread_curves(measured)
    assert [[load_threads(m) for m in curve] for curve in curves] == [[0, 1, 4]] * 4
    idle = {(curve[0].id, curve[0].target) for curve in curves}
    assert len(idle) == 2
    assert all(curve[0].target == curve[-1].target for curve in curves)

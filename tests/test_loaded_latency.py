"""Loaded latency: from options to points, from points to a curve, and where it needs more."""

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests import synthetic

from tierscope.analysis.curve import Point, delay_for, latency_at, next_delays, summarize
from tierscope.kinds.loaded_latency.show import falls, loaded_points
from tierscope.kinds.loaded_latency.spec import COARSE_DELAYS_NS, REQUEST, LoadedLatencySpec
from tierscope.model.errors import UserError
from tierscope.model.event import Evidence
from tierscope.model.run import Figure, Measurement, Refinement
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.grammar import parse_mix
from tierscope.plans.request import Request
from tierscope.runs.measure import further_points, further_seconds

PEAK = 100e9
IDLE = 90.0


def point(delay_ns: int, threads: int = 15) -> Point:
    """A synthetic path of 100 GB/s that queues up as it fills; each access of 1 KiB takes 80 ns."""
    asked = threads * 1024e9 / (delay_ns + 80)
    use = min(0.97, asked / PEAK)
    return Point(delay_ns, min(asked, PEAK), IDLE + 10 * use / (1 - use))


def coarse() -> list[Point]:
    return [point(delay) for delay in COARSE_DELAYS_NS]


def ask(machine: Topology, **options: str) -> list[LoadedLatencySpec]:
    named = {name.rstrip("_").replace("_", "-"): value for name, value in options.items()}
    request = Request.model_validate({"kind": "loaded-latency", "options": named})
    plan = expand([request], machine, thp=True)
    return [spec for spec in plan.measurements if isinstance(spec, LoadedLatencySpec)]


def test_a_full_path_has_a_knee_and_is_saturated() -> None:
    points = [point(delay) for delay in (8000, 2000, 800, 400, 240, 180, 120, 90, 74, 60, 20, 0)]
    summary = summarize(points, [90.0, 91.0, 90.5])
    assert summary.saturated
    assert summary.peak.bandwidth == PEAK
    assert summary.knee is not None
    assert 0.5 * PEAK < summary.knee.bandwidth < 0.95 * PEAK
    assert summary.idle == 90.5
    assert summary.drift == pytest.approx(91 / 90 - 1)


def test_twice_the_idle_latency_lies_between_the_points_around_it() -> None:
    points = [Point(100, 10e9, 100.0), Point(0, 20e9, 300.0)]
    assert summarize(points, [100.0]).doubled == pytest.approx(15e9)
    assert summarize(points[:1], [100.0]).doubled is None


def test_a_straight_curve_has_no_knee() -> None:
    points = [Point(400 - 100 * i, i * 1e9 + 1e9, 100.0 + 10 * i) for i in range(5)]
    assert summarize(points, [90.0]).knee is None


def test_a_weak_load_is_not_called_saturation() -> None:
    summary = summarize([point(delay, threads=1) for delay in COARSE_DELAYS_NS], [IDLE])
    assert not summary.saturated


def test_points_gather_where_the_curve_bends() -> None:
    points = coarse()
    while len(points) < 12:
        added = next_delays(points, IDLE, min(3, 12 - len(points)))
        assert added
        points += [point(delay) for delay in added]
    refined = points[len(COARSE_DELAYS_NS) :]
    bent = [p for p in refined if p.bandwidth > 0.7 * PEAK]
    assert len(bent) >= len(refined) / 2
    # The gap that the coarse points leave around the knee is closed.
    rates = sorted(p.bandwidth for p in points if p.bandwidth > 0.5 * PEAK)
    assert max(b - a for a, b in pairwise(rates)) < 0.25 * PEAK


@example([(0, 1000000.0000000001, 1.0), (2, 1e6, 2.0)], 1.0)  # Alike but for rounding.
@given(
    st.lists(
        st.tuples(st.integers(0, 10_000), st.floats(1e6, 1e12), st.floats(1, 1e5)),
        min_size=1,
        max_size=30,
        unique_by=lambda entry: entry[0],
    ),
    st.floats(1, 1e5),
)
def test_new_delays_are_new_and_lie_in_range(
    raw: list[tuple[int, float, float]], idle: float
) -> None:
    points = [Point(*entry) for entry in raw]
    taken = {p.delay_ns for p in points}
    for delay in next_delays(points, idle, 3):
        assert delay not in taken
        assert 0 <= delay <= 2**3 * max(taken)


def test_a_bandwidth_asked_for_is_reached_by_steps() -> None:
    points = coarse()
    for _ in range(5):
        delay = delay_for(points, 55e9)
        if delay is None:
            break
        points.append(point(delay))
    assert min(abs(p.bandwidth / 55e9 - 1) for p in points) < 0.03
    exact = IDLE + 10 * 0.55 / 0.45
    assert latency_at(points, IDLE, 55e9) == pytest.approx(exact, rel=0.05)


def test_a_bandwidth_past_the_peak_is_not_invented() -> None:
    assert delay_for(coarse(), 2 * PEAK) is None
    assert latency_at(coarse(), IDLE, 2 * PEAK) is None


def loaded(delay_ns: int, latency: float, **evidence: object) -> Measurement:
    """A point of a curve with an interval of 2%."""
    maker = synthetic.Maker(noise=0.0)
    made = maker.make("loaded-latency", "node:0", "node:0", {"delay_ns": delay_ns}, latency, "ns")
    return synthetic.changed(
        made,
        ci_low=0.98 * latency,
        ci_high=1.02 * latency,
        evidence=Evidence.model_validate({"settled": True, **evidence}),
    )


def test_a_curve_that_rises_says_nothing() -> None:
    assert falls([loaded(1000, 100), loaded(100, 99), loaded(0, 300)], drift=0.0) == []


def test_a_point_without_an_interval_shows_no_fall() -> None:
    unsure = synthetic.changed(loaded(100, 150), ci_low=None, ci_high=None)
    assert falls([loaded(1000, 200), unsure, loaded(0, 300)], drift=0.0) == []
    assert falls([unsure, loaded(0, 300)], drift=0.0) == []


@pytest.mark.parametrize(
    ("evidence", "drift", "why"),
    [
        ({"disturbed": 3}, 0.2, "the point at delay 1000 was disturbed by other programs"),
        ({"settled": False}, 0.0, "the point at delay 1000 did not settle"),
        ({}, 0.2, "idle controls differ by 20%"),
        ({}, 0.01, "unexplained, measure again"),
    ],
)
def test_a_curve_that_falls_says_why(evidence: dict[str, object], drift: float, why: str) -> None:
    lines = falls([loaded(1000, 200, **evidence), loaded(100, 150), loaded(0, 300)], drift)
    assert len(lines) == 1
    assert lines[0].startswith("latency falls from 200 to 150 ns although the load rises")
    assert why in lines[0]


def with_rate(measurement: Measurement, rate: float) -> Measurement:
    figures = [Figure(metric="bandwidth", unit="B/s", estimate=rate)]
    return synthetic.changed(measurement, figures=figures)


def outcome(spec: LoadedLatencySpec, latency: float, **evidence: object) -> Measurement:
    """What a loaded point came to; the lighter the load, the less it moves."""
    delay = spec.load.pattern.delay_ns
    made = with_rate(loaded(delay, latency, **evidence), 1e12 / (delay + 80))
    return made.model_copy(update={"id": spec.id})


def test_disturbed_points_are_measured_again_and_count_for_nothing(machine: Topology) -> None:
    specs = [spec for spec in ask(machine, points="6") if not spec.load.idle]
    how = Refinement(points=6)
    first = [
        outcome(spec, 500, disturbed=9) if spec.load.pattern.delay_ns == 400 else outcome(spec, 100)
        for spec in specs
    ]
    again = further_points(specs, how, first)
    (second,) = [spec for spec in again if isinstance(spec, LoadedLatencySpec)]
    assert second.load.pattern.delay_ns == 400
    assert second.id not in {spec.id for spec in specs}
    planned = [*specs, second]
    good = [*first, outcome(second, 101)]
    assert further_points(planned, how, good) == []
    points = {point.delay_ns: point.latency for point in loaded_points(good)}
    assert points[400] == pytest.approx(101, rel=0.01)
    still = [*first, outcome(second, 700, disturbed=5)]
    assert 400 not in {point.delay_ns for point in loaded_points(still)}
    assert further_points(planned, how, still) == []


def test_curves_get_the_points_that_were_asked_for(machine: Topology) -> None:
    specs = ask(machine, points="12", mix="100:0,67:33")
    how = Refinement(points=12)
    planned, measured = list(specs), []
    while True:
        measured += [
            outcome(spec, point(spec.load.pattern.delay_ns).latency)
            for spec in planned[len(measured) :]
            if not spec.load.idle
        ] + [
            loaded(0, IDLE).model_copy(update={"id": spec.id, "pattern": {"delay_ns": None}})
            for spec in planned[len(measured) :]
            if spec.load.idle
        ]
        further = further_points(planned, how, measured)
        if not further:
            break
        planned += [spec for spec in further if isinstance(spec, LoadedLatencySpec)]
    assert len({spec.id for spec in planned}) == len(planned)
    for writes in (0, 33):
        points = [s for s in planned if s.load.pattern.writes == writes and not s.load.idle]
        assert len({spec.load.pattern.delay_ns for spec in points}) == 12
    added = sum(spec.sampling.budget_s for spec in planned[len(specs) :])
    assert added <= further_seconds(specs, how)


@pytest.mark.parametrize(
    ("options", "how"),
    [
        ({}, Refinement(points=12)),
        ({"points": "20", "at": "10,2.5"}, Refinement(points=20, at=[10e9, 2.5e9])),
    ],
)
def test_a_request_says_how_its_curves_are_refined(
    options: dict[str, str], how: Refinement
) -> None:
    assert REQUEST.refinement is not None
    assert REQUEST.refinement(Request(kind="loaded-latency", options=options)) == how


def test_the_load_leaves_the_chase_its_core(machine: Topology) -> None:
    specs = ask(machine)
    assert specs[0].cpu == 0
    assert 8 not in specs[0].load.cpus  # CPU 0's sibling
    assert specs[0].load.cpus == [1, 2, 3, 9, 10, 11]


def test_idle_controls_stand_between_loaded_points(machine: Topology) -> None:
    kinds = [spec.load.idle for spec in ask(machine)]
    assert kinds == [True, False, False, False, True, False, False, False, True]


def test_the_load_may_come_from_and_go_elsewhere(machine: Topology) -> None:
    spec = ask(machine, from_="node:0", to="node:0", load_from="node:1", load_to="node:2")[1]
    assert spec.load.cpus == [4, 5, 6, 7, 12, 13, 14, 15]
    assert [share.node for share in spec.load.placement.nodes] == [2]
    assert [share.node for share in spec.placement.nodes] == [0]


def test_every_mix_is_a_curve_of_its_own(machine: Topology) -> None:
    specs = ask(machine, mix="100:0,67:33,67:33nt")
    assert len({spec.id for spec in specs}) == 27
    patterns = {(spec.load.pattern.writes, spec.load.pattern.stores) for spec in specs}
    assert patterns == {(0, "ordinary"), (33, "ordinary"), (33, "nt")}


@pytest.mark.parametrize("text", ["", "67", "60:0:40", "100:0nt", "-1:101", "67:33NT", "0x43:33"])
def test_a_mix_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UserError, match=r"'"):
        parse_mix(text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"points": "5"}, "--points: 5 is out of range: 6 to 200 points"),
        ({"from_": "cpus:0"}, "--from: cpus:0 has only CPU 0, which chases"),
        ({"load_threads": "7"}, "--load-threads: 7, but node:0 can load with 6"),
        ({"load_to": "node:3"}, "--load-to: target 'node:3'"),
        ({"load_to": "gpu:0"}, "--load-to: 'gpu:0' is a GPU; loaded-latency accepts targets of"),
        (
            {"load_from": "pmem:/x"},
            "--load-from: 'pmem:/x' is a directory on persistent memory",
        ),
        ({"at": "-1"}, "--at: '-1' is out of range"),
    ],
)
def test_what_cannot_be_is_refused_by_name(
    machine: Topology, options: dict[str, str], message: str
) -> None:
    with pytest.raises(UserError) as refused:
        ask(machine, **options)
    assert message in str(refused.value)


def test_a_run_refines_its_curve_to_the_points_asked_for(tmp_path: Path) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("a load beside the chase needs two CPUs")
    fake = Path(__file__).with_name("fake_engine.py")
    answer = subprocess.run(
        [
            *(sys.executable, "-c", "from tierscope.cli.main import main; main()"),
            *("loaded-latency", "--points", "9", "--size", "1m", "--load-size", "1m", "--json"),
            *("--out", str(tmp_path)),
        ],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "TIERSCOPE_ENGINE": str(fake)},
        timeout=120,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    results = json.loads(answer.stdout)["results"]
    loaded = [r for r in results if r["pattern"].get("load_threads")]
    assert len(loaded) == 9
    assert len({r["id"] for r in results}) == len(results)
    assert all(r["status"] == "measured" for r in results)

"""What a change between two runs is, and is known with, on figures that are given by hand."""

import math
from typing import Any

import pytest
from tests import synthetic

from tierscope.analysis.change import Change, Traits, Variation, change_of, pair_spread
from tierscope.model.event import Evidence
from tierscope.model.run import Figure, Measurement, Run

NO_TRAITS = Traits(0.0, {})
Z = 1.96
KIB = 1024


def measured(value: float = 100.0, **changes: Any) -> Measurement:
    """A figure whose interval is hardly wider than it."""
    own = {key: changes.pop(key) for key in [*changes] if key in Figure.model_fields}
    ends = {"ci_low": value * (1 - 1e-9), "ci_high": value * (1 + 1e-9)}
    figure = Figure(metric="bandwidth", unit="B/s", estimate=value)
    values: dict[str, Any] = {
        "id": "m", "kind": "bandwidth", "initiator": "node:0", "target": "node:0", "cpus": [0],
        "pattern": {}, "status": "measured", "n": 16,
        "figures": [figure.model_copy(update={**ends, **own})],
    }  # fmt: skip
    return Measurement(**{**values, **changes})


def change(base: Measurement, new: Measurement, *before: Measurement) -> Change:
    return change_of(base, new, NO_TRAITS, before)


@pytest.mark.parametrize(
    ("ends", "error"),
    [
        ({"ci_low": 90.0, "ci_high": 105.0}, math.log(100 / 90) / Z),
        ({"ci_low": 99.0, "ci_high": 120.0}, math.log(1.2) / Z),
        # A median beyond both ends of its interval.
        ({"ci_low": 101.0, "ci_high": 99.0}, 0.0),
        # Without an interval, as a single sample: logarithms -0.1, 0 and 0.1.
        ({"ci_low": None}, 0.1), ({"ci_high": None}, 0.1), ({"ci_low": 0.0}, 0.1),
        ({"ci_low": -5.0}, 0.1),
    ],
)  # fmt: skip
def test_a_figure_is_known_as_well_as_the_wider_side_of_its_interval(
    ends: dict[str, Any], error: float
) -> None:
    """Samples in which nothing ended say nothing."""
    samples = [100 * math.exp(step) for step in (-0.1, 0, 0.1)] + [0.0]
    known, other = measured(), measured(samples=samples, **ends)
    for one in (change(known, other), change(other, known)):
        assert one.sampling == pytest.approx(error, abs=1e-8)
    both = change(other, other)
    assert both.sampling == pytest.approx(error * math.sqrt(2), abs=1e-8)


def test_of_one_sample_without_an_interval_nothing_is_known() -> None:
    bare = {"ci_low": None, "ci_high": None}
    for samples in ([], [100.0], [100.0, 0.0]):
        assert change(measured(samples=samples, **bare), measured()).sampling == math.inf
    one = measured(repetitions=9, samples=[100 * math.exp(step) for step in (-0.1, 0, 0.1)], **bare)
    assert pair_spread(one, measured()) == pytest.approx(0.3)


def test_samples_scatter_as_they_do_or_as_their_number_and_the_interval_say() -> None:
    """One of +-19.6% after 16 samples: each of them has 4 times 10%."""
    scattered = measured(samples=[100 * math.exp(step) for step in (-0.1, 0, 0.1)] + [0.0])
    assert change(scattered, measured()).spread == pytest.approx(0.1)
    assert change(scattered, scattered).spread == pytest.approx(0.1 * math.sqrt(2))
    ends = {"ci_low": 100 * math.exp(-0.196), "ci_high": 100 * math.exp(0.196)}
    for samples in ([], [100.0]):
        assert change(measured(samples=samples, **ends), measured()).spread == pytest.approx(0.4)


@pytest.mark.parametrize(("disturbed", "volatile"), [(None, False), (4, False), (5, True)])
def test_a_figure_beside_other_programs_is_trusted_no_further_than_its_samples(
    disturbed: int | None, volatile: bool
) -> None:
    """A quarter of 16 samples is not much; either run's counts."""
    samples = [100 * math.exp(step) for step in (-0.3, 0, 0.3)]
    ends = {"ci_low": 100 * math.exp(-0.4 * Z), "ci_high": 100.0}
    one = measured(samples=samples, evidence=Evidence(disturbed=disturbed), **ends)
    for found in (change(one, measured()), change(measured(), one)):
        assert found.volatile is volatile
        assert found.error == pytest.approx(0.5 if volatile else 0.4)


def test_what_earlier_runs_had_is_no_change() -> None:
    """Runs of 100, 90 and 110 before: of 80 and 120, what goes beyond these; of 105, nothing."""
    before = [measured(90), measured(110)]
    for value, beyond in ((80, 80 / 90), (105, 1), (95, 1), (120, 120 / 110)):
        found = change(measured(), measured(value), *before)
        assert found.size == pytest.approx(math.log(value / 100))
        assert found.before == (pytest.approx(math.log(0.9)), pytest.approx(math.log(1.1)))
        assert found.beyond == pytest.approx(math.log(beyond), abs=1e-12)
    assert change(measured(), measured(80)).before == (0, 0)
    assert change(measured(), measured(80), measured(110)).before[0] == 0


def test_runs_differ_by_more_than_their_intervals() -> None:
    """100 and 110 differ by ln 1.1 = 0.0953; intervals of 5% leave sqrt(0.0953^2 - 2 x 0.05^2)."""
    assert change(measured(), measured()).earlier == (0, 0)
    found = change(measured(), measured(), measured(110)).earlier
    assert found == (pytest.approx(math.log(1.1)), 1)
    wide = [measured(value, ci_low=value * math.exp(-0.05 * Z), ci_high=value)
            for value in (100, 110)]  # fmt: skip
    found = change(wide[0], measured(), wide[1]).earlier
    assert found == (pytest.approx(math.sqrt(math.log(1.1) ** 2 - 2 * 0.05**2)), 1)
    near = measured(101, ci_low=90, ci_high=110)
    assert change(near, measured(), near, near).earlier == (0, 2)


def cache(level: int, size: int, each: int, kind: str = "data") -> dict[str, Any]:
    return {"level": level, "type": kind, "size_bytes": size, "cpus_each": each, "count": 1}


@pytest.mark.parametrize(
    ("machine", "kib"),
    [
        # 64 CPUs of 32 cores: a quarter of 2 MiB of two threads.
        ({"caches": [cache(1, 48 * KIB, 2), cache(2, 2048 * KIB, 2)]}, 256),
        ({"caches": [cache(1, 48 * KIB, 2), cache(2, 2048 * KIB, 4)]}, 6),
        ({"caches": [cache(1, 48 * KIB, 1), cache(3, 60 << 20, 1)]}, 12),
        ({"caches": [cache(1, 64 * KIB, 1, "instruction"), cache(1, 32 * KIB, 1)]}, 8),
        ({"caches": [cache(1, 32 * KIB, 1, "unified"), cache(2, 2048 * KIB, 0)]}, 8),
        ({"caches": [cache(1, 32 * KIB, 1), cache(2, 2048 * KIB, 2)], "cores": 64}, 8),
        ({"caches": []}, 0),
    ],
)
def test_a_quarter_of_a_cores_own_caches_is_surely_its_own(
    machine: dict[str, Any], kib: float
) -> None:
    run = synthetic.run([], machine={**synthetic.header().machine, **machine})
    assert Traits.of(run, run).private_bytes == kib * KIB


@pytest.mark.parametrize(
    ("changes", "private"),
    [
        ({"pattern": {"size": 512 * KIB}, "cpus": [0, 1]}, True),
        ({"pattern": {"size": 512 * KIB + 2}, "cpus": [0, 1]}, False),
        ({"pattern": {"size": 256 * KIB}}, True),
        ({"pattern": {"size": 256 * KIB}, "cpus": []}, True),
        ({"pattern": {"size": 4 * KIB}, "metric": "updates"}, False),
        ({"pattern": {"size": 4 * KIB}, "initiator": "gpu:0"}, False),
        ({"pattern": {"size": 4 * KIB}, "target": "file:/x"}, False),
        ({"pattern": {"size": 4 * KIB}, "initiator": "cpus:0-3"}, True),
        ({"pattern": {"size": "4k"}}, False),
        ({}, False),
    ],
)
def test_figures_of_private_caches_are_compared_among_themselves(
    changes: dict[str, Any], private: bool
) -> None:
    one = measured(**changes)
    found = change_of(one, one, Traits(256 * KIB, {}))
    assert found.group == ("bandwidth", changes.get("metric", "bandwidth"), private)


CURVE = (1.4, 1.4, 1.4, 1.4, 4.5, 4.5, 4.5, 4.5, 15, 90, 90, 90, 90)


def chases(values: tuple[float, ...] = CURVE, **changes: Any) -> list[Measurement]:
    return [
        measured(value, metric="latency", unit="ns", kind="latency",
                 pattern={"order": "random", "size": 4096 << step}, **changes)
        for step, value in enumerate(values)
    ]  # fmt: skip


def shared_of(base: Run, new: Run) -> dict[int, float]:
    return {size // 4096: spread for (_, size), spread in
            Traits.of(base, new).shared_caches.items()}  # fmt: skip


def test_between_levels_a_latency_may_be_any_of_those_about_it() -> None:
    """From 256 KiB on, to the first size of memory's level: half of ln(90 / 4.5) / 2."""
    run = synthetic.run(chases())
    assert shared_of(run, run) == {
        1 << 7: 0, 1 << 8: pytest.approx(math.log(20) / 4), 1 << 9: 0,
    }  # fmt: skip
    steeper = synthetic.run(chases((*CURVE[:9], 180, 180, 180, 180)))
    wide = pytest.approx(math.log(40) / 4)
    assert shared_of(run, steeper)[1 << 8] == shared_of(steeper, run)[1 << 8] == wide
    for m in run.measurements:
        found = change_of(m, m, Traits.of(run, run))
        between = m.pattern["size"] in (4096 << 7, 4096 << 8, 4096 << 9)
        assert found.volatile is between
        usual = 0 if m.pattern["size"] != 4096 << 8 else math.log(20) / 4
        assert found.spread == pytest.approx(usual, abs=1e-7)


def test_the_first_size_of_a_curve_has_no_neighbour_before_it() -> None:
    machine = {**synthetic.header().machine, "caches": []}
    run = synthetic.run(chases((1.4, 4.5, 4.5, 4.5, 90, 90, 90)), machine=machine)
    assert shared_of(run, run)[1] == pytest.approx(math.log(4.5 / 1.4) / 2)


@pytest.mark.parametrize(
    "measurements",
    [
        chases((4.5, 90, 90)),
        chases(initiator="gpu:0"),
        chases(target="file:/x"),
        [m.model_copy(update={"status": "failed"}) for m in chases()],
        [synthetic.changed(m, metric="time_per_load") for m in chases()],
        [synthetic.changed(m, estimate=0.0) for m in chases()],
    ],
)
def test_what_is_no_curve_of_a_cpus_chases_has_no_levels(measurements: list[Measurement]) -> None:
    run = synthetic.run(measurements)
    assert shared_of(run, run) == {}


def test_curves_are_told_apart_by_all_but_the_size() -> None:
    """One that is measured in base pages says nothing of one in huge pages."""
    other = [
        m.model_copy(update={"pattern": {**m.pattern, "pages": "base"}})
        for m in chases((90.0,) * 13)
    ]
    run = synthetic.run([*chases(), *other])
    found = Traits.of(run, run).shared_caches
    assert sorted(spread for (_, size), spread in found.items() if size == 4096 << 8) == [
        pytest.approx(math.log(20) / 4)
    ]


def shifted(count: int, parts: dict[str, float], paths: bool, scatter: float = 0.0) -> Variation:
    """Of figures whose parts changed by these factors, each on a path of its own or all on one."""
    return Variation(
        [
            change(
                measured(target=f"node:{n if paths else 0}", pattern={"part": part, "threads": n}),
                measured(100 * factor * (1 + scatter * (-1) ** n)),
            )
            for n in range(count)
            for part, factor in parts.items()
        ]
    )


def test_what_all_figures_of_a_path_or_a_part_share_is_no_variation_of_theirs() -> None:
    """Paths of few figures count as one, each part by itself."""
    for paths in (True, False):
        assert shifted(6, {"a": 0.8, "b": 1.0}, paths).overall() < 0.002
        assert shifted(5, {"": 0.8}, paths).overall() < 0.002
        # Four cannot tell that all of a path changed.
        assert shifted(4, {"": 0.8}, paths).overall() > 0.1
    mixed = shifted(6, {"a": 0.8}, paths=False)
    assert mixed.overall() == shifted(6, {"a": 1.0}, paths=False).overall()


def test_a_path_changed_as_a_whole_where_it_did_by_far_more_than_its_figures_differ() -> None:
    """4 x 1.4826 x 3% is 17.8%: a common change of 20% is taken out, one of 15% is not."""
    for factor, common in ((1.2, True), (1.15, False)):
        found = shifted(10, {"": factor}, paths=False, scatter=0.03).overall()
        assert (found < 0.07) is common

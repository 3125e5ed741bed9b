"""What a comparison says of figures that are given by hand: obstacles, causes, pairs."""

import math
from typing import Any

import pytest
from tests import synthetic

from tierscope.analysis.compare import compare
from tierscope.model.comparison import Comparison
from tierscope.model.event import Evidence
from tierscope.model.run import Figure, Imported, Measurement, Run

MACHINE = synthetic.header().machine
ENVIRONMENT = synthetic.header().environment


def measured(
    value: float = 100.0, number: int = 0, spread: float = 0.0, **changes: Any
) -> Measurement:
    """One bandwidth without an interval; its samples' logarithms lie ``spread`` apart."""
    own = {key: changes.pop(key) for key in [*changes] if key in Figure.model_fields}
    figure = Figure(metric="bandwidth", unit="B/s", estimate=value, compared=True)
    values: dict[str, Any] = {
        "id": f"m{number}", "kind": "bandwidth", "initiator": "node:0", "target": "node:0",
        "cpus": [0], "pattern": {"threads": number}, "status": "measured", "n": 12,
        "figures": [figure.model_copy(update=own)],
        "samples": [value * math.exp(step * spread) for step in (-1, 0, 1)],
    }  # fmt: skip
    return Measurement(**{**values, **changes})


def exact(value: float = 100.0, number: int = 0, **changes: Any) -> Measurement:
    """The same with an interval that is hardly wider than the figure."""
    ends = {"ci_low": value * (1 - 1e-6), "ci_high": value * (1 + 1e-6)}
    return measured(value, number, **{**ends, **changes})


def against(base: Run, new: Run, tolerance: float = 0.02, **more: Any) -> Comparison:
    return compare(("base", base), ("new", new), tolerance, **more)


def compared(
    base: Measurement, new: Measurement, tolerance: float = 0.02, **more: Any
) -> Comparison:
    return against(synthetic.run([base]), synthetic.run([new]), tolerance, **more)


def headed(**changes: Any) -> Run:
    return synthetic.run([exact()], **changes)


def machine(**changes: Any) -> dict[str, Any]:
    return {"machine": {**MACHINE, **changes}}


def nodes(total: int) -> dict[str, Any]:
    return machine(nodes=[{**MACHINE["nodes"][0], "total_bytes": total}])


def test_memory_of_nodes_is_compared_in_whole_gib() -> None:
    """Firmware and kernels reserve another 100 MiB of the same modules."""
    base = headed(**nodes(256 << 30))
    for less in (100 << 20, (512 << 20) - 1):
        assert against(base, headed(**nodes((256 << 30) - less))).obstacles == []
    (said,) = against(base, headed(**nodes((256 << 30) - (513 << 20)))).obstacles
    assert said == "machine: nodes: 0 DRAM 256 GiB in the base run, 0 DRAM 255 GiB in the new run"


@pytest.mark.parametrize(
    ("base", "new", "said"),
    [
        ({"environment": ENVIRONMENT}, {"environment": {**ENVIRONMENT, "smt": "off"}},
         ["smt: absent in the base run, off in the new run"]),
        ({"environment": {**ENVIRONMENT, "prefetchers": "on"}}, {}, []),
        ({"environment": {**ENVIRONMENT, "prefetchers": "on"}},
         {"environment": {**ENVIRONMENT, "prefetchers": "off"}},
         ["prefetchers: on in the base run, off in the new run"]),
        (machine(cores=16), machine(cpus=32),
         ["machine: cores: 16 in the base run, 32 in the new run",
          "machine: cpus: 64 in the base run, 32 in the new run"]),
        (machine(gpus=[{"index": 0, "name": "A"}, {"index": 1, "name": "B"}]), machine(gpus=[]),
         ["machine: GPUs: A, B in the base run, absent in the new run"]),
        ({"emulated": True}, {"emulated": True},
         ["emulated: the base run's machine, so its figures mean nothing",
          "emulated: the new run's machine, so its figures mean nothing"]),
    ],
)  # fmt: skip
def test_what_differs_is_said_of_both_runs(
    base: dict[str, Any], new: dict[str, Any], said: list[str]
) -> None:
    assert against(headed(**base), headed(**new)).obstacles == said


@pytest.mark.parametrize("which", ["base", "new"])
def test_of_an_imported_run_no_machine_is_compared(which: str) -> None:
    imported = headed(
        host="elsewhere", imported=Imported(format="stream", program="stream", files=[])
    )
    runs = [imported, headed()] if which == "base" else [headed(), imported]
    said = f"imported: stream measured the {which} run; its machine and settings are not known"
    assert against(*runs).obstacles == [said]
    allowed = against(*runs, allow=["imported"])
    assert (allowed.obstacles, allowed.remarks) == ([], [said])
    assert [d.verdict for d in allowed.differences] == ["same"]


def limit(value: float, link: str = "a link") -> dict[str, Any]:
    return {"limit": synthetic.PCIE.model_copy(update={"value": value, "link": link})}


def ran(isa: str | None) -> dict[str, Any]:
    return {"evidence": Evidence(isa=isa)}


@pytest.mark.parametrize(
    ("base", "new", "word", "said"),
    [
        (limit(31.5e9), limit(31.5004e9), "link", ""),
        (limit(31.5e9, "one"), limit(31.502e9, "other"), "link",
         "link: one in the base run, other in the new run"),
        (limit(31.5e9, "one"), {}, "link", "link: one in the base run, absent in the new run"),
        (ran("avx2"), ran("avx512"), "isa", "isa: avx2 in the base run, avx512 in the new run"),
        (ran("avx2"), {}, "isa", "isa: avx2 in the base run, absent in the new run"),
        (ran("avx2"), ran("avx2"), "isa", ""),
    ],
)  # fmt: skip
def test_a_measurements_own_setting_keeps_it_from_being_compared(
    base: dict[str, Any], new: dict[str, Any], word: str, said: str
) -> None:
    (found,) = compared(exact(**base), exact(80.0, **new)).differences
    assert (found.reason, found.cause) == (said, "setting" if said else None)
    assert found.ratio == pytest.approx(0.8)
    other = {"link": "isa", "isa": "link"}[word]
    for allowed, reason in ((word, ""), (other, said)):
        (found,) = compared(exact(**base), exact(80.0, **new), allow=[allowed]).differences
        assert found.reason == reason


@pytest.mark.parametrize(
    ("changes", "cause", "reason"),
    [
        ({"status": "failed", "reason": "it broke"}, "not-measured", "failed in the {} run: it"),
        ({"estimate": 0.0}, "no-ratio", "the {} run's figure gives no ratio"),
        ({"estimate": -0.5}, "no-ratio", "the {} run's figure gives no ratio"),
        ({"n": 5}, "few-samples", "too few samples in the {} run: 5; a 95% interval takes at l"),
        ({"ci_low": None}, "no-interval", "no interval in the {} run"),
        ({"ci_low": 0.0}, "no-interval", "no interval in the {} run"),
        ({"ci_low": -1.0}, "no-interval", "no interval in the {} run"),
        ({"ci_high": None}, "no-interval", "no interval in the {} run"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("which", ["base", "new"])
def test_what_gives_no_verdict_is_said_of_the_run_that_lacks_it(
    changes: dict[str, Any], cause: str, reason: str, which: str
) -> None:
    spoilt = exact(50.0, **changes)
    runs = (spoilt, exact()) if which == "base" else (exact(), spoilt)
    (found,) = compared(*runs).differences
    assert found.verdict == (
        "undecided" if cause in ("few-samples", "no-interval") else "not comparable"
    )
    assert found.cause == cause
    assert found.reason.startswith(reason.format(which))


def test_figures_of_other_units_have_no_ratio() -> None:
    (found,) = compared(exact(), exact(unit="1/s")).differences
    assert (found.cause, found.reason) == ("no-ratio", "the new run's figure gives no ratio")


def test_measurements_that_are_asked_for_twice_are_compared_in_their_order() -> None:
    base = synthetic.run([exact(100), exact(200)])
    found = against(base, synthetic.run([exact(100), exact(190)])).differences
    assert [(d.base, d.new) for d in found] == [(100, 100), (200, 190)]
    once = against(base, synthetic.run([exact(100)])).differences
    assert [d.cause for d in once] == [None, "only-base"]
    again = against(synthetic.run([exact(100)]), base).differences
    assert [d.reason for d in again] == ["", "only in the new run"]


def test_of_a_measurement_that_failed_every_figure_is_named_once() -> None:
    two = exact()
    other = Figure(metric="iops", unit="1/s", estimate=5.0, compared=True)
    two = two.model_copy(update={"figures": [*two.figures, other]})
    failed = exact(status="failed", reason="it broke", figures=[])
    for runs in ((two, failed), (failed, two)):
        found = compared(*runs).differences
        assert [(d.cause, d.unit) for d in found] == [("not-measured", unit) for unit in
                                                       ("B/s", "1/s")]  # fmt: skip
    (alone,) = against(synthetic.run([failed]), synthetic.run([])).differences
    assert (alone.cause, alone.unit, alone.base) == ("only-base", None, None)
    (both,) = compared(failed, failed).differences
    assert both.reason == "failed in the base run: it broke"


def test_what_earlier_runs_have_twice_counts_once() -> None:
    """The first of them, as of the runs that are compared."""
    earlier = synthetic.run([exact(80), exact(100)])
    (found,) = compared(exact(), exact(80), also=[earlier]).differences
    assert found.verdict == "same"
    for spoilt in ({"ci_low": None}, {"estimate": 0.0}, {"status": "failed"}):
        run = synthetic.run([exact(80, **spoilt)])
        (found,) = compared(exact(), exact(80), also=[run]).differences
        assert found.verdict == "slower"


def pairs(runs: list[Measurement], tolerance: float) -> int | None:
    return against(synthetic.run(runs), synthetic.run(runs), tolerance).pairs


@pytest.mark.parametrize(
    ("spread", "tolerance", "expected"),
    [
        # (1.96 x 0.2 x sqrt 2 / 0.05129)^2 = 116.8, of a tolerance of 5%: -ln 0.95 = 0.05129.
        (0.2, 0.05, 117),
        # Every change counts: 1% is told from none, (1.96 x 0.02 x sqrt 2 / 0.01)^2 = 30.7.
        (0.02, 0.0, 31),
        (0.001, 0.05, 6),
    ],
)
def test_pairs_make_a_ratio_as_narrow_as_the_tolerance(
    spread: float, tolerance: float, expected: int
) -> None:
    assert pairs([measured(spread=spread)], tolerance) == expected


def test_an_interval_says_what_a_repetition_scatters() -> None:
    """One of +-10% after 9 repetitions: each has 3 times as much, so 3 x 0.1 / 1.96 a side."""
    m = measured(ci_low=100 / math.exp(0.1), ci_high=100 * math.exp(0.1), n=5, repetitions=9)
    assert pairs([m], 0.05) == math.ceil((3 * 0.1 * math.sqrt(2) / -math.log(0.95)) ** 2)


@pytest.mark.parametrize(("count", "third"), [(1, 1), (4, 3), (5, 4), (8, 6)])
def test_pairs_serve_three_in_four_of_what_is_undecided(count: int, third: int) -> None:
    spreads = [0.1 * number for number in range(1, count + 1)]
    asked = [measured(number=n, spread=spread) for n, spread in enumerate(spreads)]
    assert pairs(asked, 0.05) == pairs([measured(spread=spreads[third - 1])], 0.05)


def test_what_pairs_cannot_help_takes_none() -> None:
    """A figure whose scatter nobody knows, and one that only one of the runs has."""
    unknown = measured(number=1, samples=[])
    assert pairs([unknown], 0.05) is None
    base = synthetic.run([unknown, measured(spread=0.2)])
    found = against(base, synthetic.run([unknown, measured(spread=0.2), exact(number=2)]), 0.05)
    assert found.pairs == 117


def test_the_time_of_pairs_is_that_of_a_repetition_of_everything() -> None:
    """12 samples of 0.5 s in 3 repetitions are 2 s each; a measurement without them, nothing."""
    timed = {"evidence": Evidence(sample_ns=5e8), "repetitions": 3}
    runs = [measured(spread=0.2), exact(number=1, **timed), exact(number=2, repetitions=3)]
    found = against(synthetic.run(runs), synthetic.run(runs), 0.05)
    assert found.pairs_s == pytest.approx(117 * (2 + 2))
    assert against(synthetic.run([exact()]), synthetic.run([exact()])).pairs_s is None


def test_what_nobody_knows_has_no_interval() -> None:
    (found,) = compared(measured(samples=[]), exact(50)).differences
    assert (found.ratio, found.low, found.high, found.detectable) == (0.5, None, None, None)


def test_before_any_change_is_seen_figures_vary_by_less_than_3_percent() -> None:
    """With 90%; that times Student's 2.776 is what one precise figure tells."""
    (found,) = compared(exact(), exact()).differences
    assert found.verdict == "same"
    assert found.detectable is not None
    assert 0.0235 < math.log1p(found.detectable) / 2.776 < 0.0345


def test_tails_vary_on_their_own() -> None:
    """Medians that vary by 30% make tails no less certain, and the other way round."""
    factors = (1.0, 1.3, 0.8, 1.25, 0.75, 1.35, 0.7, 1.2)
    tail = {"metric": "io_latency_p99", "unit": "ns"}

    def runs(wild: dict[str, Any], still: dict[str, Any]) -> list[Run]:
        calm = [exact(1e6, number=20 + n, **still) for n in range(8)]
        return [
            synthetic.run([*calm, *(exact(100 * f, number=n, **wild) for n, f in enumerate(of))])
            for of in ((1.0,) * 8, factors)
        ]

    for wild, still in (({}, tail), (tail, {})):
        found = against(*runs(wild, still))
        calm = [d.detectable for d in found.differences[:8]]
        rest = [d.detectable for d in found.differences[8:]]
        assert max(one or 9 for one in calm) < 0.1 < 0.3 < min(one or 0 for one in rest)


def test_an_interval_leaves_out_what_was_there_before() -> None:
    """Earlier runs had 0.8 and 1.1 times the base: of 0.7, 0.7 / 0.8 is certainly new."""
    earlier = [synthetic.run([exact(value)]) for value in (80, 110)]
    (found,) = compared(exact(), exact(70), also=earlier).differences
    assert found.detectable is not None
    assert found.low == pytest.approx(0.7 / 1.1 / (1 + found.detectable))
    assert found.high == pytest.approx(0.7 / 0.8 * (1 + found.detectable))


def test_a_change_of_just_the_tolerance_is_the_same() -> None:
    for base, new in ((100, 50), (50, 100)):
        (found,) = compared(exact(base), exact(new), tolerance=0.5).differences
        assert (found.verdict, found.cause) == ("same", None)
    (found,) = compared(exact(100), exact(49), tolerance=0.5).differences
    assert found.verdict == "slower"

"""What a comparison of two runs finds, and refuses to."""

import math
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests import synthetic

from tierscope.analysis.compare import check_allowed, compare
from tierscope.analysis.estimate import student_quantile
from tierscope.cli.app import app
from tierscope.model.comparison import Comparison
from tierscope.model.errors import UserError
from tierscope.model.run import Measurement, Run
from tierscope.report.compare import show_comparison
from tierscope.report.style import make_console

SAME = sum(figure.compared for m in synthetic.full().measurements for figure in m.figures)


def changed(run: Run, factor: float, which: Callable[[Measurement], bool]) -> Run:
    """Return a run in which some measurements came out otherwise by a factor."""

    def other(m: Measurement) -> Measurement:
        if not which(m):
            return m
        figures = [
            figure.model_copy(
                update={
                    "estimate": figure.estimate * factor,
                    "ci_low": figure.ci_low and figure.ci_low * factor,
                    "ci_high": figure.ci_high and figure.ci_high * factor,
                }
            )
            for figure in m.figures
        ]
        samples = [sample * factor for sample in m.samples]
        return m.model_copy(update={"figures": figures, "samples": samples})

    return run.model_copy(update={"measurements": [other(m) for m in run.measurements]})


def lost(m: Measurement) -> bool:
    """The bandwidth of one path."""
    return m.kind == "bandwidth" and m.target == "node:1"


def against(base: Run, new: Run, tolerance: float = 0.02, **more: object) -> Comparison:
    return compare(("base", base), ("new", new), tolerance, **more)  # type: ignore[arg-type]


def test_a_run_is_the_same_as_itself() -> None:
    run = synthetic.full()
    found = against(run, run)
    assert found.count("same") == SAME
    assert found.count("slower") == found.count("faster") == 0


def test_five_percent_taken_from_one_path_are_found_and_nothing_else() -> None:
    base = synthetic.full(1)
    new = changed(synthetic.full(2), 0.95, lost)
    found = against(base, new)
    slower = [d for d in found.differences if d.verdict == "slower"]
    assert {d.target for d in slower} == {"node:1"}
    assert len(slower) == 30
    assert found.count("faster") == 0
    assert all(d.low < 0.95 < d.high for d in slower if d.low and d.high)


def test_five_percent_taken_from_one_measurement_are_found_and_nothing_else() -> None:
    base = synthetic.full(1)
    new = changed(synthetic.full(2), 0.95, lambda m: m.id == "bandwidth.7")
    found = [d for d in against(base, new).differences if d.verdict in ("slower", "faster")]
    assert [d.verdict for d in found] == ["slower"]


def test_everything_slower_is_found_although_all_differences_agree() -> None:
    found = against(synthetic.full(1), changed(synthetic.full(2), 0.95, lambda m: m.unit == "B/s"))
    rates = [d for d in found.differences if d.unit == "B/s" and d.ratio]
    assert {d.verdict for d in rates} == {"slower"}


@pytest.mark.parametrize(("factor", "verdict"), [(1.1, "slower"), (0.9, "faster")])
def test_more_latency_is_slower(factor: float, verdict: str) -> None:
    base = synthetic.full(1)
    new = changed(synthetic.full(2), factor, lambda m: m.kind == "latency" and m.target == "node:2")
    found = {d.verdict for d in against(base, new).differences
             if d.kind == "latency" and d.target == "node:2"}  # fmt: skip
    assert found == {verdict}


def in_caches(m: Measurement) -> bool:
    return m.kind == "latency" and m.pattern["size"] <= 512 << 10


def test_what_stays_in_private_caches_is_compared_finely_although_all_else_varies() -> None:
    chance = random.Random(3)
    varying = {m.id: math.exp(chance.gauss(0, 0.1)) for m in synthetic.full().measurements}
    new = synthetic.full(2)
    for m in synthetic.full().measurements:
        if not in_caches(m):
            new = changed(new, varying[m.id], lambda other, m=m: other.id == m.id)  # type: ignore[misc]
    slow = next(m.id for m in new.measurements if in_caches(m))
    found = against(synthetic.full(1), changed(new, 1.05, lambda m: m.id == slow)).differences
    small = [d for d in found if d.kind == "latency" and d.pattern["size"] <= 512 << 10]
    assert [d.verdict for d in small] == ["slower"] + ["same"] * (len(small) - 1)


def latencies(*figures: float) -> Run:
    """A curve of latency whose samples spread by 20%, twice as many of them as it has sizes."""
    maker = synthetic.Maker()
    return synthetic.run(
        [
            made.model_copy(
                update={"samples": [figure * (0.8 + 0.02 * i) for i in range(21)], "n": 21}
            )
            for step, figure in enumerate(figures)
            if (
                made := maker.make(
                    "latency", "node:0", "node:0", {"size": 4096 << step}, figure, "ns"
                )
            )
        ]
    )


def test_between_two_levels_of_cache_a_figure_is_trusted_no_further_than_its_samples() -> None:
    base = latencies(1.4, 1.4, 1.4, 1.4, 4.5, 4.5, 4.5, 4.5, 15, 90, 90, 90, 90)
    new = latencies(1.4, 1.4, 1.4, 1.4, 4.5, 4.5, 4.5, 4.5, 19, 90, 90, 90, 110)
    found = {d.pattern["size"] // 4096: d.verdict for d in against(base, new).differences}
    assert found[1 << 8] == "undecided"
    assert found[1 << 12] == "slower"


def test_swapping_the_runs_swaps_the_verdict() -> None:
    base, new = synthetic.full(1), changed(synthetic.full(2), 0.9, lost)
    forth, back = against(base, new), against(new, base)
    assert forth.count("slower") == back.count("faster") > 0


def test_changes_up_to_the_tolerance_are_the_same() -> None:
    base, new = synthetic.full(1), changed(synthetic.full(2), 0.95, lost)
    assert against(base, new, tolerance=0.08).count("slower") == 0


def test_measurements_are_joined_on_identity_not_on_order_or_id() -> None:
    base = synthetic.full(1)
    shuffled = list(synthetic.full(2).measurements)
    random.Random(4).shuffle(shuffled)
    renamed = [m.model_copy(update={"id": f"x{i}"}) for i, m in enumerate(shuffled)]
    found = against(base, base.model_copy(update={"measurements": renamed}))
    assert found.count("same") == SAME


def test_what_only_one_run_has_is_said() -> None:
    base = synthetic.full(1)
    new = base.model_copy(update={"measurements": base.measurements[1:]})
    causes = [d.cause for d in against(base, new).differences]
    assert causes.count("only-base") == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"host": "other"}, "host: node017 in the base run, other in the new run"),
        ({"emulated": True}, "emulated"),
        ({"environment": {"kernel": "Linux 6.13.0", "governor": "performance",
                          "thp": "madvise"}}, "kernel: Linux 6.12.0"),
        ({"environment": {"kernel": "Linux 6.12.0", "governor": "powersave",
                          "thp": "madvise"}}, "governor: performance"),
        ({"machine": {**synthetic.header().machine, "cpu": "Example 9100"}}, "machine: cpu"),
        ({"machine": {**synthetic.header().machine, "nodes": []}}, "machine: nodes"),
        ({"machine": {**synthetic.header().machine, "gpus": []}}, "machine: GPUs"),
    ],
)  # fmt: skip
def test_another_machine_or_setting_is_not_comparable_unless_allowed(
    change: dict[str, object], said: str
) -> None:
    base = synthetic.full(1)
    new = base.model_copy(update={"header": base.header.model_copy(update=change)})
    found = against(base, new)
    assert found.count("not comparable") == len(found.differences)
    assert found.obstacles[0].startswith(said)
    allowed = against(base, new, allow=[said.partition(":")[0]])
    assert allowed.count("same") == SAME
    assert allowed.remarks


def test_another_link_is_not_comparable() -> None:
    base = synthetic.full(1)
    slow = synthetic.PCIE.model_copy(
        update={"link": "PCIe 3.0 x16 at 0000:17:00.0", "value": 15.75e9}
    )
    measurements = [
        synthetic.changed(m, limit=slow) if m.limit == synthetic.PCIE else m
        for m in base.measurements
    ]
    found = against(base, base.model_copy(update={"measurements": measurements}))
    refused = [d for d in found.differences if d.cause == "setting"]
    assert {d.kind for d in refused} == {"gpu-copy"}
    assert "PCIe 4.0 x16" in refused[0].reason
    assert "PCIe 3.0 x16" in refused[0].reason


def test_too_few_samples_or_too_much_noise_is_undecided() -> None:
    few = [synthetic.run(synthetic.memory_measurements(synthetic.Maker(s, n=4))) for s in (1, 2)]
    found = against(*few)
    assert found.count("undecided") == len(found.differences)
    assert all(d.cause == "few-samples" for d in found.differences)
    wild = [synthetic.run(synthetic.memory_measurements(synthetic.Maker(s, noise=1.5, n=12)))
            for s in (1, 2)]  # fmt: skip
    found = against(*wild)
    assert found.count("slower") == found.count("faster") == 0
    assert any(d.cause == "noisy" for d in found.differences)
    assert found.pairs is not None


def without_intervals(run: Run) -> Run:
    bare = {"ci_low": None, "ci_high": None, "no_interval": "few-repetitions"}
    return run.model_copy(
        update={
            "measurements": [
                m.model_copy(update={"figures": [f.model_copy(update=bare) for f in m.figures]})
                for m in run.measurements
            ]
        }
    )


def test_figures_without_intervals_are_shown_with_what_would_have_been_detected() -> None:
    base, new = without_intervals(synthetic.full(1)), synthetic.full(2)
    found = against(base, changed(new, 0.5, lost))
    assert found.count("undecided") == SAME
    for d in found.differences:
        if d.verdict == "undecided":
            assert d.cause == "no-interval"
            if {"metric", "part"} & d.pattern.keys():  # it has no samples either
                continue
            assert d.ratio == pytest.approx((d.new or 0) / (d.base or 1))
            assert d.low is not None
            assert d.high is not None
            assert d.low < d.ratio < d.high
            assert d.detectable == pytest.approx(d.high / d.ratio - 1)


def test_no_verdict_rests_on_a_figure_without_an_interval() -> None:
    """Nor does such a figure make the others' intervals wider."""
    base, new = synthetic.full(1), changed(synthetic.full(2), 0.9, lost)
    half = base.model_copy(
        update={
            "measurements": [
                m if lost(m) else without_intervals(base).measurements[i]
                for i, m in enumerate(base.measurements)
            ]
        }
    )
    assert against(half, new).count("slower") == against(base, new).count("slower")


def test_more_noise_takes_more_pairs() -> None:
    def pairs(noise: float) -> int:
        runs = [synthetic.run(synthetic.memory_measurements(synthetic.Maker(s, noise=noise, n=12)))
                for s in (1, 2)]  # fmt: skip
        found = against(*map(without_intervals, runs), tolerance=0.03)
        assert found.pairs is not None
        return found.pairs

    assert pairs(0.05) < pairs(0.2) < pairs(0.8)
    assert against(synthetic.full(1), synthetic.full(1)).pairs is None


def test_a_noisy_machine_compared_with_itself_reads_sensibly(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = without_intervals(synthetic.run(synthetic.memory_measurements(synthetic.Maker(1))))
    found = against(run, run)
    show_comparison(make_console(), found)
    said = capsys.readouterr().out
    count = len(found.differences)
    assert f"{count} undecided, of {count}" in said
    assert "+0.0%" in said
    assert "no interval in the base run" in said
    assert f"--pairs {found.pairs}" in said


def test_what_earlier_runs_showed_is_no_change() -> None:
    first = synthetic.full(1)
    once = changed(synthetic.full(2), 0.8, lambda m: m.id == "bandwidth.7")
    again = changed(synthetic.full(3), 0.8, lambda m: m.id == "bandwidth.7")
    worse = changed(synthetic.full(3), 0.7, lambda m: m.id == "bandwidth.7")
    assert against(first, again).count("slower") == 1
    assert against(first, again, also=[once]).count("slower") == 0
    found = against(first, worse, also=[once])
    assert found.count("slower") == 1
    slower = next(d for d in found.differences if d.verdict == "slower")
    assert slower.high is not None
    assert slower.high < 0.9


def test_one_measurement_alone_is_held_to_its_samples() -> None:
    maker = synthetic.Maker()
    runs = [synthetic.run([maker.make("latency", "node:0", "node:0", {}, value, "ns")])
            for value in (100.0, 101.0, 120.0)]  # fmt: skip
    assert against(runs[0], runs[1], 0.0).count("same") == 1
    assert against(runs[0], runs[2]).count("slower") == 1


def test_the_quantile_of_student_with_four_degrees_of_freedom() -> None:
    # Table values of any statistics state.
    for error, value in ((0.1, 2.1318), (0.05, 2.7764), (0.01, 4.6041), (0.001, 8.6103)):
        assert student_quantile(4, error) == pytest.approx(value, abs=1e-4)


def test_a_word_that_may_not_differ_is_named_with_its_likeness() -> None:
    with pytest.raises(UserError, match="did you mean 'governor'"):
        check_allowed(["govenor"])


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    base = synthetic.full(1)
    slow = changed(synthetic.full(2), 0.9, lost)
    other = base.model_copy(update={"header": synthetic.header(host="other")})
    runs = {"base": base, "same": synthetic.full(3), "slow": slow, "other": other}
    return {
        name: str(synthetic.write(run, tmp_path / f"{name}.jsonl")) for name, run in runs.items()
    }


@pytest.mark.parametrize(
    ("names", "status"),
    [(["base", "same"], 0), (["base", "slow"], 1), (["base", "other"], 3),
     (["base", "same", "slow"], 1), (["slow", "base"], 0)],
)  # fmt: skip
def test_the_exit_status(files: dict[str, str], names: list[str], status: int) -> None:
    arguments = ["compare", *(files[name] for name in names)]
    done = CliRunner().invoke(app, arguments, standalone_mode=False)
    assert done.return_value == status, done.output
    assert all(len(line) <= 100 for line in done.output.splitlines())


def test_a_page_and_json(files: dict[str, str], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = CliRunner().invoke(
        app, ["compare", files["base"], files["slow"], "--json", "-o", str(page)]
    )
    found = Comparison.model_validate_json(done.stdout.removeprefix('{"comparisons": [')[:-3])
    assert found.count("slower") == 30
    assert "30 slower" in page.read_text()


@pytest.mark.parametrize("tolerance", ["-1%", "many", "100%"])
def test_a_tolerance_that_is_none(files: dict[str, str], tolerance: str) -> None:
    done = CliRunner().invoke(
        app, ["compare", files["base"], files["same"], "--tolerance", tolerance]
    )
    assert isinstance(done.exception, UserError)
    assert "--tolerance" in str(done.exception)

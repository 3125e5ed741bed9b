"""Headlines, tables, JSON, matrices and pages say the same of one run."""

import io
import json
import math
import re
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from tests import synthetic

from tierscope.analysis.best import as_good, best_of
from tierscope.kinds.registry import KINDS
from tierscope.kinds.views import VIEWS
from tierscope.model.event import Evidence
from tierscope.model.run import Figure, Measurement, Run
from tierscope.report import figures
from tierscope.report.html.page import render_report
from tierscope.report.pictures.of_run import pictures_of
from tierscope.report.run import show_run
from tierscope.report.summary import key_figures, sentences, verdict_of
from tierscope.runs.export import to_json
from tierscope.suites.matrix import peak_bandwidths, show_matrix

_SCALES = (1.0, 1e3, 1e6, 1e9, 1e12)


def printed(run: Run) -> tuple[str, str]:
    """Return the tables and the sentences below them, as the terminal has them."""
    text = io.StringIO()
    show_run(Console(file=text, width=200), run, Path("run.jsonl"), VIEWS)
    summary, _, tables = text.getvalue().lstrip("\n").partition("\n\n")
    return tables, summary


@st.composite
def runs(draw: st.DrawFn, most: int = 3, limited: bool = False) -> Run:
    """Runs whose figures have intervals of any width, some from disturbed rows."""
    maker = synthetic.Maker(draw(st.integers(0, 1 << 16)))
    found: list[Measurement] = []

    def add(kind: str, target: str, pattern: dict[str, object], value: float, unit: str) -> None:
        width = draw(st.sampled_from((0.001, 0.02, 0.2, 0.8, 3.0)))
        limit = synthetic.DDR if limited and unit == "B/s" else None
        made = maker.make(kind, "node:0", target, pattern, value, unit, limit=limit)
        value = made.estimate or 1.0
        changes: dict[str, Any] = {
            "ci_low": value / (1 + width),
            "ci_high": value * (1 + width),
            "stop": draw(st.sampled_from(("precision", "budget"))),
            "evidence": Evidence(disturbed=draw(st.sampled_from((0, 0, 3)))),
        }
        found.append(synthetic.changed(made, **changes))

    for target in (f"node:{number}" for number in range(draw(st.integers(1, most)))):
        for threads in (1, 4, 16):
            add("bandwidth", target,
                {"operation": "read", "order": "sequential", "size": 1 << 30, "threads": threads},
                draw(st.floats(1e9, 9e11)), "B/s")  # fmt: skip
        add("latency", target,
            {"order": "random", "stride": 256, "size": 1 << 30, "pages": "thp"},
            draw(st.floats(60, 5000)), "ns")  # fmt: skip
    return synthetic.run(found)


def _written(measurement: Measurement) -> set[str]:
    """Return every way in which a table may write a measurement's figure, each in another unit."""
    return {figures.with_interval(measurement, factor) for factor in _SCALES}


_NUMBER, _UNIT = r"[\d.]+", r"(?:[TGMk]?B/s|[µm]?s|ns)"
_FIGURE = re.compile(
    rf"({_NUMBER} ±{_NUMBER}) {_UNIT}|({_NUMBER}) {_UNIT} \(({_NUMBER}) to ({_NUMBER})|"
    rf"between ({_NUMBER}) and ({_NUMBER}) {_UNIT}"
)


def _as_cells(sentence: str) -> list[str]:
    """Return a sentence's figures as tables write them."""
    found = []
    for alike, estimate, low, high, least, most in _FIGURE.findall(sentence):
        wide = f"{least}–{most}" if least else f"{estimate} ({low}–{high})"
        found.append(alike or wide)
    return found


@given(runs())
def test_each_figure_of_a_sentence_is_in_a_table_and_in_the_json(run: Run) -> None:
    tables, _ = printed(run)
    said = " ".join(sentences(run, VIEWS))
    found = _as_cells(said)
    assert found
    for text in found:
        named = [_written(m) for m in run.measurements if text in _written(m)]
        assert any(form in tables for forms in named for form in forms)


@given(runs(most=8, limited=True))
def test_what_sentences_say_of_paths_is_true_of_their_figures(run: Run) -> None:
    """Each path's best, its share of the limit and the slowest of several, computed anew."""
    best: dict[str, Measurement] = {}
    for m in (m for m in run.measurements if m.unit == "B/s"):
        if m.target not in best or (m.ci_low or 0) > (best[m.target].ci_low or 0):
            best[m.target] = m
    said = [text for text in sentences(run, VIEWS)[1:] if " reaches " in text]
    media = {"node:0": "Local DRAM", "node:1": "Remote DRAM", "node:2": "CXL"}
    assert len(said) == (len(best) if len(best) <= 5 else len({media.get(t) for t in best}))
    for text in said:
        (target, share), *_ = re.findall(r"(node:\d+)\)? reaches .*, (.+)% of the 307.2 GB/s", text)
        reached = (best[target].estimate or 0.0) / synthetic.DDR.value
        assert share == figures.share_text(reached).rstrip("%")
        assert ("unused" in text) is (reached < 0.85)
        if found := re.search(r"of (\d+) such paths, node:0 → (node:\d+) is the slowest", text):
            alike = [m for t, m in best.items() if media.get(t) == media.get(target)]
            assert int(found[1]) == len(alike)
            assert best[found[2]].estimate == min(m.estimate or 0.0 for m in alike)


@settings(max_examples=10, deadline=None)  # each is a whole report of up to twelve figures
@given(runs())
def test_an_unreliable_figure_is_marked_everywhere(run: Run) -> None:
    results = {r["id"]: r for r in json.loads(to_json(run))["results"]}
    tables, _ = printed(run)
    page = render_report([("run", run)], VIEWS)
    for m in run.measurements:
        assert m.ci_low
        assert m.ci_high
        wide = m.ci_high / m.ci_low > 3
        assert results[m.id]["figures"][0]["unreliable"] is wide
        assert figures.text(m).startswith("between") is wide
        assert (
            "–" in figures.with_interval(m, 1.0) and "(" not in figures.with_interval(m, 1.0)
        ) is wide
        assert figures.plain(m, 1.0).startswith("~") is wide
    if any(m.ci_high / m.ci_low > 3 for m in run.measurements if m.ci_high and m.ci_low):
        assert "–" in tables
        assert "~" in page


@given(runs())
def test_the_matrices_of_terminal_and_report_have_the_same_cells(run: Run) -> None:
    best = peak_bandwidths(run, "read")
    text = io.StringIO()
    show_matrix(Console(file=text, width=200), run, [])
    drawn = [p for p in pictures_of(run, "bandwidth", VIEWS) if "by target" in p.title]
    assert bool(drawn) is (len(best) > 1)
    for picture in drawn:
        assert {m.id for m in picture.measurements} == {m.id for m in best.values()}
    for m in best.values():
        assert figures.plain(m, 1e9) in text.getvalue()


@given(st.floats(1e-6, 1e12), st.floats(0.001, 0.999), st.floats(1.001, 1000))
def test_a_shown_interval_holds_the_measured_one(value: float, below: float, above: float) -> None:
    figure = Figure(
        metric="latency", unit="ns", estimate=value, ci_low=value * below, ci_high=value * above
    )
    estimate, interval = figures.parts(figure, 1.0)
    assert (estimate[0] == "~") is (above / below > 3)
    if "–" in interval:
        low, high = map(float, interval.split("–"))
        assert low <= value * below * 1.01
        assert high >= value * above * 0.99
        assert low <= float(estimate.lstrip("~")) <= high
    digits = estimate.lstrip("~0.").replace(".", "").rstrip("0")
    if estimate[0] == "~" and below < 0.5 < 1.5 < above:  # no digit is further from it than half
        assert len(digits) <= 1
    assert len(digits) <= (3 if estimate[0] == "~" else max(4, len(str(int(value)))))
    if below < 0.9 < 1.1 < above and estimate[0] != "~":
        assert len(digits) <= 3
    assert math.isclose(float(estimate.lstrip("~")), value, rel_tol=0.5)


def loaded(maker: synthetic.Maker, delay: int | None, ns: float, rate: float, disturbed: int = 0) \
        -> Measurement:  # fmt: skip
    pattern = {"mix": "100:0", "delay_ns": delay, "size": 1 << 30, "pages": "thp",
               "order": "random", "stride": 256, "load_from": "node:0", "load_to": "node:0",
               "load_order": "sequential", "load_threads": 0 if delay is None else 31,
               "load_access_size": 64, "load_size": 1 << 26}  # fmt: skip
    side = [] if delay is None else [
        Figure(metric="bandwidth", unit="B/s", estimate=rate, ci_low=rate * 0.99,
               ci_high=rate * 1.01)
    ]  # fmt: skip
    made = maker.make("loaded-latency", "node:0", "node:0", pattern, ns, "ns", figures=side)
    return made.model_copy(update={"evidence": Evidence(disturbed=disturbed)})


def test_the_headline_of_loaded_latency_names_no_point_that_counts_for_nothing() -> None:
    maker = synthetic.Maker()
    points = [loaded(maker, None, 100.0, 0.0), loaded(maker, None, 101.0, 0.0)]
    points += [
        loaded(maker, delay, 100 + 200 / (1 + delay / 20), 90e9 / (1 + delay / 100))
        for delay in (1000, 400, 160, 80, 0)
    ]
    points.append(loaded(maker, 40, 987_654.0, 120e9, disturbed=9))
    tables, summary = printed(synthetic.run(points))
    assert "1 disturbed points are left out" in tables
    assert "987" in tables
    assert "987" not in summary
    (text,) = re.findall(r"ns at ([\d.]+ GB/s), the (?:saturation|highest)", summary)
    assert re.search(rf"(saturation|highest reached) {text}", tables)


def test_a_headline_of_concurrent_streams_says_what_all_moved() -> None:
    maker = synthetic.Maker()
    pattern = {"mix": "67:33", "order": "sequential", "size": 1 << 30, "threads": 1,
               "beside": "stream2: node:0 → node:0, 100:0 by 1, sequential"}  # fmt: skip
    others = [
        Figure(metric="total_bandwidth", unit="B/s", estimate=24.42e9, ci_low=24.3e9,
               ci_high=24.5e9)
    ]  # fmt: skip
    run = synthetic.run([maker.make("traffic", "node:0", "node:0", pattern, 9.8e9, figures=others)])
    tables, summary = printed(run)
    assert "24.42" in tables or "24.4" in tables
    assert "all streams 24.42 GB/s" in " ".join(summary.split())
    assert "highest bandwidth" not in summary


def test_a_run_that_ran_out_of_time_has_not_reached_its_precision() -> None:
    maker = synthetic.Maker()
    made = maker.make("bandwidth", "node:0", "node:0", {"operation": "read"}, 1e10)
    assert "as precisely as asked" in sentences(synthetic.run([made]), VIEWS)[0]
    short = made.model_copy(update={"stop": "budget"})
    said = sentences(synthetic.run([short]), VIEWS)[0]
    assert said == "Usable: everything was measured, each figure to within ±0.1%."


def test_a_run_that_needs_time_is_told_an_option_that_its_command_has() -> None:
    wide = rate("node:0", 1e10, None, None)
    told = [
        ("bandwidth", "bandwidth", "(--budget)"),
        ("io", "storage /data", "--time-limit"),
        ("io", "storage --matrix", "--time-limit"),
        ("io", "storage io --to file:/tmp", "(--budget)"),
        ("io", "storage /data --qualify=latency", "--round"),
        ("training", "storage /data --training unet3d", "(--epochs)"),
        ("training", "training --to file:/data", "(--epochs)"),
        ("model-checkpoint", "checkpoint /data --model llama3-8b", "(--count)"),
        ("effect", "effect -- ./a", "(--rounds)"),
        ("bandwidth", "run", "--time-limit, or a longer --profile"),
        ("gpu-copy", "gpu", "(gpu copy --budget)"),
        ("gpu-copy", "gpu copy --from gpu:0", "(--budget)"),
        ("gpu-copy", "gpu matrix", "(--budget)"),
    ]
    for kind, command, option in told:
        one = wide.model_copy(update={"kind": kind})
        run = synthetic.run([one], command=["tierscope", *command.split()])
        assert verdict_of(run, VIEWS).why.endswith(option), (kind, command)


def test_options_that_give_more_samples_are_those_of_their_kinds() -> None:
    """A kind's command takes the option that figures of the kind are said to need."""
    for kind in KINDS.values():
        option = kind.view.more_by.removeprefix("--")
        assert option in {one.name for one in kind.request.options}, kind.name


def test_a_disturbed_point_is_drawn_hollow() -> None:
    maker = synthetic.Maker()
    points = [loaded(maker, delay, 120.0 - delay / 10, 5e10 - 1e7 * delay, 5) for delay in (0, 100)]
    (picture,) = pictures_of(synthetic.run(points), "loaded-latency", VIEWS)
    assert [row["doubtful"] for row in picture.spec["data"]["values"]] == [True, True]
    assert "hollow: disturbed" in json.dumps(picture.spec)


def rate(target: str, estimate: float, low: float | None, high: float | None) -> Measurement:
    made = synthetic.Maker().make("bandwidth", "node:0", target, {"operation": "read"}, estimate)
    cause = None if low else "few-samples"
    return synthetic.changed(made, estimate=estimate, ci_low=low, ci_high=high, no_interval=cause)


def test_a_figure_without_an_interval_is_no_best_one() -> None:
    sure, unknown = rate("node:0", 20e9, 19e9, 21e9), rate("node:1", 23.456e9, None, None)
    assert best_of([unknown, sure]) is sure
    assert best_of([unknown]) is unknown
    paths = [rate(f"node:{number}", 1e9, 0.9e9, 1.1e9) for number in range(13, 19)]
    unknown, sure = rate("node:11", 23.456e9, None, None), rate("node:10", 20e9, 19e9, 21e9)
    first = sentences(synthetic.run([unknown, sure, *paths]), VIEWS)[1]
    assert first.startswith("node:0 → node:10 reaches 20")


def test_figures_without_an_interval_have_fewer_digits() -> None:
    assert figures.plain(rate("node:0", 23.456e9, None, None), 1e9) == "~23"
    imported = rate("node:0", 23.456e9, None, None).model_copy(update={"no_interval": "imported"})
    assert (
        figures.plain(imported.figures[0].model_copy(update={"no_interval": "imported"}), 1e9)
        == "23.5"
    )


def test_paths_that_may_be_as_fast_as_the_fastest_are_named() -> None:
    fastest = rate("node:0", 22e9, 20e9, 24e9)
    alike, slower = rate("node:1", 19e9, 17e9, 21e9), rate("node:2", 9e9, 8e9, 10e9)
    assert as_good(fastest, [slower, alike, fastest]) == [alike]
    peak, *_ = key_figures(synthetic.run([slower, alike, fastest]), VIEWS)
    assert peak.detail == "node:0 → node:0, read (node:0 → node:1 may be as fast)"

"""Statistics of fixed inputs stay what they are: whoever changes a factor, a bound or an order sees
what that changes.

    python tests/analysis/test_pinned_statistics.py

writes pinned_statistics.json again, after a change that is meant; its diff belongs to the review.
Other tests say what is right; these say what a change changes.
"""

import math
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]

from curve_simulation import NOISES, Shape, curve  # noqa: E402
from tests import pinned, synthetic  # noqa: E402
from tests.analysis.spread_simulation import random_machine  # noqa: E402
from tests.analysis.test_conclude import repetition, spec  # noqa: E402
from tests.analysis.test_distribution import histogram  # noqa: E402
from tests.analysis.test_spread import limits_of  # noqa: E402
from tests.analysis.test_warm_up import series  # noqa: E402
from tests.fleet.figures import Fleet, figure, judged, made  # noqa: E402
from tests.test_at_once import joined  # noqa: E402
from tests.test_at_once import repetition as of_host  # noqa: E402

from tierscope.analysis import (  # noqa: E402
    bandwidth_latency,
    change,
    compare,
    distribution,
    estimate,
    knee,
    modes,
    outliers,
    plateaus,
    scatter,
    spread,
    time_series,
    warm_up,
)
from tierscope.analysis import conclude as concluding  # noqa: E402
from tierscope.analysis import curve as curves  # noqa: E402
from tierscope.model.run import Run  # noqa: E402

PINNED = Path(__file__).with_name("pinned_statistics.json")
CASES: dict[str, Callable[[], Any]] = {}


def case(make: Callable[[], Any]) -> Callable[[], Any]:
    CASES[make.__name__] = make
    return make


def normal(source: random.Random, count: int, level: float = 100.0, sd: float = 1.0) -> list[float]:
    return [source.gauss(level, sd) for _ in range(count)]


def following(source: random.Random, count: int, phi: float) -> list[float]:
    """An autoregressive series about 100."""
    state, values = source.gauss(0, 2), []
    for _ in range(count):
        values.append(100 + state)
        state = phi * state + source.gauss(0, 2 * math.sqrt(1 - phi * phi))
    return values


def cut(values: list[float], parts: int) -> list[list[float]]:
    size = len(values) // parts
    return [values[part * size : (part + 1) * size] for part in range(parts)]


@case
def students_t() -> Any:
    degrees = (1, 2, 3, 4, 5, 7, 8, 15, 30, 999)
    return {
        "quantile": [estimate.student_quantile(n, p) for n in degrees for p in (0.3, 0.05, 1e-4)],
        "within": [estimate.student_within(t, n) for n in degrees for t in (0.1, 1.0, 3.0, 9.0)],
        "chance": [outliers.chance(t, n) for n in (1, 4, 9, 199, 200) for t in (-2, 0, 1, 4, 40)],
    }


@case
def medians() -> Any:
    source = random.Random(1)
    inputs: list[list[list[float]]] = [
        *([normal(source, size) for _ in range(count)]
          for count, size in ((1, 11), (1, 12), (1, 60), (2, 3), (2, 20), (3, 2), (3, 40), (5, 9),
                              (6, 30), (7, 10), (8, 10), (12, 7), (16, 25))),
        *(cut(following(source, 160, phi), parts)
          for phi in (0.3, 0.8, 0.97) for parts in (1, 4, 8, 16)),
        *([normal(source, 20, 100 + 2 * (number % 3)) for number in range(count)]
          for count in (3, 6, 9, 12)),
        *([normal(source, 15, 100 + number) for number in range(count)] for count in (4, 10)),
        [[float(round(one)) for one in normal(source, 12)] for _ in range(9)],
        [[math.exp(source.gauss(2, 1)) for _ in range(4)] for _ in range(4)],
        [normal(source, size) for size in (4, 30, 9, 2, 50, 12)],
        [[-1.0, 0.0, 1.0, 2.0], [0.5, -2.0, 0.1, 3.0], [1.0, 1.0, 2.0, -1.0]],
        [[7.0] * 5] * 3,
    ]  # fmt: skip
    found = []
    for repetitions in inputs:
        sets = [number // 2 for number in range(len(repetitions))]
        for error, apart, pages in ((0.05, False, []), (0.01, True, []), (0.05, True, sets)):
            one = estimate.estimate_median(repetitions, error, apart, pages)
            found.append([*asdict(one).values(), one.relative_half_width])
    return found


@case
def estimates_that_are_widened() -> Any:
    one = estimate.Estimate(10.0, 9.0, 12.0, 30.0, 0.25)
    return [
        one.widened(0.1), one.scaled(0.5, 3.0, 1.0), one.covering(8.0, 11.0), one.covering(9.5, 20),
        one.without("few-samples"), one.without("few-samples").scaled(2.0), one.relative_half_width,
        replace(one, value=-10.0).relative_half_width,
        [estimate.autocorrelation_time(cut(following(random.Random(2), 240, phi), parts), 100.0)
         for phi in (-0.5, 0.0, 0.5, 0.9) for parts in (1, 6)],
    ]  # fmt: skip


@case
def distributions() -> Any:
    source = random.Random(3)

    def sample(count: int, level: float) -> list[int]:
        return histogram([int(math.exp(source.gauss(level, 0.6))) for _ in range(count)])

    found = []
    for repetitions, samples, count, drift in (
        (1, 3, 50, 0.0), (1, 16, 90, 0.0), (3, 4, 200, 0.1), (6, 6, 400, 0.0), (6, 6, 400, 0.2),
        (9, 5, 300, 0.05), (12, 3, 700, 0.02),
    ):  # fmt: skip
        times = [
            [sample(count, 9 + drift * (number % 3)) for _ in range(samples)]
            for number in range(repetitions)
        ]
        whole = distribution.merged(times)
        found.append([distribution.percentile(whole, beyond) for beyond in (0.5, 0.1, 0.01, 0.001)])
        for error, apart in ((0.05, False), (0.02, True)):
            pages = [number // 2 for number in range(repetitions)] if apart else []
            found += [
                [name, *asdict(one).values()]
                for name, one in distribution.estimates(times, error, apart, pages)
            ]
    return found


@case
def spreads_of_hosts() -> Any:
    source = random.Random(4)
    found = []
    for count in (*range(2, 14), 40, 99, 100, 101, 250):
        values = [source.gauss(0, 0.01) for _ in range(count)]
        rounded = [0.01 * round(value / 0.01) for value in values]
        coarse = [0.05 * round(value / 0.02) for value in values]
        skewed = [source.expovariate(100) for _ in range(count)]
        found.append(
            [scatter.within(one) for one in (values, rounded, coarse, skewed)]
            + [
                scatter.slow_side(one, most)
                for one in (values, rounded, skewed)
                for most in (0.05, 0.2)
                if count > 2
            ]
        )
    return found


@case
def tails() -> Any:
    source = random.Random(5)

    def student(freedom: int) -> float:
        return source.gauss(0, 1) / math.sqrt(source.gammavariate(freedom / 2, 2) / freedom)

    draws: dict[str, Callable[[], float]] = {
        "normal": lambda: source.gauss(0, 1),
        "wide": lambda: 30 * source.gauss(0, 1),
        **{f"t{one}": lambda one=one: student(one) for one in (3, 5, 8, 20)},  # type: ignore[misc]
        "skewed": lambda: source.expovariate(1) - 0.7,
        "skewed fast": lambda: 0.7 - source.expovariate(1),
        "a little skewed": lambda: source.gauss(0, 1) + 0.3 * source.expovariate(1) - 0.2,
    }
    found = {}
    for name, draw in draws.items():
        for count in (300, 398, 405, 1000, 5000):
            tail = scatter.Tail()
            for _ in range(count):
                tail.add(draw())
            found[f"{name} {count}"] = [tail.freedom(), tail.freedom(77)]
    return found


def fleets() -> Iterator[tuple[str, Fleet, dict[str, Any]]]:
    for hosts in (5, 6, 7, 12, 19, 20, 40, 150, 700):
        for paths in (1, 2, 3, 8):
            slow = frozenset({1}) if hosts < 40 else frozenset({3, 17})
            yield (
                f"{hosts} hosts, {paths} paths",
                made(hosts, paths, slow=slow, by=0.3 if hosts < 20 else 0.1, seed=hosts, on=2),
                {},
            )
    yield "errors", made(60, slow=frozenset({4}), by=0.04, error=0.004, between=0.004), {}
    yield "shared", made(200, paths=20, slow=frozenset({4}), by=0.02, shared=0.5), {}
    yield "latency", made(200, slow=frozenset({4}), by=0.05, metric="latency", tail=4), {}
    yield "groups", made(200, slow=frozenset({4}), by=0.05, groups=12), {}
    yield "small groups", made(12, slow=frozenset({4}), by=0.4, groups=2), {}
    yield "uneven", made(200, slow=frozenset(range(30)), by=0.2), {}
    yield "most", made(200, slow=frozenset(range(30)), by=0.2), {"most": 0.2}
    yield "minimum", made(200, slow=frozenset({4}), by=0.05), {"minimum": 0.08}
    small = made(12, 4, slow=frozenset({1}), by=0.3)
    times = [(key._replace(kind="other"), own) for key, own in made(12, 2, metric="latency")]
    yield "kinds", [*small, *times], {}
    models = [
        (key, [one._replace(model=f"m{n % 2}", group=f"m{n % 2}") for n, one in enumerate(own)])
        for key, own in made(40, slow=frozenset({5}), by=0.1)
    ]
    yield "models", models, {}
    lacking = [
        (key, own if number % 2 else own[:45])
        for number, (key, own) in enumerate(made(60, paths=9, slow=frozenset({7, 50}), by=0.08))
    ]
    yield "lacking", lacking, {}
    capped = [
        (key, [figure(n, min(one.value, 100.0)) for n, one in enumerate(own)])
        for key, own in made(80, slow=frozenset({7}), by=0.2)
    ]
    yield "capped", capped, {}


@case
def verdicts_on_fleets() -> Any:
    found = {}
    for name, fleet, more in fleets():
        verdict = judged(fleet, **more)
        found[name] = {
            "judged": verdict.judged,
            "outliers": [
                [one.host, one.group, one.group_hosts, one.q, one.judged, one.together, one.slower,
                 [[p.initiator, p.figure, p.centre, p.deviation, p.low, p.high, p.p]
                  for p in one.paths]]
                for one in verdict.outliers
            ],
            "unjudged": verdict.unjudged,
            "uneven": [
                [one.group, one.hosts, one.group_hosts, one.slower, one.paths, one.initiator]
                for one in verdict.uneven
            ],
            "detectable": [[one.initiator, one.metric, one.slower] for one in verdict.detectable],
        }  # fmt: skip
    return found


def several(runs: Run, every: int) -> Run:
    return runs.model_copy(update={"measurements": runs.measurements[::every]})


def scaled(run: Run, factor: Callable[[int], float]) -> Run:
    """A run whose measurements came out otherwise."""
    found = []
    for number, m in enumerate(run.measurements):
        times = factor(number)
        figures = [
            one.model_copy(
                update={
                    "estimate": one.estimate * times,
                    "ci_low": one.ci_low and one.ci_low * times,
                    "ci_high": one.ci_high and one.ci_high * times,
                }
            )
            for one in m.figures
        ]
        samples = [one * times for one in m.samples]
        found.append(m.model_copy(update={"figures": figures, "samples": samples}))
    return run.model_copy(update={"measurements": found})


@case
def comparisons() -> Any:
    base, new = (several(synthetic.full(seed), 7) for seed in (1, 2))
    few = [synthetic.run(synthetic.memory_measurements(synthetic.Maker(s, n=n))[::9])
           for s, n in ((1, 4), (2, 5), (3, 6), (4, 7))]  # fmt: skip
    wild = [synthetic.run(synthetic.memory_measurements(synthetic.Maker(s, noise=noise, n=12))[::9])
            for s, noise in ((1, 0.2), (2, 0.2), (3, 0.05))]  # fmt: skip
    wander = random.Random(6)
    drifted = scaled(new, lambda _: math.exp(wander.gauss(0, 0.03)))
    pairs = {
        "same": (base, base, {}),
        "again": (base, new, {}),
        "one in five slower": (base, scaled(new, lambda n: 0.93 if n % 5 == 0 else 1.0), {}),
        "all slower": (base, scaled(new, lambda _: 0.95), {}),
        "wandering": (base, drifted, {}),
        "several": (base, drifted, {"comparisons": 9}),
        "earlier": (base, drifted, {"also": [scaled(base, lambda n: 1.0 + 0.02 * (n % 3))]}),
        "few": (few[0], few[1], {}),
        "six": (few[2], few[3], {}),
        "wild": (wild[0], wild[1], {}),
        "less wild": (wild[0], wild[2], {}),
    }
    found = {}
    for name, (old, fresh, more) in pairs.items():
        for tolerance in (0.02, 0.06):
            one = compare.compare(("b", old), ("n", fresh), tolerance, **more)  # type: ignore[arg-type]
            found[f"{name} {tolerance}"] = [
                one.wander, one.pairs, one.pairs_s,
                [[d.verdict, d.cause, d.ratio, d.low, d.high, d.detectable]
                 for d in one.differences],
            ]  # fmt: skip
    return found


@case
def paired_ratios() -> Any:
    source = random.Random(7)
    return [
        change.paired_ratio([(source.gauss(10, 1), source.gauss(11, 1)) for _ in range(n)], error)
        for n in (1, 2, 3, 9)
        for error in (0.05, 0.01)
    ] + [compare.percent(bound) for bound in (0.001, 0.05, 0.6, math.log(2), 1.0, 4.0)]


@case
def ratios_of_pages() -> Any:
    found = []
    for seed in range(12):
        machine, writes = random_machine(random.Random(seed))
        limits = limits_of(machine, writes)
        best = spread.best_spread(limits)
        found.append(
            [best.shares, best.bandwidth, best.bound_by, spread.whole_weights(limits, best),
             spread.whole_weights(limits, best, 20), spread.nearest_weights(best.shares, 30)]
        )  # fmt: skip
    limit = spread.Limit("a", 10.0, (1.0, 0.5), ((2.0, 8.0), (6.0, 4.0)))
    found.append([limit.rate_at(waiting) for waiting in (0, 1, 2, 3, 6, 7)])
    for bandwidths in (
        {1: 5.0, 2: 9.0, 4: 16.0, 8: 14.0, 16: 10.0}, {2: 8.0, 4: 8.0}, {1: 4.0, 2: 3.0, 3: 3.5},
        {1: 5.0, 8: 30.0, 9: 29.0, 10: 29.5, 16: 20.0},
    ):  # fmt: skip
        found.append(spread.node_limit("n", (1.0, 0.0), bandwidths))
    return found


@case
def knees_and_half_sizes() -> Any:
    source = random.Random(8)
    found: list[Any] = []
    for noise in (0.0, 0.01, 0.04):
        for top in (4, 9, 100):
            rates = {n: (1 - math.exp(-n / top)) * (1 + source.gauss(0, noise))
                     for n in (1, 2, 4, 8, 16, 32, 64)}  # fmt: skip
            found.append(
                knee.knee({n: (one * (1 - noise), one * (1 + noise)) for n, one in rates.items()})
            )
    for half in (10.0, 300.0, 5000.0, 1e9):
        points = [(float(2**n), 2**n / (2**n + half)) for n in range(1, 14)]
        source.shuffle(points)
        found.append(knee.half_size(points))
    found += [knee.half_size([(float(n), float(n)) for n in range(1, last)]) for last in (4, 5)]
    return found


@case
def levels_of_caches() -> Any:
    source = random.Random(9)
    found: list[Any] = []
    for number in range(30):
        ends = sorted(source.sample(range(13, 27), 1 + number % 3))
        curve_ = []
        for power in [*range(12, 31), 30.4]:
            size = int(2**power)
            level = sum(size > 2**end for end in ends)
            latency = (1.5, 5.0, 24.0, 110.0)[level] * (1 + abs(source.gauss(0, 0.06)))
            curve_.append((size, latency))
        found.append(plateaus.plateaus(curve_))
        caches = [(f"L{n + 1}", int(2**end * (0.6, 1.0, 1.9)[number % 3]))
                  for n, end in enumerate([*ends, 29])]  # fmt: skip
        found.append(
            [[one.name, one.verdict] for one in plateaus.check_levels(found[-1], 2**30, caches)]
        )
    return found


SHAPES = (Shape(), Shape(0.3), Shape(0.1, 0.6, 2.0), Shape(0.0, 0.8, 6.0), Shape(0.2, 0.4, 0.8))


@case
def curves_of_loaded_latency() -> Any:
    source = random.Random(10)
    found: list[Any] = []
    for shape in SHAPES:
        for noise in NOISES.values():
            for count in (3, 5, 8, 13):
                points, idle = curve(shape, count, noise, source)
                one = curves.summarize(points, idle)
                found.append(
                    [one.idle, one.drift, one.doubt, one.knee and one.knee.bandwidth,
                     one.peak.bandwidth, one.saturated, one.doubled,
                     curves.next_delays(points, one.idle, 5),
                     [curves.delay_for(points, share * 1e11) for share in (0.03, 0.33, 0.77, 2)],
                     [curves.latency_at(points, one.idle, share * 1e11)
                      for share in (0.03, 0.33, 0.77, 2)]]
                )  # fmt: skip
    return found


@case
def bends_of_curves() -> Any:
    source = random.Random(11)
    found = []
    for count in (3, 4, 6, 7, 8, 12):
        for rise in (0.0, 0.05, 0.2, 1.0, 5.0):
            for known in (True, False):
                points = [
                    curves.Observed(
                        x, 10 + x + rise * max(0.0, x - count / 2) + source.gauss(0, 0.1),
                        0.02, 0.1,
                    )
                    for x in range(count)
                ]  # fmt: skip
                found.append(curves.bends_upwards(points, known))
    return [found, [curves.z_of(level) for level in (0.5, 0.05, 0.001)],
            [[p.delay_ns, low, high] for p, low, high in curves.latency_spans(
                curve(SHAPES[2], 6, NOISES["honest intervals"], source)[0])]]  # fmt: skip


@case
def sums_over_hosts() -> Any:
    source = random.Random(12)
    found: list[Any] = []
    for error_s, gap in ((0.0, 0.1), (0.01, 0.1), (0.03, 60.0)):
        hosts = {
            name: [
                of_host(
                    [source.gauss(level, 3) for _ in range(12)],
                    start=number * (0.6 + gap) + 0.013 * late,
                    number=number,
                    samples=[histogram([int(source.gauss(5000, 900)) for _ in range(40)])
                             for _ in range(12)],
                )
                for number in range(6 - (late == 2))
            ]
            for late, (name, level) in enumerate({"a": 100.0, "b": 120.0, "c": 60.0}.items())
        }  # fmt: skip
        one = joined(hosts, error_s)
        whole = one.windows
        found.append(
            [whole.by_number, whole.hosts, whole.left_out, whole.share, whole.seconds,
             {str(key): total for key, total in one.sums().items()},
             {str(key): named for key, named in one.percentiles().items()}]
        )  # fmt: skip
    return found


@case
def warm_ups_and_rounds() -> Any:
    source = random.Random(13)
    found: list[Any] = []
    for repetitions, samples, cold, rise in (
        (1, 30, 5, 10.0), (3, 20, 0, 0.0), (8, 20, 3, 4.0), (8, 20, 12, 8.0), (16, 9, 2, 1.0),
        (8, 40, 40, 6.0), (5, 6, 2, 30.0),
    ):  # fmt: skip
        made_ = [
            series([
                100 - rise * math.exp(-3 * number / max(1, cold)) + source.gauss(0, 0.3)
                for number in range(samples)
            ])
            for _ in range(repetitions)
        ]  # fmt: skip
        found += [warm_up.warm_up(made_, precision) for precision in (0.01, 0.002)]
    for fall in (0.0, 0.002, 0.02, 0.2):
        rates = [100 * math.exp(-fall * n) + source.gauss(0, 1) for n in range(60)]
        found += [time_series.steady_state(rates, 0.5, round_s) for round_s in (0.0, 1.0, 4.0)]
        window = time_series.window_of(rates[:5])
        found.append([window.mean, window.range, window.slope, window.steady])
    for apart, share in ((0.0, 0.5), (1.0, 0.5), (4.0, 0.5), (8.0, 0.3), (8.0, 0.05), (20.0, 0.9)):
        for count in (12, 40, 200):
            values = [source.gauss(100 + apart * (source.random() < share), 0.5)
                      for _ in range(count)]  # fmt: skip
            found.append(modes.find_modes(cut(values, 4)))
    return found


@case
def conclusions() -> Any:
    source = random.Random(14)
    found: list[Any] = []
    for count, samples, slow, disturbed in (
        (1, 20, 0.0, ()), (4, 20, 0.0, (3, 4)), (8, 20, 10.0, (1,)), (8, 20, 0.0, range(20)),
        (12, 10, 2.0, ()), (6, 12, 0.0, range(0, 12, 2)), (2, 3, 0.0, ()),
    ):  # fmt: skip
        repetitions = [
            repetition(
                {"bandwidth": [100 - slow * (n < 2) + source.gauss(0, 1) for n in range(samples)],
                 "latency a": [None if n == 5 else source.gauss(50, 2) for n in range(samples)]},
                disturbed=disturbed,
                fresh=number % 2 == 0,
            )
            for number in range(count)
        ]  # fmt: skip
        asked = spec(budget_s=60.0)
        found.append(concluding.conclude(asked, repetitions))
        found.append(concluding.interim_analysis(asked, repetitions))
    return found


@case
def metrics_of_curves() -> Any:
    source = random.Random(15)
    found = []
    for shape in SHAPES:
        points, idle = curve(shape, 7, NOISES["honest intervals"], source)
        summary = curves.summarize(points, idle)
        pairs = [
            (
                synthetic.Figure(
                    metric="bandwidth", unit="B/s", estimate=p.bandwidth,
                    ci_low=p.bandwidth - (p.bandwidth_half or 0),
                    ci_high=p.bandwidth + (p.bandwidth_half or 0),
                ),
                synthetic.Figure(
                    metric="latency", unit="ns", estimate=p.latency,
                    ci_low=p.latency - (p.latency_half or 0),
                    ci_high=p.latency + (p.latency_half or 0),
                ),
            )
            for p in curves.by_load(points)
        ]  # fmt: skip
        controls = [
            synthetic.Figure(metric="latency", unit="ns", estimate=one, ci_low=0.98 * one,
                             ci_high=1.02 * one)
            for one in idle
        ]  # fmt: skip
        found.append(
            bandwidth_latency.curve_metrics(pairs, controls, summary.idle, summary.doubled)
        )
    return [found, bandwidth_latency.family_metrics(found)]


@pytest.mark.parametrize("name", CASES)
def test_statistics_are_what_they_were(name: str) -> None:
    assert pinned.changes(PINNED, CASES, name) == []


if __name__ == "__main__":
    pinned.write(PINNED, CASES)

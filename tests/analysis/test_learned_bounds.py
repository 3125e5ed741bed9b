"""Golden values from figures that are given by hand: which bound, of what, and what is said."""

import math
from typing import Any

import pytest
from tests import synthetic

from tierscope.analysis.learn import as_file, learn
from tierscope.kinds.vocabulary import vocabulary
from tierscope.model.event import Evidence
from tierscope.model.run import Measurement, Run

WORDS = vocabulary()
MAKER = synthetic.Maker()


def measured(
    value: float, kind: str = "bandwidth", pattern: dict[str, Any] | None = None, half: float = 0.0,
    **changes: Any,
) -> Measurement:  # fmt: skip
    unit = "ns" if kind == "latency" else "B/s"
    usual = {"order": "random", "size": 1 << 30} if kind == "latency" else {"operation": "read"}
    ends = {"ci_low": value * math.exp(-half), "ci_high": value * math.exp(half)}
    made = MAKER.make(
        kind, "node:0", changes.pop("target", "node:1"), usual if pattern is None else pattern,
        value, unit,
    )  # fmt: skip
    return synthetic.changed(made, **{"estimate": value, **ends, **changes})


def rules(*runs: Run, kinds: tuple[str, ...] = ("bandwidth", "latency")) -> list[str]:
    return [one.rule or f"none: {one.subject}" for one in learn(runs, kinds, WORDS)]


def rule_of(*values: float, **more: Any) -> str:
    (rule,) = rules(*(synthetic.run([measured(value, **more)]) for value in values))
    return rule


@pytest.mark.parametrize(
    ("values", "more", "rule"),
    [
        # Two runs as usual and this one: t(2) is 6.965; 6.965 x 0.015 x sqrt 2 = 0.1478.
        ((100e9,), {}, "node:0 -> node:1 bandwidth read: >= 86.2 GB/s"),
        # Two alike: 4.541 x sqrt(2 x 0.015^2 / 3 x 3/2) = 0.0681, of 100 up or down.
        ((100e9, 100e9), {}, "node:0 -> node:1 bandwidth read: >= 93.4 GB/s"),
        ((100.0, 100.0), {"kind": "latency"}, "node:0 -> node:1 latency: <= 108 ns"),
        # 10% apart, squares are 0.0953^2 / 2: 4.541 x sqrt((0.00045 + 0.00454) / 3 x 3/2).
        ((100e9, 110e9), {}, "node:0 -> node:1 bandwidth read: >= 83.5 GB/s"),
        # Intervals of +-1.96%: the standard error is 1%, and 4.541 x sqrt(2.5e-4 x 3/2) = 0.0879.
        ((100e9, 100e9), {"half": 0.0196}, "node:0 -> node:1 bandwidth read: >= 91.5 GB/s"),
    ],
)  # fmt: skip
def test_a_bound_is_what_99_of_100_runs_meet(
    values: tuple[float, ...], more: dict[str, Any], rule: str
) -> None:
    assert rule_of(*values, **more) == rule


def test_a_rule_has_three_digits_and_is_rounded_to_the_side_on_which_it_is_met() -> None:
    assert rule_of(1.1765e9).endswith(">= 1.01 GB/s")
    assert rule_of(1e6, kind="latency").endswith("<= 1160000 ns")


@pytest.mark.parametrize(
    "spoilt",
    [
        {"ci_low": None}, {"ci_high": None}, {"estimate": 0.0},
        {"evidence": Evidence(disturbed=1)},
    ],
)  # fmt: skip
def test_only_an_undisturbed_figure_with_an_interval_decides(spoilt: dict[str, Any]) -> None:
    good, bad = measured(100e9), measured(50e9, **spoilt)
    none = "none: node:0 -> node:1 bandwidth read"
    assert rules(synthetic.run([bad])) == [none]
    both = [synthetic.run([one]) for one in (good, bad, good)]
    assert rules(*both) == ["node:0 -> node:1 bandwidth read: >= 93.4 GB/s"]
    text = as_file(learn([both[1]], ["bandwidth"], WORDS), [both[1]])
    assert "  # node:0 -> node:1 bandwidth read: no undisturbed figure with an interval\n" in text


@pytest.mark.parametrize(
    "changes",
    [
        {"status": "failed", "reason": "x"}, {"fits_caches": True}, {"metric": "of-others"},
        {"pattern": {"operation": "read", "beside": "another stream"}},
    ],
)  # fmt: skip
def test_what_says_nothing_of_a_path_gives_no_rule(changes: dict[str, Any]) -> None:
    assert rules(synthetic.run([measured(100e9, **changes)])) == []
    assert rules(synthetic.run([measured(100e9)]), kinds=("latency",)) == []


@pytest.mark.parametrize(
    ("kind", "patterns", "words"),
    [
        ("traffic", [{"mix": "100:0", "order": "random"}], [""]),
        ("traffic", [{"mix": "100:0", "order": one} for one in ("sequential", "random")],
         [" order=sequential", " order=random"]),
        ("traffic", [{"mix": "0:100 nt"}, {}], [" mix=0:100-nt", ""]),
        ("bandwidth", [{"operation": "write"}], [" write"]),
        ("latency", [{"order": "random", "mix": one} for one in ("a", "b")], [""]),
    ],
)  # fmt: skip
def test_the_operation_and_what_varies_name_a_quantity(
    kind: str, patterns: list[dict[str, Any]], words: list[str]
) -> None:
    other = measured(1e9, "gpu-memory", {"operation": "read", "order": "strided", "mix": "c"})
    asked = [other, *(measured(1e9, kind, one) for one in patterns)]
    found = learn([synthetic.run(asked)], [kind], WORDS)
    assert [one.subject for one in found] == [f"node:0 -> node:1 {kind}{own}" for own in words]


def test_a_file_says_what_was_seen_of_whom_and_when() -> None:
    runs = [
        synthetic.run([measured(value * 1e9), measured(2 * value, "latency")], host=host,
                      started=f"2026-01-0{day}T00:00:00+00:00")
        for value, host, day in ((110, "b", 7), (100, "a", 5))
    ]  # fmt: skip
    text = as_file(learn(runs, ["bandwidth", "latency"], WORDS), runs).splitlines()
    assert text[0] == "# Golden values from 2 runs of 2 hosts, a to b, 2026-01-05 to 2026-01-07."
    assert text[3:6] == [
        "version: 1", "rules:", '  - "node:0 -> node:1 bandwidth read: >= 83.5 GB/s"',
    ]  # fmt: skip
    # ln 1.1 / sqrt 2 is 6.7%.
    assert text[6] == "    # 2 of 2 runs: 100 to 110 GB/s, ±6.7%"
    assert text[8] == "    # 2 of 2 runs: 200 to 220 ns, ±6.7%"
    one = as_file(learn(runs[:1], ["bandwidth"], WORDS), runs[:1]).splitlines()
    assert one[0] == "# Golden values from 1 runs of b, 2026-01-07 to 2026-01-07."
    assert one[6] == "    # 1 of 1 runs: 110 GB/s"

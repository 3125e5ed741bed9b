"""Two sides measured in turn, by an engine that may die."""

import json
import math
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tierscope.analysis.change import paired_ratio
from tierscope.cli.compare import compare_pairs
from tierscope.cli.output import Output
from tierscope.kinds.plan import Plan
from tierscope.model.errors import UserError
from tierscope.model.event import Event, Started
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.request import Request
from tierscope.runs.pairs import take_pairs

Fake = Callable[[str], None]


def plan_of(machine: Topology, size: str) -> Plan:
    asked = Request(kind="latency", options={"size": size, "budget": "1"})
    return expand([asked], machine, thp=True)


def test_the_ratio_of_pairs_cancels_what_they_share() -> None:
    drift = [100.0, 150.0, 70.0, 130.0, 90.0]
    found = paired_ratio([(level, level * 1.02) for level in drift])
    assert (found.ratio, found.low, found.high) == pytest.approx((1.02, 1.02, 1.02))


def test_the_interval_is_students_on_the_logarithm() -> None:
    found = paired_ratio([(1.0, math.exp(x)) for x in (0.1, 0.2, 0.3)])
    # 4.303 * 0.1 / sqrt(3)
    assert found.low is not None
    assert found.high is not None
    assert math.log(found.ratio) == pytest.approx(0.2)
    assert math.log(found.high) == pytest.approx(0.2 + 0.24843, abs=1e-4)
    assert found.low < 1 < found.high


def test_one_pair_has_no_interval() -> None:
    found = paired_ratio([(2.0, 3.0)])
    assert (found.ratio, found.low, found.high) == (pytest.approx(1.5), None, None)


def test_sides_take_turns_and_each_comes_first_in_every_other_pair(
    machine: Topology, fake_engine: Fake
) -> None:
    seen: list[str] = []

    def watch(event: Event) -> None:
        if isinstance(event, Started):
            seen.append(event.id.split(".")[-2])

    base, new = plan_of(machine, "4k"), plan_of(machine, "64k")
    (found,), interrupted = take_pairs(base, new, 3, watch=watch)
    assert seen == ["4k", "64k", "64k", "4k", "4k", "64k"]
    assert not interrupted
    # The fake engine takes 64 KiB 7 ns and 4 KiB 2 ns.
    assert paired_ratio(found.pairs).ratio == pytest.approx(3.5, rel=0.01)


def test_plans_of_different_length_are_refused(machine: Topology, fake_engine: Fake) -> None:
    with pytest.raises(UserError, match="the first side has 1 measurement, the second one 2"):
        take_pairs(plan_of(machine, "4k"), plan_of(machine, "4k,8k"), 2)


def test_a_side_that_fails_ends_its_pairs_and_no_others(
    machine: Topology, fake_engine: Fake
) -> None:
    fake_engine("segv@5")  # the first measurement of the second pair
    plan = plan_of(machine, "4k,8k")
    first, second = take_pairs(plan, plan, 3)[0]
    assert (len(first.pairs), len(second.pairs)) == (1, 3)
    assert "SIGSEGV" in first.reason


@pytest.fixture
def plans(tmp_path: Path) -> list[str]:
    paths = []
    for size in ("4k", "64k"):
        path = tmp_path / f"{size}.yaml"
        path.write_text(
            f"version: 1\nmeasurements:\n- kind: latency\n  args: {{size: {size}, budget: 0.2}}\n"
        )
        paths.append(str(path))
    return paths


def test_the_command_prints_ratios(
    plans: list[str], fake_engine: Fake, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare_pairs(plans, "3", (), Output(json="-")) == 0
    (one,) = json.loads(capsys.readouterr().out)["paired"]
    assert len(one["pairs"]) == 3
    assert one["low"] <= one["ratio"] <= one["high"]
    assert compare_pairs(plans, "3", (), Output()) == 0
    assert "3.5" in capsys.readouterr().out


def test_every_compared_figure_has_its_ratio(
    tmp_path: Path, fake_engine: Fake, capsys: pytest.CaptureFixture[str]
) -> None:
    plans = []
    for size in ("64k", "1m"):
        path = tmp_path / f"{size}.yaml"
        path.write_text(
            f"version: 1\nmeasurements:\n- kind: mapping\n"
            f"  args: {{size: {size}, pages: base, budget: 0.2}}\n"
        )
        plans.append(str(path))
    assert compare_pairs(plans, "3", (), Output(json="-")) == 0
    found = {one["metric"]: one for one in json.loads(capsys.readouterr().out)["paired"]}
    assert list(found) == ["time_per_page", "map", "populate_per_page", "unmap_per_page"]
    assert all(len(one["pairs"]) == 3 and one["unit"] == "ns" for one in found.values())
    # The fake engine takes 6000 ns a mapping, and as long for each of its pages otherwise.
    assert found["time_per_page"]["ratio"] == pytest.approx(
        (6000 / 256 + 410) / (6000 / 16 + 410), rel=0.01
    )
    assert found["map"]["ratio"] == pytest.approx(1.0, rel=0.01)
    assert compare_pairs(plans, "3", (), Output()) == 0
    assert "populate per page" in capsys.readouterr().out


def test_two_engines_need_one_plan_only(
    plans: list[str], fake_engine: Fake, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = Path(os.environ["TIERSCOPE_ENGINE"])
    assert compare_pairs(plans[:1], "2", (engine, engine), Output(json="-")) == 0
    (one,) = json.loads(capsys.readouterr().out)["paired"]
    assert one["ratio"] == pytest.approx(1.0, rel=0.01)


@pytest.mark.parametrize(
    ("names", "pairs", "engines", "says"),
    [
        (1, "3", 0, "takes two plans, or one plan and two --engine"),
        (2, "0", 0, "--pairs:"),
        (2, "x", 0, "--pairs:"),
        (2, "3", 1, "--engine: name two engines"),
    ],
)
def test_wrong_requests_are_refused(
    plans: list[str], fake_engine: Fake, names: int, pairs: str, engines: int, says: str
) -> None:
    with pytest.raises(UserError, match=says):
        compare_pairs(plans[:names], pairs, [Path("engine")] * engines, Output())

"""Two sides measured in turn, by an engine that may die."""

import contextlib
import json
import math
import os
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from tests.runs.test_run_files import repetition_of

from tierscope.analysis.change import paired_ratio
from tierscope.cli.compare import compare_pairs
from tierscope.cli.output import Output
from tierscope.kinds.plan import Plan, Spec
from tierscope.model.cause import Cause
from tierscope.model.errors import UserError
from tierscope.model.event import Column, Event, Failed, Repetition, Skipped, Started
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.request import Request
from tierscope.runs import pairs
from tierscope.runs.pairs import Paired, take_pairs

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


class Side:
    """A side that answers as it is told: by the number of its repetition, from 0."""

    def __init__(self, answer: Callable[[int, str], list[Event]]) -> None:
        self.answer = answer
        self.asked: list[tuple[str, float]] = []
        self.planned: list[str] = []
        self.interrupted = False

    def plan(self, specs: list[Spec]) -> None:
        self.planned += [spec.id for spec in specs]

    def repetition(self, name: str, seconds: float) -> Iterator[Event]:
        self.asked.append((name, seconds))
        yield from self.answer(len(self.asked) - 1, name)


def measured(name: str, interrupted: bool = False, **scales: float) -> Repetition:
    """40 rows of one bandwidth, and of the other metrics, each by its scale."""
    one = repetition_of(name, scales.pop("bandwidth", 1.0), interrupted=interrupted)
    (series,) = one.series
    (column,) = series.columns
    more = [
        Column(metric=metric, values=[scale * (value or 0.0) for value in column.values])
        for metric, scale in scales.items()
    ]
    whole = series.model_copy(update={"columns": [column, *more]})
    return one.model_copy(update={"series": [whole]})


Take = Callable[..., tuple[list[Paired], bool]]


@pytest.fixture
def take(machine: Topology, monkeypatch: pytest.MonkeyPatch) -> Take:
    """Take pairs of two measurements of two sides."""
    request = Request(
        kind="bandwidth", options={"op": "read,copy", "size": "1m", "threads": "1", "budget": "2"}
    )
    plan = expand([request], machine, thp=True)

    def taken(count: int, *sides: Side, **more: Any) -> tuple[list[Paired], bool]:
        left = list(sides)
        monkeypatch.setattr(
            pairs, "living_measurers", lambda *_: contextlib.nullcontext(left.pop(0))
        )
        return take_pairs(plan, plan, count, **more)

    return taken


def usual(scale: float) -> Side:
    return Side(lambda number, name: [measured(name, bandwidth=scale * (number + 1))])


def test_a_pair_is_of_one_repetition_of_each_side(take: Take) -> None:
    """Whichever comes first: the first one of a pair is the base."""
    base, new = usual(1.0), usual(3.0)
    seen: list[Event] = []
    found, interrupted = take(2, base, new, watch=seen.append)
    assert not interrupted
    for number, one in enumerate(found):
        level = 14e9 * 1.001
        wanted = [(level * n, 3 * level * n) for n in (number + 1, number + 3)]
        assert [tuple(map(float, pair)) for pair in one.pairs] == [
            pytest.approx(pair, rel=0.002) for pair in wanted
        ]
        assert list(one.figures) == [("bandwidth", "")]
        assert one.reason == ""
    assert len(seen) == 8
    assert base.planned == new.planned == [one.base.id for one in found]
    assert [name for name, _ in base.asked] == [one.base.id for one in found] * 2


@pytest.mark.parametrize(("count", "seconds"), [(1, 2.0), (4, 0.5), (25, 0.15)])
def test_a_measurement_s_time_is_shared_by_its_pairs(
    take: Take, count: int, seconds: float
) -> None:
    """None is shorter than 15 samples of 10 ms."""
    base = usual(1.0)
    take(count, base, usual(1.0))
    assert [one for _, one in base.asked] == [pytest.approx(seconds)] * 2 * count


def test_figures_that_one_side_lacks_have_no_pairs(take: Take) -> None:
    """Those that are 0 or not compared, too."""
    base = Side(lambda _, name: [measured(name, total_bandwidth=2.0, iops=1.0)])
    new = Side(lambda _, name: [measured(name, iops=1.0)])
    (one, _), _ = take(1, base, new)
    assert list(one.figures) == [("bandwidth", "")]


def test_a_repetition_that_was_cut_is_no_half_of_a_pair(take: Take) -> None:
    new = Side(lambda number, name: [measured(name, interrupted=number < 2)])
    found, interrupted = take(3, usual(1.0), new)
    assert [len(one.pairs) for one in found] == [2, 2]
    assert ([one.reason for one in found], interrupted) == (["", ""], False)


@pytest.mark.parametrize("event", [Skipped, Failed])
def test_a_side_that_gives_up_is_named_and_the_other_one_is_not_asked(
    take: Take, event: type[Skipped] | type[Failed]
) -> None:
    """In the second round, in which the new side comes first."""

    def answer(number: int, name: str) -> list[Event]:
        gone = event(id=name, cause=Cause.MEMORY, reason="gone")
        return [gone, measured(name)] if number == 2 else [measured(name)]

    base, new = usual(1.0), Side(answer)
    (first, second), interrupted = take(3, base, new)
    word = "skipped" if event is Skipped else "failed"
    assert first.reason == f"{first.new.id} {word}: gone"
    assert (len(first.pairs), len(second.pairs), second.reason) == (1, 3, "")
    asked = [[name for name, _ in side.asked].count(first.base.id) for side in (base, new)]
    assert (asked, interrupted) == ([1, 2], False)


@pytest.mark.parametrize("which", [0, 1])
def test_a_signal_ends_all_pairs(take: Take, which: int) -> None:
    sides = [usual(1.0), usual(1.0)]

    def cut(number: int, name: str) -> list[Event]:
        sides[which].interrupted = number == 2
        return [measured(name, interrupted=number == 2)]

    sides[which].answer = cut
    found, interrupted = take(3, *sides)
    assert interrupted
    assert [len(one.pairs) for one in found] == [1, 1]
    assert len(sides[which].asked) == 3


def test_the_first_repetition_waits_for_its_time(
    take: Take, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, new = usual(1.0), usual(1.0)
    waited: list[tuple[float, bool, bool, int]] = []

    def wait(moment: float, ended: Callable[[], bool]) -> None:
        before = ended()
        new.interrupted = True
        waited.append((moment, before, ended(), len(base.asked)))
        new.interrupted = False

    monkeypatch.setattr(pairs, "wait_until", wait)
    start = datetime(2026, 1, 5, 14, 3, 7, tzinfo=timezone.utc)
    take(1, base, new, start_at=start)
    assert waited == [(start.timestamp(), False, True, 0)]
    take(1, usual(1.0), usual(1.0))
    assert len(waited) == 1

"""Idle latency: one chase and several at once."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests import synthetic

from forked import tierscope
from tierscope.kinds.latency.show import knee_text
from tierscope.kinds.latency.spec import LatencySpec
from tierscope.kinds.views import VIEWS
from tierscope.model.errors import UserError
from tierscope.model.run import Measurement
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.request import Request
from tierscope.report.html.page import path_rows
from tierscope.report.pictures.of_run import pictures_of
from tierscope.report.run import show_run
from tierscope.report.summary import sentences
from tierscope.runs.read import parse_contents


def planned(machine: Topology, **options: str) -> list[Any]:
    return expand([Request(kind="latency", options=options)], machine, thp=True).measurements


def test_several_chases_are_measurements_of_their_own(machine: Topology) -> None:
    specs = planned(machine, size="1m", chases="1..32*2")
    assert [spec.chases for spec in specs] == [1, 2, 4, 8, 16, 32]
    assert len({spec.id for spec in specs}) == 6
    assert "chases" not in specs[0].identity()
    assert specs[5].identity() == {**specs[0].identity(), "chases": 32}


def test_a_spec_of_before_has_one_chase(machine: Topology) -> None:
    (spec,) = planned(machine, size="1m")
    old = spec.model_dump(mode="json")
    del old["chases"]
    assert LatencySpec.model_validate(old) == spec


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"chases": "33"}, "--chases: 33 is too many; the maximum is 32"),
        ({"chases": "0"}, "--chases: 0 is too few"),
        ({"chases": "32", "size": "1k"}, "--size: '1k': has fewer lines than .* chases"),
    ],
)
def test_what_cannot_be_is_refused(machine: Topology, options: dict[str, str], says: str) -> None:
    with pytest.raises(UserError, match=says):
        planned(machine, **options)


def test_figures_of_several_chases_are_of_the_same_rows(tmp_path: Path) -> None:
    options = ["--size", "64k", "--pages", "base", "--chases", "1,12", "--budget", "0.3", "--json"]
    done = tierscope("latency", *options, "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    one, several = json.loads(done.stdout)["results"]
    assert len(one["figures"]) == 1
    assert several["pattern"]["chases"] == 12
    (path,) = tmp_path.glob("*.jsonl")
    kept = parse_contents(path.read_bytes(), str(path)).repetitions_of(several["id"])
    assert kept
    for record in kept:
        columns = {column.metric: column.values for column in record.repetition.series[0].columns}
        rows = zip(columns["latency"], columns["time_per_load"], columns["bandwidth"], strict=True)
        for latency, per_load, bandwidth in rows:
            assert None not in (latency, per_load, bandwidth)
            assert per_load * 12 == pytest.approx(latency)
            assert bandwidth * per_load == pytest.approx(64e9)
    assert several["evidence"]["walked_bytes"] == 65536


def parallel() -> list[Measurement]:
    """A core with 12 line fill buffers and a memory 100 ns away."""
    maker, found = synthetic.Maker(), []
    for chases in (1, 2, 4, 8, 16, 32):
        latency = max(100.0, 100.0 * chases / 12)
        pattern = {"order": "random", "stride": 256, "size": 1 << 30, "pages": "thp"}
        pattern |= {"chases": chases} if chases > 1 else {}
        found.append(maker.make("latency", "node:0", "node:0", pattern, latency, "ns"))
    return found


def test_the_table_shows_what_a_core_makes_of_chases() -> None:
    console = Console(file=io.StringIO(), width=100)
    show_run(console, synthetic.run(parallel()), Path("run.jsonl"), VIEWS)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "Memory-level parallelism, node:0 → node:0, 1 GiB, thp pages" in shown
    (line,) = [line.split() for line in shown.splitlines() if line.split()[:1] == ["16"]]
    # 16 chases wait 133 ns for each load; 8.33 ns a load; 7.68 GB/s; 12 times one chase.
    assert float(line[-3]) == pytest.approx(8.33, rel=0.02)
    assert float(line[-2]) == pytest.approx(7.68, rel=0.02)
    assert float(line[-1]) == pytest.approx(12, rel=0.02)


def test_the_fewest_chases_for_the_best_bandwidth_are_named() -> None:
    assert knee_text(parallel()).endswith(": 16")
    assert knee_text(parallel()[:4]).endswith(": 8; more may reach more")


def test_one_chase_stands_for_its_path() -> None:
    found = parallel()
    # By noise, two chases came out quicker than one.
    found[1] = synthetic.changed(found[1], estimate=90.0, ci_low=89.0, ci_high=91.0)
    run = synthetic.run(found)
    (row,) = path_rows(run.measurements, VIEWS)
    assert float(row.estimate) == pytest.approx(100, rel=0.01)
    assert f"latency of local DRAM of node:0 is {row.estimate}" in sentences(run, VIEWS)[1]


def test_the_picture_shows_each_number_of_chases() -> None:
    run = synthetic.run(parallel())
    (picture,) = [p for p in pictures_of(run, "latency", VIEWS) if "parallelism" in p.title]
    rows = picture.spec["data"]["values"]
    assert [row["x"] for row in rows] == [1, 2, 4, 8, 16, 32]
    assert all(row["low"] <= row["value"] <= row["high"] for row in rows)

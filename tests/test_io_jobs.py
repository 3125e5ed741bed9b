"""Jobs of the kind io that run together: patterns of their own, behind one gate."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tierscope.engine.process import find_engine
from tierscope.engine.repetitions import living_engine
from tierscope.kinds.plan import Plan
from tierscope.machine.discover import discover
from tierscope.model.event import Failed, Repetition, Series

MIB = 1 << 20
BUFFERS = {"placement": {"policy": "bind", "nodes": [{"node": 0}]}}


def spec(directory: Path, jobs: dict[str, dict[str, Any]], **pattern: Any) -> dict[str, Any]:
    """Return the spec of jobs with patterns of their own, by name."""
    cpu = discover().cpus[0]
    usual = {"block_size": 4096, "order": "random", "direct": False}
    return {
        "kind": "io",
        "id": "m",
        "initiator": "node:0",
        "target": f"file:{directory}",
        "sampling": {"budget_s": 0.2, "sample_s": 0.02, "precision": 1e-9},
        "pattern": usual | pattern,
        "jobs": [
            {
                "name": name,
                "cpus": [cpu],
                "buffers": BUFFERS,
                "files": {"directory": str(directory), "stem": f"{name}.", "size": MIB},
                **({"pattern": usual | pattern | own} if own else {}),
            }
            for name, own in jobs.items()
        ],
    }


def plan(measurement: dict[str, Any]) -> Plan:
    return Plan.model_validate({"version": 2, "measurements": [measurement]})


def repetition(measurement: dict[str, Any], seconds: float = 0.2) -> Repetition:
    with living_engine() as engine:
        engine.plan(plan(measurement).measurements)
        events = list(engine.repetition("m", seconds))
    assert not [event for event in events if isinstance(event, Failed)], events
    (found,) = [event for event in events if isinstance(event, Repetition)]
    return found


def rates(series: Series, part: str) -> list[float]:
    (column,) = [c for c in series.columns if (c.metric, c.part) == ("iops", part)]
    return [value or 0.0 for value in column.values]


def counted(series: Series, metric: str, part: str) -> int:
    found = [d for d in series.distributions or [] if (d.metric, d.part) == (metric, part)]
    return sum(sum(sample[1::2]) for one in found for sample in one.samples)


def test_readers_and_writers_run_together(tmp_path: Path) -> None:
    jobs = {"reads": {}, "writes": {"operation": "write", "block_size": 65536}}
    series = repetition(spec(tmp_path, jobs, backend="libaio", depth=4)).series[0]
    parts = {column.part for column in series.columns}
    assert parts == {"", "read", "write", "reads", "writes"}
    for sample, whole in enumerate(rates(series, "")):
        assert whole == pytest.approx(
            rates(series, "reads")[sample] + rates(series, "writes")[sample], rel=1e-5
        )
    for metric in ("io_latency", "submission_latency", "completion_latency"):
        both = counted(series, metric, "reads") + counted(series, metric, "writes")
        assert counted(series, metric, "") == both > 0
    assert counted(series, "io_latency", "read") == counted(series, "io_latency", "reads")


def test_times_of_a_mix_are_told_apart_by_direction(tmp_path: Path) -> None:
    one = spec(tmp_path, {"one": {}}, operation="mix", read_percent=70)
    series = repetition(one).series[0]
    reads, writes = (counted(series, "io_latency", part) for part in ("read", "write"))
    assert counted(series, "io_latency", "") == reads + writes
    assert reads > writes > 0


def test_jobs_of_several_backends_and_depths_run_together(tmp_path: Path) -> None:
    jobs = {"one": {}, "many": {"backend": "io_uring", "depth": 8}}
    series = repetition(spec(tmp_path, jobs)).series[0]
    assert counted(series, "completion_latency", "one") == 0
    assert counted(series, "completion_latency", "many") > 0
    assert counted(series, "io_latency", "one") > 0


def test_each_job_moves_its_own_amount(tmp_path: Path) -> None:
    jobs = {"little": {"amount": 4096 * 10}, "much": {"amount": 4096 * 200}}
    found = repetition(spec(tmp_path, jobs, amount=4096))
    assert counted(found.series[0], "io_latency", "little") == 10
    assert counted(found.series[0], "io_latency", "much") == 200
    io = found.evidence.storage_io
    assert io is not None
    assert io.targets is not None
    ended = [target.last_finisher_s or 0 for target in io.targets]
    assert max(ended) == io.last_finisher_s
    assert min(ended) == io.first_finisher_s


def test_a_time_limit_ends_an_amount(tmp_path: Path) -> None:
    endless = spec(tmp_path, {"one": {}}, amount=1 << 50, time_limit_s=0.2)
    found = repetition(endless)
    assert 0 < counted(found.series[0], "io_latency", "") < (1 << 50) // 4096
    (duration,) = found.series[0].durations
    assert duration > 0.1


def test_operations_of_a_ramp_are_in_no_sample(tmp_path: Path) -> None:
    found = repetition(spec(tmp_path, {"one": {}}, rate=1000, arrivals="regular", ramp_s=0.3), 0.2)
    in_samples = counted(found.series[0], "io_latency", "")
    io = found.evidence.storage_io
    assert io is not None
    assert io.reads == in_samples
    assert in_samples <= 1000 * (found.seconds + 0.1)


def test_several_writers_of_one_file_are_verified(tmp_path: Path) -> None:
    shared = {"path": str(tmp_path / "data"), "size": 64 * 1024, "create": True, "keep": True}
    one = spec(tmp_path, {"a": {}, "b": {}}, operation="write", verify=True)
    for job in one["jobs"]:
        job |= {"files": shared, "shared": True}
    verified = repetition(one).evidence.verified or ""
    assert verified.count("were read back") == 2


@pytest.mark.parametrize(
    ("pattern", "own"),
    [
        ({}, {"amount": 4096}),
        ({"amount": 4096, "time_limit_s": 2}, {"time_limit_s": 1}),
        ({"ramp_s": 1}, {"ramp_s": 2}),
        ({}, {"require": "odirect", "direct": True}),
        ({}, {"backend": "cufile", "direct": True}),
        ({"time_limit_s": 1}, {}),
        ({"amount": 4096, "ramp_s": 1}, {}),
        ({}, {"depth": 2}),
        ({}, {"fsync": 1}),
        ({}, {"surprise": 1}),
        ({"ramp_s": -1}, {}),
    ],
)
def test_what_does_not_go_together_is_refused_by_models_and_engine(
    tmp_path: Path, pattern: dict[str, Any], own: dict[str, Any]
) -> None:
    wrong = spec(tmp_path, {"a": {}, "b": own}, **pattern)
    right = spec(tmp_path, {"a": {}, "b": {"block_size": 8192}}, ramp_s=0)
    assert plan(right)
    with pytest.raises(ValidationError):
        plan(wrong)
    for one, accepted in ((wrong, False), (right, True)):
        answer = subprocess.run(
            [find_engine(), "check"],
            input=json.dumps({"version": 2, "measurements": [one]}),
            capture_output=True,
            text=True,
            check=False,
        )
        assert (answer.returncode == 0) == accepted, answer.stderr


def test_what_is_compared_names_the_patterns_beside_the_first(tmp_path: Path) -> None:
    jobs = {"a": {}, "b": {"operation": "write", "depth": 4, "backend": "libaio"}}
    (measurement,) = plan(spec(tmp_path, jobs)).measurements
    beside = measurement.identity()["beside"]
    assert beside == "operation=write backend=libaio depth=4"


@pytest.mark.parametrize("pages", ["base", "thp"])
def test_buffers_have_the_pages_that_are_asked_for(pages: str, tmp_path: Path) -> None:
    asked = spec(tmp_path, {"a": {}}, block_size=4 * MIB, pages=pages)
    asked["jobs"][0]["files"]["size"] = 8 * MIB
    evidence = repetition(asked).evidence
    assert evidence is not None
    expected = pages == "thp" and discover().thp_page_bytes is not None
    assert bool(evidence.huge_bytes) == expected


def test_buffers_on_a_gpu_have_no_choice_of_pages(tmp_path: Path) -> None:
    asked = spec(tmp_path, {"a": {}}, backend="staged", pages="thp")
    asked["jobs"][0]["buffers"] = {"memory": "device", "gpu": 0}
    with pytest.raises(ValidationError, match="other than base need buffers in host memory"):
        plan(asked)

"""tierscope watch: what it prints and records, and how it ends."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from forked import tierscope
from tierscope.analysis.watched import conclude_watched, joined
from tierscope.kinds.views import VIEWS
from tierscope.model.event import Column, Evidence, Repetition, Series
from tierscope.model.metric import METRICS
from tierscope.report.html.page import render_report
from tierscope.report.pictures.of_run import pictures_of
from tierscope.runs.read import read_run
from waiting import PATIENCE_S, wait_until

PROGRAM = "from tierscope.cli.main import main; main()"


def call(*words: str) -> "subprocess.CompletedProcess[str]":
    return tierscope(*words)


def begin(*words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *words], stdout=subprocess.PIPE, text=True
    )


def wait_for(path: Path, record: str) -> None:
    sought = f'"record":"{record}"'
    wait_until(lambda: path.exists() and sought in path.read_text(), f"a {record} is written")


def test_json_is_an_object_a_reading() -> None:
    # Ticks that a busy machine misses are left out.
    done = call("watch", "--interval", "200ms", "--duration", "2s", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert 2 <= len(lines) <= 10
    for line in lines:
        memory = line["sources"]["memory"]
        assert memory["memory_used"][""] > 0
        assert memory["duration_s"] > 0
        for source in line["sources"].values():
            assert set(source) - {"start_s", "duration_s"} <= set(METRICS)
        assert all(one["what"] and one["reason"] for one in line["lacking"])
    starts = [line["sources"]["memory"]["start_s"] for line in lines]
    assert starts == sorted(starts)


def test_a_pipe_gets_lines_without_colour_and_what_lacks_once() -> None:
    pid = str(os.getpid())
    done = call("watch", "--interval", "200ms", "--duration", "400ms", "--pid", pid)
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    lacking = [line for line in done.stdout.splitlines() if line.startswith("#")]
    assert len(set(lacking)) == len(lacking)
    assert f"process pid {pid}: used " in done.stdout


def test_a_recorded_watch_is_a_run_that_is_shown_and_drawn(tmp_path: Path) -> None:
    path = tmp_path / "watch.jsonl"
    done = call("watch", "--interval", "200ms", "--duration", "600ms", "--record", str(path))
    assert done.returncode == 0, done.stderr
    run = read_run(path)
    assert run.footer is not None
    assert not run.footer.interrupted
    (m,) = run.measurements
    assert m.series is not None
    memory = m.series[0]
    assert memory.name == "memory"
    assert memory.columns[0].values == m.samples
    assert min(m.samples) <= (m.estimate or 0) <= max(m.samples)
    assert m.no_interval == "observed"
    shown = call("show", str(path))
    assert "Watched: machine" in shown.stdout
    assert "no interval for" not in shown.stdout
    pictures = list(pictures_of(run, "watch", VIEWS))
    assert "watch-memory-memory-used" in {picture.key for picture in pictures}
    page = render_report([("run", run)], VIEWS)
    assert "Memory: used" in page
    again = call("watch", "--interval", "100ms", "--duration", "100ms", "--record", str(path))
    assert again.returncode == 2
    assert "exists already" in again.stderr


def test_ctrl_c_ends_it_with_success_and_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "watch.jsonl"
    process = begin("watch", "--interval", "200ms", "--record", str(path))
    assert process.stdout is not None
    assert any("memory" in line for line in process.stdout)
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE_S) == 0
    run = read_run(path)
    assert run.footer is not None
    assert run.measurements[0].series
    process.stdout.close()


def test_what_was_written_before_a_kill_is_readable(tmp_path: Path) -> None:
    path = tmp_path / "watch.jsonl"
    shorter = "import tierscope.runs.watched as w; w._REPETITION_S = 0.2; " + PROGRAM
    process = subprocess.Popen(
        [sys.executable, "-c", shorter, "watch", "--interval", "100ms", "--record", str(path)],
        stdout=subprocess.DEVNULL,
    )
    wait_for(path, "repetition")
    process.kill()
    process.wait()
    run = read_run(path)
    assert run.footer is None
    assert run.measurements[0].series
    assert run.measurements[0].stop == "interrupted"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--interval", "1ms"), "--interval: "),
        (("--duration", "soon"), "--duration: "),
        (("--interval", "5s", "--duration", "1s"), "is over before the first reading"),
        (("--pid", "4194305"), "--pid: there is no process 4194305"),
        (("--pid", "me"), "--pid: 'me' is not the number of a process"),
        (("--cgroup", "no/such"), "--cgroup: 'no/such' is not a cgroup below /sys/fs/cgroup"),
        (("--cgroup", "x", "--pid", "1"), "--cgroup: goes without --pid"),
    ],
)
def test_what_is_wrong_is_named(words: tuple[str, ...], why: str) -> None:
    done = call("watch", *words)
    assert done.returncode == 2
    assert why in done.stderr
    assert done.stderr.count("\n") == 1


# What repetitions come to


def repetition(start: float, columns: dict[str, list[float | None]]) -> Repetition:
    rows = len(next(iter(columns.values())))
    made = [
        Column(metric="throughput", part=part, values=values) for part, values in columns.items()
    ]
    starts, durations = [start + n for n in range(rows)], [1.0, *[3.0] * (rows - 1)]
    series = Series(name="drives", starts=starts, durations=durations, columns=made)
    return Repetition(
        id="w", seconds=rows, fresh=False, interrupted=False, series=[series], evidence=Evidence()
    )


def test_a_drive_that_came_or_went_has_no_value_meanwhile() -> None:
    repetitions = [
        repetition(0, {"sda": [1.0, 2.0], "sdb": [5.0, None]}),
        repetition(2, {"sda": [3.0], "sdc": [0.0]}),
    ]
    (series,) = joined(repetitions)
    assert series.starts == [0, 1, 2]
    assert {column.part: column.values for column in series.columns} == {
        "sda": [1.0, 2.0, 3.0],
        "sdb": [5.0, None, None],
        "sdc": [None, None, 0.0],
    }


def test_figures_are_means_over_the_time_that_was_counted() -> None:
    found = conclude_watched([repetition(0, {"sda": [1.0, 3.0], "sdb": [5.0, None]})], cut=False)
    assert found.figures[0].estimate == pytest.approx((1 + 9) / 4)
    assert [(f.part, f.estimate) for f in found.figures[1:]] == [("sdb", 5.0)]
    assert found.stop is None

"""``export --trace-events``: a run's timeline for Perfetto and chrome://tracing."""

import json
import lzma
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests import synthetic

from tierscope.cli.app import app
from tierscope.model.errors import UserError
from tierscope.runs import examples
from tierscope.runs.trace_events import trace_events

CALL = {
    "group": "call", "name": "cuMemcpyAsync", "count": 2, "bytes": 0.0, "total_ns": 9e3,
    "mean_ns": 4.5e3, "median_ns": 4.5e3, "min_ns": 4e3, "max_ns": 5e3, "stddev_ns": 1.0,
}  # fmt: skip


def series(name: str, starts: list[float], durations: list[float]) -> dict[str, Any]:
    values = [1e9 * (number + 1) for number in range(len(starts))]
    columns = [{"metric": "bandwidth", "part": "a", "values": values}]
    return {"name": name, "starts": starts, "durations": durations, "columns": columns}


def repetition(name: str, at_s: float | None, *of: dict[str, Any], **evidence: Any) -> Any:
    return {
        "record": "repetition",
        "repetition": {
            "event": "repetition", "id": name, "seconds": 0.5, "fresh": True,
            "interrupted": False, "series": list(of), "evidence": evidence, "at_s": at_s,
        },
    }  # fmt: skip


def run_of(tmp_path: Path, *records: Any) -> Path:
    file: Path = synthetic.write(synthetic.run([], finished=False), tmp_path / "run.jsonl")
    with file.open("a") as end:
        for record in records:
            # As RunWriter writes it, without spaces.
            end.write(json.dumps(record, separators=(",", ":")) + "\n")
    return file


def events_of(file: Path) -> tuple[dict[str, int], list[dict[str, Any]]]:
    """Tracks by name, the last one of each, and the complete events."""
    text, _ = trace_events(file)
    events = json.loads(text)["traceEvents"]
    tracks = {e["args"]["name"]: e["tid"] for e in events if e["name"] == "thread_name"}
    return tracks, [event for event in events if event["ph"] == "X"]


def test_times_are_microseconds_of_the_run(tmp_path: Path) -> None:
    file = run_of(
        tmp_path,
        repetition("b", 2.0, series("windows", [0.0, 0.25], [0.25, 0.125])),
        repetition("a", 1.0, series("windows", [0.0], [0.5]), series("loads", [0.1], [0.2])),
    )
    tracks, events = events_of(file)
    assert list(tracks) == ["repetitions", "a: windows", "a: loads", "b: windows"]
    found = [(e["name"], e["tid"], e["ts"], e["dur"]) for e in events]
    assert found == [
        ("a", tracks["repetitions"], 1e6, 5e5),
        ("windows", tracks["a: windows"], 1e6, 5e5),
        ("loads", tracks["a: loads"], 1.1e6, 2e5),
        ("b", tracks["repetitions"], 2e6, 5e5),
        ("windows", tracks["b: windows"], 2e6, 2.5e5),
        ("windows", tracks["b: windows"], 2.25e6, 1.25e5),
    ]
    assert events[-1]["args"] == {"bandwidth a (B/s)": 2e9}


def test_samples_that_overlap_have_a_track_each(tmp_path: Path) -> None:
    _, events = events_of(
        run_of(tmp_path, repetition("a", 0.0, series("threads", [0.0, 0.1, 0.3], [0.2, 0.2, 0.2])))
    )
    samples = [event for event in events if event["name"] == "threads"]
    assert [one["tid"] for one in samples] == [1, 2, 1]


def test_series_from_the_beginning_of_the_run_are_where_they_were(tmp_path: Path) -> None:
    """Those of a watch have the beginning of the run as their zero."""
    _, events = events_of(run_of(tmp_path, repetition("a", 3.0, series("cpus", [3.0], [0.1]))))
    assert [event["ts"] for event in events] == [3e6, 3e6]


def test_a_repetition_has_the_summary_of_its_gpu_trace(tmp_path: Path) -> None:
    file = run_of(tmp_path, repetition("a", 0.0, series("copies", [0.0], [0.1]), trace=[CALL]))
    _, events = events_of(file)
    assert [row["name"] for row in events[0]["args"]["trace"]] == ["cuMemcpyAsync"]


def test_a_run_without_times_is_refused(tmp_path: Path) -> None:
    file = run_of(tmp_path, repetition("a", None, series("windows", [0.0], [0.1])))
    with pytest.raises(UserError, match="has no repetitions with their times"):
        trace_events(file)


def test_a_measured_run_becomes_a_timeline(tmp_path: Path) -> None:
    packed = Path(examples.__file__).parent / "example_runs/example-vm.jsonl.xz"
    run, target = tmp_path / "run.jsonl", tmp_path / "timeline.json"
    run.write_bytes(lzma.decompress(packed.read_bytes()))
    done = CliRunner().invoke(app, ["export", str(run), "--trace-events", str(target)])
    assert (done.exit_code, f"338 repetitions: {target}" in done.output) == (0, True)
    events = json.loads(target.read_text())["traceEvents"]
    ends: dict[int, float] = {}
    named = {event["tid"] for event in events if event["name"] == "thread_name"}
    for event in events:
        if event["ph"] == "X":
            assert event["tid"] in named
            assert event["dur"] >= 0
            assert event["ts"] >= ends.get(event["tid"], 0.0) - 1e-3  # of a float's rounding
            ends[event["tid"]] = event["ts"] + event["dur"]


def test_the_process_and_its_tracks_have_names_in_order(tmp_path: Path) -> None:
    file = run_of(
        tmp_path,
        repetition("b", 0.25, series("windows", [0.0], [0.5])),
        repetition("none", None, series("windows", [0.0], [0.5])),
        repetition("a", 0.0, series("windows", [0.0], [0.5])),
    )
    text, count = trace_events(file)
    made = json.loads(text)
    assert count == 2
    assert text.endswith("}\n")
    assert made["otherData"] == {"run": "synthetic", "started": "2026-01-05T14:03:07+00:00"}
    named = [event for event in made["traceEvents"] if event["ph"] == "M"]
    assert named == made["traceEvents"][: len(named)]
    assert all(event["pid"] == 1 for event in made["traceEvents"])
    # The second repetition begins before the first one ends.
    tracks = ("repetitions", "a: windows", "repetitions", "b: windows")
    assert [(event["name"], event["tid"], event["args"]) for event in named[1:]] == [
        entry
        for number, name in enumerate(tracks)
        for entry in (
            ("thread_name", number, {"name": name}),
            ("thread_sort_index", number, {"sort_index": number}),
        )
    ]
    assert (named[0]["name"], named[0]["tid"]) == ("process_name", 0)
    assert named[0]["args"] == {"name": "tierscope synthetic on node017"}


def test_what_a_repetition_and_a_sample_say(tmp_path: Path) -> None:
    lost = {**series("windows", [0.0, 0.1], [0.1, 0.1]), "lost": [0.0, 0.25]}
    lost["columns"].append({"metric": "iops", "part": "", "values": [7.0, 8.0]})
    evidence = {"gpus": [{"gpu": 1, "name": "A", "samples": 3}], "isa": "avx2"}
    _, events = events_of(run_of(tmp_path, repetition("a", 0.0, lost, **evidence)))
    assert [event["args"] for event in events] == [
        {"fresh": True, "interrupted": False, "gpus": evidence["gpus"]},
        {"bandwidth a (B/s)": 1e9, "iops (1/s)": 7.0, "lost share": 0.0},
        {"bandwidth a (B/s)": 2e9, "iops (1/s)": 8.0, "lost share": 0.25},
    ]


def test_a_repetition_begins_with_the_first_sample_of_any_series(tmp_path: Path) -> None:
    of = (
        series("empty", [], []), series("late", [5.5, 5.25], [0.125, 0.125]),
        series("early", [5.0], [0.5]),
    )  # fmt: skip
    _, events = events_of(run_of(tmp_path, repetition("a", 2.0, *of)))
    assert [(event["name"], event["ts"]) for event in events] == [
        ("a", 2e6), ("late", 2.5e6), ("late", 2.25e6), ("early", 2e6)
    ]  # fmt: skip


def test_a_repetition_without_samples_is_there(tmp_path: Path) -> None:
    tracks, events = events_of(run_of(tmp_path, repetition("a", 1.0, series("empty", [], []))))
    assert (list(tracks), len(events)) == (["repetitions"], 1)

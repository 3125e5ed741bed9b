"""Small files: what a request asks for, what is measured, shown and left behind."""

import io
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests import synthetic

from forked import tierscope
from tierscope.engine.process import find_engine
from tierscope.kinds.files.spec import FilesSpec
from tierscope.kinds.views import VIEWS
from tierscope.model.errors import UserError
from tierscope.model.run import Measurement, Run
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.request import Request
from tierscope.report.run import show_run
from waiting import PATIENCE_S, wait_until

TIERSCOPE = [sys.executable, "-c", "from tierscope.cli.main import main; main()"]
QUICK = ("--files", "50", "--file-size", "1000", "--budget", "0.2", "--sample", "5ms")


def planned(machine: Topology, **options: str) -> list[Any]:
    options = {"to": "file:/data", **options}
    return expand([Request(kind="files", options=options)], machine, thp=True).measurements


# What a request asks for


def test_all_operations_are_measured_unless_some_are_named(machine: Topology) -> None:
    specs = planned(machine)
    assert [spec.pattern.operation for spec in specs] == [
        "create", "open", "stat", "read", "list", "unlink"
    ]  # fmt: skip
    assert {(s.pattern.file_size, s.pattern.files, len(s.cpus)) for s in specs} == {(4096, 1000, 1)}
    assert [s.pattern.operation for s in planned(machine, op="stat")] == ["stat"]


def test_what_makes_no_difference_is_measured_once(machine: Topology) -> None:
    specs = planned(
        machine, op="create,stat,unlink", threads="1,2", directories="own,shared", fsync="no,file"
    )
    seen = [
        (s.pattern.operation, len(s.cpus), s.pattern.directories, s.pattern.fsync) for s in specs
    ]
    assert len(seen) == len(set(seen)) == 15  # 5 for one thread, 10 for two
    assert ("stat", 1, "own", "no") in seen
    assert ("unlink", 2, "shared", "file") in seen
    assert len({spec.id for spec in specs}) == 15


def test_sizes_and_counts_are_lists_and_files_may_be_empty(machine: Topology) -> None:
    specs = planned(machine, op="create", **{"file-size": "0,4k,64k", "files": "10,2000"})
    assert {(s.pattern.file_size, s.pattern.files) for s in specs} == {
        (size, count) for size in (0, 4096, 65536) for count in (10, 2000)
    }
    assert all(spec.large == (spec.pattern.files == 2000) for spec in specs), (
        "who asks for more files than usual may take more than a tenth of what is free"
    )
    assert not planned(machine, op="create")[0].large


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"op": "remove"}, "--op: 'remove' is not one of create,"),
        ({"file-size": "17m"}, "--file-size: "),
        ({"files": "0"}, "--files: 0 is too few"),
        ({"files": "10000001"}, "--files: 10000001 is too many; the maximum is 10000000"),
        ({"threads": "5000"}, "--threads: 5000 is too many; the maximum is 4096"),
        ({"threads": "9", "files": "8", "directories": "shared"},
         "--files: '8': are fewer than threads"),
        ({"to": "node:0"}, "--to: 'node:0' is "),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_for_is_named(
    machine: Topology, options: dict[str, str], says: str
) -> None:
    with pytest.raises(UserError) as refused:
        planned(machine, **options)
    assert str(refused.value).startswith(says)


def test_threads_on_storage_have_a_maximum(machine: Topology) -> None:
    request = Request(kind="io", options={"to": "file:/data", "threads": "5000"})
    with pytest.raises(UserError, match="--threads: 5000 is too many; the maximum is 4096"):
        expand([request], machine, thp=True)


# What is measured


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """An empty directory to measure in."""
    path = tmp_path / "place"
    path.mkdir()
    return path


def test_each_operation_has_a_rate_latencies_and_evidence_and_leaves_nothing(
    place: Path,
) -> None:
    (place / "theirs").write_text("precious")
    options = ("--threads", "2", "--directories", "own,shared", "--fsync", "no,directory")
    done = tierscope("files", "--to", f"file:{place}", *QUICK, *options, "--json")
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)["results"]
    assert len(results) == 16
    for result in results:
        assert (result["status"], result["figures"][0]["metric"], result["figures"][0]["unit"]) == (
            "measured", "operations", "1/s"
        )  # fmt: skip
        assert result["figures"][0]["estimate"] > 0
        metrics = {figure["metric"] for figure in result["figures"]}
        assert {"io_latency_mean", "io_latency_max"} <= metrics
        assert "io_latency_p50" in metrics or result["pattern"]["fsync"] != "no"
        small = result["evidence"]["small_files"]
        shared = result["pattern"]["directories"] == "shared"
        assert (small["directories"], small["files"]) == ((1, 50) if shared else (2, 100))
        assert small["caches"] == "warm"
        assert small["operations"] > 0
        assert result["evidence"]["storage"][0]["path"]["mount"]["type"]
    assert [path.name for path in place.iterdir()] == ["theirs"]


def test_check_compare_and_export_know_small_files(place: Path, tmp_path: Path) -> None:
    quick = (*QUICK, "--op", "create,stat")
    assert tierscope("files", "--to", f"file:{place}", *quick).returncode == 0
    rules = tmp_path / "rules.yaml"
    rules.write_text(
        "rules:\n"
        '  - "node:* -> file:* files create file_size=1000: >= 1 1/s"\n'
        '  - "node:* -> file:* files stat metric=io_latency_p50: <= 1000 ms"\n'
        '  - "node:* -> file:* files stat: >= 1e15 1/s"\n'
    )
    checked = tierscope("check", "--expect", str(rules), "--json")
    verdicts = [finding["verdict"] for finding in json.loads(checked.stdout)["findings"]]
    assert verdicts[:2] != ["missed", "missed"], checked.stdout
    assert set(verdicts) <= {"met", "missed", "inconclusive"}
    assert verdicts[2] in ("missed", "inconclusive"), "one that no machine reaches"
    compared = tierscope("compare", "last", "last", "--json")
    assert {"operations", "io_latency_p50"} <= set(compared.stdout.replace('"', " ").split())
    exported = tierscope("export", "last", "--csv")
    assert exported.stdout.count("\n") >= 3
    assert "operations" in exported.stdout


def test_a_directory_that_cannot_be_used_is_skipped_with_its_reason(place: Path) -> None:
    done = tierscope("files", "--to", f"file:{place}/none", *QUICK, "--op", "stat")
    assert done.returncode == 3, done.stdout
    assert done.stdout == ""
    assert "No such file or directory" in done.stderr
    assert "mkdir -p" in done.stderr


def test_too_many_files_are_refused_with_the_numbers(place: Path) -> None:
    options = ("--files", "10000000", "--file-size", "16m", "--op", "stat")
    done = tierscope("files", "--to", f"file:{place}", *options, "--json")
    (result,) = json.loads(done.stdout)["results"]
    assert (result["status"], result["cause"]) == ("skipped", "storage")
    assert list(place.iterdir()) == []


def test_what_a_killed_run_leaves_is_named_and_cleaned(place: Path) -> None:
    plan = {
        "version": 2,
        "measurements": [
            FilesSpec.model_validate(
                {
                    "id": "x", "initiator": "node:0", "target": f"file:{place}", "cpus": [0],
                    "directory": str(place), "sampling": {"budget_s": 60},
                    "pattern": {"operation": "stat", "file_size": 100, "files": 20},
                }
            ).model_dump(mode="json")
        ],
    }  # fmt: skip
    with subprocess.Popen(
        [find_engine(), "run"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as engine:
        assert engine.stdin is not None
        engine.stdin.write(json.dumps(plan).encode())
        engine.stdin.close()
        wait_until(lambda: len(list(place.glob("tierscope-files.*/*"))) >= 20, "files are there")
        engine.send_signal(signal.SIGKILL)
    (left,) = place.glob("tierscope-files.*")
    assert len(list(left.iterdir())) == 20
    (place / "theirs").write_text("precious")
    again = tierscope("files", "--to", f"file:{place}", *QUICK, "--op", "stat")
    assert again.returncode == 0
    assert "20 files that earlier runs left" in again.stderr
    assert f"'tierscope storage {place} --clean'" in again.stderr
    cleaned = tierscope("storage", str(place), "--clean")
    assert f"{left.name}: removed" in cleaned.stdout
    assert [path.name for path in place.iterdir()] == ["theirs"]


def test_an_interrupted_run_removes_its_files(place: Path) -> None:
    with subprocess.Popen(
        [*TIERSCOPE, "files", "--to", f"file:{place}", "--op", "stat", "--budget", "60"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as run:
        wait_until(lambda: list(place.glob("tierscope-files.*/*")), "a file is there")
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=PATIENCE_S)
    assert list(place.iterdir()) == []


# How it is shown


def measured(operation: str, **pattern: Any) -> Measurement:
    figures = [synthetic.figure(f"io_latency_{name}", "ns", 4e4) for name in ("p50", "p99")]
    shape = {"operation": operation, "file_size": 4096, "files": 1000, "directories": "own",
             "fsync": "no", "threads": 1, **pattern}  # fmt: skip
    maker = synthetic.Maker(noise=1e-6)
    name = f"{operation}{sorted(pattern.values(), key=str)}"
    return maker.make("files", "node:0", "file:/data", shape, 12345.0, "1/s", id=name,
                      metric="operations", figures=figures)  # fmt: skip


def test_the_table_fits_and_says_what_the_figures_stand_for() -> None:
    run = Run(
        header=synthetic.header(),
        measurements=[
            measured(operation, threads=threads, file_size=size, directories=directories)
            for operation in ("create", "unlink")
            for threads in (2, 64)
            for size in (0, 65536)
            for directories in ("own", "shared")
        ],
        footer=None,
    )
    console = Console(file=io.StringIO(), width=100)
    show_run(console, run, Path("run.jsonl"), VIEWS)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    section = text[text.index("Small files") :]
    assert max(map(len, section.splitlines()[:-1])) <= 100
    assert "operations/s" in section
    assert "64 KiB" in section
    assert "0 B" in section
    assert "p99" in section
    assert "µs" in section
    assert "in its caches" in section
    assert "Small files: node:0 → file:/data, 12345" in section

"""The command line as a user meets it: the fake engine behind the real program."""

import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.seals import resealed

import forked
from tierscope.runs.read import read_run
from waiting import PATIENCE_S, wait_until

Fake = Callable[[str], None]
PROGRAM = [sys.executable, "-c", "from tierscope.cli.main import main; main()"]
SMALL = ["bandwidth", "--op", "read,copy", "--threads", "1", "--size", "1m"]


def tierscope(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return forked.tierscope(*arguments, environment=environment)


def refusal(*arguments: str, status: int = 2) -> str:
    """Return the one line of a refused request."""
    answer = tierscope(*arguments)
    assert answer.returncode == status
    assert answer.stdout == ""
    (line,) = answer.stderr.splitlines()
    return line


def run_file(directory: Path) -> Path:
    (path,) = directory.glob("*.jsonl")
    return path


def test_bandwidth_measures_prints_and_keeps(tmp_path: Path, fake_engine: Fake) -> None:
    answer = tierscope(*SMALL, "--out", str(tmp_path / "out"))
    assert answer.returncode == 0
    assert answer.stderr == ""
    assert "14.0" in answer.stdout
    assert str(run_file(tmp_path / "out")) in answer.stdout
    assert len(read_run(run_file(tmp_path / "out")).measurements) == 2


def test_runs_begun_at_once_get_a_file_each(tmp_path: Path, fake_engine: Fake) -> None:
    command = [*PROGRAM, *SMALL, "--out", str(tmp_path / "out")]
    runs = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(4)]
    assert [run.wait() for run in runs] == [0] * 4
    assert len(list((tmp_path / "out").glob("*.jsonl"))) == 4


def test_latency_prints_one_json_object(fake_engine: Fake) -> None:
    answer = tierscope("latency", "--size", "4k..16k", "--json")
    assert answer.returncode == 0
    assert [r["figures"][0]["unit"] for r in json.loads(answer.stdout)["results"]] == ["ns"] * 3


def test_run_takes_a_plan(tmp_path: Path, fake_engine: Fake) -> None:
    plan = tmp_path / "mine.yaml"
    plan.write_text("measurements: [{kind: latency, name: idle, args: {size: 1m}}]")
    answer = tierscope("run", str(plan), "--json")
    assert answer.returncode == 0
    assert json.loads(answer.stdout)["results"][0]["id"].startswith("idle.")


def test_the_quick_profile_runs_and_its_text_suits_every_output(
    tmp_path: Path, fake_engine: Fake
) -> None:
    answer = tierscope("run", "--out", str(tmp_path))
    assert answer.returncode == 0
    assert "Bandwidth, GB/s" in answer.stdout
    assert "Idle latency" in answer.stdout
    assert "\x1b" not in answer.stdout, "it is piped"
    assert max(map(len, answer.stdout.splitlines()[:-1])) <= 100
    for encoding in ("ascii", "latin-1"):
        again = subprocess.run(
            [*PROGRAM, "show", run_file(tmp_path)],
            capture_output=True,
            env={**os.environ, "PYTHONIOENCODING": encoding},
            check=False,
        )
        assert again.returncode == 0
        assert b"node:0 -> node:0" in again.stdout
        assert b"Idle latency" in again.stdout


def test_a_dry_run_measures_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERSCOPE_ENGINE", "/nonexistent")
    out = tmp_path / "out"
    answer = tierscope(*SMALL, "--dry-run", "--out", str(out))
    assert answer.returncode == 0
    assert "2 measurements, at most about" in answer.stdout
    assert not out.exists()


def test_a_dry_run_s_json_is_the_plan(fake_engine: Fake) -> None:
    document = json.loads(tierscope(*SMALL, "--dry-run", "--json").stdout)
    assert len(document["plan"]["measurements"]) == 2
    assert document["estimate"]["peak_bytes"] == 2 << 20


def test_show_repeats_a_run(tmp_path: Path, fake_engine: Fake) -> None:
    measured = tierscope(*SMALL)
    shown = tierscope("show")
    assert shown.returncode == 0
    assert shown.stdout == measured.stdout


def test_show_reads_a_cut_run(tmp_path: Path, fake_engine: Fake) -> None:
    tierscope(*SMALL, "--out", str(tmp_path))
    path = run_file(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]) + lines[2][:40])
    answer = tierscope("show", str(path))
    assert answer.returncode == 0
    assert "cut off when 1 of 2 figures were begun" in answer.stdout


def test_show_gives_csv(fake_engine: Fake) -> None:
    tierscope(*SMALL)
    assert len(tierscope("show", "last", "--csv").stdout.splitlines()) == 3


def test_doctor_lists_what_cannot_be_measured_with_its_remedy(fake_engine: Fake) -> None:
    answer = tierscope("doctor")
    assert answer.returncode == 0
    assert "gpu: no driver" in answer.stdout
    assert "install the NVIDIA driver" in answer.stdout


def test_doctor_s_json_has_findings(fake_engine: Fake) -> None:
    document = json.loads(tierscope("doctor", "--json").stdout)
    assert {"engine", "settings", "findings"} <= set(document)
    assert all(
        finding["severity"] in ("problem", "note", "good") for finding in document["findings"]
    )


def test_doctor_without_an_engine_says_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERSCOPE_ENGINE", "/nonexistent")
    answer = tierscope("doctor")
    assert answer.returncode == 2
    assert "distorts figures" in answer.stdout
    assert "/nonexistent" in answer.stderr


def test_no_command_prints_help() -> None:
    answer = tierscope()
    assert answer.returncode == 0
    assert "tierscope doctor" in answer.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["bandwidth", "--to", "node:99"], "there is no node 99"),
        (["bandwidth", "--to", "nodes:0"], "endpoint 'nodes:0' is not one of the forms"),
        (["bandwidth", "--from", "cpus:4096"], "CPU 4096 is not online"),
        (["bandwidth", "--size", "900t"], "which can give"),
        (["bandwidth", "--threads", "0"], "--threads: 0 is too few"),
        (["bandwidth", "--access-size", "4g"], "--access-size: '4g': size has fewer accesses"),
        (["bandwidth", "--from", "cpus:0-99999999"], "neither a number up to 999999"),
        (["loaded-latency", "--load-size", "0"], "--load-size: '0': it has to be greater"),
        (["traffic", "--beside", ";"], "--beside: ';' names no stream"),
        (["traffic", "--beside", "threads"], "'threads' is not KEY=VALUE"),
        (["topo", "--input", ""], "--input names no file"),
        (["topo", "--from", "x.xml"], "--from: a machine's file is --input"),
        (["compare", "a", "b", "--tolerance", "-1"], "not a share from 0"),
        (["latency", "--size", "1q"], "--size: '1q' is not a size"),
        (["latency", "--sise", "1k"], "--sise"),
        (["run", "none.yaml"], "plan 'none.yaml' cannot be read"),
        (["run", "x.yaml", "--profile", "quick"], "only one of"),
        (["run", "--resume", "last", "--time-limit", "1"], "only --json and --csv go with it"),
        (["run", "--profile", "fast"], "'fast' is not one of quick, standard, full"),
        (["run", "--time-limit", "1s"], "need at least"),
        (["run", "--time-limit", "-1"], "--time-limit: '-1' is out of range"),
        (["run", "--time-limit", "1q"], "'1q' is not a time such as 10s"),
        (["run", "--budget", "1"], "the whole run's is --time-limit"),
        (["show", "nothing"], "neither a file nor the name of a run"),
        (["show", "--json", "--csv"], "not both"),
        (["mesure"], "there is no command 'mesure'"),
        ([*SMALL, "--out", "/proc/tierscope"], "cannot be written to /proc/tierscope"),
    ],
)
def test_a_wrong_request_gets_one_line(fake_engine: Fake, arguments: list[str], says: str) -> None:
    assert says in refusal(*arguments)


def test_a_malformed_plan_gets_one_line(tmp_path: Path, fake_engine: Fake) -> None:
    plan = tmp_path / "bad.yaml"
    plan.write_text("measurements:\n- kind: bandwidth\n  args: {opp: read}\n")
    assert f"{plan}:3: unknown key 'opp'" in refusal("run", str(plan))


def test_a_sign_that_yaml_forbids_is_told_with_its_line(tmp_path: Path) -> None:
    plan = tmp_path / "bad.yaml"
    plan.write_text("measurements:\n- kind: lat\0ency\n")
    assert f"{plan}:2: not valid YAML" in refusal("run", str(plan))


def test_an_anchor_given_twice_is_told_with_its_line(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "measurements:\n- {kind: latency, args: {size: &a 1m}}\n- {kind: latency, name: &a b}\n"
    )
    assert f"{plan}:3: not valid YAML: second occurrence" in refusal("run", str(plan))


def test_an_engine_without_an_answer_writes_no_topology(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIERSCOPE_ENGINE", "/bin/true")
    assert "wrote no XML" in refusal("topo", "--save", str(tmp_path / "x.xml"))
    assert not list(tmp_path.glob("*.xml"))


def test_a_missing_engine_gets_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERSCOPE_ENGINE", "/nonexistent")
    assert "TIERSCOPE_ENGINE names '/nonexistent'" in refusal(*SMALL)


def test_a_crash_is_reported_and_the_rest_measured(tmp_path: Path, fake_engine: Fake) -> None:
    fake_engine("kill@1")
    answer = tierscope(*SMALL, "--out", str(tmp_path))
    assert answer.returncode == 1
    assert "SIGKILL" in answer.stdout
    found = read_run(run_file(tmp_path)).measurements
    assert sorted(m.status for m in found) == ["failed", "measured"]


def test_nothing_measured_is_exit_3(fake_engine: Fake) -> None:
    fake_engine("skip")
    assert tierscope(*SMALL).returncode == 3


def test_an_internal_error_is_one_line(fake_engine: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import tierscope.machine.discover as machine; machine.discover = lambda: 1 / 0;"
        "from tierscope.cli.main import main; main()"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code, "latency"], capture_output=True, text=True, check=False
    )
    assert answer.returncode == 4
    (line,) = answer.stderr.splitlines()
    assert "internal error, please report it: ZeroDivisionError" in line


def test_a_reader_that_leaves_is_no_error(fake_engine: Fake) -> None:
    answer = subprocess.run(
        ["sh", "-c", '"$@" | head -n 1', "sh", *PROGRAM, *SMALL],
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.stderr == ""
    command = ["bash", "-o", "pipefail", "-c", '"$@" | true', "bash", *PROGRAM, "list", "--json"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 4


def test_output_that_cannot_be_written_is_one_line(fake_engine: Fake) -> None:
    command = ["sh", "-c", '"$@" > /dev/full', "sh", *PROGRAM, "doctor"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 4
    (line,) = answer.stderr.splitlines()
    assert "the output could not be written: No space left on device" in line


@pytest.mark.parametrize(
    "words", [["list"], ["--help"], ["list", "--json"], ["--version"], ["topo"], SMALL]
)
def test_a_closed_output_is_told(fake_engine: Fake, words: list[str]) -> None:
    command = ["sh", "-c", '"$@" >&-', "sh", *PROGRAM, *words]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 4
    assert answer.stderr.splitlines()[-1].startswith(
        "tierscope: the output could not be written: standard output is closed"
    )


def test_closed_errors_are_dropped(fake_engine: Fake) -> None:
    command = ["sh", "-c", '"$@" 2>&-', "sh", *PROGRAM, *SMALL]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0
    assert "GB/s" in answer.stdout


@pytest.mark.parametrize("delay", [0.05, 0.1, 0.15, 0.3, 0.5, 0.8, 1.2, 1.6, 2.0])
def test_ctrl_c_at_any_moment_keeps_what_was_measured(
    tmp_path: Path, fake_engine: Fake, delay: float
) -> None:
    fake_engine("slow")
    # Before main is there, Ctrl-C is the interpreter's own affair.
    code = "from tierscope.cli.main import main; print('here', flush=True); main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "latency", "--size", "4k..64m", "--out", f"{tmp_path}/out"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"
    time.sleep(delay)
    os.killpg(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, stderr) == (130, "tierscope: interrupted\n")
    assert "Traceback" not in stdout
    for path in (tmp_path / "out").glob("*.jsonl"):
        if path.stat().st_size == 0:
            continue  # nothing had begun
        run = read_run(path)
        assert run.footer.interrupted if run.footer else not run.measurements


def test_ctrl_c_while_the_output_s_module_is_imported_is_quiet() -> None:
    code = """
import os, signal, sys
from tierscope.cli.main import main
def interrupt(event, arguments):
    if event == "exec" and getattr(arguments[0], "co_filename", "").endswith("runs/output.py"):
        os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(interrupt)
sys.argv[1:] = ["show"]
main()
"""
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert (answer.returncode, answer.stderr) == (130, "tierscope: interrupted\n")


def test_a_killed_tierscope_leaves_a_readable_run(tmp_path: Path, fake_engine: Fake) -> None:
    fake_engine("slow")
    process = subprocess.Popen(
        [*PROGRAM, "latency", "--size", "4k..64m", "--out", str(tmp_path)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: len(_repeated(tmp_path)) >= 2, "two have a repetition")
    process.kill()
    process.wait()
    measured = {measurement.id for measurement in read_run(run_file(tmp_path)).measurements}
    assert measured == _repeated(tmp_path)
    assert len(measured) >= 2


def _repeated(directory: Path) -> set[str]:
    """Return the ids of measurements with a whole repetition in the run file."""
    lines = [line for path in directory.glob("*.jsonl") for line in path.open()]
    records = [json.loads(line) for line in lines if line.endswith("\n")]
    return {record["repetition"]["id"] for record in records if record["record"] == "repetition"}


def test_a_killed_run_is_resumed(tmp_path: Path, fake_engine: Fake) -> None:
    tierscope("latency", "--size", "4k..64k", "--out", str(tmp_path))
    path = run_file(tmp_path)
    whole = read_run(path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:4]) + lines[4][:40])
    assert len(read_run(path).measurements) < len(whole.measurements)
    answer = tierscope("run", "--resume", str(path), "--json")
    assert answer.returncode == 0, answer.stderr
    assert [r["id"] for r in json.loads(answer.stdout)["results"]] == [
        measurement.id for measurement in whole.measurements
    ]


def test_a_complete_run_needs_no_resuming(fake_engine: Fake) -> None:
    tierscope(*SMALL)
    answer = tierscope("run", "--resume", "last")
    assert answer.returncode == 0
    assert "nothing to resume" in answer.stdout


def test_bundle_hides_the_host(tmp_path: Path, fake_engine: Fake) -> None:
    tierscope(*SMALL)
    answer = tierscope("bundle", "--out", str(tmp_path), "--json")
    assert answer.returncode == 0, answer.stderr
    (archive,) = tmp_path.glob("*.tar.gz")
    said = json.loads(answer.stdout)
    assert said["bundle"] == str(archive)
    assert said["replaced"]["host"] >= 1
    assert said["damaged"] == []
    with tarfile.open(archive) as members:
        (name,) = [name for name in members.getnames() if name.endswith("run.jsonl")]
        content = members.extractfile(name)
        assert content is not None
        assert json.loads(content.readline())["host"] != os.uname().nodename


def test_a_full_disk_is_refused_before_anything_is_measured(
    small_disk: Path, fake_engine: Fake
) -> None:
    (small_disk / "ballast").write_bytes(b"x" * (64 << 10))
    said = refusal(*SMALL, "--out", str(small_disk), status=4)
    assert "No space left on device" in said
    assert not list(small_disk.glob("*.jsonl"))


def test_a_disk_that_fills_up_keeps_what_was_measured(small_disk: Path, fake_engine: Fake) -> None:
    # The plan in the header takes about 20 KiB of the 64, each result half a KiB.
    answer = tierscope("latency", "--size", "4k..256k+4k", "--out", str(small_disk))
    assert answer.returncode == 4
    (line,) = answer.stderr.splitlines()
    assert "No space left on device; what was finished before is kept" in line
    run = read_run(run_file(small_disk))
    assert run.footer is None
    assert 0 < len(run.measurements) < 64


@pytest.fixture
def read_only_directory(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "read-only"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "ro,size=64k", "none", str(folder)]
    answer = subprocess.run(mount, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        pytest.skip(f"mounting a tmpfs needs root: {answer.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_read_only_directory_is_refused_before_anything_is_measured(
    read_only_directory: Path, fake_engine: Fake
) -> None:
    assert "Read-only file system" in refusal(*SMALL, "--out", str(read_only_directory))


def test_a_terminated_command_is_interrupted_too() -> None:
    # A pipe that nobody writes to holds the command where it reads its plan.
    pipe = subprocess.PIPE
    command = [*PROGRAM, "run", "/dev/stdin"]
    process = subprocess.Popen(command, stdin=pipe, stderr=pipe, text=True)
    where = Path(f"/proc/{process.pid}/wchan")
    wait_until(lambda: "pipe_read" in where.read_text(), "the command reads")
    process.send_signal(signal.SIGTERM)
    process.wait(PATIENCE_S)
    _, stderr = process.communicate()
    assert (process.returncode, stderr) == (130, "tierscope: interrupted\n")


def test_a_file_without_end_is_no_run() -> None:
    assert "it is a character device; a regular file is needed" in refusal("show", "/dev/zero")


def test_names_cannot_steer_the_terminal(tmp_path: Path, fake_engine: Fake) -> None:
    tierscope(*SMALL, "--out", str(tmp_path))
    path = run_file(tmp_path)
    name = rb'"host":"\u001b]0;x\u0007\u009b31m[/bold]'
    path.write_bytes(resealed(path.read_bytes().replace(b'"host":"', name)))
    answer = tierscope("show", str(path))
    assert answer.returncode == 0
    assert "]0;x31m[/bold]" in answer.stdout
    assert not any(sign in answer.stdout for sign in "\x1b\x07\x9b")


def test_json_prints_whatever_the_encoding(tmp_path: Path, fake_engine: Fake) -> None:
    out = tmp_path / "ö"
    answer = tierscope(*SMALL, "--out", str(out), "--json", PYTHONIOENCODING="ascii")
    assert answer.returncode == 0
    assert str(out) in json.loads(answer.stdout)["run"]["command"]


def test_a_hwloc_file_that_cannot_be_is_refused_before_anything_is_measured(
    tmp_path: Path, fake_engine: Fake
) -> None:
    for path in (tmp_path, tmp_path / "none" / "x.xml", tmp_path / "x" / "y"):
        out = tmp_path / "out"
        assert "cannot be written" in refusal("matrix", "--hwloc-xml", str(path), "--out", str(out))
        assert not out.exists()


def test_a_full_disk_leaves_the_report_that_was_there(
    small_disk: Path, tmp_path: Path, fake_engine: Fake
) -> None:
    tierscope(*SMALL)
    page = small_disk / "page.html"
    page.write_text("the old one")
    (small_disk / "ballast").write_bytes(b"x" * (56 << 10))
    assert "No space left on device" in refusal("report", "-o", str(page), status=4)
    assert page.read_text() == "the old one"
    assert sorted(path.name for path in small_disk.iterdir()) == ["ballast", "page.html"]


# Commands as people type them.


def test_help_is_a_command_too() -> None:
    assert tierscope("help").stdout == tierscope("--help").stdout
    assert tierscope("help", "gpu", "copy").stdout == tierscope("gpu", "copy", "--help").stdout
    assert "did you mean 'latency'" in refusal("help", "latancy")


def test_a_profile_is_named_without_its_option(tmp_path: Path) -> None:
    plans = [tierscope("run", *words, "--dry-run").stdout for words in (["quick"], [])]
    assert plans[0] == plans[1] != ""
    answer = forked.tierscope("run", "quick", "--dry-run", folder=tmp_path)
    assert answer.returncode == 0
    (tmp_path / "quick").write_text("measurements: []\n")
    answer = forked.tierscope("run", "quick", "--dry-run", folder=tmp_path)
    assert "quick:1" in answer.stderr, "a file comes first"


def test_paths_are_targets(tmp_path: Path) -> None:
    def ids(*words: str) -> str:
        done = forked.tierscope("io", *words, "--dry-run", folder=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    whole = ids("--to", f"file:{tmp_path}")
    assert whole == ids(".") == ids("--to", ".") == ids(str(tmp_path)) == ids()
    assert forked.tierscope("files", ".", "--dry-run", folder=tmp_path).returncode == 0
    assert "--to, or without it" in refusal("io", ".", "--to", "/tmp")


def test_what_is_ambiguous_or_upside_down_is_refused_with_the_reason() -> None:
    assert "powers of 1000 or of 1024; write 10g or 10GiB" in refusal("latency", "--size", "10GB")
    assert "a small share is precise: '1.00%'" in refusal("latency", "--precision", "99%")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("io", "--to", "/nonexistent"), "/nonexistent: No such file or directory; name a"),
        (("bandwidth", "--size", "1m", "--isa", "neon"), "no neon kernels; it has"),
    ],
)
def test_what_cannot_work_leaves_a_line_and_no_run(
    words: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    answer = tierscope(*words, "--budget", "50ms", "--out", str(tmp_path / "out"))
    assert (answer.returncode, answer.stdout) == (3, "")
    (line,) = answer.stderr.splitlines()
    assert said in line
    assert not [*(tmp_path / "out").glob("*.jsonl")]
    in_json = tierscope(*words, "--budget", "50ms", "--json")
    assert in_json.returncode == 3
    assert json.loads(in_json.stdout)["results"][0]["status"] == "skipped"

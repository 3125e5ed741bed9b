"""Names of any length and bytes, full disks, missing homes: one line, a documented exit code."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests import synthetic

from tierscope.cli.app import app
from tierscope.model.cause import Cause
from tierscope.model.errors import ExitCode, UserError
from tierscope.runs.query import query
from tierscope.runs.read import parse_run, read_run
from tierscope.runs.store import runs_directory
from tierscope.runs.write import RunWriter

PROGRAM = [sys.executable, "-c", "from tierscope.cli.main import main; main()"]
LONG = "x" * 300
BYTES = b"n\xff"


def do(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(one) for one in arguments])


def program(*arguments: str | bytes, **settings: Any) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run([*PROGRAM, *arguments], capture_output=True, check=False, **settings)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A run in the data directory."""
    folder = runs_directory()
    folder.mkdir(parents=True)
    made = synthetic.run(synthetic.memory_measurements(synthetic.Maker())[:4])
    file: Path = synthetic.write(made, folder / "mine.jsonl")
    return file


@pytest.mark.parametrize(
    "line",
    ["show X", "report X", "compare X X", "tag X a", "list --in X", "query --in X x", "bundle X",
     "export X --csv=o", "check X --expect X", "run X", "run --resume X", "topo --input X",
     "topo --svg X", "report mine -o X", "report mine --png X", "bundle mine --out X",
     "bandwidth --out X --size 1m"],
)  # fmt: skip
def test_names_that_are_too_long(line: str, kept: Path, fake_engine: Callable[[str], None]) -> None:
    done = do(*line.replace("X", LONG).split())
    assert isinstance(done.exception, UserError), done.exception


@pytest.mark.parametrize("number", ["1" * 5000, "\N{SUPERSCRIPT TWO}"], ids=["long", "no digit"])
@pytest.mark.parametrize(
    "line",
    ["watch --pid X", "tier observe X", "io --to file:/tmp --blocks 4k:X",
     "io --to file:/tmp --depth X", "pmem-check . --after-cut slots=X", "chain --chain mX_r_64",
     "bandwidth --to node:0@X", "bandwidth --threads X", "latency --size X",
     "bandwidth --from cpu:X"],
)  # fmt: skip
def test_numbers_that_are_too_long_or_none(
    line: str, number: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    done = do(*line.replace("X", number).split())
    assert isinstance(done.exception, UserError), done.exception


def test_names_of_any_bytes(kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    odd = os.path.join(os.fsencode(kept.parent), BYTES + b".jsonl")  # noqa: PTH118
    with open(odd, "wb") as file:  # noqa: PTH123
        file.write(kept.read_bytes())
    out = os.path.join(os.fsencode(tmp_path), BYTES)  # noqa: PTH118
    for words in (
        [b"show", BYTES], [b"query", b"select name, path from runs"],
        [b"export", BYTES, b"--csv=" + out + b".csv", b"--parquet=" + out + b".parquet"],
        [b"report", BYTES, b"-o", out + b".html"],
    ):  # fmt: skip
        done = program(*words)
        assert (done.returncode, done.stderr) == (0, b""), words
    for suffix in (b".csv", b".parquet", b".html"):
        assert os.path.getsize(out + suffix) > 50  # noqa: PTH202
    name = os.fsdecode(BYTES)
    for line in (
        ["list", "--json"], ["show", name, "--json"], ["tag", name, "odd", "--json"],
        ["bundle", name, "--json"], ["export", name, f"--csv={name}", "--json"],
    ):  # fmt: skip
        assert do(*line).exit_code == 0, line


@pytest.mark.parametrize(
    "line",
    ["bandwidth --to X", "topo node:X node:0", "query X", "topo --input X", "run X", "show --X",
     "check mine --expect X", "tag mine X", "list --in X", "run --profile X"],
)  # fmt: skip
def test_words_of_any_bytes(line: str, kept: Path) -> None:
    done = do(*(word.replace("X", os.fsdecode(BYTES)) for word in line.split()))
    assert isinstance(done.exception, UserError | SystemExit)
    assert done.exit_code != 0


def test_a_target_in_a_plan_that_no_file_can_have(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text('version: 1\nmeasurements:\n  - kind: io\n    to: ["file:/tmp/\\ud800"]\n')
    done = program("run", str(plan), "--dry-run")
    assert done.returncode == ExitCode.REQUEST_WRONG, done.stderr
    (line,) = done.stderr.decode().splitlines()
    assert "plan.yaml:4" in line


def test_a_run_of_a_command_line_of_any_bytes(
    tmp_path: Path, fake_engine: Callable[[str], None]
) -> None:
    out = os.fsencode(tmp_path / "out") + BYTES
    done = program(b"latency", b"--size", b"4k", b"--out", out)
    assert done.returncode == 0, done.stderr
    (name,) = os.listdir(out)  # noqa: PTH208
    run = read_run(Path(os.fsdecode(os.path.join(out, os.fsencode(name)))))  # noqa: PTH118
    assert run.header.command[-1].endswith("n�")


def test_a_bad_header_leaves_a_run_out_and_not_the_query(kept: Path) -> None:
    text = kept.read_text()
    assert '"2026-01-05T14:03:07+00:00"' in text
    for name, started in (("a", "tomorrow"), ("b", "0001-01-01T00:00:00+14:00")):
        bad = text.replace("2026-01-05T14:03:07+00:00", started, 1)
        kept.with_name(f"{name}.jsonl").write_text(bad)
    done = do("query", "select name from runs", "--csv", "--in", kept.parent)
    assert done.stdout == "name\nmine\n"
    assert done.stderr.count("left out") == 2
    assert "a.jsonl:1: the header is damaged (started: 'tomorrow' is not a time" in done.stderr


def test_a_later_kind_s_pattern_has_a_row(tmp_path: Path) -> None:
    pattern = {"size": "big", "threads": 1.5, "access_size": 2**62, "pages": 7, "order": None}
    made = synthetic.Maker().make("later", "node:0", "node:0", pattern, 1e9)
    file = synthetic.write(synthetic.run([made]), tmp_path / "odd.jsonl")
    _, rows, problems = query([file], "select size, threads, access_size from measurements")
    assert (rows, problems) == ([(None, None, 2**62)], [])


@pytest.mark.parametrize("sort", [True, False])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_a_run_rewritten_by_another_program_is_the_same(
    kept: Path, sort: bool, end: str, bom: str
) -> None:
    before = read_run(kept)
    records = [json.loads(line) for line in kept.read_text().splitlines()]
    text = bom + "".join(json.dumps(record, sort_keys=sort) + end for record in records)
    kept.write_bytes(text.encode())
    assert read_run(kept) == before
    (entry,) = json.loads(do("list", "--json").stdout)["runs"]
    assert (entry["state"], entry["measured"]) == ("complete", 4)


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("pattern", {"size": [1]}, "x:2: .*pattern.size is not a number from 0 on"),
        ("pattern", {"size": 10**400}, "x:2: .*pattern.size is not a number from 0 on"),
        ("pattern", {"size": 64}, "x:2: .*pattern has no 'operation'"),
        ("samples", [], "x:2: .*n is 40, but samples are 0"),
        ("n", 136, "x:2: .*n is 136, but samples are 40"),
        ("n", -1, "x:2: .*damaged here \\(n: "),
        ("figures", [], "x:2: .*it was measured, but has no figure"),
        ("figures", [{"metric": "a", "unit": "ns", "estimate": 1.0, "ci_low": 2.0, "ci_high": 1.0}],
         "x:2: .*figures.0.ci_low is 2.0"),
        ("figures", [{"metric": "a", "unit": "ns", "estimate": 1.0, "ci_low": 1.0, "ci_high": 1.0},
                     {"metric": "a", "unit": "ns", "estimate": 0, "ci_low": 2.0, "ci_high": 1.0}],
         "x:2: .*figures.1.ci_low is 2.0"),
    ],
)  # fmt: skip
def test_figures_that_cannot_be_are_refused_with_line_and_key(
    kept: Path, key: str, value: Any, says: str
) -> None:
    lines = kept.read_text().splitlines()
    record = json.loads(lines[1])
    record[key] = value
    for cut in (None, 2):  # in the last line, too
        content = "\n".join([lines[0], json.dumps(record), *lines[2:]][:cut]).encode()
        with pytest.raises(UserError, match=says):
            parse_run(content, "x")


@pytest.mark.parametrize("where", ["machine", "topology"])
def test_a_size_below_0_is_refused(kept: Path, where: str) -> None:
    header, *rest = kept.read_text().splitlines()
    record = json.loads(header)
    record[where]["nodes"][0]["total_bytes"] = -1
    with pytest.raises(UserError, match=r"x:1: .*nodes\.0\.total_bytes.*greater than or equal"):
        parse_run("\n".join([json.dumps(record), *rest]).encode(), "x")


def test_a_disk_that_is_full_before_the_header_keeps_nothing_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(UserError) as caught:
        RunWriter.create(tmp_path / "run.jsonl", synthetic.header())
    said = f"the run cannot be written to {tmp_path}: No space left on device; name another"
    assert str(caught.value).startswith(said)
    assert caught.value.exit_code is ExitCode.COMMAND_FAILED
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_fails_to_keep_a_record_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = RunWriter.create(tmp_path / "run.jsonl", synthetic.header())

    def broken(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", broken)
    footer = synthetic.run([]).footer
    assert footer
    with pytest.raises(UserError, match="Input/output error; what was finished before is kept"):
        writer.add(footer)
    writer.close()
    assert read_run(tmp_path / "run.jsonl").measurements == []


def test_an_empty_home_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_DATA_HOME")
    import pwd

    own = Path(pwd.getpwuid(os.getuid()).pw_dir)
    for home in ("", "relative/home"):
        monkeypatch.setenv("HOME", home)
        assert runs_directory() == own / ".local/share/tierscope/runs"
    monkeypatch.setattr(pwd, "getpwuid", lambda _: (_ for _ in ()).throw(KeyError("uid")))
    with pytest.raises(UserError, match="no home directory"):
        runs_directory()


def test_an_export_of_no_runs_writes_nothing(tmp_path: Path) -> None:
    target = tmp_path / "all.csv"
    done = do("export", "--all", f"--csv={target}")
    assert "there is no run yet" in str(done.exception)
    assert not target.exists()


def limited(*words: str) -> "subprocess.CompletedProcess[bytes]":
    """Run the program where no file may grow beyond 1 KiB."""
    import resource

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))

    return program(*words, preexec_fn=limit)


@pytest.mark.parametrize(
    "words",
    [["query", "select 1"], ["export", "--all", "--csv=OUT"], ["report", "mine", "-o", "OUT"],
     ["bundle", "mine"]],
)  # fmt: skip
def test_no_room_is_one_line(words: list[str], kept: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_text("before")
    done = limited(*(word.replace("OUT", str(out)) for word in words))
    assert done.returncode == 4
    assert done.stderr.count(b"\n") == 1
    assert b"File too large" in done.stderr
    assert b"internal error" not in done.stderr
    assert out.read_text() == "before"
    assert list(kept.parent.iterdir()) == [kept]


def test_a_run_that_is_named_and_cannot_be_read_is_an_error(kept: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    broken = kept.with_name("broken.jsonl")
    broken.write_text("hello")
    done = do("export", kept, broken, f"--csv={target}")
    assert "broken.jsonl is not a tierscope run file" in str(done.exception)
    assert not target.exists()
    assert do("export", "--all", f"--csv={target}").exit_code == 0
    kept.unlink()
    assert "not a tierscope run file" in str(do("export", "--all", f"--csv={target}").exception)


def test_what_was_not_begun_does_not_count_as_measured(tmp_path: Path) -> None:
    run = synthetic.run(synthetic.memory_measurements(synthetic.Maker())[:3])
    assert run.footer
    cut = run.measurements[2].model_copy(
        update={"status": "skipped", "cause": Cause.INTERRUPTED, "reason": "a signal"}
    )
    added = [{"id": run.measurements[1].id}]
    plan = {"measurements": [{"id": m.id} for m in (run.measurements[0], cut)]}
    shown = run.model_copy(
        update={
            "header": synthetic.header(plan=plan),
            "measurements": [*run.measurements[:2], cut],
            "footer": run.footer.model_copy(update={"interrupted": True}),
            "added": added,
        }
    )
    from tierscope.kinds.views import VIEWS
    from tierscope.report.summary import verdict_of

    assert "the run was interrupted when 2 of 3 figures were begun" in verdict_of(shown, VIEWS).why

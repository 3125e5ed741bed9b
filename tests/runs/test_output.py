"""Where commands write: never over a run or what they read, whole or not at all."""

import ast
import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests import synthetic

from tierscope.cli.app import app
from tierscope.model.errors import UserError
from tierscope.runs import output

PROGRAM = [sys.executable, "-c", "from tierscope.cli.main import main; main()"]
SOURCES = Path(output.__file__).parents[1]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    made = synthetic.run(synthetic.memory_measurements(synthetic.Maker())[:4])
    file: Path = synthetic.write(made, tmp_path / "mine.jsonl")
    return file


def do(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(one) for one in arguments])


OUTPUTS: dict[str, list[object]] = {
    "report": ["report", "RUN", "-o", "OUT"],
    "compare": ["compare", "RUN", "RUN", "-o", "OUT"],
    "csv": ["export", "RUN", "--csv=OUT"],
    "parquet": ["export", "RUN", "--parquet=OUT"],
    "prometheus": ["export", "RUN", "--prometheus", "OUT"],
    "junit": ["check", "RUN", "--expect", "RULES", "--junit", "OUT"],
    "svg": ["topo", "--svg", "OUT"],
    "save": ["topo", "--save", "OUT"],
}


def words(name: str, run: Path, target: object) -> list[object]:
    rules = run.with_name("rules.yaml")
    rules.write_text('rules: ["node:0 -> node:0 read: > 1 B/s"]\n')
    known: dict[object, object] = {"RUN": run, "OUT": target, "RULES": rules}
    given = [known.get(word, word) for word in OUTPUTS[name]]
    return [str(one).replace("=OUT", f"={target}") for one in given]


@pytest.mark.parametrize("name", OUTPUTS)
def test_a_run_is_never_replaced(name: str, run: Path, tmp_path: Path) -> None:
    other: Path = synthetic.write(synthetic.run([]), tmp_path / "other.jsonl")
    link = tmp_path / "link"
    link.symlink_to(other)
    before = run.read_bytes(), other.read_bytes()
    for target in (run, other, link):
        done = do(*words(name, run, target))
        assert isinstance(done.exception, UserError)
        assert "cannot be written: " in str(done.exception)
        assert f"'{target}'" in str(done.exception)
    assert (run.read_bytes(), other.read_bytes()) == before


@pytest.mark.parametrize("name", OUTPUTS)
def test_a_file_takes_the_output_and_keeps_its_mode(name: str, run: Path, tmp_path: Path) -> None:
    target = tmp_path / "there"
    target.write_text("before")
    target.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(target)
    done = do(*words(name, run, link))
    assert done.exception is None or done.exit_code in (0, 3), done.exception
    assert target.read_bytes() != b"before"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert link.is_symlink()
    assert str(link) in done.output  # it says what it wrote
    assert list(tmp_path.glob(".tierscope-*")) == []


@pytest.mark.parametrize("name", OUTPUTS)
@pytest.mark.parametrize("stdout", ["-", "/dev/stdout"])
def test_standard_output_gets_the_file_and_nothing_else(
    name: str, stdout: str, run: Path, tmp_path: Path
) -> None:
    there = do(*words(name, run, tmp_path / "there"))
    assert there.exit_code in (0, 3)
    done = do(*words(name, run, stdout))
    assert done.exit_code == there.exit_code
    expected = (tmp_path / "there").read_bytes()
    assert len(done.stdout_bytes) == pytest.approx(len(expected), abs=200)
    assert done.stdout_bytes[:20] == expected[:20]
    assert not Path(stdout).name.startswith("-") or not Path("-").exists()


def test_the_command_s_other_inputs_stay(run: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    done = do(*words("junit", run, rules))
    assert "this command reads it" in str(done.exception)
    assert rules.read_text().startswith("rules:")
    xml = tmp_path / "machine.xml"
    xml.write_text("<topology/>")
    done = do("topo", "--input", xml, "--svg", xml)
    assert "this command reads it" in str(done.exception)
    tags = tmp_path / "mine.tags"
    tags.write_text("golden\n")
    assert "tags of a run" in str(do("report", run, "-o", tags).exception)
    hard = tmp_path / "hard"
    hard.hardlink_to(rules)
    assert "this command reads it" in str(do(*words("junit", run, hard)).exception)


@pytest.mark.parametrize(
    "arguments",
    [
        ["export", "RUN", "--csv=OUT", "--parquet=OUT"],
        ["export", "RUN", "--csv=-", "--parquet=/dev/stdout"],
        ["export", "RUN", "--csv=OUT", "--prometheus", "./OUT"],
        ["topo", "--save", "OUT", "--svg", "OUT"],
    ],
)
def test_two_outputs_are_two_files(
    arguments: list[str], run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = do(*(run if word == "RUN" else word for word in arguments))
    assert "both write to" in str(done.exception)
    assert not (tmp_path / "OUT").exists()


@pytest.mark.parametrize("option", ["--csv", "--parquet", "--prometheus"])
def test_json_has_standard_output_to_itself(option: str, run: Path) -> None:
    done = do("export", run, f"{option}=-", "--json")
    assert isinstance(done.exception, UserError)
    assert done.stdout == ""


@pytest.mark.parametrize("form", ["--json", "--csv"])
def test_forms_in_files_replace_no_run(form: str, run: Path) -> None:
    before = run.read_bytes()
    for words in (["show", run], ["query", "select 1", "--in", run.parent]):
        done = do(*words, f"{form}={run}")
        assert "cannot be written: " in str(done.exception)
    assert run.read_bytes() == before


def test_what_cannot_be_written_is_said_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for target, why in (
        (tmp_path / "folder", "it is a directory"),
        (tmp_path / "no/such/file", "there is no such directory"),
        (tmp_path / ("x" * 300), "File name too long"),
        (loop, "Too many levels of symbolic links"),
        (Path(), "it is a directory"),
    ):
        with pytest.raises(UserError, match=f"^--output: '.*' cannot be written: {why}"):
            output.check_outputs({"--output": target})


def test_a_block_device_is_no_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.touch()
    real = disk.stat()
    block = os.stat_result((stat.S_IFBLK | 0o600, *tuple(real)[1:]))
    monkeypatch.setattr(os, "stat", lambda _: block)
    with pytest.raises(UserError, match="it is a block device"):
        output.check_outputs({"--output": disk})


def test_pipes_are_written_to_as_they_are(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    output.write_output(pipe, b"x" * 300_000, "--output")
    reader.join()
    assert got == [b"x" * 300_000]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_full_device_is_one_line() -> None:
    with pytest.raises(UserError, match="--output: '/dev/full' cannot be written: No space left"):
        output.write_output(Path("/dev/full"), b"x", "--output")


def test_what_fails_half_way_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "there"
    target.write_text("before")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match="No space left on device; name another file"):
        output.write_output(target, "after", "--output")
    assert target.read_text() == "before"
    assert list(tmp_path.iterdir()) == [target]


def test_a_signal_leaves_nothing_unfinished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(descriptor: int) -> None:
        assert len(list(tmp_path.iterdir())) == 1
        output.discard_unfinished()  # as the handler of Ctrl-C does before it ends the process
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        output.write_output(tmp_path / "new", "after", "--output")
    assert list(tmp_path.iterdir()) == []


def test_tags_given_at_once_are_all_kept(run: Path) -> None:
    tags = [f"tag{number}" for number in range(6)]
    started = [subprocess.Popen([*PROGRAM, "tag", str(run), tag]) for tag in tags]
    assert [one.wait() for one in started] == [0] * 6
    assert sorted(run.with_suffix(".tags").read_text().split()) == tags
    started = [subprocess.Popen([*PROGRAM, "tag", str(run), "--remove", tag]) for tag in tags]
    assert [one.wait() for one in started] == [0] * 6
    assert not run.with_suffix(".tags").exists()


def test_asking_for_tags_writes_nothing(run: Path) -> None:
    assert json.loads(do("tag", run, "--json").stdout)["tags"] == []
    assert "has no tag 'x'" in str(do("tag", run, "--remove", "x").exception)
    assert not run.with_suffix(".tags").exists()


_WRITERS = {"write_text", "write_bytes", "copyfile", "move", "mkstemp"}
_MAY_WRITE = {
    "runs/output.py": "all that commands are asked to write",
    "runs/write.py": "run files, which grow line by line",
    "runs/query.py": "temporary files",
    "runs/bundle.py": "an archive in memory",
    "fleet/rows.py": "the same",
    "fleet/together.py": "the same",
    "runs/history.py": "the lock on a file of tags",
    "cli/completion.py": "a line added to a shell's start-up file",
    "engine/cufile.py": "a temporary cufile.json",
    "engine/pmem_check.py": "a file of a name of its own, for a writer",
    "engine/prefetchers.py": "registers of the CPU",
    "place/weights.py": "the kernel's interleave weights",
    "place/saved_state.py": "settings to restore, and the lock on them",
    "cli/peers.py": "launchers, which are executable and never written through a link",
    "peers/hmsdk/bwprof.py": "files in a directory that it made, which grow line by line",
    "place/memory_file.py": "the file in memory that a policy is for",
    "kinds/effect/measurer.py": "what programs print, kept where asked",
    "kinds/effect/jobs/llm_decode.py": "data of an application, in its temporary folder",
    "kinds/effect/jobs/llm_offload.py": "the same",
    "kinds/effect/jobs/model_load.py": "the same",
    "cli/main.py": "/dev/null",
    "cli/reference.py": "docs/cli.md, by make docs",
    "cli/manual.py": "manual pages, by make docs",
    "kinds/schema.py": "JSON Schemas, by make schema",
}


def writers(text: str) -> list[int]:
    """Return the lines of a module that open files to write."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and _writes(node)
    ]


def _writes(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)
    if name != "open":
        return name in _WRITERS
    modes = [one.value for one in _values(call) if isinstance(one, ast.Constant)]
    flags = " ".join(ast.unparse(one) for one in _values(call))
    return "O_CREAT" in flags or any(isinstance(m, str) and set(m) & set("wax+") and len(m) < 4
                                     for m in modes)  # fmt: skip


def _values(call: ast.Call) -> Sequence[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def test_one_module_writes_outputs() -> None:
    found = {
        str(path.relative_to(SOURCES)): lines
        for path in SOURCES.rglob("*.py")
        if (lines := writers(path.read_text()))
    }
    assert {name: lines for name, lines in found.items() if name not in _MAY_WRITE} == {}


@pytest.mark.parametrize(
    "line",
    ["path.write_text(x)", "open(p, 'w')", "path.open('ab')", "os.open(p, os.O_CREAT | flags)",
     "tarfile.open(p, mode='w:')", "shutil.move(a, b)"],
)  # fmt: skip
def test_what_writes_is_found(line: str) -> None:
    assert writers(f"import os\n{line}\n") == [2]
    assert writers("path.open('rb'); os.open(p, os.O_RDONLY); state.open()\n") == []

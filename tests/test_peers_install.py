"""``tierscope peers install``: programs on PATH under the names of other tools."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from forked import tierscope
from tierscope.cli.app import app
from tierscope.peers.registry import PROGRAMS

ROOT = Path(__file__).parent.parent
TIERSCOPE = ROOT / ".venv/bin/tierscope"


def install(*words: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([TIERSCOPE, "peers", "install", *words], capture_output=True, text=True)


def test_what_is_installed_is_listed() -> None:
    assert json.loads(tierscope("peers", "install", "--json").stdout) == {"programs": PROGRAMS}
    for text in (tierscope("peers").stdout, tierscope("peers", "install").stdout):
        assert all(name in text.split() or f"{name}," in text or f"{name}." in text
                   for name in PROGRAMS)  # fmt: skip
    assert len(PROGRAMS) == 10


def test_each_program_starts_its_command_with_its_words(tmp_path: Path) -> None:
    done = install(tmp_path / "bin")
    assert done.returncode == 0, done.stderr
    assert f'export PATH={tmp_path}/bin:"$PATH"' in done.stdout
    assert {one.name for one in (tmp_path / "bin").iterdir()} == set(PROGRAMS)
    environment = {**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    for name, command in PROGRAMS.items():
        by_name, by_command = (
            subprocess.run(words, env=environment, capture_output=True, text=True, cwd=tmp_path)
            for words in ([name, "--no such"], [TIERSCOPE, *command.split(), "--no such"])
        )
        assert by_name.returncode == by_command.returncode != 0
        assert by_name.stderr == by_command.stderr
        assert by_name.stderr.startswith("tierscope: ")
    repeated = subprocess.run([TIERSCOPE, "peers", "install", tmp_path / "bin", "fio"],
                              env=environment, capture_output=True, text=True)  # fmt: skip
    assert (repeated.returncode, repeated.stdout.count("\n")) == (0, 1), "PATH has it"


def test_a_file_of_others_is_left_alone_and_then_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "fio").write_text("#!/bin/sh\necho of others\n")
    (tmp_path / "mlc").symlink_to("/bin/true")
    for words in ((), ("gdsio", "fio"), ("mlc",)):
        done = install(tmp_path, *words)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert "is there, and no launcher of tierscope: it is left alone" in done.stderr
        assert {one.name for one in tmp_path.iterdir()} == {"fio", "mlc"}
    assert install(tmp_path, "mlc", "--force").returncode == 0
    assert not (tmp_path / "mlc").is_symlink()
    assert Path("/bin/true").stat().st_size > 1000
    assert "of others" in (tmp_path / "fio").read_text()


@pytest.mark.parametrize(
    ("words", "status", "why"),
    [
        (["DIR", "hmctl", "bwproff"], 2, "there is no program 'bwproff'; did you mean 'bwprof'?"),
        (["/proc/no/such"], 2, "/proc/no/such/mlc cannot be written: "),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, words: list[str], status: int, why: str) -> None:
    done = install(*(word.replace("DIR", str(tmp_path / "new")) for word in words))
    assert done.returncode == status
    assert why in done.stderr
    assert not (tmp_path / "new").exists()


def test_it_is_called_with_the_groups_name_only() -> None:
    assert "install" not in {entry.name for entry in app.entries}
    assert tierscope("install").returncode == 2

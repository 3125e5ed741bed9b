"""Huge files, and files that are none: one line, in little memory, and without waiting."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.runs.later import CORPUS

MIB = 1 << 20
MOST_MIB = 300
RUN = CORPUS / "0.1.0.jsonl"
# A process of its own, whose memory is no part of the command's.
MEASURE = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True, stdin=subprocess.DEVNULL)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(json.dumps([done.returncode, done.stderr.decode(errors="replace"), peak / 1024]))
"""
PROGRAM = [sys.executable, "-c", "from tierscope.cli.main import main; main()"]


def refused(*words: object) -> str:
    """Run a command that has to refuse; return its one line."""
    command = [sys.executable, "-c", MEASURE, *PROGRAM, *map(str, words)]
    done = subprocess.run(command, capture_output=True, check=True)
    status, said, peak_mib = json.loads(done.stdout)
    assert status == 2, said
    assert peak_mib < MOST_MIB
    (line,) = said.splitlines()
    assert len(line) < 3000
    return str(line)


COMMANDS = [
    ["show", "X"], ["compare", RUN, "X"], ["run", "--resume", "X"], ["bundle", "X"],
    ["run", "X", "--dry-run"], ["check", RUN, "--expect", "X"], ["topo", "--input", "X"],
    ["fio", "X", "--parse-only"], ["gdsio", "X"], ["import", "mlc", "X"], ["cost", "X"],
    ["io", "--to", "file:/tmp", "--rated", "X", "--dry-run"],
    ["alloc", "exec", "--rules", "X", "--", "true"],
]  # fmt: skip


@pytest.fixture
def odd(tmp_path: Path) -> Iterator[dict[str, Path]]:
    """Files that are no regular ones."""
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as bound:
        folder = os.open(tmp_path, os.O_RDONLY)
        bound.bind(f"/proc/self/fd/{folder}/socket")  # a socket's name may be short only
        os.close(folder)
        yield {
            "a pipe": tmp_path / "pipe", "a socket": tmp_path / "socket",
            "a character device": Path("/dev/zero"),
        }  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: "-".join(map(str, words[:2])))
def test_what_is_no_regular_file_is_refused(words: list[object], odd: dict[str, Path]) -> None:
    for kind, path in odd.items():
        line = refused(*(path if word == "X" else word for word in words))
        assert f"it is {kind}; a regular file is needed" in line


def test_a_plan_that_a_shell_hands_over_is_read(tmp_path: Path) -> None:
    plan = "measurements: [{kind: latency, args: {size: 64k}}]"
    done = subprocess.run(
        [*PROGRAM, "run", "/dev/stdin", "--dry-run"], input=plan.encode(), capture_output=True
    )
    assert done.returncode == 0, done.stderr


HEADER = RUN.read_bytes().splitlines(keepends=True)[0]
RUNS = {
    "a line": (HEADER + b'{"record":"x","a":"', b"x", 100, "2: the line is longer than 64 MiB"),
    "a header": (b'{"record":"header","a":"', b"x", 100, "1: the line is longer than 64 MiB"),
    "values": (HEADER + b'{"record":"x","a":[', b"{},", 60, "2: the line takes more than 400 MiB"),
    "words": (b'{"record":"header","command":[', b"1,", 60, "1: the line takes more than 400 MiB"),
    "blank lines": (HEADER, b"\n", 100, "more than 100000 blank lines"),
    "zeros": (HEADER, b"\0", 100, "2: the line is longer than 64 MiB"),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_huge_run_file(name: str, tmp_path: Path) -> None:
    head, part, mib, says = RUNS[name]
    file = tmp_path / "huge.jsonl"
    with file.open("wb") as out:
        out.write(head)
        for _ in range(mib):
            out.write(part * (MIB // len(part)))
    assert says in refused("show", file)


OTHERS = {
    "word": (b"measurements:\n- kind: ", 0.9, ["run", "X", "--dry-run"], "X:2: key 'kind': '111"),
    "number": (b"measurements: ", 0.9, ["run", "X", "--dry-run"], "X:1: key 'measurements' has"),
    "rule": (b"rules:\n- ", 0.9, ["check", RUN, "--expect", "X"], "X:2: key 'rules': '111"),
    "plan": (b"", 100, ["run", "X", "--dry-run"], "is larger than the maximum, 1 MiB"),
    "expectation": (b"", 100, ["check", RUN, "--expect", "X"], "is larger than the maximum, 1 MiB"),
    "topology": (b"<topology>", 100, ["topo", "--input", "X"], "larger than 16 MiB"),
    "job": (b"[a]\n", 100, ["fio", "X", "--parse-only"], "larger than 1 MiB"),
    "rules": (b"", 100, ["alloc", "exec", "--rules", "X", "--", "true"], "more than 65536 bytes"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_huge_files(name: str, tmp_path: Path) -> None:
    head, mib, words, says = OTHERS[name]
    file = tmp_path / "huge"
    file.write_bytes(head + b"1" * int(mib * MIB))
    line = refused(*(file if word == "X" else word for word in words))
    assert says.replace("X", str(file)) in line

"""Every command that README and docs show does run."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TIERSCOPE = ROOT / ".venv/bin/tierscope"
COMMAND = re.compile(r"^ {0,4}(?:\.venv/bin/)?tierscope (?=[a-z-])")
REMARK = re.compile(r" +#.*$| {3,}\S.*$")
"""What a line says about its command, behind it."""
SYNOPSIS = re.compile(r"\[|\.\.\.( |$)|\b[A-Z]{3,}\b")
"""Marks a line that says how a command is built, not one to type."""
MORE = {
    "run": "--time-limit 20s",
    "run --profile standard": "--dry-run",
    "loaded-latency": "--dry-run",
    'loaded-latency --to "node:*"': "--dry-run",
    "matrix": "--dry-run",
    "storage .": "--size 64m --time-limit 6s",
    "run --storage .": "--dry-run",
    "run --storage . --time-limit 40s": "--dry-run",
}
"""What keeps the commands that would take minutes short."""
NEEDS_GPU = re.compile(r"\bgpu\b|^nvbandwidth|^gdsio.* -x (?!1)")
HAS_GPU = Path("/proc/driver/nvidia/version").exists()


def code_lines(text: str) -> Iterator[str]:
    fenced = False
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            yield line


def shown_commands() -> list[str]:
    found = set()
    for document in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        lines = list(code_lines(document.read_text()))
        for number, line in enumerate(lines):
            if COMMAND.match(line):
                if line.count('"') % 2:
                    line += " " + lines[number + 1].strip()
                found.add(REMARK.sub("", COMMAND.sub("", line)).strip())
    return sorted(command for command in found if not SYNOPSIS.search(command))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder and a history with what the shown commands name."""
    place = tmp_path_factory.mktemp("shown")
    tags = ("golden", "monday", "tuesday", "wednesday")
    for number, tag in enumerate(tags):
        done = call(place, "bandwidth --op read --size 1m --threads 1 --budget 0.2")
        assert done.returncode == 0, done.stderr
        assert call(place, f"tag last {tag}").returncode == 0
        runs = sorted((place / "tierscope/runs").glob("*.jsonl"))
        assert len(runs) == number + 1
    shutil.copy(runs[0], place / "base.jsonl")
    shutil.copy(runs[1], place / "new.jsonl")
    records = runs[2].read_text().splitlines(keepends=True)
    cut = [line for line in records if json.loads(line)["record"] in ("header", "visit")]
    (place / "cut.jsonl").write_text("".join(cut))
    (place / "expect.yaml").write_text('rules:\n  - "node:* <- node: > 1 B/s"\n')
    assert call(place, "topo --save machine.xml").returncode == 0
    return place


def call(place: Path, command: str) -> "subprocess.CompletedProcess[str]":
    """Through bash, as typed: completion is installed for the shell that asks, in its home."""
    typed = command.replace("/var/lib/node_exporter", str(place))
    return subprocess.run(
        ["bash", "-c", f"{TIERSCOPE} {typed}; exit $?"],
        cwd=place,
        env=os.environ | {"XDG_DATA_HOME": str(place), "HOME": str(place)},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize("command", shown_commands())
def test_a_shown_command_runs(command: str, place: Path) -> None:
    done = call(place, f"{command} {MORE.get(command, '')}")
    if NEEDS_GPU.search(command) and not HAS_GPU:
        assert done.returncode in (1, 2, 3)  # nvbandwidth's own is 1
        assert done.stderr.count("\n") == 1, "one line that says so"
    elif command.startswith("compare"):
        assert done.returncode in (0, 1, 3), done.stderr  # 1: slower, 3: too noisy to say
    else:
        assert done.returncode == 0, done.stderr


def test_the_commands_of_every_document_are_found() -> None:
    assert {"run", "doctor", "topo", "gpu", "report", "run --resume cut.jsonl"} <= set(
        shown_commands()
    )


def test_every_make_target_of_the_readme_exists() -> None:
    targets = re.findall(r"^    make (\S+)", (ROOT / "README.md").read_text(), re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text()
    assert targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target

"""Every command that README and docs show does run."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BIN = ROOT / ".venv/bin"
COMMAND = re.compile(r"^ {4}(?:\.venv/bin/)?(tierscope[^#\n]*)", re.MULTILINE)
SYNOPSIS = re.compile(r"[\[…]|\.\.\. |\.\.\.$")
"""Marks a line that says how a command is built, not one to type."""
LONG = {"tierscope run": "--budget 20"}
"""Commands that would take minutes, and what shortens them."""


def shown_commands() -> list[str]:
    texts = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    found = [match.strip() for text in texts for match in COMMAND.findall(text.read_text())]
    return sorted({command for command in found if not SYNOPSIS.search(command)})


@pytest.mark.parametrize("command", shown_commands())
def test_a_shown_command_runs(command: str, tmp_path: Path) -> None:
    words = shlex.split(f"{command} {LONG.get(command, '')}")
    environment = os.environ | {"XDG_DATA_HOME": str(tmp_path)}
    done = subprocess.run(
        [BIN / words[0], *words[1:]],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr


def test_the_readme_shows_commands() -> None:
    assert len(COMMAND.findall((ROOT / "README.md").read_text())) >= 4


def test_every_make_target_of_the_readme_exists() -> None:
    targets = re.findall(r"^    make (\S+)", (ROOT / "README.md").read_text(), re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text()
    assert targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target

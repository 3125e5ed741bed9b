"""A container may hide /sys. What only it tells is unknown then, and no command claims it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tierscope.engine.process import find_engine

_HIDDEN = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-euc"]
_HIDE = 'mount -t tmpfs none /sys; exec "$@"'
_TIERSCOPE = [sys.executable, "-c", "from tierscope.cli.main import main; main()"]
_PLAN = Path(__file__).parent.parent / "engine/tests/plans/bandwidth.json"


def without_sys(*command: object) -> "subprocess.CompletedProcess[str]":
    arguments = [*_HIDDEN, _HIDE, "-", *map(str, command)]
    return subprocess.run(arguments, capture_output=True, text=True, check=False)


@pytest.fixture(autouse=True)
def _namespaces() -> None:
    answer = without_sys("true")
    if answer.returncode:
        pytest.skip(f"/sys cannot be hidden here: {answer.stderr.strip()}")


def test_the_engine_says_what_is_unknown() -> None:
    answer = without_sys(find_engine(), "capabilities")
    assert answer.returncode == 0, answer.stderr
    entries = {entry["name"]: entry for entry in json.loads(answer.stdout)["capabilities"]}
    for name in ("pages:thp", "pages:2m", "pages:1g", "placement:weighted by kernel"):
        assert not entries[name]["available"]
        assert entries[name]["reason"] == "unknown: /sys is not visible"


def test_the_engine_skips_what_needs_transparent_huge_pages() -> None:
    answer = without_sys(find_engine(), "run", _PLAN)
    assert answer.returncode == 0, answer.stderr
    (skipped,) = [json.loads(line) for line in answer.stdout.splitlines() if '"skipped"' in line]
    assert skipped["reason"].startswith("/sys is not visible")


@pytest.mark.parametrize("command", [["run"], ["bandwidth"], ["latency"], ["core-latency"]])
def test_commands_refuse_to_measure_in_one_line(command: list[str]) -> None:
    answer = without_sys(*_TIERSCOPE, *command)
    assert answer.returncode == 2
    assert answer.stderr.startswith("tierscope: /sys is not visible")
    assert answer.stderr.count("\n") == 1


def test_doctor_and_topo_go_on() -> None:
    for command in ("doctor", "topo"):
        answer = without_sys(*_TIERSCOPE, command)
        assert answer.returncode == 0, answer.stderr
        assert "/sys is not visible" in " ".join(answer.stdout.split())

"""The placement tier of applications, where the kernel has a second memory tier: an NVDIMM's node.

The machine two-socket-cxl cannot have it: its only node in a lower tier is emulated CXL memory, on
which no whole program may be.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.testbed

PROJECT = Path(__file__).resolve().parents[2]
TIERSCOPE = Path(sys.executable).with_name("tierscope")
FAST, SLOW = "0", "1"
# Promoted is what is read within this time after the kernel marked it. By default that is 1 s, in
# which an emulated program on a loaded host reads few pages.
THRESHOLD = "echo 60000 >/sys/kernel/debug/sched/numa_balancing/hot_threshold_ms"
SETTINGS = "/sys/kernel/mm/numa/demotion_enabled /proc/sys/kernel/numa_balancing"
SMALL = {"size": "160m", "seconds": 6, "rate": 20, "clients": 2}


def migrations(lines: list[str]) -> dict[str, int]:
    """Pages that were promoted and demoted, of lines of /proc/vmstat."""
    counts = {name: int(count) for name, count in (line.split() for line in lines)}
    demoted = sum(count for name, count in counts.items() if name.startswith("pgdemote_"))
    return {"promoted": counts["pgpromote_success"], "demoted": demoted}


def run_of(results: list[dict[str, Any]], placement: str) -> dict[str, Any]:
    (found,) = (one for one in results if one["id"] == f"apps.redis.{placement}")
    assert found["status"] == "measured", found
    (run,) = found["evidence"]["program"]["runs"]
    assert isinstance(run, dict)
    return run


def test_redis_has_pages_promoted_and_demoted_between_tiers() -> None:
    given = " ".join(f"--set redis.{name}={value}" for name, value in SMALL.items())
    show = "grep -E '^(pgpromote_success|pgdemote_)' /proc/vmstat"
    asked = f"{TIERSCOPE} apps run redis --placements local,tier --rounds 1 --json {given}"
    steps = [f"set -e; {THRESHOLD}; {show}", asked, show, f"cat {SETTINGS}"]
    line = "; echo ===; ".join(steps)
    done = subprocess.run(
        [PROJECT / "testbed" / "run", "-m", "nvdimm-node", line],
        cwd=PROJECT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, (done.stderr[-2000:], done.stdout[-2000:])
    before, measured, after, settings = (part.split("\n") for part in done.stdout.split("===\n"))
    results = json.loads("\n".join(measured))["results"]

    assert migrations([*filter(None, before)]) == {"promoted": 0, "demoted": 0}
    moved = migrations([*filter(None, after)])
    assert moved["promoted"] > 0
    assert moved["demoted"] > 0
    assert set(run_of(results, "local")["bytes_by_node"]) == {FAST}
    tiered = run_of(results, "tier")
    assert tiered["bytes_by_node"].keys() == {FAST, SLOW}
    assert tiered["migrated_bytes"] > 0
    assert settings[:2] == ["false", "0"], "what tiering changed is as it was"

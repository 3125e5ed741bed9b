"""`mpirun -n 2 tierscope gpu ranks` against `tierscope gpu copy`: the same pairs of GPUs.

Needs two GPUs of one host and an mpirun, on PATH or named by $MPIRUN. Both sides take turns, each
in processes of its own. $RANKS: how many ranks and GPUs (2).
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from pairs import Comparison, take_turns

PAIRS = int(os.environ.get("PAIRS", "4"))
RANKS = int(os.environ.get("RANKS", "2"))
SIZE = os.environ.get("SIZE", "512m")
COMMON = ["--side", "read,write", "--size", SIZE, "--json"]
ENGINES = ["--engine", os.environ.get("ENGINES", "ce,sm")]
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
Figures = dict[str, float]


def compare() -> Iterator[Comparison | str]:
    """One comparison for each pair of GPUs, engine and side; then both ways at once."""
    for both_ways in ([], ["--both-ways"]):
        options = [*COMMON, *ENGINES, *both_ways]
        over_ranks = [
            *os.environ.get("MPIRUN", "mpirun").split(),
            *("-n", str(RANKS), *_tierscope(), "gpu", "ranks", *options),
        ]
        gpus = ",".join(f"gpu:{number}" for number in range(RANKS))
        alone = [*_tierscope(), "gpu", "copy", "--from", gpus, "--to", gpus, *options]
        sides = take_turns(PAIRS, lambda: figures(over_ranks), lambda: figures(alone))  # noqa: B023
        for name in sides[0][0]:
            if all(name in one for side in sides for one in side):
                yield Comparison(name, "GB/s", *([one[name] for one in side] for side in sides))
            else:
                yield f"{name}: not in every run of both sides"


def _tierscope() -> list[str]:
    return [sys.executable, "-c", "from tierscope.cli.main import main; main()"]


def figures(command: list[str]) -> Figures:
    """GB/s by what was copied how; what went wrong is shown."""
    ran = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | AS_ROOT
    )
    if ran.returncode:
        sys.stderr.write(ran.stderr[-2000:])
    start = ran.stdout.find("{")
    if start < 0:
        return {}
    results: list[dict[str, Any]] = json.JSONDecoder().raw_decode(ran.stdout[start:])[0]["results"]
    found: Figures = {}
    for one in results:
        if one["status"] != "measured":
            sys.stderr.write(f"{one['id']}: {one.get('reason')}\n")
            continue
        pattern = one["pattern"]
        side = "write" if ".write" in one["id"] else "read"
        way = "<->" if "way" in pattern else "->"
        name = f"{one['initiator']} {way} {one['target']}, {pattern['engine']}, {side}"
        found[name] = one["figures"][0]["estimate"] / 1e9
    return found

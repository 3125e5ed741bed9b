"""Do repeated runs agree, and do their estimates spread less than those of another version?

    python3 bench/agreement.py --runs 10 --keep results
    python3 bench/agreement.py --runs 10 --keep results --other /opt/old/bin/tierscope

Runs of this tierscope, or of both versions in turn, each first in every other pair. After each run
it prints, for each side, the share of pairs of the same figure, of two runs, whose intervals have a
value in common (95% asked), and the spread of the estimates: the standard deviation of a figure's
logarithm between runs, its median over the figures.

The output of each run is kept in the directory `--keep`. The same command goes on with what is
there, so that an interruption costs one run.
"""

import argparse
import itertools
import json
import math
import shlex
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OURS = f"{shlex.quote(sys.executable)} -c 'from tierscope.cli.main import main; main()'"


@dataclass(frozen=True)
class Summary:
    """What the runs of one side come to."""

    runs: int
    figures: int
    pairs: int
    """Pairs of the same figure in two runs, both with an interval."""
    agreeing: int
    without: int
    """Figures of any run that have no interval."""
    spread: float | None
    """Median over the figures of the standard deviation of the logarithm between runs."""
    half_width: float | None
    """Median of the half-widths, as a share of the estimate."""

    def __str__(self) -> str:
        share = f"{self.agreeing / self.pairs:.1%}" if self.pairs else "none"
        spread = "unknown" if self.spread is None else f"{self.spread:.2%}"
        width = "unknown" if self.half_width is None else f"{self.half_width:.2%}"
        return (
            f"{self.runs} runs of {self.figures} figures: {share} of {self.pairs} pairs agree; "
            f"spread between runs {spread}; half-width {width}; {self.without} without interval"
        )


def summarize(runs: Sequence[dict[str, Any]]) -> Summary:
    """Return what runs, as `tierscope run --json` prints them, come to."""
    figures: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for run in runs:
        for result in run["results"]:
            if result["status"] == "measured" and result["figures"][0]["estimate"] > 0:
                figures[result["id"]].append(result["figures"][0])
    known = [[one for one in found if one.get("ci_low") is not None] for found in figures.values()]
    pairs = [pair for found in known for pair in itertools.combinations(found, 2)]
    spreads = [
        statistics.stdev(math.log(one["estimate"]) for one in found)
        for found in figures.values()
        if len(found) > 1
    ]
    widths = [
        (one["ci_high"] - one["ci_low"]) / 2 / one["estimate"] for found in known for one in found
    ]
    return Summary(
        runs=len(runs),
        figures=len(figures),
        pairs=len(pairs),
        agreeing=sum(a["ci_low"] <= b["ci_high"] and b["ci_low"] <= a["ci_high"] for a, b in pairs),
        without=sum(map(len, figures.values())) - sum(map(len, known)),
        spread=statistics.median(spreads) if spreads else None,
        half_width=statistics.median(widths) if widths else None,
    )


def run_once(command: str, arguments: str, output: Path) -> None:
    """Run a side once and keep what it printed; exits where it measured nothing."""
    files = output.with_suffix("")
    files.mkdir(exist_ok=True)
    line = [*shlex.split(command), *shlex.split(arguments), "--json", "--out", str(files)]
    done = subprocess.run(line, stdout=subprocess.PIPE, check=False)
    try:
        results = json.loads(done.stdout)["results"]
    except (ValueError, KeyError):
        raise SystemExit(f"{shlex.join(line)}: exit status {done.returncode}, no results") from None
    if done.returncode not in (0, 1) or not results:
        raise SystemExit(f"{shlex.join(line)}: exit status {done.returncode}")
    part = output.with_suffix(".part")
    part.write_bytes(done.stdout)
    part.rename(output)


def kept(folder: Path, side: str) -> list[dict[str, Any]]:
    """Return the runs of a side that are there."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob(f"{side}-*.json"))]


def main(arguments: Sequence[str]) -> None:
    """Make what runs are missing, and print what they come to after each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10, help="of each side (default: 10)")
    parser.add_argument("--keep", type=Path, default=Path("agreement"), help="directory of outputs")
    parser.add_argument("--other", help="command line of another version, alternated with this one")
    parser.add_argument("--ours", default=OURS, help="command line of this version")
    parser.add_argument(
        "--arguments", default="run --profile quick", help="what is run (default: %(default)s)"
    )
    asked = parser.parse_args(arguments)
    sides = {"ours": asked.ours} | ({"other": asked.other} if asked.other else {})
    asked.keep.mkdir(parents=True, exist_ok=True)
    for number in range(asked.runs):
        for side in sides if number % 2 == 0 else reversed(sides):
            output = asked.keep / f"{side}-{number + 1:03}.json"
            if output.exists():
                continue
            began = time.monotonic()
            run_once(sides[side], asked.arguments, output)
            print(f"{output.stem}: {time.monotonic() - began:.0f} s", flush=True)
            for name in sides:
                print(f"  {name}: {summarize(kept(asked.keep, name))}", flush=True)
    for name in sides:
        print(f"{name}: {summarize(kept(asked.keep, name))}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        raise SystemExit(130) from None

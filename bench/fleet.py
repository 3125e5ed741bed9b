"""Fleets of thousands of hosts: are planted slow hosts found, and what does gathering cost?

python bench/fleet.py detect [HOSTS [SEEDS [WORDS]]]   recall and false alarms; 10000 hosts, 20
                                                       seeds, all cases or those named so
python bench/fleet.py gather [FIGURES [HOSTS...]]      memory and time; 8 figures a host, and 10,
                                                       100, 1000 and 10000 hosts
"""

import os
import random
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from tests.fleet import made  # noqa: E402
from tests.fleet.figures import judged  # noqa: E402
from tests.fleet.figures import made as figures_of  # noqa: E402

_SHARE = 0.01
_ALIKE: dict[str, Any] = {"between": 0.01}
_CASES: list[tuple[str, dict[str, Any]]] = [
    ("1 figure of 20 samples, each ±1%", {"paths": 1, "between": 0.0, "error": 0.0028}),
    ("8 figures, each ±1%", {"paths": 8, "between": 0.0, "error": 0.01}),
    ("8 figures, hosts ±1%, groups of 20", {"paths": 8, **_ALIKE, "groups": 500}),
    ("16 figures ±0.3%, hosts ±0.3%, 1 slow",
     {"paths": 16, "between": 0.003, "error": 0.003, "on": 1}),
    *((f"{count} figures, hosts ±1%", {"paths": count, **_ALIKE}) for count in (1, 2, 4, 8, 50)),
    *((f"{count} figures, hosts ±1%, a third of it common",
       {"paths": count, **_ALIKE, "shared": 0.33}) for count in (4, 8, 50)),
    *((f"{count} figures, hosts ±1%, 1 slow", {"paths": count, **_ALIKE, "on": 1})
      for count in (2, 8, 50)),
    *((f"{count} figures, hosts ±{between:.1%}, 1 slow",
       {"paths": count, "between": between, "on": 1})
      for count in (8, 50) for between in (0.005, 0.003)),
    ("8 figures, hosts ±1% of t4", {"paths": 8, **_ALIKE, "tail": 4}),
    *((f"8 figures, none slow{name}", {"paths": 8, **_ALIKE, "by": 0.0, **more})
      for name, more in (("", {}), (", half common", {"shared": 0.5}), (", t4", {"tail": 4}),
                         (", half common, t4", {"shared": 0.5, "tail": 4}))),
    ("50 figures, none slow, half common, t4",
     {"paths": 50, **_ALIKE, "by": 0.0, "shared": 0.5, "tail": 4}),
    ("1 figure, none slow, t4", {"paths": 1, **_ALIKE, "by": 0.0, "tail": 4}),
]  # fmt: skip


def detect(hosts: int, seeds: int, only: str = "") -> None:
    """Plant 1% of hosts at -3%, in fleets of several kinds of noise."""
    print(f"{hosts} hosts, {_SHARE:.0%} of them 3% slower, {seeds} seeds")
    print(f"{'noise':44} {'recall':>8} {'false alarms in 1,000 hosts':>28} {'s':>6}")
    for name, settings in _CASES:
        if only not in name:
            continue
        found = wrong = planted = 0
        most = 0.0
        began = time.perf_counter()
        for seed in range(seeds):
            slow = frozenset(random.Random(seed).sample(range(hosts), round(_SHARE * hosts)))
            settings = {"by": 0.03, **settings}
            if settings.get("groups"):
                settings["groups"] = hosts // 20
            verdict = judged(figures_of(hosts, slow=slow, seed=seed, **settings))
            named = {one.host for one in verdict.outliers}
            expected = {f"n{number}" for number in slow} if settings["by"] else set()
            found += len(named & expected)
            planted += len(expected)
            wrong += len(named - expected)
            most = max(most, 1000 * len(named - expected) / hosts)
        took = (time.perf_counter() - began) / seeds
        recall = f"{found / planted:.4f}" if planted else "-"
        false = 1000 * wrong / hosts / seeds
        print(f"{name:44} {recall:>8} {false:14.3f}, {most:.2f} at most {took:6.1f}", flush=True)


def gather(figures: int, sizes: Iterable[int]) -> None:
    """Gather fleets of these sizes, and what reads their tables, each by a process of its own."""
    for hosts in sizes:
        with tempfile.TemporaryDirectory(prefix="tierscope-bench-") as place:
            folder = made.fleet(
                Path(place), hosts, slow=range(0, hosts, 100), by=0.03, figures=figures
            )
            made.index(folder, hosts)
            size = sum(path.stat().st_size for path in folder.rglob("*.jsonl"))
            print(f"{hosts} hosts, {figures} figures each, {size / 1e6:.0f} MB of run files")
            sql = "select target, median(estimate) from figures group by all"
            for words in (
                ["fleet", "gather", place],
                ["fleet", "check", place, "--json"],
                ["query", sql, "--in", place],
                ["fleet", "report", place, "--out", f"{place}/page.html"],
            ):
                status, seconds, peak = _measured(words)
                name = " ".join(words[:2]) if words[0] == "fleet" else words[0]
                print(f"  {name:13} {seconds:6.1f} s, peak {peak / 1024:5.0f} MiB, exit {status}",
                      flush=True)  # fmt: skip
            print(f"  page {(folder / 'page.html').stat().st_size / 1e6:.2f} MB", flush=True)


def _measured(words: list[str]) -> tuple[int, float, int]:
    """Return a command's exit status, its seconds, and its peak of resident memory in KiB."""
    began = time.perf_counter()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = "from tierscope.cli.main import main; main()"
        os.execv(sys.executable, [sys.executable, "-c", code, *words])
    _, status, usage = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(status), time.perf_counter() - began, usage.ru_maxrss


def main() -> None:
    """Do what the command line asks for."""
    what, *more = sys.argv[1:] or ["help"]
    if what == "detect":
        detect(*[*map(int, more[:2]), *(10_000, 20)[len(more) :]], *more[2:])
    elif what == "gather":
        gather(int(more[0]) if more else 8, map(int, more[1:] or (10, 100, 1000, 10_000)))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()

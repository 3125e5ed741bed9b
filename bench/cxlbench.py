"""CXL-Bench's cases beside what tierscope makes of them: loops, pages and figures in the same run.

python bench/cxlbench.py [WORKLOAD.yaml ...]

$CXLBENCH names a built program of one of its branches. Without a file: cases that fit, one of each
sort. Each case is fitted to this machine, written as a file of its own that the program's branch
can read, and run by both in turn. Compared are

- the loops: loads, stores, flushes, fences and atomics that one thread of each executes in the
  middle of its run, from single steps and both disassemblies (stepping.py);
- the pages: what each range of a region holds on which node, from numa_maps, and from the plan;
- the figures: the ratio ours / theirs, which has to be within 2.

Exits with 1 where any of these differs, and says what.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from stepping import Watched, disassembly, events, loop
from tierscope.engine.process import find_engine
from tierscope.kinds.plan import Spec
from tierscope.machine.discover import discover
from tierscope.model.spec import Placement
from tierscope.peers.cxlbench.placing import Means
from tierscope.peers.cxlbench.plan import prepare
from tierscope.peers.cxlbench.workload import (
    DEFAULTS,
    KEYS,
    OPERATIONS,
    RawCase,
    Values,
    Workload,
    expand,
    parse_workload,
)

SECONDS = 2
STEPS = 1500
APART = 2.0
"""Least ratio of two figures that counts as a difference; machines that others use scatter."""
NEAR = 0.3
"""Share by which events may come more or less often: a trace begins and ends anywhere."""
PAGES_APART = 0.02
COUNTS = {"random": 20_000_000, "custom": 15_000_000}
"""Operations that last some seconds."""
_TIERSCOPE = [sys.executable, "-c", "from tierscope.cli.main import main; main()"]
_SHORT = 15
"""Characters that std::string holds within itself."""
_KEPT = {"none": "none"}
_NEWER = {"cache": "write-back", **{name: name for name in ("write-back", "flush", "flush-opt")}}
_OLDER = {"write-back": "cache", "stream": "nocache", "cache": "cache", "nocache": "nocache"}
_ONLY = {
    "exec_mode": {
        "dependent_reads": False,
        **dict.fromkeys(("latency", "random_latency", "sequential_latency"), True),
    },
    "operation": dict.fromkeys(set(OPERATIONS.values()) - {"read", "write"}, True),
}
"""Values that only the newest branch has, or only the others."""

BUILT_IN = """\
accesses:
  matrix:
    exec_mode: [ sequential, random ]
    operation: [ read, write ]
  args: { memory_region_size: 512M, access_size: 256, numa_memory_nodes: [ 0 ],
          numa_task_nodes: [ 0 ] }
descending:
  args: { exec_mode: sequential_desc, memory_region_size: 512M, access_size: 256,
          numa_memory_nodes: [ 0 ], numa_task_nodes: [ 0 ] }
written_back:
  matrix: { exec_mode: [ sequential, random ] }
  args: { operation: write, flush_instruction: cache, memory_region_size: 512M, access_size: 64,
          numa_memory_nodes: [ 0 ], numa_task_nodes: [ 0 ] }
past_the_caches:
  args: { operation: stream-write, memory_region_size: 512M, access_size: 256,
          numa_memory_nodes: [ 0 ], numa_task_nodes: [ 0 ] }
chains:
  matrix:
    custom_operations: [ "r_64", "r_64,w_64_none", "r_64,w_64_cache", "r_64,w_64_nocache",
                         "r_256,w_256_cache", "m0_r_1024,m1_r_256,m1_w_64_none_64" ]
  args: { exec_mode: custom, memory_region_size: 512M, numa_memory_nodes: [ 0 ],
          secondary_memory_region_size: 256M, secondary_numa_memory_nodes: [ 0 ],
          numa_task_nodes: [ 0 ] }
single_reads:
  matrix: { cache_instruction: [ none, flush-opt ], access_size: [ 8, 64 ] }
  args: { exec_mode: random_latency, memory_region_size: 512M, numa_memory_nodes: [ 0 ],
          numa_task_nodes: [ 0 ], latency_sample_frequency: 1 }
single_writes:
  matrix: { access_size: [ 8, 64 ] }
  args: { exec_mode: random_latency, operation: write, cache_instruction: write-back,
          memory_region_size: 512M, numa_memory_nodes: [ 0 ], numa_task_nodes: [ 0 ],
          latency_sample_frequency: 1 }
single_stream_writes:
  args: { exec_mode: random_latency, operation: stream-write, access_size: 64,
          memory_region_size: 512M, numa_memory_nodes: [ 0 ], numa_task_nodes: [ 0 ],
          latency_sample_frequency: 1 }
atomics:
  matrix: { operation: [ compare-and-swap, fetch-and-add ] }
  args: { exec_mode: latency, access_size: 8, memory_region_size: 512M, numa_memory_nodes: [ 0 ],
          numa_task_nodes: [ 0 ], latency_sample_frequency: 1 }
mappings:
  matrix: { operation: [ memory-map-private, memory-unmap-private, memory-map-shared,
                         memory-unmap-shared ] }
  args: { exec_mode: latency, memory_region_size: 64M, numa_memory_nodes: [ 0 ],
          numa_task_nodes: [ 0 ], latency_sample_frequency: 1 }
"""


@dataclass(frozen=True)
class Program:
    """A built CXL-Bench."""

    path: Path

    @cached_property
    def words(self) -> bytes:
        """What it contains: its branch is known by the names that it has."""
        return self.path.read_bytes()

    def has(self, key: str) -> bool:
        """Whether its branch has a key; compilers make instructions of short names, which all
        branches have."""
        return len(key) <= _SHORT or key.encode() in self.words

    @property
    def newest(self) -> bool:
        """Whether its branch has latency modes of single operations, and no cache and nocache."""
        return self.has("memory-unmap-private")

    def value(self, key: str, value: Any) -> str | None:
        """Return a value as its branch writes it; None where it has no word for it."""
        if isinstance(value, tuple):
            return f"[ {', '.join(map(str, value))} ]"
        if key == "cache_instruction":
            value = {**_KEPT, **(_NEWER if self.newest else _OLDER)}.get(value)
        elif key == "custom_operations":
            value = f'"{value.replace("_cache", "_write-back") if self.newest else value}"'
            return None if self.newest and "_nocache" in value else value
        elif key in _ONLY and value in _ONLY[key]:
            value = value if self.newest == _ONLY[key][value] else None
        return str(value).lower() if isinstance(value, bool) else value and str(value)


@dataclass(frozen=True)
class Facts:
    """What one side did in one case."""

    loop: dict[str, float]
    ranges: list[tuple[str, float]]
    """Nodes of each range of the region, and its share of the pages."""
    figure: float


def workload_of(program: Program, values: Values, spec: Spec) -> str | None:
    """Return a case as a file that this branch reads, fitted as the spec is; None where the branch
    has no such case."""
    size = max(region.array_bytes for region in spec.regions())
    pattern = spec.model_dump(mode="json")["pattern"]
    fitted = {
        **values.of,
        "memory_region_size": pattern["size"],
        "number_threads": len(getattr(spec, "cpu_sets", None) or spec.thread_cpus())
        if spec.kind != "mapping" else 1,
        "run_time": SECONDS if values["exec_mode"] in ("sequential", "sequential_desc", "random")
        else 0,
        "number_operations": operations_of(values, size),
        "min_io_chunk_size": 1 << 20,
    }  # fmt: skip
    if values["secondary_memory_region_size"]:
        fitted["secondary_memory_region_size"] = pattern.get("size_second", pattern["size"])
    lines = []
    for key, value in fitted.items():
        if value == DEFAULTS[key] and key != "number_operations":
            continue
        name = next((n for n, known in KEYS.items() if known.name == key and program.has(n)), None)
        text = program.value(key, value)
        if name is None or text is None:
            return None
        lines.append(f"    {name}: {text}\n")
    return f"{values.name}:\n  args:\n{''.join(lines)}"


def operations_of(values: Values, size: int) -> int:
    """Return as many operations as last some seconds; one that walks ends after its last line."""
    if values["operation"].startswith("memory-"):
        return 200
    if values["exec_mode"] in COUNTS:
        return COUNTS[values["exec_mode"]]
    return DEFAULTS["number_operations"] if "latency" not in values["exec_mode"] else size // 64


def figure_in(results: dict[str, Any]) -> float:
    """Return the figure of a case's results: a median time, or a rate."""
    if times := results.get("latencies"):
        return statistics.median(time for one in times for time in one)
    return float(results.get("bandwidth") or results["ops_per_second"])


def facts_of(command: Sequence[str | Path], folder: Path, ours: bool) -> Facts:
    """Run a case twice: undisturbed for its figure, then stepped for its loop and pages."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[0]}: {done.stdout[-300:]}{done.stderr[-300:]}")
    if ours:
        written = done.stdout
    else:
        newest = max(folder.glob("results/**/*.json"), key=lambda path: path.stat().st_mtime)
        written = newest.read_text()
    figure = figure_in(json.loads(written)[-1]["benchmarks"][-1]["results"])
    return replace(stepped(command, folder, ours), figure=figure)


def stepped(command: Sequence[str | Path], folder: Path, ours: bool) -> Facts:
    """Run a case and step its busiest thread now and then; the loop is what most traces saw."""
    found = Facts({}, [], 0.0)
    traces: list[list[str]] = []
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:  # fmt: skip
        watched = None
        while process.poll() is None:
            time.sleep(0.2)
            try:
                watched = watched or Watched(_engine_of(process.pid) if ours else process.pid)
                regions = placed_regions(watched.pid)
                if regions:
                    found = replace(found, ranges=ranges_of(regions))
                    steps = watched.step(watched.busiest(), STEPS, hull(regions))
                    traces.append(events(steps))
            except (OSError, ValueError, StopIteration):
                continue  # It has not begun, or has ended.
    seen = [loop(trace) for trace in traces if len(trace) > 20]
    # Of theirs, all that comes before the loop fills memory; of ours, what comes after verifies it.
    return replace(found, loop=_most_seen(seen[len(seen) // 2 :] if not ours else seen))


def _most_seen(seen: list[dict[str, float]]) -> dict[str, float]:
    alike = [[other for other in seen if set(other) == set(one)] for one in seen]
    return max(alike, key=len, default=[{}])[-1]


def _engine_of(pid: int) -> int:
    """Return the newest engine below a process."""
    below = [pid]
    for one in below:
        for task in Path(f"/proc/{one}/task").iterdir():
            below += map(int, (task / "children").read_text().split())
    return next(one for one in reversed(below)
                if Path(f"/proc/{one}/exe").readlink().name == "tierscope-engine")  # fmt: skip


@dataclass(frozen=True)
class Mapped:
    """A mapping that a policy places."""

    start: int
    nodes: str
    pages: dict[int, int]
    page_bytes: int


def placed_regions(pid: int) -> list[Mapped]:
    """Return the anonymous mappings of a process that have a policy, in order."""
    found = []
    for line in Path(f"/proc/{pid}/numa_maps").read_text().splitlines():
        at, policy, *words = line.split()
        fields = dict(word.split("=", 1) for word in words if "=" in word)
        if ":" in policy and int(fields.get("anon", 0)) > 0:
            pages = {int(key[1:]): int(n) for key, n in fields.items() if key[1:].isdigit()}
            nodes = policy.rpartition(":")[2]
            found.append(Mapped(int(at, 16), nodes, pages, 1024 * int(fields["kernelpagesize_kB"])))
    return found


def hull(regions: Sequence[Mapped]) -> range:
    """Return all addresses from the first region on to the end of the last one."""
    last = regions[-1]
    return range(regions[0].start, last.start + sum(last.pages.values()) * last.page_bytes)


def ranges_of(regions: Sequence[Mapped]) -> list[tuple[str, float]]:
    """Return the nodes of each range and its share of all bytes."""
    sizes: list[tuple[str, int]] = []
    for one in regions:
        size = sum(one.pages.values()) * one.page_bytes
        if sizes and sizes[-1][0] == one.nodes:
            size += sizes.pop()[1]
        sizes.append((one.nodes, size))
    whole = sum(size for _, size in sizes)
    return [(nodes, size / whole) for nodes, size in sizes]


def planned_ranges(placement: Placement) -> list[tuple[str, float]]:
    """Return the same of a plan's placement."""
    nodes = placement.nodes
    counts = placement.ranges or [1] * len(nodes)
    if placement.policy != "partition":
        counts = [len(nodes)]
    whole = sum(share.weight for share in nodes)
    found, first = [], 0
    for count in counts:
        own = nodes[first : first + count]
        share = sum(one.weight for one in own) / whole
        found.append((_list([one.node for one in own]), share))
        first += count
    return found


def expected_ranges(values: Values) -> list[tuple[str, float]]:
    """Return the ranges as CXL-Bench places them: two partitions, each interleaved."""
    nodes, percent = list(values["numa_memory_nodes"]), values["percentage_pages_first_partition"]
    if percent is None:
        return [(_list(nodes), 1.0)]
    first = values["node_count_first_partition"] or 1
    both = [(_list(nodes[:first]), percent / 100), (_list(nodes[first:]), 1 - percent / 100)]
    return [one for one in both if one[1] > 0]


def _list(numbers: Sequence[int]) -> str:
    return ",".join(map(str, sorted(numbers)))


def differences(ours: Facts, theirs: Facts) -> Iterator[str]:
    """Say what differs between both sides, or was not seen."""
    for side, facts in (("here", ours), ("there", theirs)):
        if not facts.loop:
            yield f"loop: not seen {side}"
    for what in sorted({*ours.loop, *theirs.loop}):
        own, other = ours.loop.get(what, 0.0), theirs.loop.get(what, 0.0)
        if abs(own - other) > NEAR * max(own, other):
            yield f"loop: '{what}' comes {own:.2f} times here, {other:.2f} there"
    yield from placed_apart("pages", ours.ranges, theirs.ranges)
    ratio = ours.figure / theirs.figure
    if not 1 / APART < ratio < APART:
        yield f"figure: {ours.figure:.4g} here, {theirs.figure:.4g} there, ratio {ratio:.2f}"


def placed_apart(
    what: str, ours: Sequence[tuple[str, float]], theirs: Sequence[tuple[str, float]]
) -> Iterator[str]:
    """Say where ranges differ."""
    alike = len(ours) == len(theirs) and all(
        own[0] == other[0] and abs(own[1] - other[1]) < PAGES_APART
        for own, other in zip(ours, theirs, strict=True)
    )
    if ours and theirs and not alike:
        words = [", ".join(f"{share:.0%} on node {nodes}" for nodes, share in side)
                 for side in (ours, theirs)]  # fmt: skip
        yield f"{what}: {words[0]} here; {words[1]} there"


def cases(workload: Workload) -> Iterator[tuple[RawCase, Spec, str]]:
    """Yield each case with what tierscope makes of it here, and the notes on it."""
    prepared = prepare(workload, Means(discover(), fit=True))
    specs = {spec.id: spec for spec in prepared.specs}
    for raw, case in zip(expand(workload.benchmarks), prepared.cases, strict=True):
        if case.refused or raw.benchmark.parallel:
            print(f"{case.benchmark} {case.matrix}: {case.refused or 'two parts, not compared'}")
            continue
        yield raw, specs[case.measurements[0]], "; ".join(case.notes)


def compare_case(program: Program, raw: RawCase, spec: Spec) -> Iterator[str]:
    """Run one case on both sides; yield its differences, and first a line on its figures."""
    (values,) = raw.parts
    planned = planned_ranges(next(iter(spec.regions())).placement)
    yield from placed_apart("plan", planned, expected_ranges(values))
    text = workload_of(program, values, spec)
    if text is None:
        print("    not in this branch")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "case.yaml").write_text(text)
        make_repository(folder)
        here = [*_TIERSCOPE, "run", "case.yaml", "--fit", "--format", "cxlbench"]
        theirs = facts_of([program.path, "-c", "case.yaml", "-r", "results"], folder, ours=False)
        ours = facts_of(here, folder, ours=True)
    print(f"    {ours.figure:.4g} / {theirs.figure:.4g} = {ours.figure / theirs.figure:.3f}; "
          f"loop {' '.join(theirs.loop) or 'not seen'}")  # fmt: skip
    yield from differences(ours, theirs)


def make_repository(folder: Path) -> None:
    """Make the folder a git repository with a commit, which CXL-Bench asks for."""
    git = ["git", "-C", folder, "-c", "user.name=bench", "-c", "user.email=bench@localhost"]
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "case"]):
        subprocess.run([*git, *command], check=True)


def main(files: Sequence[str]) -> int:
    """Compare the cases of these files, or of those built in."""
    named = os.environ.get("CXLBENCH")
    if not named:
        raise SystemExit("name a built CXL-Bench in $CXLBENCH")
    program = Program(Path(named).resolve())
    for one in (program.path, find_engine().resolve()):
        disassembly(one)  # Which takes longer than a case runs.
    workload = Workload()
    texts = {name: Path(name).read_text() for name in files} or {"built in": BUILT_IN}
    for name, text in texts.items():
        parse_workload(text, name, workload)
    count = 0
    for raw, spec, notes in cases(workload):
        print(f"{raw.benchmark.name} {raw.matrix}{f' ({notes})' if notes else ''}", flush=True)
        for said in compare_case(program, raw, spec):
            count += 1
            print(f"    DIFFERS: {said}", flush=True)
    print(f"{count} differences")
    return int(count > 0)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

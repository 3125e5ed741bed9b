"""One measurement by the real engine, with a second opinion on where its pages are.

The engine reads pages back with move_pages and reports them. /proc/PID/numa_maps is the kernel's
own account of the same pages by another way: it walks the page tables. It is read while the engine
samples; the engine is stopped meanwhile, so that it can neither finish nor move anything, and then
ends by SIGINT: it samples until it was looked at, however long that takes.
"""

import os
import re
import signal
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tierscope.engine.process import find_engine
from tierscope.kinds.bandwidth.spec import BandwidthPattern, BandwidthSpec
from tierscope.kinds.plan import PLAN_VERSION, Plan
from tierscope.model.event import Event, EventAdapter, Failed, Progress, Repetition, Skipped
from tierscope.model.spec import Placement, Sampling

BASE_PAGE = 4096
REGION = 1031 * BASE_PAGE  # a prime number of pages: rounds of no placement fit it exactly
THREADS = 2
LONGEST_S = 600
"""It is interrupted as soon as its pages were looked at."""
Pages = dict[int, int]


@dataclass
class Measured:
    """What came of it."""

    outcome: Repetition | Skipped | Failed
    numa_maps: Pages = field(default_factory=dict)
    """Base pages by node, by the kernel's account; empty where nothing was sampled."""

    @property
    def evidence(self) -> Pages:
        """Base pages by node, by the engine's account."""
        assert isinstance(self.outcome, Repetition), self.outcome
        seen = self.outcome.evidence
        assert seen.pages is not None
        assert seen.page_bytes is not None
        factor = seen.page_bytes // BASE_PAGE
        return {int(node): count * factor for node, count in seen.pages.items()}


def spec(placement: Placement, size: int = REGION, pages: str = "base") -> BandwidthSpec:
    """A short read by the CPUs of node 0."""
    return BandwidthSpec(
        id="placed",
        initiator="node:0",
        target="as placed",
        placement=placement,
        sampling=Sampling(budget_s=LONGEST_S),
        cpus=list(range(THREADS)),
        pattern=BandwidthPattern.model_validate(
            {"operation": "read", "size": size, "pages": pages}
        ),
    )


def measure(placement: Placement, size: int = REGION, pages: str = "base") -> Measured:
    """Measure; while it samples, read numa_maps."""
    plan = Plan(version=PLAN_VERSION, measurements=[spec(placement, size, pages)])
    with subprocess.Popen(
        [find_engine(), "run"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(plan.model_dump_json().encode())
        process.stdin.close()
        found: Pages = {}
        outcome: Event | None = None
        for line in process.stdout:
            event = EventAdapter.validate_json(line)
            if isinstance(event, Progress) and not found:
                found = stopped(process.pid, in_whole_rounds(placement, size))
                process.send_signal(signal.SIGINT)
            elif isinstance(event, Repetition | Skipped | Failed):
                outcome = event
    assert outcome is not None, "the engine ended without an outcome"
    assert found or not isinstance(outcome, Repetition), "it ended before numa_maps could be read"
    return Measured(outcome, found)


def in_whole_rounds(placement: Placement, size: int) -> int:
    """Bytes of a region of base pages that the engine makes for this size."""
    if placement.round_pages == 1:
        return size
    return size - size % (placement.round_pages * BASE_PAGE)


def stopped(pid: int, size: int) -> Pages:
    """Read where the engine's region is while the engine stands still."""
    process = Path("/proc") / str(pid)
    os.kill(pid, signal.SIGSTOP)
    try:
        return pages_of_mapping(
            (process / "maps").read_text(), (process / "numa_maps").read_text(), size
        )
    finally:
        os.kill(pid, signal.SIGCONT)


def pages_of_mapping(maps: str, numa_maps: str, size: int) -> Pages:
    """Base pages by node of the one writable range of this size.

    A range may be several mappings, one behind the other: each policy makes one. Lines of maps:
    ``7f00-7f10 rw-p ...``; of numa_maps: ``7f00 bind:4 anon=3 N0=1 N4=2 kernelpagesize_kB=4``,
    where transparent huge pages count as base pages and hugetlb pages as one each.
    """
    ranges: list[list[tuple[int, int]]] = []
    for first, last in re.findall(r"^([0-9a-f]+)-([0-9a-f]+) rw-p", maps, re.MULTILINE):
        mapping = (int(first, 16), int(last, 16))
        if ranges and ranges[-1][-1][1] == mapping[0]:
            ranges[-1].append(mapping)
        else:
            ranges.append([mapping])
    fitting = [mappings for mappings in ranges if mappings[-1][1] - mappings[0][0] == size]
    assert len(fitting) == 1, f"{len(fitting)} ranges of {size} bytes in\n{maps}"
    pages: Counter[int] = Counter()
    starts = {first for first, _ in fitting[0]}
    for line in numa_maps.splitlines():
        if int(line.split()[0], 16) in starts:
            (page_kb,) = re.findall(r"kernelpagesize_kB=(\d+)", line)
            factor = int(page_kb) * 1024 // BASE_PAGE
            for node, count in re.findall(r"\bN(\d+)=(\d+)", line):
                pages[int(node)] += int(count) * factor
    return dict(pages)

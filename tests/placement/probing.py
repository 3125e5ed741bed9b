"""Start the probe, and see which nodes the memory of each of its threads is on."""

import contextlib
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tierscope.place.pages import nodes_of_pages

PAGE = 4096
SOURCE = Path(__file__).with_name("probe.c")


def build(folder: Path, *options: str) -> Path:
    """Compile the probe."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "place-probe"
    subprocess.run(["cc", "-O1", "-pthread", *options, "-o", program, SOURCE], check=True)
    return program


@dataclass(frozen=True)
class Probe:
    """The probe, its memory touched, still there."""

    pid: int
    pages: list[dict[int, int]]
    """Of each thread: pages by node."""
    ranges: list[range]
    """Of each thread: the addresses of its pages."""


@contextlib.contextmanager
def probe_of(process: "subprocess.Popen[Any]") -> Iterator[Probe]:
    """Read what a probe that was started with pipes prints; it ends behind the block."""
    assert process.stdout is not None
    pid, *lines = process.stdout.read().splitlines()
    ranges = [pages_of(*map(int, line.split())) for line in lines]
    try:
        yield Probe(int(pid), [counted(int(pid), pages) for pages in ranges], ranges)
    finally:
        process.communicate()
        assert process.returncode == 0


def pages_of(start: int, size: int) -> range:
    """Return the addresses of the pages that lie wholly in a range."""
    first = -(-start // PAGE) * PAGE
    return range(first, (start + size) // PAGE * PAGE, PAGE)


def counted(pid: int, pages: Sequence[int]) -> dict[int, int]:
    """Return how many pages are on each node."""
    found = Counter(node for node in nodes_of_pages(pid, pages) if node is not None)
    return dict(sorted(found.items()))

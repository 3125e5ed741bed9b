"""Look at a program and its children now and then: where its pages are, how many threads it has."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tierscope.machine.files import Files
from tierscope.place.pages import mappings_if_readable, process_tree

_FIRST_S, _LONGEST_S = 0.01, 0.5
"""Times between looks: short programs are seen, too, and long ones are not disturbed."""


@dataclass(frozen=True)
class Look:
    """All processes of a program at one moment."""

    time_s: float
    """Since the program began."""
    bytes_by_node: dict[int, int]
    """Anonymous memory: heap, what is mapped without a file, and stacks."""
    file_bytes_by_node: dict[int, int]
    """Files, among them the program itself and what others had read before."""
    processes: int
    threads: int
    huge_bytes: int = 0
    """Anonymous memory in transparent huge pages, in bytes."""

    @property
    def anonymous_bytes(self) -> int:
        """On all nodes together."""
        return sum(self.bytes_by_node.values())


def look_at(pid: int, time_s: float, files: Files | None = None) -> Look | None:
    """Look at a process and its descendants; None where nothing is mapped any more."""
    files = files or Files()
    anonymous: Counter[int] = Counter()
    file_backed: Counter[int] = Counter()
    processes = threads = huge = 0
    for number in process_tree(pid, files):
        found = mappings_if_readable(number, files)
        if not found:
            continue
        processes += 1
        threads += len(files.names(f"/proc/{number}/task"))
        huge += _huge_bytes(number, files)
        for mapping in found:
            into = file_backed if mapping.file else anonymous
            for node, pages in mapping.pages.items():
                into[node] += pages * mapping.page_bytes
    if not processes:
        return None
    return Look(
        time_s, dict(sorted(anonymous.items())), dict(sorted(file_backed.items())), processes,
        threads, huge,
    )  # fmt: skip


def looks(pid: int, ended: Callable[[float], bool]) -> Iterator[Look]:
    """Yield a look now and then until the program has ended.

    ``ended`` waits for so many seconds and says whether it has.
    """
    begun = time.monotonic()
    pause = _FIRST_S
    while True:
        if look := look_at(pid, time.monotonic() - begun):
            yield look
        if ended(pause):
            return
        pause = min(pause * 1.25, _LONGEST_S)


def _huge_bytes(pid: int, files: Files) -> int:
    for line in (files.text(f"/proc/{pid}/smaps_rollup") or "").splitlines():
        name, _, value = line.partition(":")
        words = value.split()
        if name == "AnonHugePages" and words and words[0].isdecimal():
            return int(words[0]) << 10
    return 0

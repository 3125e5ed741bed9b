"""Look at a program and its children now and then: where its pages are, how many threads it has."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tierscope.machine.files import Files
from tierscope.place.pages import mappings_if_readable, process_tree
from tierscope.place.shared_memory import memory_of

_FIRST_S, _LONGEST_S = 0.01, 0.5
"""Times between looks: short programs are seen, too, and long ones are not disturbed."""


@dataclass(frozen=True)
class Look:
    """All processes of a program at one moment."""

    time_s: float
    """Since the program began."""
    bytes_by_node: dict[int, int]
    """Heap, what is mapped without a file, stacks and shared memory."""
    file_bytes_by_node: dict[int, int]
    """Other files, among them the program itself and what others had read before."""
    processes: int
    threads: int
    huge_bytes: int = 0
    """Anonymous memory in transparent huge pages, in bytes."""

    @property
    def total_bytes(self) -> int:
        """On all nodes together."""
        return sum(self.bytes_by_node.values())


def look_at(pid: int, time_s: float, files: Files | None = None) -> Look | None:
    """Look at a process and its descendants; None where nothing is mapped any more."""
    files = files or Files()
    found = {
        number: mapped
        for number in process_tree(pid, files)
        if (mapped := mappings_if_readable(number, files))
    }
    if not found:
        return None
    file_backed: Counter[int] = Counter()
    for one in (one for mapped in found.values() for one in mapped):
        if one.file and not one.shared_memory:
            file_backed += one.bytes_by_node
    return Look(
        time_s=time_s,
        bytes_by_node=memory_of(found, files),
        file_bytes_by_node=dict(sorted(file_backed.items())),
        processes=len(found),
        threads=sum(len(files.names(f"/proc/{number}/task")) for number in found),
        huge_bytes=sum(_huge_bytes(number, files) for number in found),
    )


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

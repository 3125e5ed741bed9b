"""Which nodes a process's pages are on."""

import contextlib
import errno
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tierscope.model.errors import UserError
from tierscope.placement import system_calls
from tierscope.topology.files import Files

_ANONYMOUS_HUGETLB = "/anon_hugepage\\040(deleted)"
"""The file that the kernel names for hugetlb pages without one."""
_SHARED_MEMORY = ("/dev/zero", "/SYSV", "/dev/shm/", "/memfd:")  # noqa: S108
"""How files begin that the kernel names for memory that is shared."""


@dataclass(frozen=True)
class Mapping:
    """A range of a process's addresses, as its line in /proc/PID/numa_maps says."""

    start: int
    """Its first address."""
    policy: str
    """The policy that applies to it, as the kernel writes it: ``default``, ``bind:0``."""
    file: str
    """Of a file's mapping its path, as the kernel writes it; empty for anonymous memory."""
    anonymous: bool
    """Not of a file, and no stack of the first thread: the heap and what programs map."""
    page_bytes: int
    """What the counts are in: base pages, also of transparent huge ones, or hugetlb pages."""
    pages: dict[int, int]
    """Pages by node."""

    @property
    def shared_memory(self) -> bool:
        """Of memory that processes share: mmap's, System V's, POSIX's (/dev/shm), memfd's."""
        return self.file.startswith(_SHARED_MEMORY)


def mappings(pid: int, files: Files | None = None) -> list[Mapping]:
    """Return what a process has mapped; empty where it has ended. Raises UserError."""
    files = files or Files()
    path = f"/proc/{pid}/numa_maps"
    text = files.text(path)
    if path in files.unreadable:
        raise UserError(
            f"the pages of process {pid} cannot be read: {files.unreadable[path]}; "
            "only its owner and root may"
        )
    if text is None and files.names(f"/proc/{pid}") and not files.names("/proc/self", "numa_maps"):
        raise UserError("this kernel has no /proc/PID/numa_maps: it was built without NUMA")
    return [_mapping(line) for line in (text or "").splitlines()]


def bytes_by_node(pid: int, heap_only: bool = False, files: Files | None = None) -> dict[int, int]:
    """Return how many bytes of a process are on each node, by /proc/PID/numa_maps.

    ``heap_only`` counts heap and anonymous mappings and leaves files and the stack out. Pages that
    processes share count for each of them. Empty where the process has ended. Raises UserError.
    """
    found: Counter[int] = Counter()
    for mapping in mappings(pid, files):
        if mapping.anonymous or not heap_only:
            for node, pages in mapping.pages.items():
                found[node] += pages * mapping.page_bytes
    return dict(sorted(found.items()))


def own_memory(pids: Sequence[int], files: Files | None = None) -> dict[int, int]:
    """Return the bytes by node of heap, anonymous mappings and shared memory of processes.

    What they share counts once, where it is at the same address, as after ``fork``. Processes that
    this user may not look at are left out.
    """
    found: Counter[int] = Counter()
    shared: dict[tuple[str, int], Counter[int]] = {}
    for pid in pids:
        for one in mappings_if_readable(pid, files):
            amounts = Counter({node: count * one.page_bytes for node, count in one.pages.items()})
            if one.anonymous:
                found += amounts
            elif one.shared_memory:
                key = (one.file, one.start)
                shared[key] = shared.get(key, Counter()) | amounts  # each maps what it touched
    return dict(sorted(sum(shared.values(), found).items()))


def nodes_of_pages(pid: int, addresses: Sequence[int]) -> list[int | None]:
    """Return the node of each page, None where no page is there (``move_pages`` as a query).

    ``pid`` 0 is this process. Unlike numa_maps, it answers for any address by itself and is not
    limited to what a mapping's line sums up. Raises UserError.
    """
    try:
        found = system_calls.move_pages(pid, addresses, None)
    except OSError as error:
        why = {
            errno.EPERM: "the kernel does not permit it; be root, or allow move_pages in the "
            "container's seccomp profile",
            errno.ESRCH: "there is no such process",
        }.get(error.errno or 0, error.strerror)
        raise UserError(f"the pages of process {pid} cannot be located: {why}") from None
    return [node if node >= 0 else None for node in found]


def mappings_if_readable(pid: int, files: Files | None = None) -> list[Mapping]:
    """Return what a process has mapped; empty where this user may not look, as at a child that has
    other rights than its parent."""
    with contextlib.suppress(UserError):
        return mappings(pid, files)
    return []


def process_tree(pid: int, files: Files | None = None) -> list[int]:
    """Return a process and all that descends from it, as far as their parents are alive."""
    files = files or Files()
    children: dict[int, list[int]] = {}
    for number, path in files.numbered("/proc", ""):
        stat = files.text(f"{path}/stat") or ""
        after_name = stat.rpartition(")")[2].split()  # a name may hold anything, brackets too
        if len(after_name) > 1 and after_name[1].isdigit():
            children.setdefault(int(after_name[1]), []).append(number)
    return [*_descend(pid, children)]


def _descend(pid: int, children: dict[int, list[int]]) -> Iterator[int]:
    yield pid
    for child in children.get(pid, ()):
        yield from _descend(child, children)


def _mapping(line: str) -> Mapping:
    """Parse a line such as ``7f00 bind:0 anon=9 dirty=9 N0=5 N1=4 kernelpagesize_kB=4``."""
    address, policy, *words = line.split()
    values = dict(word.partition("=")[::2] for word in words)
    pages = {
        int(name[1:]): int(value)
        for name, value in values.items()
        if name[0] == "N" and name[1:].isdecimal() and value.isdecimal()
    }
    file = values.get("file", "").replace(_ANONYMOUS_HUGETLB, "")
    return Mapping(
        start=int(address, 16),
        policy=policy,
        file=file,
        anonymous=not file and "stack" not in values,
        page_bytes=int(values.get("kernelpagesize_kB", "4")) << 10,
        pages=pages,
    )

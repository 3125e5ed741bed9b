"""Pages of processes: the nodes that they are on, and moving them."""

import contextlib
import errno
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tierscope.machine.files import Files
from tierscope.model.errors import ExitCode, UserError
from tierscope.place import kernel
from tierscope.place.nodes import Selection

_ANONYMOUS_HUGETLB = "/anon_hugepage\\040(deleted)"
"""The file that the kernel names for hugetlb pages without one."""
_SHARED_MEMORY = ("/dev/zero", "/SYSV", "/dev/shm/", "/memfd:")  # noqa: S108
"""How files begin that the kernel names for memory that is shared."""
BLOCK = 2 << 20
"""Bytes that go to one node together, so that a huge page stays whole."""
_BATCH = 8 * BLOCK
_ATTEMPTS = 3
_START_TIME = 19
"""Place of a process's start among the words behind its name (proc(5): field 22)."""
_WHY = {
    errno.EACCES: "mapped by several processes; --shared moves them, too (needs root)",
    errno.EBUSY: "in use by the kernel just then, as for I/O, or pinned; try again later",
    errno.EFAULT: "the kernel's zero page, or no longer mapped",
    errno.ENOENT: "given back meanwhile",
    errno.ENOMEM: "no room on the node that they were to go to",
    errno.EIO: "waiting to be written back to their file",
    errno.EINVAL: "not of a kind that the kernel moves",
}
_OTHER = "the kernel gave up on them"
_NOT_TRIED = "not tried, since there is no room"


@dataclass(frozen=True)
class Mapping:
    """A range of a process's addresses, as its line in /proc/PID/numa_maps says."""

    start: int
    """Its first address."""
    policy: str
    """The policy that applies to it, as the kernel writes it: ``default``, ``bind:0``."""
    file: str
    """Path of a mapped file, as the kernel writes it; empty for anonymous memory."""
    anonymous: bool
    """Not of a file, and no stack of the first thread: the heap and what programs map."""
    page_bytes: int
    """Unit of the counts: base pages, also of transparent huge ones, or hugetlb pages."""
    pages: dict[int, int]
    """Pages by node."""

    @property
    def bytes_by_node(self) -> Counter[int]:
        """Its pages, in bytes."""
        return Counter({node: count * self.page_bytes for node, count in self.pages.items()})

    @property
    def shared_memory(self) -> bool:
        """Whether processes share it: mmap's, System V's, POSIX's (/dev/shm) or memfd's."""
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
            found += mapping.bytes_by_node
    return dict(sorted(found.items()))


def nodes_of_pages(pid: int, addresses: Sequence[int]) -> list[int | None]:
    """Return the node of each page, None where no page is there (``move_pages`` as a query).

    ``pid`` 0 is this process. Unlike numa_maps, it answers for any address by itself and is not
    limited to what a mapping's line sums up. Raises UserError.
    """
    try:
        found = kernel.move_pages(pid, addresses, None)
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


class Extent(NamedTuple):
    """A range of a process's addresses, as its line in /proc/PID/maps says."""

    end: int
    """First address behind it."""
    offset: int
    """Where it begins in its file, in bytes."""
    identity: tuple[str, str]
    """Device and inode of its file."""


def extents(pid: int, files: Files) -> dict[int, Extent]:
    """Return what a process has mapped, by the first address."""
    found = {}
    for line in (files.text(f"/proc/{pid}/maps") or "").splitlines():
        addresses, _, offset, device, inode, *_ = line.split()
        start, _, end = addresses.partition("-")
        found[int(start, 16)] = Extent(int(end, 16), int(offset, 16), (device, inode))
    return found


def process_tree(pid: int, files: Files | None = None) -> list[int]:
    """Return a process and all that descends from it, as far as their parents are alive."""
    files = files or Files()
    children: dict[int, list[int]] = {}
    for number, path in files.numbered("/proc", ""):
        after_name = _stat(path, files)
        if len(after_name) > 1 and after_name[1].isdigit():
            children.setdefault(int(after_name[1]), []).append(number)
    return [*_descend(pid, children)]


def _stat(path: str, files: Files) -> list[str]:
    """Return a process's words in ``stat`` behind its name, which may hold anything, brackets too;
    none where there is no such process."""
    return (files.text(f"{path}/stat") or "").rpartition(")")[2].split()


def _began(pid: int, files: Files) -> str | None:
    """Return when a process began, in the kernel's ticks; None where there is none.

    Once it has ended, its number may become another's, which began later.
    """
    words = _stat(f"/proc/{pid}", files)
    return words[_START_TIME] if len(words) > _START_TIME else None


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


@dataclass
class Moved:
    """Outcome for the pages that were on the nodes to move from."""

    found_bytes: int = 0
    moved_bytes: int = 0
    to_bytes: Counter[int] = field(default_factory=Counter)
    """Bytes moved, by node."""
    stayed: Counter[str] = field(default_factory=Counter)
    """Bytes that were not moved, by the reason."""
    ended: bool = False
    """The process ended before all was tried."""
    seconds: float = 0.0


def move(
    pid: int,
    sources: tuple[int, ...],
    target: Selection,
    rate: float = 0.0,
    shared: bool = False,
    progress: Callable[[Moved, int], None] = lambda _moved, _whole: None,
) -> Moved:
    """Move what a process has on the source nodes, at most ``rate`` bytes/s (0: no limit).

    Several target nodes get shares by their weights, in blocks of 2 MiB. ``progress`` is called
    after each batch, with the bytes that were there in the beginning. Raises UserError where the
    kernel permits nothing.
    """
    files = Files()
    began = _began(pid, files)
    found = [one for one in mappings(pid, files) if any(node in one.pages for node in sources)]
    ends = {start: one.end for start, one in extents(pid, files).items()}
    whole = sum(one.pages.get(node, 0) * one.page_bytes for one in found for node in sources)
    moved, begun = Moved(), time.monotonic()
    for addresses, page_bytes in _batches(found, ends):
        if began is None or _began(pid, files) != began:
            moved.ended = True
            break
        try:
            full = _move_batch(pid, addresses, page_bytes, sources, target, shared, moved)
        except OSError as error:
            if error.errno != errno.ESRCH:
                raise _refused(pid, error) from None
            moved.ended = True
            break
        moved.seconds = time.monotonic() - begun
        progress(moved, whole)
        if full:
            moved.stayed[_NOT_TRIED] += max(0, whole - moved.found_bytes)
            break
        if rate:
            time.sleep(max(0.0, moved.moved_bytes / rate - moved.seconds))
    return moved


def _batches(found: list[Mapping], ends: dict[int, int]) -> Iterator[tuple[range, int]]:
    for one in found:
        for start in range(one.start, ends.get(one.start, one.start), _BATCH):
            end = min(start + _BATCH, ends[one.start])
            yield range(start, end, one.page_bytes), one.page_bytes


def _move_batch(
    pid: int,
    addresses: range,
    page_bytes: int,
    sources: tuple[int, ...],
    target: Selection,
    shared: bool,
    moved: Moved,
) -> bool:
    """Move what is on the source nodes; returns whether there was no room for any of it."""
    where = kernel.move_pages(pid, addresses, None)
    left = {
        address: _target_of(address, target)
        for address, node in zip(addresses, where, strict=True)
        if node in sources
    }
    asked = len(left)
    failed: dict[int, int] = {}
    for _ in range(_ATTEMPTS):
        for node in sorted(set(left.values())):
            pages = [address for address, to in left.items() if to == node]
            failed.update(zip(pages, _status_of(pid, pages, node, shared), strict=True))
        # A huge page moves with its first address, and the others fail; so look where they are.
        now = dict(zip(left, kernel.move_pages(pid, [*left], None), strict=True)) if left else {}
        for address, node in now.items():
            if node == left[address]:
                moved.to_bytes[node] += page_bytes
        left = {address: to for address, to in left.items() if now[address] != to}
        if not left:
            break
    for address in left:
        moved.stayed[_WHY.get(-failed[address], _OTHER)] += page_bytes
    moved.found_bytes += asked * page_bytes
    moved.moved_bytes += (asked - len(left)) * page_bytes
    return (
        asked > 0
        and all(failed[address] == -errno.ENOMEM for address in left)
        and len(left) == asked
    )


def _status_of(pid: int, pages: list[int], node: int, shared: bool) -> list[int]:
    """Move pages to one node; a full node ends the whole call, which then has no other status."""
    try:
        return kernel.move_pages(pid, pages, [node] * len(pages), shared)
    except OSError as error:
        if error.errno != errno.ENOMEM:
            raise
        return [-errno.ENOMEM] * len(pages)


def _target_of(address: int, target: Selection) -> int:
    """Return the node of the address's block; a round has as many blocks as weights in sum."""
    weights = target.weights or (1,) * len(target.nodes)
    position = address // BLOCK % sum(weights)
    for node, weight in zip(target.nodes, weights, strict=True):
        if position < weight:
            return node
        position -= weight
    raise AssertionError("a position is less than the sum of the weights")


def _refused(pid: int, error: OSError) -> UserError:
    why = {
        errno.EPERM: "the kernel does not permit it; be its owner, or root",
        errno.EACCES: "a node is outside of the process's cpuset",
        errno.ENODEV: "a node is offline",
    }.get(error.errno or 0, error.strerror)
    return UserError(f"pages of process {pid} are not moved: {why}", ExitCode.SOMETHING_FAILED)

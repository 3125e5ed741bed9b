"""Move pages of a running process to other nodes, in bounded batches, by ``move_pages``.

``migrate_pages`` is not used: it moves a whole process in one call, without progress, a rate or
word of what stayed and why, and pairs nodes by their order instead of taking shares.
"""

import errno
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tierscope.model.errors import ExitCode, UserError
from tierscope.placement import system_calls
from tierscope.placement.nodes import Selection
from tierscope.placement.pages import Mapping, mappings
from tierscope.topology.files import Files

BLOCK = 2 << 20
"""Bytes that go to one node together, so that a huge page stays whole."""
_BATCH = 8 * BLOCK
_ATTEMPTS = 3
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


@dataclass
class Moved:
    """What became of the pages that were on the nodes to move from."""

    found_bytes: int = 0
    moved_bytes: int = 0
    to_bytes: Counter[int] = field(default_factory=Counter)
    """Of what was moved, by node."""
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
    found = [one for one in mappings(pid, files) if any(node in one.pages for node in sources)]
    ends = _ends(pid, files)
    whole = sum(one.pages.get(node, 0) * one.page_bytes for one in found for node in sources)
    moved, begun = Moved(), time.monotonic()
    for addresses, page_bytes in _batches(found, ends):
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


def _ends(pid: int, files: Files) -> dict[int, int]:
    """Return the end of each mapping by its start."""
    found = {}
    for line in (files.text(f"/proc/{pid}/maps") or "").splitlines():
        start, _, end = line.partition(" ")[0].partition("-")
        found[int(start, 16)] = int(end, 16)
    return found


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
    where = system_calls.move_pages(pid, addresses, None)
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
        now = (
            dict(zip(left, system_calls.move_pages(pid, [*left], None), strict=True))
            if left
            else {}
        )
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
        return system_calls.move_pages(pid, pages, [node] * len(pages), shared)
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

"""Policies of files in memory: tmpfs (/dev/shm, POSIX shared memory), hugetlbfs, and System V's
shared memory, which the kernel keeps in files of its own.

``mbind`` on a shared mapping gives the policy to the file itself (the kernel's shared policy): it
counts for every process that touches the file's pages from then on, needs no root, and lasts as
long as the file does. The mount option ``mpol=`` is for whole file systems, new files only, and
root; it is not used.
"""

import ctypes
import errno
import mmap
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tierscope.model.errors import ExitCode, UserError
from tierscope.placement import system_calls
from tierscope.placement.policy import Policy, check_policy, kernel_mode
from tierscope.placement.shared_segment import attached
from tierscope.placement.weights import kernel_weights
from tierscope.topology.files import Files

_IN_MEMORY = ("tmpfs", "hugetlbfs")
_ROUNDS = 1024
"""Rounds of weights in a file, at most; a unit is a page or more."""


def place_file(path: Path, policy: Policy, size: int = 0, shared: bool = False) -> dict[int, int]:
    """Give a file a policy, move the pages that it has, and return its bytes by node.

    ``size`` makes the file, or makes it longer, up to so many bytes. ``shared`` moves pages that
    other processes map, too (needs CAP_SYS_NICE). Raises UserError.
    """
    by_user = policy.mode == "weighted" and bool(policy.weights)
    check_policy(Policy("bind", policy.nodes) if by_user else policy)
    _check_is_in_memory(path if path.exists() else path.parent)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if size else 0), 0o600)
    except OSError as error:
        hint = "; --size makes it" if error.errno == errno.ENOENT else ""
        raise UserError(f"'{path}' cannot be opened: {error.strerror}{hint}") from None
    try:
        if size > os.fstat(descriptor).st_size:
            os.ftruncate(descriptor, size)
        return _placed(path, descriptor, policy, shared)
    except OSError as error:
        raise UserError(
            f"'{path}' is not placed: {error.strerror}", ExitCode.SOMETHING_FAILED
        ) from None
    finally:
        os.close(descriptor)


def place_segment(name: str, policy: Policy, shared: bool = False) -> dict[int, int]:
    """Do the same for a segment of System V shared memory: ``shmkey:0x4d2``, ``shmid:5``."""
    by_user = policy.mode == "weighted" and bool(policy.weights)
    check_policy(Policy("bind", policy.nodes) if by_user else policy)
    with attached(name) as area:
        try:
            pages = area.pages_with_data()
            return _place_mapped(area.start, area.size, area.page_bytes, pages, policy, shared)
        except OSError as error:
            raise UserError(
                f"'{name}' is not placed: {error.strerror}", ExitCode.SOMETHING_FAILED
            ) from None


def _placed(path: Path, descriptor: int, policy: Policy, shared: bool) -> dict[int, int]:
    size = os.fstat(descriptor).st_size
    if not size:
        raise UserError(f"'{path}' is empty; --size makes it longer, and a policy needs pages")
    with mmap.mmap(descriptor, size) as area:
        first = ctypes.c_char.from_buffer(area)
        start = ctypes.addressof(first)
        unit = os.fstatvfs(descriptor).f_bsize
        offsets = [*_pages_with_data(descriptor, size, unit)]
        found = _place_mapped(start, size, unit, offsets, policy, shared)
        del first
    return found


def _place_mapped(
    start: int, size: int, unit: int, offsets: Sequence[int], policy: Policy, shared: bool
) -> dict[int, int]:
    """Give what is mapped at an address a policy, move the pages that it has, and return its
    bytes by node; raises OSError."""
    pages = [start + offset for offset in offsets]
    for address in pages:  # mbind moves what this process maps
        ctypes.c_char.from_address(address).value  # noqa: B018 - a read maps the page
    move = system_calls.MOVE_ALL if shared else system_calls.MOVE
    for offset, end, mode, nodes in _pieces(policy, size, unit):
        system_calls.mbind(start + offset, end - offset, mode, nodes, move)
    if pages and policy.mode in ("interleave", "weighted") and not policy.weights:
        # To mbind, a page on any of the nodes is in its place.
        in_rounds = _round(policy)
        targets = [in_rounds[(at - start) // unit % len(in_rounds)] for at in pages]
        system_calls.move_pages(0, pages, targets, shared)
    where = system_calls.move_pages(0, pages, None) if pages else []
    found = Counter({node: count * unit for node, count in Counter(where).items() if node >= 0})
    return dict(sorted(found.items()))


def _round(policy: Policy) -> list[int]:
    """Return the nodes of a round's pages, by the kernel's weights."""
    weighted = policy.mode == "weighted"
    weights = kernel_weights(policy.nodes) if weighted else (1,) * len(policy.nodes)
    return [node for node, weight in zip(policy.nodes, weights, strict=True) for _ in range(weight)]


def _pieces(
    policy: Policy, size: int, page: int
) -> Iterator[tuple[int, int, int, tuple[int, ...]]]:
    """Yield ranges of a file, each with a mode and nodes: one, but for weights of its own."""
    size = -(-size // page) * page
    if not policy.weights:
        yield 0, size, kernel_mode(policy.mode), policy.nodes
        return
    unit = page
    while unit * sum(policy.weights) * _ROUNDS < size:
        unit *= 2
    at = 0
    while at < size:
        for node, weight in zip(policy.nodes, policy.weights, strict=True):
            end = min(at + weight * unit, size)
            if at < end:
                yield at, end, system_calls.PREFERRED, (node,)
            at = end


def _pages_with_data(descriptor: int, size: int, page: int) -> Iterator[int]:
    """Yield the offsets of pages that exist; a hole gets none by being looked at."""
    offset = 0
    while offset < size:
        try:
            data = os.lseek(descriptor, offset, os.SEEK_DATA)
        except OSError:  # ENXIO: nothing but a hole is left
            return
        offset = os.lseek(descriptor, data, os.SEEK_HOLE)
        yield from range(data // page * page, min(offset, size), page)


def _check_is_in_memory(path: Path) -> None:
    """Raise UserError where a file's pages are not placed by a policy of its own."""
    try:
        device = path.stat().st_dev
    except OSError as error:
        raise UserError(f"'{path}' cannot be reached: {error.strerror}") from None
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in (Files().text("/proc/self/mountinfo") or "").splitlines():
        head, _, tail = line.partition(" - ")
        if head.split()[2] == number and tail.split()[0] in _IN_MEMORY:
            return
    raise UserError(
        f"'{path}' is on no file system in memory ({' or '.join(_IN_MEMORY)}, as /dev/shm is); on "
        "others, pages go where the policy of the program that reads them says: use place exec"
    )

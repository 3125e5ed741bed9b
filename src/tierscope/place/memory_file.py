"""Policies of files in tmpfs and hugetlbfs, and of System V shared memory (shmget(2))."""

import contextlib
import ctypes
import errno
import mmap
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tierscope.machine.files import Files
from tierscope.model.errors import ExitCode, UserError
from tierscope.place import kernel
from tierscope.place.pages import mappings
from tierscope.place.policy import Policy, check_policy, kernel_mode
from tierscope.place.shared_memory import resident
from tierscope.place.weights import kernel_weights

_NAME = re.compile(r"shm(key|id):(0x[0-9a-f]{1,8}|\d{1,10})", re.I)
_LIST = "/proc/sysvipc/shm"
_libc = ctypes.CDLL(None, use_errno=True)
_libc.shmat.restype = ctypes.c_void_p
_NOT_ATTACHED = ctypes.c_void_p(-1).value
_IN_MEMORY = ("tmpfs", "hugetlbfs")
_ROUNDS = 1024
"""Rounds of weights in a file, at most; a unit is a page or more."""


class Attached(NamedTuple):
    """A segment in this process's memory."""

    start: int
    size: int
    page_bytes: int

    def pages_with_data(self) -> list[int]:
        """Return the offsets of pages that are in memory."""
        in_memory = resident(self.start, self.size)
        step = self.page_bytes // kernel.PAGE_BYTES
        return [at * kernel.PAGE_BYTES for at in range(0, len(in_memory), step) if in_memory[at]]


def is_segment(name: str) -> bool:
    """Whether a name is that of a segment: ``shmkey:0x4d2``, ``shmid:5``."""
    return _NAME.fullmatch(name) is not None


@contextlib.contextmanager
def attached(name: str, files: Files | None = None) -> Iterator[Attached]:
    """Attach a segment by its name; raises UserError."""
    number, size = _find(name, files or Files())
    start = _libc.shmat(ctypes.c_int(number), None, ctypes.c_int(0))
    if start in (None, _NOT_ATTACHED):
        why = os.strerror(ctypes.get_errno())
        raise UserError(f"'{name}' cannot be attached: {why}", ExitCode.SOMETHING_FAILED)
    try:
        own = [one.page_bytes for one in mappings(os.getpid()) if one.start == start]
        yield Attached(start, size, own[0] if own else kernel.PAGE_BYTES)
    finally:
        _libc.shmdt(ctypes.c_void_p(start))


def _find(name: str, files: Files) -> tuple[int, int]:
    """Return the id and the size of a segment."""
    match = _NAME.fullmatch(name)
    assert match is not None
    wanted = int(match[2], 0)
    for line in (files.text(_LIST) or "").splitlines()[1:]:
        key, number, _, size, *_ = line.split()
        # The kernel writes keys as signed numbers, ipcs as hexadecimal ones.
        is_it = int(key) % 2**32 == wanted if match[1].lower() == "key" else int(number) == wanted
        if is_it:
            return int(number), int(size)
    raise UserError(f"'{name}': there is no such segment; ipcs -m lists keys and ids")


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
    move = kernel.MOVE_ALL if shared else kernel.MOVE
    for offset, end, mode, nodes in _pieces(policy, size, unit):
        kernel.mbind(start + offset, end - offset, mode, nodes, move)
    if pages and policy.mode in ("interleave", "weighted") and not policy.weights:
        # To mbind, a page on any of the nodes is in its place.
        in_rounds = _round(policy)
        targets = [in_rounds[(at - start) // unit % len(in_rounds)] for at in pages]
        kernel.move_pages(0, pages, targets, shared)
    where = kernel.move_pages(0, pages, None) if pages else []
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
                yield at, end, kernel.PREFERRED, (node,)
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

"""Memory that is held on a node, so that programs find less there: a smaller fast tier.

A child process maps memory, binds it to the node (mbind(2)), locks it (mlock2(2)) and writes to it.
Locked pages are neither swapped, nor demoted, nor moved by DAMON. The child ends with the block
that holds it and dies with its parent, by SIGKILL too (PR_SET_PDEATHSIG, prctl(2)), and the kernel
takes the pages back. Where memory runs out, the kernel kills it first (oom_score_adj, proc(5)).
No setting of the machine is changed.

Programs whose policy lets them have memory of other nodes get what is free on a node, and no page
cache is reclaimed for them. Huge pages take free memory that is in one piece. So that the node has
room for programs as an empty node has, the child first takes all that is free, then more, for which
the kernel has to drop page cache, and at last gives huge pages back, as many as are to be left.
"""

import contextlib
import ctypes
import errno
import gc
import json
import mmap
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from tierscope.machine.cgroup import memory_limit
from tierscope.model.errors import ExitCode, UserError
from tierscope.place import kernel as calls
from tierscope.place.kernel import Kernel
from tierscope.place.nodes import check_nodes, usable_nodes
from tierscope.place.pages import mappings
from tierscope.place.room import PIECE, Room, room, settled_room
from tierscope.place.supervisor import keep_open, open_pipe

NAME = "tierscope-room"
"""Of the child, as ps shows it; the kernel keeps 15 characters."""
MIB = 1 << 20
_TOLERANCE, _TOLERANCE_SHARE = 16 * MIB, 256
_BLOCK = PIECE
"""What is taken and given back is a multiple of it."""
_STEP = 2 << 30
"""Bytes that are taken before the next look at the node."""
_EVICTION = 256 * MIB
"""The most that is taken at once while the kernel has to drop page cache for it."""
_FRUITLESS = 3
"""Steps in a row that drop less than half of what they take: the rest of the cache is in use."""
_ATTEMPTS, _PAUSE_S = 50, 0.02
"""At the end: the kernel goes on reclaiming for a while, and others take and free memory."""
_THREADS = 8
_FIRST = "1000"
"""Of oom_score_adj: the kernel kills this process before all others."""
_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15
_MADV_HUGEPAGE, _MADV_NOHUGEPAGE, _MADV_POPULATE_WRITE = 14, 15, 23
_MLOCK_ONFAULT = 1
_FAILED = ctypes.c_void_p(-1).value
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p


@dataclass(frozen=True)
class Held:
    """What a ballast holds."""

    node: int
    leave_bytes: int
    """Bytes that were to be left."""
    held_bytes: int = 0
    """Bytes that it holds; 0 where no more than ``leave_bytes`` was available anyway."""
    seconds: float = 0.0
    """Time that holding them took."""
    pid: int = 0
    """The process that holds them; 0: none."""
    start: int = 0
    """Address of the first of them."""
    kernel: Kernel = field(default_factory=lambda: Kernel("/"))

    def remaining(self) -> Room:
        """Return what is available on the node now."""
        return settled_room(self.node, self.kernel)

    def on_node(self) -> int:
        """Return the bytes of it that are on the node now, by /proc/PID/numa_maps."""
        end = self.start + self.held_bytes
        found = mappings(self.pid) if self.pid else []
        own = [one for one in found if self.start <= one.start < end]
        return sum(one.pages.get(self.node, 0) * one.page_bytes for one in own)

    def locked(self) -> int:
        """Return the bytes of it that are locked now: VmLck in /proc/PID/status."""
        return self.kernel.fields(f"/proc/{self.pid}/status").get("VmLck", 0)

    def drift(self) -> str:
        """Say in what the room differs from what was asked for; empty where it does not.

        Less than ``leave_bytes`` may be free because the program that it is for took it: read it
        before that program begins, and after it ended.
        """
        if self.pid and self.on_node() < self.held_bytes:
            return f"the kernel took the ballast on node {self.node} away: memory was short"
        now = self.remaining()
        more = now.free - self.leave_bytes
        less = self.leave_bytes - now.free - now.lists  # a program's end leaves some in lists
        if max(more, less) > tolerance(now):
            off = f"{_mib(more)} more" if more > 0 else f"{_mib(less)} less"
            return (
                f"node {self.node} has {_mib(now.free)} free, {off} than was to be left: other "
                "programs took or freed memory"
            )
        if now.cache > tolerance(now):
            return (
                f"node {self.node} has {_mib(now.cache)} of page cache besides, which is in use; "
                "programs that are bound to the node may get it"
            )
        return ""


def tolerance(found: Room) -> int:
    """Return by how many bytes the room may differ from what was asked for: 16 MiB, or 1/256 of
    the node where that is more. Counters of pages are exact to about as much."""
    return max(_TOLERANCE, found.total // _TOLERANCE_SHARE)


@contextlib.contextmanager
def ballast(node: int, leave_bytes: int, kernel: Kernel | None = None) -> Iterator[Held]:
    """Hold memory of a node until the block ends, so that ``leave_bytes`` of it are free.

    That is above the kernel's watermarks and reserves (``Room.free``), within ``tolerance``. The
    thread that begins the block has to live until it ends. Nothing is held where no more is
    available anyway. Raises UserError where there is no other node that programs could get memory
    of, where the memory may not be locked or is over the limit of a cgroup, and where the room
    cannot be made.
    """
    kernel = kernel or Kernel("/")
    most = _most(kernel, node, leave_bytes)
    if not most:
        yield Held(node, leave_bytes, kernel=kernel)
        return

    def fill(memory: Memory) -> None:
        make_room(memory, leave_bytes, lambda: settled_room(node, kernel))

    with holding(node, most, fill) as held:
        yield replace(held, leave_bytes=leave_bytes, kernel=kernel)


def _most(kernel: Kernel, node: int, leave_bytes: int) -> int:
    """Return the most bytes that are held at a time; raises UserError where they cannot be."""
    check_nodes((node,), kernel)
    others = [other for other in usable_nodes(kernel) if other != node]
    if not others:
        raise UserError(
            f"node {node} is the only one that this process may use: a program that finds no room "
            "there would be killed; leave the room out, or use a machine with two nodes of memory"
        )
    now = room(node, kernel)
    if now.available <= leave_bytes:
        return 0
    rooms = {other: room(other, kernel) for other in others}
    if all(found.available <= tolerance(found) for found in rooms.values()):
        most = max(found.available for found in rooms.values())
        raise UserError(
            f"no other node has room: nodes {', '.join(map(str, others))} have at most "
            f"{_mib(most)} available; end programs that use them, or leave more room on node {node}"
        )
    most = -(-(now.available + now.lists + tolerance(now)) // _BLOCK) * _BLOCK
    limit = memory_limit()
    if limit and limit.left_bytes < most:
        raise UserError(
            f"{_mib(leave_bytes)} of room on node {node} takes {_mib(most)} to be held, and the "
            f"cgroup that tierscope is in leaves {_mib(limit.left_bytes)}; raise its memory.max, "
            "or start tierscope outside of it"
        )
    return most


class Memory:
    """Memory of this process, locked on one node: taken at its end, given back at its beginning.

    What is given back was taken first, when most was free: there are huge pages in it.
    """

    def __init__(self, node: int, most: int) -> None:
        """Reserve so many bytes of addresses; raises UserError where they may not be locked."""
        self._threads = min(_THREADS, len(os.sched_getaffinity(0)))
        length = most + _BLOCK
        protection = mmap.PROT_READ | mmap.PROT_WRITE
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        found = _libc.mmap(None, ctypes.c_size_t(length), protection, flags, -1, ctypes.c_long(0))
        if found in (None, _FAILED):
            raise UserError(
                f"the kernel does not let {_mib(most)} be mapped: {_why()}; "
                "sysctl vm.overcommit_memory=0 lets it"
            )
        self.start: int = -(-found // _BLOCK) * _BLOCK
        self.end: int = self.start
        self._limit: int = self.start + most
        try:
            calls.mbind(self.start, most, calls.BIND, [node])
        except OSError as error:
            raise UserError(
                f"memory cannot be bound to node {node}: {error.strerror}; in a container, allow "
                "mbind in its seccomp profile, as docker run --cap-add SYS_NICE does"
            ) from None
        _raise_lock_limit()
        where = (ctypes.c_void_p(self.start), ctypes.c_size_t(most))
        if _libc.mlock2(*where, _MLOCK_ONFAULT):
            soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
            raise UserError(
                f"{_mib(most)} cannot be locked: {_why()}; the limit is {_mib(soft)}: "
                f"run tierscope as root, or with 'ulimit -l {most >> 10}' or more"
            )
        self._huge = False

    @property
    def held(self) -> int:
        """Bytes that are held."""
        return self.end - self.start

    def take(self, size: int, huge: bool = True) -> int:
        """Take so many bytes, a multiple of 2 MiB, and return how many there were addresses for.

        With ``huge`` by transparent huge pages, where the machine has them. Raises OSError.
        """
        size = min(size, self._limit - self.end)
        if huge != self._huge:
            advice = _MADV_HUGEPAGE if huge else _MADV_NOHUGEPAGE
            _libc.madvise(ctypes.c_void_p(self.end), self._size(self._limit - self.end), advice)
            self._huge = huge
        part = -(-size // self._threads // _BLOCK) * _BLOCK
        end = self.end + size
        starts = range(self.end, end, part) if size else ()
        with ThreadPoolExecutor(self._threads) as pool:
            list(pool.map(lambda start: _populate(start, min(part, end - start)), starts))
        self.end = end
        return size

    def give(self, size: int) -> int:
        """Give so many bytes back, a multiple of 2 MiB, and return how many were held."""
        size = min(size, self.held)
        self._unmap(self.start, size)
        self.start += size
        return size

    def close(self) -> None:
        """Give up addresses that hold nothing."""
        self._unmap(self.end, self._limit - self.end)
        self._limit = self.end

    def _unmap(self, start: int, size: int) -> None:
        if size and _libc.munmap(ctypes.c_void_p(start), self._size(size)):
            raise OSError(ctypes.get_errno(), _why())

    @staticmethod
    def _size(size: int) -> ctypes.c_size_t:
        return ctypes.c_size_t(size)


def _populate(start: int, size: int) -> None:
    """Have the kernel write to all pages; before Linux 5.14, do it here."""
    if _libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(size), _MADV_POPULATE_WRITE):
        if ctypes.get_errno() != errno.EINVAL:
            raise OSError(ctypes.get_errno(), _why())
        ctypes.memset(start, 0, size)


def _raise_lock_limit() -> None:
    """Raise the limit of locked memory as far as this user may."""
    _, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (hard, hard))


def make_room(memory: Memory, leave_bytes: int, look: Callable[[], Room]) -> None:
    """Take memory until so many bytes are free; raises UserError where they cannot be made.

    ``look`` returns what the node has at the time.
    """
    _take_free(memory, look)
    _evict(memory, look)
    for _ in range(_ATTEMPTS):
        now = look()
        excess = (now.free - leave_bytes) // _BLOCK * _BLOCK
        if abs(excess) <= tolerance(now) // 4:
            return
        if excess > 0 and not memory.take(min(excess, _STEP), huge=False):
            break
        if excess < 0 and not memory.give(-excess):
            return
        time.sleep(_PAUSE_S)
    if now.free - leave_bytes > tolerance(now):
        raise UserError(
            f"{_mib(leave_bytes)} were to be left free, and {_mib(now.free)} are, after "
            f"{_mib(memory.held)} have been taken: other programs free memory; try again",
            ExitCode.SOMETHING_FAILED,
        )


def _take_free(memory: Memory, look: Callable[[], Room]) -> None:
    """Take about what is free: below its watermark the kernel reclaims, and frees more."""
    while True:
        now = look()
        if now.free <= tolerance(now):
            return
        pieces = min(now.free, now.pieces) // _BLOCK * _BLOCK
        rest = now.free // _BLOCK * _BLOCK
        if not memory.take(min(pieces or rest, _STEP), huge=pieces > 0):
            return


def _evict(memory: Memory, look: Callable[[], Room]) -> None:
    """Have the kernel drop page cache, by small steps: it must not run out of what it can drop."""
    fruitless = 0
    while fruitless < _FRUITLESS:
        before = look()
        step = min(before.cache // 2, _EVICTION) // _BLOCK * _BLOCK
        if before.cache <= tolerance(before) or not memory.take(step, huge=False):
            return
        dropped = before.cache - look().cache
        fruitless = fruitless + 1 if dropped < step // 2 else 0


@contextlib.contextmanager
def holding(node: int, most: int, fill: Callable[[Memory], object]) -> Iterator[Held]:
    """Have a child hold what ``fill`` takes of at most so many bytes, until the block ends.

    Raises UserError: what ``fill`` raises, and where the kernel killed the child or put its pages
    elsewhere.
    """
    began = time.monotonic()
    told, tells = open_pipe()
    parent, child = os.getpid(), 0
    try:
        try:
            child = os.fork()
            if child == 0:
                _become(node, most, fill, parent, tells)
        finally:
            os.close(tells)
        answer = _read(told)
        seconds = time.monotonic() - began
        held = Held(node, 0, answer["bytes"], seconds, child, answer["start"])
        _check(held)
        yield held
    finally:
        os.close(told)
        if child:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):  # where SIGCHLD is ignored
                os.waitpid(child, 0)


def _read(told: int) -> dict[str, Any]:
    """Return what the child says that it holds; raises UserError where it failed or was killed."""
    parts = []
    while part := os.read(told, 1 << 16):
        parts.append(part)
    if not parts:
        raise UserError(
            "the kernel killed the process that holds memory, since memory was short; "
            "end programs that use the node, or leave more room",
            ExitCode.SOMETHING_FAILED,
        )
    answer: dict[str, Any] = json.loads(b"".join(parts))
    if "error" in answer:
        raise UserError(answer["error"], ExitCode(answer["exit_code"]))
    return answer


def _check(held: Held) -> None:
    there, locked = held.on_node(), held.locked()
    if min(there, locked) < held.held_bytes:
        raise UserError(
            f"of {_mib(held.held_bytes)} that were to be held on node {held.node}, {_mib(there)} "
            f"are there and {_mib(locked)} are locked; something else moves or unlocks memory",
            ExitCode.SOMETHING_FAILED,
        )


def _become(
    node: int, most: int, fill: Callable[[Memory], object], parent: int, tells: int
) -> NoReturn:
    """Be the child: take memory, say how much, and wait for the end."""
    try:
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it died before that
            os._exit(0)
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        gc.freeze()  # the parent's objects must not close files by numbers that are reused
        keep_open(tells)
        libc.prctl(_PR_SET_NAME, NAME.encode(), 0, 0, 0)
        with contextlib.suppress(UserError):
            Kernel("/").write("/proc/self/oom_score_adj", _FIRST)
        os.write(tells, json.dumps(_filled(node, most, fill)).encode())
        os.close(tells)
        while True:
            signal.pause()
    finally:
        os._exit(0)


def _filled(node: int, most: int, fill: Callable[[Memory], object]) -> dict[str, Any]:
    """Take memory, and return what there is to say."""
    try:
        memory = Memory(node, most)
        fill(memory)
        memory.close()
    except UserError as error:
        return {"error": str(error), "exit_code": int(error.exit_code)}
    except Exception as error:  # whatever it is, the parent has to say it
        why = f"memory of node {node} cannot be taken: {error}"
        return {"error": why, "exit_code": int(ExitCode.SOMETHING_FAILED)}
    return {"start": memory.start, "bytes": memory.held}


def _why() -> str:
    return os.strerror(ctypes.get_errno())


def _mib(size: int) -> str:
    return f"{-(-size // MIB)} MiB"

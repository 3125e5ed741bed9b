"""Files into a GPU's memory by way of pinned host memory, and what the jobs with PyTorch share."""

import ctypes
import itertools
import mmap
import os
import sys
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

_PAGE = 4096
"""What O_DIRECT asks offsets, lengths and buffers to be multiples of."""
_COPIES = 2
"""Copies under way while all threads read, so that one follows the other."""


@cache
def torch_module() -> Any:
    """Return PyTorch, which is no dependency of tierscope; ends the program where it cannot be
    used."""
    try:
        torch = import_module("torch")
    except ImportError:
        sys.exit("this application needs PyTorch: pip install torch")
    if not torch.cuda.is_available():
        sys.exit("this application needs an NVIDIA GPU that PyTorch can use")
    return torch


def bytes_of(tensor: Any) -> memoryview:
    """Return the bytes of a tensor in host memory, as a view."""
    size = tensor.numel() * tensor.element_size()
    viewed: Any = (ctypes.c_char * size).from_address(tensor.data_ptr())
    viewed.tensor = tensor  # which has the memory
    return memoryview(viewed).cast("B")


class PinnedMemory:
    """Host memory that the GPU's copy engines reach: mapped, then registered with CUDA.

    The mapping follows the memory policy of this process; what CUDA itself allocates may not.
    """

    def __init__(self, size: int) -> None:
        torch = torch_module()
        self.size = -(-size // _PAGE) * _PAGE
        self._mapping = mmap.mmap(-1, self.size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._mapping.madvise(mmap.MADV_HUGEPAGE)
        self.tensor = torch.frombuffer(self._mapping, dtype=torch.uint8)
        result = torch.cuda.cudart().cudaHostRegister(self.tensor.data_ptr(), self.size, 0)
        torch.cuda.check_error(int(result))
        self.view = memoryview(self._mapping)

    def close(self) -> None:
        """Unregister it. No copy may be under way."""
        torch_module().cuda.cudart().cudaHostUnregister(self.tensor.data_ptr())


class Staging:
    """Threads that read pieces of files, each into a slot of pinned memory, from which the caller's
    thread has it copied to the GPU. All calls of CUDA are the caller's: threads that call it at the
    same time wait for each other.
    """

    def __init__(self, threads: int, piece: int) -> None:
        torch = torch_module()
        self.piece = piece
        self._pool = ThreadPoolExecutor(threads)
        self._memory = [PinnedMemory(piece) for _ in range(threads + _COPIES + 1)]
        self._copied = [torch.cuda.Event() for _ in self._memory]
        self._stream = torch.cuda.Stream()

    def load(self, file: int, image: Any) -> None:
        """Copy the first bytes of a file into ``image``, a tensor of bytes on the GPU.

        Returns when the last byte is there. Raises OSError where the file is shorter.
        """
        size = image.numel()
        reads: deque[tuple[Future[None], int, int]] = deque()
        with torch_module().cuda.stream(self._stream):
            for slot, at in zip(
                itertools.cycle(range(len(self._memory))), range(0, size, self.piece), strict=False
            ):
                if len(reads) == len(self._memory) - _COPIES:
                    self._copy(image, *reads.popleft())
                self._copied[slot].synchronize()
                count = min(self.piece, size - at)
                view = self._memory[slot].view
                reads.append((self._pool.submit(read_whole, file, view, at, count), slot, at))
            while reads:
                self._copy(image, *reads.popleft())
        self._stream.synchronize()

    def close(self) -> None:
        """End the threads and release the memory."""
        self._pool.shutdown()
        for one in self._memory:
            one.close()

    def _copy(self, image: Any, read: "Future[None]", slot: int, at: int) -> None:
        read.result()
        into = image[at : at + self.piece]
        into.copy_(self._memory[slot].tensor[: into.numel()], True)
        self._copied[slot].record()


def read_whole(file: int, buffer: memoryview, offset: int, count: int) -> None:
    """Read ``count`` bytes or more, up to the buffer's length, which O_DIRECT may ask to be whole
    pages. Raises OSError where the file ends before."""
    done = 0
    while done < count:
        got = os.preadv(file, [buffer[done:]], offset + done)
        if got == 0:
            raise OSError(f"the file ends {count - done} bytes early")
        done += got


def write_whole(file: int, buffer: memoryview, offset: int, count: int) -> None:
    """Write the first ``count`` bytes of the buffer."""
    done = 0
    while done < count:
        done += os.pwritev(file, [buffer[done:count]], offset + done)


def resident_share(path: Path) -> float:
    """Return the share of a file's pages, 0 to 1, that the page cache holds (mincore(2))."""
    libc = ctypes.CDLL(None, use_errno=True)
    size = path.stat().st_size
    if size == 0:
        return 0.0
    with path.open("rb") as file:
        mapping = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY)
    pages = -(-size // mmap.PAGESIZE)
    states = (ctypes.c_ubyte * pages)()
    begin = (ctypes.c_char * size).from_buffer(mapping)
    result = libc.mincore(ctypes.byref(begin), ctypes.c_size_t(size), states)
    error = ctypes.get_errno()
    del begin
    mapping.close()
    if result != 0:
        raise OSError(error, os.strerror(error), str(path))
    return sum(state & 1 for state in states) / pages


def forget(path: Path) -> None:
    """Drop a file from the page cache. Raises OSError where more than 1% of it stays."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    if (share := resident_share(path)) > 0.01:
        raise OSError(f"{share:.0%} of {path} stay in the page cache")


def checksum(torch: Any, tensor: Any) -> int:
    """Return a checksum of a tensor's bytes, which are a multiple of 8: each word of 64 bits times
    an odd number that depends on its place, added modulo 2^64.

    A change of one word always changes it, for odd numbers have inverses. It is the same on CPUs
    and GPUs.
    """
    words = tensor.reshape(-1).view(torch.uint8).view(torch.int64)
    step = 1 << 22
    total = 0
    for at in range(0, words.numel(), step):
        some = words[at : at + step]
        places = torch.arange(at, at + some.numel(), device=words.device, dtype=torch.int64)
        total += int((some * (2 * places + 1)).sum())
    return total % (1 << 64)

"""Memory that messages lie in: of a host, or of one of its GPUs by the CUDA driver."""

import ctypes
import mmap
from dataclasses import dataclass
from typing import Any

from tierscope.kinds.message.library import Copy, mpi_library
from tierscope.model.errors import UserError

_PAGE = 4096


@dataclass(frozen=True)
class Buffers:
    """Two buffers of one size; they live as long as the process, since MPI may still write to
    those of an exchange that failed."""

    send: int
    """Addresses."""
    receive: int
    copy: Any
    """Copies between them and host memory, of the library's type ``Copy``."""
    held: Any
    """What has to live as long as they do."""


def host_buffers(size: int) -> Buffers:
    """Return buffers in host memory, at the beginning of pages."""
    length = -(-size // _PAGE) * _PAGE
    held = [mmap.mmap(-1, length) for _ in range(2)]
    for memory in held:
        memory.write(bytes(length))  # so that all pages are there
    send, receive = (ctypes.addressof(ctypes.c_char.from_buffer(memory)) for memory in held)
    return Buffers(send, receive, Copy(0), held)


def gpu_buffers(size: int, number: int) -> Buffers:
    """Return buffers in a GPU's memory; raises UserError where that cannot be sent from here."""
    check_mpi()
    driver = _driver()
    device, context = ctypes.c_int(), ctypes.c_void_p()
    _ok(driver.cuDeviceGet(ctypes.byref(device), number), f"there is no GPU {number} here")
    _ok(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), f"GPU {number}")
    _ok(driver.cuCtxSetCurrent(context), f"GPU {number}")
    addresses = []
    for _ in range(2):
        address = ctypes.c_uint64()
        _ok(
            driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)),
            f"{size} bytes of GPU {number}",
        )
        addresses.append(address.value)

    def copy(to: int, origin: int, count: int) -> int:
        wrong = driver.cuMemcpy(
            ctypes.c_uint64(to), ctypes.c_uint64(origin), ctypes.c_size_t(count)
        )
        return int(wrong or driver.cuCtxSynchronize())

    return Buffers(addresses[0], addresses[1], Copy(copy), context)


def check_mpi() -> None:
    """Raise UserError where the MPI library does not say that it sends from GPUs' memory."""
    library = mpi_library()
    if hasattr(library, "MPIX_Query_cuda_support"):  # Open MPI and its kin
        if library.MPIX_Query_cuda_support() == 1:
            return
        asked = "MPIX_Query_cuda_support"
    elif hasattr(library, "MPIX_GPU_query_support"):  # MPICH and its kin; 0: CUDA
        found = ctypes.c_int()
        if library.MPIX_GPU_query_support(0, ctypes.byref(found)) == 0 and found.value:
            return
        asked = "MPIX_GPU_query_support"
    else:
        raise UserError("this MPI has no function that tells whether it sends from GPUs' memory")
    raise UserError(f"this MPI, as it was built, does not send from GPUs' memory ({asked} says so)")


def _driver() -> ctypes.CDLL:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        raise UserError("there is no CUDA driver here") from None
    _ok(driver.cuInit(0), "the CUDA driver does not start")
    return driver


def _ok(code: int, what: str) -> None:
    if code:
        raise UserError(f"{what} (CUDA error {code})")

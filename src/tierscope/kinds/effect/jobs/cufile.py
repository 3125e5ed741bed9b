"""Reads by cuFile (GPUDirect Storage) into a GPU's memory, by the C functions of libcufile."""

import ctypes
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tierscope.kinds.effect.jobs.gpu_staging import torch_module

_LINUX_DESCRIPTOR = 1
"""CU_FILE_HANDLE_TYPE_OPAQUE_FD."""


class _Error(ctypes.Structure):
    _fields_ = (("code", ctypes.c_int), ("cuda", ctypes.c_int))


class _Handle(ctypes.Union):
    _fields_ = (("descriptor", ctypes.c_int), ("handle", ctypes.c_void_p))


class _Description(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int), ("handle", _Handle), ("operations", ctypes.c_void_p))


def _libraries() -> Iterator[str]:
    yield "libcufile.so.0"
    yield "/usr/local/cuda/lib64/libcufile.so.0"
    if found := find_spec("nvidia"):
        for folder in found.submodule_search_locations or []:
            yield from map(str, Path(folder).glob("*/lib/libcufile.so.0"))


class CuFile:
    """The driver of cuFile, open until ``close``."""

    def __init__(self, threads: int, piece: int) -> None:
        self.piece = piece
        self._library = _opened()
        self._library.cuFileRead.restype = ctypes.c_ssize_t
        for name in ("DriverOpen", "DriverClose", "HandleRegister"):
            getattr(self._library, f"cuFile{name}").restype = _Error
        self._check("cuFileDriverOpen", self._library.cuFileDriverOpen())
        # A thread's first call of CUDA makes the GPU's context its own, as cuFileRead needs it.
        self._pool = ThreadPoolExecutor(
            threads, initializer=torch_module().cuda.set_device, initargs=(0,)
        )

    def load(self, file: int, image: Any) -> None:
        """Read the first bytes of a file that is open with O_DIRECT into ``image``, a tensor of
        bytes on the GPU. Raises OSError where cuFile refuses it."""
        handle = ctypes.c_void_p()
        about = _Description(_LINUX_DESCRIPTOR, _Handle(descriptor=file), None)
        register = self._library.cuFileHandleRegister
        self._check("cuFileHandleRegister", register(ctypes.byref(handle), ctypes.byref(about)))
        try:
            size, begin = image.numel(), image.data_ptr()

            def read(at: int) -> None:
                self._read(handle, begin, min(self.piece, size - at), at)

            for _ in self._pool.map(read, range(0, size, self.piece)):
                pass
        finally:
            self._library.cuFileHandleDeregister(handle)

    def close(self) -> None:
        """Close the driver, before the end of the process does so without CUDA."""
        self._pool.shutdown()
        self._library.cuFileDriverClose()

    def _read(self, handle: ctypes.c_void_p, begin: int, count: int, at: int) -> None:
        got = self._library.cuFileRead(
            handle,
            ctypes.c_void_p(begin),
            ctypes.c_size_t(count),
            ctypes.c_longlong(at),
            ctypes.c_longlong(at),
        )
        if got != count:
            raise OSError(f"cuFileRead of {count} bytes at {at} returned {got}")

    @staticmethod
    def _check(what: str, error: _Error) -> None:
        if error.code:
            raise OSError(f"{what} failed with error {error.code}; see `tierscope doctor`")


def _opened() -> ctypes.CDLL:
    for name in _libraries():
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise OSError("there is no libcufile.so.0; install nvidia-cufile by pip, or the CUDA toolkit")

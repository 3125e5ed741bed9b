"""The library that exchanges messages, and the MPI library whose functions it is handed."""

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

from tierscope.model.errors import UserError
from tierscope.placement.launch import find_installed

_LIBRARY = "_lib/libtierscope-message.so"
OPERATIONS = {"latency": 0, "bandwidth": 1, "both-ways": 2}
CODES = {0: "", 1: "silent", 2: "mpi", 3: "contents"}
"""What an exchange came to, of TsMessageResult; empty: all went well."""
_STATUS = 64
"""Bytes at least that a status takes, in case that mpi4py was built with another version."""
Copy = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64)


class _Mpi(ctypes.Structure):
    _fields_ = (
        ("isend", ctypes.c_void_p),
        ("irecv", ctypes.c_void_p),
        ("testall", ctypes.c_void_p),
        ("byte", ctypes.c_size_t),
        ("comm", ctypes.c_size_t),
        ("request_size", ctypes.c_uint64),
        ("status_size", ctypes.c_uint64),
    )


class Exchange(ctypes.Structure):
    """TsMessageExchange of engine/message/exchange.h, which says what the fields are."""

    _fields_ = (
        ("mpi", _Mpi),
        ("operation", ctypes.c_int32),
        ("source", ctypes.c_int32),
        ("partner", ctypes.c_int32),
        ("tag", ctypes.c_int32),
        ("size", ctypes.c_int32),
        ("window", ctypes.c_int32),
        ("send", ctypes.c_void_p),
        ("receive", ctypes.c_void_p),
        ("copy", Copy),
        ("seconds", ctypes.c_double),
        ("row_seconds", ctypes.c_double),
        ("patience_s", ctypes.c_double),
        ("seed", ctypes.c_uint64),
    )


class Rows(ctypes.Structure):
    """TsMessageRows, likewise."""

    _fields_ = (
        ("starts", ctypes.POINTER(ctypes.c_double)),
        ("durations", ctypes.POINTER(ctypes.c_double)),
        ("values", ctypes.POINTER(ctypes.c_double)),
        ("capacity", ctypes.c_uint64),
        ("count", ctypes.c_uint64),
        ("messages", ctypes.c_uint64),
        ("error", ctypes.c_char * 256),
    )


@cache
def exchange_function() -> Any:
    """Return the function of the library; raises UserError where it is not installed."""
    function = ctypes.CDLL(str(find_installed(_LIBRARY))).ts_message_exchange
    function.argtypes = (ctypes.POINTER(Exchange), ctypes.POINTER(Rows))
    function.restype = ctypes.c_int32
    return function


@cache
def mpi_library() -> ctypes.CDLL:
    """Return the MPI library that is loaded in this process; raises UserError without one."""
    paths = {
        line.split(maxsplit=5)[5].strip()
        for line in Path("/proc/self/maps").read_text().splitlines()
        if "/" in line
    }
    for path in sorted(path for path in paths if Path(path).name.startswith("libmpi")):
        found = ctypes.CDLL(path)
        if all(hasattr(found, name) for name in ("MPI_Isend", "MPI_Irecv", "MPI_Testall")):
            return found
    raise UserError("no MPI library that mpi4py loaded has MPI_Isend, MPI_Irecv and MPI_Testall")


def mpi_of(mpi: Any, comm: Any) -> _Mpi:
    """Return what the library needs of MPI, from mpi4py's module and a communicator."""
    library = mpi_library()
    functions = {
        name: ctypes.cast(getattr(library, f"MPI_{name.capitalize()}"), ctypes.c_void_p)
        for name in ("isend", "irecv", "testall")
    }
    return _Mpi(
        **functions,
        byte=mpi._handleof(mpi.BYTE),
        comm=mpi._handleof(comm),
        request_size=mpi._sizeof(mpi.Request),
        status_size=max(_STATUS, mpi._sizeof(mpi.Status)),
    )

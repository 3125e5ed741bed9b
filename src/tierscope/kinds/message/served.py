"""The library that exchanges messages, and the MPI library whose functions it is handed."""

import ctypes
import mmap
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tierscope.fleet.transport import Message, World
from tierscope.kinds.message.spec import OPERATIONS
from tierscope.machine.files import Files
from tierscope.machine.network import port_counts, read_ports
from tierscope.model.errors import UserError
from tierscope.model.evidence import PortCounts
from tierscope.place.launch import find_installed

_LIBRARY = "_lib/libtierscope-message.so"
CODES = {0: "", 1: "silent", 2: "mpi", 3: "contents"}
"""Result of an exchange, of TsMessageResult; empty: success."""
_STATUS = 64
"""Bytes at least that a status takes, in case mpi4py was built with another version."""
_PAGE = 4096
TAGS = 4
"""Of an exchange: two of the library, and these two."""
_HERE, _GO = 2, 3
_MOST_SAMPLES = 100_000
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
        ("sample_seconds", ctypes.c_double),
        ("patience_s", ctypes.c_double),
        ("seed", ctypes.c_uint64),
    )


class Samples(ctypes.Structure):
    """TsMessageSamples of the library."""

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
    function.argtypes = (ctypes.POINTER(Exchange), ctypes.POINTER(Samples))
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
    """Objects that have to live as long as they do."""


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
        raise UserError("this MPI has no function that reports whether it can send from GPU memory")
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


def serve(request: Message, world: World) -> Message:
    """Answer rank 0; raises UserError where this rank cannot do what is asked."""
    return {"look": _look, "exchange": _exchange}[request["do"]](request, world)


def _look(_request: Message, _world: World) -> Message:
    """Return the ports whose link is up and whose rate is known: RDMA ports where there are any."""
    ports = [port for port in read_ports(Files()) if port.speed]
    ports = [port for port in ports if port.rdma] or ports
    return {"ports": [{"name": port.name, "bits_per_s": port.speed} for port in ports]}


def _exchange(request: Message, world: World) -> Message:
    """Exchange messages with the partner; return samples, where this rank is the source."""
    try:
        buffers = _buffers(world, request["memory"], request["size"])
    except UserError as error:
        return {"failed": str(error), "cannot": True}
    before = _counts()
    if not _meet(request, world):
        return {"failed": f"rank {request['partner']} did not come"}
    capacity = min(_MOST_SAMPLES, int(4 * request["seconds"] / request["sample_s"]) + 16)
    columns = [(ctypes.c_double * capacity)() for _ in range(3)]
    samples = Samples(*columns, capacity=capacity)
    asked = Exchange(
        mpi=mpi_of(world.mpi, world.comm),
        operation=OPERATIONS.index(request["operation"]),
        source=int(request["source"]),
        partner=request["partner"],
        tag=request["tag"],
        size=request["size"],
        window=request["window"],
        send=buffers.send,
        receive=buffers.receive,
        copy=buffers.copy,
        seconds=request["seconds"],
        sample_seconds=request["sample_s"],
        patience_s=request["patience_s"],
        seed=request["tag"],
    )
    code = CODES[exchange_function()(ctypes.byref(asked), ctypes.byref(samples))]
    if code:
        # What was posted may still be written to: these buffers are used no more.
        world.kept.pop(_key(request["memory"], request["size"]), None)
        world.kept.setdefault("left", []).append(buffers)
        return {"failed": samples.error.decode(errors="replace"), "code": code}
    starts, durations, values = (list(column[: samples.count]) for column in columns)
    return {
        "starts": starts,
        "durations": durations,
        "values": values,
        "messages": samples.messages,
        "ports": [one.model_dump() for one in _moved(before, _counts())],
    }


def _key(memory: str, size: int) -> str:
    return f"message {memory} {size}"


def _buffers(world: World, memory: str, size: int) -> Buffers:
    """Return buffers of a size; those of the last repetition where it was the same."""
    key = _key(memory, size)
    if key not in world.kept:
        kind, _, number = memory.partition(":")
        made = host_buffers(size) if kind == "host" else gpu_buffers(size, int(number))
        world.kept[key] = made
    found: Buffers = world.kept[key]
    return found


def _meet(request: Message, world: World) -> bool:
    """Wait for the partner, and with all sources for the moment to begin."""
    until = time.monotonic() + request["patience_s"]
    tag = request["tag"]
    if not request["source"]:
        world.comm.send(None, dest=request["partner"], tag=tag + _HERE)
        return True
    if not _heard(world, request["partner"], tag + _HERE, until):
        return False
    sources = request["sources"]
    leader = sources[0]
    if world.rank != leader:
        world.comm.send(None, dest=leader, tag=tag + _HERE)
        _heard(world, leader, tag + _GO, until)
        return True
    there = [rank for rank in sources[1:] if _heard(world, rank, tag + _HERE, until)]
    for rank in there:
        world.comm.send(None, dest=rank, tag=tag + _GO)
    return True


def _heard(world: World, rank: int, tag: int, until: float) -> bool:
    """Take a message without contents from a rank; False where none came in time."""
    while not world.comm.iprobe(source=rank, tag=tag):
        if time.monotonic() > until:
            return False
    world.comm.recv(source=rank, tag=tag)
    return True


def _counts() -> list[PortCounts]:
    """Return what this host's ports moved so far: those with a device, else all but loopback."""
    files = Files()
    names = [port.interface for port in read_ports(files) if port.interface]
    if not names:
        names = [name for name in files.names("/sys/class/net") if name != "lo"]
    return port_counts(files, names)


def _moved(before: Sequence[PortCounts], after: Sequence[PortCounts]) -> list[PortCounts]:
    """Return what ports moved in between, of those that moved anything."""
    known = {one.name: one for one in before}
    fields = ("received_bytes", "sent_bytes", "errors")
    found = [
        one.model_copy(
            update={key: getattr(one, key) - getattr(known[one.name], key) for key in fields}
        )
        for one in after
        if one.name in known
    ]
    return [one for one in found if one.sent_bytes > 0 or one.received_bytes > 0]

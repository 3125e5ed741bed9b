"""What each rank does for rank 0: it says which ports its host has, and exchanges messages."""

import ctypes
import time
from collections.abc import Sequence

from tierscope.kinds.message.buffers import Buffers, gpu_buffers, host_buffers
from tierscope.kinds.message.library import (
    CODES,
    OPERATIONS,
    Exchange,
    Rows,
    exchange_function,
    mpi_of,
)
from tierscope.model.errors import UserError
from tierscope.model.network import PortCounts
from tierscope.mpi.lines import Message
from tierscope.mpi.world import World
from tierscope.topology.files import Files
from tierscope.topology.network import read_ports
from tierscope.topology.nfs import port_counts

TAGS = 4
"""Of an exchange: two of the library, and these two."""
_HERE, _GO = 2, 3
_MOST_ROWS = 100_000


def serve(request: Message, world: World) -> Message:
    """Answer rank 0; raises UserError where this rank cannot do what is asked."""
    return {"look": _look, "exchange": _exchange}[request["do"]](request, world)


def _look(_request: Message, _world: World) -> Message:
    """Return the ports whose link is up and whose rate is known: RDMA ports where there are any."""
    ports = [port for port in read_ports(Files()) if port.speed]
    ports = [port for port in ports if port.rdma] or ports
    return {"ports": [{"name": port.name, "bits_per_s": port.speed} for port in ports]}


def _exchange(request: Message, world: World) -> Message:
    """Exchange messages with the partner; return rows, where this rank is the source."""
    try:
        buffers = _buffers(world, request["memory"], request["size"])
    except UserError as error:
        return {"failed": str(error), "cannot": True}
    before = _counts()
    if not _meet(request, world):
        return {"failed": f"rank {request['partner']} did not come"}
    capacity = min(_MOST_ROWS, int(4 * request["seconds"] / request["row_s"]) + 16)
    columns = [(ctypes.c_double * capacity)() for _ in range(3)]
    rows = Rows(*columns, capacity=capacity)
    asked = Exchange(
        mpi=mpi_of(world.mpi, world.comm),
        operation=OPERATIONS[request["operation"]],
        source=int(request["source"]),
        partner=request["partner"],
        tag=request["tag"],
        size=request["size"],
        window=request["window"],
        send=buffers.send,
        receive=buffers.receive,
        copy=buffers.copy,
        seconds=request["seconds"],
        row_seconds=request["row_s"],
        patience_s=request["patience_s"],
        seed=request["tag"],
    )
    code = CODES[exchange_function()(ctypes.byref(asked), ctypes.byref(rows))]
    if code:
        # What was posted may still be written to: these buffers are used no more.
        world.kept.pop(_key(request["memory"], request["size"]), None)
        world.kept.setdefault("left", []).append(buffers)
        return {"failed": rows.error.decode(errors="replace"), "code": code}
    starts, durations, values = (list(column[: rows.count]) for column in columns)
    return {
        "starts": starts,
        "durations": durations,
        "values": values,
        "messages": rows.messages,
        "ports": [one.model_dump() for one in _moved(before, _counts())],
    }


def _key(memory: str, size: int) -> str:
    return f"message {memory} {size}"


def _buffers(world: World, memory: str, size: int) -> Buffers:
    """Return buffers of a size; those of the last visit where it was the same."""
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
        world.comm.send(None, dest=leader, tag=request["go_tag"] + _HERE)
        _heard(world, leader, request["go_tag"] + _GO, until)
        return True
    there = [rank for rank in sources[1:] if _heard(world, rank, request["go_tag"] + _HERE, until)]
    for rank in there:
        world.comm.send(None, dest=rank, tag=request["go_tag"] + _GO)
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

"""What every rank does over MPI: it answers requests of rank 0.

Open MPI 4.1 ends a process that sends to a dead rank over TCP, whatever error handler it has (FATAL
in pml_ob1_sendreq.c). So rank 0 sends only to a rank that was heard of a moment ago: while it has
nothing to do, a rank says READY every ``beat_s``. Who is measured sends nothing but measured
messages, and idle ranks take a nap between two looks for messages.
"""

import os
import platform
import time
from typing import Any

from tierscope.kinds.registry import KINDS
from tierscope.model.errors import UserError
from tierscope.mpi.lines import Message
from tierscope.mpi.world import World, start

READY, ORDER, REPLY = 1001, 1002, 1003
"""Tags of messages between rank 0 and the others; kinds take tags below 1000."""
NAP_S = 0.002
"""Between two looks for messages."""


def facts(world: World) -> Message:
    """Return what a rank says of itself at first."""
    return {
        "host": platform.node(),
        "pid": os.getpid(),
        "cpus": sorted(os.sched_getaffinity(0)),
        "mpi": world.library,
    }


def answer(world: World, order: Message) -> Message:
    """Have a request's kind answer it; what goes wrong is a reply, too: ``failed``."""
    try:
        return KINDS[order["kind"]].served(order["request"], world)
    except UserError as error:
        return {"failed": str(error)}
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}"}


def serve() -> None:
    """Answer rank 0's requests until it says that this rank may leave, and leave MPI.

    Raises UserError where there is no MPI.
    """
    world = start()
    said: Message = {"facts": facts(world)}
    sends: list[Any] = []
    while True:
        sends = [one for one in sends if not one.Test()]
        sends.append(world.comm.isend(said, dest=0, tag=READY))
        order = _order(world)
        if order is None:
            said = {}
            continue
        if "leave" in order:
            world.leave(order["leave"])
            return
        reply = answer(world, order)
        sends.append(
            world.comm.isend({"number": order["number"], "reply": reply}, dest=0, tag=REPLY)
        )
        said = {}


def _order(world: World) -> Message | None:
    """Return the next order; None where none came within a beat."""
    until = time.monotonic() + world.beat_s
    while time.monotonic() < until:
        if world.comm.iprobe(source=0, tag=ORDER):
            found: Message = world.comm.recv(source=0, tag=ORDER)
            return found
        time.sleep(NAP_S)
    return None

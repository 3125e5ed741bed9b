"""Start QEMU, follow it to its end, and leave nothing behind.

Everything that passes between this process and the guest goes through sockets and files without
a name, and QEMU dies with this process: however it ends, there is nothing to clean up.
"""

import contextlib
import os
import selectors
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import qemu
from lifetime import die_with_parent
from machine import Machine

PROJECT = Path(__file__).resolve().parent.parent
PASSED_ON = ("TERM", "LANG", "LC_ALL", "NO_COLOR", "COLUMNS")
CONSOLE_TAIL = 40  # lines
TIMED_OUT = 124
DIED = 125
ORPHANED = 129  # as after SIGHUP


@dataclass
class Session:
    """What the guest has said so far."""

    verbose: bool
    ready: float | None = None
    """The guest's own seconds from start to ready."""
    status: int | None = None
    control: bytes = b""
    console: bytes = b""

    def on_control(self, data: bytes) -> None:
        """Take in messages, one a line."""
        *lines, self.control = (self.control + data).split(b"\n")
        for line in lines:
            word, value = line.decode().split()
            if word == "ready":
                self.ready = float(value)
            elif word == "status":
                self.status = int(value)

    def on_console(self, data: bytes) -> None:
        """Keep the tail, show all of it if asked."""
        self.console = (self.console + data)[-64 * 1024 :]
        if self.verbose:
            write(sys.stderr.fileno(), data)

    def tail(self) -> str:
        """The console's last lines."""
        lines = self.console.decode(errors="replace").splitlines()
        return "\n".join(line.rstrip() for line in lines[-CONSOLE_TAIL:])


def receive(channel: socket.socket) -> bytes:
    """What has arrived; nothing where the other end is closed or gone."""
    try:
        return channel.recv(1 << 16)
    except ConnectionResetError:
        return b""


def write(descriptor: int, data: bytes) -> None:
    """Write all of it."""
    while data:
        data = data[os.write(descriptor, data) :]


def settings(kernel: Path, directory: Path, command: str) -> bytes:
    """What testbed/guest reads first: assignments in bash's syntax, ended by a NUL."""
    modules = next((kernel / "lib/modules").iterdir())
    environment = [f"{name}={os.environ[name]}" for name in PASSED_ON if name in os.environ]
    quote = shlex.quote
    lines = [
        f"project={quote(str(PROJECT))}",
        f"directory={quote(str(directory))}",
        f"modules={quote(str(modules))}",
        f"environment=({' '.join(map(quote, environment))})",
        f"command={quote(command)}",
    ]
    return "\n".join(lines).encode() + b"\0"


def run(
    machine: Machine,
    accelerator: str,
    kernel: Path,
    command: str,
    *,
    timeout: float,
    boot_timeout: float,
    verbose: bool,
) -> int:
    """Boot the machine, run a shell line in it, return its exit status or 124 or 125."""
    session = Session(verbose)
    ours, theirs = zip(*(socket.socketpair() for _ in range(4)), strict=True)
    control, output, errors, console = ours
    arguments = [
        *(qemu.PROGRAM, *qemu.arguments(machine, accelerator, kernel), *qemu.shares(PROJECT)),
        *qemu.channels(*(end.fileno() for end in theirs)),
    ]
    passed = [end.fileno() for end in theirs]
    with contextlib.ExitStack() as drives:
        for number, size in enumerate(machine.nvme):
            # Has no name even while it is open.
            drive = drives.enter_context(tempfile.TemporaryFile())
            drive.truncate(size)
            passed.append(drive.fileno())
            arguments += qemu.drive(number, drive.fileno())
        process = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            pass_fds=passed,
            preexec_fn=die_with_parent,
        )
    try:
        for end in theirs:
            end.close()
        control.sendall(settings(kernel, Path.cwd(), command))
        given_up = follow(
            {
                control: session.on_control,
                console: session.on_console,
                output: lambda data: write(sys.stdout.fileno(), data),
                errors: lambda data: write(sys.stderr.fileno(), data),
            },
            session,
            timeout,
            boot_timeout,
        )
    finally:
        process.kill()
        process.wait()
    if session.status is not None:
        return session.status
    if given_up is None:
        given_up = (DIED, "the guest died before the command ended; above, the end of its console")
    status, reason = given_up
    if status == DIED:
        print(session.tail(), file=sys.stderr)
    print(f"testbed: {reason}", file=sys.stderr)
    return status


def follow(
    handlers: dict[socket.socket, Callable[[bytes], None]],
    session: Session,
    timeout: float,
    boot_timeout: float,
) -> tuple[int, str] | None:
    """Hand on all that arrives until QEMU ends; else the status and why it was given up."""
    start = time.monotonic()
    parent = os.getppid()
    with selectors.DefaultSelector() as selector:
        for channel, handler in handlers.items():
            selector.register(channel, selectors.EVENT_READ, (channel, handler))
        while selector.get_map():
            limit = timeout if session.ready is not None else min(timeout, boot_timeout)
            remaining = start + limit - time.monotonic()
            if remaining <= 0:
                if limit == timeout:
                    return TIMED_OUT, f"the command had not ended after {timeout:g} s"
                return DIED, f"the guest was not up after {boot_timeout:g} s"
            if os.getppid() != parent:  # a killed make tells nobody
                return ORPHANED, "what started this has ended, and so does the machine"
            for key, _ in selector.select(min(remaining, 1)):
                channel, handler = key.data
                data = receive(channel)
                if data:
                    handler(data)
                else:
                    selector.unregister(channel)
    return None

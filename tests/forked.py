"""tierscope as a user runs it, forked from a process that has it imported.

A Python of its own imports for 0.4 s, in the virtual machine for 5 s, and pydantic makes each
model's validator when it is first used, which takes as long again. So commands are forked from a
server that imports and makes what the first command of all needed, and what another one needed once
it is run again. Tests themselves cannot be forked: libraries that draw have threads of their own,
which a fork does not have.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import traceback
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

_MOST = 1 << 20
"""Bytes of a message."""


def tierscope(
    *words: object,
    environment: dict[str, str] | None = None,
    folder: Path | None = None,
    stdin: str = "",
) -> "subprocess.CompletedProcess[str]":
    """Run a command in a process of its own, and return what it wrote.

    ``environment`` is added to this process's own; ``folder`` is where it runs. A signal that ends
    it is a negative status.
    """
    command = ["tierscope", *map(str, words)]
    asked = {
        "command": command,
        "environment": {**os.environ, **(environment or {})},
        "folder": str(folder or Path.cwd()),
    }
    with (
        tempfile.TemporaryFile() as typed,
        tempfile.TemporaryFile() as stdout,
        tempfile.TemporaryFile() as stderr,
    ):
        typed.write(stdin.encode())
        typed.seek(0)
        streams = [typed.fileno(), stdout.fileno(), stderr.fileno()]
        status = _status(json.dumps(asked).encode(), streams)
        texts = []
        for file in (stdout, stderr):
            file.seek(0)
            texts.append(file.read().decode(errors="surrogateescape"))
    return subprocess.CompletedProcess(command, status, *texts)


def _status(asked: bytes, streams: list[int]) -> int:
    server, process = _server()
    try:
        socket.send_fds(server, [asked], streams)
        return int(server.recv(_MOST))
    except (OSError, ValueError):
        _server.cache_clear()  # the other tests get one that lives
        raise AssertionError(
            f"the server that commands are forked from ended with status {process.wait(10)}"
        ) from None


@cache
def _server() -> "tuple[socket.socket, subprocess.Popen[bytes]]":
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())], pass_fds=[theirs.fileno()]
        )
    return ours, process


def _serve(client: socket.socket) -> None:
    needed: dict[str, list[str]] = {}
    """What a command imported and made when it was run last, by its name; ``_in_use``."""
    while True:
        message, streams, _, _ = socket.recv_fds(client, _MOST, 3)
        if not message:
            return  # the process that tests has ended
        asked = json.loads(message)
        name = " ".join(asked["command"][1:2])
        for one in needed.get(name, []):
            _make(one)
        with tempfile.TemporaryFile() as used:
            child = os.fork()
            if child == 0:
                client.close()
                _become(asked, streams, used.fileno())
            for stream in streams:
                os.close(stream)
            _, status = os.waitpid(child, 0)
            client.send(str(os.waitstatus_to_exitcode(status)).encode())
            used.seek(0)
            first = not needed
            needed[name] = used.read().decode().split()
        if first:
            for one in needed[name]:
                _make(one)


def _in_use() -> set[str]:
    """Return tierscope's modules, and ``module:name`` of models and adapters with validators."""
    modules = [name for name in sys.modules if name.startswith("tierscope.")]
    found = set(modules)
    if "pydantic" not in sys.modules:
        return found
    from pydantic import TypeAdapter
    from pydantic._internal._model_construction import ModelMetaclass

    for module in modules:
        for name, value in vars(sys.modules[module]).items():
            made = (isinstance(value, ModelMetaclass) and value.__pydantic_complete__) or (
                isinstance(value, TypeAdapter) and value.pydantic_complete
            )
            if made:
                found.add(f"{module}:{name}")
    return found


def _make(name: str) -> None:
    """Import a module, or make a validator, as ``_in_use`` names them."""
    module, _, inside = name.partition(":")
    found: Any = import_module(module)
    if inside:
        value = getattr(found, inside)
        (value.model_rebuild if isinstance(value, type) else value.rebuild)()


def _become(asked: dict[str, Any], streams: list[int], used: int) -> NoReturn:
    status = 1
    known = _in_use()
    try:
        os.environ.clear()
        os.environ.update(asked["environment"])
        os.chdir(asked["folder"])
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
        sys.argv = asked["command"]
        import_module("tierscope.cli.main").main()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        with open(used, "w", closefd=False) as file:
            # Modules before what is in them, of which one may need another's.
            file.write("\n".join(sorted(_in_use() - known, key=lambda name: ":" in name)))
        os._exit(status)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))

"""A child process that is spoken with in lines of JSON, and how the child does so."""

import json
import os
import select
import subprocess
from collections.abc import Collection, Sequence
from typing import Any

Message = dict[str, Any]


def _whole_messages(data: bytes) -> tuple[list[Message], bytes]:
    """Return the messages of all whole lines, and what is there of the next line."""
    *lines, rest = data.split(b"\n")
    return [json.loads(line) for line in lines], rest


class LineProcess:
    """A child whose standard input and output carry a JSON object a line."""

    def __init__(
        self,
        command: Sequence[str],
        environment: dict[str, str] | None = None,
        files: Collection[int] = (),
    ) -> None:
        """Start it; of this process's open ``files`` it inherits these."""
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            pass_fds=files,
        )
        self._rest = b""
        self.ended = False
        """It closed its output, which it does when it ends."""

    def fileno(self) -> int:
        """Return what ``select`` waits on."""
        assert self.process.stdout is not None
        return self.process.stdout.fileno()

    def tell(self, message: Message) -> None:
        """Send a message; one that died does not get it, and its end is read from ``read``."""
        assert self.process.stdin is not None
        try:
            os.write(self.process.stdin.fileno(), json.dumps(message).encode() + b"\n")
        except OSError:  # its other end closed
            self.ended = True

    def read(self) -> list[Message]:
        """Return what came; to be called when ``select`` says that something did."""
        data = os.read(self.fileno(), 1 << 20)
        if not data:
            self.ended = True
            return []
        messages, self._rest = _whole_messages(self._rest + data)
        return messages


class ParentLines:
    """The other end of a LineProcess: this process's standard input and output.

    What is printed meanwhile, as by libraries, goes to standard error.
    """

    def __init__(self) -> None:
        self._output = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        self._rest = b""

    def tell(self, message: Message) -> None:
        """Send a message; raises BrokenPipeError where the parent ended."""
        self._output.write(json.dumps(message).encode() + b"\n")
        self._output.flush()

    def read(self, wait_s: float | None) -> list[Message] | None:
        """Return what came, which may take ``wait_s``, for ever where that is None.

        None where the parent ended, or said that it will say no more.
        """
        ready, _, _ = select.select([0], [], [], wait_s)
        if not ready:
            return []
        data = os.read(0, 1 << 16)
        if not data:
            return None
        messages, self._rest = _whole_messages(self._rest + data)
        return messages

"""A child process that is spoken with in lines of JSON."""

import json
import os
import subprocess
from collections.abc import Sequence
from typing import Any

Message = dict[str, Any]


class LineProcess:
    """A child whose standard input and output carry a JSON object a line."""

    def __init__(self, command: Sequence[str], environment: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
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
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [json.loads(line) for line in lines]

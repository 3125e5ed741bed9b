"""CPU time that other processes use meanwhile, as /proc/PID/stat counts it (proc(5))."""

import os
import time
from collections.abc import Collection
from dataclasses import dataclass

from tierscope.machine.files import Files

_TICKS = os.sysconf("SC_CLK_TCK")
_USER, _SYSTEM = 11, 12
"""Fields of /proc/PID/stat behind the name."""


@dataclass(frozen=True)
class Others:
    """What others used meanwhile."""

    cpus: float
    """CPUs, on average over the time."""
    name: str
    """The program that used most of it; empty where nobody used any."""


class Watch:
    """Counts from when it is made. Processes that have ended when it is asked are not counted."""

    def __init__(self, files: Files | None = None) -> None:
        self._files = files or Files()
        self._began = time.monotonic()
        self._before = {pid: used for pid, (_, used) in self._times().items()}

    def others(self, own: Collection[int]) -> Others:
        """Return what processes but our own ones used since, in CPUs."""
        seconds = max(1e-9, time.monotonic() - self._began)
        used: dict[str, float] = {}
        for pid, (name, total) in self._times().items():
            if pid not in own and pid != os.getpid():
                # A process that has begun since has used all of its time since.
                since = max(0.0, total - self._before.get(pid, 0.0))
                used[name] = used.get(name, 0.0) + since
        most = max(used, key=lambda name: used[name], default="")
        return Others(sum(used.values()) / seconds, most if used.get(most) else "")

    def _times(self) -> dict[int, tuple[str, float]]:
        """Return each process's name and CPU time in seconds; threads count with their process."""
        found = {}
        for name in self._files.names("/proc"):
            if not name.isdecimal():
                continue
            before, sign, after = (self._files.text(f"/proc/{name}/stat") or "").rpartition(")")
            fields = after.split()
            if sign and len(fields) > _SYSTEM:
                ticks = int(fields[_USER]) + int(fields[_SYSTEM])
                found[int(name)] = (before.partition("(")[2], ticks / _TICKS)
        return found

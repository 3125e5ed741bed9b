"""End a child that may wait in the kernel, where no signal reaches it."""

import contextlib
import re
import subprocess
import threading
from pathlib import Path
from typing import Any

_PATIENCE_S = 1.0
"""Time that the kernel gets to take a killed process away."""


def end_or_abandon(process: "subprocess.Popen[Any]", patience_s: float = _PATIENCE_S) -> str:
    """Kill a process; return "" once it is gone, else what it waits for.

    One that waits in the kernel for what does not come (a dead NFS server, a drive that is gone)
    ignores even SIGKILL. It is left behind, and reaped should it ever end.
    """
    process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(patience_s)
        return ""
    threading.Thread(target=process.wait, daemon=True).start()
    return waiting(process.pid)


def waiting(pid: int) -> str:
    """Say what a process waits for in the kernel, as far as this user may see it."""
    place = ""
    with contextlib.suppress(OSError):
        for thread in sorted(Path(f"/proc/{pid}/task").iterdir()):
            with contextlib.suppress(OSError):  # it ended meanwhile
                state = (thread / "stat").read_text().rpartition(") ")[2][:1]
                if state == "D":  # the others died when the process was killed
                    place = place or _place(thread)
    return f"process {pid} waits in the kernel" + (f" ({place})" if place else "")


def _place(thread: Path) -> str:
    with contextlib.suppress(OSError):
        # Innermost first: "[<0>] rpc_wait_bit_killable+0x24/0xa0 [sunrpc]"; for root only.
        frame = re.match(r"\[<\w+>\] ([\w.]+)", (thread / "stack").read_text())
        if frame:
            return frame[1]
    with contextlib.suppress(OSError):
        return (thread / "wchan").read_text().strip("0")
    return ""

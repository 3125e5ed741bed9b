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
    where = ""
    with contextlib.suppress(OSError):
        # Innermost first: "[<0>] rpc_wait_bit_killable+0x24/0xa0 [sunrpc]"; for root only.
        frame = re.match(r"\[<\w+>\] ([\w.]+)", Path(f"/proc/{pid}/stack").read_text())
        where = frame[1] if frame else ""
    with contextlib.suppress(OSError):
        where = where or Path(f"/proc/{pid}/wchan").read_text().strip("0")
    return f"process {pid} waits in the kernel" + (f" ({where})" if where else "")

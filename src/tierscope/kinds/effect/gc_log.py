"""The log of a JVM's garbage collector, of all of its collectors since JDK 9 (JEP 158, JEP 271).

``-Xlog:gc,gc+phases`` has a line for each pause, of ZGC among the phases::

    [0.021s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(256M) 3.123ms
    [0.102s][info][gc,phases] GC(1) Pause Mark Start 0.005ms
"""

import re
from pathlib import Path

_PAUSE = re.compile(r"\bGC\(\d+\) Pause .*?\b(\d+(?:[.,]\d+)?)ms\s*$", re.MULTILINE)
VARIABLE = "JAVA_TOOL_OPTIONS"
"""What every JVM reads its options from (JVM Tool Interface)."""


def with_gc_log(environment: dict[str, str], directory: Path) -> dict[str, str]:
    """Return an environment in which each JVM writes its log into a directory."""
    log = f"-Xlog:gc,gc+phases:file={directory}/gc-%p.log::filecount=0"
    return {**environment, VARIABLE: f"{environment.get(VARIABLE, '')} {log}".strip()}


def logs_in(directory: Path) -> str:
    """Return the logs that JVMs wrote, one after the other; empty where none did."""
    return "".join(path.read_text(errors="replace") for path in sorted(directory.glob("gc-*.log")))


def pauses(log: str) -> list[float]:
    """Return the pauses that a log has, in ns."""
    return [float(found.replace(",", ".")) * 1e6 for found in _PAUSE.findall(log)]

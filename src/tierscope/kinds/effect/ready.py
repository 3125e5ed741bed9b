"""Ready programs from the distribution, that placements of memory matter to."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tierscope.kinds.effect.metrics import parse_metrics
from tierscope.kinds.effect.spec import Reported
from tierscope.plans.grammar import format_size

_JOBS = Path(__file__).with_name("jobs")
_VALUE = 1000
"""Bytes of a record's value, as the records of YCSB have (10 fields of 100 bytes)."""
_READS = 100_000
_ROW = 16
"""Bytes of a row of the table that DuckDB scans."""
_NUMBER = r"([0-9.]+(?:e[+-]?[0-9]+)?)"


@dataclass(frozen=True)
class Job:
    """What is run, and what it reports."""

    program: list[str]
    client: list[str] = field(default_factory=list)
    reported: list[Reported] = field(default_factory=list)
    gc_log: bool = False
    package: str = ""
    """What to install where it is missing."""
    title: str = ""
    """What tables call it; empty: its command."""

    def with_metrics(self, more: list[Reported]) -> "Job":
        """Return it with further numbers."""
        return replace(self, reported=[*self.reported, *more])


def _python(name: str, *arguments: object) -> list[str]:
    return [sys.executable, str(_JOBS / name), *map(str, arguments)]


def _printed(*names: str) -> list[Reported]:
    """Return the numbers that jobs print in lines of their own: ``NAME: NUMBER UNIT``."""
    lines = []
    for one in names:
        name, _, unit = one.partition(":")
        lines.append(f"{one}=^{name}: {_NUMBER} {unit}$")
    return parse_metrics("\n".join(lines))


def _redis(size: int, _command: Sequence[str]) -> Job:
    """YCSB's workload C: 100% reads, zipfian with a constant of 0.99 (Cooper et al., SoCC 2010)."""
    socket = "{scratch}/redis.sock"
    quiet = ["--save", "", "--appendonly", "no", "--port", "0", "--unixsocket", socket]
    client = _python("zipf_client.py", socket, max(1, size // _VALUE), _VALUE, _READS)
    return Job(
        ["redis-server", *quiet],
        client,
        _printed("throughput:1/s", "mean:us", "p50:us", "p99:us", "p99.9:us"),
        package="redis-server",
        title=f"redis, {format_size(size)}",
    )


def _jvm(size: int, _command: Sequence[str]) -> Job:
    """A forest of decision trees over rows that fill half of the heap."""
    heap = [f"-Xms{size}", f"-Xmx{size}"]
    return Job(
        ["java", *heap, str(_JOBS / "Forest.java"), str(size // 2)],
        gc_log=True,
        package="default-jdk-headless",
        title=f"jvm, heap of {format_size(size)}",
    )


def _duckdb(size: int, _command: Sequence[str]) -> Job:
    """A scan and a join of a table in memory."""
    return Job(
        _python("duckdb_queries.py", max(1, size // _ROW)),
        reported=_printed("scan:s", "join:s"),
        title=f"duckdb, {format_size(size)}",
    )


def _stream(_size: int, command: Sequence[str]) -> Job | None:
    """STREAM's program as its user has built it; its best rates are in units of 10^6 bytes/s."""
    if not command:
        return None
    names = ("Copy", "Scale", "Add", "Triad")
    lines = (f"{name}:MB/s=^{name}: +{_NUMBER}" for name in names)
    return Job([*command], reported=parse_metrics("\n".join(lines)))


READY: dict[str, Callable[[int, Sequence[str]], Job | None]] = {
    "redis": _redis,
    "jvm": _jvm,
    "duckdb": _duckdb,
    "stream": _stream,
}
"""By name: from the bytes of its data and the command that was given, what to run; None where a
command is needed and there is none."""

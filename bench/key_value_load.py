"""The engine's load of a key-value server beside redis-benchmark.

Both read values of 1000 bytes from one redis-server over its Unix socket, 50 connections with one
request each, all records equally likely, in turn. The engine verifies each value, redis-benchmark
none: a ratio under 1 would say that the load slows what it measures. Needs redis-server and
redis-benchmark (``tools/bootstrap --programs``).
"""

import csv
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pairs import Comparison, alternate
from tierscope.engine.process import find_engine

PAIRS = int(os.environ.get("PAIRS", "12"))
SECONDS = float(os.environ.get("SECONDS", "3"))
"""Of a run."""
RECORDS = 50_000
VALUE = 1000
CLIENTS = 50


def compare() -> Iterator[Comparison]:
    """A comparison of the throughput."""
    with redis_server() as socket:
        engine_load(socket, "--fill")
        # Keys are random, so that more requests than records store nearly all of them.
        redis_benchmark(socket, "set", 20 * RECORDS, "-P", "64")
        reads = int(redis_benchmark(socket, "get", 50_000) * SECONDS)
        yield alternate(
            "reads by 50 clients / redis-benchmark",
            "1/s",
            PAIRS,
            lambda: throughput(engine_load(socket, "--skew", "0", "--seconds", str(SECONDS))),
            lambda: redis_benchmark(socket, "get", reads),
        )


@contextmanager
def redis_server() -> Iterator[Path]:
    """The socket of a server that keeps nothing on disk."""
    with tempfile.TemporaryDirectory(prefix="bench-redis-") as directory:
        socket = Path(directory) / "socket"
        words = ["redis-server", "--port", "0", "--unixsocket", str(socket), "--save", ""]
        with subprocess.Popen([*words, "--dir", directory], stdout=subprocess.DEVNULL) as server:
            try:
                while not socket.exists():
                    if server.poll() is not None:
                        raise RuntimeError(f"redis-server ended with status {server.returncode}")
                    time.sleep(0.01)
                yield socket
            finally:
                server.terminate()


def engine_load(socket: Path, *words: str) -> str:
    """What the engine prints of its load; raises CalledProcessError where it fails."""
    of_all = ["--protocol", "redis", "--socket", str(socket), "--bytes", str(RECORDS * VALUE)]
    of_all += ["--value", str(VALUE), "--clients", str(CLIENTS)]
    return output([str(find_engine()), "key-value-load", *of_all, *words])


def throughput(lines: str) -> float:
    """Answers a second."""
    found = re.search(r"^throughput: (\S+) 1/s$", lines, re.MULTILINE)
    assert found is not None, lines
    return float(found[1])


def redis_benchmark(socket: Path, operation: str, requests: int, *words: str) -> float:
    """Requests a second."""
    of_all = ["redis-benchmark", "-s", str(socket), "-t", operation, "-c", str(CLIENTS)]
    of_all += ["-n", str(requests), "-d", str(VALUE), "-r", str(RECORDS), "--csv"]
    (row,) = csv.DictReader(output([*of_all, *words]).splitlines())
    return float(row["rps"])


def output(command: list[str]) -> str:
    """What a command prints; raises CalledProcessError where it fails."""
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout

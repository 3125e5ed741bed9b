"""A client of Redis: fills it with records, then reads them one at a time, most often a few.

``zipf_client.py SOCKET RECORDS VALUE_BYTES READS``: the reads are YCSB's workload C. Which records
are popular is random, by a fixed seed, so that each run reads the same. The protocol is RESP
(https://redis.io/docs/latest/develop/reference/protocol-spec/).
"""

import itertools
import random
import socket
import sys
import time
from collections import Counter
from statistics import fmean

from tierscope.model.histogram import bucket_of, values_of

_CONSTANT = 0.99
_BATCH = 1000
_PATIENCE_S = 60.0
_PERCENTILES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}


def main() -> None:
    """Fill, read, print."""
    path, records, size, reads = sys.argv[1], *map(int, sys.argv[2:5])
    connection = connect(path)
    fill(connection, records, size)
    times, seconds = read(connection, popular(records, reads), size)
    print(f"throughput: {len(times) / seconds} 1/s")
    print(f"mean: {fmean(times) / 1e3} us")
    for name, value in percentiles(times).items():
        print(f"{name}: {value / 1e3} us")


def connect(path: str) -> socket.socket:
    """Connect to a server that may be starting."""
    give_up = time.monotonic() + _PATIENCE_S
    while True:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(path)
        except OSError:
            connection.close()
            if time.monotonic() > give_up:
                sys.exit(f"no server at {path} within {_PATIENCE_S:.0f} s")
            time.sleep(0.02)
        else:
            return connection


def request(*words: bytes) -> bytes:
    """Return a command as RESP has it."""
    parts = b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)
    return b"*%d\r\n%s" % (len(words), parts)


def key(number: int) -> bytes:
    """Return a record's key, as YCSB names them."""
    return b"user%d" % number


def popular(records: int, reads: int) -> list[bytes]:
    """Return the keys to read: the record of rank r with a probability in proportion to r^-0.99."""
    order = random.Random(1)  # noqa: S311  no secret
    keys = [*range(records)]
    order.shuffle(keys)
    weights = [*itertools.accumulate(rank**-_CONSTANT for rank in range(1, records + 1))]
    return [key(number) for number in order.choices(keys, cum_weights=weights, k=reads)]


def fill(connection: socket.socket, records: int, size: int) -> None:
    """Store records of random values."""
    contents = random.Random(2)  # noqa: S311  no secret
    for first in range(0, records, _BATCH):
        numbers = range(first, min(first + _BATCH, records))
        connection.sendall(
            b"".join(request(b"SET", key(n), contents.randbytes(size)) for n in numbers)
        )
        expect(connection, b"+OK\r\n" * len(numbers))


def expect(connection: socket.socket, answer: bytes) -> None:
    """Receive what is expected; end the program where something else comes."""
    found = b""
    while len(found) < len(answer):
        part = connection.recv(len(answer) - len(found))
        found += part
        if not part or not answer.startswith(found):
            sys.exit(f"the server answered {found[-200:]!r}")


def read(connection: socket.socket, keys: list[bytes], size: int) -> tuple[list[int], float]:
    """Return the time of each read in ns, and that of all in seconds."""
    head = b"$%d\r\n" % size
    buffer = memoryview(bytearray(len(head) + size + 2))
    requests = [request(b"GET", one) for one in keys]
    times = []
    began = time.perf_counter_ns()
    for one in requests:
        start = time.perf_counter_ns()
        connection.sendall(one)
        received = 0
        while received < len(buffer):
            count = connection.recv_into(buffer[received:])
            if not count or buffer[0] != head[0]:
                sys.exit(f"the server answered {bytes(buffer[: received + count])[:200]!r}")
            received += count
        times.append(time.perf_counter_ns() - start)
        if buffer[: len(head)] != head:
            sys.exit(f"the server answered {bytes(buffer[:200])!r}")
    return times, (time.perf_counter_ns() - began) / 1e9


def percentiles(times: list[int]) -> dict[str, float]:
    """Return percentiles in ns, by tierscope's histogram of two significant digits."""
    counts = Counter(map(bucket_of, times))
    buckets = sorted(counts)
    below = [*itertools.accumulate(counts[bucket] for bucket in buckets)]
    found = {}
    for name, share in _PERCENTILES.items():
        at = next(i for i, count in enumerate(below) if count >= share * len(times))
        found[name] = fmean(values_of(buckets[at]))
    return found


if __name__ == "__main__":
    main()

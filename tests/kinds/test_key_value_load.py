"""The engine's load of key-value servers, against real ones and against servers that misbehave."""

import contextlib
import getpass
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tierscope.engine.process import find_engine
from waiting import wait_until

RECORDS = 500
VALUE = 1000
OF_ALL = ["--bytes", str(RECORDS * VALUE), "--value", str(VALUE)]
FIGURES = {
    "throughput": "1/s",
    "mean": "us",
    "p50": "us",
    "p99": "us",
    "p99.9": "us",
    "offered": "1/s",
    "achieved": "1/s",
    "warm-up": "s",
}
Done = subprocess.CompletedProcess[str]


def command(where: list[str], *words: str) -> list[str]:
    return [str(find_engine()), "key-value-load", *where, *OF_ALL, *words]


def load(where: list[str], *words: str) -> Done:
    return subprocess.run(command(where, *words), capture_output=True, text=True, check=False)


def figures(done: Done) -> dict[str, float]:
    """What was printed, each figure in its unit."""
    assert (done.returncode, done.stderr) == (0, "")
    lines = [re.fullmatch(r"(\S+): (\S+) (\S+)", line) for line in done.stdout.splitlines()]
    found = [line.groups() for line in lines if line]
    assert len(found) == len(lines), done.stdout
    assert all(FIGURES[name] == unit for name, _, unit in found)
    return {name: float(value) for name, value, _ in found}


def problem(done: Done) -> str:
    """The one line of a load that failed, without the server's name."""
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    (line,) = done.stderr.splitlines()
    found = re.fullmatch(r"tierscope-engine: [^ ]+: (.*)", line)
    assert found is not None, line
    return found[1]


# Real servers.


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def redis_server(folder: Path, port: int) -> tuple[list[str], list[str]]:
    """A server's command, and where it is."""
    path = folder / "redis"
    where = ["--port", str(port)] if port else ["--port", "0", "--unixsocket", str(path)]
    words = ["redis-server", *where, "--save", "", "--dir", str(folder)]
    return words, ["--protocol", "redis", *place(path, port)]


def memcached(folder: Path, port: int) -> tuple[list[str], list[str]]:
    """A server's command, and where it is."""
    path = folder / "memcached"
    where = ["-l", "127.0.0.1", "-p", str(port)] if port else ["-s", str(path)]
    words = ["memcached", "-u", getpass.getuser(), *where]
    return words, ["--protocol", "memcached", *place(path, port)]


def place(path: Path, port: int) -> list[str]:
    return ["--host", "localhost", "--port", str(port)] if port else ["--socket", str(path)]


@contextlib.contextmanager
def running(words: list[str]) -> Iterator[None]:
    """A server of another project, as long as it is used."""
    if shutil.which(words[0]) is None:
        pytest.fail(f"there is no {words[0]}: tools/bootstrap --programs", pytrace=False)
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            yield
        finally:
            server.kill()


@pytest.mark.parametrize("server", [redis_server, memcached])
@pytest.mark.parametrize("over_tcp", [False, True], ids=["socket", "tcp"])
def test_a_server_is_filled_and_loaded(
    server: Callable[[Path, int], tuple[list[str], list[str]]], over_tcp: bool, tmp_path: Path
) -> None:
    words, where = server(tmp_path, free_port() if over_tcp else 0)
    with running(words):
        assert figures(load(where, "--fill")) == {}
        closed = figures(load(where, "--seconds", "0.3", "--warm-up", "0"))
        assert set(closed) == {"throughput", "warm-up"}
        assert closed["throughput"] > 0
        assert closed["warm-up"] == 0
        mixed = ["--clients", "5", "--threads", "2", "--pipeline", "3", "--writes", "0.3"]
        found = figures(load(where, *mixed, "--seconds", "1", "--rate", "500"))
        assert list(found) == list(FIGURES)
        assert 0 < found["p50"] <= found["p99"] <= found["p99.9"]
        # Six standard deviations of the number of arrivals.
        assert found["offered"] == pytest.approx(500, abs=135)
        assert found["achieved"] <= found["offered"]
        assert 0.5 <= found["warm-up"] <= 5.5


def ask(where: list[str], request: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(where[-1])
        connection.sendall(request)
        return connection.recv(1000)


def test_records_have_ycsb_names_and_a_lost_one_is_noticed(tmp_path: Path) -> None:
    words, where = redis_server(tmp_path, 0)
    with running(words):
        load(where, "--fill")
        assert ask(where, b"DBSIZE\r\n") == b":%d\r\n" % RECORDS
        assert ask(where, b"STRLEN user%d\r\n" % (RECORDS - 1)) == b":%d\r\n" % VALUE
        assert ask(where, b"FLUSHALL\r\n") == b"+OK\r\n"
        said = problem(load(where))
        assert re.match(r"reading the value of user\d+ finds nothing; fill the server first", said)
        assert load(where, "--writes", "1", "--seconds", "0.1").returncode == 0


def test_a_server_that_forgets_records_is_noticed(tmp_path: Path) -> None:
    words, where = memcached(tmp_path, 0)
    with running([*words, "-m", "8"]):
        large = ["--bytes", str(64 << 20)]
        assert load(where, "--fill", *large).returncode == 0
        assert "finds nothing" in problem(load(where, *large))


# A server of our own, for its faults.


class FakeServer:
    """A Redis with one thread that keeps its records in a dictionary.

    ``fault(word, last_word, answer)`` sees each request before its answer is sent, and returns what
    to send instead; None closes the connection.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.where = ["--protocol", "redis", "--socket", str(path)]
        self.fault: Callable[[bytes, bytes, bytes], bytes | None] = lambda _, __, answer: answer
        self.records: dict[bytes, bytes] = {}
        self.reads = 0
        self.in_pieces = False
        self.lock = threading.Lock()
        self.listening = socket.socket(socket.AF_UNIX)

    def start(self) -> None:
        self.listening.bind(str(self.path))
        self.listening.listen(100)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listening.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=[connection], daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        # Clients that end with requests on their way reset the connection.
        with contextlib.suppress(OSError), connection, connection.makefile("rb") as requests:
            while head := requests.readline():
                words = []
                for _ in range(int(head[1:])):
                    size = int(requests.readline()[1:])
                    words.append(requests.read(size + 2)[:-2])
                # One request at a time, so that a fault that waits holds up all clients.
                with self.lock:
                    answer = self.fault(words[0], words[-1], self._do(words))
                if answer is None:
                    return
                first = len(answer) // 2 if self.in_pieces else len(answer)
                connection.sendall(answer[:first])
                if self.in_pieces:
                    time.sleep(0.001)
                    connection.sendall(answer[first:])

    def _do(self, words: list[bytes]) -> bytes:
        if words[0] == b"PING":
            return b"+PONG\r\n"
        if words[0] == b"SET":
            self.records[words[1]] = words[2]
            return b"+OK\r\n"
        self.reads += 1
        value = self.records.get(words[1])
        return b"$-1\r\n" if value is None else b"$%d\r\n%s\r\n" % (len(value), value)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[FakeServer]:
    """A server that runs and is filled."""
    made = FakeServer(tmp_path / "fake")
    made.start()
    filled = load(made.where, "--fill", "--clients", "2")
    assert (filled.returncode, filled.stdout, filled.stderr) == (0, "", "")
    assert len(made.records) == RECORDS
    yield made
    made.listening.close()


def test_values_do_not_look_alike(server: FakeServer) -> None:
    assert all(len(value) == VALUE for value in server.records.values())
    assert len(set(server.records.values())) == RECORDS
    # 256 kinds of bytes, as random ones have.
    assert len(set(b"".join(server.records.values()))) == 256


def flipped(answer: bytes) -> bytes:
    return answer[:-3] + bytes([answer[-3] ^ 1]) + answer[-2:]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (flipped, "finds 1000 bytes that are not the 1000 bytes stored"),
        (lambda _: b"$3\r\nabc\r\n", "finds 3 bytes that are not the 1000 bytes stored"),
        (lambda _: b"$-1\r\n", "finds nothing; fill the server first"),
        (lambda _: b"$999999999999\r\n", r"is answered by '\$999999999999'"),
        (lambda _: b"-ERR no\r\n", "is answered by 'ERR no'"),
        (lambda _: b"garbage\x01\r\n", r"is answered by 'garbage\?'"),
        (lambda _: b"+OK\r\n", "finds 2 bytes that are not"),
    ],
)
def test_an_answer_that_is_wrong_ends_the_load(
    server: FakeServer, answer: Callable[[bytes], bytes], said: str
) -> None:
    def fault(_word: bytes, _key: bytes, right: bytes) -> bytes:
        return answer(right) if server.reads == 100 else right

    server.fault = fault
    assert re.match(rf"reading the value of user\d+ {said}", problem(load(server.where)))


def test_a_value_of_another_record_is_wrong(server: FakeServer) -> None:
    other = server.records[b"user1"]
    server.records = dict.fromkeys(server.records, other)
    assert "finds 1000 bytes that are not the 1000 bytes stored" in problem(load(server.where))


def test_a_write_that_is_refused_ends_the_load(server: FakeServer) -> None:
    server.fault = lambda word, _, right: b"-OOM full\r\n" if word == b"SET" else right
    said = problem(load(server.where, "--writes", "0.5"))
    assert re.fullmatch(r"storing the value of user\d+ is answered by 'OOM full'", said)


def test_words_that_nobody_asked_for_end_the_load(server: FakeServer) -> None:
    server.fault = lambda word, _, right: right + right if word == b"GET" else right
    said = problem(load(server.where, "--clients", "1"))
    assert re.fullmatch(
        r"the server says '\$1000.*', which nobody asked for|reading the value .* not the .*", said
    )


def test_a_server_that_goes_away_ends_the_load(server: FakeServer) -> None:
    server.fault = lambda _, __, right: None if server.reads == 100 else right
    assert problem(load(server.where)) == "the server closed the connection"


def test_a_server_that_falls_silent_ends_the_load(server: FakeServer) -> None:
    server.fault = lambda word, _, right: b"" if word == b"GET" else right
    assert problem(load(server.where)) == "the server has not answered for 10 s"


def test_answers_may_come_in_pieces(server: FakeServer) -> None:
    server.in_pieces = True
    words = ["--writes", "0.5", "--pipeline", "3", "--clients", "2", "--seconds", "0.5"]
    assert figures(load(server.where, *words))["throughput"] > 0
    assert server.reads > 0


def test_a_server_that_is_starting_is_waited_for(tmp_path: Path) -> None:
    server = FakeServer(tmp_path / "late")
    greetings = 0

    def loading(word: bytes, _key: bytes, right: bytes) -> bytes:
        nonlocal greetings
        if word != b"PING":
            return right
        greetings += 1
        return right if greetings > 3 else b"-LOADING Redis is loading the dataset in memory\r\n"

    server.fault = loading
    with subprocess.Popen(command(server.where, "--fill")) as filling:
        time.sleep(0.3)
        server.start()
        assert filling.wait() == 0
    assert (greetings, len(server.records)) == (4, RECORDS)
    server.listening.close()


def test_a_server_that_refuses_the_greeting_is_not_waited_for(server: FakeServer) -> None:
    server.fault = lambda *_: b"-NOAUTH Authentication required.\r\n"
    assert problem(load(server.where)) == "answers 'NOAUTH Authentication required.'"
    server.fault = lambda *_: b"HTTP/1.1 400 Bad Request\r\n"
    assert "--protocol says which" in problem(load(server.where))


# The open loop lasts from the 2nd second to the 4th.
@pytest.mark.parametrize("after_s", [2.8, 3.88], ids=["in-between", "at-the-end"])
def test_a_stall_delays_all_requests_that_were_due_in_it(
    server: FakeServer, after_s: float
) -> None:
    began: list[float] = []
    stalls = 0

    def stall(word: bytes, _key: bytes, right: bytes) -> bytes:
        nonlocal stalls
        if word == b"GET" and not began:
            began.append(time.monotonic())
        if began and not stalls and time.monotonic() - began[0] > after_s:
            stalls += 1
            time.sleep(0.2)
        return right

    server.fault = stall
    closed_and_open = ["--seconds", "2", "--warm-up", "0", "--rate", "200", "--clients", "2"]
    found = figures(load(server.where, *closed_and_open))
    assert stalls == 1
    assert found["p99.9"] > 150e3
    # A tenth of all requests was due in the stall, or a twentieth. Had their time counted from when
    # they were sent, two of 400, one for each connection, would have been slow: less than a
    # hundredth.
    assert found["p99"] > 100e3
    assert found["mean"] > 4e3


def test_a_server_that_does_not_keep_up_gives_no_figures(server: FakeServer) -> None:
    def slow(_word: bytes, _key: bytes, right: bytes) -> bytes:
        time.sleep(0.005)
        return right

    server.fault = slow
    words = ["--rate", "1000", "--seconds", "1", "--warm-up", "0", "--clients", "4"]
    found = re.fullmatch(
        r"the server does not keep up: 1000 1/s offered, (\d+) 1/s achieved, [\d.]+ s behind at "
        r"the end; lower --rate",
        problem(load(server.where, *words)),
    )
    assert found is not None
    assert 0 < int(found[1]) <= 201


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_load(server: FakeServer, sent: signal.Signals) -> None:
    words = command(server.where, "--seconds", "600", "--threads", "2")
    # Tests that a shell started in the background ignore SIGINT, and so would the load.
    with subprocess.Popen(words, preexec_fn=lambda: signal.signal(sent, signal.SIG_DFL)) as loading:
        try:
            wait_until(lambda: server.reads > 0, "the load reads")
            loading.send_signal(sent)
            assert loading.wait(timeout=60) == -sent
        finally:
            loading.kill()


def test_options_that_are_wrong_are_one_line_and_status_2(tmp_path: Path) -> None:
    where = ["--protocol", "redis", "--socket", str(tmp_path / "none")]
    done = load(where, "--clients", "0")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "tierscope-engine: --clients takes a whole number from 1 to 10000, not '0'\n"
    )
    long_name = ["--protocol", "redis", "--socket", "/" + "x" * 200]
    assert "a socket's path has at most 107 bytes" in problem(load(long_name))

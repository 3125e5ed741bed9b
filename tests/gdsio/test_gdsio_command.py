"""``tierscope gdsio`` from arguments to output and status, with repetitions that nobody
measured."""

import json
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from tests.gdsio.synthetic_io import io_repetition
from tests.gpu import gpu_machine

from tierscope.cli.app import app
from tierscope.kinds.plan import Plan
from tierscope.model.cause import Cause
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.event import Event, Failed, Skipped
from tierscope.peers import drop_in
from tierscope.peers.gdsio import run as command
from tierscope.runs.record import Bounds, measurement_of

LINE = "IoType: READ XferType: {} Threads: 2 DataSetSize: {}/65536(KiB) IOSize: 1024(KiB) "
WARNED = "tierscope: gdsio: other programs took CPU time\n"
READ = "-D /data -w 2 -s 32M -T 1 -x 1"
Engine = Callable[..., None]


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    """Let repetitions of given evidence stand in for measuring; call it with what they are to hold.

    ``events``: what the engine says behind the repetitions, or in their place.
    """
    told: dict[str, Any] = {}

    def use(
        events: tuple[Event, ...] = (), repetitions: int = 2, cut: bool = False, **io: Any
    ) -> None:
        told.update(events=events, repetitions=repetitions, cut=cut, io=io, plans=[])

    def measured(plan: Plan, *_given: Any, start_at: datetime | None) -> Any:
        told["plans"].append(plan)
        (spec,) = plan.measurements
        watch = _given[-1]
        repetitions = [io_repetition(spec, **told["io"]) for _ in range(told["repetitions"])]
        events: list[Event] = [*repetitions, *told["events"]]
        for event in events:
            watch(event)
        last = next((e for e in events if isinstance(e, Failed | Skipped)), None)
        found = measurement_of(spec, repetitions, last, Bounds(), told["cut"])
        code = {"measured": 0, "failed": 1, "skipped": 3}[found.status]
        return SimpleNamespace(
            run=SimpleNamespace(measurements=[found]),
            path=Path("/runs/x.jsonl"),
            error=None,
            exit_code=ExitCode.INTERRUPTED if told["cut"] else ExitCode(code),
        )

    monkeypatch.setattr(drop_in, "measure", measured)
    said = {False: ["other programs took CPU time"], True: ["no interval for 1 of 1 figures"]}
    monkeypatch.setattr(drop_in, "warnings_of", lambda _run, precision: said[precision])
    monkeypatch.setattr(command, "looked_up", lambda work, _overwrite: work)
    monkeypatch.setattr(command, "discover", lambda: gpu_machine.machine(gpus=2))
    use()
    use.told = told  # type: ignore[attr-defined]
    return use


def call(words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["gdsio", *words.split()], standalone_mode=False)
    if done.exception:
        raise done.exception
    return int(done.return_value), done.stdout, done.stderr


def test_the_result_line_is_all_of_stdout(engine: Engine) -> None:
    code, out, err = call(READ)
    assert code == 0
    assert out.count("\n") == 1
    assert out.startswith(LINE.format("CPUONLY", 2 * 1000 * 1024))
    assert "ops: 2000 total_time 2.000000 secs" in out
    assert err == WARNED


def test_the_way_of_cufile_s_operations_is_said(engine: Engine) -> None:
    engine(ways={"p2p": 900, "posix": 100})
    _, out, err = call(READ.replace("-x 1", "-x 0"))
    assert out.startswith(LINE.format("GPUD", 2 * 1000 * 1024))
    assert err == (
        "tierscope: gdsio: way: 90.0% of 2000 operations by PCI P2PDMA, 10.0% of 2000 operations "
        f"in compatibility mode, through host memory\n{WARNED}"
    )
    engine()
    assert "way not proven: cuFile counted no operations" in call("-D /d -w 2 -s 32M -T 1")[2]


def test_what_drives_moved_is_compared_with_what_was_asked(engine: Engine) -> None:
    engine(device_bytes=1000 << 20)
    said = "tierscope: gdsio: the drives read 1.95 GiB of 1.95 GiB asked (of all programs, by "
    assert call(READ)[2] == f"{said}/sys/block/*/stat)\n{WARNED}"
    engine(device_bytes=5000 << 20, process_bytes=1000 << 20)
    said = "(of this program, by /proc/self/io; for all programs 9.77 GiB)\n"
    assert f"read 1.95 GiB of 1.95 GiB asked {said}" in call(READ)[2]
    engine(device_bytes=0)
    assert "/sys/block/*/stat), so a cache or holes had the rest" in call(READ)[2]


@pytest.mark.parametrize("words", [READ, f"{READ} -I 1"])
def test_figures_that_the_drives_counters_contradict_are_marked(engine: Engine, words: str) -> None:
    mark = " (contradicted by the device's counters)"
    engine(device_bytes=499 << 20)
    assert call(words)[1].endswith(f" secs{mark}\n")
    (result,) = json.loads(call(f"{words} --json")[1])["gdsio"]["results"]
    assert result["bound_by"] == "not-the-device"
    engine(device_bytes=501 << 20)
    assert mark not in call(words)[1]
    engine(device_bytes=0)
    assert mark not in call(words.replace("-x 1", "-x 4"))[1], "the page cache takes part"


def test_json_takes_the_line_s_place(engine: Engine) -> None:
    engine(ways={"nvfs": 1000})
    code, out, _ = call(f"{READ.replace('-x 1', '-x 5')} --json")
    (result,) = json.loads(out)["gdsio"]["results"]
    assert code == 0
    assert result["line"].startswith(LINE.format("GPUD_ASYNC", 2 * 1000 * 1024))
    assert (result["operations"], result["bytes"]) == (2000, 2000 << 20)
    assert result["evidence"]["storage_io"]["ways"] == {"nvfs": 2000}
    assert result["run_file"] == "/runs/x.jsonl"
    assert result["warnings"] == ["other programs took CPU time"]
    assert result["said"] == ["way: 100.0% of 2000 operations by nvidia-fs"]


def test_writes_are_read_back_and_a_verdict_is_given(engine: Engine) -> None:
    engine(verified="2000 blocks, each as written")
    code, out, err = call(f"{READ} -I 3 -V -k 7 -F")
    first, verifying, second = out.splitlines()
    assert code == 0
    assert first.startswith("IoType: RANDWRITE ")
    assert verifying == "Verifying data"
    assert second.startswith("IoType: RANDREAD ")
    assert err.count("tierscope: gdsio: verified: 2000 blocks, each as written\n") == 2
    write, read = (plan.measurements[0] for plan in engine.told["plans"])  # type: ignore[attr-defined]
    assert (write.pattern.operation, read.pattern.operation) == ("write", "read")
    assert (read.pattern.seed, read.pattern.verify, read.pattern.refill) == (7, True, False)


def test_reads_that_are_not_compared_say_so(engine: Engine) -> None:
    assert "not verified: nothing was compared" in call(f"{READ} -V")[2]


WRONG = "/data/gdsio.0 at 4096: expected file 0 offset 4096, found file 0 offset 8192 (misdirected)"


def test_wrong_data_exits_with_1_and_names_it(engine: Engine) -> None:
    engine(events=(Failed(id="x", cause=Cause.VERIFICATION, reason=WRONG),), repetitions=0)
    code, out, err = call(f"{READ} -I 1 -V")
    assert (code, out) == (1, "")
    assert err == f"tierscope: gdsio: {WRONG}\n"


def test_an_error_of_a_later_repetition_is_an_error(engine: Engine) -> None:
    failed = Failed(id="x", cause=Cause.CRASH, reason="the engine died")
    engine(events=(failed,))
    code, out, err = call(READ)
    assert code == 1
    assert out.startswith("IoType: READ ")
    assert "tierscope: gdsio: the engine died\n" in err


def test_what_cannot_be_had_exits_with_3(engine: Engine) -> None:
    skipped = Skipped(id="x", cause=Cause.GPU, reason="there is no cuFile", remedy="install it")
    engine(events=(skipped,), repetitions=0)
    code, out, err = call(f"{READ} --json")
    assert code == 3
    assert json.loads(out)["gdsio"]["results"][0]["errors"] == ["there is no cuFile; install it"]
    assert err == "tierscope: gdsio: there is no cuFile; install it\n"


def test_an_interruption_prints_what_was_measured(engine: Engine) -> None:
    engine(cut=True)
    code, out, _ = call(f"{READ} -V -I 1")
    assert code == 130
    assert out.count("\n") == 1


def test_a_line_for_each_job(engine: Engine) -> None:
    words = "-D /a -d 0 -w 2 -s 32M -D /b -d 1 -w 2 -T 1 -J"
    _, out, _ = call(words)
    first, second, whole = out.splitlines()
    assert first.startswith("job1: IoType: READ XferType: GPUD Threads: 2 DataSetSize: 1024000/655")
    assert second.startswith("job2: IoType: READ XferType: GPUD Threads: 2 ")
    assert whole.startswith("IoType: READ XferType: GPUD Threads: 4 DataSetSize: 2048000/131072(K")
    found = json.loads(call(f"{words} --json")[1])["gdsio"]["results"][0]["jobs"]
    assert [job["operations"] for job in found] == [1000, 1000]


def test_remarks_come_before_the_line(engine: Engine) -> None:
    _, _, err = call(f"{READ} -R")
    assert err == (
        "tierscope: gdsio: -R changes nothing: buffers are always filled with random data\n"
        f"{WARNED}"
    )


@pytest.mark.parametrize("flag", ["-h", "--help", "-x 1 --help"])
def test_help_has_every_flag(flag: str) -> None:
    code, out, _ = call(flag)
    assert code == 0
    flags = set(re.findall(r"^  -(\w)\b", out, re.MULTILINE))
    assert flags == set("fDdnmwPsoixITkUaRFbpVBMJOhv")
    assert max(map(len, out.splitlines())) <= 100


def test_the_version_is_that_of_the_flags() -> None:
    assert re.fullmatch(r"gdsio version :1\.12 \(tierscope .+\)\n", call("-v")[1])


def test_a_wrong_flag_is_an_error_of_2() -> None:
    with pytest.raises(UserError, match=r"^-x: '9' is not a whole number from 0 to 7$") as error:
        call("-D /a -x 9")
    assert error.value.exit_code is ExitCode.REQUEST_WRONG

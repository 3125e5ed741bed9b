"""Hardware prefetchers, switched in a tree of files that stand for the registers of four CPUs."""

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import synthetic

from tierscope.analysis.compare import run_obstacles
from tierscope.engine import prefetchers as module
from tierscope.engine.prefetchers import PrefetcherSwitch, restore_left
from tierscope.engine.repetitions import living_engine
from tierscope.machine.prefetchers import PrefetcherError, find_control, observed, state_of
from tierscope.machine.settings import read_settings, settings_findings
from tierscope.model.cause import Cause
from tierscope.model.event import Failed, Repetition, Started
from tierscope.model.spec import Prefetchers
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.request import Request
from waiting import wait_until

CPUS = range(4)
FOUND = [0x20, 0x20, 0x23, 0x20]
"""Bit 5 is none of ours; two prefetchers of CPU 2 are off."""
INTEL, AMD = 0x1A4, 0xC0000108
SAPPHIRE_RAPIDS = ("GenuineIntel", 6, 0x8F)
OFF = "off: L2 streamer, L2 adjacent line, L1 next line, L1 IP stride"
Fake = Callable[[str], None]


def put(path: Path, at: int, value: int, size: int = 8) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    with path.open("r+b") as file:
        file.seek(at)
        file.write(value.to_bytes(size, "little"))


def machine_of(
    root: Path, cpu: tuple[str, int, int] = SAPPHIRE_RAPIDS, register: int = INTEL, flags: str = ""
) -> Path:
    """A machine of four CPUs below a root."""
    vendor, family, model = cpu
    text = (
        f"vendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: {model}\nflags\t: fpu {flags}"
    )
    for path, content in (
        ("proc/cpuinfo", "\n\n".join([text] * len(CPUS))),
        ("proc/sys/kernel/random/boot_id", "boot-1\n"),
    ):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)
    for number, value in zip(CPUS, FOUND, strict=True):
        put(root / f"dev/cpu/{number}/msr", register, value)
    return root


def values(root: Path, register: int = INTEL) -> list[int]:
    found = []
    for cpu in CPUS:
        with (root / f"dev/cpu/{cpu}/msr").open("rb") as file:
            file.seek(register)
            found.append(int.from_bytes(file.read(8), "little"))
    return found


def state_file(root: Path) -> Path:
    return root / "run/tierscope/prefetchers.json"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return machine_of(tmp_path)


@contextmanager
def switched(root: Path) -> Iterator[PrefetcherSwitch]:
    switch = PrefetcherSwitch(root)
    try:
        yield switch
    finally:
        switch.close()


def test_only_the_known_bits_of_the_cpus_asked_for_are_switched(root: Path) -> None:
    with switched(root) as switch:
        switch.switch([0, 2], "off")
        assert values(root) == [0x2F, 0x20, 0x2F, 0x20]
        assert switch.observe([0, 2]) == OFF
        switch.switch([2, 3], "on")
        assert values(root) == [0x20, 0x20, 0x20, 0x20]
        assert switch.observe([2, 3]) == "on"
        switch.switch([0], "as-found")
        assert values(root) == FOUND
        switch.switch([1], "off")
    assert values(root) == FOUND
    assert not state_file(root).exists()


def test_nothing_is_written_where_nothing_is_asked_for(root: Path) -> None:
    with switched(root) as switch:
        switch.switch([0, 1], "as-found")
        assert switch.observe([0, 2]) == "CPUs 0 on; CPUs 2 off: L2 streamer, L2 adjacent line"
    assert not (root / "run").exists()


_VALUE = st.integers(0, 2**64 - 1)
_STEPS = st.lists(
    st.tuples(
        st.lists(st.sampled_from(CPUS), min_size=1, unique=True),
        st.sampled_from(["as-found", "on", "off"]),
    ),
    max_size=6,
)


@given(before=st.lists(_VALUE, min_size=4, max_size=4), steps=_STEPS)
def test_whatever_was_found_is_restored(
    tmp_path_factory: pytest.TempPathFactory,
    before: list[int],
    steps: list[tuple[list[int], Prefetchers]],
) -> None:
    root = machine_of(tmp_path_factory.mktemp("machine"))
    for cpu, value in zip(CPUS, before, strict=True):
        put(root / f"dev/cpu/{cpu}/msr", INTEL, value)
    known = 0xF
    with (
        mock.patch.object(module, "_watcher", return_value=nullcontext()),
        switched(root) as switch,
    ):
        for cpus, wanted in steps:
            switch.switch(cpus, wanted)
            for cpu, value in enumerate(values(root)):
                is_asked = cpu in cpus and wanted != "as-found"
                bits = (known if wanted == "off" else 0) if is_asked else before[cpu] & known
                assert value == before[cpu] & ~known | bits
    assert values(root) == before


def test_threads_of_a_core_share_their_register(root: Path) -> None:
    (root / "dev/cpu/1/msr").unlink()
    (root / "dev/cpu/1/msr").symlink_to(root / "dev/cpu/0/msr")
    with switched(root) as switch:
        switch.switch([0], "off")
        switch.switch([1], "off")
        assert values(root)[:2] == [0x2F, 0x2F]
    assert values(root) == FOUND


def test_what_cannot_be_restored_is_said_and_stays_on_record(root: Path) -> None:
    switch = PrefetcherSwitch(root)
    switch.switch([0, 1], "off")
    msr = root / "dev/cpu/1/msr"
    msr.rename(root / "hidden")
    with pytest.raises(PrefetcherError, match=r"not restored .*MSR 0x1a4 of CPU 1"):
        switch.close()
    assert values_of_first(root) == FOUND[0]
    (root / "hidden").rename(msr)
    assert "restored" in restore_left(root)
    assert values(root) == FOUND


def test_the_originals_are_on_the_disk_before_the_first_write(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = []

    def pwrite(descriptor: int, data: bytes, at: int) -> int:
        content = json.loads(state_file(root).read_text())
        saved = content["content"]
        written.append((saved["values"], saved["register"], content["boot_id"]))
        return real(descriptor, data, at)

    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", pwrite)
    with switched(root) as switch:
        switch.switch([2], "off")
    assert written[0] == ({"2": 0x23}, "0x1a4", "boot-1")


@pytest.mark.parametrize(
    ("cpu", "flags", "cause", "says"),
    [
        (("GenuineIntel", 6, 0x97), "", Cause.PREFETCHERS, "GenuineIntel family 6, model 151"),
        (("GenuineIntel", 15, 2), "", Cause.PREFETCHERS, "GenuineIntel family 15, model 2"),
        (("AuthenticAMD", 0x17, 49), "", Cause.PREFETCHERS, "AuthenticAMD family 23"),
        (("AuthenticAMD", 0x19, 97), "", Cause.KERNEL, "module cpuid is not loaded"),
        (("", 0, 0), "", Cause.PREFETCHERS, "only prefetchers of x86 CPUs"),
        (SAPPHIRE_RAPIDS, "hypervisor", Cause.PREFETCHERS, "this machine is virtual"),
    ],
)
def test_what_is_not_known_is_refused_and_nothing_written(
    tmp_path: Path, cpu: tuple[str, int, int], flags: str, cause: Cause, says: str
) -> None:
    root = machine_of(tmp_path, cpu, flags=flags)
    with switched(root) as switch, pytest.raises(PrefetcherError, match=says) as caught:
        switch.switch([0], "off")
    assert caught.value.cause is cause
    assert values(root) == FOUND
    assert observed(root, CPUS) == f"unknown: {caught.value}"


@pytest.mark.parametrize(("bits", "known"), [(1 << 13, True), (0, False)])
def test_amd_s_register_is_there_where_cpuid_says_so(
    tmp_path: Path, bits: int, known: bool
) -> None:
    root = machine_of(tmp_path, ("AuthenticAMD", 0x19, 0x11), AMD)
    put(root / "dev/cpu/0/cpuid", 0x80000021, bits, 16)
    put(root / "dev/cpu/0/msr", AMD, 0x3C0)
    if not known:
        with pytest.raises(PrefetcherError, match="no register is known"):
            find_control(root)
        return
    with switched(root) as switch:
        switch.switch([0], "off")
        assert values(root, AMD)[0] == 0x3C0 | 0b101111
        assert "L2 up/down" in switch.observe([0])
    assert values(root, AMD)[0] == 0x3C0


def test_each_obstacle_says_what_to_do(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "dev/cpu/1/msr").unlink()
    with switched(root) as switch, pytest.raises(PrefetcherError) as caught:
        switch.switch([0, 1], "off")
    assert (caught.value.cause, caught.value.remedy) == (Cause.KERNEL, "sudo modprobe msr")
    assert values_of_first(root) == FOUND[0]

    def forbidden(*_: object) -> int:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "pwrite", forbidden)
    with switched(root) as switch, pytest.raises(PrefetcherError, match="refuses") as caught:
        switch.switch([0], "off")
    assert caught.value.cause is Cause.PERMISSION
    assert "allow_writes=on" in caught.value.remedy
    monkeypatch.setattr(os, "pwrite", lambda *_: 8)
    with switched(root) as switch, pytest.raises(PrefetcherError, match="keeps its value"):
        switch.switch([0], "off")
    monkeypatch.setattr(os, "pread", forbidden)
    assert observed(root, [0]).startswith("unknown: cannot read MSR 0x1a4 of CPU 0: needs root")
    assert not state_file(root).exists()


def values_of_first(root: Path) -> int:
    with (root / "dev/cpu/0/msr").open("rb") as file:
        file.seek(INTEL)
        return int.from_bytes(file.read(8), "little")


HOLD = """
import signal, sys, time
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which nohup has ignored
from pathlib import Path
from tierscope.engine.prefetchers import PrefetcherSwitch
switch = PrefetcherSwitch(Path(sys.argv[1]))
switch.switch([0, 1, 2], "off")
print("switched", flush=True)
time.sleep(60)
"""


@pytest.fixture
def run(root: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has switched CPUs 0 to 2."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(root)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "switched\n"
        assert values(root) == [0x2F, 0x2F, 0x2F, 0x20]
        yield process
        process.kill()


def watcher_of(process: subprocess.Popen[str]) -> int:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    (child,) = children
    return int(child)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP, signal.SIGTERM])
def test_a_killed_run_s_prefetchers_are_restored(
    root: Path, run: subprocess.Popen[str], number: int
) -> None:
    run.send_signal(number)
    assert run.wait() == -number
    wait_until(lambda: not state_file(root).exists(), "the prefetchers are restored")
    assert values(root) == FOUND


def test_the_watcher_outlives_what_ends_its_parent(root: Path, run: subprocess.Popen[str]) -> None:
    watcher = watcher_of(run)
    assert os.getsid(watcher) == watcher  # Ctrl-C in the terminal does not reach it
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(watcher, number)
    run.kill()
    run.wait()
    wait_until(lambda: not state_file(root).exists(), "the prefetchers are restored")
    assert values(root) == FOUND


def test_the_lock_lasts_until_the_watcher_has_restored(
    root: Path, run: subprocess.Popen[str]
) -> None:
    watcher = watcher_of(run)
    os.kill(watcher, signal.SIGSTOP)
    run.kill()
    run.wait()
    try:
        with switched(root) as switch, pytest.raises(PrefetcherError, match="another run"):
            switch.switch([0], "on")
        assert restore_left(root) == ""
    finally:
        os.kill(watcher, signal.SIGCONT)
    wait_until(lambda: not state_file(root).exists(), "the prefetchers are restored")
    assert values(root) == FOUND


def kill_both(root: Path, run: subprocess.Popen[str]) -> None:
    os.kill(watcher_of(run), signal.SIGKILL)
    run.kill()
    run.wait()
    with (root / "run/tierscope/prefetchers.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until both are gone


def test_where_the_watcher_is_killed_too_the_next_command_restores(
    root: Path, run: subprocess.Popen[str]
) -> None:
    kill_both(root, run)
    assert values(root) == [0x2F, 0x2F, 0x2F, 0x20]
    assert "restored the prefetchers of CPUs 0-2" in restore_left(root)
    assert values(root) == FOUND
    assert restore_left(root) == ""


def test_what_a_killed_run_left_is_not_taken_for_what_was_found(
    root: Path, run: subprocess.Popen[str]
) -> None:
    kill_both(root, run)
    with switched(root) as switch:
        switch.switch([2, 3], "off")
        assert values(root) == [0x20, 0x20, 0x2F, 0x2F]
    assert values(root) == FOUND


def test_after_a_reboot_the_file_is_void(root: Path, run: subprocess.Popen[str]) -> None:
    kill_both(root, run)
    (root / "proc/sys/kernel/random/boot_id").write_text("boot-2\n")
    assert restore_left(root) == ""
    assert values(root) == [0x2F, 0x2F, 0x2F, 0x20]
    assert not state_file(root).exists()


def test_one_run_at_a_time(root: Path, run: subprocess.Popen[str]) -> None:
    with (
        switched(root) as switch,
        pytest.raises(PrefetcherError, match="another run has switched the prefetchers"),
    ):
        switch.switch([3], "off")
    assert restore_left(root) == ""
    assert values(root) == [0x2F, 0x2F, 0x2F, 0x20]
    run.kill()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"boot_id": "boot-1"}'])
def test_a_state_file_that_is_none_stops_switching(root: Path, content: str) -> None:
    state_file(root).parent.mkdir(parents=True)
    state_file(root).write_text(content)
    with switched(root) as switch, pytest.raises(PrefetcherError, match="cannot be read"):
        switch.switch([0], "off")
    assert "cannot be read" in restore_left(root)
    assert values(root) == FOUND


COMMAND = """
import sys
from pathlib import Path
from tierscope.engine import prefetchers
prefetchers.ROOT = Path(sys.argv.pop(1))
from tierscope.cli.main import main
main()
"""


def test_a_command_measures_with_prefetchers_on_and_off(root: Path, machine: Topology) -> None:
    options = ["--size", "64k", "--pages", "base", "--budget", "0.2", "--json"]
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, root, "latency", "--prefetchers", "off,on", *options],
        capture_output=True,
        text=True,
        check=True,
    )
    off, on = json.loads(done.stdout)["results"]
    assert (off["pattern"]["prefetchers"], off["evidence"]["prefetchers"]) == ("off", OFF)
    assert (on["pattern"]["prefetchers"], on["evidence"]["prefetchers"]) == ("on", "on")
    assert values(root) == FOUND


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_command_that_is_stopped_restores(root: Path, number: int) -> None:
    options = ["--size", "64k", "--budget", "60", "--precision", "0.001%"]
    with subprocess.Popen(
        [sys.executable, "-c", COMMAND, root, "latency", "--prefetchers", "off", *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        wait_until(lambda: values(root) != FOUND, "the prefetchers are switched")
        process.send_signal(number)
        process.wait()
    wait_until(lambda: not state_file(root).exists(), "the prefetchers are restored")
    assert values(root) == FOUND


def test_a_repetition_during_which_others_switched_them_fails(
    root: Path, machine: Topology, fake_engine: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ROOT", root)
    request = Request(kind="latency", options={"size": "64k", "prefetchers": "off"})
    (spec,) = expand([request], machine, thp=True).measurements
    with living_engine() as engine:
        engine.plan([spec])
        (*_, good) = engine.repetition(spec.id, 0.1)
        assert isinstance(good, Repetition)
        assert good.evidence.prefetchers == OFF
        for event in engine.repetition(spec.id, 0.1):
            if isinstance(event, Started):
                put(root / f"dev/cpu/{spec.cpu}/msr", INTEL, 0)
        assert isinstance(event, Failed)
        assert event.cause is Cause.PREFETCHERS
        assert "switched off for the repetition and are now on" in event.reason


def test_runs_with_other_prefetchers_are_not_compared_silently() -> None:
    def run_with(**more: str) -> object:
        header = synthetic.header()
        environment = {**header.environment, **more}
        return synthetic.run(environment=environment)

    on, off, hidden = run_with(prefetchers="on"), run_with(prefetchers=OFF), run_with()
    (said,) = run_obstacles(on, off, frozenset())[0]  # type: ignore[arg-type]
    assert said == f"prefetchers: on in the base run, {OFF} in the new run"
    assert run_obstacles(on, off, frozenset({"prefetchers"})) == ([], [said])  # type: ignore[arg-type]
    assert run_obstacles(on, hidden, frozenset()) == ([], [])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "severity", "says"),
    [(0, "good", "on"), (2, "note", "off: L2 adjacent line"), (None, "note", "not visible: .*msr")],
)
def test_the_doctor_says_their_state(
    root: Path, machine: Topology, value: int | None, severity: str, says: str
) -> None:
    seen = machine.model_copy(update={"cpus": [0]})
    msr = root / "dev/cpu/0/msr"
    msr.unlink() if value is None else put(msr, INTEL, value)
    findings = settings_findings(seen, {}, None, str(root))
    (finding,) = [one for one in findings if one.subject == "hardware prefetchers"]
    assert finding.severity == severity
    assert re.match(says, finding.found)
    environment = read_settings(seen, str(root)).get("prefetchers")
    assert environment == (None if value is None else finding.found)


def test_the_state_is_named_bit_by_bit(root: Path) -> None:
    put(root / "dev/cpu/0/msr", INTEL, 0b1010)
    assert state_of(root, [0]) == "off: L2 adjacent line, L1 IP stride"

"""Switch the hardware prefetchers of CPUs for repetitions, and restore them whatever happens.

Before the first write, the values found are saved in ``/run/tierscope/prefetchers.json``. They are
written back when the run ends; where it is killed, by a watching process, which notices that the
pipe from its parent closed; and where that is killed too, by the next tierscope command that
measures, or by ``tierscope doctor``. After a reboot the file is void: registers are as the firmware
sets them. A lock lets one run at a time switch; the watcher shares it, so that it lasts until all
is restored. Of each register only the bits in ``topology.prefetchers`` are ever changed.
"""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tierscope.machine.prefetchers import (
    Control,
    PrefetcherError,
    find_control,
    observed,
    read_msr,
    refused,
)
from tierscope.model.cause import Cause
from tierscope.model.endpoint import format_ranges
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.spec import Prefetchers
from tierscope.place import saved_state

ROOT = Path("/")
"""Below it are /dev/cpu, /proc and /run; tests put a tree of files in its place."""
_NAME = "prefetchers"
_WATCH = """
import sys
sys.path = [folder for folder in sys.path if folder]  # no modules of the current folder
from tierscope.engine.prefetchers import watch
watch(sys.argv[1])
"""
_END_S = 10.0
"""Time that the watcher gets to end."""


@dataclass
class _Saved:
    """The values by CPU, as they were before the first write, and their state file."""

    root: Path
    values: dict[int, int] = field(default_factory=dict)

    @property
    def exists(self) -> bool:
        return saved_state.path_of(_NAME, self.root).exists()

    def write(self) -> None:
        content = {
            "register": hex(find_control(self.root).register),
            "values": {str(cpu): value for cpu, value in self.values.items()},
        }
        with _as_prefetcher_error(Cause.PREFETCHERS):
            saved_state.save(_NAME, content, self.root)

    def read(self) -> None:
        """Take the file's values; none where there is no file, or one of an earlier boot."""
        self.values = {}
        with _as_prefetcher_error(Cause.PREFETCHERS):
            found = saved_state.load(_NAME, self.root)
            if found is None:
                return
            try:
                items = found["values"].items()
                self.values = {int(cpu): int(value) for cpu, value in items}
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise saved_state.unreadable(_NAME, error, self.root) from None

    def restore(self) -> None:
        """Write all values back, then remove the file; raises PrefetcherError where one fails."""
        failed: list[PrefetcherError] = []
        if self.values:
            control = find_control(self.root)
            for cpu, value in self.values.items():
                try:
                    _write(self.root, control, cpu, value)
                except PrefetcherError as error:
                    failed.append(error)
        if failed:
            raise PrefetcherError(
                failed[0].cause,
                f"prefetchers are not restored ({failed[0]})",
                "sudo tierscope doctor restores them",
            )
        with _as_prefetcher_error(Cause.PREFETCHERS):
            saved_state.discard(_NAME, self.root)


class PrefetcherSwitch:
    """Switches CPUs' prefetchers until it is closed; does nothing until it is asked to."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or ROOT
        self._saved = _Saved(self.root)
        self._switched: tuple[Prefetchers, tuple[int, ...]] = ("as-found", ())
        self._stack = contextlib.ExitStack()
        """Holds the lock and the watcher, once there is something to restore."""
        self._begun = False

    def switch(self, cpus: Sequence[int], wanted: Prefetchers) -> None:
        """Switch these CPUs' prefetchers, and restore those of all others.

        Raises PrefetcherError, everything restored, where that is not possible.
        """
        asked = (wanted, tuple(cpus))
        if asked == self._switched or (wanted == "as-found" and not self._begun):
            return
        control = find_control(self.root)
        self._begin(control, cpus)
        self._put_back()
        if wanted == "as-found":
            return
        # What is found is read while nothing is switched: hardware threads share their core's.
        found = {cpu: read_msr(self.root, cpu, control.register) for cpu in cpus}
        if any(cpu not in self._saved.values for cpu in found):
            self._saved.values = found | self._saved.values
            self._saved.write()
        self._switched = asked
        try:
            for cpu in cpus:
                _write(self.root, control, cpu, control.mask if wanted == "off" else 0)
        except PrefetcherError:
            self._put_back()
            raise

    def state_of(self, wanted: Prefetchers) -> str:
        """Return what ``observe`` says of CPUs whose prefetchers are on, or off."""
        control = find_control(self.root)
        return control.state(control.mask if wanted == "off" else 0)

    def observe(self, cpus: Sequence[int]) -> str:
        """Return the state of these CPUs' prefetchers now, or ``unknown`` and why."""
        return observed(self.root, cpus)

    def close(self) -> None:
        """Restore what was found; raises PrefetcherError where that is not possible."""
        begun, self._begun = self._begun, False
        with self._stack:
            if begun:
                self._saved.restore()

    def _begin(self, control: Control, cpus: Sequence[int]) -> None:
        """Take the lock, restore what a killed run left, start the watcher; once."""
        if self._begun:
            return
        for cpu in cpus:
            read_msr(self.root, cpu, control.register)  # first of all, whether it is allowed
        with contextlib.ExitStack() as stack:
            lock = stack.enter_context(_locked(self.root))
            if lock is None:
                raise PrefetcherError(
                    Cause.PREFETCHERS,
                    "another run has switched the prefetchers of this machine",
                    "wait until it has ended",
                )
            self._saved.read()
            self._saved.restore()
            self._saved.values = {}
            stack.enter_context(_watcher(self.root, lock))
            self._stack = stack.pop_all()
        self._begun = True

    def _put_back(self) -> None:
        control = find_control(self.root)
        for cpu, value in self._saved.values.items():
            _write(self.root, control, cpu, value)
        self._switched = ("as-found", ())


@contextlib.contextmanager
def prefetcher_switch() -> Iterator[PrefetcherSwitch]:
    """Give a switch and restore what it switched; raises UserError where that is not possible."""
    switch = PrefetcherSwitch()
    try:
        yield switch
    finally:
        try:
            switch.close()
        except PrefetcherError as error:
            raise UserError(f"{error}; {error.remedy}", ExitCode.SOMETHING_FAILED) from None


def restore_left(root: Path | None = None) -> str:
    """Restore what a killed run left switched; say in a line what was done or is to be done.

    Empty where nothing was left, or where the run or its watcher are still there.
    """
    saved = _Saved(root or ROOT)
    if not saved.exists:
        return ""
    try:
        with _locked(saved.root) as lock:
            if lock is None:
                return ""
            saved.read()
            saved.restore()
    except PrefetcherError as error:
        return f"prefetchers may be switched still, by a run that was killed: {error}"
    return _restored(saved)


def watch(root: str) -> None:
    """Wait until the parent closes standard input or dies; restore what it has not restored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.write(1, b"1")
    os.close(1)
    while os.read(0, 1):
        pass
    saved = _Saved(Path(root))
    said = ""
    try:
        if saved.exists:
            saved.read()
            saved.restore()
            said = _restored(saved)
    except PrefetcherError as error:
        said = f"{error}; {error.remedy}"
    if said:
        with contextlib.suppress(OSError):
            os.write(2, f"tierscope: {said}\n".encode())


def _restored(saved: _Saved) -> str:
    cpus = format_ranges(tuple(sorted(saved.values)))
    return f"restored the prefetchers of CPUs {cpus}, which a killed run left" if cpus else ""


def _write(root: Path, control: Control, cpu: int, value: int) -> None:
    """Give the known bits of a CPU's register those of ``value``; raises PrefetcherError."""
    before = read_msr(root, cpu, control.register)
    after = (before & ~control.mask) | (value & control.mask)
    if after == before:
        return
    what = f"cannot write MSR {control.register:#x} of CPU {cpu}"
    try:
        descriptor = os.open(root / f"dev/cpu/{cpu}/msr", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.pwrite(descriptor, after.to_bytes(8, "little"), control.register)
        finally:
            os.close(descriptor)
    except PermissionError:
        raise PrefetcherError(
            Cause.PERMISSION,
            f"{what}: the kernel refuses it",
            "turn secure boot's lockdown off, or load the module msr with allow_writes=on",
        ) from None
    except OSError as error:
        raise refused(what, "msr", error) from None
    if read_msr(root, cpu, control.register) != after:
        raise PrefetcherError(
            Cause.PREFETCHERS, f"{what}: it keeps its value", "look for it in the firmware's setup"
        )


@contextlib.contextmanager
def _as_prefetcher_error(cause: Cause) -> Iterator[None]:
    try:
        yield
    except saved_state.StateError as error:
        raise PrefetcherError(cause, error.problem, error.remedy) from None


@contextlib.contextmanager
def _locked(root: Path) -> Iterator[int | None]:
    """Give the descriptor of the lock file, locked; None where another process has the lock."""
    with contextlib.ExitStack() as stack:
        with _as_prefetcher_error(Cause.PERMISSION):
            lock = stack.enter_context(saved_state.locked(_NAME, root))
        yield lock


@contextlib.contextmanager
def _watcher(root: Path, lock: int) -> Iterator[None]:
    """Have a process of its own session that restores when this one is gone."""
    not_started = PrefetcherError(
        Cause.PREFETCHERS, "the process that would restore prefetchers does not start"
    )
    try:
        started = subprocess.Popen(
            [sys.executable, "-c", _WATCH, str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=[lock],
            start_new_session=True,
        )
    except OSError:
        raise not_started from None
    with started as process:
        assert process.stdin is not None
        assert process.stdout is not None
        if process.stdout.read(1) != b"1":
            raise not_started
        yield
        process.stdin.close()
        process.wait(_END_S)

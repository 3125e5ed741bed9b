"""The measurer of effect: it runs programs under placements and reads what they print.

What the collector of a JVM does is read from its log, of all collectors since JDK 9 (JEP 158,
JEP 271). ``-Xlog:gc,gc+phases`` has a line for each pause, and for each phase beside the program,
of ZGC among the phases::

    [0.021s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(256M) 3.123ms
    [0.054s][info][gc] GC(1) Concurrent Mark Cycle 5.000ms
    [0.102s][info][gc,phases] GC(2) Pause Mark Start 0.005ms
    [0.130s][info][gc,phases] GC(2) Concurrent Mark 15.005ms
"""

import contextlib
import ctypes
import fcntl
import json
import os
import pwd
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from tierscope.analysis.effect import Watched, landing
from tierscope.analysis.offload import facts_of
from tierscope.engine.process import find_engine
from tierscope.kinds.effect.application import missing_python_packages, search_path
from tierscope.kinds.effect.spec import (
    SITES,
    EffectSpec,
    Settings,
    Tiered,
    UnplaceableError,
    migrated_bytes,
    tiered,
)
from tierscope.kinds.plan import Spec
from tierscope.machine.counters import traffic_source
from tierscope.machine.discover import discover
from tierscope.machine.others import Others, Watch
from tierscope.machine.sampler import Sampler
from tierscope.model.cause import Cause
from tierscope.model.errors import UserError, shown
from tierscope.model.event import (
    Column,
    Distribution,
    Event,
    Evidence,
    Failed,
    Repetition,
    Series,
    Skipped,
    Started,
)
from tierscope.model.evidence import AllocationSite, ProgramEvidence, ProgramRun
from tierscope.model.histogram import Histogram, bucket_of
from tierscope.place.allocator import RULES, environment_for
from tierscope.place.ballast import ballast
from tierscope.place.huge_pages import huge_pages
from tierscope.place.launch import Mechanism, decide, preloading, start
from tierscope.place.look import Look
from tierscope.place.nodes import format_list
from tierscope.place.pages import process_tree
from tierscope.place.policy import Policy
from tierscope.place.shared_memory import own_memory
from tierscope.place.weights import kernel_weights

_LOGGED = re.compile(
    r"\bGC\((\d+)\) (?:[YOyo]: )?(Pause|Concurrent) (.*?)\b(\d+(?:[.,]\d+)?)ms\s*$", re.MULTILINE
)
"""A phase with its time, of a generation where the collector names it (young, old)."""
VARIABLE = "JAVA_TOOL_OPTIONS"
"""Variable that every JVM reads options from (JVM Tool Interface)."""
NOT_HELD = "in at least one run, memory was"
"""Beginning of the note on a placement that did not hold."""
_STRAY = 0.01
"""Share of the memory on other nodes up to which there is no note."""
_FIRST_LOOK_S = 0.02
_LONGEST_GAP_S = 1.0
_LOOKING = 20
"""Time between two looks at the pages, in multiples of the CPU time that the last one took."""
_GRACE_S = 5.0
"""Time that a program gets between SIGTERM and SIGKILL."""
_NEARLY = 0.9
"""Share of the most memory that was seen, from which on a later look at tiered pages counts."""
_LEAST_SPACE = 1 << 16
"""Bytes without which what a program says may not have been kept."""
_TAIL = 3
_TAIL_LENGTH = 300
_PREFIX = "tierscope-effect-"
"""Of folders for runs and what is prepared for them; a lock in each is held while it is used."""
_NEW_S = 60.0
"""Age from which on a folder without a lock is one that was left."""
_NOBODY = "nobody"
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_prctl = ctypes.CDLL(None).prctl
_SITES_FILE = "sites.json"
_NOT_PRELOADED = re.compile(r"^ERROR: ld\.so: object '(.+)' from LD_PRELOAD (.+): ignored\.$", re.M)
_LEAST_OF_SITE = 0.02
"""Share of all bytes from which on a function counts."""
_STEPS = {
    "prepare": "preparing its data",
    "set_up": "its set-up",
    "load": "its load",
    "check": "the check of its results",
    "tear_down": "its tear-down",
}
"""How errors call commands around a program."""


def with_gc_log(environment: dict[str, str], directory: Path) -> dict[str, str]:
    """Return an environment in which each JVM writes its log into a directory."""
    log = f"-Xlog:gc,gc+phases:file={directory}/gc-%p.log::filecount=0"
    return {**environment, VARIABLE: f"{environment.get(VARIABLE, '')} {log}".strip()}


def logs_in(directory: Path) -> str:
    """Return the logs that JVMs wrote, one after the other; empty where none did."""
    return "".join(path.read_text(errors="replace") for path in sorted(directory.glob("gc-*.log")))


@dataclass(frozen=True)
class Collected:
    """What the garbage collector did, in ns."""

    pauses: list[float]
    """In which the program stood still."""
    concurrent: float
    """Time of the phases beside the program, which takes CPUs from it."""


def collected(log: str) -> Collected:
    """Return what a log says that the collector did."""
    pauses: list[float] = []
    concurrent = 0.0
    paused: dict[str, float] = {}
    cycles: set[str] = set()
    for number, kind, name, milliseconds in _LOGGED.findall(log):
        time_ns = float(milliseconds.replace(",", ".")) * 1e6
        if kind == "Pause":
            pauses.append(time_ns)
            paused[number] = paused.get(number, 0.0) + time_ns
        else:
            concurrent += time_ns
            if name.strip().endswith("Cycle"):
                cycles.add(number)
    # G1 logs the whole cycle as concurrent, with the pauses in it.
    within = sum(time_ns for number, time_ns in paused.items() if number in cycles)
    return Collected(pauses, concurrent - within)


@dataclass(frozen=True)
class Placed:
    """How a program is started under its placement."""

    asked: Policy | None = None
    policy: Policy | None = None
    """Of its process; None leaves tierscope's."""
    environment: dict[bytes, bytes] | None = None
    executable: Path | None = None
    """The file that was found to load the library; None where none is preloaded."""
    mechanism: Mechanism | None = None
    """None without a policy."""
    weights: tuple[int, ...] = ()
    """Weights that apply, of ``weighted``."""
    notes: tuple[str, ...] = ()


def placed(settings: Settings, program: str, environment: dict[str, str], scratch: Path) -> Placed:
    """Return how to start a program.

    Raises UserError where this machine cannot place it as asked, UnplaceableError where the program
    would ignore the library that has to do it.
    """
    encoded = {os.fsencode(name): os.fsencode(value) for name, value in environment.items()}
    # A program that is not there is refused by exec, with the reason.
    found = shutil.which(program, path=environment.get("PATH"))
    path = Path(found).absolute() if found else None
    executable = None
    if settings.alloc and path:
        executable = path
        encoded = _with_rules(path, settings.alloc, encoded, scratch / _SITES_FILE)
    if settings.mode is None:
        return Placed(environment=encoded, executable=executable)
    nodes, weights = tuple(settings.nodes), tuple(settings.weights)
    asked = Policy(settings.mode, nodes, weights, settings.balancing)
    launch = decide(asked)
    if asked.mode == "weighted" and launch.mechanism == "kernel":
        weights = kernel_weights(nodes)
    if launch.setting and path:
        executable = path
        try:
            encoded = preloading(launch, asked, executable, encoded)
        except UserError as error:
            raise UnplaceableError(Cause.PLACEMENT, str(error)) from None
    return Placed(
        asked, launch.policy, encoded, executable, launch.mechanism, weights, tuple(launch.notes)
    )


def _with_rules(
    program: Path, rules: str, environment: dict[bytes, bytes], sites: Path
) -> dict[bytes, bytes]:
    try:
        if rules == SITES:
            return environment_for(program, "", [SITES], sites, environment)
        return environment_for(program, rules, ["strict"], None, environment)
    except UserError as error:
        raise UnplaceableError(Cause.PLACEMENT, str(error)) from None


def _for_other_user(environment: dict[bytes, bytes], folder: Path) -> dict[bytes, bytes]:
    """Return the environment with copies of the preloaded library and of the rules in a folder.

    Another user may not be able to reach where tierscope is, as below root's home.
    """

    def copied(name: bytes) -> bytes:
        copy = folder / Path(os.fsdecode(name)).name
        shutil.copyfile(name, copy)
        copy.chmod(0o644)
        return bytes(copy)

    *others, library = environment[b"LD_PRELOAD"].split(b":")
    found = {b"LD_PRELOAD": b":".join((*others, copied(library)))}
    rules = environment.get(RULES.encode(), b"")
    if rules.startswith(b"/"):
        found[RULES.encode()] = copied(rules)
    return environment | found


def not_held(how: Placed, bytes_by_node: dict[int, int], threads: int) -> str:
    """Say that memory was not where the placement asks; empty where it was, or is not known."""
    total = sum(bytes_by_node.values())
    # Huge pages are not looked at, which would take as long again: there may be some.
    look = Look(0.0, bytes_by_node, {}, 1, threads, huge_bytes=total)
    mechanism = how.mechanism or "kernel"
    found = landing(Watched((), how.asked, mechanism, how.weights, 0, (look,)))
    if how.asked is None or not how.asked.nodes or found is None:
        return ""
    nodes = format_list(how.asked.nodes)
    if found.off_nodes > _STRAY:
        return f"{NOT_HELD} also on other nodes than {nodes}"
    if len(how.asked.nodes) > 1 and found.as_asked is False:
        ratio = ":".join(map(str, how.weights or (1,) * len(how.asked.nodes)))
        return f"{NOT_HELD} not shared {ratio} among nodes {nodes}"
    return ""


def _empty_slow_node(settings: Settings, bytes_by_node: dict[int, int]) -> Iterator[str]:
    """Say where an application's own rules placed nothing on their slow node."""
    for pair in settings.pairs if settings.alloc and bytes_by_node else []:
        slow = pair.partition(":")[2]
        if not bytes_by_node.get(int(slow)):
            yield (
                f"{NOT_HELD} not on node {slow}: the application's rules place blocks of other "
                "sizes there"
            )


class ProgramError(Exception):
    """A run that gives no figure."""

    def __init__(self, cause: Cause, reason: str) -> None:
        super().__init__(reason)
        self.cause = cause


@dataclass
class Ran:
    """The result of a run."""

    seconds: float
    """From the start to the end of the program, or of its client."""
    output: str
    """Of the client or, without one, of the program: standard output, then standard error."""
    bytes_by_node: dict[int, int] = field(default_factory=dict)
    """Of anonymous and shared memory, when most was in use; under tiering, when about that was
    last seen."""
    threads: int = 0
    """The most that were seen at once."""
    placed: Placed = field(default_factory=Placed)
    migrated: int | None = None
    """Bytes that the kernel migrated meanwhile; None without tiering and applications."""
    notes: list[str] = field(default_factory=list)
    """Of tiering."""
    sites: list[AllocationSite] = field(default_factory=list)
    """Functions that allocate most, where they were counted."""
    facts: dict[str, float] = field(default_factory=dict)
    """Numbers that it prints, for predictions."""
    room: int | None = None
    """Bytes that were free for it on the node that was made smaller."""
    bandwidth: dict[str, float] = field(default_factory=dict)
    """Bytes/s of the machine's memory, by what counted them."""
    others: Others = field(default_factory=lambda: Others(0.0, ""))
    """What other programs used meanwhile."""
    began_s: float | None = None
    """When it began, by CLOCK_MONOTONIC_RAW."""


class Run:
    """A run that is under way, in a directory of its own."""

    def __init__(
        self,
        spec: EffectSpec,
        scratch: Path,
        prepared: Path,
        environment: dict[str, str],
        traffic: Sampler | None = None,
        room: int | None = None,
    ) -> None:
        self._traffic = traffic
        self._room = room
        self._held = contextlib.ExitStack()
        """Ballast and tiering."""
        self._notes: list[str] = []
        self._spec = spec
        self._scratch = scratch
        self._folders = {"{scratch}": str(scratch), "{prepared}": str(prepared)}
        self._environment = environment
        self._give_up_at = time.monotonic() + spec.timeout_s
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._most: dict[int, int] = {}
        self._threads = 0
        self._placed = Placed()
        self._tier: Tiered | None = None
        self._migrated_before = 0
        self._kill_at = float("inf")

    def interrupt(self) -> None:
        """End it; a second time, at once. Called from a signal's handler."""
        again = self._kill_at < float("inf")
        self._kill_at = time.monotonic() + (0 if again else _GRACE_S)
        self._signal(signal.SIGKILL if again else signal.SIGTERM)

    def prepare(self) -> None:
        """Fill the folder that runs share; raises ProgramError."""
        with _adopting():
            try:
                self._carry_out("prepare")
            finally:
                self._kill()

    def finish(self) -> Ran:
        """Run it to its end.

        Raises ProgramError where it fails or takes too long, UserError or UnplaceableError where
        it cannot be placed.
        """
        with self._held, _adopting() if self._spec.about else contextlib.nullcontext():
            return self._finish()

    def _finish(self) -> Ran:
        try:
            ran = self._run_through()
        except BaseException:
            self._kill()
            self._give_up_at = time.monotonic() + _GRACE_S
            with contextlib.suppress(ProgramError):  # the first failure counts
                self._carry_out("tear_down")
            raise
        else:
            self._kill()  # what it left running, too
            migrated = self._migrated() - self._migrated_before
            if self._tier:
                ran.notes = [*ran.notes, *self._tier.notes(migrated)]
            if self._tier or self._spec.about:
                ran.migrated = migrated
            self._carry_out("tear_down")
            return ran
        finally:
            self._kill()

    def _make_room(self) -> None:
        """Leave the program so much of its fast node as it is to have; raises UserError."""
        node = self._spec.settings.room_node
        if node is None or self._room is None:
            return
        held = self._held.enter_context(ballast(node, self._room))
        drift = held.drift()
        self._notes += [drift] if drift else []

    def _migrated(self) -> int:
        return migrated_bytes(by_damon=bool(self._tier and self._tier.by_damon))

    def _run_through(self) -> Ran:
        spec = self._spec
        self._carry_out("set_up")
        self._make_room()  # before tiering, which would demote the page cache that is in its way
        self._tier = self._held.enter_context(tiered(spec.settings))
        self._migrated_before = self._migrated()
        others = Watch()
        program, began = self._start("program", spec.program, spec.settings)
        waited = program
        self._carry_out("load")
        if self._traffic:
            self._traffic.samples()
        if spec.client:
            waited, began = self._start("client", spec.client, None)
        self._watch(waited)
        seconds = time.monotonic() - began
        began_s = time.clock_gettime(time.CLOCK_MONOTONIC_RAW) - seconds
        own = {pid for process in self._processes.values() for pid in _tree(process.pid)}
        used = others.others(own)
        bandwidth = self._bandwidth()
        self._check(waited)
        self._carry_out("check")
        if spec.client:
            self._end(program)
        name = "client" if spec.client else "program"
        output = self._text(name, "out") + "\n" + self._text(name, "err")
        ran = Ran(seconds, output, self._most, self._threads, self._placed, began_s=began_s)
        ran.others, ran.bandwidth = used, bandwidth
        ran.room, ran.notes = self._room, self._notes
        ran.facts = facts_of(output) if spec.about and spec.about.predicted_by else {}
        ran.sites = _sites(self._scratch / _SITES_FILE)
        return ran

    def _bandwidth(self) -> dict[str, float]:
        """Return the bandwidth of memory since the load, by socket or device and direction."""
        return {
            f"{part} {metric.partition('_')[0]}": value
            for sample in (self._traffic.samples() if self._traffic else [])
            for (metric, part), value in sample.values.items()
        }

    def _carry_out(self, step: str) -> None:
        """Run a step's commands, one after the other; raises ProgramError where one fails."""
        for words in getattr(self._spec.steps, step):
            process, _ = self._start(step, words, None)
            self._watch(process)
            program = self._processes.get("program")
            if program and program.poll() is not None and step in ("load", "check"):
                raise self._failed("program", f"it ended before {_STEPS[step]} did")
            if status := process.wait():
                how = f"{_STEPS[step]}, '{Path(words[0]).name}', {_ended(status)}"
                raise self._failed(step, how)
            del self._processes[step]

    def _kill(self) -> None:
        """End all processes, those that have descended from them, too."""
        left = [process for process in self._processes.values() if process.poll() is None]
        for process in left:
            process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            for process in left:
                process.wait(_GRACE_S)
        self._signal(signal.SIGKILL)
        for process in self._processes.values():
            process.wait()
        self._processes.clear()

    def _start(
        self, name: str, words: Sequence[str], settings: Settings | None
    ) -> "tuple[subprocess.Popen[bytes], float]":
        """Start a program; return it with the time just before it was forked.

        The time after that would be too late where others keep this process from its CPU.
        """
        command = [self._with_folders(word) for word in words]
        environment = self._environment
        how: dict[str, Any] = {
            "stdin": subprocess.DEVNULL,
            "cwd": self._scratch if self._spec.unprivileged else self._spec.directory,
            "start_new_session": True,
            "env": environment,
            "preexec_fn": self._before_exec(command[0], settings is not None),
        }
        policy = cpus = None
        if settings:
            self._placed = placed(settings, command[0], self._environment, self._scratch)
            policy, cpus = self._placed.policy, settings.cpus
            how |= {"env": self._placed.environment, "executable": self._placed.executable}
            if self._placed.executable and _becomes_nobody(self._spec):
                how["env"] = _for_other_user(how["env"], self._scratch)
        with contextlib.ExitStack() as stack:
            if settings and settings.thp:
                stack.enter_context(huge_pages(settings.thp))
            for stream, end in (("stdout", "out"), ("stderr", "err")):
                path = self._scratch / f"{name}.{end}"
                how[stream] = stack.enter_context(path.open("wb"))
            began = time.monotonic()
            try:
                process = start(policy, command, cpus, **how)
            except subprocess.SubprocessError:
                raise ProgramError(
                    Cause.PROGRAM, "it does not start: it cannot enter its cgroup"
                ) from None
            except OSError as error:
                why = error.strerror or str(error)
                where = shown(error.filename or command[0])
                raise ProgramError(Cause.PROGRAM, f"it does not start: {where}: {why}") from None
        self._processes[name] = process
        return process, began

    def _with_folders(self, word: str) -> str:
        for placeholder, folder in self._folders.items():
            word = word.replace(placeholder, folder)
        return word

    def _before_exec(self, program: str, placed: bool) -> Callable[[], None] | None:
        """Return what a child does before it executes its program; None: nothing, which forks
        faster."""
        spec = self._spec
        enter = self._tier.enter if placed and self._tier else None
        if not spec.about and not enter:
            return None
        user = None
        # Tierscope's own programs may be where only this user may read.
        if _becomes_nobody(spec) and program not in (sys.executable, str(find_engine())):
            user = pwd.getpwnam(_NOBODY)
        parent = os.getpid()
        # A server that is asked to end leaves nothing behind.
        end = signal.SIGTERM if placed else signal.SIGKILL

        def become() -> None:
            if enter:
                enter()
            if user:
                os.setgroups([])
                os.setgid(user.pw_gid)
                os.setuid(user.pw_uid)
            # It has to end with tierscope, also where that is killed.
            _prctl(_PR_SET_PDEATHSIG, end)
            if os.getppid() != parent:
                os.kill(os.getpid(), signal.SIGKILL)

        return become

    def _watch(self, waited: "subprocess.Popen[bytes]") -> None:
        """Wait until a process or the program ends, and look at the program's pages meanwhile."""
        gap, look_at = _FIRST_LOOK_S, time.monotonic() + _FIRST_LOOK_S
        give_up_at = self._give_up_at
        program = self._processes.get("program")
        with _ends_of({waited, program or waited}) as ends:
            while True:
                now = time.monotonic()
                until = min(look_at, give_up_at, now + _LONGEST_GAP_S)
                if ends.poll(max(0.0, until - now) * 1e3):
                    return
                now = time.monotonic()
                if now >= self._kill_at:
                    self._signal(signal.SIGKILL)
                elif now >= give_up_at:
                    limit = self._spec.timeout_s
                    raise ProgramError(Cause.TIMEOUT, f"it had not ended after {limit:g} s")
                elif now >= look_at and program:
                    began = time.thread_time()
                    self._look()
                    # By the clock, a look that waits for a CPU would put off the next one: a
                    # short program would end before its memory is seen.
                    took = time.thread_time() - began
                    gap = min(2 * gap, _LONGEST_GAP_S)
                    look_at = time.monotonic() + max(gap, _LOOKING * took)

    def _look(self) -> None:
        pids = _tree(self._processes["program"].pid)
        threads = sum(len([*Path(f"/proc/{pid}/task").glob("*")]) for pid in pids)
        self._threads = max(threads, self._threads)
        found = own_memory(pids)
        # Tiering moves pages all the time: the last distribution counts.
        enough = _NEARLY if self._tier else 1.0
        if sum(found.values()) > enough * sum(self._most.values()):
            self._most = found

    def _check(self, waited: "subprocess.Popen[bytes]") -> None:
        """Raise ProgramError where what ended should not have, or failed."""
        program = self._processes["program"]
        if waited is not program and program.poll() is not None:
            raise self._failed("program", "it ended before its client")
        name = "program" if waited is program else "client"
        who = "it" if name == "program" else "its client"
        if status := waited.wait():
            raise self._failed(name, f"{who} {_ended(status)}")
        if self._placed.executable and (
            ignored := _NOT_PRELOADED.search(self._text("program", "err"))
        ):
            why = f"its memory is not placed: {ignored[1]} {ignored[2]}"
            raise ProgramError(Cause.PLACEMENT, why)

    def _failed(self, name: str, how: str) -> ProgramError:
        lines = [line.strip() for line in self._text(name, "err").splitlines() if line.strip()]
        said = " | ".join(lines[-_TAIL:])[-_TAIL_LENGTH:]
        if not said and shutil.disk_usage(self._scratch).free < _LEAST_SPACE:
            said = f"no space is left in {self._scratch.parent} (TMPDIR names another folder)"
        return ProgramError(Cause.PROGRAM, f"{how}: {said}" if said else how)

    def _end(self, program: "subprocess.Popen[bytes]") -> None:
        """Terminate a program whose client has ended, within a grace period."""
        program.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            program.wait(_GRACE_S)

    def _signal(self, number: int) -> None:
        for process in self._processes.values():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, number)

    def _text(self, name: str, end: str) -> str:
        path = self._scratch / f"{name}.{end}"
        return path.read_text(errors="replace") if path.exists() else ""


def _sites(path: Path) -> list[AllocationSite]:
    """Return the functions that allocated most, over all processes, as the library counted them."""
    sizes: Counter[str] = Counter()
    for line in path.read_text().splitlines() if path.exists() else []:
        with contextlib.suppress(ValueError):  # of a process that was killed
            for one in json.loads(line).get("call_sites", []):
                where = f":{one['function']}" if "function" in one else f"+{one['offset']:#x}"
                sizes[one["object"] + where] += one["bytes"]
    least = _LEAST_OF_SITE * sum(sizes.values())
    return [AllocationSite(name=name, bytes=size) for name, size in sizes.most_common()
            if size > least]  # fmt: skip


def _ended(status: int) -> str:
    """Say how a process failed, from its status of Popen."""
    if status < 0:
        return f"was ended by {signal.Signals(-status).name}"
    return f"exited with status {status}"


def _tree(pid: int) -> list[int]:
    """Return a process and all that descends from it.

    As each thread's list of children says, since reading of all processes of the machine takes far
    longer; kernels without CONFIG_PROC_CHILDREN have no such lists.
    """
    found = [pid]
    for one in found:
        found += _children(one)
    return found if Path("/proc/thread-self/children").exists() else process_tree(pid)


@contextlib.contextmanager
def _adopting() -> Iterator[None]:
    """Take in what is left of programs whose parents end, as of daemons, and end it at the end."""
    before = {*_children(os.getpid())}
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    try:
        yield
    finally:
        _prctl(_PR_SET_CHILD_SUBREAPER, 0)
        for pid in {*_children(os.getpid())} - before:
            _end_orphan(pid)


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # it has ended
            found += map(int, path.read_text().split())
    return found


def _end_orphan(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        os.kill(pid, signal.SIGTERM)
        give_up = time.monotonic() + _GRACE_S
        while os.waitpid(pid, os.WNOHANG) == (0, 0):
            if time.monotonic() > give_up:
                os.kill(pid, signal.SIGKILL)
            time.sleep(_FIRST_LOOK_S)


@contextlib.contextmanager
def _ends_of(processes: "Sequence[subprocess.Popen[bytes]] | Any") -> Iterator[select.poll]:
    """Give a poll object that becomes readable when one of the processes ends."""
    with contextlib.ExitStack() as stack:
        found = select.poll()
        for process in processes:
            descriptor = os.pidfd_open(process.pid)
            stack.callback(os.close, descriptor)
            found.register(descriptor, select.POLLIN)
        yield found


class Measurer:
    """Repeats the measurements of programs; see ``runs.measurers.Measurer``."""

    def __init__(self) -> None:
        self.interrupted = False
        """A signal came: no further run is made."""
        self._specs: dict[str, EffectSpec] = {}
        self._warm: dict[str, int] = {}
        """Commands that were run once already, so that files are cached as for further runs, with
        the bytes of memory that they used."""
        self._prepared: dict[str, Path] = {}
        """Folders by what filled them."""
        self._run: Run | None = None
        self._traffic: Sampler | None = None
        self._resources = contextlib.ExitStack()
        _remove_left()

    def plan(self, specs: Sequence[Spec]) -> None:
        """Add measurements whose ids are new."""
        self._specs |= {spec.id: cast("EffectSpec", spec) for spec in specs}

    def forget(self, name: str) -> None:
        """Do without a measurement from now on."""
        del self._specs[name]

    def repetition(
        self,
        name: str,
        seconds: float,  # noqa: ARG002  a program takes the time that it takes
        fresh: bool = False,  # noqa: ARG002  each run has its own pages
    ) -> Generator[Event, None, None]:
        """Yield the events of one run; the first one of a command is made twice."""
        spec = self._specs[name]
        yield Started(id=name)
        if spec.settings.impossible:
            yield Skipped(id=name, cause=Cause.NODE, reason=spec.settings.impossible)
            return
        if missing := _missing(spec):
            remedy = f"tierscope apps install {spec.about.name}" if spec.about else ""
            reason = f"{missing} is not installed"
            yield Skipped(id=name, cause=Cause.TOOL, reason=reason, remedy=remedy)
            return
        outcome = None
        try:
            command = spec.pattern.command
            if command not in self._warm:
                first, _ = self._repetition(spec)
                self._warm[command] = sum(first.bytes_by_node.values())
            if not self.interrupted:
                _, outcome = self._repetition(spec, self._room_of(spec))
        except UserError as error:
            yield Skipped(id=name, cause=Cause.KERNEL, reason=str(error))
        except UnplaceableError as error:
            yield Skipped(id=name, cause=error.cause, reason=str(error))
        except ProgramError as error:
            if not self.interrupted:
                yield Failed(id=name, cause=error.cause, reason=str(error))
        if outcome and not self.interrupted:
            yield outcome

    def interrupt(self) -> None:
        """End the run that is under way and make no further one; a second time, at once."""
        self.interrupted = True
        if self._run:
            self._run.interrupt()

    def close(self) -> None:
        """Remove what was prepared."""
        self._resources.close()

    def _room_of(self, spec: EffectSpec) -> int | None:
        """Return the bytes that a program is to find free on its node; None: as many as there are.

        Raises ProgramError where its share is of an amount that is not known.
        """
        settings, used = spec.settings, self._warm[spec.pattern.command]
        if settings.room_share is None:
            return settings.room_bytes
        if not used:
            raise ProgramError(
                Cause.PROGRAM, "it ended before its memory was seen, of which it is to have a share"
            )
        return int(settings.room_share * used)

    def _repetition(self, spec: EffectSpec, room: int | None = None) -> tuple[Ran, Repetition]:
        with own_folder(spec) as scratch:
            environment = _environment(spec)
            prepared = self._prepare(spec, scratch, environment)
            if spec.gc_log:
                environment = with_gc_log(environment, scratch)
            self._run = Run(spec, scratch, prepared, environment, self._traffic_of(spec), room)
            try:
                ran = self._run.finish()
            finally:
                self._run = None
                saved = _saved(spec, scratch)
            collector = _collector(spec, scratch)
        return ran, _repetition_of(spec, ran, collector, saved)

    def _traffic_of(self, spec: EffectSpec) -> Sampler | None:
        """Return the counters of memory traffic, for applications and where there are any."""
        if spec.about and self._traffic is None:
            self._traffic = Sampler([traffic_source(discover())])
            self._resources.callback(self._traffic.close)
        return self._traffic if self._traffic and self._traffic.sources else None

    def _prepare(self, spec: EffectSpec, scratch: Path, environment: dict[str, str]) -> Path:
        """Return the folder of what is prepared for an application, filled; raises ProgramError."""
        if not spec.steps.prepare:
            return scratch
        key = spec.steps.model_dump_json(include={"prepare"})
        if key not in self._prepared:
            with contextlib.ExitStack() as stack:
                folder = stack.enter_context(own_folder(spec))
                self._run = Run(spec, scratch, folder, environment)
                try:
                    self._run.prepare()
                finally:
                    self._run = None
                self._resources.enter_context(stack.pop_all())
            self._prepared[key] = folder
        return self._prepared[key]


def _repetition_of(
    spec: EffectSpec, ran: Ran, collector: Collected | None, saved: str | None
) -> Repetition:
    pauses = collector.pauses if collector else None
    columns = list(_columns(spec, ran, pauses))
    values = {
        column.part or column.metric: value
        for column in columns
        if (value := column.values[0]) is not None
    }
    if pauses:
        values["gc_pause_max"] = max(pauses)
    if collector and collector.concurrent:
        values["gc_concurrent"] = collector.concurrent
    pages = {str(node): size for node, size in ran.bytes_by_node.items()}
    run = ProgramRun(
        values=values,
        bytes_by_node=pages or None,
        mechanism=ran.placed.mechanism,
        weights=list(ran.placed.weights) or None,
        output=saved,
        migrated_bytes=ran.migrated,
        sites=ran.sites or None,
        facts=ran.facts or None,
        room_bytes=ran.room,
        bandwidth=ran.bandwidth or None,
        others_cpus=ran.others.cpus,
        other=ran.others.name or None,
    )
    notes = [*ran.placed.notes, *ran.notes, *_empty_slow_node(spec.settings, ran.bytes_by_node)]
    stray = not_held(ran.placed, ran.bytes_by_node, ran.threads)
    # Tiering is there to move it, and rules to have parts of it elsewhere.
    if stray and not spec.settings.tier and not spec.settings.alloc:
        notes.append(stray)
    counted = [Distribution(metric="gc_pause", samples=[_histogram(pauses)])] if pauses else None
    series = Series(
        name="runs",
        starts=[0.0],
        durations=[ran.seconds],
        columns=columns,
        distributions=counted,
    )
    return Repetition(
        id=spec.id,
        seconds=ran.seconds,
        fresh=True,
        interrupted=False,
        series=[series],
        evidence=Evidence(program=ProgramEvidence(runs=[run]), notes=notes or None),
        began_s=ran.began_s,
    )


def _columns(spec: EffectSpec, ran: Ran, pauses: list[float] | None) -> Iterator[Column]:
    """Yield a column for each figure, the headline first. Of a program with a client, the time
    until the client ended is none."""
    run_time = Column(metric="run_time", values=[ran.seconds * 1e9])
    if spec.headline() == "run_time":
        yield run_time
    for one in spec.reported:
        found = re.findall(one.pattern, ran.output, re.MULTILINE)
        if not found:
            raise ProgramError(
                Cause.PROGRAM, f"its output has no match for '{one.name}', '{one.pattern}'"
            )
        yield Column(
            metric=one.metric, part=one.name, values=[_number(one.name, found[-1], one.factor)]
        )
    if spec.headline() != "run_time" and not spec.client:
        yield run_time
    if pauses is not None:
        yield Column(metric="gc_time", values=[sum(pauses) or None])


def _number(name: str, found: str | tuple[str, ...], factor: float) -> float:
    text = found if isinstance(found, str) else found[0]
    try:
        value = float(text.replace(",", "")) * factor
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1e30:
        raise ProgramError(
            Cause.PROGRAM, f"'{name}' in its output is '{text}', which is not a number"
        )
    return value


def _collector(spec: EffectSpec, scratch: Path) -> Collected | None:
    """Return what the garbage collector did; None where that was not asked for."""
    if not spec.gc_log:
        return None
    log = logs_in(scratch)
    if not log:
        raise ProgramError(
            Cause.PROGRAM, "it wrote no garbage-collector log: it is not a JVM of JDK 9 or later"
        )
    return collected(log)


def _histogram(pauses: Sequence[float]) -> Histogram:
    buckets = Counter(bucket_of(round(pause)) for pause in pauses)
    return [number for bucket in sorted(buckets) for number in (bucket, buckets[bucket])]


def _saved(spec: EffectSpec, scratch: Path) -> str | None:
    """Keep what was printed where that was asked for; return the files' name without suffix."""
    if not spec.save:
        return None
    number = 1
    while Path(spec.save, f"{spec.id}.{number}.program.out").exists():
        number += 1
    name = f"{spec.save}/{spec.id}.{number}"
    for path in (*scratch.glob("*.out"), *scratch.glob("*.err"), *scratch.glob("gc-*.log")):
        shutil.copyfile(path, f"{name}.{path.name}")
    return name


def _becomes_nobody(spec: EffectSpec) -> bool:
    """Whether a program's commands run as another user."""
    return spec.unprivileged and os.geteuid() == 0


def _missing(spec: EffectSpec) -> str:
    """Return the program or package that is needed and not installed; empty: all are."""
    if packages := missing_python_packages(spec.python_packages):
        return f"the Python package {packages[0]}"
    steps = (command for step in _STEPS for command in getattr(spec.steps, step))
    path = _environment(spec)["PATH"]
    commands: list[list[str]] = [spec.program, spec.client, *steps]
    for words in commands:
        if words and shutil.which(words[0], path=path) is None:
            return words[0]
    return ""


def _environment(spec: EffectSpec) -> dict[str, str]:
    """Return a program's environment, with the folders that have it."""
    found = {**os.environ, **spec.settings.environment}
    found["PATH"] = search_path(spec.path, found)
    return found


@contextlib.contextmanager
def own_folder(spec: EffectSpec) -> Iterator[Path]:
    """Give a folder that is removed when the block ends, and belongs to who runs the program."""
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as folder:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_SH)
            if _becomes_nobody(spec):
                user = pwd.getpwnam(_NOBODY)
                os.chown(folder, user.pw_uid, user.pw_gid)
            yield Path(folder)
        finally:
            os.close(lock)


def _remove_left() -> None:
    """Remove folders of runs whose tierscope was killed: nobody has them locked."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if time.time() - os.fstat(lock).st_mtime > _NEW_S:
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)

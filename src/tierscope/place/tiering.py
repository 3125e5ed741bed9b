"""A tiering that is on: by DAMON's rules, or the kernel's own (NUMA balancing and reclaim).

Source: Linux, Documentation/admin-guide/sysctl/kernel.rst (numa_balancing) and
Documentation/ABI/testing/sysfs-kernel-mm-numa (demotion_enabled).
"""

import contextlib
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from tierscope.model.errors import ExitCode, UserError, counted
from tierscope.place import cgroups, saved_state, supervisor
from tierscope.place.cgroups import Cgroup
from tierscope.place.damon import tree
from tierscope.place.damon.follow import Follower, MemoryEvent, Monitored, monitored, online
from tierscope.place.damon.rules import Rules
from tierscope.place.kernel import Kernel, KernelError
from tierscope.place.pages import process_tree
from tierscope.place.shared_memory import own_memory
from tierscope.place.supervisor import Channel, Supervisor

MODE = "/proc/sys/kernel/numa_balancing"
RATE_LIMIT = "/proc/sys/kernel/numa_balancing_promote_rate_limit_MBps"
DEMOTION = "/sys/kernel/mm/numa/demotion_enabled"
_TIERS = "/sys/devices/virtual/memory_tiering"
_TIERING = 2
"""The bit of MODE that promotes from slow to fast nodes."""

SETTINGS = ((DEMOTION, "true"), (MODE, str(_TIERING)))
"""Settings of the preset numa-balancing."""
NAME = "tier"
"""Name of the state file."""
_PATIENCE_S = 30.0
"""That others get to start or stop."""
_LOOK_EACH_S, _LOOKING, _LONGEST_PAUSE_S = 1.0, 100, 10.0
"""Between a supervisor's looks at memory blocks, and how many times the CPU time of one: large
machines have thousands."""
_EVENTS = 100
"""That are kept on record."""
_MODULE = "/sys/module/{}/parameters/enabled"
_ACTING = ("damon_reclaim", "damon_lru_sort")
"""Modules of DAMON that act on pages; the kernel lets one run, or kdamonds of sysfs."""
_STATISTICS = _MODULE.format("damon_stat")
"""The one that only counts, on by default in newer kernels; it is switched off meanwhile."""


def is_on(kernel: Kernel) -> bool:
    """Whether NUMA balancing moves pages by itself, in any mode."""
    return bool(kernel.number(MODE))


def tiers(kernel: Kernel) -> list[list[int]]:
    """Return the nodes of each of the kernel's memory tiers, the fastest first."""
    return [
        nodes
        for _, path in kernel.numbered(_TIERS, "memory_tier")
        if (nodes := kernel.ranges(f"{path}/nodelist"))
    ]


def moved(kernel: Kernel) -> tuple[int, int]:
    """Return the pages that were promoted and demoted since boot."""
    counters = kernel.fields("/proc/vmstat")
    demoted = sum(value for name, value in counters.items() if name.startswith("pgdemote_"))
    return counters.get("pgpromote_success", 0), demoted


def migrated_pages(kernel: Kernel) -> int:
    """Return the pages that were migrated since boot, by compaction, too."""
    return kernel.fields("/proc/vmstat").get("pgmigrate_success", 0)


def between_nodes(kernel: Kernel) -> int:
    """Return the pages that NUMA balancing and reclaim have migrated to other nodes since boot;
    promoted ones are among NUMA balancing's."""
    balanced = kernel.fields("/proc/vmstat").get("numa_pages_migrated", 0)
    return balanced + moved(kernel)[1]


def why_nothing_moves(kernel: Kernel) -> list[str]:
    """Return what keeps NUMA balancing and reclaim from moving pages between tiers."""
    found = []
    mode = kernel.number(MODE)
    if mode is None:
        found.append("this kernel has no NUMA balancing (CONFIG_NUMA_BALANCING): nothing promotes")
    elif not mode & _TIERING:
        found.append(f"{MODE} is {mode}: promotion needs mode {_TIERING}")
    demotion = kernel.text(DEMOTION)
    if demotion not in ("true", "1"):
        found.append(f"{DEMOTION} is {demotion or 'absent'}: reclaim does not demote")
    groups = tiers(kernel)
    if len(groups) < 2:
        nodes = ", ".join(str(node) for group in groups for node in group)
        found.append(
            f"all nodes ({nodes}) are in one memory tier: pages move between tiers only; "
            "the kernel takes tiers from firmware's HMAT, and a CPU-less node that it onlined at "
            "boot counts as DRAM"
        )
    limit = kernel.number(RATE_LIMIT)
    if limit is not None and limit < 100:
        found.append(f"{RATE_LIMIT} is {limit} MB/s: promotion stays below it")
    if not found:
        found.append(
            "reclaim demotes only where the fast node is short of memory, and promotion follows "
            "page faults of the program: neither moves pages on a machine with free memory"
        )
    return found


def warnings(kernel: Kernel, damon: bool) -> list[str]:
    """Return a line for each thing that moves pages beside DAMON, or that users may not expect."""
    found = []
    if damon and is_on(kernel):
        found.append(
            "NUMA balancing is on and moves pages, too; "
            "sysctl kernel.numa_balancing=0 leaves them to DAMON"
        )
    if damon:
        found.append("DAMON moves pages that a program has bound to a node, too")
    return found


Undone = tuple[list[str], dict[str, Any]]
"""A line for each thing done, and what of the session is undone by that."""


@dataclass(frozen=True)
class Session:
    """A started tiering, as its state file has it."""

    label: str
    """The preset, or the file of rules."""
    started: float
    """Seconds since the epoch."""
    before: Mapping[int, int]
    """Bytes by node of what is tiered, when it began."""
    migrated: int = 0
    """Pages that the kernel had migrated by then."""
    settings: tuple[tuple[str, str, str], ...] = ()
    """Path, value found, value written."""
    kdamonds: int = 0
    """How many are being made; 0: none."""
    writes: tuple[tree.Write, ...] | None = None
    """All of the tree that was written; None until it is complete."""
    cgroup: Cgroup | None = None
    """Return the scope of the rules."""
    pid: int = 0
    """The process whose pages move, and its children's; 0: not one process's."""
    came_from: Cgroup | None = None
    """Where its processes go back to; None where the cgroup is not ours."""
    controller: str = ""
    """The cgroup.subtree_control that the memory controller was added to."""
    rules: Any = None
    """As damo's files have them, for reports."""
    supervisor: int = 0
    """Its process, which no other session has."""
    monitored: tuple[Monitored, ...] = ()
    """By each kdamond."""
    events: tuple[MemoryEvent, ...] = ()
    """Memory that went online or offline since it began, the last ones where they are many."""
    problem: str = ""
    """Why memory that is online is not monitored."""
    left: tuple[str, ...] = ()
    """What could not be undone, each with what to do about it."""

    def title(self) -> str:
        """Say what is tiered by which rules, if that is known yet."""
        return f"tiering of {self.scope()}" + (f" by {self.label}" if self.label else "")

    def scope(self) -> str:
        """Say what is tiered."""
        if self.pid:
            return f"process {self.pid}"
        return f"cgroup {self.cgroup.path}" if self.cgroup else "the whole machine"


def load(kernel: Kernel) -> Session | None:
    """Return the tiering that is on, or that a killed command left; None where there is none."""
    found = saved_state.load(NAME, Path(kernel.root or "/"))
    if found is None:
        return None
    try:
        content = dict(found)
        for name in ("cgroup", "came_from"):
            content[name] = content[name] and Cgroup(**content[name])
        content["before"] = {int(node): size for node, size in content["before"].items()}
        content["settings"] = tuple((str(a), str(b), str(c)) for a, b, c in content["settings"])
        if content["writes"] is not None:
            content["writes"] = tuple((path, value) for path, value in content["writes"])
        content["left"] = tuple(content.get("left", ()))
        content["monitored"] = tuple(
            Monitored(tuple(one["nodes"]), one["follows"]) for one in content.get("monitored", ())
        )
        content["events"] = tuple(
            MemoryEvent(**{**one, "online": tuple(one["online"]), "offline": tuple(one["offline"])})
            for one in content.get("events", ())
        )
        return Session(**content)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise saved_state.unreadable(NAME, error, Path(kernel.root or "/")) from None


@dataclass
class Tiering:
    """Changes settings step by step, each on record first; ``end`` undoes them.

    So does its supervisor, where this process ends without that.
    """

    kernel: Kernel
    supervisor: Supervisor
    session: Session = field(default_factory=lambda: Session("", 0, {}))

    def begin(self, label: str, cgroup: Cgroup | None = None, pid: int = 0) -> None:
        """Note what is there before anything changes."""
        self._record(
            label=label,
            started=time.time(),
            before=bytes_by_node(self.kernel, cgroup, pid),
            migrated=migrated_pages(self.kernel),
            cgroup=cgroup,
            pid=pid,
            supervisor=self.supervisor.pid,
        )

    def follow(self) -> None:
        """Have the supervisor follow memory that goes online or offline; nothing else changes."""
        self.supervisor.send(supervisor.FOLLOW)

    def keep(self) -> None:
        """Leave it on when this process ends."""
        self.supervisor.send(supervisor.KEEP)
        self.supervisor.close()

    def now(self) -> Session | None:
        """Return it as it is on record by now; None where somebody else has ended it."""
        return _own(self.kernel, self.supervisor.pid)

    def end(self) -> list[str]:
        """Undo everything; return a line for each thing done. Raises NotUndoneError."""
        try:
            return stop(self.kernel, self.supervisor.pid)
        finally:
            self.supervisor.close()

    def name(self, label: str) -> None:
        """Say by what rules pages move."""
        self._record(label=label)

    def make_cgroup(self, name: str) -> Cgroup:
        """Make a cgroup for a program that has no pages yet; limit the session to it."""
        mount = cgroups.mount_point(self.kernel)
        made = Cgroup(mount, f"/{name}")
        control = f"{mount}/cgroup.subtree_control"
        enabled = "memory" in (self.kernel.text(control) or "").split()
        self._record(
            before={},
            cgroup=made,
            came_from=cgroups.own(self.kernel),
            controller="" if enabled else control,
        )
        if not enabled:
            self.kernel.write(control, "+memory")
        self.kernel.make_folder(made.folder)
        return made

    def set(self, path: str, value: str) -> None:
        """Change a setting."""
        found = self.kernel.text(path)
        if found is None:
            raise UserError(f"this kernel has no {path}", ExitCode.NOTHING_MEASURED)
        if found != value:
            self._record(settings=(*self.session.settings, (path, found, value)))
            self.kernel.write(path, value)

    def run(self, rules: Rules, damo: Any) -> None:
        """Have kdamonds follow the rules, which ``damo`` has for reports; none may be on."""
        if self.kernel.text(_STATISTICS) == "Y":
            self.set(_STATISTICS, "N")
        if self.session.kdamonds:  # of rules before these: there are as many as on record, or none
            tree.set_count(self.kernel, 0)
        self._record(kdamonds=len(rules.kdamonds), rules=damo, writes=None)
        tree.set_count(self.kernel, len(rules.kdamonds))
        self._record(
            writes=tuple(tree.fill(self.kernel, rules.kdamonds)),
            monitored=monitored(self.kernel, rules),
        )
        for number in range(len(rules.kdamonds)):
            tree.command(self.kernel, number, "on")

    def _record(self, **changes: Any) -> None:
        self.session = replace(self.session, **changes)
        _save(self.kernel, self.session)


@contextlib.contextmanager
def starting(kernel: Kernel, damon: bool = True) -> Iterator[Tiering]:
    """Give a tiering to start, by ``damon`` or not; undo what it changed where that fails.

    Raises UserError where tiering is on already, or somebody else uses DAMON.
    """
    with _locked(kernel):
        left = load(kernel)
        if left is not None and left.left:
            raise NotUndoneError(left)
        if left is not None:
            raise UserError(f"{left.title()} is on; 'tierscope tier stop' ends it")
        if damon:
            refuse_others(kernel)
        tiering = Tiering(kernel, supervisor.start(kernel, partial(_supervise, kernel)))
        try:
            yield tiering
        except BaseException as error:
            try:
                _undo(kernel, tiering.session)
            except NotUndoneError as rest:
                raise NotUndoneError(rest.session, rest.done, f"{error}; ") from None
            finally:
                tiering.supervisor.close()
            raise


def refuse_others(kernel: Kernel) -> None:
    """Raise UserError where there is no DAMON, or somebody else uses it."""
    if not tree.available(kernel):
        raise UserError(
            "this kernel has no DAMON in sysfs (CONFIG_DAMON_SYSFS); "
            "'--preset numa-balancing' works without it",
            ExitCode.NOTHING_MEASURED,
        )
    for name in _ACTING:
        if kernel.text(_MODULE.format(name)) == "Y":
            raise UserError(
                f"the DAMON module {name} is on, and the kernel lets nothing else use DAMON then; "
                f"echo N > {_MODULE.format(name)} ends it",
                ExitCode.NOTHING_MEASURED,
            )
    number = tree.count(kernel)
    if number:
        on = len(tree.running(kernel))
        raise UserError(
            f"somebody else uses DAMON: there {'is' if number == 1 else 'are'} "
            f"{counted(number, 'kdamond')} in {tree.KDAMONDS}, {on} of them on; "
            "starting would replace them, so end what made them first",
            ExitCode.NOTHING_MEASURED,
        )


class NotUndoneError(UserError):
    """Something is left of a tiering; the text says what a person does about it."""

    def __init__(self, session: Session, done: Sequence[str] = (), why: str = "") -> None:
        super().__init__(
            f"{why}{session.title()} has ended, and not all of it could be undone: "
            f"{'; '.join(session.left)}; afterwards: tierscope tier restore",
            ExitCode.SOMETHING_FAILED,
        )
        self.session, self.done = session, done


def stop(kernel: Kernel, supervised_by: int = 0, patience_s: float = _PATIENCE_S) -> list[str]:
    """Undo what a tiering changed that is on or was left; return a line for each thing done.

    With ``supervised_by``, only the tiering that has this supervisor. Raises NotUndoneError where
    something cannot be undone, which stays on record then.
    """
    with _locked(kernel, patience_s):
        session = _own(kernel, supervised_by) if supervised_by else load(kernel)
        return [] if session is None else _undo(kernel, session)


def _own(kernel: Kernel, supervised_by: int) -> Session | None:
    session = load(kernel)
    return session if session is not None and session.supervisor == supervised_by else None


@contextlib.contextmanager
def _locked(kernel: Kernel, patience_s: float = _PATIENCE_S) -> Iterator[None]:
    with saved_state.locked(NAME, Path(kernel.root or "/"), patience_s) as lock:
        if lock is None:
            raise UserError("another 'tierscope tier' is starting or stopping; wait for its end")
        yield


def _save(kernel: Kernel, session: Session) -> None:
    saved_state.save(NAME, asdict(session), Path(kernel.root or "/"))


def _supervise(kernel: Kernel, channel: Channel) -> None:
    """Follow memory that goes online or offline until tiering has ended; undo it where the command
    ends before that."""
    own = os.getpid()
    kept, pause = False, _LOOK_EACH_S
    follower: Follower | None = None
    while True:
        word = channel.receive(pause)
        if word == supervisor.TERMINATE or (word == supervisor.END and not kept):
            with contextlib.suppress(UserError):  # what is left is on record
                stop(kernel, own, patience_s=math.inf)
            return
        kept = kept or word == supervisor.KEEP
        if follower is None and word not in (supervisor.FOLLOW, supervisor.KEEP):
            continue
        begin = time.process_time()
        with contextlib.suppress(UserError):  # a full disk does not keep it from undoing later
            session = _own(kernel, own)
            if session is None:
                return
            follower = follower or Follower(kernel, session.monitored, online(kernel))
            _follow(kernel, own, follower)
        # By the clock, a look that waits for a CPU would put off the next one.
        took = time.process_time() - begin
        pause = min(max(_LOOK_EACH_S, _LOOKING * took), _LONGEST_PAUSE_S)


def _follow(kernel: Kernel, own: int, follower: Follower) -> None:
    """Have kdamonds monitor what is online, and record what went online or offline."""
    found = follower.look(time.time())
    if not found and not follower.late:
        return
    with _locked(kernel, math.inf):
        session = _own(kernel, own)
        if session is None:
            return
        follower.follow()
        if found or follower.problem != session.problem:
            seen = (*session.events, *found)[-_EVENTS:]
            _save(kernel, replace(session, events=seen, problem=follower.problem))


def _undo(kernel: Kernel, session: Session) -> list[str]:
    """Undo in the reverse order of the changes; each step may have been done before.

    What fails does not keep the others from being undone. Raises NotUndoneError.
    """
    done: list[str] = []
    left: list[str] = []
    steps: list[Callable[[Kernel, Session], Undone]] = [
        _end_kdamonds,
        *(partial(_reset, one) for one in reversed(session.settings)),
        _remove_cgroup,
        _disable_controller,
    ]
    for step in steps:
        try:
            said, changed = step(kernel, session)
        except UserError as error:
            left.append(str(error))
        else:
            done += said
            session = replace(session, **changed)
    if left:
        session = replace(session, left=tuple(left))
        _save(kernel, session)
        raise NotUndoneError(session, done)
    saved_state.discard(NAME, Path(kernel.root or "/"))
    return done


def _reset(setting: tuple[str, str, str], kernel: Kernel, session: Session) -> Undone:
    path, found, written = setting
    rest = {"settings": tuple(one for one in session.settings if one != setting)}
    now = kernel.text(path)
    if now == found:
        return [], rest
    if now != written:
        return [f"{path} is {now} by now, which somebody else wrote: left as it is"], rest
    try:
        kernel.write(path, found)
    except KernelError as error:
        raise UserError(f"{error}: echo {found} > {path}") from None
    return [f"{path} is {found} again"], rest


def _end_kdamonds(kernel: Kernel, session: Session) -> Undone:
    number = tree.count(kernel)
    if not session.kdamonds or not number:
        return [], {"kdamonds": 0}
    on = tree.running(kernel)
    ours = number == session.kdamonds and (
        not on if session.writes is None else tree.matches(kernel, [*session.writes])
    )
    if not ours:
        line = f"{counted(number, 'kdamond')} that somebody else made since: left as they are"
        return [line], {"kdamonds": 0}
    try:
        for one in on:
            with contextlib.suppress(KernelError):  # one that has ended by itself
                tree.command(kernel, one, "off")
        tree.set_count(kernel, 0)
    except KernelError as error:
        raise UserError(
            f"{error}: for one in {tree.KDAMONDS}/*/state; do echo off > $one; done; "
            f"echo 0 > {tree.KDAMONDS}/nr_kdamonds"
        ) from None
    return [f"ended {counted(number, 'kdamond')}"], {"kdamonds": 0}


def _remove_cgroup(kernel: Kernel, session: Session) -> Undone:
    gone = {"came_from": None}
    if not session.cgroup or not session.came_from:
        return [], gone
    there = kernel.exists(session.cgroup.folder)
    cgroups.remove(kernel, session.cgroup, session.came_from)
    return [f"removed cgroup {session.cgroup.path}"] if there else [], gone


def _disable_controller(kernel: Kernel, session: Session) -> Undone:
    path = session.controller
    if not path or session.came_from:  # the cgroup is still there, and uses it
        return [], {}
    try:
        needed = cgroups.disable_memory(kernel, path)
    except KernelError as error:
        raise UserError(f"{error}: echo -memory > {path}") from None
    said = f"{path} keeps the memory controller, since {needed}" if needed else ""
    return [said] if said else [], {"controller": ""}


def bytes_by_node(kernel: Kernel, cgroup: Cgroup | None, pid: int = 0) -> dict[int, int]:
    """Return where the pages are of a process and its children, of a cgroup, or of the machine.

    They are bytes by node.
    """
    if pid:
        return own_memory(process_tree(pid, kernel), kernel)
    return cgroups.bytes_by_node(kernel, cgroup.folder) if cgroup else tree.used(kernel)

"""A tiering that is on: by DAMON's rules, or the kernel's own (NUMA balancing and reclaim).

Source: Linux, Documentation/admin-guide/sysctl/kernel.rst (numa_balancing) and
Documentation/ABI/testing/sysfs-kernel-mm-numa (demotion_enabled).
"""

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from tierscope.model.errors import ExitCode, UserError, counted
from tierscope.place import cgroups, saved_state
from tierscope.place.cgroups import Cgroup
from tierscope.place.damon import tree
from tierscope.place.damon.rules import Rules
from tierscope.place.kernel import Kernel
from tierscope.place.pages import own_memory, process_tree

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
    """Pages that the kernel had migrated by then (pgmigrate_success)."""
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
        return Session(**content)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise saved_state.unreadable(NAME, error, Path(kernel.root or "/")) from None


@dataclass
class Tiering:
    """Changes settings step by step, each on record first; ``stop`` undoes them."""

    kernel: Kernel
    session: Session = field(default_factory=lambda: Session("", 0, {}))

    def begin(self, label: str, cgroup: Cgroup | None = None, pid: int = 0) -> None:
        """Note what is there before anything changes."""
        self._record(
            label=label,
            started=time.time(),
            before=bytes_by_node(self.kernel, cgroup, pid),
            migrated=self.kernel.fields("/proc/vmstat").get("pgmigrate_success", 0),
            cgroup=cgroup,
            pid=pid,
        )

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
        cgroups.make(self.kernel, made)
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
        self._record(kdamonds=len(rules.kdamonds), rules=damo, writes=None)
        tree.set_count(self.kernel, len(rules.kdamonds))
        self._record(writes=tuple(tree.fill(self.kernel, rules.kdamonds)))
        for number in range(len(rules.kdamonds)):
            tree.command(self.kernel, number, "on")

    def _record(self, **changes: Any) -> None:
        self.session = replace(self.session, **changes)
        saved_state.save(NAME, asdict(self.session), Path(self.kernel.root or "/"))


@contextlib.contextmanager
def starting(kernel: Kernel, damon: bool = True) -> Iterator[Tiering]:
    """Give a tiering to start, by ``damon`` or not; undo what it changed where that fails.

    Raises UserError where tiering is on already, or somebody else uses DAMON.
    """
    root = Path(kernel.root or "/")
    with saved_state.locked(NAME, root) as lock:
        if lock is None:
            raise UserError("another 'tierscope tier' is starting or stopping; wait for its end")
        left = load(kernel)
        if left is not None:
            raise UserError(
                f"tiering of {left.scope()} by {left.label} is on; 'tierscope tier stop' ends it"
            )
        if damon:
            refuse_others(kernel)
        tiering = Tiering(kernel)
        try:
            yield tiering
        except BaseException:
            _undo(kernel, tiering.session)
            saved_state.discard(NAME, root)
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


def stop(kernel: Kernel) -> list[str]:
    """Undo what a tiering changed that is on or was left; return a line for each thing done.

    Raises UserError where something cannot be undone; the state file stays then.
    """
    root = Path(kernel.root or "/")
    with saved_state.locked(NAME, root) as lock:
        if lock is None:
            raise UserError("another 'tierscope tier' is starting or stopping; wait for its end")
        session = load(kernel)
        done = [] if session is None else _undo(kernel, session)
        saved_state.discard(NAME, root)
    return done


def _undo(kernel: Kernel, session: Session) -> list[str]:
    """Undo in the reverse order of the changes; each step may have been done before."""
    done = []
    if session.kdamonds and tree.available(kernel):
        done += _end_kdamonds(kernel, session)
    for path, found, written in reversed(session.settings):
        now = kernel.text(path)
        if now == written:
            kernel.write(path, found)
            done.append(f"{path} is {found} again")
        elif now != found:
            done.append(f"{path} is {now} by now, which somebody else wrote: left as it is")
    if session.cgroup and session.came_from:
        cgroups.remove(kernel, session.cgroup, session.came_from)
        done.append(f"removed cgroup {session.cgroup.path}")
    if session.controller and "memory" in (kernel.text(session.controller) or "").split():
        kernel.write(session.controller, "-memory")
    return done


def _end_kdamonds(kernel: Kernel, session: Session) -> list[str]:
    number = tree.count(kernel)
    if number == 0:
        return []
    on = tree.running(kernel)
    ours = number == session.kdamonds and (
        not on if session.writes is None else tree.matches(kernel, [*session.writes])
    )
    if not ours:
        return [f"{counted(number, 'kdamond')} that somebody else made since: left as they are"]
    for one in on:
        tree.command(kernel, one, "off")
    tree.set_count(kernel, 0)
    return [f"ended {counted(number, 'kdamond')}"]


def bytes_by_node(kernel: Kernel, cgroup: Cgroup | None, pid: int = 0) -> dict[int, int]:
    """Return where the pages are of a process and its children, of a cgroup, or of the machine.

    They are bytes by node.
    """
    if pid:
        return own_memory(process_tree(pid, kernel), kernel)
    return cgroups.bytes_by_node(kernel, cgroup.folder) if cgroup else tree.used(kernel)

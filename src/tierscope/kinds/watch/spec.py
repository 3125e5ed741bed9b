"""The spec of watch: counters that are read at intervals."""

import os
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from tierscope.model.base import Count, Model
from tierscope.model.endpoint import EndpointKind, format_ranges, whole_number
from tierscope.model.errors import UserError
from tierscope.model.spec import Cpus, MeasurementSpec, Region
from tierscope.model.topology import Topology
from tierscope.plans import grammar
from tierscope.plans.axes import checked, identity, parsed
from tierscope.plans.options import Option
from tierscope.plans.request import Request, RequestForm

LONGEST_S = 86400.0
"""Longest watch: a day."""
_CGROUPS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
_INTERVAL = Option("interval", "TIME", "From one reading to the next, from 100ms to an hour", "1s")


class WatchPattern(Model):
    """How often counters are read."""

    interval_s: Annotated[float, Field(ge=0.1, le=3600)] = 1.0
    """Seconds from one reading to the next."""


class WatchSpec(MeasurementSpec):
    """Mean memory in use, and all other counters that were read."""

    metric: ClassVar[str] = "memory_used"
    observes: ClassVar[bool] = True
    initiators: ClassVar[tuple[EndpointKind, ...]] = ()
    targets: ClassVar[tuple[EndpointKind, ...]] = ()
    recorded: ClassVar[tuple[str, ...]] = ("interval_s", "watched")
    extra_properties: ClassVar[dict[str, type]] = {"watched": str}

    kind: Literal["watch"] = "watch"
    cpus: Cpus
    """All CPUs of the machine."""
    pid: Count | None = None
    """The process whose memory is watched; None: the machine's."""
    cgroup: str = ""
    """Directory of the cgroup whose memory and pressure are watched; empty: the machine's."""
    pattern: WatchPattern = WatchPattern()

    def thread_cpus(self) -> list[int]:
        """The CPUs whose counters are read."""
        return self.cpus

    def regions(self) -> list[Region]:
        """None: it allocates no memory."""
        return []

    def identity(self) -> dict[str, Any]:
        """The interval and the watched object."""
        return {**self.pattern.model_dump(mode="json"), "watched": self.watched()}

    def watched(self) -> str:
        """The watched object: ``machine``, ``pid:12``, ``cgroup:/sys/fs/cgroup/batch``."""
        if self.pid is not None:
            return f"pid:{self.pid}"
        return f"cgroup:{self.cgroup}" if self.cgroup else "machine"


SPEC = WatchSpec


def expand(request: Request, topology: Topology, _thp: bool) -> Iterator[WatchSpec]:
    """Yield the one measurement of a request."""
    given = request.options
    interval = parsed(request, _INTERVAL, grammar.parse_duration, 0.1, 3600)
    seconds = LONGEST_S
    if "duration" in given:
        seconds = checked(
            request, "duration", grammar.parse_duration, given["duration"], 0, LONGEST_S
        )
        if seconds < interval:
            raise request.wrong(
                "duration",
                f"'{given['duration']}' is over before the first reading, which comes after "
                f"the interval of {interval:g} s",
            )
    if "pid" in given and "cgroup" in given:
        raise request.wrong("cgroup", "goes without --pid: watch one of them")
    pid = checked(request, "pid", _process, given["pid"]) if "pid" in given else None
    cgroup = checked(request, "cgroup", _cgroup, given["cgroup"]) if "cgroup" in given else ""
    nodes = [str(node.number) for node in topology.nodes if node.total_bytes]
    yield WatchSpec.model_validate(
        {
            "id": identity([request.name or "watch"]),
            "initiator": f"cpus:{format_ranges(tuple(topology.cpus))}",
            "target": f"node:{','.join(nodes)}",
            "sampling": {"budget_s": seconds},
            "cpus": topology.cpus,
            "pid": pid,
            "cgroup": cgroup,
            "pattern": WatchPattern(interval_s=interval),
        }
    )


def _process(text: str) -> int:
    pid = whole_number(text)
    if pid is None:
        raise UserError(f"'{text}' is not the number of a process")
    if not os.path.isdir(f"/proc/{pid}"):  # noqa: PTH112
        raise UserError(f"there is no process {text}")
    return pid


def _cgroup(text: str) -> str:
    """Return the directory of a cgroup of version 2, by its path below the mount or its own."""
    for root in ("", *_CGROUPS):
        directory = f"{root}/{text.strip('/')}" if root or text.startswith("/") else ""
        if directory and os.path.isfile(f"{directory}/cgroup.procs"):  # noqa: PTH113
            return directory
    raise UserError(f"'{text}' is not a cgroup below {' or '.join(_CGROUPS)}")


REQUEST = RequestForm(
    options=(
        _INTERVAL,
        Option("duration", "TIME", "How long to watch, at most 24h", "until Ctrl-C"),
        Option("pid", "PID", "Watch the memory of this process, too"),
        Option("cgroup", "PATH", "Watch the memory and pressure of this cgroup, too"),
    ),
    expand=expand,
    examples=("watch", "watch --interval 500ms --duration 2s --record", "watch --pid 1"),
)

"""Requests for watch."""

import os
from collections.abc import Iterator

from tierscope.kinds.watch.spec import WatchPattern, WatchSpec
from tierscope.model.endpoint import format_ranges
from tierscope.model.errors import UserError
from tierscope.model.topology import Topology
from tierscope.plans import grammar
from tierscope.plans.axes import checked, identity
from tierscope.plans.options import Option
from tierscope.plans.request import Request, RequestForm

LONGEST_S = 86400.0
"""Of one watch: a day."""
_CGROUPS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")


def expand(request: Request, topology: Topology, _thp: bool) -> Iterator[WatchSpec]:
    """Yield the one measurement of a request."""
    given = request.options
    interval = checked(
        request, "interval", grammar.parse_duration, given.get("interval", "1s"), 0.099, 3600
    )
    seconds = LONGEST_S
    if "duration" in given:
        seconds = checked(
            request, "duration", grammar.parse_duration, given["duration"], 0, LONGEST_S
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
    if not text.isdecimal():
        raise UserError(f"'{text}' is not the number of a process")
    if not os.path.isdir(f"/proc/{int(text)}"):  # noqa: PTH112
        raise UserError(f"there is no process {text}")
    return int(text)


def _cgroup(text: str) -> str:
    """Return the directory of a cgroup of version 2, by its path below the mount or its own."""
    for root in ("", *_CGROUPS):
        directory = f"{root}/{text.strip('/')}" if root or text.startswith("/") else ""
        if directory and os.path.isfile(f"{directory}/cgroup.procs"):  # noqa: PTH113
            return directory
    raise UserError(f"'{text}' is no cgroup below {' or '.join(_CGROUPS)}")


REQUEST = RequestForm(
    options=(
        Option("interval", "TIME", "From one reading to the next, from 100ms to an hour", "1s"),
        Option("duration", "TIME", "How long to watch, at most 24h", "until Ctrl-C"),
        Option("pid", "PID", "Watch the memory of this process, too"),
        Option("cgroup", "PATH", "Watch the memory and pressure of this cgroup, too"),
    ),
    expand=expand,
    examples=("watch", "watch --interval 500ms --duration 2s --record", "watch --pid 1"),
)

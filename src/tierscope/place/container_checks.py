"""Restrictions of containers that prevent measurements, for `tierscope doctor`."""

from collections.abc import Callable, Iterator

from tierscope.machine.files import Files
from tierscope.model.finding import Finding
from tierscope.model.topology import Topology
from tierscope.place import kernel

_POLICY_CALLS = ("mbind", "set_mempolicy", "get_mempolicy", "move_pages")


def container_findings(
    topology: Topology,
    refused: Callable[[str], bool] = kernel.refused,
    root: str = "/",
) -> list[Finding]:
    """Return what is kept from this process; nothing where nothing is."""
    return [*_placement(topology, refused), *_others(refused), *_sys(Files(root))]


def _placement(topology: Topology, refused: Callable[[str], bool]) -> Iterator[Finding]:
    calls = [name for name in _POLICY_CALLS if refused(name)]
    if not calls:
        return
    several = sum(node.total_bytes > 0 for node in topology.nodes) > 1
    yield Finding(
        severity="problem" if several else "note",
        subject="placement of memory",
        found=f"{', '.join(calls)} refused to this process",
        meaning="no target can be chosen among the nodes, and all measurements that name one are "
        "skipped"
        if several
        else "nothing is lost for CPUs: there is one node; `place` and `tier` do not work",
        remedy="allow them in the container's seccomp profile: docker run --cap-add SYS_NICE",
    )


def _others(refused: Callable[[str], bool]) -> Iterator[Finding]:
    if refused("io_uring_setup"):
        yield Finding(
            severity="note",
            subject="io_uring",
            found="io_uring_setup refused to this process",
            meaning="`io` and `storage` skip what would use it; other backends work, as in "
            "--backend libaio",
            remedy="allow it in the container's seccomp profile, and set "
            "/proc/sys/kernel/io_uring_disabled to 0",
        )
    if refused("perf_event_open"):
        yield Finding(
            severity="note",
            subject="counters",
            found="perf_event_open refused to this process",
            meaning="traffic is not cross-checked by counters of memory controllers; no "
            "measurement needs them",
            remedy="docker run --cap-add PERFMON --user 0",
        )


def _sys(files: Files) -> Iterator[Finding]:
    if not files.exists("/sys/devices/system/cpu"):
        yield Finding(
            severity="problem",
            subject="/sys",
            found="not visible",
            meaning="CPUs, nodes, caches, links, drives, huge pages and limits are unknown, so "
            "nothing is measured",
            remedy="mount it: docker run -v /sys:/sys:ro",
        )

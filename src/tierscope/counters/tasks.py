"""What one process or cgroup has: its memory by node, its pressure."""

from tierscope.counters.kernel import pressure_source
from tierscope.counters.reading import Key, Reading
from tierscope.counters.source import Source, absent, lacks
from tierscope.model.errors import UserError
from tierscope.placement import cgroups
from tierscope.placement.pages import bytes_by_node
from tierscope.topology.files import Files


def process_source(files: Files, pid: int) -> Source:
    """Bytes of a process by node; nothing once it has ended."""

    def read() -> Reading:
        return _by_node(bytes_by_node(pid, files=files), f"pid {pid}")

    try:
        read()
    except UserError as error:
        return absent("process", [lacks(f"the pages of process {pid}", str(error))])
    return Source("process", read)


def cgroup_sources(files: Files, directory: str) -> list[Source]:
    """Bytes by node and pressure of a cgroup of version 2."""

    def memory() -> Reading:
        return _by_node(cgroups.bytes_by_node(files, directory), "cgroup")

    pressure = pressure_source(files, directory)
    if files.exists(f"{directory}/memory.numa_stat"):
        return [Source("cgroup", memory), pressure]
    reason = f"{directory} has no memory.numa_stat"
    remedy = "enable its memory controller, in cgroup.subtree_control of the directory above"
    return [absent("cgroup", [lacks("the cgroup's memory", reason, remedy)]), pressure]


def _by_node(nodes: dict[int, int], whose: str) -> Reading:
    levels: dict[Key, float] = {Key("memory_used", whose): sum(nodes.values())}
    levels |= {Key("memory_used", f"{whose} node {node}"): size for node, size in nodes.items()}
    return Reading(levels=levels)

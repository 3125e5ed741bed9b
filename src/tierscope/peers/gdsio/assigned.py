"""A job file from the assignment of drives to GPUs (``topo --assign``)."""

from tierscope.machine.affinity import Tree
from tierscope.machine.assignment import assign
from tierscope.machine.gpu_paths import gpu_home
from tierscope.machine.storage import drives
from tierscope.model.affinity import Stream
from tierscope.model.errors import UserError
from tierscope.model.topology import Block, Gpu, Topology

_HEAD = """\
# Each GPU reads from the drive assigned to it, all at once (tierscope topo --assign).
# On a drive with a mounted file system of its own: files gdsio.N at the mount point, which
# 'tierscope gdsio' makes first (NVIDIA's gdsio needs a run with rw=write before). On any other
# drive the device itself is read, which needs root: never change rw there, writes destroy its data.
[global]
name=assigned
xfer_type=0
rw=read
bs=1M
size=1G
runtime=30
"""
_THREADS = 8


def assigned_jobs(topology: Topology) -> tuple[str, int]:
    """Return the text of a job file with a job for each GPU that has a drive, and their number.

    Raises UserError where no GPU has one.
    """
    gpus = {f"gpu:{gpu.index}": gpu for gpu in topology.gpus}
    found = assign(topology).drives
    if not found:
        raise UserError(f"no GPU of {topology.host} can be assigned a drive, so there is no job")
    jobs = [
        _job(topology, number, gpus[stream.gpu], stream)
        for number, stream in enumerate(found, start=1)
    ]
    return "\n".join([_HEAD, *jobs]), len(jobs)


def _job(topology: Topology, number: int, gpu: Gpu, stream: Stream) -> str:
    home = gpu_home(topology, Tree(topology.pci), gpu)
    lines = [
        f"# {stream.gpu} and {stream.device}: {stream.affinity}",
        f"[job{number}]",
        *([f"numa_node={home}"] if home is not None else []),
        f"gpu_dev_id={gpu.index}",
        f"num_threads={_THREADS}",
        _target(topology, stream.device),
    ]
    return "\n".join(lines) + "\n"


def _target(topology: Topology, drive: str) -> str:
    """The mount point of a file system that lies on this drive alone, else the device."""
    for mount in topology.mounts:
        below = drives(mount.block, topology.blocks) if mount.block else []
        # A line of a job file expands $NAME.
        written = mount.path.isprintable() and "$" not in mount.path
        if written and [_name(block) for block in below] == [drive]:
            return f"directory={mount.path}"
    device = next(block.name for block in topology.blocks if _name(block) == drive)
    return f"filename=/dev/{device}"


def _name(block: Block) -> str:
    return block.controller or block.name

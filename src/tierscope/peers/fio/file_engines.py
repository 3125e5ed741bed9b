"""fio's engines that open, stat or unlink files: jobs of these are measured by the kind files."""

from collections.abc import Sequence
from typing import Any

from tierscope.kinds.files.spec import FilesEvidence
from tierscope.model.errors import UserError
from tierscope.model.event import Repetition
from tierscope.model.storage import IoThreads, TargetIo
from tierscope.model.topology import Topology
from tierscope.peers.drop_in import NEVER
from tierscope.peers.fio.jobs import Job
from tierscope.peers.fio.plan import Clone, Stage, cpus_of, id_of, initiator_of

_SAMPLE_S = 0.05


def files_spec(stage: Stage, topology: Topology) -> dict[str, Any]:
    """Return the spec of jobs that run together: each clone is a thread with its share of them."""
    clones, job = stage.clones, stage.jobs[0]
    sets = [cpus_of(clone, topology) for clone in clones]
    every = sorted({cpu for one in sets for cpu in one})
    return {
        "kind": "files",
        "id": id_of(job),
        "initiator": initiator_of(every, topology),
        "target": f"file:{job.directory}",
        "sampling": {"precision": NEVER, "budget_s": _SAMPLE_S, "sample_s": _SAMPLE_S},
        "cpus": every,
        "cpu_sets": sets,
        "directory": job.directory,
        "large": True,
        "pattern": {
            "operation": job.engine.operation,
            "file_size": _file_bytes(job),
            # As with fio, all are in the same directory, where they wait for each other.
            "files": job.of("nrfiles") * len(clones),
            "directories": "shared" if len(clones) > 1 else "own",
            # fio, too, has the drive keep files that it makes beforehand.
            **({"fsync": "file"} if job.engine.operation == "unlink" else {}),
        },
        "own_ends": True,
    }


def _file_bytes(job: Job) -> int:
    """Return the bytes of each file; filecreate writes none."""
    return 0 if job.engine.operation == "create" else (job.size or 0) // job.of("nrfiles")


def part_of_thread(clones: Sequence[Clone], clone: Clone) -> str:
    """Return the part of a clone's figures."""
    return f"thread {clones.index(clone)}"


def work_of(stage: Stage, clone: Clone, repetition: Repetition) -> TargetIo:
    """Return what a clone did, as evidence of input and output has it.

    As in fio, an operation on a file counts as one of ``bs`` bytes.
    """
    found = repetition.evidence.own(FilesEvidence).small_files
    if found is None or found.threads is None:
        raise UserError("the engine says nothing of the threads; it is older than tierscope")
    thread = found.threads[stage.clones.index(clone)]
    number, moved = thread.operations, thread.operations * clone.job.largest
    reads = clone.job.operation == "read"
    alone = [number, 0, 0, 0, 0, 0, 0]
    few = [0, *alone[:-1]]
    used = thread.model_dump(exclude={"operations"})
    return TargetIo(
        name=clone.part,
        reads=number if reads else 0,
        writes=0 if reads else number,
        bytes_read=moved if reads else 0,
        bytes_written=0 if reads else moved,
        threads=IoThreads(
            **used, in_flight=alone, submitted=few, completed=few, depth=1, counted_from=0
        ),
    )

"""What a workload's files are, before anything is measured: their sizes, and whose they are."""

from dataclasses import replace

from tierscope.engine.paths import path_facts
from tierscope.model.errors import UserError
from tierscope.recipes.gdsio.plan import STEM
from tierscope.recipes.gdsio.workload import Job, Workload

_MANIFEST = ".tierscope-files.json"
"""Lists the files that tierscope made in a directory (engine/storage/manifest.h)."""


def looked_up(work: Workload, overwrite: bool) -> Workload:
    """Return the workload with the sizes of the files to be read that were not given.

    Of a directory the first file stands for all. Raises UserError where files that are needed are
    missing, or would be overwritten although they are not tierscope's.
    """
    return replace(work, jobs=tuple(_looked_up(work, job, overwrite) for job in work.jobs))


def _looked_up(work: Workload, job: Job, overwrite: bool) -> Job:
    path = f"{job.path}/{STEM}0" if job.is_directory else job.path
    facts = path_facts(path)
    if facts.kind == "directory":
        raise UserError(f"{job.place}: {path} is a directory; -D makes files below one")
    if facts.kind == "block":
        job = replace(job, path=facts.real)
    if job.size is None and facts.kind == "missing":
        raise UserError(f"{job.place}: {path} is missing; give -s (size), so that it can be made")
    foreign = (
        job.is_directory
        and facts.kind == "file"
        and path_facts(f"{job.path}/{_MANIFEST}").kind == "missing"
    )
    if foreign and work.writes and not overwrite:
        raise UserError(
            f"{job.place}: {path} is there, and tierscope did not make it; name another directory, "
            "or say --overwrite"
        )
    size = job.size
    if size is None and facts.size is not None:
        size = max(0, facts.size - work.offset)
    return replace(job, size=size, foreign=foreign)

"""What a workload's files are, before anything is measured: their sizes, and whose they are."""

from dataclasses import replace

from tierscope.engine.paths import path_facts
from tierscope.model.errors import UserError
from tierscope.recipes.drop_in.ownership import is_foreign, refuse_overwriting
from tierscope.recipes.gdsio.plan import STEM
from tierscope.recipes.gdsio.workload import Job, Workload


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
    foreign = job.is_directory and is_foreign(facts)
    if foreign and work.writes and not overwrite:
        raise refuse_overwriting(path, job.place)
    size = job.size
    if size is None and facts.size is not None:
        size = max(0, facts.size - work.offset)
    return replace(job, size=size, foreign=foreign)

"""Which jobs run together, and which of them are reported as one."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from tierscope.model.errors import UserError
from tierscope.recipes.fio.jobs import Job

MAX_CLONES = 256
"""Threads of jobs that run together."""


@dataclass(frozen=True)
class Clone:
    """One thread of a job."""

    job: Job
    number: int
    """Among the clones of its job, from 0 on."""
    group: int
    part: str
    """Its name in a run file, unlike that of any other that runs with it."""


@dataclass
class Stage:
    """Jobs that run together. The next ones begin when these have ended."""

    clones: list[Clone] = field(default_factory=list)

    @property
    def jobs(self) -> list[Job]:
        """Each once."""
        found: list[Job] = []
        for clone in self.clones:
            if clone.job not in found:
                found.append(clone.job)
        return found

    def entries(self) -> Iterator[list[Clone]]:
        """Yield the clones that each result is of: all of a group, or one."""
        entry: list[Clone] = []
        for clone in self.clones:
            grouped = clone.job.values.of("group_reporting", False)
            if entry and grouped and clone.group == entry[-1].group:
                entry.append(clone)
                continue
            if entry:
                yield entry
            entry = [clone]
        if entry:
            yield entry


def stages(jobs: Sequence[Job]) -> list[Stage]:
    """Return jobs in the order in which they run; UserError says what cannot run together."""
    found: list[Stage] = [Stage()]
    group = -1
    for job in jobs:
        waits = job.values.of("stonewall", False) or _waits(job, found)
        if waits and found[-1].clones:
            found.append(Stage())
        if waits or group < 0 or job.values.of("new_group", False):
            group += 1
        _add(found[-1], job, group)
    for stage in found:
        _check(stage)
    return found


def _waits(job: Job, before: Sequence[Stage]) -> bool:
    """Return whether a job begins a stage because of ``wait_for``."""
    name = job.values.of("wait_for")
    if name is None:
        return False
    if name in [one.name for one in before[-1].jobs]:
        if len(before[-1].jobs) > 1:
            raise job.values.fail(
                "wait_for", f"other jobs run with '{name}'; all of them have ended when the next "
                "one begins (stonewall)",
            )  # fmt: skip
        return True
    if not any(name == one.name for stage in before for one in stage.jobs):
        raise job.values.fail("wait_for", f"there is no job '{name}' before this one")
    return False


def _add(stage: Stage, job: Job, group: int) -> None:
    taken = {clone.part for clone in stage.clones}
    for number in range(job.clones):
        name = "".join(sign if sign.isprintable() else "_" for sign in job.name)[:48]
        part, again = f"{name}.{number}", 1
        while part in taken:
            again += 1
            part = f"{name}.{number}#{again}"
        taken.add(part)
        stage.clones.append(Clone(job, number, group, part))


def _check(stage: Stage) -> None:
    if len(stage.clones) > MAX_CLONES:
        raise UserError(
            f"{stage.clones[0].job.place}: {len(stage.clones)} threads run together; at most "
            f"{MAX_CLONES}"
        )
    first = stage.jobs[0]
    for job in stage.jobs[1:]:
        _check_times(first, job)
        if (first.engine.name == "libcufile") != (job.engine.name == "libcufile") or (
            first.engine.name == "libcufile" and first.backend != job.backend
        ):
            raise job.values.fail(
                "ioengine", f"jobs by libcufile run together with jobs alike only, and with "
                f"[{first.name}]; give a stonewall",
            )  # fmt: skip


_TIMES: tuple[tuple[str, str, Callable[[Job], object]], ...] = (
    ("time_based", "go by time or by amount", lambda job: job.timing.time_based),
    ("runtime", "have one runtime", lambda job: job.timing.seconds),
    ("ramp_time", "have one ramp_time", lambda job: job.timing.ramp),
    ("startdelay", "begin together", lambda job: job.timing.delay),
)


def _check_times(first: Job, job: Job) -> None:
    """Check that jobs begin and end together, for they are one measurement."""
    for name, what, value in _TIMES:
        if value(first) != value(job):
            raise job.values.fail(
                name, f"jobs that run together {what}, and [{first.name}] and [{job.name}] differ; "
                "give the same, or a stonewall",
            )  # fmt: skip

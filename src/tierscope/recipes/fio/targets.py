"""What the files of jobs are, before anything is measured: their sizes, and whose they are."""

from collections.abc import Sequence
from dataclasses import dataclass

from tierscope.engine.paths import path_facts
from tierscope.model.errors import UserError
from tierscope.recipes.drop_in.ownership import is_foreign, refuse_overwriting
from tierscope.recipes.fio.jobs import Job
from tierscope.recipes.fio.stages import Clone, Stage

_LEAST_FILE = 4096


@dataclass(frozen=True)
class Target:
    """The files of one clone."""

    path: str
    """The only file, or the device; empty: files of tierscope's below the directory."""
    directory: str
    stem: str
    count: int
    kind: str
    """file, block or missing."""
    end: int | None
    """Bytes that each file has to have; None: as many as it has."""
    offset: int
    size: int
    """Bytes of each file that are used."""
    create: bool
    keep: bool
    foreign: bool
    """It is another's."""

    @property
    def data_bytes(self) -> int:
        """Over all files."""
        return self.size * self.count


def targets_of(stage: Stage, overwrite: bool) -> list[Target]:
    """Return each clone's files; UserError where they are missing, too small or another's."""
    found = [_target(clone, overwrite) for clone in stage.clones]
    _check_shared(stage, found)
    ends: dict[str, int] = {}
    for one in found:
        ends[one.path] = max(ends.get(one.path, 0), one.end or 0)
    return [_whole(one, ends[one.path]) if one.path else one for one in found]


def _check_shared(stage: Stage, found: Sequence[Target]) -> None:
    """Refuse several writers of a file from GPUs: only verified blocks say who wrote them."""
    paths = [target.path for target in found]
    for clone, path in zip(stage.clones, paths, strict=True):
        alone = not path or paths.count(path) == 1 or clone.job.engine.name != "libcufile"
        if clone.job.writes and not clone.job.verify and not alone:
            raise clone.job.values.fail(
                "filename", "clones that write from GPUs have files of their own; give directory "
                "in place of filename, or verify",
            )  # fmt: skip


def _whole(target: Target, end: int) -> Target:
    """Return the target with the end that all clones which share the file need."""
    return Target(**{**vars(target), "end": end or None})


def _target(clone: Clone, overwrite: bool) -> Target:
    job, files = clone.job, clone.job.files
    path, stem = (files.path, "") if files.path else _below(clone)
    facts = path_facts(path or f"{files.directory}/{stem}0")
    if facts.kind == "directory":
        raise job.values.fail("filename", f"{facts.path} is a directory; name files by directory")
    if facts.kind == "other":
        raise job.values.fail("filename", f"{facts.path} is neither a file nor a block device")
    if facts.kind == "missing" and not (files.create and not files.is_device):
        why = "there is no such device" if files.is_device else "and allow_file_create=0"
        raise job.values.fail("filename", f"{facts.path} is missing, {why}")
    if facts.kind == "block" and job.writes:
        raise job.values.fail(
            "filename", f"{facts.path} is a device, whose data writing destroys; "
            "'tierscope io --destroy-data' does",
        )  # fmt: skip
    foreign = is_foreign(facts)
    if foreign and job.writes and not overwrite:
        raise refuse_overwriting(facts.path, job.place, "--overwrite-others")
    if foreign and not path:
        path = _only(job, f"{files.directory}/{stem}0")
    offset = job.offset + clone.number * job.increment
    size = _size(job, facts.kind, facts.size, offset)
    end = None if job.size is None else max(_LEAST_FILE, offset + size)
    kept = path and facts.kind != "missing" and facts.size is not None
    if kept and end is not None and facts.size is not None and facts.size < end:
        raise UserError(
            f"{job.place}: {facts.path} has {facts.size} bytes, and {end} are needed; remove it, "
            "or make size smaller"
        )
    return Target(
        path=facts.real if facts.kind == "block" else path,
        directory=files.directory,
        stem=stem,
        count=files.count,
        kind=facts.kind,
        end=end,
        offset=offset,
        size=size,
        create=files.create,
        keep=files.keep,
        foreign=foreign,
    )


def _below(clone: Clone) -> tuple[str, str]:
    """Return the path of a clone's only file below the directory, or the stem of their names."""
    files = clone.job.files
    name = files.pattern.replace("$jobnum", str(clone.number))
    name = name.replace("$clientuid", "").replace("$jobuid", "")
    stem = name.removesuffix("$filenum")
    where = "filename_format" if "filename_format" in clone.job.values.given else "name"
    plain = all(sign.isascii() and (sign.isalnum() or sign in "._-") for sign in stem)
    if "$" in stem or "/" in stem or not stem or len(stem) > 64 or stem.startswith("."):
        raise clone.job.values.fail(
            where, f"'{name}' cannot be the name of files: $filenum stands at its end, without / "
            "and . in front, 64 characters at most",
        )  # fmt: skip
    if stem == name or not plain:
        if files.count > 1:
            raise clone.job.values.fail(
                where, f"'{name}' names {files.count} files: it takes letters, digits, '.', '_', "
                "'-', and $filenum at its end",
            )  # fmt: skip
        return f"{files.directory}/{name.replace('$filenum', '0')}", ""
    return "", stem


def _only(job: Job, path: str) -> str:
    if job.files.count > 1:
        raise UserError(
            f"{job.place}: {path} is another's file, and of those a job uses one; name another "
            "directory"
        )
    return path


def _size(job: Job, kind: str, size: int | None, offset: int) -> int:
    """Return the bytes of each file that are used."""
    found = job.file_bytes
    if found is None:
        if kind == "missing" or size is None:
            raise UserError(f"{job.place}: [{job.name}] needs a size, for its file is missing")
        found = size - offset
    if found < job.largest:
        raise UserError(
            f"{job.place}: [{job.name}] has {max(0, found)} bytes in each file, less than one "
            f"operation of {job.largest}"
        )
    return found


def buffered_foreign(targets: Sequence[Target], stage: Stage) -> list[str]:
    """Say which files stay in the page cache although the job asks for an empty one."""
    pairs = zip(stage.clones, targets, strict=True)
    found = [
        target.path
        for clone, target in pairs
        if target.foreign and not clone.job.direct and clone.job.values.of("invalidate", True)
    ]
    return list(dict.fromkeys(found))

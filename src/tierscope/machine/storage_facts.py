"""Facts of a storage target, from a child process that looked at its path and from sysfs."""

from tierscope.machine.drive_facts import drive_facts, drive_state
from tierscope.machine.files import Files, unescape
from tierscope.machine.network import nfs_facts
from tierscope.machine.storage import blocks_below, drives, name_of_number, no_drive, read_block
from tierscope.model.storage import DriveFacts, MountFacts, PathFacts, StorageFacts


def storage_facts(path: PathFacts, files: Files | None = None) -> StorageFacts:
    """Facts of a path that a child looked at, with the state of its drives now."""
    files = files or Files()
    name = name_of_number(files, path.device)
    if not name:
        mount = path.mount
        nfs = nfs_facts(files, mount) if mount is not None else None
        return StorageFacts(path=path, nfs=nfs, note=no_drive(mount.type if mount else ""))
    blocks = blocks_below(files, name)
    return StorageFacts(
        path=path,
        chain=[block.name for block in blocks],
        level=next((block.level for block in blocks if block.level), ""),
        drives=[drive_facts(files, block) for block in drives(name, blocks)],
    )


def with_state(facts: StorageFacts, files: Files | None = None) -> StorageFacts:
    """The same facts with one more state of each drive: as it is now."""
    files = files or Files()

    def again(drive: DriveFacts) -> DriveFacts:
        state = drive_state(files, read_block(files, drive.name))
        return drive.model_copy(update={"states": [*drive.states, state]})

    return facts.model_copy(update={"drives": [again(drive) for drive in facts.drives]})


def path_in_copy(path: str, files: Files) -> PathFacts:
    """A path of the machine whose files were copied, as far as its mounts tell: the nearest mount
    above it, and the number of the device that is mounted there."""
    found = PathFacts(path=path, kind="missing", real=path, device="0:0", page_bytes=4096)
    longest = -1
    for line in (files.text("/proc/self/mountinfo") or "").splitlines():
        before, _, after = line.partition(" - ")
        fields, source = before.split(), after.split()
        if len(fields) < 6 or len(source) < 2:
            continue
        point = unescape(fields[4])
        inside = point == "/" or path == point or path.startswith(f"{point}/")
        if not inside or len(point) < longest:
            continue
        longest = len(point)
        options = ",".join([fields[5], *source[2:]])
        mount = MountFacts(
            id=int(fields[0]), point=point, type=source[0], source=source[1], options=options
        )
        found = found.model_copy(update={"mount": mount, "device": fields[2]})
    return found

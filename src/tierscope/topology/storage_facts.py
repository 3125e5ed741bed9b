"""What is known of a storage target, from what a child said of its path and from sysfs."""

from tierscope.model.storage import DriveFacts, PathFacts, StorageFacts
from tierscope.topology.drive_facts import drive_facts, drive_state
from tierscope.topology.files import Files
from tierscope.topology.storage import blocks_below, drives, name_of_number, no_drive, read_block


def storage_facts(path: PathFacts, files: Files | None = None) -> StorageFacts:
    """Facts of a path that a child looked at, with the state of its drives now."""
    files = files or Files()
    name = name_of_number(files, path.device)
    if not name:
        return StorageFacts(path=path, note=no_drive(path.mount.type if path.mount else ""))
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

"""How worn drives are, as a child of ours asks them: one that is gone holds whoever asks."""

from functools import cache

from tierscope.engine.paths import DEADLINE_S, PathError, ask_of
from tierscope.model.storage import DriveWear, StorageFacts
from tierscope.topology.files import Files
from tierscope.topology.storage import read_block


@cache
def known_wear(controller: str) -> DriveWear | None:
    """Return what the drive of an NVMe controller ("nvme0") says; None where it does not.

    It is asked once: each answer costs the drive a command.
    """
    try:
        return ask_of(f"/dev/{controller}", "wear", DriveWear, DEADLINE_S)
    except PathError:
        return None


def with_wear(facts: StorageFacts) -> StorageFacts:
    """Return the same facts with the wear of each NVMe drive."""
    files, drives = Files(), []
    for drive in facts.drives:
        nvme = drive.name.startswith("nvme")
        controller = read_block(files, drive.name).controller if nvme else ""
        wear = known_wear(controller) if controller else None
        drives.append(drive.model_copy(update={"wear": wear}))
    return facts.model_copy(update={"drives": drives})

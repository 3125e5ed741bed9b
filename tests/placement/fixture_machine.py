"""A tree of files that reads like a machine of four nodes with memory and one that is offline."""

from pathlib import Path

NODES = "sys/devices/system/node"
WEIGHTS = "sys/kernel/mm/mempolicy/weighted_interleave"


def write(root: Path, path: str, text: str) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def make_machine(root: Path, kernel: str = "6.12.0-test", allowed: str = "0-2,4") -> Path:
    """Nodes 0, 1, 2 and 4 have memory, 3 is offline, 5 has CPUs only."""
    write(root, f"{NODES}/online", "0-2,4-5\n")
    write(root, f"{NODES}/possible", "0-5\n")
    write(root, f"{NODES}/has_memory", "0-2,4\n")
    write(root, "proc/self/status", f"Name:\tx\nMems_allowed_list:\t{allowed}\n")
    write(root, "proc/sys/kernel/osrelease", f"{kernel}\n")
    write(root, "sys/kernel/mm/numa/demotion_enabled", "false\n")
    if tuple(map(int, kernel.split(".")[:2])) >= (6, 9):
        for node in (0, 1, 2, 4):
            write(root, f"{WEIGHTS}/node{node}", "1\n")
    return root

"""The testbed's NVDIMM: its namespace, and how its mode is changed."""

import subprocess

from tierscope.machine.discover import discover
from tierscope.model.persistent import Namespace

_CHANGE = ("ndctl", "create-namespace", "-f", "-M", "mem", "-e")


def namespace() -> Namespace:
    """The testbed's only one."""
    (found,) = discover().namespaces
    return found


def shell(*command: str) -> None:
    """Run a command as root; raises where it fails."""
    subprocess.run(command, check=True, capture_output=True, timeout=120)


def make_device() -> str:
    """Make it a DAX device, and return the device's name."""
    shell("umount", "/mnt/pmem")
    shell(*_CHANGE, namespace().name, "-m", "devdax")
    return namespace().device


def make_file_system() -> None:
    """Make it an empty file system again."""
    shell(*_CHANGE, namespace().name, "-m", "fsdax")
    shell("mkfs.ext4", "-q", "-b", "4096", f"/dev/{namespace().device}")
    shell("mount", "-o", "dax=always", f"/dev/{namespace().device}", "/mnt/pmem")

"""Huge pages of programs that are started: what a process can be given, and what is refused."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tierscope.machine.files import Files
from tierscope.model.errors import UserError
from tierscope.place import huge_pages as module
from tierscope.place.features import kernel_version
from tierscope.place.huge_pages import HugePages, huge_pages

STATE = "import ctypes; print(ctypes.CDLL(None).prctl(42, 0, 0, 0, 0))"


def machine(tmp_path: Path, setting: str) -> Files:
    words = [f"[{word}]" if word == setting else word for word in ("always", "madvise", "never")]
    path = tmp_path / "sys/kernel/mm/transparent_hugepage/enabled"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(" ".join(words) + "\n")
    return Files(tmp_path)


def state_of_a_child() -> int:
    """What PR_GET_THP_DISABLE says in a program that is started now."""
    return int(subprocess.check_output([sys.executable, "-S", "-c", STATE]))


@pytest.mark.parametrize(
    ("which", "setting", "state"),
    [("never", "always", 1), ("never", "madvise", 1), ("madvise", "madvise", 0),
     ("always", "always", 0)],
)  # fmt: skip
def test_a_child_inherits_what_was_asked_for(
    tmp_path: Path, which: HugePages, setting: str, state: int
) -> None:
    with huge_pages(which, machine(tmp_path, setting)):
        assert state_of_a_child() == state
        with huge_pages("always", machine(tmp_path, "always")):
            assert state_of_a_child() == 0
        assert state_of_a_child() == state
    assert state_of_a_child() == 0


def test_only_what_is_asked_for_takes_a_kernel_that_can_do_it(tmp_path: Path) -> None:
    setting = machine(tmp_path, "always")
    if kernel_version() >= (6, 18):
        with huge_pages("madvise", setting):
            assert state_of_a_child() == 3
        assert state_of_a_child() == 0
    else:
        with (
            pytest.raises(UserError, match=r"came with Linux 6\.18"),
            huge_pages("madvise", setting),
        ):
            pass


def test_an_older_kernel_is_told_from_other_refusals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(operation: int, value: int = 0, flags: int = 0) -> int:
        if operation == 42:
            return 0
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(module, "_prctl", refuse)
    for which, says in (("madvise", "came with Linux 6.18"), ("never", "cannot be set")):
        with pytest.raises(UserError, match=says), huge_pages(which, machine(tmp_path, "always")):
            pass


@pytest.mark.parametrize(
    ("which", "setting"), [("always", "madvise"), ("always", "never"), ("madvise", "never")]
)
def test_more_than_the_machine_s_setting_is_refused(
    tmp_path: Path, which: HugePages, setting: str
) -> None:
    says = f"thp:{which}: .*enabled is {setting}, and Linux cannot give one program more"
    with pytest.raises(UserError, match=says), huge_pages(which, machine(tmp_path, setting)):
        pass

"""Root does what a file says only where nobody else may write it."""

import os
from pathlib import Path

import pytest

from tierscope.machine.trust import why_untrusted
from tierscope.model.errors import UserError
from tierscope.place.saved_state import StateError, load, save
from tierscope.place.tier_rules import read_rules


def why(path: Path) -> str:
    with path.open() as file:
        return why_untrusted(file.fileno())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of this user's, who is root as far as the code under test knows."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("SUDO_UID", str(os.getuid()))
    made = tmp_path / "folder"
    made.mkdir()
    made.chmod(0o755)
    (made / "file").write_text("x")
    (made / "file").chmod(0o644)
    return made


def test_a_file_that_only_its_owner_may_write_is_trusted(folder: Path) -> None:
    assert why(folder / "file") == ""
    folder.chmod(0o1777)
    assert why(folder / "file") == ""
    reading, writing = os.pipe()
    assert why_untrusted(reading) == ""
    os.close(reading)
    os.close(writing)


def test_a_file_that_others_may_write_or_replace_is_not(folder: Path) -> None:
    file = folder / "file"
    file.chmod(0o666)
    assert why(file).startswith("the file is writable by others (mode 0666); root reads ")
    file.chmod(0o644)
    folder.chmod(0o777)
    assert why(file).startswith(f"{folder} is writable by others (mode 0777); root reads ")


def test_a_file_of_another_user_is_not(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status = os.fstat
    other = os.getuid() + 1000

    def of_another(descriptor: int) -> os.stat_result:
        found = list(status(descriptor))
        found[4] = other
        return os.stat_result(found)

    monkeypatch.setattr(os, "fstat", of_another)
    assert why(folder / "file").startswith(f"the file belongs to user {other}; root reads ")


def test_who_is_not_root_reads_anything(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "file").chmod(0o666)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert why(folder / "file") == ""


def test_rules_and_state_files_that_others_may_write_are_refused(folder: Path) -> None:
    rules = folder / "rules.yaml"
    rules.write_text("rules: []\n")
    rules.chmod(0o666)
    with pytest.raises(UserError, match=r"file of rules '.*' is not read: the file is writable by"):
        read_rules(rules, lambda _node: (), None)
    boot = folder / "proc/sys/kernel/random/boot_id"
    boot.parent.mkdir(parents=True)
    boot.write_text("boot\n")
    (folder / "run").mkdir()
    before = os.umask(0)
    save("state", [1], folder)
    os.umask(before)
    state = folder / "run/tierscope/state.json"
    assert load("state", folder) == [1]
    state.chmod(0o666)
    with pytest.raises(StateError, match=r"state\.json is not read: the file is writable by"):
        load("state", folder)

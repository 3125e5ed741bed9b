"""State files: whole or absent, void after a reboot, with the process that wrote them."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.place import saved_state
from tierscope.place.saved_state import StateError, discard, load, locked, path_of, save


@pytest.fixture
def root(tmp_path: Path) -> Path:
    boot(tmp_path, "boot-1")
    return tmp_path


def boot(root: Path, name: str) -> None:
    path = root / "proc/sys/kernel/random/boot_id"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{name}\n")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(contents=st.lists(_JSON, min_size=1, max_size=3))
def test_the_last_content_saved_is_loaded(
    tmp_path_factory: pytest.TempPathFactory, contents: list[object]
) -> None:
    root = tmp_path_factory.mktemp("root")
    boot(root, "boot-1")
    for content in contents:
        save("weights", content, root)
        assert load("weights", root) == content
    discard("weights", root)
    discard("weights", root)
    assert load("weights", root) is None
    assert [*(root / "run/tierscope").iterdir()] == []


def test_a_file_of_an_earlier_boot_is_void(root: Path) -> None:
    save("weights", [1], root)
    boot(root, "boot-2")
    assert load("weights", root) is None


HOLD = """
import sys, time
from pathlib import Path
from tierscope.place.saved_state import locked, save
root = Path(sys.argv[1])
with locked("weights", root) as lock:
    save("weights", {"0": 3}, root)
    print(lock is not None, flush=True)
    time.sleep(60)
"""


def test_a_killed_writer_leaves_its_file_and_no_lock(root: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, root], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        assert load("weights", root) == {"0": 3}
        with locked("weights", root) as lock:
            assert lock is None
        process.send_signal(signal.SIGKILL)
    assert load("weights", root) == {"0": 3}
    with locked("weights", root) as lock:
        assert lock is not None


def test_what_cannot_be_written_leaves_the_earlier_file(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save("weights", [1], root)

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StateError, match=r"cannot save .*weights\.json: .*No space left"):
        save("weights", [2], root)
    assert load("weights", root) == [1]


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"boot_id": "boot-1"}'])
def test_a_file_that_is_none_is_said(root: Path, text: str) -> None:
    save("weights", [1], root)
    path_of("weights", root).write_text(text)
    with pytest.raises(StateError, match="cannot be read") as caught:
        load("weights", root)
    assert "remove the file" in caught.value.remedy


def test_where_files_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert path_of("weights") == Path("/run/tierscope/weights.json")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert path_of("unheard-of") == tmp_path / "tierscope/unheard-of.json"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert path_of("unheard-of") == tmp_path / "home/.local/state/tierscope/unheard-of.json"
    save("unheard-of", [1])
    assert path_of("unheard-of").exists()
    assert saved_state.load("unheard-of") == [1]

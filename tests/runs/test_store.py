"""Where run files lie: which files are some, and what names, tags and ``last`` lead to."""

import os
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from tests import synthetic

from tierscope.model.errors import UserError
from tierscope.model.run import Footer
from tierscope.runs.store import (
    find_run,
    is_run,
    is_run_file,
    new_run_path,
    runs_directory,
    tags_of,
    too_long,
)

NOW = datetime(2026, 1, 5, 4, 3, 7, tzinfo=timezone.utc)
MIB = 1 << 20
PARSED = "the line takes more than 400 MiB once it is parsed, the maximum in a run file"


@pytest.mark.parametrize(
    ("part", "most"),
    # A comma is taken for 45 bytes, an object, a list and a text for 100 each, of 400 MiB.
    [(b",", 400 * MIB // 45), (b"{", 4 * MIB), (b"[", 4 * MIB), (b'""', 4 * MIB)],
)
def test_lines_that_would_take_too_much_once_parsed(part: bytes, most: int) -> None:
    assert too_long(part * most) == ""
    assert too_long(part * (most + 1)) == PARSED


def test_parts_of_a_line_add_up() -> None:
    line = b'{["":1,' * (400 * MIB // 345)
    assert too_long(line) == ""
    assert too_long(line + b"{[,[{") == PARSED


def test_a_line_longer_than_the_longest_header() -> None:
    line = b"x" * (64 * MIB)
    assert too_long(line) == ""
    assert too_long(line + b"x") == "the line is longer than 64 MiB, the maximum in a run file"


@pytest.mark.parametrize(
    ("head", "run"),
    [
        (b'{"record":"header","ver', True),
        (b'\xef\xbb\xbf \n{"a": 1, "record" : "header"', True),
        (b'{"record":"footer"}', False),
        (b'[{"record":"header"}]', False),
        (b'"record":"header"', False),
        (b"", False),
    ],
)
def test_heads_of_run_files(head: bytes, run: bool, tmp_path: Path) -> None:
    assert is_run(head) is run
    (tmp_path / "x").write_bytes(head)
    assert is_run_file(tmp_path / "x") is run


def test_what_cannot_be_read_is_no_run_file(tmp_path: Path) -> None:
    assert not is_run_file(tmp_path)
    assert not is_run_file(tmp_path / "none")


@pytest.mark.parametrize(
    ("label", "stem"),
    [("quick", "quick"), ("a b//c", "a-b-c"), ("x" * 50, "x" * 40), ("é._-1", "-._-1")],
)
def test_a_new_run_is_named_by_time_and_label(tmp_path: Path, label: str, stem: str) -> None:
    for suffix in ("", "-2", "-3"):
        path = new_run_path(label, tmp_path, NOW)
        assert path == tmp_path / f"20260105-040307-{stem}{suffix}.jsonl"
        path.touch()


def test_a_folder_may_be_called_like_a_run_file(tmp_path: Path) -> None:
    folder = tmp_path / "folder.jsonl"
    assert new_run_path("x", folder, NOW) == folder
    folder.mkdir()
    assert new_run_path("x", folder, NOW) == folder / "20260105-040307-x.jsonl"


def kept(name: str, age: int, tags: str = "", **footer: Any) -> Path:
    """A run that was written to so many seconds ago, with so many figures."""
    folder = runs_directory()
    folder.mkdir(parents=True, exist_ok=True)
    run = synthetic.run([], finished=False)
    if footer:
        values = {"finished": "x", "interrupted": False, "measured": 0, "skipped": 1, "failed": 0}
        run = run.model_copy(update={"footer": Footer.model_validate(values | footer)})
    path: Path = synthetic.write(run, folder / f"{name}.jsonl")
    os.utime(path, (1e9 - age, 1e9 - age))
    if tags:
        path.with_suffix(".tags").write_text(tags)
    return path


@pytest.mark.parametrize(
    ("newest", "counts"),
    [({"measured": 1}, True), ({"measured": 0}, False), ({}, True),
     ({"measured": 0, "interrupted": True}, True), ({"measured": 0, "imported": 3}, True)],
)  # fmt: skip
def test_a_run_that_ended_without_a_figure_is_not_the_last(
    newest: dict[str, Any], counts: bool
) -> None:
    oldest, middle = kept("c", 30, measured=1), kept("b", 20, measured=1)
    last = kept("a", 10, **newest)
    (runs_directory() / "gone.jsonl").symlink_to("nowhere")
    assert find_run("last") == (last if counts else middle)
    middle.unlink()
    assert find_run("last") == (last if counts else oldest)
    oldest.unlink()
    assert find_run("last") == last, "there is no other one"


def test_no_run_is_the_last_where_there_is_none() -> None:
    with pytest.raises(UserError, match=r"^there is no run in .*/runs yet; make one with 'tiersc"):
        find_run("last")


def test_a_tag_names_the_newest_run_that_has_it() -> None:
    old, new = kept("old", 20, "golden\nidle\n"), kept("new", 10, "golden\n")
    assert find_run("golden") == new
    assert find_run("idle") == old
    kept("golden", 99)
    assert find_run("golden") == runs_directory() / "golden.jsonl", "a name comes before a tag"


def test_a_path_is_taken_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_run("no/such") == Path("no/such")
    kept("here", 1)
    assert find_run("here") == runs_directory() / "here.jsonl"
    Path("here").touch()
    assert find_run("here") == Path("here")


def test_tags_are_lines_with_something_in_them(tmp_path: Path) -> None:
    run, file = tmp_path / "r.jsonl", tmp_path / "r.tags"
    assert tags_of(run) == []
    file.write_text(" a \n\n \nb\r\n")
    assert tags_of(run) == ["a", "b"]
    file.write_bytes(b"a\n\xff\n")
    assert tags_of(run) == []

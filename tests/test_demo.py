"""``tierscope demo``: what it writes, and every command that it prints."""

import json
import shlex
from pathlib import Path

import pytest

from forked import tierscope
from tierscope.runs import examples
from tierscope.runs.read import read_run

MAY_FIND = {"compare": {0, 1, 3}, "fleet check": {1}}
"""Exit statuses of commands that find something: a slow host, or changes that noise hides."""


def printed(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.startswith("  tierscope ")]


def test_every_command_that_it_prints_works_as_printed(tmp_path: Path) -> None:
    folder = tmp_path / "a folder"
    done = tierscope("demo", folder)
    assert (done.returncode, done.stderr) == (0, "")
    commands = printed(done.stdout)
    assert len(commands) >= 8
    for command in commands:
        _, *words = shlex.split(command)
        ran = tierscope(*words, folder=tmp_path)
        name = next((name for name in MAY_FIND if command.startswith(f"tierscope {name}")), "")
        assert ran.returncode in MAY_FIND.get(name, {0}), f"{command}: {ran.stderr}"
        assert ran.stdout
        if "fleet check" in command:
            assert f"simulated-{examples.SLOW_HOST} " in ran.stdout
            assert "1 slower than their group" in ran.stdout


def test_each_example_says_where_it_was_measured_or_that_it_is_simulated(tmp_path: Path) -> None:
    done = tierscope("demo", tmp_path)
    for one in examples.EXAMPLES:
        assert "measured on" in one.about
        assert f"{one.name}.jsonl: {one.about}" in done.stdout
        assert read_run(tmp_path / f"{one.name}.jsonl").header.host == "example-vm"
    assert "simulated" in examples.ABOUT_FLEET
    paths = sorted((tmp_path / examples.FLEET / "hosts").iterdir())
    assert len(paths) == examples.HOSTS
    for path in paths:
        header = read_run(path).header
        assert header.host.startswith("simulated-")
        assert header.machine["product"] == "simulated"
        assert "simulated" in tierscope("show", path).stdout


def test_the_fleet_differs_by_chance_and_by_one_slow_host(tmp_path: Path) -> None:
    tierscope("demo", tmp_path)
    measured = {m.id: m for m in read_run(tmp_path / "example-vm.jsonl").measurements}
    for path in (tmp_path / examples.FLEET / "hosts").iterdir():
        run = read_run(path)
        slow = path.stem == f"simulated-{examples.SLOW_HOST}"
        for m in run.measurements:
            ratio = (m.estimate or 0) / (measured[m.id].estimate or 1)
            speed = ratio if m.unit == "B/s" else 1 / ratio
            assert speed == pytest.approx(0.7 if slow else 1.0, rel=0.05)


def test_it_is_apart_from_the_runs_of_this_machine(tmp_path: Path) -> None:
    place = json.loads(tierscope("demo", "--json").stdout)["folder"]
    assert Path(place).name == "examples"
    assert tierscope("demo").returncode == 0  # again, over what is there
    done = tierscope("show", "last")
    assert done.returncode == 2
    assert "there is no run" in done.stderr
    assert tierscope("list").stdout.strip() in ("", "no runs yet") or "example" not in done.stdout


def test_the_examples_are_small() -> None:
    folder = Path(examples.__file__).parent / "example_runs"
    assert sum(path.stat().st_size for path in folder.iterdir()) < 300_000


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = tierscope("demo", tmp_path / "file" / "below")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "cannot be written" in line

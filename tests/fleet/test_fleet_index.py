"""The index of a fleet: what is written and said of it while it runs, and how it is read."""

import json
from datetime import datetime
from pathlib import Path

import pytest

from tierscope.fleet.coordinator import Coordinator
from tierscope.fleet.index import INDEX, Index, exit_code, make_folder, read_index
from tierscope.fleet.rank import Args
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.fleet import FleetHost, FleetIndex, FleetJob
from tierscope.runs.record import version

STARTED = "2026-01-05T14:00:00+00:00"


class Fleet:
    """Two hosts and their index, by a clock that is set."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch, dry: bool = False) -> None:
        self.now = 1000.0
        monkeypatch.setattr("tierscope.fleet.index.time.monotonic", lambda: self.now)
        self.args = Args(
            plan="quick", text=None, time_limit=None, order="together", patience_s=5.0,
            directory=directory, command=["tierscope", "fleet", "run"], dry_run=dry,
        )  # fmt: skip
        self.said: list[str] = []
        self.file = directory / INDEX
        self.index = Index(self.args, STARTED, self.said.append)
        self.coordinator = Coordinator(2, "together", 5.0, 0.1, self.now, dry=dry)

    def is_at(self, now: float, *states: str) -> None:
        """Watch the hosts at a time, in these states from then on."""
        self.now = now
        for rank, state in enumerate(states):
            host = FleetHost(host=f"n{rank}", rank=rank, state=state, reason=f"why {state}")
            self.coordinator.members[rank].host = host
        self.index.watch(self.coordinator)

    @property
    def written(self) -> list[str]:
        """States in the file."""
        return [host["state"] for host in json.loads(self.file.read_text())["hosts"]]


def test_changes_are_written_once_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = Fleet(tmp_path, monkeypatch)
    fleet.is_at(1000.0, "waiting", "waiting")
    assert fleet.written == ["waiting", "waiting"]
    fleet.is_at(1001.0, "measuring", "waiting")
    assert fleet.written == ["waiting", "waiting"]
    fleet.is_at(1001.1)
    assert fleet.written == ["measuring", "waiting"]
    fleet.file.unlink()
    fleet.is_at(1005.0)
    assert not fleet.file.exists(), "nothing changed"
    fleet.is_at(1005.1, "measuring", "measuring")
    assert fleet.written == ["measuring", "measuring"]


def test_hosts_that_failed_are_said_at_once_and_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = Fleet(tmp_path, monkeypatch)
    fleet.is_at(1000.1, "measuring", "lost")
    fleet.is_at(1000.2)
    assert fleet.said == ["n1: lost: why lost"]
    fleet.is_at(1000.3, "measured", "partial")
    fleet.is_at(1000.4, "cannot", "partial")
    fleet.is_at(1000.5, "failed", "partial")
    assert fleet.said[1:] == [
        "n1: partial: why partial", "n0: cannot: why cannot", "n0: failed: why failed"
    ]  # fmt: skip


def test_progress_is_said_every_ten_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = Fleet(tmp_path, monkeypatch)
    progress = "2 hosts, 0 through; 0 repetitions"
    for now, lines in ((1000.0, 0), (1010.0, 0), (1010.1, 1), (1020.1, 1), (1020.2, 2)):
        fleet.is_at(now)
        assert fleet.said == [progress] * lines, now


def test_the_last_index_is_written_at_once_and_says_what_was_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = Fleet(tmp_path, monkeypatch)
    fleet.is_at(1000.0, "measuring", "lost")
    assert json.loads(fleet.file.read_text())["finished"] is None
    fleet.coordinator.members[0].host = FleetHost(host="n0", state="measured")
    found = fleet.index.finish(fleet.coordinator)
    assert fleet.file.read_text().startswith('{\n "version": 1,\n'), "people read it, too"
    assert found == FleetIndex.model_validate_json(fleet.file.read_text())
    assert [host.state for host in found.hosts] == ["measured", "lost"]
    assert (found.started, found.command) == (STARTED, fleet.args.command)
    assert (found.plan, found.order, found.tierscope) == ("quick", "together", version())
    assert found.finished is not None
    finished = datetime.fromisoformat(found.finished)
    assert finished.utcoffset() is not None
    assert finished.microsecond == 0
    assert abs(datetime.now().astimezone() - finished).total_seconds() < 3600


def test_a_dry_run_writes_no_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = Fleet(tmp_path, monkeypatch, dry=True)
    fleet.is_at(1000.0, "waiting", "cannot")
    found = fleet.index.finish(fleet.coordinator)
    assert [host.state for host in found.hosts] == ["waiting", "cannot"]
    assert found.finished is not None
    assert fleet.said == ["n1: cannot: why cannot"]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_gone_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = Fleet(tmp_path / "gone", monkeypatch)
    with pytest.raises(UserError, match=r"--out: '.*gone' cannot be written to: No such file"):
        fleet.is_at(1000.0, "waiting")


@pytest.mark.parametrize(
    ("states", "code"),
    [
        ("measured measured", ExitCode.ALL_MEASURED),
        ("measured lost", ExitCode.SOMETHING_FAILED),
        ("partial", ExitCode.SOMETHING_FAILED),
        ("partial cannot", ExitCode.SOMETHING_FAILED),
        ("measured partial", ExitCode.SOMETHING_FAILED),
        ("lost failed cannot", ExitCode.NOTHING_MEASURED),
        ("waiting", ExitCode.NOTHING_MEASURED),
    ],
)
def test_exit_codes_by_states(states: str, code: ExitCode) -> None:
    hosts = [FleetHost(host="n", state=state) for state in states.split()]
    assert exit_code(FleetIndex(started=STARTED, hosts=hosts)) is code


def test_a_folder_is_made_with_those_above_it(tmp_path: Path) -> None:
    place = tmp_path / "a/b"
    make_folder(place, dry_run=True)
    assert not place.parent.exists()
    for _ in range(2):  # as by several ranks, or after a try that failed
        make_folder(place, dry_run=False)
    assert (place / "hosts").is_dir()


@pytest.mark.parametrize("dry", [True, False])
def test_a_folder_that_holds_results_is_refused(tmp_path: Path, dry: bool) -> None:
    (tmp_path / INDEX).touch()
    with pytest.raises(UserError, match="holds a fleet's results already; name another one"):
        make_folder(tmp_path, dry)
    assert not (tmp_path / "hosts").exists()


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"--out: '.*/file' cannot be written to: Not a directory"):
        make_folder(tmp_path / "file", dry_run=False)


def test_what_is_no_index_is_none_or_refused(tmp_path: Path) -> None:
    assert read_index(tmp_path) is None
    (tmp_path / INDEX).mkdir()
    with pytest.raises(UserError, match=rf"^'.*{INDEX}' cannot be read: Is a directory$"):
        read_index(tmp_path)


@pytest.mark.parametrize(
    "text", ['[{"host": "a", "state": "lost"}]', '{"host": "a", "state": "lost"}', "null", "\udcff"]
)
def test_hosts_without_a_job_are_no_index(tmp_path: Path, text: str) -> None:
    (tmp_path / INDEX).write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(UserError, match=r"is not an index of a fleet \(.*\); without it, the run"):
        read_index(tmp_path)


def test_keys_and_states_of_later_versions_are_read(tmp_path: Path) -> None:
    """Of a job and of its hosts."""
    later = {"started": STARTED, "new": {"x": 1}, "order": "both",
             "hosts": [{"host": "a", "state": "asleep", "new": [1]}]}  # fmt: skip
    (tmp_path / INDEX).write_text(json.dumps(later))
    hosts: list[FleetHost] = []
    job = read_index(tmp_path, hosts.append)
    assert type(job) is FleetJob
    assert (job.started, job.order) == (STARTED, "both")
    assert [(host.host, host.state) for host in hosts] == [("a", "asleep")]

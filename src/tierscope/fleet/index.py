"""``fleet.json``, which rank 0 keeps up to date, and the lines of progress beside it."""

import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from tierscope.fleet.coordinator import Coordinator
from tierscope.fleet.rank import Asked
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.fleet import FleetHost, FleetIndex
from tierscope.runs.output import replace_file
from tierscope.runs.record import version

FILE = "fleet.json"
_WRITE_S = 1.0
"""Least seconds between two writes; the last one comes at once."""
_SAY_S = 10.0
_BAD = {"cannot", "failed", "lost", "partial"}


def make_folder(directory: Path, dry_run: bool) -> None:
    """Make the folder of a fleet's results, unless ``dry_run``.

    Raises UserError where it cannot be made, or holds some already.
    """
    if (directory / FILE).exists():
        raise UserError(f"--out: '{directory}' holds a fleet's results already; name another one")
    if dry_run:
        return
    try:
        (directory / "hosts").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _refusal(directory, error) from None


class Index:
    """The index of a fleet under way."""

    def __init__(self, asked: Asked, started: str, say: Callable[[str], None]) -> None:
        self._asked = asked
        self._started = started
        self._say = say
        self._hosts: list[FleetHost] = []
        self._written = 0.0
        self._told: dict[int, str] = {}
        """State of each rank that was said last."""
        self._told_at = time.monotonic()

    def watch(self, coordinator: Coordinator) -> None:
        """Write what changed, and say what is wrong with a host, and now and then how far all are.

        Raises UserError where the folder cannot be written to.
        """
        now = time.monotonic()
        hosts = [member.host for member in coordinator.members]
        for rank, host in enumerate(hosts):
            if host.state in _BAD and self._told.get(rank) != host.state:
                self._told[rank] = host.state
                self._say(f"{host.host}: {host.state}: {host.reason}")
        if now - self._told_at > _SAY_S:
            self._told_at = now
            self._say(coordinator.said())
        if hosts != self._hosts and now - self._written > _WRITE_S and not self._asked.dry_run:
            self._write(hosts, None)

    def finish(self, coordinator: Coordinator) -> FleetIndex:
        """Write and return the index of a fleet that is through."""
        hosts = [member.host for member in coordinator.members]
        finished = datetime.now().astimezone().isoformat(timespec="seconds")
        if self._asked.dry_run:
            return self._index(hosts, finished)
        return self._write(hosts, finished)

    def _write(self, hosts: list[FleetHost], finished: str | None) -> FleetIndex:
        index = self._index(hosts, finished)
        directory = self._asked.directory
        try:
            replace_file(directory / FILE, index.model_dump_json(indent=1).encode() + b"\n")
        except OSError as error:
            raise _refusal(directory, error) from None
        self._hosts, self._written = hosts, time.monotonic()
        return index

    def _index(self, hosts: list[FleetHost], finished: str | None) -> FleetIndex:
        asked = self._asked
        return FleetIndex(
            started=self._started,
            finished=finished,
            command=asked.command,
            tierscope=version(),
            plan=asked.plan,
            order=asked.order,
            hosts=hosts,
        )


def _refusal(directory: Path, error: OSError) -> UserError:
    why = error.strerror
    return UserError(f"--out: '{directory}' cannot be written to: {why}; name another folder")


def exit_code(index: FleetIndex) -> ExitCode:
    """Return what the states of all hosts come to."""
    states = {host.state for host in index.hosts}
    if states <= {"measured"}:
        return ExitCode.ALL_MEASURED
    measured = states & {"measured", "partial"}
    return ExitCode.SOMETHING_FAILED if measured else ExitCode.NOTHING_MEASURED

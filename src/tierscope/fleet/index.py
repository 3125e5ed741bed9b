"""The index of a fleet, ``fleet.json``: written while the fleet runs, and read afterwards."""

import json
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tierscope.fleet.coordinator import Coordinator
from tierscope.fleet.rank import Args
from tierscope.model.base import RECORDED
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.fleet import FleetHost, FleetIndex, FleetJob
from tierscope.model.given_file import open_given
from tierscope.runs.output import replace_file
from tierscope.runs.record import version

INDEX = "fleet.json"
_WRITE_S = 1.0
"""Minimum time between two writes; the last write comes at once."""
_SAY_S = 10.0
"""Time between two lines of progress."""
_BAD = {"cannot", "failed", "lost", "partial"}


def read_index(
    folder: Path, each: Callable[[FleetHost], None] = lambda _host: None
) -> FleetJob | None:
    """Return the job of a fleet, and call ``each`` with every host of its index.

    Hosts are not kept: the objects of a large fleet would fill the memory. None where there is no
    ``fleet.json``. Raises UserError where that cannot be read.
    """
    path = folder / INDEX
    try:
        with open_given(path) as file:
            return _read(file.read().decode(), each)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(f"'{path}' cannot be read: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors()[0]
        why = ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))
    except ValueError as error:
        why = str(error)
    raise UserError(
        f"{path} is not an index of a fleet ({why}); without it, the run files are "
        "gathered as they are"
    )


def _read(text: str, each: Callable[[FleetHost], None]) -> FleetJob:
    taken = False

    def take(found: dict[str, Any]) -> dict[str, Any] | None:
        nonlocal taken
        if "host" not in found:
            return found
        each(FleetHost.model_validate(found, context=RECORDED))
        taken = True
        return None

    job = json.loads(text, object_hook=take)
    if not (taken and isinstance(job, dict)):
        return FleetIndex.model_validate(job, context=RECORDED)
    members = {key: job[key] for key in job if key != "hosts"}
    return FleetJob.model_validate(members, context=RECORDED)


def make_folder(directory: Path, dry_run: bool) -> None:
    """Make the folder of a fleet's results, unless ``dry_run``.

    Raises UserError where it cannot be made, or holds some already.
    """
    if (directory / INDEX).exists():
        raise UserError(f"--out: '{directory}' holds a fleet's results already; name another one")
    if dry_run:
        return
    try:
        (directory / "hosts").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _refusal(directory, error) from None


class Index:
    """The index of a fleet under way."""

    def __init__(self, args: Args, started: str, say: Callable[[str], None]) -> None:
        self._args = args
        self._started = started
        self._say = say
        self._hosts: list[FleetHost] = []
        self._written = 0.0
        self._told: dict[int, str] = {}
        """State of each rank that was printed last."""
        self._told_at = time.monotonic()

    def watch(self, coordinator: Coordinator) -> None:
        """Write changes, print hosts that failed, and print the progress now and then.

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
        if hosts != self._hosts and now - self._written > _WRITE_S and not self._args.dry_run:
            self._write(hosts, None)

    def finish(self, coordinator: Coordinator) -> FleetIndex:
        """Write and return the index of a fleet that has finished."""
        hosts = [member.host for member in coordinator.members]
        finished = datetime.now().astimezone().isoformat(timespec="seconds")
        if self._args.dry_run:
            return self._index(hosts, finished)
        return self._write(hosts, finished)

    def _write(self, hosts: list[FleetHost], finished: str | None) -> FleetIndex:
        index = self._index(hosts, finished)
        directory = self._args.directory
        try:
            replace_file(directory / INDEX, index.model_dump_json(indent=1).encode() + b"\n")
        except OSError as error:
            raise _refusal(directory, error) from None
        self._hosts, self._written = hosts, time.monotonic()
        return index

    def _index(self, hosts: list[FleetHost], finished: str | None) -> FleetIndex:
        args = self._args
        return FleetIndex(
            started=self._started,
            finished=finished,
            command=args.command,
            tierscope=version(),
            plan=args.plan,
            order=args.order,
            hosts=hosts,
        )


def _refusal(directory: Path, error: OSError) -> UserError:
    why = error.strerror
    return UserError(f"--out: '{directory}' cannot be written to: {why}; name another folder")


def exit_code(index: FleetIndex) -> ExitCode:
    """Return the exit code for the states of all hosts."""
    states = {host.state for host in index.hosts}
    if states <= {"measured"}:
        return ExitCode.ALL_MEASURED
    measured = states & {"measured", "partial"}
    return ExitCode.SOMETHING_FAILED if measured else ExitCode.NOTHING_MEASURED

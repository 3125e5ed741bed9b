"""Measure a plan into a run file: plan -> engine -> run file."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tierscope.engine import capabilities, stream
from tierscope.model.endpoint import parse_endpoint
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.event import Event, Failed, Finished, Result, Skipped
from tierscope.model.plan import Plan
from tierscope.model.run import Footer, Limit, Measurement, Run
from tierscope.model.topology import Topology
from tierscope.runs.record import make_header, measurement_of
from tierscope.runs.store import new_run_path
from tierscope.runs.write import RunWriter
from tierscope.topology import path_limit
from tierscope.topology.settings import read_settings


@dataclass(frozen=True)
class Outcome:
    """A run that ended, one way or another."""

    run: Run
    path: Path
    error: UserError | None
    """What ended it before its time, other than an interruption."""

    @property
    def exit_code(self) -> ExitCode:
        """The exit code that the commands document."""
        if self.error:
            return self.error.exit_code
        return exit_code(self.run)


def exit_code(run: Run) -> ExitCode:
    """Return what a finished run's results come to as an exit code."""
    if run.footer is not None and run.footer.interrupted:
        return ExitCode.INTERRUPTED
    found = {measurement.status for measurement in run.measurements}
    if "failed" in found:
        return ExitCode.SOMETHING_FAILED
    return ExitCode.ALL_MEASURED if "measured" in found else ExitCode.NOTHING_MEASURED


def measure(
    plan: Plan,
    label: str,
    topology: Topology,
    command: list[str],
    directory: Path | None,
    watch: Callable[[Event], None],
) -> Outcome:
    """Run a plan, writing each measurement as it ends; ``watch`` sees every event.

    Raises UserError where nothing could be begun; what goes wrong later is in the outcome, beside
    all that was measured before.
    """
    started = datetime.now().astimezone()
    path = new_run_path(label, directory, started)
    engine = capabilities()
    environment = read_settings(topology)
    header = make_header(path.stem, started, command, plan, topology, environment, engine)
    specs = {spec.id: spec for spec in plan.measurements}
    limits = _limits(plan, topology)
    measurements: list[Measurement] = []
    footer: Footer | None = None
    error: UserError | None = None
    writer = RunWriter(path, header)
    events = stream(plan)
    try:
        with contextlib.closing(events):
            for event in events:
                if isinstance(event, Result | Skipped | Failed):
                    spec = specs[event.id]
                    limit = limits[spec.initiator, spec.target]
                    record = measurement_of(spec, event, limit)
                    measurements.append(record)
                    writer.add(record)
                elif isinstance(event, Finished):
                    footer = _footer(measurements, event.interrupted)
                    writer.add(footer)
                watch(event)
    except UserError as caught:
        error = caught
    finally:
        writer.close()
    run = Run(header=header, measurements=measurements, footer=footer)
    return Outcome(run, path, error)


def _limits(plan: Plan, topology: Topology) -> dict[tuple[str, str], Limit | None]:
    """Return the limit of each pair of endpoints, worked out before anything is measured."""
    pairs = {(spec.initiator, spec.target) for spec in plan.measurements}
    return {
        pair: path_limit(topology, parse_endpoint(pair[0]), parse_endpoint(pair[1]))
        for pair in pairs
    }


def _footer(measurements: list[Measurement], interrupted: bool) -> Footer:
    statuses = [measurement.status for measurement in measurements]
    return Footer(
        finished=datetime.now().astimezone().isoformat(timespec="seconds"),
        interrupted=interrupted,
        measured=statuses.count("measured"),
        skipped=statuses.count("skipped"),
        failed=statuses.count("failed"),
    )

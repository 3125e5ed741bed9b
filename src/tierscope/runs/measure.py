"""Measure a plan into a run file: plan -> engine -> run file."""

import contextlib
from collections.abc import Callable, Generator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tierscope.engine.events import stream
from tierscope.engine.query import capabilities
from tierscope.kinds.plan import Plan
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.event import Event, Failed, Finished, Result, Skipped
from tierscope.model.gpu import GpuSpec
from tierscope.model.run import Footer, Header, Limit, Measurement, Run
from tierscope.model.topology import Topology
from tierscope.plans.limits import limit_of, may_stay_in_caches
from tierscope.runs.record import make_header, measurement_of
from tierscope.runs.refine import Refine
from tierscope.runs.store import new_run_path
from tierscope.runs.write import RunWriter
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
    refine: Refine | None = None,
) -> Outcome:
    """Run a plan, writing each measurement as it ends; ``watch`` sees every event.

    ``refine`` is asked for another plan after each; all go into the same run.

    Raises UserError where nothing could be begun; what goes wrong later is in the outcome, beside
    all that was measured before.
    """
    started = datetime.now().astimezone()
    engine = capabilities()
    environment = read_settings(topology)

    def begin() -> tuple[Header, RunWriter]:
        path = new_run_path(label, directory, started)
        header = make_header(path.stem, started, command, plan, topology, environment, engine)
        try:
            return header, RunWriter(path, header)
        except FileExistsError:  # another run of this second was quicker
            return begin()

    measurements: list[Measurement] = []
    footer: Footer | None = None
    error: UserError | None = None
    header, writer = begin()
    try:
        interrupted = False
        pending: Plan | None = plan
        while pending is not None:
            with contextlib.closing(_measured(pending, topology, watch)) as records:
                for record in records:
                    if isinstance(record, Measurement):
                        measurements.append(record)
                        writer.add(record)
                    else:
                        interrupted = record.interrupted
            pending = refine(measurements) if refine and not interrupted else None
        footer = _footer(measurements, interrupted)
        writer.add(footer)
    except UserError as caught:
        error = caught
    finally:
        writer.close()
    run = Run(header=header, measurements=measurements, footer=footer)
    return Outcome(run, writer.path, error)


def _measured(
    plan: Plan, topology: Topology, watch: Callable[[Event], None]
) -> Generator[Measurement | Finished, None, None]:
    """Run one plan through the engine; yield each record, then how it ended."""
    specs = {spec.id: spec for spec in plan.measurements}
    limits = _limits(plan, topology)
    with contextlib.closing(stream(plan)) as events:
        for event in events:
            if isinstance(event, Result | Skipped | Failed):
                spec = specs[event.id]
                yield measurement_of(spec, event, limits[spec.id])
            elif isinstance(event, Finished):
                yield event
            watch(event)


def _limits(plan: Plan, topology: Topology) -> dict[str, Limit | None]:
    """Return the limit of each measurement, worked out before anything is measured."""
    known: dict[str, Limit | None] = {}
    limits: dict[str, Limit | None] = {}
    for spec in plan.measurements:
        own = isinstance(spec, GpuSpec) or may_stay_in_caches(spec, topology)
        key = spec.id if own else f"{spec.initiator} {spec.target}"
        if key not in known:
            known[key] = limit_of(topology, spec)
        limits[spec.id] = known[key]
    return limits


def _footer(measurements: list[Measurement], interrupted: bool) -> Footer:
    statuses = [measurement.status for measurement in measurements]
    return Footer(
        finished=datetime.now().astimezone().isoformat(timespec="seconds"),
        interrupted=interrupted,
        measured=statuses.count("measured"),
        skipped=statuses.count("skipped"),
        failed=statuses.count("failed"),
    )

"""Measure a plan into a run file: plan -> schedule -> visits -> run file."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tierscope.engine.query import capabilities
from tierscope.kinds.plan import Plan, Spec
from tierscope.model.case import Case
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.event import Event, Failed, Skipped, Visit
from tierscope.model.run import (
    Footer,
    Header,
    Measurement,
    PlanRecord,
    Refinement,
    Run,
    VisitRecord,
)
from tierscope.model.topology import Topology
from tierscope.runs.book import Book
from tierscope.runs.energy import RunEnergy, machine_meter
from tierscope.runs.measurers import Measurers, living_measurers
from tierscope.runs.moment import wait_until
from tierscope.runs.record import Bounds, make_header, measurement_of
from tierscope.runs.refine import further_points
from tierscope.runs.schedule import ConcludeStep, Further, PlanStep, Step, VisitStep, in_rounds
from tierscope.runs.store import new_run_path
from tierscope.runs.write import RunWriter
from tierscope.topology.paths import MachinePaths
from tierscope.topology.settings import read_settings

Watch = Callable[[Event | Measurement], None]
"""Sees every event, and each measurement as it is concluded."""
Schedule = Callable[[Book, str, Further], Iterator[Step]]
"""Yields steps, as ``in_rounds`` does."""


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
    watch: Watch,
    refinement: Refinement | None = None,
    start_at: datetime | None = None,
    energy: bool = False,
    cases: list[Case] | None = None,
) -> Outcome:
    """Run a plan, writing each visit and each measurement as it ends.

    ``refinement`` says how curves get further points, which go into the same run. ``start_at``:
    the first visit begins then, or at once where that time has passed. ``energy``: what the machine
    takes is measured beside it. ``cases``: those of another benchmark that the plan was made of.

    Raises UserError where nothing could be begun; what goes wrong later is in the outcome, beside
    all that was measured before.
    """
    started = datetime.now().astimezone()
    engine = capabilities()
    environment = read_settings(topology)

    def begin() -> tuple[Header, RunWriter]:
        path = new_run_path(label, directory, started)
        header = make_header(
            path.stem, started, command, plan, topology, environment, engine, refinement, start_at
        )
        header = header.model_copy(update={"energy": energy or None, "cases": cases})
        try:
            return header, RunWriter.create(path, header)
        except FileExistsError:  # another run of this second was quicker
            return begin()

    header, writer = begin()
    return carry_on(header, writer, Book(plan.measurements), topology, watch, start_at)


def carry_on(
    header: Header,
    writer: RunWriter,
    book: Book,
    topology: Topology,
    watch: Watch,
    start_at: datetime | None = None,
    schedule: Schedule = in_rounds,
) -> Outcome:
    """Measure what the book lacks into a run file that was begun; closes it."""
    footer: Footer | None = None
    error: UserError | None = None
    energy = RunEnergy(machine_meter()) if header.energy else None
    running = _Running(writer, book, topology, watch, energy, schedule)
    try:
        interrupted = running.run(header, start_at)
        footer = _footer(book.in_order(), interrupted, running.late_s)
        writer.add(footer)
    except UserError as caught:
        error = _with_exit_code(caught, book)
    finally:
        writer.close()
        if energy:
            energy.close()
    added = book.added(header)
    run = Run(header=header, measurements=book.in_order(), footer=footer, added=added)
    return Outcome(run, writer.path, error)


class _Running:
    """Carries out the steps of a schedule."""

    def __init__(
        self,
        writer: RunWriter,
        book: Book,
        topology: Topology,
        watch: Watch,
        energy: RunEnergy | None,
        schedule: Schedule,
    ) -> None:
        self._schedule = schedule
        self._energy = energy
        self._writer = writer
        self._book = book
        self._watch = watch
        self._paths = MachinePaths(topology)
        self._bounds: dict[str, Bounds] = {}
        self._began = 0.0
        """When the run began, by time.time()."""
        self.late_s: float | None = None
        """Of a run that was to begin at a given time: how much later its first visit began."""

    def run(self, header: Header, start_at: datetime | None = None) -> bool:
        """Measure; return whether a signal ended it. What was visited is concluded all the same."""
        book = self._book
        how = header.refinement
        self._began = datetime.fromisoformat(header.started).timestamp()

        def further(_: Book) -> list[Spec]:
            specs, machine = list(book.specs.values()), self._paths.topology
            return further_points(specs, how, self._so_far(), machine) if how else []

        open_specs = [book.specs[name] for name in book.open()]
        self._find_bounds(open_specs)
        with living_measurers(beside=self._writer.path) as measurers:
            measurers.plan(open_specs)
            if self._energy and open_specs:
                self._energy.measure_idle(lambda: measurers.interrupted)
            if start_at or header.fleet:  # others wait for the first visit, too
                measurers.start()
            if start_at:
                self.late_s = wait_until(start_at.timestamp(), lambda: measurers.interrupted)
            # Runs that begin together visit in the same order.
            for step in self._schedule(book, header.start_at or header.name, further):
                if isinstance(step, VisitStep):
                    self._visit(measurers, step)
                elif isinstance(step, ConcludeStep):
                    self._conclude(step.name)
                    measurers.forget(step.name)
                else:
                    self._plan(measurers, step)
                if measurers.interrupted:
                    break
            for name in book.begun():
                self._conclude(name, cut=True)
            return measurers.interrupted

    def _visit(self, measurers: Measurers, step: VisitStep) -> None:
        began = time.monotonic()
        spec = self._book.specs[step.name]
        if self._energy:
            self._energy.begin(spec)
        for event in measurers.visit(step.name, step.seconds, step.fresh):
            if isinstance(event, Visit):
                if self._energy:
                    event = self._energy.observed(event, spec)
                at_s = _wall_clock(event) - self._began
                visit = event.model_copy(update={"at_s": round(at_s, 6)})
                self._book.add_visit(visit, time.monotonic() - began)
                self._writer.add(VisitRecord(visit=visit))
            elif isinstance(event, Skipped | Failed):
                self._book.ended[event.id] = event
            self._watch(event)

    def _so_far(self) -> list[Measurement]:
        """Return what was concluded, and what the visits of the others come to so far."""
        book = self._book
        found = dict(book.measurements)
        found |= {name: self._measurement(name, cut=True) for name in book.begun()}
        return [found[name] for name in book.specs if name in found]

    def _measurement(self, name: str, cut: bool) -> Measurement:
        book = self._book
        spec, visits, ended = book.specs[name], book.visits[name], book.ended.get(name)
        return measurement_of(spec, visits, ended, self._bounds[name], cut)

    def _conclude(self, name: str, cut: bool = False) -> None:
        measurement = self._measurement(name, cut)
        self._book.measurements[name] = measurement
        self._writer.add(measurement)
        self._watch(measurement)

    def _plan(self, measurers: Measurers, step: PlanStep) -> None:
        self._book.add(step.specs)
        self._find_bounds(step.specs)
        measurers.plan(step.specs)
        specs = [spec.model_dump(mode="json") for spec in step.specs]
        self._writer.add(PlanRecord(measurements=specs))

    def _find_bounds(self, specs: Iterable[Spec]) -> None:
        """Work bounds out before anything is measured, so that nothing else runs between visits."""
        self._bounds |= {spec.id: Bounds.of(spec, self._paths) for spec in specs}


def _wall_clock(visit: Visit) -> float:
    """Return when a visit that has just ended began, by time.time()."""
    now = time.time()
    if visit.began_s is None:
        return now - visit.seconds
    return now - time.clock_gettime(time.CLOCK_MONOTONIC_RAW) + visit.began_s


def _with_exit_code(error: UserError, book: Book) -> UserError:
    """Return an error whose exit code says that something was measured before it."""
    if error.exit_code is ExitCode.NOTHING_MEASURED and book.measurements:
        return UserError(str(error), ExitCode.SOMETHING_FAILED)
    return error


def _footer(
    measurements: list[Measurement], interrupted: bool, late_s: float | None = None
) -> Footer:
    statuses = [measurement.status for measurement in measurements]
    return Footer(
        finished=datetime.now().astimezone().isoformat(timespec="seconds"),
        interrupted=interrupted,
        measured=statuses.count("measured"),
        skipped=statuses.count("skipped"),
        failed=statuses.count("failed"),
        late_s=late_s,
    )

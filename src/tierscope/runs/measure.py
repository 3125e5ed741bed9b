"""Carry out a run: schedule, measure, add energy and further points, write the run file."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from tierscope.engine.process import capabilities
from tierscope.kinds.plan import Plan, Spec
from tierscope.kinds.registry import KINDS
from tierscope.machine.energy import EnergyMeter, energy_sources, engine_clock, summed_domains
from tierscope.machine.files import Files
from tierscope.machine.paths import MachinePaths
from tierscope.machine.settings import read_settings
from tierscope.model.endpoint import EndpointKind, parse_ranges
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.event import Event, Failed, Repetition, Skipped
from tierscope.model.evidence import EnergyDomain, EnergyEvidence
from tierscope.model.run import (
    Case,
    Footer,
    Header,
    Measurement,
    PlanRecord,
    Refinement,
    RepetitionRecord,
    Run,
)
from tierscope.model.topology import Topology
from tierscope.runs.measurers import Measurers, living_measurers
from tierscope.runs.record import Bounds, make_header, measurement_of
from tierscope.runs.schedule import ConcludeStep, Further, PlanStep, RepetitionStep, Step, in_rounds
from tierscope.runs.state import RunState
from tierscope.runs.store import new_run_path
from tierscope.runs.write import RunWriter

_NAP_S = 0.05
"""Between two looks for a signal."""
IDLE_S = 3.0
"""How long idle power is measured, before the first repetition."""
_GPU = f"{EndpointKind.GPU}:"
Watch = Callable[[Event | Measurement], None]
"""Sees every event, and each measurement as it is concluded."""
Schedule = Callable[[RunState, str, Further], Iterator[Step]]
"""Yields steps, as ``in_rounds`` does."""


def nap(seconds: float, interrupted: Callable[[], bool]) -> None:
    """Sleep so long, or until a signal came."""
    wait_until(time.time() + seconds, interrupted)


def wait_until(moment: float, interrupted: Callable[[], bool]) -> float | None:
    """Sleep until a time of ``time.time()``; return how many seconds later it is then.

    None where a signal came before. A time that has passed is not waited for.
    """
    while not interrupted():
        left = moment - time.time()
        if left <= 0:
            return -left
        time.sleep(min(left, _NAP_S))
    return None


def machine_meter() -> EnergyMeter:
    """Return a meter of whatever this machine tells of energy."""
    return EnergyMeter(energy_sources(Files(), wish=os.environ.get("CUDA_VISIBLE_DEVICES")))


class RunEnergy:
    """Adds energy to the evidence of repetitions."""

    def __init__(
        self, meter: EnergyMeter, idle_s: float = IDLE_S, clock: Callable[[], float] = engine_clock
    ) -> None:
        self._meter = meter
        self._idle_s = idle_s
        self._clock = clock
        self._idle_w: dict[str, float] = {}

    def measure_idle(self, interrupted: Callable[[], bool]) -> None:
        """Begin to read, and let the machine be idle meanwhile."""
        self._meter.start()
        if not self._meter.available:
            return
        start = self._clock()
        nap(self._idle_s, interrupted)
        end = self._clock()
        self._meter.read()
        if end > start:
            found = self._meter.window(start, end)
            self._idle_w = {name: joules / (end - start) for (name, _), joules in found.items()}
            self._idle_s = end - start

    def begin(self, spec: Spec) -> None:
        """Take note that a repetition begins."""
        self._meter.keep_off(spec.thread_cpus())
        self._meter.read()
        self._meter.forget_before(self._clock())

    def observed(self, repetition: Repetition, spec: Spec) -> Repetition:
        """Return a repetition that ended just now with the energy that its first series took."""
        self._meter.read()
        if repetition.began_s is None or not repetition.series[0].starts:
            return repetition
        first = repetition.series[0]
        start = repetition.began_s + first.starts[0]
        end = repetition.began_s + first.starts[-1] + first.durations[-1]
        evidence = EnergyEvidence(
            seconds=max(0.0, end - start),
            idle_s=self._idle_s,
            readings=self._meter.readings(start, end),
            domains=self._domains(self._meter.window(start, end), spec),
            lacking=self._meter.lacking or None,
        )
        update = {"evidence": repetition.evidence.model_copy(update={"energy": evidence})}
        return repetition.model_copy(update=update)

    def close(self) -> None:
        """End reading."""
        self._meter.close()

    def _domains(self, window: dict[tuple[str, str], float], spec: Spec) -> list[EnergyDomain]:
        summed = summed_domains(window, _gpus_of([spec.initiator, spec.target]))
        return [
            EnergyDomain(
                name=name,
                source=source,
                joules=joules,
                idle_w=self._idle_w.get(name),
                summed=name in summed,
            )
            for (name, source), joules in window.items()
        ]


def _gpus_of(endpoints: Sequence[str]) -> set[int]:
    """Return the numbers of the GPUs among endpoints, of sets such as ``gpu:0-3`` too."""
    named = (endpoint.removeprefix(_GPU) for endpoint in endpoints if endpoint.startswith(_GPU))
    return {number for numbers in named for number in parse_ranges(numbers)}


class Refiner(Protocol):
    """Interface of a kind's module ``refine``."""

    def further_points(
        self,
        specs: Sequence[Spec],
        how: Refinement,
        measurements: Sequence[Measurement],
        topology: Topology | None,
        /,
    ) -> list[Spec]:
        """Return the next round, from all specs of the kind, what they came to, the machine."""

    def further_seconds(self, specs: Sequence[Spec], how: Refinement) -> float:
        """Return the most seconds that all rounds take."""


def further_points(
    specs: Sequence[Spec],
    how: Refinement,
    measurements: Sequence[Measurement],
    topology: Topology | None = None,
) -> list[Spec]:
    """Return the next round of measurements, from all that were planned so far; none ends it."""
    return [
        spec
        for refiner, own in _refiners(specs)
        for spec in refiner.further_points(own, how, measurements, topology)
    ]


def further_seconds(specs: Sequence[Spec], how: Refinement) -> float:
    """Return the most seconds that refinement adds to a plan."""
    return sum(refiner.further_seconds(own, how) for refiner, own in _refiners(specs))


def _refiners(specs: Sequence[Spec]) -> Iterator[tuple[Refiner, list[Spec]]]:
    for name in dict.fromkeys(spec.kind for spec in specs):
        kind = KINDS[name]
        if kind.refined:
            yield kind.refine, [spec for spec in specs if spec.kind == name]


@dataclass(frozen=True)
class Outcome:
    """A run that ended, one way or another."""

    run: Run
    path: Path
    error: UserError | None
    """Error that ended it early; None after an interruption."""

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
    """Run a plan, writing each repetition and each measurement as it ends.

    ``refinement`` says how curves get further points, which go into the same run. ``start_at``: the
    first repetition begins then, or at once where that time has passed. ``energy``: what the
    machine takes is measured beside it. ``cases``: those of another benchmark that the plan was
    made of.

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
    return carry_on(header, writer, RunState(plan.measurements), topology, watch, start_at)


def carry_on(
    header: Header,
    writer: RunWriter,
    state: RunState,
    topology: Topology,
    watch: Watch,
    start_at: datetime | None = None,
    schedule: Schedule = in_rounds,
) -> Outcome:
    """Measure what the state lacks into a run file that was begun; closes it."""
    footer: Footer | None = None
    error: UserError | None = None
    energy = RunEnergy(machine_meter()) if header.energy else None
    running = _Running(writer, state, topology, watch, energy, schedule)
    try:
        interrupted = running.run(header, start_at)
        footer = _footer(state.in_order(), interrupted, running.late_s)
        writer.add(footer)
    except UserError as caught:
        error = _with_exit_code(caught, state)
    finally:
        writer.close()
        if energy:
            energy.close()
    added = state.added(header)
    run = Run(header=header, measurements=state.in_order(), footer=footer, added=added)
    return Outcome(run, writer.path, error)


class _Running:
    """Carries out the steps of a schedule."""

    def __init__(
        self,
        writer: RunWriter,
        state: RunState,
        topology: Topology,
        watch: Watch,
        energy: RunEnergy | None,
        schedule: Schedule,
    ) -> None:
        self._schedule = schedule
        self._energy = energy
        self._writer = writer
        self._state = state
        self._watch = watch
        self._paths = MachinePaths(topology)
        self._bounds: dict[str, Bounds] = {}
        self._began = 0.0
        """When the run began, by time.time()."""
        self.late_s: float | None = None
        """Of a run that was to begin at a given time: how much later its first repetition began."""

    def run(self, header: Header, start_at: datetime | None = None) -> bool:
        """Measure; return whether a signal ended it. What was measured is concluded all the
        same."""
        state = self._state
        how = header.refinement
        self._began = datetime.fromisoformat(header.started).timestamp()

        def further(_: RunState) -> list[Spec]:
            specs, machine = list(state.specs.values()), self._paths.topology
            return further_points(specs, how, self._so_far(), machine) if how else []

        open_specs = [state.specs[name] for name in state.open()]
        self._find_bounds(open_specs)
        with living_measurers(beside=self._writer.path) as measurers:
            measurers.plan(open_specs)
            if self._energy and open_specs:
                self._energy.measure_idle(lambda: measurers.interrupted)
            if start_at or header.fleet:  # others wait for the first repetition, too
                measurers.start()
            if start_at:
                self.late_s = wait_until(start_at.timestamp(), lambda: measurers.interrupted)
            # Runs that begin together measure in the same order.
            for step in self._schedule(state, header.start_at or header.name, further):
                if isinstance(step, RepetitionStep):
                    self._repetition(measurers, step)
                elif isinstance(step, ConcludeStep):
                    self._conclude(step.name)
                    measurers.forget(step.name)
                else:
                    self._plan(measurers, step)
                if measurers.interrupted:
                    break
            for name in state.begun():
                self._conclude(name, cut=True)
            return measurers.interrupted

    def _repetition(self, measurers: Measurers, step: RepetitionStep) -> None:
        began = time.monotonic()
        spec = self._state.specs[step.name]
        if self._energy:
            self._energy.begin(spec)
        for event in measurers.repetition(step.name, step.seconds, step.fresh):
            if isinstance(event, Repetition):
                if self._energy:
                    event = self._energy.observed(event, spec)
                at_s = _wall_clock(event) - self._began
                repetition = event.model_copy(update={"at_s": round(at_s, 6)})
                self._state.add_repetition(repetition, time.monotonic() - began)
                self._writer.add(RepetitionRecord(repetition=repetition))
            elif isinstance(event, Skipped | Failed):
                self._state.ended[event.id] = event
            self._watch(event)

    def _so_far(self) -> list[Measurement]:
        """Return what was concluded, and what the repetitions of the others come to so far."""
        state = self._state
        found = dict(state.measurements)
        found |= {name: self._measurement(name, cut=True) for name in state.begun()}
        return [found[name] for name in state.specs if name in found]

    def _measurement(self, name: str, cut: bool) -> Measurement:
        state = self._state
        spec, repetitions, ended = state.specs[name], state.repetitions[name], state.ended.get(name)
        return measurement_of(spec, repetitions, ended, self._bounds[name], cut)

    def _conclude(self, name: str, cut: bool = False) -> None:
        measurement = self._measurement(name, cut)
        self._state.measurements[name] = measurement
        self._writer.add(measurement)
        self._watch(measurement)

    def _plan(self, measurers: Measurers, step: PlanStep) -> None:
        self._state.add(step.specs)
        self._find_bounds(step.specs)
        measurers.plan(step.specs)
        specs = [spec.model_dump(mode="json") for spec in step.specs]
        self._writer.add(PlanRecord(measurements=specs))

    def _find_bounds(self, specs: Iterable[Spec]) -> None:
        """Work bounds out before anything is measured, so that nothing else runs between
        repetitions."""
        self._bounds |= {spec.id: Bounds.of(spec, self._paths) for spec in specs}


def _wall_clock(repetition: Repetition) -> float:
    """Return when a repetition that has just ended began, by time.time()."""
    now = time.time()
    if repetition.began_s is None:
        return now - repetition.seconds
    return now - time.clock_gettime(time.CLOCK_MONOTONIC_RAW) + repetition.began_s


def _with_exit_code(error: UserError, state: RunState) -> UserError:
    """Return an error whose exit code says that something was measured before it."""
    if error.exit_code is ExitCode.NOTHING_MEASURED and state.measurements:
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

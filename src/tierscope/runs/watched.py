"""Watch into a run file: repetitions one after the other, each written as it ends."""

import contextlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from tierscope.engine.process import capabilities
from tierscope.engine.repetitions import signals_to
from tierscope.kinds.plan import PLAN_VERSION, Plan, Spec
from tierscope.machine.settings import read_settings
from tierscope.model.errors import UserError
from tierscope.model.event import Repetition
from tierscope.model.run import Footer, Measurement, RepetitionRecord, Run
from tierscope.model.topology import Topology
from tierscope.runs.measurers import Measurer
from tierscope.runs.record import Bounds, make_header, measurement_of
from tierscope.runs.store import new_run_path
from tierscope.runs.write import RunWriter

_REPETITION_S = 10.0
"""Maximum seconds lost where tierscope is killed."""


def repetitions_of(spec: Spec, measurer: Measurer, interval_s: float) -> Iterator[Repetition]:
    """Yield repetitions of a few seconds until the spec's time is over or a signal ends it."""
    with contextlib.closing(measurer), signals_to(measurer):
        measurer.plan([spec])
        left = spec.sampling.budget_s
        while left > 0 and not measurer.interrupted:
            seconds = min(left, max(_REPETITION_S, interval_s))
            for event in measurer.repetition(spec.id, seconds):
                if isinstance(event, Repetition):
                    yield event
            left -= seconds


class WatchRun:
    """A run file that a watch is written to."""

    def __init__(
        self,
        spec: Spec,
        topology: Topology,
        command: list[str],
        path: Path | None,
        start_at: datetime | None = None,
    ) -> None:
        """Begin the file, by default one in the data directory. Raises UserError."""
        started = datetime.now().astimezone()
        self._spec = spec
        self._repetitions: list[Repetition] = []
        self.late_s: float | None = None
        """How much later than ``start_at`` it began."""
        self.path = path or new_run_path(spec.kind, None, started)
        self._header = make_header(
            self.path.stem,
            started,
            command,
            Plan(version=PLAN_VERSION, measurements=[spec]),
            topology,
            read_settings(topology),
            capabilities(),
            start_at=start_at,
        )
        try:
            self._writer = RunWriter.create(self.path, self._header)
        except FileExistsError:
            raise UserError(f"--record: '{self.path}' exists already; name another file") from None

    def add(self, repetition: Repetition) -> None:
        """Write a repetition."""
        repetition = repetition.model_copy(update={"at_s": repetition.series[0].starts[0]})
        self._repetitions.append(repetition)
        self._writer.add(RepetitionRecord(repetition=repetition))

    def finish(self) -> Run:
        """Conclude the measurement, end the file and return its run."""
        found: list[Measurement] = []
        try:
            if self._repetitions:
                found.append(measurement_of(self._spec, self._repetitions, None, Bounds()))
                self._writer.add(found[0])
            footer = Footer(
                finished=datetime.now().astimezone().isoformat(timespec="seconds"),
                interrupted=False,  # a watch ends when it is told to
                measured=len(found),
                skipped=0,
                failed=0,
                late_s=self.late_s,
            )
            self._writer.add(footer)
        finally:
            self._writer.close()
        return Run(header=self._header, measurements=found, footer=footer)

"""Live progress on a terminal's stderr; nothing where stderr goes elsewhere."""

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from tierscope.analysis.time_series import seconds_left
from tierscope.model.errors import counted
from tierscope.model.event import Event, Progress, Repetition, Started
from tierscope.model.metric import METRICS
from tierscope.model.run import Measurement
from tierscope.model.spec import MeasurementSpec
from tierscope.report.figures import scale_of, significant
from tierscope.runs.measure import Watch

_BAR = 12
_BESIDE = _BAR + len("12:34:56") + 3
"""Columns of the bar, the time left, and the gaps between."""


@contextlib.contextmanager
def live_progress(
    specs: Sequence[MeasurementSpec], seconds: Callable[[str], float]
) -> Iterator[Watch]:
    """Give a function to call with each event and each measurement that is concluded.

    ``seconds`` is how long an id takes at most, also one that is planned later.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    bar = Bar(
        TextColumn("{task.fields[counter]}"),
        BarColumn(bar_width=_BAR),
        TextColumn("{task.fields[now]}", markup=False),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        refresh_per_second=4,
    )
    with bar:
        yield _Display(bar, specs, seconds).watch


class _Display:
    """Turns events into the state of a progress bar."""

    def __init__(
        self, bar: Bar, specs: Sequence[MeasurementSpec], seconds: Callable[[str], float]
    ) -> None:
        self._bar = bar
        self._specs = {spec.id: spec for spec in specs}
        self._series: dict[str, list[Repetition]] = {
            spec.id: [] for spec in specs if spec.scheduled_apart
        }
        """Repetitions so far of what is scheduled apart."""
        self._units = {spec.id: METRICS[spec.headline()].unit for spec in specs}
        self._seconds = seconds
        expected = {spec.id: self._expected(spec) for spec in specs}
        self._left = {name: left or 0.0 for name, left in expected.items()}
        """Seconds that each measurement may still take."""
        self._unknown = {name for name, left in expected.items() if left is None}
        """Ids whose duration is not known yet."""
        self._known = set(self._left)
        self._repetitions = 0
        self._total = sum(self._left.values())
        self._task = bar.add_task(
            "", total=self._known_total(), counter=self._counter(), now="starting"
        )

    def watch(self, event: Event | Measurement) -> None:
        """Take note of an event of a repetition, or of a measurement that is concluded."""
        if isinstance(event, Started):
            self._begin(event.id)
        elif isinstance(event, Progress):
            shown = self._latest(event.id, event.latest)
            self._update(f"{event.id}  {shown}", min(event.elapsed_s, self._left.get(event.id, 0)))
        elif isinstance(event, Measurement):
            self._left.pop(event.id, None)
            self._update(event.id)
        elif event.event == "repetition":
            self._repetitions += 1
            left = self._left.get(event.id, 0.0)
            if event.id in self._series:
                self._add_round(event, left)
            else:
                self._left[event.id] = max(0.0, left - event.seconds)

    def _expected(self, spec: MeasurementSpec) -> float | None:
        return seconds_left(spec, ()) if spec.id in self._series else self._seconds(spec.id)

    def _add_round(self, repetition: Repetition, left: float) -> None:
        """Correct the time that a time series takes by its rate so far."""
        name = repetition.id
        self._series[name].append(repetition)
        now = seconds_left(self._specs[name], self._series[name])
        if now is not None:
            self._unknown.discard(name)
            self._left[name] = now
            self._total += repetition.seconds + now - left

    def _known_total(self) -> float | None:
        return None if self._unknown else self._total

    def _begin(self, name: str) -> None:
        if name not in self._known:  # a point that refines a curve
            self._known.add(name)
            self._left[name] = self._seconds(name)
            self._total += self._left[name]
        self._update(name)

    def _update(self, now: str, elapsed: float = 0.0) -> None:
        done = self._total - sum(self._left.values()) + elapsed
        self._bar.update(
            self._task,
            total=self._known_total(),
            completed=done,
            counter=self._counter(),
            now=self._fitted(now),
        )

    def _fitted(self, now: str) -> str:
        """Return what is measured now, with its id cut where the time left would have no room."""
        name, *rate = now.split("  ", 1)
        rest = "".join(f"  {one}" for one in rate)
        room = self._bar.console.width - len(self._counter()) - _BESIDE - len(rest)
        return name + rest if len(name) <= room else f"{name[: max(0, room - 1)]}…{rest}"

    def _counter(self) -> str:
        # Figures are concluded when the last round ends, so that repetitions tell more until then.
        return f"{counted(len(self._known), 'figure')}, {counted(self._repetitions, 'repetition')}"

    def _latest(self, name: str, value: float | None) -> str:
        if value is None or name not in self._units:
            return ""
        unit, factor = scale_of(self._units[name], [value])
        return f"{significant(value / factor, 3)} {unit}"

"""Live progress on a terminal's stderr; nothing where stderr goes elsewhere."""

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from statistics import median

from rich.console import Console
from rich.progress import Progress as Bar
from rich.progress import ProgressColumn, Task
from rich.text import Text

from tierscope.analysis.time_series import seconds_left
from tierscope.model.event import Event, Preparing, Progress, Repetition, Started
from tierscope.model.metric import METRICS
from tierscope.model.run import Measurement
from tierscope.model.spec import MeasurementSpec
from tierscope.report.figures import scale_of, significant, size_text
from tierscope.report.naming import details
from tierscope.runs.measure import Watch


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
    console = Console(stderr=True)
    bar = Bar(_Line(console), console=console, transient=True, refresh_per_second=4)
    with bar:
        yield _Display(bar, specs, seconds).watch


class _Line(ProgressColumn):
    """The only column: ``12 of 29 · 0:23 left · read by 2 threads 18.2 GB/s``.

    Where the terminal is too narrow, the name is cut, so that the value has room.
    """

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console

    def render(self, task: Task) -> Text:
        """Return the line of this moment."""
        left = task.time_remaining
        time_left = "" if left is None else f"{int(left) // 60}:{int(left) % 60:02} left"
        name, value = task.fields["name"], task.fields["value"]
        start = "".join(f"{part} · " for part in (task.fields["counter"], time_left) if part)
        room = max(1, self._console.width - len(start) - len(value) - 1)
        if len(name) > room:
            name = f"{name[: room - 1]}…"
        return Text(f"{start}{name} {value}".rstrip(), no_wrap=True, overflow="ellipsis")


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
        self._done: set[str] = set()
        """Ids that have a figure, or a reason for none."""
        self._several_paths = len({(spec.initiator, spec.target) for spec in specs}) > 1
        self._latest: tuple[str, str] | None = None
        """Name and value of the figure that was finished last."""
        self._total = sum(self._left.values())
        self._task = bar.add_task(
            "", total=self._known_total(), counter=self._counter(), name="starting", value=""
        )

    def watch(self, event: Event | Measurement) -> None:
        """Take note of an event of a repetition, or of a measurement that is concluded."""
        if isinstance(event, Started):
            self._begin(event.id)
        elif isinstance(event, Preparing):
            share = event.done / event.total if event.total else 1.0
            shown = f"{event.what} {event.file}", f"{share:.0%} of {size_text(event.total)}"
            self._update(shown, first=True)
        elif isinstance(event, Progress):
            shown = self._name(event.id), self._value(self._units.get(event.id), event.latest)
            self._update(shown, min(event.elapsed_s, self._left.get(event.id, 0)))
        elif isinstance(event, Measurement):
            self._done.add(event.id)
            self._left.pop(event.id, None)
            self._update()
        elif isinstance(event, Repetition):
            self._finish(event)

    def _finish(self, repetition: Repetition) -> None:
        """Take note of a repetition that was measured to its end."""
        name = repetition.id
        self._done.add(name)
        column = repetition.series[0].columns[0]
        values = [value for value in column.values if value is not None]
        value = self._value(METRICS[column.metric].unit, median(values) if values else None)
        self._latest = self._name(name), value
        left = self._left.get(name, 0.0)
        if name in self._series:
            self._add_round(repetition, left)
        else:
            self._left[name] = max(0.0, left - repetition.seconds)
        self._update()

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
        self._update((self._name(name), ""))

    def _update(
        self, now: tuple[str, str] = ("", ""), elapsed: float = 0.0, first: bool = False
    ) -> None:
        """Show the state; ``now`` is what is being measured, until a figure is finished, or is to
        be seen first."""
        name, value = now if first else self._latest or now
        done = self._total - sum(self._left.values()) + elapsed
        self._bar.update(
            self._task,
            total=self._known_total(),
            completed=done,
            counter=self._counter(),
            name=name,
            value=value,
        )

    def _counter(self) -> str:
        # All are measured in the first round; later ones make their figures more precise.
        done, known = len(self._done), len(self._known)
        return f"{done} of {known}" + (", repeating" if done == known else "")

    def _name(self, name: str) -> str:
        """Return a measurement's name in short; its id, of a point that refines a curve."""
        spec = self._specs.get(name)
        if spec is None:
            return name
        detail = details({"operation": spec.kind, **spec.identity()}, self._units[name])
        return f"{spec.initiator} → {spec.target}, {detail}" if self._several_paths else detail

    def _value(self, unit: str | None, value: float | None) -> str:
        if unit is None or value is None:
            return ""
        scaled, factor = scale_of(unit, [value])
        return f"{significant(value / factor, 3)} {scaled}"

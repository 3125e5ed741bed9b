"""Live progress on a terminal's stderr; nothing where stderr goes elsewhere."""

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from tierscope.model.errors import counted
from tierscope.model.event import Event, Progress, Started
from tierscope.model.metric import METRICS
from tierscope.model.run import Measurement
from tierscope.model.spec import MeasurementSpec
from tierscope.report.figures import scale_of, significant
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
    bar = Bar(
        TextColumn("{task.fields[counter]}"),
        BarColumn(bar_width=20),
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
        self._units = {spec.id: METRICS[spec.headline()].unit for spec in specs}
        self._seconds = seconds
        self._left = {spec.id: seconds(spec.id) for spec in specs}
        """Seconds that each measurement may still take."""
        self._known = set(self._left)
        self._visits = 0
        self._total = sum(self._left.values())
        self._task = bar.add_task("", total=self._total, counter=self._counter(), now="starting")

    def watch(self, event: Event | Measurement) -> None:
        """Take note of an event of a visit, or of a measurement that is concluded."""
        if isinstance(event, Started):
            self._begin(event.id)
        elif isinstance(event, Progress):
            shown = self._latest(event.id, event.latest)
            self._update(f"{event.id}  {shown}", min(event.elapsed_s, self._left.get(event.id, 0)))
        elif isinstance(event, Measurement):
            self._left.pop(event.id, None)
            self._update(event.id)
        elif event.event == "visit":
            self._visits += 1
            left = self._left.get(event.id, 0.0)
            self._left[event.id] = max(0.0, left - event.seconds)

    def _begin(self, name: str) -> None:
        if name not in self._known:  # a point that refines a curve
            self._known.add(name)
            self._left[name] = self._seconds(name)
            self._total += self._left[name]
        self._update(name)

    def _update(self, now: str, elapsed: float = 0.0) -> None:
        done = self._total - sum(self._left.values()) + elapsed
        self._bar.update(
            self._task, total=self._total, completed=done, counter=self._counter(), now=now
        )

    def _counter(self) -> str:
        # Figures are concluded when the last round ends, so that visits tell more until then.
        return f"{counted(len(self._known), 'figure')}, {counted(self._visits, 'visit')}"

    def _latest(self, name: str, value: float | None) -> str:
        if value is None or name not in self._units:
            return ""
        unit, factor = scale_of(self._units[name], [value])
        return f"{significant(value / factor, 3)} {unit}"

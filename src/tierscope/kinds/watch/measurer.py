"""What visits a watch: it reads counters at intervals, for as long as a visit lasts."""

import math
import time
from collections.abc import Callable, Generator, Sequence

from tierscope.counters.sampler import Row, Sampler, machine_sources
from tierscope.kinds.watch.spec import WatchSpec
from tierscope.model.event import (
    Column,
    Event,
    Evidence,
    Progress,
    Series,
    Started,
    Visit,
)
from tierscope.model.lacking import LackingCounters
from tierscope.model.spec import MeasurementSpec
from tierscope.topology.discover import discover
from tierscope.topology.files import Files

Listen = Callable[[Sequence[Row], Sequence[LackingCounters]], None]
"""Gets the rows of each reading as they come, and what cannot be read."""
MakeSampler = Callable[[WatchSpec], Sampler]
_POLL_S = 0.1
"""A signal ends the waiting within this time."""


def sampler_of(spec: WatchSpec) -> Sampler:
    """Return what reads the counters that a spec asks for, of this machine."""
    return Sampler(machine_sources(discover(), Files(), spec.pid, spec.cgroup))


class Measurer:
    """Watches for one measurement after the other; see ``runs.measurers.Measurer``."""

    def __init__(
        self, listen: Listen = lambda _rows, _lacking: None, make_sampler: MakeSampler = sampler_of
    ) -> None:
        self.interrupted = False
        self._listen = listen
        self._make_sampler = make_sampler
        self._specs: dict[str, WatchSpec] = {}
        self._samplers: dict[str, Sampler] = {}

    def plan(self, specs: Sequence[MeasurementSpec]) -> None:
        """Add measurements whose ids are new."""
        self._specs |= {spec.id: spec for spec in specs if isinstance(spec, WatchSpec)}

    def forget(self, name: str) -> None:
        """Close what a measurement reads."""
        if name in self._samplers:
            self._samplers.pop(name).close()

    def visit(
        self,
        name: str,
        seconds: float,
        fresh: bool = False,  # noqa: ARG002 - there are no pages
    ) -> Generator[Event, None, None]:
        """Read counters at intervals until the time is over; at least once."""
        yield Started(id=name)
        spec = self._specs[name]
        if name not in self._samplers:
            self._samplers[name] = self._make_sampler(spec)
        sampler = self._samplers[name]
        began = time.monotonic()
        readings: list[list[Row]] = []
        while not readings or time.monotonic() - began < seconds - spec.pattern.interval_s / 2:
            self._wait_for_tick(began, spec.pattern.interval_s)
            readings.append(sampler.rows())
            self._listen(readings[-1], sampler.lacking)
            elapsed = time.monotonic() - began
            yield Progress(id=name, elapsed_s=elapsed, rows=len(readings), latest=None)
            if self.interrupted:
                break
        evidence = Evidence(lacking=sampler.lacking or None)
        yield visit_of(name, readings, evidence, self.interrupted)

    def interrupt(self) -> None:
        """End the visit that is under way, after a last reading."""
        self.interrupted = True

    def close(self) -> None:
        """Close what is read."""
        for name in [*self._samplers]:
            self.forget(name)

    def _wait_for_tick(self, began: float, interval_s: float) -> None:
        """Wait for the next multiple of the interval; those that were missed are left out."""
        ticks = math.floor((time.monotonic() - began) / interval_s) + 1
        while not self.interrupted and (left := began + ticks * interval_s - time.monotonic()) > 0:
            time.sleep(min(left, _POLL_S))


def visit_of(
    name: str, readings: Sequence[Sequence[Row]], evidence: Evidence, interrupted: bool
) -> Visit:
    """Return readings, at least one, as a visit: a series for each source of counters."""
    by_source: dict[str, list[Row]] = {}
    for rows in readings:
        for row in rows:
            by_source.setdefault(row.source, []).append(row)
    series = [_series(source, rows) for source, rows in by_source.items()]
    first = [rows[0] for rows in (readings[0], readings[-1])]
    return Visit(
        id=name,
        seconds=first[1].start_s + first[1].duration_s - first[0].start_s,
        fresh=False,
        interrupted=interrupted,
        series=[one for one in series if one.columns],
        evidence=evidence,
    )


def _series(source: str, rows: Sequence[Row]) -> Series:
    keys = dict.fromkeys(key for row in rows for key in row.values)
    # Not checked: a source that came to nothing has no columns, and is left out.
    return Series.model_construct(
        name=source,
        starts=[row.start_s for row in rows],
        durations=[row.duration_s for row in rows],
        columns=[
            Column(metric=key[0], part=key[1], values=[row.values.get(key) for row in rows])
            for key in keys
        ],
    )

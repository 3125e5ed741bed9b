"""The measurer of a watch: it reads counters at intervals for the time of a repetition."""

import math
import time
from collections.abc import Callable, Generator, Sequence

from tierscope.kinds.watch.spec import WatchSpec
from tierscope.machine.discover import discover
from tierscope.machine.files import Files
from tierscope.machine.sampler import Sample, Sampler, machine_sources
from tierscope.model.event import (
    Column,
    Event,
    Evidence,
    Progress,
    Repetition,
    Series,
    Started,
)
from tierscope.model.evidence import LackingCounters
from tierscope.model.spec import MeasurementSpec

Listen = Callable[[Sequence[Sample], Sequence[LackingCounters]], None]
"""Gets the samples of each reading as they come, and what cannot be read."""
MakeSampler = Callable[[WatchSpec], Sampler]
_POLL_S = 0.1
"""A signal ends the waiting within this time."""


def sampler_of(spec: WatchSpec) -> Sampler:
    """Return what reads the counters that a spec asks for, of this machine."""
    return Sampler(machine_sources(discover(), Files(), spec.pid, spec.cgroup))


class Measurer:
    """Watches for one measurement after the other; see ``runs.measurers.Measurer``."""

    def __init__(
        self,
        listen: Listen = lambda _samples, _lacking: None,
        make_sampler: MakeSampler = sampler_of,
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

    def repetition(
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
        readings: list[list[Sample]] = []
        ends = began + seconds - spec.pattern.interval_s / 2
        # Where Ctrl-C comes during a reading, that one began before it, and another one follows.
        while not readings or self.interrupted or time.monotonic() < ends:
            self._wait_for_tick(began, spec.pattern.interval_s)
            last = self.interrupted
            readings.append(sampler.samples())
            self._listen(readings[-1], sampler.lacking)
            elapsed = time.monotonic() - began
            yield Progress(id=name, elapsed_s=elapsed, samples=len(readings), latest=None)
            if last:
                break
        evidence = Evidence(lacking=sampler.lacking or None)
        yield repetition_of(name, readings, evidence, self.interrupted)

    def interrupt(self) -> None:
        """End the repetition that is under way, after a last reading."""
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


def repetition_of(
    name: str, readings: Sequence[Sequence[Sample]], evidence: Evidence, interrupted: bool
) -> Repetition:
    """Return readings, at least one, as a repetition: a series for each source of counters."""
    by_source: dict[str, list[Sample]] = {}
    for samples in readings:
        for sample in samples:
            by_source.setdefault(sample.source, []).append(sample)
    series = [_series(source, samples) for source, samples in by_source.items()]
    first = [samples[0] for samples in (readings[0], readings[-1])]
    return Repetition(
        id=name,
        seconds=first[1].start_s + first[1].duration_s - first[0].start_s,
        fresh=False,
        interrupted=interrupted,
        series=[one for one in series if one.columns],
        evidence=evidence,
    )


def _series(source: str, samples: Sequence[Sample]) -> Series:
    keys = dict.fromkeys(key for sample in samples for key in sample.values)
    # Not checked: a source that came to nothing has no columns, and is left out.
    return Series.model_construct(
        name=source,
        starts=[sample.start_s for sample in samples],
        durations=[sample.duration_s for sample in samples],
        columns=[
            Column(
                metric=key[0], part=key[1], values=[sample.values.get(key) for sample in samples]
            )
            for key in keys
        ],
    )

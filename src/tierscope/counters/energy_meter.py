"""Energy over windows of time, from counters that are read all the while.

Visits set up and verify beside taking rows, and only the engine knows afterwards when rows were
taken. So counters are read some 50 times a second by a thread of its own, and interpolated at the
ends of windows.
"""

import os
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from tierscope.counters.reading import Key, Reading, increase_of
from tierscope.counters.source import Source

PERIOD_S = 0.02
"""Between two readings. RAPL counts every millisecond, NVML every 20 to 100."""


def engine_clock() -> float:
    """Return seconds of the clock that the engine times by."""
    return time.clock_gettime(time.CLOCK_MONOTONIC_RAW)


@dataclass
class Track:
    """Joules of one domain at rising times."""

    source: str
    times: list[float] = field(default_factory=list)
    joules: list[float] = field(default_factory=list)

    def between(self, start: float, end: float) -> float | None:
        """Return the joules of a window; None where it was not read on both sides of it."""
        if len(self.times) < 2 or start < self.times[0] or end > self.times[-1]:
            return None
        return self._at(end) - self._at(start)

    def _at(self, moment: float) -> float:
        after = max(1, bisect_left(self.times, moment))
        early, late = self.times[after - 1], self.times[after]
        share = (moment - early) / (late - early) if late > early else 1.0
        return self.joules[after - 1] + share * (self.joules[after] - self.joules[after - 1])


class EnergyMeter:
    """Reads sources of energy again and again, and tells the energy of windows."""

    def __init__(
        self, sources: Sequence[Source], clock: Callable[[], float] = engine_clock
    ) -> None:
        """Read all for the first time."""
        self._sources = [source for source in sources if source.available]
        self.lacking = [one for source in sources for one in source.lacking]
        self._clock = clock
        self._tracks: dict[str, Track] = {}
        self._last: dict[str, tuple[float, Reading]] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.read()

    @property
    def available(self) -> bool:
        """Whether there is anything to read."""
        return bool(self._sources)

    def read(self) -> None:
        """Read all now."""
        with self._lock:
            for source in self._sources:
                before = self._clock()
                reading = source.read()
                self._take(source.name, (before + self._clock()) / 2, reading)

    def start(self) -> None:
        """Begin to read all the while."""
        if self.available:
            self._thread = threading.Thread(target=self._read_on, daemon=True)
            self._thread.start()

    def keep_off(self, cpus: Collection[int]) -> None:
        """Read on other CPUs than these from now on, where this process may use any."""
        others = os.sched_getaffinity(0) - set(cpus)
        if self._thread is not None and self._thread.native_id is not None and others:
            os.sched_setaffinity(self._thread.native_id, others)

    def forget_before(self, moment: float) -> None:
        """Drop what no window from ``moment`` on needs."""
        with self._lock:
            for track in self._tracks.values():
                first = max(0, bisect_left(track.times, moment) - 1)
                del track.times[:first], track.joules[:first]

    def window(self, start: float, end: float) -> dict[tuple[str, str], float]:
        """Return joules by domain and source from ``start`` to ``end`` of the clock.

        A domain that was not read on both sides of the window is absent.
        """
        with self._lock:
            found = {
                (name, track.source): track.between(start, end)
                for name, track in self._tracks.items()
            }
        return {key: joules for key, joules in found.items() if joules is not None}

    def readings(self, start: float, end: float) -> int:
        """Return how often the domain that was read most often was read in a window."""
        with self._lock:
            return max(
                (sum(start <= at <= end for at in one.times) for one in self._tracks.values()),
                default=0,
            )

    def close(self) -> None:
        """End reading."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        for source in self._sources:
            source.close()

    def _read_on(self) -> None:
        while not self._stop.wait(PERIOD_S):
            self.read()

    def _take(self, source: str, at: float, reading: Reading) -> None:
        before_at, before = self._last.get(source, (at, Reading()))
        self._last[source] = (at, reading)
        for key in [*reading.counts, *reading.levels]:
            gained = _joules(key, before, reading, at - before_at)
            track = self._tracks.get(key.part)
            if track is None or gained is None:  # new, or set back: what was before is not known
                track = self._tracks[key.part] = Track(source, [at], [0.0])
            elif at > track.times[-1]:
                track.times.append(at)
                track.joules.append(track.joules[-1] + gained)
        for part, track in [*self._tracks.items()]:
            gone = Key("power", part) not in (reading.counts | reading.levels)
            if track.source == source and gone:
                del self._tracks[part]


def _joules(key: Key, before: Reading, after: Reading, seconds: float) -> float | None:
    """Return what a counter gained, or a sensor's mean power over the time; None of a new one."""
    if key in after.counts:
        earlier = before.counts.get(key)
        return None if earlier is None else increase_of(earlier, after.counts[key])
    level = before.levels.get(key)
    return None if level is None else (level + after.levels[key]) / 2 * seconds

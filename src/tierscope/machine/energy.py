"""Energy that the machine takes: counters of CPUs (RAPL), GPUs (NVML) and sensors (hwmon).

Counters of energy are given as counts of ``power``, whose rate is in watts. Sensors that only tell
power are levels. Sources:

- RAPL (Intel, AMD): Documentation/power/powercap/powercap.rst of the kernel; ``energy_uj`` counts
  microjoules and begins at 0 again after ``max_energy_range_uj``.
- NVML: nvmlDeviceGetTotalEnergyConsumption, millijoules since the driver was loaded (Volta and
  newer), else nvmlDeviceGetPowerUsage.
- hwmon: ``energyN_input`` in microjoules, ``powerN_average`` or ``powerN_input`` in microwatts
  (Documentation/hwmon/sysfs-interface.rst).
"""

import os
import re
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tierscope.machine.counters import Count, Key, Reading, Source, absent, increase_of, lacks
from tierscope.machine.files import Files
from tierscope.machine.nvidia import Nvml, open_nvml, visible_gpus

METRIC = "power"
RAPL, NVML, HWMON = "RAPL", "NVML", "hwmon"
_POWERCAP = "/sys/class/powercap"
_HWMON = "/sys/class/hwmon"
_MICRO, _MILLI = 1e-6, 1e-3
_PACKAGE = re.compile(r"package \d+( die \d+)?( dram)?")
_SOCKET = re.compile(r"(Grace Power Socket|Esocket) ?\d+$")
"""Sensors of a whole CPU with its memory: of NVIDIA's Grace, and of AMD's driver amd_energy."""
PERIOD_S = 0.02
"""Between two readings. RAPL counts every millisecond, NVML every 20 to 100."""


def energy_sources(files: Files, nvml: Nvml | None = None, wish: str | None = None) -> list[Source]:
    """All sources of energy; ``nvml`` and ``wish`` are as for ``gpus_source``."""
    return [rapl_source(files), nvml_source(files, nvml, wish), hwmon_source(files)]


def rapl_source(files: Files) -> Source:
    """Packages, what is inside them, and their DRAM: ``package 0``, ``package 0 dram``, ``psys``.

    Only the zones of MSRs count: ``intel-rapl-mmio`` shows the same packages again.
    """
    zones = files.names(_POWERCAP, "intel-rapl:")
    named = {zone: (_zone_name(files, zone), _wraps_at(files, zone)) for zone in zones}

    def read() -> Reading:
        found = Reading()
        for zone, (name, wraps_at) in named.items():
            counted = files.number(f"{_POWERCAP}/{zone}/energy_uj")
            if counted is not None:
                found.counts[Key(METRIC, name)] = Count(counted * _MICRO, wraps_at=wraps_at)
        return found

    if read().counts:
        return Source(RAPL, read)
    what = "energy of CPUs and DRAM (RAPL)"
    if zones:
        reason = f"{_POWERCAP}/{zones[0]}/energy_uj is readable by root only"
        remedy = f"run as root, or: sudo chmod a+r {_POWERCAP}/intel-rapl:*/energy_uj"
        return absent(RAPL, [lacks(what, reason, remedy)])
    reason = f"no zones in {_POWERCAP}: virtual machines and other CPUs have none"
    return absent(RAPL, [lacks(what, reason, "modprobe intel_rapl_msr, on a real machine")])


def _zone_name(files: Files, zone: str) -> str:
    """``package 0`` of ``package-0``; of a zone inside it, ``package 0 core``."""
    name = (files.text(f"{_POWERCAP}/{zone}/name") or zone).replace("-", " ")
    above = zone.rpartition(":")[0]
    return f"{_zone_name(files, above)} {name}" if above.count(":") else name


def _wraps_at(files: Files, zone: str) -> float | None:
    """Joules at which a zone's counter begins at 0 again."""
    last = files.number(f"{_POWERCAP}/{zone}/max_energy_range_uj")
    return (last + 1) * _MICRO if last else None


def nvml_source(files: Files, nvml: Nvml | None = None, wish: str | None = None) -> Source:
    """The boards of all GPUs that CUDA shows: ``gpu 0``."""
    what = "energy of GPUs (NVML)"
    missing: list[str] = []

    def close() -> None:
        pass

    if nvml is None:
        nvml, missing, close = open_nvml(files)
    if nvml is None:
        return absent(
            NVML, [lacks(what, text) for text in missing or ["no NVIDIA driver is loaded"]]
        )
    library = nvml
    shown = visible_gpus(library, wish)

    def read() -> Reading:
        found = Reading()
        for index, number in enumerate(shown):
            key = Key(METRIC, gpu_domain(index))
            counted = library.ask("TotalEnergyConsumption", number)
            if counted is not None:
                found.counts[key] = Count(counted * _MILLI)
            elif (milliwatts := library.ask("PowerUsage", number)) is not None:
                found.levels[key] = milliwatts * _MILLI
        return found

    found = read()
    if found.counts or found.levels:
        return Source(NVML, read, [lacks(what, text) for text in missing], close=close)
    close()
    return absent(NVML, [lacks(what, "no GPU tells its energy or power")])


class _Sensor(NamedTuple):
    part: str
    path: str
    counts: bool
    """It counts microjoules; else it tells microwatts."""


def hwmon_source(files: Files) -> Source:
    """Sensors of energy and power, by the names of chips and their own."""
    sensors = [
        sensor
        for chip, directory in files.numbered(_HWMON, "hwmon")
        for sensor in _sensors_of(files, chip, directory)
    ]

    def read() -> Reading:
        found = Reading()
        for sensor in sensors:
            value = files.number(sensor.path)
            if value is None or value < 0:
                continue
            key = Key(METRIC, sensor.part)
            if sensor.counts:
                found.counts[key] = Count(value * _MICRO)
            else:
                found.levels[key] = value * _MICRO
        return found

    found = read()
    if found.counts or found.levels:
        return Source(HWMON, read)
    return absent(
        HWMON, [lacks("power of sensors (hwmon)", "no sensor here tells power or energy")]
    )


def _sensors_of(files: Files, chip: int, directory: str) -> list[_Sensor]:
    """A chip's sensors; one that counts energy tells its power by that."""
    name = files.text(f"{directory}/name") or f"hwmon{chip}"
    found: dict[str, _Sensor] = {}
    for ending in ("energy_input", "power_average", "power_input"):
        what, _, kind = ending.partition("_")
        if what == "power" and any(sensor.counts for sensor in found.values()):
            break
        for entry in files.names(directory, what):
            number, _, of = entry.removeprefix(what).partition("_")
            if of == kind and number.isdigit() and f"{what}{number}" not in found:
                part = _sensor_name(files, name, chip, f"{directory}/{what}{number}")
                path = f"{directory}/{entry}"
                found[f"{what}{number}"] = _Sensor(part, path, what == "energy")
    return list(found.values())


def _sensor_name(files: Files, name: str, chip: int, place: str) -> str:
    """``power_meter hwmon2 Module Power Socket 0``: chips of one driver have the same name."""
    label = files.text(f"{place}_label") or place.rpartition("/")[2]
    return f"{name} hwmon{chip} {label}"


def summed_domains(domains: Iterable[tuple[str, str]], gpus: Collection[int]) -> set[str]:
    """Return which domains, of names and sources, add up: none of them is inside another one.

    Packages and their DRAM, or where RAPL tells none the sensors of whole sockets, and those of
    ``gpus``, the numbers of the GPUs that take part. What is inside a package, the whole platform
    (``psys``) and other sensors, of which nobody knows what they overlap, do not count.
    """
    known = list(domains)
    packages = {name for name, source in known if source == RAPL and _PACKAGE.fullmatch(name)}
    sockets = {name for name, source in known if source == HWMON and _SOCKET.search(name)}
    boards = {gpu_domain(number) for number in gpus}
    return (packages or sockets) | {name for name, source in known if source == NVML} & boards


def gpu_domain(number: int) -> str:
    """Return the name of a GPU's domain."""
    return f"gpu {number}"


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

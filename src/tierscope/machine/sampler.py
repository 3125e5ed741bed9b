"""All counters of a watch, read together at intervals."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from tierscope.machine.counters import (
    Reading,
    Source,
    cgroup_sources,
    cpus_source,
    drives_source,
    gpus_source,
    memory_source,
    migrations_source,
    network_source,
    nfs_source,
    nvidia_fs_source,
    pressure_source,
    process_source,
    rates,
    requests_source,
    summed,
    traffic_source,
)
from tierscope.machine.energy import energy_sources
from tierscope.machine.files import Files
from tierscope.model.evidence import LackingCounters
from tierscope.model.topology import Topology


@dataclass(frozen=True)
class Sample:
    """The rates of one source between two readings."""

    source: str
    start_s: float
    """From the first reading of all."""
    duration_s: float
    values: dict[tuple[str, str], float]
    """By metric and part."""


def machine_sources(
    topology: Topology, files: Files, pid: int | None = None, cgroup: str = ""
) -> list[Source]:
    """Everything of a machine that counters tell; memory comes first, which is always there."""
    found = [memory_source(files), traffic_source(topology)]
    if pid is not None:
        found.append(process_source(files, pid))
    if cgroup:
        found += cgroup_sources(files, cgroup)
    found += [
        cpus_source(files),
        pressure_source(files),
        migrations_source(files),
        gpus_source(files, wish=os.environ.get("CUDA_VISIBLE_DEVICES")),
        drives_source(files),
        requests_source(files),
        nfs_source(files),
        nvidia_fs_source(files),
        network_source(files),
        *energy_sources(files, wish=os.environ.get("CUDA_VISIBLE_DEVICES")),
    ]
    return found


class Sampler:
    """Reads sources again and again, and gives the rates since the last time."""

    def __init__(self, sources: Sequence[Source]) -> None:
        """Read all for the first time."""
        self.sources = [source for source in sources if source.available]
        self.lacking: list[LackingCounters] = [one for source in sources for one in source.lacking]
        """Counters that cannot be read here."""
        self._last = {source.name: source.read() for source in self.sources}
        self._began = min((reading.at for reading in self._last.values()), default=0.0)

    def samples(self) -> list[Sample]:
        """Read all, and return a sample of each source."""
        found = []
        for source in self.sources:
            before, after = self._last[source.name], source.read()
            self._last[source.name] = after
            start, duration = before.at - self._began, after.at - before.at
            found.append(Sample(source.name, start, duration, _values(before, after)))
        return found

    def close(self) -> None:
        """Close what sources hold open."""
        for source in self.sources:
            source.close()


def _values(before: Reading, after: Reading) -> dict[tuple[str, str], float]:
    return summed(rates(before, after), list(after.counts))

"""All counters of a watch, read together at intervals."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from tierscope.counters.energy import energy_sources
from tierscope.counters.gpus import gpus_source
from tierscope.counters.kernel import (
    drives_source,
    memory_source,
    migrations_source,
    network_source,
    pressure_source,
)
from tierscope.counters.reading import Reading, rates
from tierscope.counters.source import Source
from tierscope.counters.tasks import cgroup_sources, process_source
from tierscope.counters.traffic import summed, traffic_source
from tierscope.model.lacking import LackingCounters
from tierscope.model.topology import Topology
from tierscope.topology.files import Files


@dataclass(frozen=True)
class Row:
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
        pressure_source(files),
        migrations_source(files),
        gpus_source(files, wish=os.environ.get("CUDA_VISIBLE_DEVICES")),
        drives_source(files),
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
        """What cannot be read here."""
        self._last = {source.name: source.read() for source in self.sources}
        self._began = min((reading.at for reading in self._last.values()), default=0.0)

    def rows(self) -> list[Row]:
        """Read all, and return a row of each source."""
        found = []
        for source in self.sources:
            before, after = self._last[source.name], source.read()
            self._last[source.name] = after
            start, duration = before.at - self._began, after.at - before.at
            found.append(Row(source.name, start, duration, _values(before, after)))
        return found

    def close(self) -> None:
        """Close what sources hold open."""
        for source in self.sources:
            source.close()


def _values(before: Reading, after: Reading) -> dict[tuple[str, str], float]:
    return summed(rates(before, after), list(after.counts))

"""The energy of a run's measurements: idle power first, then what is taken while rows are."""

import os
from collections.abc import Callable, Sequence

from tierscope.counters.energy import energy_sources, summed_domains
from tierscope.counters.energy_meter import EnergyMeter, engine_clock
from tierscope.kinds.plan import Spec
from tierscope.model.endpoint import EndpointKind, parse_ranges
from tierscope.model.energy import EnergyDomain, EnergyEvidence
from tierscope.model.event import Visit
from tierscope.runs.moment import nap
from tierscope.topology.files import Files

IDLE_S = 3.0
"""How long idle power is measured, before the first visit."""


_GPU = f"{EndpointKind.GPU}:"


def machine_meter() -> EnergyMeter:
    """Return a meter of whatever this machine tells of energy."""
    return EnergyMeter(energy_sources(Files(), wish=os.environ.get("CUDA_VISIBLE_DEVICES")))


class RunEnergy:
    """Adds energy to the evidence of visits."""

    def __init__(
        self, meter: EnergyMeter, idle_s: float = IDLE_S, clock: Callable[[], float] = engine_clock
    ) -> None:
        self._meter = meter
        self._idle_s = idle_s
        self._clock = clock
        self._idle_w: dict[str, float] = {}

    def measure_idle(self, interrupted: Callable[[], bool]) -> None:
        """Begin to read, and let the machine be idle meanwhile."""
        self._meter.start()
        if not self._meter.available:
            return
        start = self._clock()
        nap(self._idle_s, interrupted)
        end = self._clock()
        self._meter.read()
        if end > start:
            found = self._meter.window(start, end)
            self._idle_w = {name: joules / (end - start) for (name, _), joules in found.items()}
            self._idle_s = end - start

    def begin(self, spec: Spec) -> None:
        """Take note that a visit begins."""
        self._meter.keep_off(spec.thread_cpus())
        self._meter.read()
        self._meter.forget_before(self._clock())

    def observed(self, visit: Visit, spec: Spec) -> Visit:
        """Return a visit that ended just now with the energy that its first series took."""
        self._meter.read()
        if visit.began_s is None or not visit.series[0].starts:
            return visit
        first = visit.series[0]
        start = visit.began_s + first.starts[0]
        end = visit.began_s + first.starts[-1] + first.durations[-1]
        evidence = EnergyEvidence(
            seconds=max(0.0, end - start),
            idle_s=self._idle_s,
            readings=self._meter.readings(start, end),
            domains=self._domains(self._meter.window(start, end), spec),
            lacking=self._meter.lacking or None,
        )
        update = {"evidence": visit.evidence.model_copy(update={"energy": evidence})}
        return visit.model_copy(update=update)

    def close(self) -> None:
        """End reading."""
        self._meter.close()

    def _domains(self, window: dict[tuple[str, str], float], spec: Spec) -> list[EnergyDomain]:
        summed = summed_domains(window, _gpus_of([spec.initiator, spec.target]))
        return [
            EnergyDomain(
                name=name,
                source=source,  # type: ignore[arg-type]  # sources have these names
                joules=joules,
                idle_w=self._idle_w.get(name),
                summed=name in summed,
            )
            for (name, source), joules in window.items()
        ]


def _gpus_of(endpoints: Sequence[str]) -> set[int]:
    """Return the numbers of the GPUs among endpoints, of sets such as ``gpu:0-3`` too."""
    named = (endpoint.removeprefix(_GPU) for endpoint in endpoints if endpoint.startswith(_GPU))
    return {number for numbers in named for number in parse_ranges(numbers)}

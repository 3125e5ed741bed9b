"""Families of curves: one path under one load, a curve for each share of reads on the bus."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tierscope.analysis.bandwidth_latency import (
    CurveMetrics,
    FamilyMetrics,
    curve_metrics,
    family_metrics,
)
from tierscope.kinds.loaded_latency.points import (
    bus_rate,
    by_load,
    curves_of,
    idle_controls,
    same_but,
    sound,
    summary_of_curve,
)
from tierscope.model.errors import UserError
from tierscope.model.run import Measurement, Run
from tierscope.model.topology import Topology
from tierscope.model.traffic import Traffic, of_operation
from tierscope.plans.grammar import parse_mix
from tierscope.topology.paths import MachinePaths

_ON_BUS = re.compile(r"(\d{1,3}):(\d{1,3}) bus")
_KIND = "loaded-latency"
_ISSUED = " issued"
"""Another program's mixes that are its own, as ours are."""
MANY = 3
"""Curves from which on a family has a picture of its own."""


@dataclass(frozen=True)
class Curve:
    """One curve of a family."""

    members: list[Measurement]
    """Idle controls and points, disturbed ones too."""
    traffic: Traffic
    """What the bus carries of the load for each byte that the program counts."""
    metrics: CurveMetrics

    @property
    def mix(self) -> str:
        """As the program asks for it: 67:33, 50:50nt."""
        return str(self.members[-1].pattern["mix"])

    @property
    def name(self) -> str:
        """Its reads on the bus: "75% reads"; "25% reads nt" by non-temporal stores."""
        stores = " nt" if self.mix.endswith("nt") else ""
        return f"{100 * self.traffic.read_share:.0f}% reads{stores}"

    @property
    def points(self) -> list[Measurement]:
        """Its sound points, from the lightest load to the heaviest."""
        return by_load(sound(self.members))


@dataclass(frozen=True)
class Family:
    """Curves that differ in nothing but the mix of their loads, most reads first."""

    curves: list[Curve]
    topology: Topology | None

    @property
    def first(self) -> Measurement:
        """One of its points, which stands for what all have in common."""
        return self.curves[0].members[-1]

    @property
    def members(self) -> list[Measurement]:
        """The measurements of all curves, each once: idle controls may be of several."""
        return list({m.id: m for curve in self.curves for m in curve.members}.values())

    @cached_property
    def metrics(self) -> FamilyMetrics:
        """Of all curves together."""
        return family_metrics([curve.metrics for curve in self.curves])

    def theoretical(self, curve: Curve) -> float | None:
        """bytes/s on the bus that the loaded path allows of a curve's traffic; None: unknown."""
        if self.topology is None:
            return None
        load = curve.members[-1].pattern
        try:
            limit = MachinePaths(self.topology).limit(
                str(load["load_from"]), str(load["load_to"]), curve.traffic
            )
        except UserError:  # no endpoint of this machine, in a file of others' making
            return None
        return limit.value * curve.traffic.both if limit else None


def families_of(measured: Sequence[Measurement], topology: Topology | None) -> list[Family]:
    """Group measurements by family; curves over load threads belong to none."""
    groups: dict[str, list[Curve]] = {}
    for members in curves_of(measured):
        if curve := _curve(members):
            key = same_but(members[-1], ("mix", "load_threads", "delay_ns", "inject"))
            groups.setdefault(key, []).append(curve)
    return [
        Family(sorted(curves, key=lambda one: -one.traffic.read_share), topology)
        for curves in groups.values()
    ]


def families_in(run: Run) -> list[Family]:
    """Return the families of a run."""
    measured = [m for m in run.measurements if m.kind == _KIND and m.estimate is not None]
    return families_of(measured, run.header.topology)


def _curve(members: list[Measurement]) -> Curve | None:
    """Return a curve with its metrics; None where nothing of it was measured under load."""
    summary = summary_of_curve(members, on_bus=True)
    traffic = traffic_of(members[-1])
    if summary is None or traffic is None:
        return None
    pairs = [(rate, m) for m in by_load(sound(members)) if (rate := bus_rate(m))]
    metrics = curve_metrics(pairs, idle_controls(members), summary.idle, summary.doubled)
    return Curve(members, traffic, metrics)


def traffic_of(measurement: Measurement) -> Traffic | None:
    """Return what a load moves; None of a mix that is none.

    All but non-temporal stores fetch their line first. Other programs' mixes may be those of the
    bus: "67:33 bus".
    """
    mix = str(measurement.pattern.get("mix"))
    if found := _ON_BUS.fullmatch(mix):
        reads, writes = int(found[1]), int(found[2])
        return of_operation(mix, reads, writes, fetches=False) if reads + writes else None
    try:
        writes, stores = parse_mix(mix.removesuffix(_ISSUED))
    except UserError:
        return None
    return of_operation(mix, 100 - writes, writes, fetches=stores != "nt")

"""The tiers that a run measured: what each holds, its latency, bandwidth and limit."""

from dataclasses import dataclass
from typing import Any

from tierscope.analysis.best import best_of, best_of_path, idle_latencies
from tierscope.model.endpoint import STORAGE, Endpoint, EndpointKind
from tierscope.model.path import Limit
from tierscope.model.run import Header, Measurement, Run, lower_is_better, shared
from tierscope.report import figures
from tierscope.report.best import known_endpoint
from tierscope.report.view import Views, view_of

LOCAL, _REMOTE, HOST = "local DRAM", "remote DRAM", "host memory"
_DRIVE, UNKNOWN = "drive", "memory"
ON_GPU = "GPU"
MEDIA = (LOCAL, _REMOTE, "HBM", "CXL", "PMem", ON_GPU, _DRIVE, UNKNOWN, HOST)
"""What holds a tier's data, in the order of legends."""
_DRIVES = (EndpointKind.FILE, EndpointKind.DEV)


def side_caches(run: Run, target: str) -> list[int]:
    """Return the sizes of the memory-side caches of a target that is one node, in bytes."""
    end = known_endpoint(target)
    if end is None or end.kind is not EndpointKind.NODE or len(end.numbers) != 1:
        return []
    node = _nodes(run.header).get(end.numbers[0], {})
    return sorted({int(cache["size_bytes"]) for cache in node.get("memory_side_caches", [])})


@dataclass(frozen=True)
class Tier:
    """One target of one initiator."""

    initiator: str
    target: str
    medium: str
    """One of ``MEDIA``."""
    capacity: int | None
    """Bytes; None where the run does not say."""
    latency: Measurement | None
    """Of idle loads from memory; of storage, of one small read at a time."""
    bandwidth: Measurement | None
    """The best of any operation."""
    limit: Limit | None
    """Of that bandwidth; None where it is unknown or the machine is emulated."""

    @property
    def name(self) -> str:
        """What labels call it: "CXL node:2"."""
        return f"{self.medium} {self.target}"


def tiers_of(run: Run, views: Views) -> dict[str, list[Tier]]:
    """Return the tiers of each initiator, from the lowest latency to the highest.

    Initiators with a single tier are left out: there is nothing to tell apart.
    """
    rates: dict[tuple[str, str], list[Measurement]] = {}
    times: dict[tuple[str, str], list[Measurement]] = {}
    stood_for: dict[tuple[str, str], Measurement] = {}
    for m in run.measurements:
        view = view_of(views, m.kind)
        ends = view.accesses(m)
        if not m.has_figure or shared(m) or ends is None or "," in ends[1]:
            continue
        if view.latency and (idle := view.latency(m)):
            stood_for.setdefault(ends, idle)
        found = {"bandwidth": rates, "latency": times}.get(str(m.metric))
        if found is not None:
            found.setdefault(ends, []).append(m)
    chosen = stood_for | idle_latencies(m for members in times.values() for m in members)
    grouped: dict[str, list[Tier]] = {}
    for ends in dict.fromkeys([*rates, *chosen]):
        initiator, target = ends
        medium, capacity = medium_of(run.header, initiator, target)
        best = best_of_path(rates[ends]) if ends in rates else None
        limit = best.limit if best and not run.header.emulated else None
        tier = Tier(initiator, target, medium, capacity, chosen.get(ends), best, limit)
        grouped.setdefault(initiator, []).append(tier)
    return {
        initiator: sorted(tiers, key=_slowness)
        for initiator, tiers in grouped.items()
        if len(tiers) > 1
    }


def _slowness(tier: Tier) -> tuple[float, float]:
    latency = tier.latency.estimate if tier.latency else None
    rate = tier.bandwidth.estimate if tier.bandwidth else None
    return (latency or float("inf"), -(rate or 0.0))


def medium_of(header: Header, initiator: str, target: str) -> tuple[str, int | None]:
    """Return what a target's data is on, one of ``MEDIA``, and how many bytes it holds; None where
    the run does not say."""
    end = known_endpoint(target)
    if end is None or (end.kind not in STORAGE and len(end.numbers) != 1):
        return UNKNOWN, None
    if end.kind in STORAGE:
        return (_DRIVE if end.kind in _DRIVES else "PMem"), None
    if end.kind is EndpointKind.GPU:
        gpu = header.topology.gpu(end.numbers[0]) if header.topology else None
        return ON_GPU, gpu.memory_bytes if gpu else None
    node = _nodes(header).get(end.numbers[0])
    if node is None:
        return UNKNOWN, None
    kind = str(node["kind"])
    start = known_endpoint(initiator)
    if kind == "DRAM" and start is not None and start.kind is EndpointKind.GPU:
        kind = HOST
    elif kind == "DRAM":
        kind = LOCAL if _is_local(node, start) else _REMOTE
    return (kind if kind in MEDIA else UNKNOWN), int(node["total_bytes"])


def _is_local(node: dict[str, Any], initiator: Endpoint | None) -> bool:
    if initiator is None:
        return False
    if initiator.kind is EndpointKind.NODE:
        return node["node"] in initiator.numbers
    return set(initiator.numbers) <= set(node["cpus"])


def _nodes(header: Header) -> dict[int, dict[str, Any]]:
    return {int(node["node"]): node for node in header.machine.get("nodes", [])}


@dataclass(frozen=True)
class TierFigure:
    """One figure of a tier, as all tables write it."""

    estimate: str
    """With its unit; "not measured" where there is none."""
    text: str
    """With its unit and its interval."""
    interval: str = ""
    compared: str = ""
    """With the best of its initiator: "2.8× the lowest", "10% of the highest"."""


@dataclass(frozen=True)
class TierRow:
    """A tier in a table."""

    tier: Tier
    capacity: str
    latency: TierFigure
    bandwidth: TierFigure
    limit: str
    """Share of its limit and what sets it; empty where no limit is known."""


def tier_rows(tiers: list[Tier]) -> list[TierRow]:
    """Return an initiator's tiers as rows."""
    latencies = [t.latency for t in tiers if t.latency]
    rates = [t.bandwidth for t in tiers if t.bandwidth]
    lowest = best_of(latencies) if latencies else None
    highest = best_of(rates) if rates else None
    return [
        TierRow(
            tier=tier,
            capacity=figures.size_text(tier.capacity) if tier.capacity else "",
            latency=_figure(tier.latency, lowest),
            bandwidth=_figure(tier.bandwidth, highest),
            limit=f"{figures.share_text(tier.bandwidth.efficiency)} of {tier.limit.link}"
            if tier.bandwidth and tier.bandwidth.efficiency is not None and tier.limit
            else "",
        )
        for tier in tiers
    ]


def _figure(measurement: Measurement | None, best: Measurement | None) -> TierFigure:
    if measurement is None:
        return TierFigure("not measured", "not measured")
    unit, factor = figures.common_scale([measurement])
    estimate, interval = figures.parts(measurement, factor)
    interval = interval if figures.has_interval(measurement) else "no interval"
    text = figures.text(measurement, factor, unit)
    return TierFigure(f"{estimate} {unit}", text, interval, _compared(measurement, best))


def _compared(measurement: Measurement, best: Measurement | None) -> str:
    """Compare with the best; empty for itself and where one of them is vague."""
    if (
        best is None
        or measurement is best
        or figures.is_vague(measurement)
        or figures.is_vague(best)
    ):
        return ""
    ratio = (measurement.estimate or 0.0) / (best.estimate or 1.0)
    if lower_is_better(measurement):
        return f"{figures.significant(ratio, 2)}× the lowest"
    return f"{figures.share_text(ratio)} of the highest"

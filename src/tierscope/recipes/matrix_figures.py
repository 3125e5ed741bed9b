"""What a matrix measured for each pair of initiator and target, and what firmware says of it."""

from collections.abc import Sequence
from typing import Any

from tierscope.model.endpoint import EndpointKind, parse_endpoint
from tierscope.model.run import Measurement, Run
from tierscope.report import figures
from tierscope.report.best import best_of_path

Pair = tuple[str, str]

_NOTABLE = 1.25
"""Factor between claim and measurement from which on it is worth a line."""


def idle_latencies(run: Run) -> dict[Pair, Measurement]:
    """Return each pair's idle latency, of the largest chase."""
    found: dict[Pair, Measurement] = {}
    for m in _measured(run, "latency"):
        before = found.get((m.initiator, m.target))
        if before is None or int(m.pattern["size"]) > int(before.pattern["size"]):
            found[m.initiator, m.target] = m
    return found


def peak_bandwidths(run: Run, operation: str) -> dict[Pair, Measurement]:
    """Return each pair's highest bandwidth of an operation, whatever its thread count."""
    found: dict[Pair, list[Measurement]] = {}
    for m in _measured(run, "bandwidth"):
        if m.pattern["operation"] == operation:
            found.setdefault((m.initiator, m.target), []).append(m)
    return {pair: best_of_path(members) for pair, members in found.items()}


def operations(run: Run) -> list[str]:
    """Return the operations whose bandwidth a run measured, in its order."""
    return list(dict.fromkeys(str(m.pattern["operation"]) for m in _measured(run, "bandwidth")))


def curves(run: Run) -> dict[Pair, list[Measurement]]:
    """Return each pair's measurements of loaded latency."""
    found: dict[Pair, list[Measurement]] = {}
    for m in _measured(run, "loaded-latency"):
        found.setdefault((m.initiator, m.target), []).append(m)
    return found


def _measured(run: Run, kind: str) -> list[Measurement]:
    return [m for m in run.measurements if m.kind == kind and m.has_figure]


def firmware_lines(run: Run) -> list[str]:
    """Compare what ACPI tables say of pairs with what was measured."""
    nodes = {int(node["node"]): node for node in run.header.machine["nodes"]}
    latencies = idle_latencies(run)
    reads = peak_bandwidths(run, "read")
    lines = []
    for pair in latencies | reads:
        initiator, target = map(_node_of, pair)
        if initiator is None or target is None or target not in nodes:
            continue
        claim = _claim(nodes[target].get("performance", []), initiator)
        ns, rate = claim.get("read_latency_ns"), claim.get("read_bandwidth")
        name = f"{pair[0]} → {pair[1]}"
        if ns and pair in latencies:
            lines.append(
                f"{name}: firmware (HMAT) says {ns:.4g} ns, " + _compared(latencies[pair], ns)
            )
        if rate and pair in reads:
            said = f"firmware (HMAT) says {rate / 1e9:.4g} GB/s read"
            lines.append(f"{name}: {said}, " + _compared(reads[pair], rate))
    return lines + _slit_lines(nodes, latencies)


def _compared(measurement: Measurement, claimed: float) -> str:
    shown = figures.plain(measurement, 1.0 if measurement.unit == "ns" else 1e9, 3)
    return f"measured {shown} ({(measurement.estimate or 0.0) / claimed:.3g} times that)"


def _slit_lines(nodes: dict[int, dict[str, Any]], latencies: dict[Pair, Measurement]) -> list[str]:
    """Compare ratios of distances with ratios of latencies."""
    lines = []
    for (initiator, target), measurement in latencies.items():
        near, far = _node_of(initiator), _node_of(target)
        local = latencies.get((initiator, initiator))
        if near is None or far is None or near == far or local is None or near not in nodes:
            continue
        distances = nodes[near].get("distances", {})
        if str(near) not in distances or str(far) not in distances or not local.estimate:
            continue
        said = distances[str(far)] / distances[str(near)]
        seen = (measurement.estimate or 0.0) / local.estimate
        verdict = "agrees" if max(said / seen, seen / said) < _NOTABLE else "differs"
        lines.append(
            f"{initiator} → {target}: SLIT distance says {said:.2g} times the local latency, "
            f"measured {seen:.2g} times, which {verdict}"
        )
    return lines


def _claim(claims: Sequence[dict[str, Any]], initiator: int) -> dict[str, float]:
    return next((claim for claim in claims if initiator in claim["initiators"]), {})


def _node_of(endpoint: str) -> int | None:
    parsed = parse_endpoint(endpoint)
    if parsed.kind is EndpointKind.NODE and len(parsed.numbers) == 1:
        return parsed.numbers[0]
    return None

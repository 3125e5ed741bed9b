"""The matrix of initiators and targets: idle latency, peak bandwidth, latency under load."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from rich.console import Console
from rich.text import Text

from tierscope.analysis.best import best_of_path, idle_latencies
from tierscope.analysis.curve import latency_at, summarize
from tierscope.kinds.loaded_latency import show as curve_points
from tierscope.kinds.loaded_latency.show import rate_text
from tierscope.model.endpoint import EndpointKind, parse_endpoint
from tierscope.model.errors import UserError
from tierscope.model.run import Measurement, Run, is_unreliable
from tierscope.model.spec import MemorySpec
from tierscope.model.topology import Topology
from tierscope.plans import options
from tierscope.plans.expand import expand
from tierscope.plans.machine import one_node
from tierscope.plans.options import Option
from tierscope.plans.request import Request
from tierscope.report import figures
from tierscope.report.evidence import remarks
from tierscope.report.style import new_table, note, title
from tierscope.suites.suite import Prepared

OPTIONS = (
    options.FROM.but(help="Initiators", default="node:*"),
    options.to_of(MemorySpec, "node:*"),  # type: ignore[type-abstract]
    Option("op", "LIST", "Operations whose bandwidth is measured", "read,write,copy"),
    options.THREADS.but(help="Thread counts to search for the peak", default="1..all*2"),
    Option("at", "GB/S", "Also latency under loads of these bandwidths, as in 10,50", "none"),
    options.MIX.but(help="Reads:writes of the load for --at"),
    options.SIZE,
    options.PAGES,
    options.DESTROY_DAX,
    options.PRECISION,
    options.BUDGET,
)

_POINTS = "16"
"""Most loaded points of a pair; a bandwidth asked for is usually met within three or four."""
_DEFAULTS = {"from": "node:*", "to": "node:*", "op": "read,write,copy", "threads": "1..all*2"}
_LATENCY = ("from", "to", "size", "pages", "destroy-data", "precision", "budget")
_BANDWIDTH = (*_LATENCY, "op", "threads")
_LOADED = (*_LATENCY, "mix", "at", "points")
Pair = tuple[str, str]
_NOTABLE = 1.25
"""Factor between claim and measurement from which on it is worth a line."""
Value = TypeVar("Value")
_GB = 1e9
_DIGITS = 4


def requests(given: dict[str, str]) -> list[Request]:
    """Return requests for idle latency, peak bandwidth and, with ``at``, latency under load."""
    if "mix" in given and "at" not in given:
        raise UserError("--mix: the mix of a load goes with --at, the bandwidth of that load")
    if "," in given.get("mix", ""):
        raise UserError("--mix: a matrix takes one mix; `tierscope loaded-latency` takes several")
    values = _DEFAULTS | given
    found = [_request("latency", _LATENCY, values), _request("bandwidth", _BANDWIDTH, values)]
    if "at" in given:
        found.append(_request("loaded-latency", _LOADED, values | {"points": _POINTS}))
    return found


def prepare(_name: str, topology: Topology, thp: bool) -> Prepared:
    """Return the matrix as ``tierscope matrix`` makes it without options."""
    made = requests({})
    return Prepared(expand(made, topology, thp), made)


def _request(kind: str, names: tuple[str, ...], values: dict[str, str]) -> Request:
    taken = {name: values[name] for name in names if name in values}
    return Request(kind=kind, options=taken)


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
    latencies = idle_latencies(_measured(run, "latency"), in_caches=True)
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


def show_matrix(console: Console, run: Run, rates: list[float]) -> None:
    """Print a matrix for each figure; ``rates`` are the loads, in bytes/s, that were asked for."""
    idle = idle_latencies(_measured(run, "latency"), in_caches=True)
    _show(console, "Idle latency, ns", idle, lambda m: figures.with_interval(m, 1.0))
    for operation in operations(run):
        peaks = peak_bandwidths(run, operation)
        _show(console, f"Peak {operation} bandwidth, GB/s (threads)", peaks, _peak)
    for rate in rates:
        at = {pair: _at(members, rate) for pair, members in curves(run).items()}
        _show(console, f"Latency under a load of {rate / _GB:g} GB/s, ns", at, str)
    measured = [m for m in run.measurements if m.has_figure]
    console.print()
    for line in firmware_lines(run):
        note(console, line)
    for line in remarks(measured):
        note(console, line)
    if alone := one_node(run.header.topology):
        note(console, alone)


def _show(
    console: Console, name: str, cells: dict[Pair, Value], text: Callable[[Value], str]
) -> None:
    if not cells:
        return
    title(console, name)
    initiators = list(dict.fromkeys(initiator for initiator, _ in cells))
    targets = list(dict.fromkeys(target for _, target in cells))
    corner = "from \\ to"
    table = new_table(corner, *targets, words=[corner])
    for initiator in initiators:
        row = [cells.get((initiator, target)) for target in targets]
        table.add_row(
            initiator,
            *(Text("·", style="dim") if cell is None else text(cell) for cell in row),
        )
    console.print(table)


def _peak(measurement: Measurement) -> str:
    return f"{figures.plain(measurement, _GB, _DIGITS)} ({measurement.pattern['threads']})"


def _at(members: list[Measurement], rate: float) -> str:
    points = curve_points.loaded_points(members)
    if not points:
        return "·"
    summary = summarize(points, curve_points.idle_latencies(members))
    found = latency_at(points, summary.idle, rate)
    if found is None:
        return f"at most {rate_text(curve_points.measured_at(members, summary.peak))}"
    # Between two points, as precise as the least precise of them.
    unreliable = any(map(is_unreliable, curve_points.sound(members)))
    return f"~{figures.significant(found, 1)}" if unreliable else figures.significant(found, 3)

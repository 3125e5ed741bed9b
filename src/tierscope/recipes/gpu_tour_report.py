"""``tierscope gpu``: from the naive copy to the best one, and what is left on the table."""

from rich.console import Console
from rich.text import Text

from tierscope.analysis.flat import flat_run
from tierscope.model.endpoint import parse_endpoint
from tierscope.model.run import Measurement, Run
from tierscope.model.topology import PcieLink, Topology
from tierscope.report import figures
from tierscope.report.gpu_explain import explain
from tierscope.report.gpu_tables import describe, efficiency_text, show_traces
from tierscope.report.style import new_table, note, title
from tierscope.report.warnings import warnings_line
from tierscope.topology.links import pcie_link, pcie_name, pcie_rate
from tierscope.topology.paths import find_path

_STEPS = {
    "pageable": "naive (pageable)",
    "pinned": "pinned",
    "large": "pinned, large",
    "streams": "4 streams",
    "sm": "by a kernel",
    "both-ways": "both ways",
    "local": "inside the GPU",
    "triad": "its memory, triad",
}
_WAYS = {"to-gpu": "to GPU", "to-host": "to host"}
_AS_GOOD = 0.98
"""A figure this near to another is as good."""
_FULL = 0.80
"""Efficiency of a PCIe link that copies can be expected to reach."""


def show_story(console: Console, run: Run) -> None:
    """Print one table and one conclusion for each GPU, and what looks wrong."""
    for gpu in run.header.machine["gpus"]:
        own = [entry for entry in run.measurements if entry.id.startswith(f"gpu{gpu['index']}.")]
        if not own:
            continue
        title(console, f"gpu:{gpu['index']}, {gpu['name']}")
        _show_table(console, own, run)
        for line in _conclusions(own, run.header.topology):
            console.print(Text(line))
        show_traces(console, own)
    if text := warnings_line(flat_run(run)):
        console.print()
        console.print(Text(text))


def _show_table(console: Console, own: list[Measurement], run: Run) -> None:
    table = new_table()
    table.add_column("what", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("size", justify="right", no_wrap=True)
    table.add_column("GB/s", justify="right", no_wrap=True)
    table.add_column("of limit", justify="right", no_wrap=True)
    table.add_column("why", overflow="fold")
    last = ("", "")
    for entry in own:
        step, way = _step_of(entry)
        what = _STEPS.get(step, step.replace("node", "node "))
        measured = entry.status == "measured"
        why = explain(entry, run.header.topology) if measured else entry.reason
        table.add_row(
            "" if what == last[0] else what,
            _WAYS.get(way, ""),
            figures.size_text(entry.pattern["size"]),
            figures.with_interval(entry, 1e9) if measured else entry.status,
            efficiency_text(entry) if measured else "",
            Text("" if (what, why) == last else why),
        )
        last = (what, why)
    console.print(table)
    limit = next((entry.limit for entry in own if _step_of(entry)[0] == "large"), None)
    if limit is not None:
        note(console, f"limit of host copies: {limit.link}: {limit.formula}")


def _step_of(entry: Measurement) -> tuple[str, str]:
    parts = entry.id.split(".")
    return parts[1], parts[2] if len(parts) > 2 else ""


def _conclusions(own: list[Measurement], topology: Topology | None) -> list[str]:
    """What pinning and size bring, which way is best, and what is left."""
    rates = {_step_of(entry): entry.estimate for entry in own if entry.status == "measured"}
    lines = []
    for way, name in _WAYS.items():
        naive, large = rates.get(("pageable", way)), rates.get(("large", way))
        if naive and large:
            lines.append(
                f"{name}: pinned memory and large copies bring {large / 1e9:.1f} GB/s, "
                f"{large / naive:.1f} times the naive copy's {naive / 1e9:.1f}"
            )
    return [*lines, _left_on_the_table(own, topology)]


def _left_on_the_table(own: list[Measurement], topology: Topology | None) -> str:
    """Compare the plain large copy with all else that was tried, its limit, and its link's best."""
    plain = {_step_of(e)[1]: e for e in own if _step_of(e)[0] == "large" and e.status == "measured"}
    if not plain:
        return ""
    left = [*_below_best(plain, topology), *(_better(own, plain) or _below_limit(plain))]
    if left:
        return f"Left on the table: {'; '.join(left)}."
    if all(entry.limit is None for entry in plain.values()):
        return (
            "What is left on the table cannot be said: no link's rate is known. No other way that "
            "was measured does better."
        )
    return "Left on the table: nothing. No other way that was measured does better."


def _better(own: list[Measurement], plain: dict[str, Measurement]) -> list[str]:
    """What beats the plain large copy."""
    better: list[str] = []
    for entry in own:
        step, way = _step_of(entry)
        base = plain.get(way)
        tried = step in ("streams", "sm") or step.startswith("node")
        if base is None or not tried or entry.status != "measured":
            continue
        gain = (entry.estimate or 0.0) / (base.estimate or 1.0)
        if gain > 1 / _AS_GOOD:
            better.append(f"{describe(entry)} is {gain - 1:.0%} faster")
    return better


def _below_limit(plain: dict[str, Measurement]) -> list[str]:
    """Say how far from its limit the plain large copy stays, and where to look."""
    low = [
        f"{_WAYS[way]} reaches {entry.efficiency:.0%} of its limit"
        for way, entry in plain.items()
        if entry.efficiency is not None and entry.efficiency < _FULL
    ]
    advice = (
        "nothing that was tried does better: see 'tierscope topo' for the link, and the IOMMU's "
        "and ACS settings in 'tierscope doctor'"
    )
    return [*low, advice] if low else []


def _below_best(plain: dict[str, Measurement], topology: Topology | None) -> list[str]:
    """Say how the link ran where it is able to more, and what that makes of the figures."""
    entry = next(iter(plain.values()))
    best = _rate_at_best(entry, topology)
    if best is None or entry.limit is None:
        return []
    rate, name = entry.limit.value, entry.limit.link.partition(" at ")[0]
    for link in _links_seen(entry):
        seen = pcie_rate(link)
        if seen is not None and seen < rate:
            rate, name = seen, pcie_name(link)
    if rate >= _AS_GOOD * best:  # A slot may still be less than the GPU; its name says so.
        return [entry.limit.link] if ": " in entry.limit.link else []
    shares = [
        f"{_WAYS[way]} reaches {(entry.estimate or 0.0) / best:.0%} of the link at its best"
        for way, entry in plain.items()
        if entry.limit is not None and entry.limit.value < _AS_GOOD * best
    ]
    return [
        f"the link to the host runs at {name}, {rate / best:.0%} of what it is able to",
        *shares,
    ]


def _rate_at_best(entry: Measurement, topology: Topology | None) -> float | None:
    """bytes/s of the way, were each PCIe link as good as both its ends; None without such links."""
    if topology is None:
        return None
    ends = (parse_endpoint(entry.initiator), parse_endpoint(entry.target))
    hops = find_path(topology, *ends).hops
    if not any(hop.best for hop in hops):
        return None
    limits = [hop.limit.value for hop in hops if hop.limit and not hop.best]
    best = [pcie_rate(hop.best) for hop in hops if hop.best]
    return min([*limits, *(rate for rate in best if rate is not None)], default=None)


def _links_seen(entry: Measurement) -> list[PcieLink]:
    """The GPU's own link at its fastest while it was measured, as NVML saw it."""
    links = [
        pcie_link(int(state.pcie_generation[-1]), int(state.pcie_width[-1]))
        for state in (entry.evidence and entry.evidence.gpus) or []
        if state.pcie_generation and state.pcie_width
    ]
    return [link for link in links if link is not None]

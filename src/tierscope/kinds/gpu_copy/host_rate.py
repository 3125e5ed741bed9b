"""What CPUs measured of the memory that copies go from and to: whether a node limits its copies."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tierscope.kinds.gpu_copy.copies import Copy
from tierscope.model.errors import UserError
from tierscope.model.gpu import HostPlace
from tierscope.model.run import Measurement, Run
from tierscope.runs.history import entries
from tierscope.runs.read import parse_run, read_bytes

_OPERATIONS = {"read": ("read",), "written": ("write", "write-nt")}
"""By what a copy does to the node: the loops of CPUs that do the same."""
_RUNS = 20
"""Run files that are looked through at most, the newest first."""
_ENOUGH = 0.98
"""Of a link's rate: what its interval may hide."""
_KIND = "bandwidth"


@dataclass(frozen=True)
class HostRate:
    """The highest bandwidth that CPUs measured of one node."""

    rate: float
    """Bytes/s."""
    run: str
    """The run file that has it; empty: this one."""


Need = tuple[int, str]
"""A node, and whether a copy reads it or writes to it."""


def node_lines(copies: Iterable[Copy], run: Run) -> list[str]:
    """Say of each node that copies used what its memory gives CPUs, where a run knows."""
    carried: dict[tuple[int, str], float] = {}
    """By GPU and direction: what its link carried at most."""
    reached: dict[Need, float] = {}
    links: dict[Need, set[tuple[int, str]]] = {}
    for copy in copies:
        need, rate = _need(copy), copy.entry.estimate or 0.0
        if need is None:
            continue
        link = (copy.transfers[0].gpu, need[1])
        carried[link] = max(carried.get(link, 0.0), rate)
        reached[need] = max(reached.get(need, 0.0), rate)
        links.setdefault(need, set()).add(link)
    rates = _rates(run, set(reached))
    return [
        _line(need, rates[need], reached[need], max(carried[link] for link in links[need]))
        for need in sorted(rates)
    ]


def _need(copy: Copy) -> Need | None:
    """Return what one copy asks of a single node; None of copies among GPUs and of several."""
    if len(copy.transfers) != 1:
        return None
    one = copy.transfers[0]
    for place, what in ((one.source, "read"), (one.destination, "written")):
        if isinstance(place, HostPlace) and len(place.placement.nodes) == 1:
            return place.placement.nodes[0].node, what
    return None


def _line(need: Need, found: HostRate, reached: float, carried: float) -> str:
    node, what = need
    where = f" (run {found.run})" if found.run else ""
    gives = "gives its CPUs" if what == "read" else "takes from its CPUs"
    start = f"node {node} {gives} {found.rate / 1e9:.1f} GB/s{where}"
    if found.rate >= _ENOUGH * carried:
        return f"{start}: enough for this link, which carried {carried / 1e9:.1f}"
    if reached > found.rate:
        return f"{start}, though copies reach {reached / 1e9:.1f}: the CPUs limit that figure"
    return f"{start}, less than the {carried / 1e9:.1f} that this link carried with another node"


def _rates(run: Run, needs: set[Need]) -> dict[Need, HostRate]:
    """Return rates of this run, else of the newest run of the same machine that has them."""
    found = {
        need: rate for need in needs if (rate := _best(run.measurements, need, "")) is not None
    }
    open_needs = needs - set(found)
    if open_needs:
        for other in _other_runs(run):
            for need in [*open_needs]:
                rate = _best(other.measurements, need, other.header.name)
                if rate is not None:
                    found[need] = rate
                    open_needs.discard(need)
            if not open_needs:
                break
    return found


def _best(measurements: Iterable[Measurement], need: Need, run: str) -> HostRate | None:
    node, what = need
    rates = [
        m.estimate
        for m in measurements
        if m.kind == _KIND
        and m.target == f"node:{node}"
        and m.estimate is not None
        and not m.fits_caches
        and m.pattern.get("operation") in _OPERATIONS[what]
    ]
    return HostRate(max(rates), run) if rates else None


def _other_runs(run: Run) -> Iterator[Run]:
    """Yield the newest kept runs of this host that measured bandwidth, without damaged ones."""
    try:
        kept = [one for one in entries() if one.host == run.header.host]
    except UserError:
        return
    for entry in kept[: -_RUNS - 1 : -1]:
        if entry.name == run.header.name or entry.state == "unreadable":
            continue
        try:
            content = read_bytes(Path(entry.path))
            if f'"kind":"{_KIND}"'.encode() in content:
                yield parse_run(content, entry.path)
        except UserError:
            continue

"""Runs of several hosts that began at the same moment, beside the same hosts' runs alone.

Hosts that share a device measure it together where their runs were given the same ``--start-at``.
What each of them gets then is set beside what it gets alone. Bandwidths add up over the hosts;
latencies do not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tierscope.analysis.compare import Identity, identities
from tierscope.model.base import Model
from tierscope.model.metric import Unit
from tierscope.model.run import ClockState, Measurement, Run

_ADDED_UP: tuple[Unit, ...] = ("B/s", "1/s")
Spans = Mapping[str, Sequence[tuple[float, float]]]
"""Beginning and end of each visit, by the measurement's id."""


class HostFigure(Model):
    """What one host measured."""

    host: str
    together: float
    ci_low: float | None = None
    ci_high: float | None = None
    alone: float | None = None
    """None where no run of the host alone is given, or it has no such measurement."""
    overlap: float | None = None
    """Share of its visits' time in which all other hosts visited the same; None: unknown."""


class SharedFigure(Model):
    """One measurement that several hosts made at the same time."""

    kind: str
    initiator: str
    target: str
    pattern: dict[str, object]
    metric: str
    unit: Unit
    hosts: list[HostFigure]
    total_together: float | None = None
    """Of figures that add up."""
    total_alone: float | None = None


class SharedHost(Model):
    """A host's run among those that began together."""

    host: str
    run: str
    late_s: float | None = None
    clock: ClockState | None = None


class Together(Model):
    """Runs that were to begin at the same moment."""

    start_at: str
    hosts: list[SharedHost]
    figures: list[SharedFigure]


@dataclass(frozen=True)
class NamedRun:
    """A run, the name to call it by, and when its measurements were visited."""

    name: str
    run: Run
    spans: Spans


def together(runs: Sequence[NamedRun]) -> list[Together]:
    """Return the groups of runs of different hosts that were to begin at the same moment."""
    moments: dict[str, dict[str, NamedRun]] = {}
    alone: dict[str, NamedRun] = {}
    for named in runs:
        header = named.run.header
        if header.start_at is not None:
            moments.setdefault(header.start_at, {})[header.host] = named
    groups = {moment: hosts for moment, hosts in moments.items() if len(hosts) > 1}
    for named in runs:
        header = named.run.header
        if header.start_at not in groups:
            alone[header.host] = named
    return [_group(moment, hosts, alone) for moment, hosts in groups.items()]


def _group(moment: str, hosts: dict[str, NamedRun], alone: dict[str, NamedRun]) -> Together:
    found = {host: identities(named.run) for host, named in hosts.items()}
    before = {host: identities(alone[host].run) for host in hosts if host in alone}
    first, *others = found.values()
    shared = [key for key in first if all(key in other for other in others)]
    figures = [_figure(key, hosts, found, before) for key in shared]
    return Together(
        start_at=moment,
        hosts=[
            SharedHost(
                host=host,
                run=named.name,
                late_s=named.run.footer.late_s if named.run.footer else None,
                clock=named.run.header.clock,
            )
            for host, named in hosts.items()
        ],
        figures=[figure for figure in figures if figure is not None],
    )


def _figure(
    key: Identity,
    hosts: dict[str, NamedRun],
    found: dict[str, dict[Identity, Measurement]],
    before: dict[str, dict[Identity, Measurement]],
) -> SharedFigure | None:
    measured = {host: found[host][key] for host in hosts}
    first = next(iter(measured.values()))
    if any(m.estimate is None for m in measured.values()) or not (first.metric and first.unit):
        return None
    spans = {host: hosts[host].spans.get(m.id, ()) for host, m in measured.items()}
    figures = [
        HostFigure(
            host=host,
            together=m.estimate or 0.0,
            ci_low=m.ci_low,
            ci_high=m.ci_high,
            alone=earlier.estimate if (earlier := before.get(host, {}).get(key)) else None,
            overlap=_overlap(spans, host),
        )
        for host, m in measured.items()
    ]
    added = first.unit in _ADDED_UP
    alone = [figure.alone for figure in figures if figure.alone is not None]
    return SharedFigure(
        kind=first.kind,
        initiator=first.initiator,
        target=first.target,
        pattern=first.pattern,
        metric=first.metric,
        unit=first.unit,
        hosts=figures,
        total_together=sum(figure.together for figure in figures) if added else None,
        total_alone=sum(alone) if added and len(alone) == len(figures) else None,
    )


def _overlap(spans: Mapping[str, Sequence[tuple[float, float]]], host: str) -> float | None:
    """Share of a host's visits in which each other host made one, by the hosts' clocks."""
    if not all(spans.values()):
        return None
    both = list(spans[host])
    whole = sum(end - begin for begin, end in both)
    for other, theirs in spans.items():
        if other != host:
            both = [
                (max(mine[0], them[0]), min(mine[1], them[1]))
                for mine in both
                for them in theirs
                if max(mine[0], them[0]) < min(mine[1], them[1])
            ]
    return sum(end - begin for begin, end in both) / whole if whole else None

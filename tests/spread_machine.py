"""Runs of spread pages on simulated machines, for tests of what is made of them."""

import dataclasses
from collections.abc import Sequence

from tests.analysis.spread_simulation import Channel, Machine
from tests.synthetic import Maker, header, topology

from tierscope.kinds.traffic.refine import further_points
from tierscope.kinds.traffic.spec import TrafficSpec
from tierscope.model.run import Footer, Measurement, Refinement, Run
from tierscope.model.topology import Node, NodeKind, Topology
from tierscope.plans.request import Request
from tierscope.suites.expand import REQUEST

DRAM = Channel("dram", both=280e9)
LINK = Channel("link", read=28e9, write=26e9)
SLOW = Channel("slow", both=90e9, lost=0.02)
NEAR = {(0, 0): 1 / 20e9, (0, 1): 1 / 9e9, (0, 2): 1 / 6e9}


def expander(*channels: Channel) -> Machine:
    """DRAM as node 0 and, behind each of these channels, another node."""
    ways = {(0, 0): (DRAM,)} | {(0, n): (channel,) for n, channel in enumerate(channels, start=1)}
    seconds = {way: NEAR[way] for way in ways}
    return Machine((32,), ways, seconds, len(ways), (DRAM, *channels))


def machine_of(nodes: int) -> Topology:
    """The synthetic machine, with so many nodes, of which the first one has CPUs."""
    kinds = [NodeKind.DRAM, *[NodeKind.CXL] * (nodes - 1)]
    base = topology()
    return base.model_copy(
        update={
            "nodes": [
                Node(number=n, kind=kind, inferred_from="", total_bytes=256 << 30,
                     free_bytes=250 << 30, cpus=list(range(32)) if n == 0 else [])
                for n, kind in enumerate(kinds)
            ],
            "cpus": list(range(32)),
        }
    )  # fmt: skip


def measured(spec: TrafficSpec, machine: Machine, maker: Maker) -> Measurement:
    """What the machine gives a spec."""
    shares = {share.node: share.weight for share in spec.placement.nodes}
    weights = [float(shares.get(node, 0)) for node in range(machine.nodes)]
    held = dataclasses.replace(machine, threads=(len(spec.cpus),))
    value = held.bandwidth(weights, spec.pattern.writes / 100)
    return maker.make("traffic", spec.initiator, spec.target, spec.identity(), value, id=spec.id)


def study(
    machine: Machine,
    options: dict[str, str],
    maker: Maker | None = None,
    here: Topology | None = None,
) -> tuple[Run, list[TrafficSpec]]:
    """Carry a study out: what was planned, then what its figures ask for."""
    maker = maker or Maker()
    here = here or machine_of(machine.nodes)
    request = Request(kind="expand", options=options)
    assert REQUEST.refinement is not None
    how: Refinement = REQUEST.refinement(request)
    specs: list[TrafficSpec] = list(REQUEST.expand(request, here, True))  # type: ignore[arg-type]
    found = [measured(spec, machine, maker) for spec in specs]
    added: list[TrafficSpec] = []
    while more := further_points(specs, how, found, here):
        specs += more
        added += more
        found += [measured(spec, machine, maker) for spec in more]
        assert len(specs) < 1000, "it ends"
    return run_of(found, here), added


def run_of(found: Sequence[Measurement], here: Topology) -> Run:
    """A run with these measurements."""
    footer = Footer(finished="2026-01-05T14:05:00+00:00", interrupted=False, measured=len(found),
                    skipped=0, failed=0)  # fmt: skip
    return Run(header=header(topology=here), measurements=list(found), footer=footer)

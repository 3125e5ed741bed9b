"""What ``tierscope storage --matrix`` measures: every initiator reads every target.

Large sequential reads and small random ones, in the same way from CPUs and GPUs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

from tierscope.kinds.io.spec import IoSpec
from tierscope.kinds.plan import PLAN_VERSION, Plan, Spec
from tierscope.model.endpoint import Target
from tierscope.model.errors import UserError
from tierscope.model.storage import PathFacts
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand, with_new_id
from tierscope.plans.fit import fit_time
from tierscope.plans.machine import cpu_nodes
from tierscope.plans.request import Request
from tierscope.recipes.storage_together import Together, combined, pairs_of
from tierscope.recipes.storage_tour import Given, file_options

SECONDS = 3.0
"""Time that a cell is fitted into, both of its reads together."""
_SAMPLING = {"budget": "1.5", "sample": "20ms", "precision": "2%"}
_GPU = {"backend": "staged-async,cufile-batch"}
"""Of the ways to a GPU those that keep several operations in flight; the better one counts."""


@dataclass(frozen=True)
class Reads:
    """One way of reading, which all initiators do of all targets."""

    name: str
    """Begins the ids of its measurements."""
    title: str
    options: dict[str, str]


LARGE = Reads(
    "large",
    "Large reads: sequential, 1 MiB, depth 8",
    {"order": "sequential", "block-size": "1m", "depth": "8"},
)
SMALL = Reads(
    "small",
    "Small reads: random, 4 KiB, depth 32",
    {"order": "random", "block-size": "4k", "depth": "32"},
)
READS = (LARGE, SMALL)


@dataclass(frozen=True)
class Matrix:
    """What is measured, in the order shown."""

    plan: Plan
    initiators: list[str]
    targets: list[str]
    together: list[Together] = field(default_factory=list)


def matrix(topology: Topology, given: Given, thp: bool) -> Matrix:
    """Return the matrix of these targets; raises UserError where one cannot be used."""
    initiators = _initiators(topology, given.initiator)
    specs: list[Spec] = []
    for number, (target, facts) in enumerate(zip(given.targets, given.facts, strict=True)):
        for reads in READS:
            for initiator in initiators:
                options = _options(initiator, target, facts, given, reads)
                request = Request(kind="io", name=reads.name, options=options)
                for spec in expand([request], topology, thp).measurements:
                    words = [reads.name, initiator, str(number), str(spec.identity()["backend"])]
                    name = ".".join(words)
                    named = spec.model_copy(update={"id": name})
                    specs.append(with_new_id(named, {one.id for one in specs}))
    together = list(_together(topology, initiators, given.targets, specs))
    plan = Plan(version=PLAN_VERSION, measurements=[*specs, *(spec for spec, _ in together)])
    seconds = SECONDS * (len(initiators) * len(given.targets) + len(together) / len(READS))
    fitted = fit_time(plan, seconds, strictly=False)
    targets = [str(target) for target in given.targets]
    return Matrix(fitted, initiators, targets, [what for _, what in together])


def _together(
    topology: Topology, initiators: list[str], targets: Sequence[Target], specs: Sequence[Spec]
) -> Iterator[tuple[IoSpec, Together]]:
    """Yield what reads at the same time: a measurement for each way of reading and backend."""
    alone = cast("list[IoSpec]", specs)  # they come of requests of the kind io
    for pairs in pairs_of(topology, initiators, targets):
        kind = pairs[0][0].partition(":")[0]
        for reads in READS:
            own = [spec for spec in alone if spec.id.startswith(f"{reads.name}.")]
            backends = (s.pattern.backend for s in own if s.initiator.startswith(kind))
            for backend in dict.fromkeys(backends):
                members = [
                    spec
                    for pair in pairs
                    for spec in own
                    if (spec.initiator, spec.target) == pair and spec.pattern.backend == backend
                ]
                name = f"together.{reads.name}.{kind}.{backend}"
                yield combined(topology, name, reads.name, members)


def _options(
    initiator: str, target: Target, facts: PathFacts, given: Given, reads: Reads
) -> dict[str, str]:
    return {
        "from": initiator,
        "to": str(target),
        "op": "read",
        "files": "shared",
        **file_options(facts, given),
        **_SAMPLING,
        **reads.options,
        **(_GPU if initiator.startswith("gpu:") else {}),
    }


def _initiators(topology: Topology, asked: str) -> list[str]:
    """Return the nodes and GPUs that read, or those that were asked for."""
    every = [
        *(f"node:{node.number}" for node in cpu_nodes(topology)),
        *(f"gpu:{gpu.index}" for gpu in topology.gpus),
    ]
    if not asked:
        return every
    chosen = asked.split(",")
    wrong = next((one for one in chosen if one not in every), None)
    if wrong is not None:
        raise UserError(
            f"--from: there is no '{wrong}' to read with; with --matrix it names some of this "
            f"machine's nodes and GPUs: {', '.join(every)}"
        )
    return list(dict.fromkeys(chosen))


def readable(topology: Topology) -> Sequence[str]:
    """Return the devices of all drives and arrays, the arrays last."""
    kinds = ("nvme", "disk", "virtual", "pmem")
    single = [block.name for block in topology.blocks if block.kind in kinds and not block.members]
    arrays = [block.name for block in topology.blocks if block.level]
    return [f"/dev/{name}" for name in (*single, *arrays)]

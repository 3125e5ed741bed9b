"""The matrix of cores: latency of loads of lines that another core's caches hold, for all pairs."""

from tierscope.kinds.core_latency.spec import READER, WRITER, CoreLatencySpec
from tierscope.kinds.plan import Plan
from tierscope.model.errors import UserError
from tierscope.model.topology import Topology
from tierscope.plans import machine
from tierscope.plans.axes import checked, initiators
from tierscope.plans.expand import expand
from tierscope.plans.options import Option
from tierscope.plans.pinning import by_rank_in_core
from tierscope.plans.request import Request
from tierscope.suites.suite import Prepared

OPTIONS = (
    Option(
        "cores",
        "",
        "All pairs of cores instead: loads of lines that another core's caches hold",
        flag=True,
    ),
    Option(
        "siblings",
        "",
        "With --cores: every hardware thread, not one a core",
        flag=True,
        essential=False,
    ),
    Option(
        "state",
        "LIST",
        "With --cores: what the writer did last: modified, clean",
        "both",
        essential=False,
    ),
    Option(
        "time-limit", "TIME", "With --cores: fit all pairs into this time", "10min", essential=False
    ),
)
SECONDS = 600.0
"""Time that the pairs are fitted into, one after the other; so 60 cores fit."""

_TAKEN = ("from", "to", "state", "size", "pages", "precision", "budget")
_OWN = tuple(option.name for option in OPTIONS)
_SAMPLING = {"precision": "2%", "budget": "300ms", "sample": "500us"}
"""A row is a few rounds; a measurement has at least five repetitions of a few rows each."""


def requests(given: dict[str, str], topology: Topology) -> list[Request]:
    """Return the request for all ordered pairs of the CPUs of ``from``; raises UserError for what
    goes with the matrix of nodes only."""
    for name in given:
        if name not in (*_TAKEN, *_OWN):
            raise UserError(f"--{name} does not go with --cores, which measures latencies of lines")
    cpus = _cpus(given, topology)
    if len(cpus) < 2:
        found = "hardware thread" if "siblings" in given else "core"
        raise UserError(
            f"--cores: pairs take two CPUs, and there is one {found} to use; "
            "see --from, --siblings and `taskset -cp $$`"
        )
    ends = ",".join(f"cpus:{cpu}" for cpu in cpus)
    options = {name: given[name] for name in _TAKEN if name in given}
    homes = {"to": f"{READER},{WRITER}"}
    every = {**homes, **_SAMPLING, **options, "from": ends, "writer": ends}
    return [Request(kind="core-latency", options=every)]


def _cpus(given: dict[str, str], topology: Topology) -> list[int]:
    """Return the CPUs of ``from``, all where it is not given: one of each core, or all of them."""
    found = topology.cpus
    if "from" in given:
        request = Request(kind="core-latency", options={"from": given["from"]})
        every = [node.number for node in machine.cpu_nodes(topology)]
        ends = initiators(request, "from", CoreLatencySpec, every)
        found = [
            cpu
            for end in ends
            for cpu in checked(request, "from", machine.initiator_cpus, topology, end)
        ]
    if "siblings" in given:
        return sorted(set(found))
    ranks = by_rank_in_core(list(set(found)), topology.siblings)
    return ranks[0] if ranks else []


def plan_of(given: dict[str, str], topology: Topology, thp: bool) -> Plan:
    """Return the plan, not yet fitted into a time."""
    return expand(requests(given, topology), topology, thp)


def prepare(_name: str, topology: Topology, thp: bool) -> Prepared:
    """Return the matrix as ``tierscope matrix --cores`` makes it without options."""
    return Prepared(plan_of({}, topology, thp), seconds=SECONDS)

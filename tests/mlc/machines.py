"""Machines and figures that nobody measured, for tests of MLC's modes."""

from collections.abc import Sequence

from tests.synthetic import topology

from tierscope.model.run import Figure, Measurement
from tierscope.model.topology import Topology
from tierscope.peers.mlc.options import parse_line
from tierscope.peers.mlc.output import body
from tierscope.peers.mlc.plan import Cell, Section, sections
from tierscope.peers.mlc.settings import Settings


def two_sockets(cores: int = 4) -> Topology:
    """Two sockets of so many cores with two threads each, and a CXL node without CPUs."""
    base = topology()
    cpus = [list(range(n * cores, n * cores + cores)) for n in (0, 1)]
    cpus = [[*own, *(cpu + 2 * cores for cpu in own)] for own in cpus]
    nodes = [
        node.model_copy(update={"cpus": cpus[node.number] if node.number < 2 else []})
        for node in base.nodes
    ]
    packages = [p.model_copy(update={"cpus": cpus[p.number]}) for p in base.packages]
    return base.model_copy(
        update={
            "nodes": nodes,
            "packages": packages,
            "cpus": list(range(4 * cores)),
            "thp_page_bytes": 2 << 20,
            "siblings": [[cpu, cpu + 2 * cores] for cpu in range(2 * cores)],
        }
    )


def one_cpu() -> Topology:
    """A machine with nothing but CPU 0."""
    base = two_sockets()
    node = base.nodes[0].model_copy(update={"cpus": [0]})
    return base.model_copy(update={"nodes": [node], "cpus": [0], "siblings": [[0]]})


def made(words: str, machine: Topology | None = None) -> list[Section]:
    """What a command line measures."""
    return sections(Settings(machine or two_sockets(), True, parse_line(words.split())))


def measured(
    cell: Cell, estimate: float, unit: str = "B/s", figures: Sequence[Figure] = ()
) -> Measurement:
    """What a cell's measurement came to."""
    spec = cell.spec
    first = Figure(
        metric="latency" if unit == "ns" else "bandwidth",
        unit=unit,  # type: ignore[arg-type]
        estimate=estimate,
        ci_low=0.9 * estimate,
        ci_high=1.1 * estimate,
    )
    return Measurement(
        id=spec.id,
        kind=spec.kind,
        initiator=spec.initiator,
        target=spec.target,
        cpus=spec.thread_cpus(),
        pattern=spec.identity(),
        status="measured",
        n=1,
        samples=[estimate],
        figures=[first, *figures],
    )


def text(words: str, section: Section, found: Sequence[Measurement], hz: float = 2e9) -> str:
    """The text of a section."""
    return "\n".join(
        body(section, parse_line(words.split()), {entry.id: entry for entry in found}, hz)
    )

"""MLC's cache-to-cache latency: loads of lines that another core's caches hold."""

from tierscope.kinds.core_latency.spec import CoreLatencySpec
from tierscope.kinds.plan import Spec
from tierscope.model.errors import UserError
from tierscope.recipes.mlc import options
from tierscope.recipes.mlc.cells import Cell, Section
from tierscope.recipes.mlc.settings import Settings, bound

_SECONDS = 1.0
"""That a transfer takes at most: there are four times as many as pairs of nodes."""


def c2c_section(settings: Settings) -> Section:
    """Return transfers between cores: of the reader's socket, then between nodes."""
    reader = settings.cpu("c")
    writer = _writer(settings, reader)
    home = settings.own_memory(settings.node_of(settings.cpu("i", reader)))
    cells = []
    if writer is not None:
        for column, state in enumerate(("clean", "modified")):
            spec = _core_spec(settings, f"c2c.{state}", (reader, writer), home, state)
            cells.append(Cell("local", column, spec))
    missing = "" if cells else f"--{options.C2C}: CPU {reader}'s socket has no other core to use"
    firsts = {node.number: (cpu, node) for node, cpu in settings.first_cpus}
    for home_of in ("writer", "reader"):
        for write, (writing, _) in firsts.items():
            for read, (reading, _) in firsts.items():
                if write == read:
                    continue
                node = firsts[write if home_of == "writer" else read][1]
                name = f"c2c.{home_of}.{write}.{read}"
                cpus = (reading, writing)
                spec = _core_spec(settings, name, cpus, settings.own_memory(node), "modified")
                cells.append(Cell(f"{home_of}:{write}", read, spec))
    return Section(
        options.C2C, tuple(cells), tuple(firsts) if len(firsts) > 1 else (), missing=missing
    )


def _writer(settings: Settings, reader: int) -> int | None:
    """Return the CPU that writes: -w, else another core's of the same socket; None: there is
    none."""
    if "w" in settings.line.given:
        writer = settings.cpu("w")
        if writer == reader:
            raise UserError(f"-w: CPU {writer} reads already; name another one")
        return writer
    topology = settings.topology
    core = next((one for one in topology.siblings if reader in one), [reader])
    socket = next((p.cpus for p in topology.packages if reader in p.cpus), topology.cpus)
    others = [cpu for cpu in socket if cpu in topology.cpus and cpu not in core]
    return min(others, default=None)


def _core_spec(settings: Settings, name: str, cpus: tuple[int, int], home: int, state: str) -> Spec:
    reader, writer = cpus
    sampling = settings.sampling()
    sampling["budget_s"] = min(_SECONDS, sampling["budget_s"])
    return CoreLatencySpec.model_validate(
        {
            "id": name,
            "initiator": f"cpus:{reader}",
            "target": f"node:{home}",
            "cpu": reader,
            "writer": writer,
            "placement": bound(home),
            "pattern": {"state": state, "pages": "thp" if settings.thp else "base"},
            "sampling": sampling,
        }
    )
